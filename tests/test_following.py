"""What a hand does with time, with what a glove does not see, and with a linear map; hands that are not as usual."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import thenar
from thenar import hands
from thenar.errors import BadFile, BadValue
from thenar.glove import person
from thenar.glove.make import make_log
from thenar.hands.rotations import matrix_from_rpy
from thenar.retarget.batch import retarget_recording, time_steps
from thenar.retarget.config import RetargetConfig
from thenar.retarget.fit import load_map, map_by_hand, save_map
from thenar.retarget.kernel.distance import nearest_approaches
from thenar.retarget.kernel.solver_memory import WORK
from thenar.retarget.kernel.targets import USUAL_FINGER_M, finger_length_m
from thenar.retarget.model.hand_model import HandModel, build_model
from thenar.retarget.retargeter import Following, Retargeter
from thenar.retarget.solver import Solver, key_point_targets_m, open_nodes
from thenar.twin.reports.retarget_measure import measure

INSPIRE = build_model(hands.load("inspire_right"))
LOG = make_log(("open", "fist"), rate_hz=60.0)
OPEN, FIST = LOG[0], LOG[int(np.argmin(np.linalg.norm(LOG.finger_m[:, 12], axis=1)))]
WITH_A_THUMB = [name for name in hands.names() if not name.startswith("dex1")]


@pytest.fixture(scope="module")
def shadow() -> HandModel:
    return build_model(hands.load("shadow_right"))


@pytest.mark.parametrize(
    "stamps_s",
    [np.repeat(np.arange(1, 4) / 60.0, 16), np.arange(1, 31) / 240.0 + np.tile([0.0, -0.02, -0.01], 10)],
    ids=["sixteen frames to a stamp", "out of order"],
)
def test_no_time_counts_twice_however_frames_come(stamps_s: np.ndarray):
    retargeter = Retargeter(INSPIRE)
    start_rad = retargeter(replace(OPEN, stamp_s=0.0)).command.target_rad
    answers = [retargeter(replace(FIST, stamp_s=stamp_s)) for stamp_s in stamps_s.tolist()]
    went = np.abs(answers[-1].command.target_rad - start_rad) / INSPIRE.hand.top_speed_rad_s
    # A frame takes a tenth of a millisecond at least, which those after it do not have.
    assert 0.5 * stamps_s.max() < went.max() <= stamps_s.max() + 1e-4 * len(stamps_s)


def test_a_clock_that_is_set_back_or_ticks_between_frames_gives_no_time_away():
    retargeter = Retargeter(INSPIRE)
    retargeter(replace(OPEN, stamp_s=100.0))
    before_rad = retargeter.tick(101.0).command.target_rad
    after_rad = retargeter(replace(FIST, stamp_s=5.0)).command.target_rad
    went_s = (np.abs(after_rad - before_rad) / INSPIRE.hand.top_speed_rad_s).max()
    assert went_s <= 1.0 / 60.0 + 1e-9
    assert retargeter.tick(5.1).following is Following.FOLLOWING  # by the new clock
    relaxing = [retargeter.tick(now_s).command.target_rad for now_s in (7.1, 7.2, 7.1, 7.2, 7.1, 7.2)]
    assert np.abs(np.diff(relaxing[1:], axis=0)).max() == 0.0


@pytest.mark.parametrize("stamp_s", [np.nan, np.inf])
def test_a_time_that_is_none_is_refused_and_leaves_the_hand_as_it_was(stamp_s: float):
    retargeter = Retargeter(INSPIRE)
    before_rad = retargeter(replace(OPEN, stamp_s=0.0)).joint_rad
    for call in (lambda: retargeter(replace(FIST, stamp_s=stamp_s)), lambda: retargeter.tick(stamp_s)):
        with pytest.raises(BadValue, match="a time in seconds"):
            call()
    assert np.array_equal(retargeter.tick(0.01).joint_rad, before_rad)


def test_a_wrist_stays_where_it_was_and_a_motor_beyond_its_limits_begins_at_them(shadow: HandModel):
    retargeter, names = Retargeter(shadow), shadow.hand.actuator_names
    begin_rad = shadow.hand.open_rad.copy()
    wrist, index = names.index("WRJ1"), names.index("FFJ3")
    begin_rad[[wrist, index]] = 0.3, 0.2
    retargeter.begin_at(begin_rad)
    answers = [retargeter.tick(0.0), retargeter(OPEN), retargeter(LOG[1])]
    assert [answer.command.target_rad[wrist] for answer in answers] == pytest.approx([0.3] * 3)
    assert answers[0].command.target_rad == pytest.approx(begin_rad)
    assert answers[0].joint_rad[shadow.hand.joint_names.index("WRJ1")] == pytest.approx(0.3)
    begin_rad[wrist] = 0.6
    retargeter.begin_at(begin_rad)
    assert retargeter.tick(0.0).command.target_rad[wrist] == shadow.hand.actuators[wrist].upper_rad
    retargeter.reset()
    assert retargeter(OPEN).command.target_rad[wrist] == 0.0


def test_a_silent_glove_opens_a_hand_that_follows_a_map(shadow: HandModel):
    retargeter = Retargeter(shadow, linear_map=map_by_hand(shadow, (1.7, 1.4, 1.55)))
    closed_rad = retargeter(replace(FIST, stamp_s=0.0)).joint_rad
    opened = [retargeter.tick(2.0 + 0.05 * n) for n in range(400)][-1]
    assert opened.following is Following.RELAXING
    assert np.abs(closed_rad).max() > 1.0
    assert np.abs(opened.joint_rad).max() < 0.05


@pytest.mark.parametrize("hand", WITH_A_THUMB)
def test_the_person_of_an_open_hand_has_a_whole_hand_of_usual_size(hand: str):
    model = build_model(hands.load(hand))
    nodes = open_nodes(model)
    assert finger_length_m(nodes) == pytest.approx(USUAL_FINGER_M)
    assert np.linalg.norm(nodes[1:], axis=1).min() > 0.005  # none is left at the wrist
    assert np.linalg.norm(np.diff(nodes[1:].reshape(5, 4, 3), axis=1), axis=2).min() > 0.001
    by_map = map_by_hand(model, (1.2,))
    wanted_m = key_point_targets_m(model, open_nodes(model, by_map)[None], by_map)[0]
    points_m = model.points_m(model.open_rad)[0]
    np.testing.assert_allclose(wanted_m, np.concatenate([points_m[part][1:] for part in model.point_slices]), atol=1e-9)


def test_a_fist_closes_however_irregularly_its_frames_come():
    retargeter, luck = Retargeter(INSPIRE), np.random.default_rng(1)
    for steps_s in (np.full(240, 1 / 60), luck.choice([1 / 60, 0.004, 0.03, 0.2, 5e-4], size=400)):
        retargeter.begin_at(0.05 * luck.random(6))
        answers = [retargeter(replace(FIST, stamp_s=stamp_s)) for stamp_s in np.cumsum(steps_s).tolist()]
        little, ring, middle, index, *_ = answers[-1].command.target_rad
        assert min(little, ring, middle) > 1.4
        assert index > 0.84  # the thumb is in its way


def test_errors_of_a_map_are_measured_as_the_hand_tells_them():
    by_map, frames = map_by_hand(INSPIRE, (1.2,)), list(LOG)[20:60]
    retargeter, step_s = Retargeter(INSPIRE, linear_map=by_map), time_steps(LOG.stamp_s[20:60])
    told_mm = [1e3 * retargeter(frame).tip_error_m.mean() for frame in frames]
    angles = retarget_recording(INSPIRE, LOG.finger_m[20:60], step_s, linear_map=by_map, workers=1)
    quality = measure(INSPIRE, LOG.finger_m[20:60], step_s, angles, linear_map=by_map)
    np.testing.assert_allclose(quality.tip_frame_mm, told_mm, atol=1e-6)


def test_a_map_of_numbers_that_are_none_or_of_other_fingers_is_refused(tmp_path: Path):
    by_map = map_by_hand(INSPIRE, (1.2,))
    for wrong in ("matrix", "shift_m"):
        save_map(tmp_path / "map.json", replace(by_map, **{wrong: np.full_like(getattr(by_map, wrong), np.nan)}))
        with pytest.raises(BadFile, match="not finite"):
            load_map(tmp_path / "map.json")
    fewer = replace(by_map, fingers=by_map.fingers[:3], matrix=by_map.matrix[:3], shift_m=by_map.shift_m[:3])
    with pytest.raises(BadValue, match="thumb, index, middle'; wanted one of thumb, index, middle, ring, little"):
        Retargeter(INSPIRE, linear_map=fewer)


def test_fingers_that_are_left_out_stand_still_with_all_that_follows_them(tmp_path: Path):
    ours = INSPIRE.hand
    (tmp_path / "hand.urdf").write_text(thenar.export_hand(ours, format="urdf"))
    ends = {tip.finger: (f"{tip.link}_link", tip.pos_m) for tip in ours.tips if tip.finger not in ("ring", "little")}
    R = matrix_from_rpy(ours.palm.rpy_rad)
    model = build_model(hands.from_file(tmp_path / "hand.urdf", ends, palm=(R[:, 1], R[:, 2])))
    fist = dict(zip(model.hand.joint_names, Retargeter(model)(FIST).joint_rad, strict=True))
    assert [fist[name] for name in ("ring_1", "ring_2", "little_1", "little_2")] == [0.0] * 4
    assert min(fist["index_1"], fist["index_2"]) > 0.5


def test_joints_of_a_tendon_are_as_fast_as_its_motor_by_their_weights(shadow: HandModel):
    weights = {"FFJ2": 3.0, "FFJ1": 0.5}
    tendons = tuple(
        replace(one, joints=tuple(weights.items())) if one.name == "FFJ0" else one for one in shadow.hand.tendons
    )
    model = build_model(replace(shadow.hand, tendons=tendons))
    speed_rad_s = dict(zip(model.variables, model.speed_rad_s, strict=True))
    motor = model.hand.actuators[model.hand.actuator_names.index("FFJ0")]
    assert sum(weight * speed_rad_s[name] for name, weight in weights.items()) == pytest.approx(motor.top_speed_rad_s)


@pytest.mark.parametrize("hand", ["shadow_right", "inspire_right"])
def test_what_is_known_of_distances_is_never_more_than_they_are_though_joints_cannot_stop_at_once(hand: str):
    model = build_model(hands.load(hand))
    model.record["acceleration_rad_s2"] = 20.0
    solver, out = Solver(model, RetargetConfig(rest=False, pinch=False)), np.empty((1, len(model.variables)))
    rng, pairs = np.random.default_rng(0), int(model.record["pairs"][0])
    nodes = make_log(("random", "pinch_index", "fist"), rate_hz=60.0).finger_m
    solver.settle(nodes[0])
    for frame in np.repeat(nodes[rng.permutation(len(nodes))[::12]], 6, axis=0):
        solver.follow(frame[None], np.array([1.0 / 60.0]), out)
        nearest_m = np.full(pairs, 10.0)
        nearest_approaches(model.record, np.zeros(1, WORK), out, -1.0, nearest_m)
        assert np.all(solver._state["min_distance_m"][0, :pairs] <= nearest_m + 1e-9)


def test_fingers_of_capsules_on_the_wrong_side_of_each_other_go_round(shadow: HandModel):
    """Postures of random joints at which a hand ended 38 to 53 degrees apart, by where it came from."""
    links = tuple(replace(link, outline=None) for link in shadow.hand.links)
    model, share = build_model(replace(shadow.hand, links=links)), np.minimum(1.0, np.arange(1, 91) / 30.0)
    solver, out = Solver(model, RetargetConfig(speed_scale=100.0)), np.empty((len(share), len(model.variables)))
    for seed in (344, 430, 431):
        drawn = np.random.default_rng(seed).uniform(person.LOWER_RAD, person.UPPER_RAD, (5, 20))
        held, *starts = person.nodes(person.PERSON_21, drawn)[0]
        ends = []
        for start in starts:
            solver.settle(start)
            solver.follow(start + share[:, None, None] * (held - start), np.full(len(share), 1.0 / 60.0), out)
            ends.append(out[-1].copy())
        assert np.degrees(np.ptp(ends, axis=0).max()) < 2.0
