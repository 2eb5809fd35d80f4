"""What differs between a hand and its twin under the same commands: named, with its size, and nothing invented."""

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thenar
from bench.mirror import judge, motions
from thenar import hands
from thenar.arrays import BoolArray, FloatArray
from thenar.recordings.recording import JointColumns, MotorColumns
from thenar.recordings.ros_messages import REPORTED, TOLD
from thenar.sim.identify.follow import Commands, fit_follow, follow
from thenar.touch.sensor.calibration import profile_of
from thenar.twin.compare.finding import Finding, in_one_grip
from thenar.twin.compare.motor_findings import find_motor_gaps, pair_motors
from thenar.twin.compare.rates import find_rate_gaps

SPEC = hands.load("inspire_right")


def with_motors(only: str = "", **changes: Callable[[float], float]) -> thenar.HandSpec:
    """The hand with other motors: all of them, or only one."""

    def changed(actuator):
        if only not in ("", actuator.name):
            return actuator
        motor = {name: change(getattr(actuator.motor, name)) for name, change in changes.items()}
        return replace(actuator, motor=replace(actuator.motor, **motor))

    return replace(SPEC, actuators=tuple(map(changed, SPEC.actuators)))


def with_friction(motor: str, more_nm: float) -> thenar.HandSpec:
    driven = next(actuator.drives for actuator in SPEC.actuators if actuator.name == motor)
    return replace(
        SPEC,
        joints=tuple(replace(j, friction_nm=j.friction_nm + more_nm) if j.name == driven else j for j in SPEC.joints),
    )


def recorded(
    path: Path,
    spec: thenar.HandSpec = SPEC,
    *,
    seed: int = 1,
    disturb: Callable[[thenar.World], object] = lambda world: None,
    skin=None,
    scene: str = "empty",
    seconds: float = 8.0,
    motion: int = 42,
) -> thenar.Recording:
    """A hand that is sent here and there, the same way every time."""
    world = thenar.World(spec, seed=seed, scene=scene, skin={} if skin is None else {"inspire_right": skin})
    rng = np.random.default_rng(motion)
    with thenar.record(world, path, touch=scene != "empty"):
        end_s, disturbed = world.time_s + seconds, False
        while world.time_s < end_s:
            if world.time_s > end_s - 0.6 * seconds and not disturbed:
                disturbed = bool(disturb(world)) or True
            share = rng.uniform(0.0, 0.8, 6) * [1, 1, 1, 1, 0.3, 0.3]
            target_rad = SPEC.open_rad + share * (SPEC.closed_rad - SPEC.open_rad)
            world.command("inspire_right", thenar.HandCommand.to(target_rad, speed_rad_s=SPEC.top_speed_rad_s))
            world.advance(rng.uniform(0.4, 1.1))
    return thenar.Recording(path)


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> thenar.Recording:
    return recorded(tmp_path_factory.mktemp("compare") / "twin.mcap")


def scales_of_grips(*scales: float, lost: slice = slice(0)) -> list[Finding]:
    """What is found of a finger that presses on something, a second each time, with so much of its twin's force.

    Some readings of the hand may be lost.
    """
    rng, count = np.random.default_rng(3), 200 * len(scales)
    stamp_s = np.linspace(0.0, 0.01 * (count - 1), count)
    heard = np.ones(count, dtype=bool)
    heard[lost] = False
    pressed = np.arange(count) % 200 >= 100
    share, zeros = np.zeros((count, 6)), np.zeros((count, 6))
    share[:, 3] = np.where(pressed, 0.5, 0.1)
    asked = np.where(pressed, 0.8, 0.1)
    angle_rad = SPEC.open_rad + share * (SPEC.closed_rad - SPEC.open_rad)
    targets = np.repeat(SPEC.open_rad[None], count, axis=0)
    targets[:, 3] += asked * (SPEC.closed_rad - SPEC.open_rad)[3]

    def columns(by: FloatArray, kept: BoolArray) -> MotorColumns:
        force_n = rng.normal(0.0, 0.05, (count, 6))
        force_n[:, 3] += 5.0 * pressed * by
        noisy = angle_rad + rng.normal(0.0, 5e-4, angle_rad.shape)
        numbers: dict[str, Any] = dict.fromkeys((*REPORTED, *TOLD), zeros)
        numbers |= {"angle_rad": noisy, "force_n": force_n, "target_rad": targets}
        numbers |= {"status": zeros.astype(int), "error": zeros.astype(int)}
        numbers = {name: values[kept] for name, values in numbers.items()}
        return MotorColumns(stamp_s=stamp_s[kept], names=SPEC.actuator_names, **numbers)

    none = np.full((count, 6), np.nan)
    told = JointColumns(stamp_s=stamp_s, names=(), position_rad=targets, velocity_rad_s=none, effort=none)
    hand, like = columns(np.repeat(scales, 200), heard), columns(np.ones(count), np.ones(count, dtype=bool))
    pair = pair_motors(SPEC, hand, like, told)
    assert pair is not None
    return [one for one in find_motor_gaps(pair) if one.kind == "force scale"]


def found(gap) -> dict[tuple[str, str], float]:
    return {(finding.kind, finding.part): finding.size for finding in gap.findings}


def test_nothing_is_found_where_nothing_differs(twin: thenar.Recording, tmp_path: Path):
    gap = thenar.compare(recorded(tmp_path / "same.mcap", seed=2), twin)
    assert gap.findings == ()
    assert np.median(gap.pairs[0].apart_deg) < 0.3


PLANTED = {
    "latency": (with_motors(latency_s=lambda s: s + 0.02), ("latency", "every motor"), 0.02),
    "speed": (with_motors(full_stroke_s=lambda s: s / 0.9), ("speed", "every motor"), -0.1),
    "friction": (with_friction("index", 0.03), ("friction", "index"), 0.03),
    "little friction": (with_friction("middle", 0.021), ("friction", "middle"), 0.021),
    "force zero": (with_motors("ring", force_zero_n=lambda n: n - 1.2), ("force zero", "ring"), 1.2),
    "current": (with_motors("thumb_bend", drive_a=lambda a: a + 0.4), ("current", "thumb_bend"), 0.4),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_difference_is_named_with_its_size(name: str, twin: thenar.Recording, tmp_path: Path):
    spec, key, size = PLANTED[name]
    sizes = found(thenar.compare(recorded(tmp_path / "other.mcap", spec, seed=5), twin))
    assert sizes.keys() == {key}
    assert sizes[key] == pytest.approx(size, rel=0.1)


def test_a_current_is_compared_although_the_hand_is_a_third_as_fast(twin: thenar.Recording, tmp_path: Path):
    slow = with_motors(full_stroke_s=lambda s: 3.0 * s)
    thumb = next(number for number, one in enumerate(SPEC.actuators) if one.name == "thumb_bend")
    hungry = with_motors("thumb_bend", full_stroke_s=lambda s: 3.0 * s, drive_a=lambda a: a + 0.4).actuators[thumb]
    spec = replace(slow, actuators=(*slow.actuators[:thumb], hungry, *slow.actuators[thumb + 1 :]))
    sizes = found(thenar.compare(recorded(tmp_path / "other.mcap", spec, seed=5), twin))
    assert sizes["current", "thumb_bend"] == pytest.approx(0.4, rel=0.1)


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        ("", []),
        ("speed", [r"every motor moves (9|10|11) % slower than the twin"]),
        ("latency", [r"every motor follows (18|19|20|21|22) ms later than the twin"]),
    ],
)
def test_a_slower_hand_and_a_later_one_are_told_apart_under_a_gloves_motions(plant: str, words: list[str]):
    # Targets of a retargeter go at the motor's own speed: a slower hand is hardly ever far behind.
    told = judge(plant, motions(7.0, None, seed=4), seed=4).told
    assert len(told) == len(words)
    assert all(re.match(pattern, one) for pattern, one in zip(words, told, strict=True))


def test_a_hand_that_tells_half_of_its_states_is_not_taken_for_a_faster_one():
    found = judge("rate", motions(9.0, None, 90311), seed=90311)
    assert found.named_s is not None
    assert found.invented == []


@pytest.mark.parametrize("motion", [1, 2, 3])
@pytest.mark.parametrize("later_s", [0.016, 0.028])
def test_a_latency_is_as_large_as_it_is_and_nothing_else_comes_with_it(later_s: float, motion: int, tmp_path: Path):
    # Every command as late as the others; with the spread of real ones, ten commands say no more than within 1 ms.
    late = with_motors(latency_s=lambda s: s + later_s, latency_spread_s=lambda _: 0.0)
    even = with_motors(latency_spread_s=lambda _: 0.0)
    like = recorded(tmp_path / "twin.mcap", even, motion=motion)
    sizes = found(thenar.compare(recorded(tmp_path / "late.mcap", late, seed=5, motion=motion), like))
    assert sizes.keys() == {("latency", "every motor")}
    assert sizes["latency", "every motor"] == pytest.approx(later_s, rel=0.03)


def test_forces_are_said_to_be_scaled_only_where_several_grips_agree():
    assert [one.size for one in scales_of_grips(1.2, 1.2, 1.2)] == [pytest.approx(0.2, rel=0.1)]
    assert scales_of_grips(1.0, 1.2, 1.0) == []
    assert scales_of_grips(1.2) == []
    # A third of a second that is missing in the middle of the only grip does not make two of it.
    assert scales_of_grips(1.2, lost=slice(135, 165)) == []


def test_a_stuck_motor_is_named_with_its_place(twin: thenar.Recording, tmp_path: Path):
    places = []

    def jam(world: thenar.World) -> None:
        world.faults.inject("inspire_right", "middle", "jam")
        places.append(np.degrees(world.state("inspire_right").angle_rad[SPEC.actuator_names.index("middle")]))

    sizes = found(thenar.compare(recorded(tmp_path / "jammed.mcap", disturb=jam), twin))
    assert sizes.keys() == {("stuck", "middle"), ("error", "middle")}
    assert sizes["stuck", "middle"] == pytest.approx(places[0], abs=1.5)


def test_skins_are_compared_taxel_by_taxel(tmp_path: Path):
    usual = profile_of(SPEC, "measured")
    loud = replace(usual, bare=replace(usual.bare, gain_counts_per_n=1250.0))
    held = {"scene": "in_hand", "seconds": 2.5}
    twin = recorded(tmp_path / "twin.mcap", **held)
    assert thenar.compare(recorded(tmp_path / "a.mcap", seed=9, **held), twin).findings == ()
    pressed = twin.touch("inspire_right")["palm"].mean(axis=0)
    row, col = np.unravel_index(np.argmax(pressed), pressed.shape)
    kill = lambda world: world.faults.inject("inspire_right", f"palm {row} {col}", "dead")  # noqa: E731
    dead = found(thenar.compare(recorded(tmp_path / "b.mcap", disturb=kill, **held), twin))
    assert ("dead taxel", f"palm {row},{col}") in dead
    gains = found(thenar.compare(recorded(tmp_path / "c.mcap", skin=loud, **held), twin))
    assert {kind for kind, _ in gains} == {"touch gain"}
    assert gains["touch gain", "palm"] == pytest.approx(0.25, rel=0.1)


def test_each_taxel_counts_the_same_where_skins_have_gains_of_their_own(tmp_path: Path):
    usual = profile_of(SPEC, "measured")
    loud = replace(usual, bare=replace(usual.bare, gain_counts_per_n=1250.0))
    held = {"scene": "in_hand", "seconds": 4.0}
    twin = recorded(tmp_path / "twin.mcap", **held)
    palms = []
    for seed in range(1, 8):
        gap = thenar.compare(recorded(tmp_path / f"{seed}.mcap", seed=seed, skin=loud, **held), twin)
        palms += [finding for finding in gap.findings if (finding.kind, finding.part) == ("touch gain", "palm")]
    assert len(palms) == 7
    # By force, which two of its six taxels carry, it is 0.38.
    assert np.median([palm.size for palm in palms]) == pytest.approx(0.25, rel=0.1)
    assert all(0.02 < palm.error < 0.06 and abs(palm.size - 0.25) < 2.0 * palm.error for palm in palms)


def test_forces_of_a_hand_that_holds_what_its_twin_lacks_are_not_compared():
    scale, gain, nothing, meets = (
        Finding(kind=kind, hand="inspire_right", part="index", size=0.3, unit="", words="", evidence="")
        for kind in ("force scale", "touch gain", "feels nothing", "meets")
    )
    assert in_one_grip([scale, gain, nothing]) == [scale, gain, nothing]
    assert in_one_grip([scale, gain, nothing, meets]) == [meets]
    other = replace(gain, hand="inspire_left")
    assert in_one_grip([meets, other]) == [meets, other]


def test_messages_that_come_seldom_and_messages_that_are_missing_are_told_apart():
    rng = np.random.default_rng(0)
    beat_s = np.arange(1000) * 0.01 + rng.normal(0.0, 5e-4, 1000)
    assert not list(find_rate_gaps("hand", "state", beat_s, 100.0))
    (rate,) = find_rate_gaps("hand", "state", np.arange(600) / 61.0, 100.0)
    assert rate.words == "state arrives at 61 Hz, 100 expected"
    (lost,) = find_rate_gaps("hand", "state", beat_s[rng.random(1000) > 0.1], 100.0)
    assert (lost.kind, lost.size) == ("lost messages", pytest.approx(0.1, abs=0.02))


def test_a_hand_that_moves_without_a_command_is_told_as_that(twin: thenar.Recording):
    motors = twin.motors("inspire_right")
    still = replace(motors, angle_rad=np.repeat(motors.angle_rad[:1], len(motors.stamp_s), axis=0))
    empty = np.zeros((0, 6))
    nobody = JointColumns(stamp_s=np.zeros(0), names=(), position_rad=empty, velocity_rad_s=empty, effort=empty)
    pair = pair_motors(SPEC, motors, still, nobody)
    assert pair is not None
    assert [one.kind for one in find_motor_gaps(pair)] == ["uncommanded"]
    assert twin.episodes == []


def test_a_report_is_one_page(twin: thenar.Recording, tmp_path: Path):
    slow = recorded(tmp_path / "slow.mcap", PLANTED["latency"][0])
    thenar.compare(slow, twin).save(tmp_path / "gap.html")
    page = (tmp_path / "gap.html").read_text("utf-8")
    assert "every motor follows" in page
    assert page.count("<svg") == 6
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    with pytest.raises(thenar.ThenarError, match=r"ends in \.html"):
        thenar.compare(slow, twin).save(tmp_path / "gap.pdf")


def test_noise_alone_is_no_difference_and_a_later_hand_is_one():
    rng = np.random.default_rng(2)
    stamp_s, told_s = np.linspace(0.01, 5.99, 300), np.linspace(0.0, 5.9, 60)
    target = np.clip(np.cumsum(rng.normal(0.0, 0.25, (60, 3)), axis=0) + 0.7, 0.0, 1.4)
    commands = Commands(told_s, target, np.full((60, 3), 2.4))
    free = np.ones((300, 3), dtype=bool)

    def moved(latency_s: float, seed: int) -> FloatArray:
        start = np.repeat(target[:1], 300, axis=0)
        path = follow(stamp_s, commands, np.full((1, 3), latency_s), np.ones((1, 3)), start, free)[:, 0]
        return path + np.random.default_rng(seed).normal(0.0, 0.003, path.shape)

    twin, open_rad = moved(0.054, 4), np.zeros(3)
    like = fit_follow(stamp_s, commands, moved(0.054, 3), twin, free, open_rad=open_rad, latency_s=0.054)
    assert not like.value.any()
    later = fit_follow(stamp_s, commands, moved(0.094, 3), twin, free, open_rad=open_rad, latency_s=0.054)
    assert later.value[0] == pytest.approx(0.04, abs=0.003)
    assert np.abs(later.value[2]).max() < 0.02


def test_what_could_not_be_compared_is_not_said_to_be_alike(twin: thenar.Recording, tmp_path: Path):
    for hand, like in (((0.0, 3.0), (4.0, 8.0)), ((0.0, 8.0), (30.0, 40.0)), ((30.0, 40.0), (0.0, 8.0))):
        gap = thenar.compare(twin.slice(*hand), twin.slice(*like))
        assert str(gap).startswith("inspire_right: ")
        assert "not compared" in str(gap)
        gap.save(tmp_path / "gap.html")
        page = (tmp_path / "gap.html").read_text(encoding="utf-8")
        assert "not compared" in page
        assert "No difference" not in page


def test_a_hand_that_only_one_recording_has_is_named(tmp_path: Path):
    for hands_of, name in (([SPEC.name], "one"), ([SPEC.name, "inspire_left"], "two")):
        world = thenar.World(hands_of)
        with thenar.record(world, tmp_path / f"{name}.mcap", touch=False):
            world.advance(2.0)
    gap = thenar.compare(tmp_path / "two.mcap", tmp_path / "one.mcap")
    assert gap.left_out == ("inspire_left is in one of them only: it was not compared",)


def test_joints_that_closing_does_not_move_are_compared_as_all_others():
    spec = hands.load("shadow_right")
    spread = [spec.actuator_names.index(name) for name in ("FFJ4", "RFJ4")]
    stamp_s = np.linspace(0.0, 6.0, 601)
    angle_rad = np.repeat(spec.open_rad[None], len(stamp_s), axis=0)
    angle_rad[:, spread] = np.stack([0.3 * np.sin(stamp_s), 0.3 * np.cos(2.0 * stamp_s)], axis=1)
    rest = np.zeros(angle_rad.shape)
    numbers: dict[str, Any] = dict.fromkeys((*REPORTED, *TOLD), rest) | {"target_rad": angle_rad}
    numbers |= {"status": rest.astype(int), "error": rest.astype(int)}

    def columns(order: list[int]) -> MotorColumns:
        own = angle_rad.copy()
        own[:, spread] = angle_rad[:, [spread[k] for k in order]]
        own_numbers: dict[str, Any] = numbers | {"angle_rad": own}
        return MotorColumns(stamp_s=stamp_s, names=spec.actuator_names, **own_numbers)

    none = np.full(angle_rad.shape, np.nan)
    told = JointColumns(stamp_s=stamp_s, names=(), position_rad=angle_rad, velocity_rad_s=none, effort=none)
    with np.errstate(all="raise"):
        pair = pair_motors(spec, columns([1, 0]), columns([0, 1]), told)
        assert pair is not None
        np.testing.assert_array_equal(pair.commands.target_rad[1:], angle_rad)
        (swapped,) = find_motor_gaps(pair)
    assert (swapped.kind, swapped.part) == ("finger order", "FFJ4,RFJ4")


def test_a_hand_that_tells_no_force_meets_something_without_a_warning(tmp_path: Path):
    bar = thenar.Box(name="bar", size_m=(0.2, 0.03, 0.03), pos_m=(0.0, 0.07, 0.05), fixed=True)
    for name, props in (("bar", [bar]), ("free", [])):
        world = thenar.World(SPEC, props=props)
        with thenar.record(world, tmp_path / f"{name}.mcap", touch=False):
            for closed in (0.05, 0.8, 0.05, 0.8):
                world.command(SPEC.name, thenar.HandCommand.closing([closed] * 4 + [0.0] * 2))
                world.advance(1.0)
    told = thenar.Recording(tmp_path / "bar.mcap")
    motors = told.motors(SPEC.name)
    silent = replace(motors, force_n=np.full_like(motors.force_n, np.nan))
    like = thenar.Recording(tmp_path / "free.mcap").motors(SPEC.name)
    pair = pair_motors(SPEC, silent, like, told.commands(SPEC.name))
    assert pair is not None
    with warnings.catch_warnings(action="error"):
        words = [one for one in find_motor_gaps(pair) if one.kind == "meets"]
    assert len(words) >= 3
    assert not any("pushing" in one.evidence for one in words)


def test_barometers_with_zeros_and_noise_of_their_own_are_not_taken_for_dead_ones(tmp_path: Path):
    def read(name: str, seed: int, stuck: str = "") -> thenar.Recording:
        world = thenar.World("reflex", seed=seed)
        if stuck:
            world.faults.inject("reflex", stuck, "stuck")
        with thenar.record(world, tmp_path / f"{name}.mcap"):
            for closed in (0.4, 0.0, 0.5, 0.1):
                world.command("reflex", thenar.HandCommand.closing(closed))
                world.advance(1.0)
        return thenar.Recording(tmp_path / f"{name}.mcap")

    twin = read("twin", 1)
    assert thenar.compare(read("same", 2), twin).findings == ()
    assert found(thenar.compare(read("stuck", 3, "palm_1 1 0"), twin)).keys() == {("stuck taxel", "palm_1 1,0")}


def test_a_pad_without_its_sensor_is_one_finding(tmp_path: Path):
    def unplug(world: thenar.World) -> None:
        for row, col in np.ndindex(3, 3):
            world.faults.inject("inspire_right", f"index_tip {row} {col}", "stuck", 0.0)

    held = {"scene": "in_hand", "seconds": 4.0}
    (one,) = thenar.compare(
        recorded(tmp_path / "a.mcap", disturb=unplug, **held), recorded(tmp_path / "b.mcap", **held)
    ).findings
    assert one.words == "every taxel of index_tip reads 0 counts whatever happens"
