"""From the glove to the hand: constraints that hold, pinches that close, postures that come back."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_gloves import hard_log

from thenar import hands
from thenar.cli import main
from thenar.errors import BadValue
from thenar.glove import person
from thenar.glove.files import read_log
from thenar.glove.log import GloveLog
from thenar.glove.make import make_log
from thenar.retarget.batch import retarget_recording, time_steps
from thenar.retarget.config import LIMITS_ALONE, RetargetConfig
from thenar.retarget.fit import MAP_KINDS, LinearMap, fit_map, load_map, save_map
from thenar.retarget.kernel.qp_solver import SOLVED, solve_qp
from thenar.retarget.kernel.solver_memory import WORK
from thenar.retarget.model.collision_hulls import min_distance_m
from thenar.retarget.model.hand_model import HandModel, build_model
from thenar.retarget.retargeter import Following, Retargeter, aligned_nodes
from thenar.retarget.solver import Solver
from thenar.signals import FloatArray, GloveLayout
from thenar.sim.collision_checker import CollisionChecker
from thenar.twin.reports.retarget_measure import Quality, measure, time_frames_us

LIFTED = 100.0
MOTIONS = ("fist", "pinch_index", "pinch_middle", "pinch_ring", "pinch_little", "wave", "thumbs_up", "random")


@cache
def model_of(hand: str) -> HandModel:
    return build_model(hands.load(hand))


@cache
def checker_of(hand: str) -> CollisionChecker:
    return CollisionChecker(hands.load(hand))


RECORDINGS: dict[str, Callable[[], GloveLog]] = {
    "nodes21": lambda: make_log(MOTIONS, layout="nodes21", rate_hz=60.0, seed=5),
    "manus25": lambda: make_log(MOTIONS, layout="manus25", rate_hz=60.0, seed=5),
    "hard, 21 nodes": lambda: hard_log("nodes21"),
    "hard, 25 nodes": lambda: hard_log("manus25"),
    "a child at 90 Hz": lambda: make_log(size=0.8, pace=1.2, rate_hz=90.0, seed=11),
    "a large hand at 30 Hz": lambda: make_log(size=1.15, rate_hz=30.0, seed=12),
    "a small hand, 25 nodes": lambda: make_log(layout="manus25", size=0.9, pace=1.3, rate_hz=115.0, seed=13),
    "a slow one, 25 nodes": lambda: make_log(layout="manus25", size=1.1, pace=0.7, seed=14),
}


SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
REAL = {path.name: partial(read_log, path) for path in sorted(SHARED.glob("manus2[15]_right.*"))}
"""Recordings of real gloves, where they lie beside this checkout: held to the same bars, never committed."""
RECORDINGS |= REAL


@cache
def recording(name: str) -> GloveLog:
    return RECORDINGS[name]()


@cache
def followed(hand: str, name: str, config: RetargetConfig) -> tuple[FloatArray, Quality]:
    """What a hand did on a recording, and how well."""
    log, model = recording(name), model_of(hand)
    nodes = np.ascontiguousarray(aligned_nodes(model, log.finger_m, log.side, mirror=True))
    step_s = time_steps(log.stamp_s)
    angles = retarget_recording(model, nodes, step_s, config)
    quality = measure(model, nodes, step_s, angles, speed_scale=config.speed_scale, checker=checker_of(hand))
    return angles, quality


BOTH = ("nodes21", "manus25")
HARD = ("hard, 21 nodes", "hard, 25 nodes")
WITH_A_THUMB = [name for name in hands.names() if not name.startswith("dex1")]
ONE_OF_EACH = ("shadow_right", "inspire_right", "inspire_dfx_left", "fourier_left", "reflex")


@pytest.mark.parametrize("hand", WITH_A_THUMB)
@pytest.mark.parametrize("name", BOTH)
def test_no_limit_coupling_or_speed_is_ever_broken(hand: str, name: str):
    _, quality = followed(hand, name, RetargetConfig())
    assert quality.limit_excess_deg == 0.0
    assert quality.speed_ratio < 1.0 + 1e-6


@pytest.mark.parametrize("hand", WITH_A_THUMB)
@pytest.mark.parametrize("name", BOTH)
def test_a_hand_never_runs_into_itself(hand: str, name: str):
    assert followed(hand, name, RetargetConfig())[1].penetrating == 0.0
    assert followed(hand, name, RetargetConfig(speed_scale=LIFTED))[1].penetrating <= 0.001


def test_limits_alone_would_run_into_itself():
    assert followed("shadow_right", "nodes21", LIMITS_ALONE)[1].penetrating > 0.02


def broken_bars(tabled: Quality, lifted: Quality, alone: Quality) -> set[str]:
    """Headline figures that do not hold: at the motors' speed, with that limit lifted, beside limits alone."""
    bars = {
        "limits": tabled.limit_excess_deg == lifted.limit_excess_deg == 0.0,
        "speeds": tabled.speed_ratio < 1.0 + 1e-6,
        "penetration": tabled.penetrating == 0.0 and lifted.penetrating <= 0.001,
        "pinches": tabled.pinch_ok >= 0.95 and lifted.pinch_ok >= 0.99,
        "pads": min(tabled.pinch_palmar, lifted.pinch_palmar) >= 0.80,
        "smooth": max(q.reversals_per_s[0.1] for q in (tabled, lifted)) <= 0.8 * alone.reversals_per_s[0.1],
        "tips": tabled.tip_mm - alone.tip_mm <= 0.55 and lifted.tip_mm <= 1.5,
        "segments": lifted.segment_deg <= 2.6,
    }
    return {name for name, holds in bars.items() if not holds}


@pytest.mark.parametrize("name", RECORDINGS)
def test_shadow_keeps_to_the_bars(name: str):
    tabled, lifted = (followed("shadow_right", name, RetargetConfig(speed_scale=k))[1] for k in (1.0, LIFTED))
    broken = broken_bars(tabled, lifted, followed("shadow_right", name, LIMITS_ALONE)[1])
    # Close following is promised for 21 nodes: 25 nodes lie where this robot's knuckles do not.
    assert broken - ({"tips", "segments"} if recording(name).layout == "manus25" else set()) == set()


@pytest.mark.parametrize("control", ["shuffled", "the other hand", "limits alone"])
def test_a_motion_that_is_wrong_breaks_the_bars(control: str):
    model, log = model_of("shadow_right"), recording("hard, 21 nodes")
    nodes, step_s = log.finger_m, time_steps(log.stamp_s)
    shown = {
        "shuffled": nodes[np.random.default_rng(0).permutation(len(nodes))],
        "the other hand": nodes * [-1.0, 1.0, 1.0],
        "limits alone": nodes,
    }[control]
    configs = [RetargetConfig(), RetargetConfig(speed_scale=LIFTED)]
    if control == "limits alone":
        configs = [replace(LIMITS_ALONE, speed_scale=config.speed_scale) for config in configs]
    tabled, lifted = (
        measure(
            model,
            nodes,
            step_s,
            retarget_recording(model, shown, step_s, config),
            speed_scale=config.speed_scale,
            checker=checker_of("shadow_right"),
        )
        for config in configs
    )
    broken = broken_bars(tabled, lifted, followed("shadow_right", "hard, 21 nodes", LIMITS_ALONE)[1])
    assert (
        broken
        >= {
            "shuffled": {"pinches", "tips", "segments", "smooth"},
            "the other hand": {"tips", "segments"},  # its fingertips meet as often
            "limits alone": {"pinches", "penetration"},
        }[control]
    )
    assert not broken & {"limits", "speeds"}  # which hold whatever is shown


@pytest.mark.parametrize(
    ("name", "away_m"), [("manus25", 0.020), (HARD[1], 0.035), *((name, 0.020) for name in REAL if "25" in name)]
)
def test_where_limits_alone_do_not_touch_contact_costs_little(name: str, away_m: float):
    # Friction, which limits alone do not have either, costs another 0.02 mm.
    with_all = followed("shadow_right", name, RetargetConfig(speed_scale=LIFTED, friction_rad=0.0))[1]
    alone = followed("shadow_right", name, replace(LIMITS_ALONE, speed_scale=LIFTED))[1]
    nodes = recording(name).finger_m
    # The hard one is often between 20 and 35 mm, where a pinch begins to draw: a price, but not of contact.
    away = np.linalg.norm(nodes[:, 8::4] - nodes[:, 4:5], axis=2).min(axis=1) >= away_m
    fair = away & (alone.penetration_mm == 0.0)
    assert fair.mean() > 0.1
    # A made person moves so smoothly that limits alone follow to 0.3 mm: there 3 % is nothing.
    excess_mm = with_all.tip_frame_mm[fair].mean() - alone.tip_frame_mm[fair].mean()
    assert excess_mm <= max(0.03 * alone.tip_frame_mm[fair].mean(), 0.1)


@pytest.mark.parametrize("hand", ["inspire_right", "inspire_dfx_right", "fourier_right"])
@pytest.mark.parametrize("name", [*BOTH, *HARD, *REAL])
def test_hands_of_six_motors_close_the_pinches_they_can_reach(hand: str, name: str):
    assert model_of(hand).pinch_fingers
    assert followed(hand, name, RetargetConfig())[1].pinch_ok >= 0.90
    assert followed(hand, name, RetargetConfig(speed_scale=LIFTED))[1].pinch_ok >= 0.99


def test_only_fingers_the_thumb_can_touch_have_a_pinch():
    assert model_of("shadow_right").pinch_fingers == ("index", "middle", "ring", "little")
    assert model_of("inspire_dfx_right").pinch_fingers == ("index", "middle")
    assert model_of("inspire_right").pinch_fingers == ("index", "middle")


def test_the_tactile_inspire_hand_brings_its_middle_finger_to_two_millimetres_and_no_nearer():
    # All postures of thumb and middle finger on a grid: both thumb motors at their ends are the best there is.
    model, checker = model_of("inspire_right"), checker_of("inspire_right")
    lower, upper = (model.record[f"{end}_rad"][0] for end in ("lower", "upper"))
    at = [model.variables.index(name) for name in ("middle_1", "thumb_1", "thumb_2")]
    nearest_m = np.inf
    for choice in product(*(np.linspace(lower[n], upper[n], 15) for n in at)):
        angles = np.zeros(len(model.variables))
        angles[at] = choice
        checker.pose(model.joint_rad(angles))
        nearest_m = min(nearest_m, checker.distance(model.fingers[0].tip_link, model.fingers[2].tip_link)[0])
    assert 0.0020 < nearest_m < 0.0023


# The left thumb of inspire_dfx is not the mirror image of the right one.
@pytest.mark.parametrize("hand", ["shadow", "inspire", "fourier"])
def test_a_left_hand_does_what_the_mirrored_right_hand_does(hand: str):
    right, _ = followed(f"{hand}_right", "nodes21", RetargetConfig())
    log = make_log(MOTIONS, layout="nodes21", side="left", rate_hz=60.0, seed=5)
    left = retarget_recording(model_of(f"{hand}_left"), log.finger_m, time_steps(log.stamp_s))
    assert np.abs(left - right).max() < 1e-6


@pytest.mark.parametrize("size", [0.7, 1.4])
@pytest.mark.parametrize("hand", ["shadow_right", "inspire_right"])
def test_a_child_and_a_giant_are_followed_alike(hand: str, size: float):
    log = hard_log("nodes21")
    nodes, step_s = log.finger_m[:900], time_steps(log.stamp_s)[:900]
    usual, other = (retarget_recording(model_of(hand), k * nodes, step_s, workers=1) for k in (1.0, size))
    assert np.mean(np.abs(other - usual).max(axis=1) > np.radians(3.0)) < 0.01


@pytest.mark.parametrize("layout", ["nodes21", "manus25"])
def test_a_nanometre_does_not_decide_the_posture(layout: GloveLayout):
    """Half a second later the answer has moved by no more than ten times what a bone of 25 mm turned by."""
    model, log, rng = model_of("shadow_right"), hard_log(layout), np.random.default_rng(0)
    nodes, step_s = np.ascontiguousarray(log.finger_m[:900]), time_steps(log.stamp_s)[:900]
    later = round(0.5 / float(np.median(step_s)))
    whole = retarget_recording(model, nodes, step_s, workers=1)
    for frame in rng.integers(5, len(nodes) - later - 1, 60):
        shifted = nodes[: frame + later + 1].copy()
        shifted[frame, rng.integers(1, 21), rng.integers(3)] += 1e-9
        answer = retarget_recording(model, shifted, step_s[: len(shifted)], workers=1)
        assert np.abs(answer[-1] - whole[frame + later]).max() < 10.0 * 1e-9 / 0.025


def shown(hand: str, nodes: FloatArray, config: RetargetConfig | None = None) -> FloatArray:
    """What a hand does that is shown nodes at 60 Hz, from where the first of them would have brought it."""
    solver, out = Solver(model_of(hand), config), np.empty((len(nodes), len(model_of(hand).variables)))
    solver.settle(nodes[0])
    solver.follow(np.ascontiguousarray(nodes), np.full(len(nodes), 1.0 / 60.0), out)
    return out


@pytest.mark.parametrize("hand", WITH_A_THUMB)
def test_no_finger_swings_while_a_person_holds_still(hand: str):
    """It may still creep to its end, one way."""
    for gesture, layout in product(("fist", "pinch_middle", "pinch_ring"), BOTH):
        side = "left" if hand.endswith("left") else "right"
        nodes = make_log((gesture,), layout=layout, side=side, rate_hz=60.0).finger_m[30:71]
        last_second = shown(hand, np.concatenate([nodes, np.repeat(nodes[-1:], 240, axis=0)]))[-60:]
        ways = np.abs(np.diff(last_second, axis=0)).sum(axis=0)
        assert (ways - np.abs(last_second[-1] - last_second[0])).max() < 0.01, (gesture, layout)


@pytest.mark.parametrize("layout", BOTH)
def test_a_posture_held_for_a_second_is_the_same_wherever_it_was_reached_from(layout: GloveLayout):
    nodes, rng = hard_log(layout, seed=12).finger_m, np.random.default_rng(5)
    apart_deg: dict[bool, list[float]] = {True: [], False: []}
    share = np.minimum(1.0, np.arange(90) / 30.0)[:, None, None]
    for end in rng.choice(len(nodes), 8, replace=False):
        starts = rng.choice(len(nodes), 8, replace=False)
        for rest, apart in apart_deg.items():
            config = RetargetConfig(speed_scale=LIFTED, rest=rest)
            ways = [nodes[start] + share * (nodes[end] - nodes[start]) for start in starts]
            last = np.array([shown("shadow_right", way, config)[-1] for way in ways])
            apart.append(float(np.degrees(np.ptp(last, axis=0)).max()))
    assert max(apart_deg[True]) < 2.0
    assert max(apart_deg[False]) > 2.0  # left where it came to


def test_fingers_on_the_wrong_side_of_each_other_go_round():
    """Postures of random joints at which a hand ended 35 to 57 degrees apart, by where it came from."""
    rng, share = np.random.default_rng(7), np.minimum(1.0, np.arange(90) / 30.0)[:, None, None]
    lower, upper = (
        [-0.3, -0.2, 0.0, 0.0] + [-0.35, -0.2, 0.0, 0.0] * 4,
        [1.0, 1.0, 0.9, 0.9] + [0.35, 1.5, 1.6, 1.1] * 4,
    )
    drawn = [person.nodes(person.PERSON_21, rng.uniform(lower, upper, (7, 20)))[0] for _ in range(265)]
    for held, *starts in (drawn[number] for number in (47, 180, 184, 259, 264)):
        ways = [start + share * (held - start) for start in starts]
        for rest in (True, False):
            config = RetargetConfig(speed_scale=LIFTED, rest=rest)
            last = np.array([shown("shadow_right", way, config)[-1] for way in ways])
            assert (np.degrees(np.ptp(last, axis=0)).max() < 2.0) == rest


def test_fingers_that_hold_each_other_up_go_round():
    """Postures of random joints at which a hand stopped 32 to 76 degrees apart: it could not go straight to its end."""
    share = np.minimum(1.0, np.arange(1, 91) / 30.0)[:, None, None]
    for seed in (172, 460, 495):
        drawn = np.random.default_rng(seed).uniform(person.LOWER_RAD, person.UPPER_RAD, (3, 20))
        held, *starts = person.nodes(person.PERSON_21, drawn)[0]
        for rest in (True, False):
            config = RetargetConfig(speed_scale=LIFTED, rest=rest)
            last = np.array([shown("shadow_right", start + share * (held - start), config)[-1] for start in starts])
            assert (np.degrees(np.ptp(last, axis=0)).max() < 2.0) == rest


@pytest.mark.parametrize("hand", ["shadow_right", "inspire_right"])
def test_a_hand_that_was_held_follows_a_slow_person(hand: str):
    nodes = make_log(("point",), layout="nodes21", rate_hz=60.0).finger_m[[0, 70]]
    speed_m_s, away_m = 0.001, np.sqrt(np.mean(np.sum((nodes[1] - nodes[0]) ** 2, axis=1)))
    share = np.linspace(0.0, 1.0, round(away_m / speed_m_s * 60.0))[::-1, None, None]  # from pointing to open
    slow = nodes[0] + share[: len(share) // 2] * (nodes[1] - nodes[0])
    way = np.concatenate([np.repeat(slow[:1], 120, axis=0), slow])
    wanted = shown(hand, way, LIMITS_ALONE)
    assert np.abs(wanted[-1] - wanted[0]).max() > 0.3
    assert np.abs(shown(hand, way)[-1] - wanted[-1]).max() < 0.03


def random_postures(hand: str, count: int) -> FloatArray:
    """Postures within all limits in which nothing touches."""
    model, checker, rng = model_of(hand), checker_of(hand), np.random.default_rng(1)
    record, v = model.record[0], len(model.variables)
    found = []
    while len(found) < count:
        angles = rng.uniform(record["lower_rad"][:v], record["upper_rad"][:v])
        for tendon in range(int(record["tendons"])):
            a, b = record["row_variable"][tendon]
            if record["row_weight"][tendon][1] < 0 and angles[b] > angles[a]:  # the middle joint bends more
                angles[a], angles[b] = angles[b], angles[a]
        checker.pose(model.joint_rad(angles))
        if checker.overlap().depth_m == 0.0:
            found.append(angles)
    return np.array(found)


@pytest.mark.parametrize("hand", WITH_A_THUMB)
def test_a_posture_shown_to_a_hand_comes_back(hand: str):
    model, fingers = model_of(hand), len(model_of(hand).fingers)
    postures = random_postures(hand, 500)
    points = model.points_m(postures)
    nodes = np.zeros((len(postures), 21, 3))
    for finger, part in zip(model.fingers, model.point_slices, strict=True):
        nodes[:, list(finger.nodes)] = (points[:, part] - model.palm_m) @ model.R_palm
    same = LinearMap(
        hand=hand,
        kind="full",
        fingers=model.finger_names,
        matrix=np.tile(np.eye(3), (fingers, 1, 1)),
        shift_m=np.zeros((fingers, 3)),
        residual_mm=0.0,
        condition=1.0,
    )
    solver, found = Solver(model, RetargetConfig(pinch=False, clearance_mm=0.0), same), []
    for frame in nodes:
        solver.settle(frame)
        found.append(solver.angle_rad.copy())
    again = model.points_m(np.array(found))
    tips = [part.stop - 1 for part in model.point_slices]
    off_m = np.linalg.norm(again[:, tips] - points[:, tips], axis=2)
    # LEAP's thumb turns about its length by 140 degrees: sought from ten starts it misses 0.4 % (from one, 26 %), and
    # then stands in the way of fingers.
    assert off_m.max() < 1e-3 if hand != "leap_right" else np.mean(off_m > 1e-3) < 0.005


@pytest.mark.parametrize("hand", ONE_OF_EACH)
@pytest.mark.parametrize("trouble", ["noise", "shuffled", "teleports"])
def test_bad_motion_breaks_nothing(hand: str, trouble: str):
    model, log, rng = model_of(hand), recording("nodes21"), np.random.default_rng(2)
    nodes, step_s = log.finger_m.copy(), time_steps(log.stamp_s)
    if trouble == "noise":
        nodes += rng.normal(0.0, 0.002, nodes.shape)
    elif trouble == "shuffled":
        nodes = nodes[rng.permutation(len(nodes))]
    else:
        nodes = np.repeat(nodes[rng.permutation(len(nodes))[::10]], 10, axis=0)
        step_s = np.full(len(nodes), step_s[0])
    angles = retarget_recording(model, nodes, step_s)
    quality = measure(model, nodes, step_s, angles, checker=checker_of(hand))
    assert quality.limit_excess_deg == 0.0
    assert quality.speed_ratio < 1.0 + 1e-6
    assert quality.penetrating <= 0.005


def test_pieces_followed_side_by_side_are_what_one_pass_gives():
    log = recording("nodes21")
    nodes, step_s = np.tile(log.finger_m, (12, 1, 1)), np.tile(time_steps(log.stamp_s), 12)
    done = []
    together = retarget_recording(model_of("shadow_right"), nodes, step_s, workers=2, progress=done.append)
    alone = retarget_recording(model_of("shadow_right"), nodes, step_s, workers=1)
    assert len(done) > 1
    assert sum(done) == len(nodes)
    assert np.abs(together - alone).max() < 1e-6


def test_frame_by_frame_gives_what_the_whole_recording_gives():
    log, retargeter = recording("nodes21"), Retargeter(hands.load("shadow_right"))
    whole, _ = followed("shadow_right", "nodes21", RetargetConfig())
    one_by_one = [retargeter(log[n]).joint_rad for n in range(200)]
    assert np.abs(np.array(one_by_one) - retargeter.model.joint_rad(whole[:200])).max() < 1e-6


def test_the_command_holds_motor_angles_tendons_as_sums():
    retargeter = Retargeter(hands.load("shadow_right"))
    answer = retargeter(recording("nodes21")[60])
    joints = dict(zip(retargeter.model.hand.joint_names, answer.joint_rad, strict=True))
    motors = dict(zip(retargeter.model.hand.actuator_names, answer.command.target_rad, strict=True))
    assert motors["FFJ0"] == pytest.approx(joints["FFJ1"] + joints["FFJ2"])
    assert motors["THJ4"] == joints["THJ4"]
    assert motors["WRJ1"] == 0.0


def test_a_silent_glove_holds_then_opens_and_says_so():
    retargeter = Retargeter(hands.load("inspire_right"))
    assert retargeter.tick(0.0).following is Following.WAITING
    log = make_log(("fist",))
    fist = log[80]
    last = retargeter(replace(fist, stamp_s=10.0))
    assert last.following is Following.FOLLOWING
    held = retargeter.tick(11.0)
    assert held.following is Following.HOLDING
    assert held.age_s == pytest.approx(1.0)
    assert np.array_equal(held.joint_rad, last.joint_rad)
    steps = [retargeter.tick(12.0 + 0.02 * n) for n in range(400)]
    assert steps[-1].following is Following.RELAXING
    assert np.abs(steps[-1].joint_rad - retargeter.model.joint_rad(retargeter.model.open_rad)).max() < 0.05
    jumps = np.abs(np.diff([step.command.target_rad for step in steps], axis=0)) / 0.02
    assert np.all(jumps <= 0.26 * retargeter.model.hand.top_speed_rad_s)
    back = retargeter(replace(fist, stamp_s=20.05))
    assert np.all(np.abs(back.command.target_rad - steps[-1].command.target_rad) <= 0.1 * 2.5)


def test_a_frame_with_a_missing_number_is_a_lost_frame():
    retargeter, log = Retargeter(hands.load("shadow_right")), recording("nodes21")
    before = retargeter(log[0])
    lost = log[1].position_m.copy()
    lost[7, 1] = np.nan
    answer = retargeter(replace(log[1], position_m=lost))
    assert np.array_equal(answer.joint_rad, before.joint_rad)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pinch_from_mm", 0.0),
        ("friction_rad", -1.0),
        ("prediction_s", float("nan")),
        ("damping", 0.0),
        ("reversal_share", 1.5),  # a joint that turns back would be faster than its motor
    ],
)
def test_a_number_that_cannot_work_is_refused(name: str, value: float):
    given: dict[str, Any] = {name: value}
    with pytest.raises(BadValue, match="wanted a"):
        RetargetConfig(**given)


def test_the_other_sides_glove_is_refused_unless_it_is_meant():
    left = make_log(("open",), side="left")[0]
    with pytest.raises(BadValue, match="glove side is 'left'; wanted right, as shadow_right is"):
        Retargeter(hands.load("shadow_right"))(left)
    mirrored = Retargeter(hands.load("shadow_right"), RetargetConfig(mirror=True))(left)
    own = Retargeter(hands.load("shadow_right"))(make_log(("open",), side="right")[0])
    assert np.abs(mirrored.joint_rad - own.joint_rad).max() < 1e-9


def test_smoothing_calms_and_tells_its_latency():
    config = RetargetConfig(smooth_s=0.05, speed_scale=LIFTED)
    assert Retargeter(model_of("shadow_right"), config).added_latency_s == 0.05
    model, log = model_of("shadow_right"), recording("nodes21")
    noisy = log.finger_m + np.random.default_rng(0).normal(0.0, 0.001, log.finger_m.shape)
    jerk = [
        np.abs(np.diff(retarget_recording(model, noisy, time_steps(log.stamp_s), c), n=3, axis=0)).mean()
        for c in (config, replace(config, smooth_s=0.0))
    ]
    assert jerk[0] < 0.6 * jerk[1]


def test_accelerations_keep_to_the_motors():
    model, log = model_of("inspire_right"), recording("nodes21")
    slow = replace(model, record=model.record.copy())
    slow.record["acceleration_rad_s2"] = 20.0
    step_s = np.full(len(log), 0.005)
    angles = retarget_recording(slow, log.finger_m, step_s, RetargetConfig(pinch=False, contact=False))
    velocity = np.diff(angles, axis=0) / 0.005
    assert np.abs(np.diff(velocity, axis=0)).max() / 0.005 < 20.0 * (1 + 1e-6)


def test_only_tips_are_followed_when_asked():
    tips = RetargetConfig(weight_middle=0.0, weight_last=0.0, speed_scale=LIFTED, pinch=False, contact=False)
    every = replace(tips, weight_middle=0.5, weight_last=0.5)
    assert followed("shadow_right", "nodes21", tips)[1].tip_mm < followed("shadow_right", "nodes21", every)[1].tip_mm


def test_a_map_is_fitted_and_fits_better_the_more_it_may_choose(tmp_path: Path):
    model, log = model_of("shadow_right"), recording("nodes21")
    step_s = time_steps(log.stamp_s)
    maps = [fit_map(model, log.finger_m, step_s, kind) for kind in MAP_KINDS]
    residuals = [fitted.residual_mm for fitted in maps]
    assert residuals == sorted(residuals, reverse=True)
    assert residuals[-1] < 4.0
    save_map(tmp_path / "map.json", maps[-1])
    fitted = load_map(tmp_path / "map.json")
    angles = retarget_recording(model, log.finger_m, step_s, RetargetConfig(speed_scale=LIFTED), linear_map=fitted)
    quality = measure(model, log.finger_m, step_s, angles, linear_map=fitted, checker=checker_of("shadow_right"))
    assert quality.tip_mm < 6.0
    assert quality.penetrating <= 0.001


def test_a_map_of_another_hand_is_refused():
    log = recording("nodes21")
    fitted = fit_map(model_of("shadow_right"), log.finger_m[:200], time_steps(log.stamp_s)[:200], "scalar")
    with pytest.raises(BadValue, match="a map that was fitted for inspire_right"):
        Retargeter(model_of("inspire_right"), linear_map=fitted)


def test_the_quadratic_program_finds_the_best_allowed_step():
    # Against projected gradients from many sides: nothing allowed may be better.
    rng = np.random.default_rng(3)
    for _ in range(50):
        n, rows, work = 12, 8, np.zeros(1, WORK)
        A = rng.normal(size=(20, n))
        H, g = A.T @ A + 1e-3 * np.eye(n), rng.normal(size=n)
        row, row_lower = rng.normal(size=(rows, n)), -rng.random(rows) * 0.2
        lower, upper = -rng.random(n) * 0.3, rng.random(n) * 0.3
        work["H"][0, :n, :n], work["g"][0, :n] = H, g
        work["row"][0, :rows, :n], work["row_lower"][0, :rows] = row, row_lower
        work["step_lower"][0, :n], work["step_upper"][0, :n] = lower, upper
        assert solve_qp.py_func(n, n, rows, work.view(np.recarray)[0]) == SOLVED
        x = work["x"][0, :n]
        assert np.all(x >= lower - 1e-9)
        assert np.all(x <= upper + 1e-9)
        assert np.all(row @ x >= row_lower - 1e-9)
        best = 0.5 * x @ H @ x + g @ x
        others = np.clip(x + rng.normal(size=(400, n)) * 10.0 ** rng.uniform(-4, -0.5, (400, 1)), lower, upper)
        others = others[np.all(others @ row.T >= row_lower, axis=1)]
        values = 0.5 * np.sum(others @ H * others, axis=1) + others @ g
        assert np.all(values >= best - 1e-9)


def test_distances_agree_with_mujoco():
    model, checker = model_of("shadow_right"), checker_of("shadow_right")
    apart = [min_distance_m(model.record, posture) for posture in random_postures("shadow_right", 60)]
    assert min(apart) > -0.0008  # edges of boxes and cylinders are rounded by a millimetre
    rng, found = np.random.default_rng(4), 0
    while found < 60:
        v = len(model.variables)
        posture = rng.uniform(model.record["lower_rad"][0, :v], model.record["upper_rad"][0, :v])
        checker.pose(model.joint_rad(posture))
        depth_m = checker.overlap().depth_m
        if depth_m > 0.001:
            found += 1
            assert min_distance_m(model.record, posture) < 0.0


@pytest.mark.timing
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize(
    ("hand", "median_us", "p99_us"), [("shadow_right", 60.0, 200.0), ("inspire_right", 20.0, 60.0)]
)
def test_a_frame_takes_microseconds(hand: str, median_us: float, p99_us: float, name: str):
    log = recording(name)
    best = time_frames_us(model_of(hand), RetargetConfig(), log.finger_m, time_steps(log.stamp_s))
    assert np.median(best) < median_us
    assert np.percentile(best, 99) < p99_us


def test_the_command_line_makes_follows_fits_and_reports(tmp_path: Path, capsys):
    log, motion, page = tmp_path / "person.csv", tmp_path / "motion.npz", tmp_path / "report.html"
    main(["glove", "make", str(log), "--gestures", "fist,pinch_index"])
    main(["retarget", str(log), "--hand", "shadow_right", "-o", str(motion), "--report", str(page), "--json"])
    told = json.loads("{" + capsys.readouterr().out.partition("{")[2])
    assert told["over a limit or coupling, degrees"] == 0.0
    held = np.load(motion)
    assert held["joint_rad"].shape == (told["frames"], len(held["joint_names"]))
    assert held["motor_rad"].shape == (told["frames"], 20)
    assert len(held["stamp_s"]) == told["frames"]
    assert "<table>" in page.read_text()
    fitted = tmp_path / "map.json"
    main(["retarget", "fit", str(log), "--hand", "shadow_right", "-o", str(fitted)])
    main(["retarget", str(log), "--hand", "shadow_right", "--map", str(fitted), "-o", str(tmp_path / "motion.csv")])
    table = (tmp_path / "motion.csv").read_text().splitlines()
    assert table[0].startswith("stamp_s,WRJ2,")
    assert len(table) == told["frames"] + 1


def test_a_left_recording_for_a_right_hand_is_refused_and_nothing_is_written(tmp_path: Path, capsys):
    log, motion = tmp_path / "left.csv", tmp_path / "motion.npz"
    main(["glove", "make", str(log), "--gestures", "fist", "--side", "left"])
    with pytest.raises(SystemExit) as stopped:
        main(["retarget", str(log), "--hand", "inspire_right", "-o", str(motion)])
    assert stopped.value.code == 2
    complaint = capsys.readouterr().err
    assert "left.csv" in complaint
    assert "expected a right one for inspire_right" in complaint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["left.csv"]
    main(["retarget", str(log), "--hand", "inspire_right", "-o", str(motion), "--mirror"])
    assert motion.exists()


def test_a_recording_is_shown_in_a_page(tmp_path: Path):
    log, page = tmp_path / "person.npz", tmp_path / "person.html"
    main(["glove", "make", str(log), "--gestures", "wave"])
    main(["glove", "animate", str(log), "--out", str(page)])
    assert '"bones": [[0, 1]' in page.read_text()


@pytest.mark.parametrize(
    ("link", "side_mm", "palm_mm", "back_mm", "tip_mm"),
    [
        ("ffdistal", 8.6, 7.3, 7.0, 32.0),
        ("thdistal", 10.6, 8.8, 9.0, 35.0),
        ("rfproximal", 10.0, 10.0, 8.0, 53.0),  # ends of phalanges: between a published mesh and a published capsule
        ("lfmiddle", 9.0, 9.0, 8.0, 33.0),
        ("thproximal", 13.0, 12.8, 12.9, 49.2),
        ("thmiddle", 11.0, 10.8, 10.8, 41.0),
    ],
)
def test_fingers_are_planned_by_the_extents_of_the_real_ones(link, side_mm, palm_mm, back_mm, tip_mm):
    for hand in ("shadow_right", "shadow_left"):
        outline = hands.load(hand).link(link).outline
        assert outline is not None
        high = np.max(outline.points_m, axis=0) + outline.radius_m
        low = np.min(outline.points_m, axis=0) - outline.radius_m
        extents_mm = 1e3 * np.array([high[0], -low[0], -low[1], high[1], high[2]])
        assert np.abs(extents_mm - [side_mm, side_mm, palm_mm, back_mm, tip_mm]).max() < 0.6
