"""Motors of one hand: from recordings with intervals, as a file, in a world."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import thenar
from bench.identify import BAR, HAND, drive, hidden_motors, tracks, weigh
from thenar import hands
from thenar.errors import BadFile, BadValue, UnknownName
from thenar.hands.motors_file import read_motors, write_motors
from thenar.hands.spec import LeadScrew
from thenar.sim.identify.force_scale import fit_force_scale
from thenar.sim.identify.motor_identity import POSTURES, MotorIdentity, finger_weights, identify_hand, known
from thenar.sim.identify.moves import Track, make_track, split_moves
from thenar.sim.identify.programme import meetings, programme
from thenar.sim.identify.readings_fit import Estimate, Rest, find_rests, fit_heat, fit_spring
from thenar.sim.identify.zero_fit import fit_zeros
from thenar.twin.recording.coupling_law import Meeting, fit_coupling, judge_meetings
from thenar.twin.recording.identification import identify, possible, read_weighed, unit_of, write_identity
from thenar.units import GRAM_FORCE_N

INDEX = 3
SPEC = hands.load(HAND)


def phase(name: str, first: int, last: int) -> list:
    return list(next(one for one in programme(SPEC) if one.name == name).steps[first:last])


def of_the_index(tapes: list) -> MotorIdentity:
    """Only its readings are fitted: the whole hand takes six times as long."""
    own = tracks(tapes, SPEC)
    return identify_hand([own[n] if n == INDEX else [] for n in range(6)], SPEC)[INDEX]


@pytest.fixture(scope="module")
def truth() -> dict[str, dict[str, float]]:
    return hidden_motors(7)


@pytest.fixture(scope="module")
def bare(truth: dict):
    world = thenar.World(HAND, motors={HAND: truth}, seed=3)
    steps = phase("fingers: postures", 0, 13) + phase("fingers: steps", 0, 18) + phase("fingers: turning back", 0, 72)
    return drive(world, steps)


@pytest.fixture(scope="module")
def pressed(truth: dict):
    world = thenar.World(HAND, motors={HAND: truth}, seed=4, props=[BAR])
    world.advance(0.5)
    return drive(world, phase("fingers: presses", 13, 67))


@pytest.fixture(scope="module")
def of_bare(bare) -> MotorIdentity:
    return of_the_index([bare])


@pytest.fixture(scope="module")
def of_both(bare, pressed) -> MotorIdentity:
    return of_the_index([bare, pressed])


def test_the_motor_of_a_hidden_hand_is_found_within_its_intervals(truth: dict, of_both: MotorIdentity):
    found, usual = of_both.values, SPEC.actuators[INDEX].motor
    values = ("latency_s", "full_stroke_s", "stop_s", "stiffness_n", "stiffening_n", "reaction_s", "amps_per_n")
    narrow = ("latency_s", "full_stroke_s", "stiffness_n", "stiffening_n", "reaction_s", "amps_per_n")
    assert all(found[name].half_width < 0.1 * found[name].value for name in narrow)
    own = truth["index"]
    inside = [found[name].low <= own[name] <= found[name].high for name in (*values, "force_zero_n", "drive_a")]
    assert sum(inside) >= 7  # 95 % each
    off = [abs(found[name].value / own[name] - 1.0) for name in values]
    before = [abs(getattr(usual, name) / own[name] - 1.0) for name in values]
    assert np.mean(off) < 0.3 * np.mean(before)
    assert np.mean(off) < 0.08


def test_what_a_bare_hand_cannot_tell_is_refused_with_the_motion_that_would(of_bare: MotorIdentity):
    found = of_bare
    for name in ("stiffness_n", "stall_n", "reaction_s", "amps_per_n"):
        assert name not in found.values
        assert "press on something rigid" in found.refused[name]
    assert "kitchen scale" in found.refused["newton_per_reported"]
    assert "pads do not tell" in found.refused["newton_per_reported"]
    assert {"latency_s", "full_stroke_s", "force_zero_n"} <= set(found.values)


def test_friction_is_what_a_finger_takes_more_one_way_than_the_other(truth: dict, bare, of_bare: MotorIdentity):
    friction, true = of_bare.values["friction_n"], truth["index"]["friction_n"]
    assert friction.low <= true <= friction.high
    assert friction.half_width < 0.1 * friction.value
    swapped = replace(bare, force_n=np.random.default_rng(1).permutation(bare.force_n))
    other = of_the_index([swapped]).values["friction_n"]  # forces of other moments know of none
    assert not other.low <= true <= other.high


def test_a_finger_with_friction_needs_more_force_either_way():
    own = {"force_noise_n": 0.0, "friction_n": 0.3}
    world = thenar.World(HAND, motors={HAND: {"ring": own, "middle": own | {"friction_n": 0.0}}})
    forces = []
    for closed in (0.8, 0.0):
        world.command(HAND, thenar.HandCommand.closing(closed, speed=0.2))
        world.advance(0.6)
        forces.append(world.state(HAND).force_n[[1, 2]])
    ring, middle = (forces[0] - forces[1]) / 2.0
    assert ring == pytest.approx(0.3, abs=0.05)
    assert middle == pytest.approx(0.0, abs=0.05)


def stood(rng: np.random.Generator, weights: np.ndarray, gravity: np.ndarray, zero_n: float) -> list[Rest]:
    """A finger that stands in postures from both sides, and in one more that it comes to fast, by closing only."""
    sticks_n, share = rng.uniform(0.0, 0.01), rng.uniform(0.7, 1.4)
    rests = []
    for closed, way in [(at, way) for at in (0.1, 0.3, 0.5, 0.7, 0.9) for way in (1.0, -1.0)] + [(0.8, 1.0)] * 6:
        held_n = -0.02 if closed == 0.8 else way * sticks_n
        weight_n = share * float([np.interp(closed, POSTURES, weights[:, axis]) for axis in range(3)] @ gravity)
        force_n = weight_n + held_n - zero_n + rng.normal(0.0, 0.05, 150)
        rests.append(
            Rest(
                target=closed, direction=way, travel=0.2, reached=True, first=False,
                closed=np.full(150, closed), force_n=force_n, current_a=np.zeros(150),
            )
        )  # fmt: skip
    return rests


def test_the_zero_of_a_force_is_as_unsure_as_how_the_hand_is_held_and_what_its_fingers_weigh():
    rng, weights, inside, half_n = np.random.default_rng(4), finger_weights(SPEC), [], []
    for _ in range(40):
        gravity = rng.normal(0.0, 1.0, 3)
        gravity *= 9.81 / np.linalg.norm(gravity)
        zeros_n = rng.uniform(-0.3, 0.3, 6)
        rests = [stood(rng, weights[n], gravity, zeros_n[n]) for n in range(6)]
        found = fit_zeros(rests, weights, POSTURES, [0.0] * 6)
        inside += [one.low <= zeros_n[n] <= one.high for n, one in enumerate(found) if one]
        half_n.append([one.half_width for one in found if one])
    assert len(inside) == 240
    assert 0.9 <= np.mean(inside) <= 0.98
    fingers, rotation = np.median(np.array(half_n)[:, :4]), np.median(np.array(half_n)[:, 5])
    assert fingers < 0.02 < rotation  # sideways, only the thumb feels how it is held


def test_standing_under_load_tells_the_spring_and_forces_of_other_moments_do_not(truth: dict, bare, pressed):
    own = tracks([bare, pressed], SPEC)[INDEX]
    rests = find_rests([move for track in own for move in split_moves(track, top_speed=1.7)])
    known = (truth["index"]["force_zero_n"], 0.01), (truth["index"]["backlash"], 2e-4)
    zero, backlash = (Estimate(value=value, low=value - half, high=value + half) for value, half in known)
    motor = SPEC.actuators[INDEX].motor
    assert isinstance(motor, LeadScrew)
    offset_n = motor.loaded_offset_n
    start = np.array([25.0, 4e4])
    spring = fit_spring(rests, start, zero, backlash, offset_n)
    assert spring is not None
    off = spring.value / [truth["index"]["stiffness_n"], truth["index"]["stiffening_n"]] - 1.0
    error = np.sqrt(np.diag(spring.covariance))[:2] / spring.value
    assert np.all(np.abs(off) < 3.0 * error)
    assert np.all(error < 0.06)
    loads = [rest.force_n for rest in rests]
    mixed = [replace(rest, force_n=force) for rest, force in zip(rests, loads[::-1], strict=True)]
    wrong = fit_spring(mixed, start, zero, backlash, offset_n)
    assert wrong is None or np.any(np.sqrt(np.diag(wrong.covariance))[:2] > 0.3 * wrong.value)


def test_a_scale_tells_real_newtons_and_notes_in_another_order_do_not(truth: dict):
    tape, grams = weigh(truth, "middle", 5)
    track = tracks([tape], SPEC)[2][0]
    shown_n = [gram * GRAM_FORCE_N for gram in grams]
    scale = fit_force_scale(SPEC, "middle", track, shown_n)
    assert scale.low <= truth["middle"]["newton_per_reported"] <= scale.high
    assert scale.half_width < 0.1 * scale.value
    with pytest.raises(BadValue, match="as often as it stood"):
        fit_force_scale(SPEC, "middle", track, shown_n[:-1])
    mixed = fit_force_scale(SPEC, "middle", track, [shown_n[k] for k in (2, 0, 3, 1)])
    assert mixed.half_width > 0.3 * abs(mixed.value)


def test_pads_feel_so_little_of_a_bar_that_they_tell_no_real_newtons():
    world = thenar.World(HAND, props=[BAR])
    world.command(HAND, thenar.HandCommand.closing(np.repeat([1.0, 0.0], [4, 2]), speed=0.1, force_limit_n=1.5))
    world.advance(6.0)
    met = world.contacts(HAND)
    on_bar_n = sum(np.linalg.norm(f) for f, partner in zip(met.force_n, met.partner, strict=True) if "bar" in partner)
    felt_n = world.touch(HAND).pad_force_n.sum()
    assert on_bar_n > 8.0
    assert felt_n < 0.4 * on_bar_n  # from the day that fails, --weighed need not be the only way


def test_where_fingers_meet_each_other_tells_the_law_of_coupling(truth: dict):
    world = thenar.World(hands.load(HAND, variant="dex_urdf"), motors={HAND: truth}, seed=6)
    world.advance(0.5)
    verdict = fit_coupling(tracks([drive(world, list(meetings(SPEC)))], SPEC), SPEC)
    assert verdict.fit == ("dex_urdf",)
    assert "rh56e2" in verdict.ruled_out


def test_fingers_that_meet_a_bar_tell_no_law(pressed):
    verdict = fit_coupling(tracks([pressed], SPEC), SPEC)
    assert not verdict.fit
    assert "thumb" in verdict.refused


def test_laws_that_differ_by_less_than_shapes_may_are_all_named():
    met = Meeting(motor="index", closed=0.5, by_law={"one": 0.5, "another": 0.51, "third": 0.7})
    verdict = judge_meetings([met, replace(met, closed=0.505)], ("one", "another", "third"))
    assert set(verdict.fit) == {"one", "another"}
    assert "third" in verdict.ruled_out
    assert judge_meetings([replace(met, closed=0.9)], ("one", "another", "third")).fit == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no \\[\\[weighed"),
        ('[[weighed]]\nrecording = "a.mcap"\nmotor = "index"\ngrams = ["many"]', "grams"),
        ("[[weighed]]\ngrams = [1, 2]", "recording"),
        ("weighed = [1, 2]", "recording"),
        ("[", "TOML"),
    ],
)
def test_wrong_notes_of_a_scale_are_refused_by_name(tmp_path: Path, text: str, why: str):
    path = tmp_path / "weighed.toml"
    path.write_text(text)
    with pytest.raises(BadFile, match=why):
        read_weighed(path)


def test_a_hand_that_only_stood_tells_its_noise_and_no_more():
    world = thenar.World(HAND, seed=1)
    still = drive(world, phase("fingers: postures", 0, 1) * 4)
    found = of_the_index([still])
    assert "latency_s" in found.refused
    assert "from one end to the other" in found.refused["latency_s"]


def test_a_file_of_motors_goes_into_a_world_and_what_is_not_of_them_stays(tmp_path: Path, of_both: MotorIdentity):
    found = of_both
    path = tmp_path / "motors.toml"
    write_identity(path, SPEC, [found], "a tape")
    world = thenar.World(HAND, motors=path)
    motor, usual = world.hand(HAND).actuators[INDEX].motor, SPEC.actuators[INDEX].motor
    assert isinstance(motor, LeadScrew)
    assert motor.full_stroke_s == pytest.approx(possible(found)["full_stroke_s"].value, rel=1e-5)
    assert motor.lever_m == usual.lever_m
    assert world.hand(HAND).actuators[0] == SPEC.actuators[0]


def test_motors_whose_names_are_any_words_are_written_and_read_back(tmp_path: Path):
    renamed = {"index": "index.1", "thumb_bend": 'thumb "bend" ü'}
    own = replace(
        SPEC,
        name="my hand \\ 2.0",
        actuators=tuple(replace(motor, name=renamed.get(motor.name, motor.name)) for motor in SPEC.actuators),
    )
    path = tmp_path / "motors.toml"
    write_motors(path, own.name, {name: {"stall_n": (9.0, 8.0, 10.0)} for name in own.actuator_names})
    assert read_motors(path, own) == {name: {"stall_n": 9.0} for name in own.actuator_names}


def test_one_file_holds_skin_and_motors(tmp_path: Path):
    path = tmp_path / "hand.toml"
    path.write_text('hand = "inspire_right"\n[pads.palm]\ncrosstalk = 0.3\n[motors.index]\nlatency_s = 0.1\n')
    world = thenar.World(HAND, motors=path, skin={HAND: path})
    assert world.calibration(HAND).pads["palm"].crosstalk == 0.3
    motor = world.hand(HAND).actuators[INDEX].motor
    assert isinstance(motor, LeadScrew)
    assert motor.latency_s == 0.1
    with pytest.raises(UnknownName, match="served"):
        thenar.serve(HAND, wires=("inspire",), domain=77, motors={"inspire_left": path})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[motors.indexx]\nlatency_s = 1", "indexx"),
        ("[motors.index]\nlatencies = 1", "latencies"),
        ("[motors.index]\nstop_s = -1", "above 0"),
        ("[motors.index]\nlatency_s = true", "number"),
        ("[motors.index]\nstop_s = 0.9", "full_stroke_s"),
        ('hand = "inspire_left"\n[motors.index]\nlatency_s = 1', "inspire_left"),
        ("latency_s = 1", "thenar identify"),
        ("[", "TOML"),
    ],
)
def test_a_wrong_file_of_motors_is_refused_by_name(tmp_path: Path, text: str, why: str):
    path = tmp_path / "motors.toml"
    path.write_text(text)
    with pytest.raises(BadFile, match=why):
        read_motors(path, SPEC)
    with pytest.raises(BadFile):
        thenar.World(HAND, motors=path)


def test_two_hands_need_a_name_for_a_file_of_motors(tmp_path: Path):
    with pytest.raises(BadValue, match="several"):
        thenar.World(["inspire_left", "inspire_right"], motors=tmp_path / "motors.toml")


def test_a_recording_of_other_motors_is_replayed_with_them(tmp_path: Path):
    world = thenar.World(HAND, motors={HAND: {"index": {"backlash": 0.01, "latency_s": 0.08}}})
    with thenar.record(world, tmp_path / "own.mcap"):
        world.command(HAND, thenar.HandCommand.closing(0.6, speed=0.8))
        world.advance(0.6)
    assert thenar.replay(thenar.Recording(tmp_path / "own.mcap")).differs_at == ""


def test_backlash_is_lost_when_a_motor_turns_back():
    world = thenar.World(HAND, profile="measured", motors={HAND: {"index": {"backlash": 0.02, "angle_noise": 0.0}}})
    stood = {}
    for side, start in (("closing", 0.0), ("opening", 1.0)):
        for closed in (start, 0.5):
            world.command(HAND, thenar.HandCommand.closing(closed, speed=0.5))
            world.advance(2.0)
        stood[side] = world.state(HAND).angle_rad[INDEX] / SPEC.actuators[INDEX].stroke_rad
    assert stood["opening"] - stood["closing"] == pytest.approx(0.02, abs=0.002)


def test_a_weak_motor_presses_less_a_loose_one_lags_and_a_repaired_one_does_neither():
    world = thenar.World(HAND, props=[BAR])
    world.advance(0.2)

    def press() -> float:
        world.command(HAND, thenar.HandCommand.closing(0.0, speed=1.0))
        world.advance(1.5)
        world.command(HAND, thenar.HandCommand.closing(1.0, speed=0.3, force_limit_n=10.0))
        world.advance(4.0)
        world.clear_errors(HAND)
        return float(world.state(HAND).force_n[INDEX])

    healthy = press()
    world.faults.inject(HAND, "index", "weak")
    assert press() < 0.6 * healthy
    world.faults.repair(HAND, "index")
    assert press() == pytest.approx(healthy, rel=0.1)
    world.faults.inject(HAND, "index", "backlash")
    kept = world.snapshot()
    assert kept.motors["backlash_rad"][0, INDEX] > 0.03
    world.faults.repair(HAND, "index")
    assert world.snapshot().motors["backlash_rad"][0, INDEX] == 0.0


def test_every_motor_has_its_own_latency():
    own = {"latency_spread_s": 0.0, "angle_noise": 0.0}
    motors = {HAND: {"index": {"latency_s": 0.2, **own}, "middle": {"latency_s": 0.02, **own}}}
    world = thenar.World(HAND, motors=motors)
    world.command(HAND, thenar.HandCommand.closing(0.5, speed=1.0))
    world.advance(0.15)
    angle = world.state(HAND).angle_rad
    assert abs(angle[INDEX]) < 0.01
    assert angle[2] > 0.1


@pytest.mark.parametrize("empty", [True, False])
def test_a_recording_without_states_or_commands_is_refused_by_name(tmp_path: Path, empty: bool):
    world = thenar.World(HAND)
    with thenar.record(world, tmp_path / "still.mcap", touch=False):
        if empty:
            world.command(HAND, thenar.HandCommand.closing(0.5))
        world.advance(0.5)
    recording = thenar.Recording(tmp_path / "still.mcap")
    with pytest.raises(BadValue, match=r"still.mcap.*states of inspire_right and commands to it"):
        identify([recording.slice(2.0, 3.0) if empty else recording], SPEC)


def test_newtons_for_a_reported_newton_are_no_share_of_the_stroke():
    assert unit_of("newton_per_reported") == ("N/N", 1.0)
    assert unit_of("amps_per_n") == ("mA/N", 1e3)
    assert unit_of("backlash") == ("of the stroke", 1.0)


def moved(targets: list[float], *, start: float = 0.0, current_a: float = 0.1, warm_c_s: float = 0.0) -> Track:
    """A finger that is sent somewhere every second and goes there."""
    actuator, stamp_s = SPEC.actuators[INDEX], np.arange(0.0, len(targets) + 1.0, 0.01)
    command_s, closed = np.arange(1.0, len(targets) + 1.0), [start]
    for now_s in stamp_s[1:]:
        goal = [start, *targets][int(np.searchsorted(command_s, now_s))]
        closed.append(closed[-1] + float(np.clip(goal - closed[-1], -0.015, 0.015)))
    noise = np.random.default_rng(2).normal(0.0, 5e-4, len(stamp_s))
    angles = (actuator.open_rad + part * actuator.stroke_rad for part in (np.array(closed) + noise, np.array(targets)))
    angle_rad, target_rad = angles
    return make_track(
        actuator, stamp_s=stamp_s, angle_rad=angle_rad, force_n=20.0 * noise,
        current_a=np.full(len(stamp_s), current_a), temperature_c=np.floor(25.0 + warm_c_s * stamp_s),
        command_s=command_s, target_rad=target_rad, speed_rad_s=np.full(len(targets), np.nan),
        limit_n=np.full(len(targets), np.nan),
    )  # fmt: skip


def test_where_a_motor_stood_in_one_recording_says_not_which_way_it_came_in_the_next():
    tracks_of_it = [moved([0.8, 0.0, 0.8]), moved([0.5, 0.1], start=0.2)]
    rests = find_rests([move for track in tracks_of_it for move in split_moves(track, top_speed=1.5)])
    assert [(rest.first, rest.direction, round(rest.travel, 2)) for rest in rests] == [
        (True, 0.0, 0.0), (False, -1.0, 0.8), (False, 1.0, 0.8), (True, 0.0, 0.0), (False, -1.0, 0.4),
    ]  # fmt: skip


@pytest.mark.parametrize("current_a", [0.0, 0.1])
def test_warmth_that_no_current_explains_tells_nothing_of_the_heat_of_a_motor(current_a: float):
    with np.errstate(all="raise", under="ignore"):
        heat = fit_heat([moved([0.8, 0.0] * 20, current_a=current_a, warm_c_s=0.5)])
    assert not any(one is not None and known(name, one) for name, one in heat.items())
