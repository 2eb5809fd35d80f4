"""The ReFlex hand: barometers under rubber, fingers of one tendon and a flexure, cubes that fall on it."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest

import thenar
from tests.oracles.flexure_energy import Finger, rest
from thenar import hands
from thenar.cli import main
from thenar.errors import BadValue
from thenar.hands.flexure import as_hinges, flexures, with_stiffness
from thenar.signals import HandCommand, HandState
from thenar.sim.press import parse_indenter
from thenar.sim.scenes import Mount
from thenar.touch.sensor.barometers import Barometers
from thenar.touch.sensor.calibration import BAROMETERS, IDEAL, Calibration, PadCalibration
from thenar.twin.drops import drop_cubes, measure_drops, random_cube
from thenar.twin.reports.press_report import press_pad

HAND = hands.load("reflex")
AMBIENT_PA = 101_325.0
DEPTH_M = 0.005
TWO_DEGREES = math.radians(2.0)
SERVO_NM_RAD = 12.0
# What the fact sheet has: 14 x 6 x 16 mm of rubber between x = 60 and 76 mm, bent about z = 2.5 mm, 0 to 60 degrees.
FINGER = Finger(
    return_nm=0.030,
    return_nm_rad=0.003,
    flexure_nm_rad=0.16,
    flexure_limit_rad=math.pi / 3,
    pin_limit_rad=math.pi,
    hinge_m=tuple((0.060 + 0.016 / 3 * k, 0.0025) for k in range(4)),
    mass_at=(
        (0.0323, 0.0347, 0.0042, 0),
        *((0.0006, 0.060 + 0.016 / 3 * k, 0.0025, k + 1) for k in range(3)),
        (0.0152, 0.076 + 0.0214, 0.0025 + 0.0042, 4),
    ),
)


def angles(state: HandState, finger: int) -> tuple[float, float]:
    """Pin angle and whole bend of a finger's flexure [rad]."""
    joint = dict(zip(state.joint_names, state.joint_rad, strict=True))
    return joint[f"proximal_{finger}"], sum(joint[f"flex_{finger}_{k}"] for k in (1, 2, 3, 4))


def through_everything(spec: hands.HandSpec) -> hands.HandSpec:
    """The hand without any contact between its own parts."""
    return dataclasses.replace(spec, no_contact=tuple(itertools.combinations([link.name for link in spec.links], 2)))


def boussinesq_pa(force_n: float, aside_m: np.ndarray, depth_m: float) -> np.ndarray:
    """Vertical stress under a point load on an elastic half-space."""
    return 3.0 * force_n * depth_m**3 / (2.0 * math.pi * (aside_m**2 + depth_m**2) ** 2.5)


def die_place(pad: str) -> int:
    """Number of a pad's first die."""
    names = [p.name for p in HAND.pads]
    return sum(p.taxels for p in HAND.pads[: names.index(pad)])


def test_sensors_are_nine_a_finger_and_eleven_in_the_palm_in_the_drivers_order():
    per_link = [(pad.link, pad.taxels) for pad in HAND.pads]
    fingers = [
        (f"{link}_{n}", count) for n in (1, 2, 3) for link, count in (("proximal", 5), ("distal", 3), ("distal", 1))
    ]
    assert per_link == [*fingers, ("base", 4), ("base", 3), ("base", 4)]


@pytest.mark.parametrize("pad", ["finger_1_proximal", "finger_3_distal", "finger_2_tip", "palm_2"])
def test_a_small_ball_on_a_sensor_reads_as_boussinesq_says_there_and_beside_it(pad: str):
    frame = press_pad(HAND, pad, parse_indenter("sphere:1mm"), force_n=0.5).frame
    spec = HAND.pad(pad)
    first = die_place(pad)
    aside_m = (np.arange(spec.rows) - (spec.rows - 1) / 2) * spec.row_pitch_m
    np.testing.assert_allclose(
        frame.die_pressure_pa[first : first + spec.rows] - AMBIENT_PA,
        boussinesq_pa(0.5, aside_m, DEPTH_M),
        rtol=0.05,
    )


# --- the finger ----------------------------------------------------------------------------------


@pytest.mark.parametrize("gravity_m_s2", [0.0, 9.81])
@pytest.mark.parametrize("spool_rad", [0.3, 0.8, 1.5, 2.4])
def test_free_closing_is_the_least_energy_of_springs_and_weight(spool_rad: float, gravity_m_s2: float):
    world = thenar.World("reflex")
    world.model.opt.gravity[2] = -gravity_m_s2
    world.command("reflex", HandCommand.to([spool_rad, spool_rad, spool_rad, 0.0]))
    world.advance(4.0)
    state = world.state("reflex")
    # The servo gives way a little, so its spool is not quite where it was sent.
    pin, bend = rest(FINGER, float(state.angle_rad[0]), gravity_m_s2=gravity_m_s2)
    assert state.angle_rad[0] == pytest.approx(spool_rad, abs=TWO_DEGREES)
    for finger in (1, 2, 3):
        assert angles(state, finger) == pytest.approx((pin, bend), abs=TWO_DEGREES)
        assert sum(angles(state, finger)) == pytest.approx(state.angle_rad[finger - 1], abs=1e-6)


@pytest.mark.parametrize("stiffness_nm_rad", [0.03, 0.09, 0.16])
def test_full_curl_ends_at_the_pin_joints_stop_and_the_flexure_takes_the_rest(stiffness_nm_rad: float):
    world = thenar.World(through_everything(with_stiffness(HAND, stiffness_nm_rad)))
    world.model.opt.gravity[2] = 0.0
    world.command("reflex", HandCommand.to([3.6, 3.6, 3.6, 0.0]))
    world.advance(4.0)
    state = world.state("reflex")
    wanted = rest(dataclasses.replace(FINGER, flexure_nm_rad=stiffness_nm_rad), float(state.angle_rad[0]))
    for finger in (1, 2, 3):
        assert angles(state, finger) == pytest.approx(wanted, abs=TWO_DEGREES)


@pytest.mark.parametrize("spool_rad", [1.0, 1.3, 1.6, 3.0])
def test_a_blocked_proximal_link_leaves_the_closing_to_the_distal_one(spool_rad: float):
    world = thenar.World("reflex")
    knuckle, R = world.data.body("reflex/proximal_3").xpos, world.data.body("reflex/proximal_3").xmat.reshape(3, 3)
    # A rod across the finger, 25 mm out and 35 mm up from its knuckle. The pad, 15.4 mm above the pin, meets it where
    # the rod's axis is the rod's radius above the pad.
    x, z, radius = 0.025, 0.035, 0.006
    blocked = math.atan2(z, x) - math.asin((0.0154 + radius) / math.hypot(x, z))
    axis = R[:, 1]
    rod = thenar.Cylinder(
        name="rod",
        radius_m=radius,
        length_m=0.02,
        pos_m=tuple(knuckle + R @ [x, 0.0, z]),
        rpy_rad=(0.0, math.pi / 2, 0.0) if abs(axis[0]) > 0.9 else (math.pi / 2, 0.0, 0.0),
        fixed=True,
    )
    world = thenar.World("reflex", props=[rod])
    world.command("reflex", HandCommand.to([0.0, 0.0, spool_rad, 0.0]))
    world.advance(3.0)
    state = world.state("reflex")
    pin, bend = angles(state, 3)
    assert pin == pytest.approx(blocked, abs=TWO_DEGREES)
    # The cord's law: spool = pin + bend, less what the servo gives way under the flexure's torque.
    wanted = min((spool_rad - blocked) / (1.0 + FINGER.flexure_nm_rad / SERVO_NM_RAD), math.pi / 3)
    assert bend == pytest.approx(wanted, abs=TWO_DEGREES)
    distal_approx = max(state.angle_rad[2] - pin, 0.0)  # as the driver computes it, who has no encoder there
    assert distal_approx == pytest.approx(bend, abs=TWO_DEGREES)
    assert "reflex/proximal_3" in world.contacts("reflex").body


def test_a_pushed_finger_leaves_its_cord_slack_and_its_motor_where_it_is():
    world = thenar.World("reflex")
    world.data.qfrc_applied[world.model.joint("reflex/proximal_1").dofadr[0]] = 0.15
    world.advance(1.0)
    state = world.state("reflex")
    assert angles(state, 1)[0] > 0.5
    assert state.angle_rad[0] == pytest.approx(0.0, abs=1e-3)
    assert state.torque_nm[0] == 0.0
    assert max(state.angle_rad[0] - angles(state, 1)[0], 0.0) == 0.0


@pytest.mark.parametrize("up_rad", [0.0, math.pi / 2, math.pi])
def test_fingers_open_whichever_way_the_palm_looks(up_rad: float):
    world = thenar.World("reflex", mounts={"reflex": Mount(pos_m=(0.0, 0.0, 0.5), rpy_rad=(up_rad, 0.0, 0.0))})
    world.command("reflex", HandCommand.to([1.5, 1.5, 1.5, 0.0]))
    world.advance(2.0)
    assert all(angles(world.state("reflex"), finger)[0] > 1.0 for finger in (1, 2, 3))
    world.command("reflex", HandCommand.to([0.0, 0.0, 0.0, 0.0]))
    world.advance(4.0)
    for finger in (1, 2, 3):
        pin, bend = angles(world.state("reflex"), finger)
        assert pin < TWO_DEGREES
        assert bend < math.radians(5.0)  # weight bends the flexure a little


def test_flexure_variants_are_softer_and_a_stiffness_must_be_a_number():
    for variant, stiffness in (("soft_flexure", 0.03), ("middle_flexure", 0.09)):
        spec = hands.load("reflex", variant=variant)
        for chain in flexures(spec):
            assert 1.0 / sum(1.0 / joint.spring_nm_rad for joint in chain) == pytest.approx(stiffness)
    with pytest.raises(BadValue, match="above 0"):
        with_stiffness(HAND, 0.0)


def test_one_hinge_in_place_of_a_flexure_has_its_stiffness_reach_and_end():
    spec = as_hinges(HAND)
    hinge = spec.joint("distal_2")
    assert hinge.pos_m == pytest.approx((0.076, 0.0, 0.0025))
    assert (hinge.lower_rad, hinge.upper_rad) == pytest.approx((0.0, math.pi / 3))
    assert hinge.spring_nm_rad == pytest.approx(0.16)
    assert spec.tendons[1].joints == (("proximal_2", 1.0), ("distal_2", 1.0))


# --- the sensors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edge_m", "mass_kg", "link", "at_m", "pressed"),
    [
        (0.030, 0.20, "base", (0.010, 0.0, 0.072), ["palm_1", "palm_2", "palm_3"]),
        (0.020, 0.05, "base", (0.018, 0.024, 0.072), ["palm_3"]),
        (0.020, 0.05, "proximal_1", (0.034725, 0.0, 0.0154), ["finger_1_proximal"]),
        (0.014, 0.02, "distal_3", (0.0153, 0.0, 0.0129), ["finger_3_distal"]),
    ],
)
def test_a_cube_at_rest_weighs_on_the_sensors_under_it(edge_m, mass_kg, link, at_m, pressed):
    pose = thenar.World("reflex").data.body(f"reflex/{link}")
    centre = pose.xpos + pose.xmat.reshape(3, 3) @ np.add(at_m, (0.0, 0.0, edge_m / 2 + 1e-4))
    cube = thenar.Box(size_m=(edge_m,) * 3, mass_kg=mass_kg, pos_m=tuple(centre))
    world = thenar.World("reflex", props=[cube], profile="ideal")
    world.advance(1.5)
    frame = world.touch("reflex")
    assert frame.pad_force_n.sum() == pytest.approx(mass_kg * 9.81, rel=0.02)
    assert [name for name, force_n in frame.force_n.items() if force_n > 0.02 * mass_kg * 9.81] == pressed


def test_several_sensors_light_when_several_are_pressed():
    # A bar along the finger over the three middle sensors of the proximal pad.
    frame = press_pad(HAND, "finger_2_proximal", parse_indenter("cylinder:4mm:22mm"), force_n=3.0).frame
    over_pa = frame.die_pressure_pa - AMBIENT_PA
    lit = np.flatnonzero(over_pa > 5_000.0)
    assert set(lit) == {9 + 1, 9 + 2, 9 + 3}
    assert np.all(np.delete(over_pa, np.arange(9, 14)) < 1.0)


@pytest.mark.parametrize("aside_m", [0.002, 0.004, 0.006])
def test_a_press_between_sensors_is_shared_as_boussinesq_says(aside_m: float):
    frame = press_pad(HAND, "finger_1_proximal", parse_indenter("sphere:1mm"), force_n=0.5, at_m=(aside_m, 0.0)).frame
    place_m = (np.arange(5) - 2) * 0.007913
    np.testing.assert_allclose(
        frame.die_pressure_pa[:5] - AMBIENT_PA, boussinesq_pa(0.5, place_m - aside_m, DEPTH_M), rtol=0.05
    )


def test_a_wide_flat_press_reads_as_the_sum_of_its_parts():
    # A round punch with the pressure of a rigid one, F / (2 pi a sqrt(a^2 - r^2)), summed over rings by hand.
    radius, force_n = 0.007, 2.0
    frame = press_pad(HAND, "palm_2", parse_indenter("punch:7mm"), force_n=force_n).frame
    angle = (np.arange(4000) + 0.5) / 4000 * math.pi / 2
    share = np.sin(angle) / np.sin(angle).sum()  # force between rings r = a sin(angle)
    wanted = (share * boussinesq_pa(force_n, radius * np.sin(angle), DEPTH_M)).sum()
    assert frame.die_pressure_pa[die_place("palm_2") + 1] - AMBIENT_PA == pytest.approx(wanted, rel=0.05)


def test_nothing_touching_is_ambient_pressure_and_what_presses_the_back_of_a_finger_is_not_felt():
    world = thenar.World("reflex", profile="ideal")
    np.testing.assert_array_equal(world.touch("reflex").die_pressure_pa, np.full(38, AMBIENT_PA))
    finger = thenar.World("reflex").data.body("reflex/distal_3")
    ball = finger.xpos + finger.xmat.reshape(3, 3) @ [0.016, 0.0, -0.0036 - 0.010]
    world = thenar.World(
        "reflex", props=[thenar.Sphere(radius_m=0.0101, pos_m=tuple(ball), fixed=True)], profile="ideal"
    )
    world.model.opt.gravity[2] = -30.0  # so that the finger lies on the ball against its springs
    world.advance(0.5)
    frame = world.touch("reflex")
    assert frame.contact_n > 0.05
    np.testing.assert_allclose(frame.die_pressure_pa, AMBIENT_PA)


def test_rubber_creeps_with_its_time_constant_and_dies_warm_up():
    skin = Calibration(warm_up_c=10.0, warm_up_s=300.0, bare=PadCalibration(hysteresis=0.1, hysteresis_s=2.0))
    dies = Barometers(HAND, skin, seed=0)
    load = np.full(38, 10_000.0)
    dies.read(np.zeros(38), 0.0)
    at_once, _ = dies.read(load, 1e-6)
    later, _ = dies.read(load, 2.0)
    warm = dies.read(load, 300.0)[1]
    assert at_once - AMBIENT_PA == pytest.approx(9_000.0, rel=1e-3)
    assert later - AMBIENT_PA == pytest.approx(10_000.0 - 1_000.0 * math.exp(-1.0), rel=1e-3)
    assert warm == pytest.approx(25.0 + 10.0 * (1.0 - math.exp(-1.0)))


def test_same_seed_same_dies_and_another_seed_others():
    def reading(seed: int) -> np.ndarray:
        return Barometers(HAND, BAROMETERS, seed=seed).read(np.full(38, 5_000.0), 0.0)[0]

    np.testing.assert_array_equal(reading(3), reading(3))
    assert np.all(reading(3) != reading(4))


def test_every_reading_of_a_die_has_noise_of_its_own():
    dies = Barometers(HAND, Calibration(bare=PadCalibration(die_noise_pa=60.0)), seed=1)
    read = np.array([dies.read(np.zeros(38), 0.025 * k)[0] for k in range(50)])
    assert read.std(axis=0).mean() == pytest.approx(60.0, rel=0.1)
    assert abs(read.mean() - AMBIENT_PA) < 10.0


@pytest.mark.parametrize("rate_hz", [None, 1.0, 100.0, 1000.0])
def test_barometers_are_read_at_40_hz_or_as_often_as_asked(rate_hz: float | None):
    skin = {} if rate_hz is None else {"reflex": dataclasses.replace(BAROMETERS, rate_hz=rate_hz)}
    world = thenar.World("reflex", skin=skin, timestep_s=0.001)
    stamps = {world.touch("reflex").stamp_s}
    while world.time_s < 2.0:
        world.advance(0.001)
        stamps.add(world.touch("reflex").stamp_s)
    assert len(stamps) / 2.0 == pytest.approx(rate_hz or 40.0, abs=1.0)


def test_a_calibration_file_moves_the_dies_deeper(tmp_path):
    path = tmp_path / "skin.toml"
    path.write_text(
        "die_noise_pa = 0.0\ndie_offset_spread_pa = 0.0\ngain_spread = 0.0\nhysteresis = 0.0\ndepth_m = 0.006\n"
    )
    ball = thenar.Sphere(radius_m=0.004, mass_kg=0.05, pos_m=(0.0, 0.0, 0.0041))
    readings = []
    for skin in (IDEAL, path):
        world = thenar.World("reflex", props=[ball], skin={"reflex": skin})
        world.advance(1.0)
        readings.append(world.touch("reflex").die_pressure_pa - AMBIENT_PA)
    sensor = int(readings[0].argmax())
    assert readings[1][sensor] / readings[0][sensor] == pytest.approx((5.0 / 6.0) ** 2, rel=0.05)


# --- cubes that fall -----------------------------------------------------------------------------


def test_cubes_that_fall_break_nothing_and_the_same_seed_is_the_same_fall():
    def run() -> list[np.ndarray]:
        return [reading.frame.die_pressure_pa for reading in drop_cubes("reflex", count=8, seed=5, seconds=0.6)]

    first, again = run(), run()
    np.testing.assert_array_equal(first, again)
    assert np.max(first) > AMBIENT_PA + 30_000.0


@pytest.mark.parametrize("seed", [1, 2])
def test_fingers_keep_to_their_limits_and_cubes_come_to_rest(seed: int):
    rng = np.random.default_rng(seed)
    world = thenar.World("reflex", props=[thenar.Box(name="cube")])
    lower, upper = (np.array([getattr(joint, end) for joint in HAND.joints]) for end in ("lower_rad", "upper_rad"))
    for _ in range(10):
        cube = random_cube(rng)
        world.props.resize("cube", size_m=(cube.edge_m,) * 3, mass_kg=cube.mass_kg)
        world.props.move("cube", pos_m=cube.pos_m, quat_wxyz=cube.quat_wxyz)
        for _ in range(20):
            world.advance(0.1)
            angle = world.state("reflex").joint_rad
            assert np.all((angle > lower - 0.05) & (angle < upper + 0.05))
        assert np.linalg.norm(world.data.joint("cube").qvel) < 0.5
        assert abs(world.data.joint("cube").qpos[2]) < 0.4  # on the hand or on the ground


def test_a_resized_box_is_the_box_a_new_world_would_have():
    asked = {"size_m": (0.02, 0.03, 0.05), "mass_kg": 0.4}
    new = thenar.World("reflex", props=[thenar.Box(name="cube", pos_m=(0.0, 0.0, 0.2), **asked)])
    world = thenar.World("reflex", props=[thenar.Box(name="cube", pos_m=(0.0, 0.0, 0.2))])
    world.advance(0.05)
    before = world.data.qpos.copy()
    world.props.resize("cube", **asked)
    np.testing.assert_array_equal(world.data.qpos, before)
    for name in (
        "body_mass",
        "body_inertia",
        "geom_size",
        "geom_rbound",
        "geom_aabb",
        "dof_invweight0",
        "body_invweight0",
    ):
        np.testing.assert_allclose(getattr(world.model, name), getattr(new.model, name), rtol=1e-6, atol=1e-12)
    with pytest.raises(BadValue, match="three numbers above 0"):
        world.props.resize("cube", size_m=(0.0, 0.1, 0.1), mass_kg=1.0)


@pytest.mark.timing
def test_drops_run_many_times_faster_than_real_time():
    assert measure_drops(count=20).times_real_time > 10.0  # with room; the bar of 20 is that of the 500 below


@pytest.mark.soak
def test_500_drops_break_nothing_and_run_20_times_faster_than_real_time():
    result = measure_drops(count=500)
    assert result.drops == 500
    assert result.touched > 300
    assert result.times_real_time > 20.0


def test_a_blow_on_the_side_of_the_palm_leaves_its_pads_alone():
    # The skin seems steep where the window reaches over the edge; the blow is on bare skin all the same.
    blow = max((reading.frame for reading in drop_cubes("reflex", count=2, seed=3)), key=lambda frame: frame.contact_n)
    assert blow.contact_n > 40.0
    assert blow.bare_skin_n == pytest.approx(blow.contact_n)


@pytest.mark.parametrize("sensor", ["contact", "pressure"])
def test_dropped_cubes_are_recorded_as_the_firmware_would_read_them(sensor: str, tmp_path, capsys):
    csv, npz = tmp_path / "drops.csv", tmp_path / "drops.npz"
    for file in (csv, npz):
        main(["drop", "reflex", "--count", "3", "--seed", "3", "--sensor", sensor, "--record", str(file), "--json"])
        summary = json.loads(capsys.readouterr().out)
    assert [row["drop"] for row in summary["drops"]] == [1, 2, 3]
    kept = np.load(npz)
    table = np.genfromtxt(csv, delimiter=",", names=True)
    assert kept["reading"].shape == (len(table), 38)
    assert len(table.dtype.names or ()) == 4 + 38
    np.testing.assert_array_equal(kept["reading"][:, 0], table["finger_1_1"])
    if sensor == "contact":
        assert set(np.unique(kept["reading"])) == {0, 1}
    else:
        # 0.509 kPa a count, until the chip saturates some 100 counts above rest.
        over_kpa = (kept["die_pressure_pa"] - kept["die_pressure_pa"][0]) / 1e3
        inside = over_kpa < 40.0
        assert np.abs(kept["reading"] - over_kpa / 0.509)[inside].max() < 2.5
        assert kept["reading"].max() > 40


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["inspire_right"], "a hand with barometers: reflex"),
        (["reflex", "--count", "0"], "a whole number above 0"),
        (["reflex", "--seed", "-1"], "a whole number from 0 on"),
        (["reflex", "--rate", "2000"], "hertz from 1 to 1000"),
        (["reflex", "--record", "drops.txt"], "ends in .npz or .csv"),
    ],
)
def test_a_wrong_drop_says_what_was_wanted(words: list[str], said: str, capsys):
    with pytest.raises(SystemExit):
        main(["drop", *words, "--json"])
    assert said in capsys.readouterr().err
