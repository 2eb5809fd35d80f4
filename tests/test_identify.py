"""Motors of one hand: from recordings with intervals, as a file, in a world."""

from pathlib import Path

import numpy as np
import pytest

import thenar
from bench.identify import BAR, HAND, drive, hidden_motors, tracks
from thenar import hands
from thenar.errors import BadFile, BadValue, UnknownName
from thenar.hands.motors_file import read_motors
from thenar.hands.spec import LeadScrew
from thenar.sim.identify.motor_identity import MotorIdentity, identify_hand
from thenar.sim.identify.programme import programme
from thenar.twin.recording.identification import possible, write_identity

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
    steps = phase("fingers: postures", 0, 13) + phase("fingers: steps", 0, 18) + phase("fingers: turning back", 0, 40)
    return drive(world, steps)


@pytest.fixture(scope="module")
def pressed(truth: dict):
    world = thenar.World(HAND, motors={HAND: truth}, seed=4, props=[BAR])
    world.advance(0.5)
    return drive(world, phase("fingers: presses", 0, 24))


def test_the_motor_of_a_hidden_hand_is_found_within_its_intervals(truth: dict, bare, pressed):
    found, usual = of_the_index([bare, pressed]).values, SPEC.actuators[INDEX].motor
    values = ("latency_s", "full_stroke_s", "stop_s", "stiffness_n", "stiffening_n", "reaction_s", "amps_per_n")
    own = truth["index"]
    inside = [found[name].low <= own[name] <= found[name].high for name in (*values, "force_zero_n", "drive_a")]
    assert sum(inside) >= 7  # 95 % each
    off = [abs(found[name].value / own[name] - 1.0) for name in values]
    before = [abs(getattr(usual, name) / own[name] - 1.0) for name in values]
    assert np.mean(off) < 0.3 * np.mean(before)
    assert np.mean(off) < 0.08


def test_what_a_bare_hand_cannot_tell_is_refused_with_the_motion_that_would(bare):
    found = of_the_index([bare])
    for name in ("stiffness_n", "stall_n", "reaction_s", "amps_per_n"):
        assert name not in found.values
        assert "press on something rigid" in found.refused[name]
    assert {"latency_s", "full_stroke_s", "force_zero_n"} <= set(found.values)


def test_a_hand_that_only_stood_tells_its_noise_and_no_more():
    world = thenar.World(HAND, seed=1)
    still = drive(world, phase("fingers: postures", 0, 1) * 4)
    found = of_the_index([still])
    assert "latency_s" in found.refused
    assert "from one end to the other" in found.refused["latency_s"]


def test_a_file_of_motors_goes_into_a_world_and_what_is_not_of_them_stays(tmp_path: Path, bare, pressed):
    found = of_the_index([bare, pressed])
    path = tmp_path / "motors.toml"
    write_identity(path, SPEC, [found], "a tape")
    world = thenar.World(HAND, motors=path)
    motor, usual = world.hand(HAND).actuators[INDEX].motor, SPEC.actuators[INDEX].motor
    assert isinstance(motor, LeadScrew)
    assert motor.full_stroke_s == pytest.approx(possible(found)["full_stroke_s"].value, rel=1e-5)
    assert motor.lever_m == usual.lever_m
    assert world.hand(HAND).actuators[0] == SPEC.actuators[0]


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
