"""One input, one answer, however it was reached, live or from a file; and what the answer gave up."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hard_gloves import hard_log

from thenar import hands
from thenar.glove.files import read_log, write_log
from thenar.glove.glove_socket import GloveReceiver, GloveSender
from thenar.glove.make import make_log
from thenar.hands.rotations import matrix_from_rpy
from thenar.retarget.config import RetargetConfig
from thenar.retarget.model.hand_model import HandModel, build_model
from thenar.retarget.retargeter import Retargeter
from thenar.retarget.solver import Solver
from thenar.signals import GloveLayout

LIFTED = 100.0
RATE_HZ, MOVED, HELD = 60.0, 30, 60
POSES, STARTS, SEED = 16, 6, 0


@pytest.fixture(scope="module")
def shadow() -> HandModel:
    return build_model(hands.load("shadow_right"))


def apart_deg(model: HandModel, layout: GloveLayout, config: RetargetConfig) -> list[float]:
    """How far apart a hand ends in each of some postures, moved to from others in 0.5 s and held for 1 s [degrees]."""
    solver, nodes, rng = Solver(model, config), hard_log(layout).finger_m, np.random.default_rng(SEED)
    share = np.minimum(1.0, np.arange(1, MOVED + HELD + 1) / MOVED)[:, None, None]
    # Each finger of another frame: they are in each other's way more than a person's are.
    made = np.zeros((POSES + STARTS, 21, 3))
    for first in range(1, 21, 4):
        made[:, first : first + 4] = rng.choice(nodes, len(made))[:, first : first + 4]
    step_s, out, found = np.full(len(share), 1.0 / RATE_HZ), np.empty((len(share), len(model.variables))), []
    for pose in made[:POSES]:
        ends = []
        for start in made[POSES:]:
            solver.settle(start)
            solver.follow(start + share * (pose - start), step_s, out)
            ends.append(out[-1].copy())
        found.append(float(np.degrees(np.ptp(ends, axis=0).max())))
    return found


@pytest.mark.parametrize("layout", ["nodes21", "manus25"])
def test_a_held_posture_is_the_same_however_it_was_reached(shadow: HandModel, layout: GloveLayout):
    assert max(apart_deg(shadow, layout, RetargetConfig(speed_scale=LIFTED))) < 2.0
    assert max(apart_deg(shadow, layout, RetargetConfig(speed_scale=LIFTED, rest=False))) > 10.0  # as it was before


def test_a_still_hand_comes_to_its_posture_as_soon_at_any_rate(shadow: HandModel):
    ways, typical_s = np.random.default_rng(SEED).choice(hard_log("manus25").finger_m, (24, 2)), []
    solver = Solver(shadow, RetargetConfig(speed_scale=LIFTED))
    for rate_hz in (30.0, 60.0, 120.0):
        moved, frames, took_s = round(0.5 * rate_hz), round(1.5 * rate_hz), []
        share = np.minimum(1.0, np.arange(1, frames + 1) / moved)[:, None, None]
        out = np.empty((frames, len(shadow.variables)))
        for start, pose in ways:
            solver.settle(start)
            solver.follow(start + share * (pose - start), np.full(frames, 1.0 / rate_hz), out)
            moving = np.flatnonzero(np.abs(out - out[-1]).max(axis=1) > np.radians(0.1))
            took_s.append((moving[-1] + 1 - moved) / rate_hz)
        typical_s.append(np.quantile(took_s, 0.8))
    assert min(typical_s) > 0.1  # it does take a while: else no rate could differ
    assert max(typical_s) < 0.5
    assert np.ptp(typical_s) < 0.1


@pytest.mark.parametrize("speed", [1.0, LIFTED])
def test_a_fist_opens_when_the_person_bends_the_fingers_back(shadow: HandModel, speed: float):
    # Tips of curled fingers are nearer to such targets by curling on: they stayed curled for as long as it was held.
    nodes = make_log(("open", "fist")).finger_m
    fist, back = nodes[np.argmin(np.linalg.norm(nodes[:, 12], axis=1))], nodes[0].copy()
    for knuckle in (5, 9, 13, 17):
        finger = slice(knuckle + 1, knuckle + 4)
        back[finger] = back[knuckle] + (back[finger] - back[knuckle]) @ matrix_from_rpy((-0.8, 0.0, 0.0)).T
    share = np.minimum(1.0, np.arange(1, MOVED + HELD + 1) / MOVED)[:, None, None]
    out = np.empty((len(share), len(shadow.variables)))
    solver = Solver(shadow, RetargetConfig(speed_scale=speed, rest=False))
    solver.settle(fist)
    assert np.degrees(solver.angle_rad[list(shadow.variables).index("FFJ2")]) > 60.0
    solver.follow(fist + share * (back - fist), np.full(len(share), 1.0 / RATE_HZ), out)
    curled = [list(shadow.variables).index(f"{finger}J{n}") for finger in ("FF", "MF", "RF", "LF") for n in (1, 2)]
    assert np.degrees(out[-1, curled]).max() < 2.0


def test_a_result_says_what_it_gave_up_and_why(shadow: HandModel):
    retargeter, log = Retargeter(shadow), make_log(("open", "fist", "pinch_index"))
    first = retargeter(log[0])
    assert first.gave_up == {}
    assert first.tip_error_m.max() < 0.002
    fist = log.finger_m[np.argmin(np.linalg.norm(log.finger_m[:, 12], axis=1))]
    hurried = retargeter(fist, 100.0, layout="manus21")
    assert all("speed" in hurried.gave_up[finger] for finger in ("index", "middle", "ring", "little"))
    pinch = log.finger_m[np.argmin(np.linalg.norm(log.finger_m[:, 8] - log.finger_m[:, 4], axis=1))]
    answers = [retargeter(pinch, 101.0 + n / RATE_HZ, layout="manus21") for n in range(120)]
    assert "pinch" in answers[-1].gave_up["index"]
    assert not any("speed" in reasons for reasons in answers[-1].gave_up.values())
    back = log.finger_m[0].copy()
    back[6:9] = back[5] + (back[6:9] - back[5]) @ matrix_from_rpy((-0.8, 0.0, 0.0)).T  # no robot bends so far back
    answers = [retargeter(back, 104.0 + n / RATE_HZ, layout="manus21") for n in range(60)]
    assert answers[-1].gave_up["index"] == ("reach",)


def test_fingers_that_would_cross_give_up_for_contact(shadow: HandModel):
    crossed = make_log(("open",)).finger_m[0].copy()
    crossed[6:9, 0] -= (0.01, 0.025, 0.04)  # the index finger through the middle one
    assert "contact" in Retargeter(shadow)(crossed, 0.0, layout="manus21").gave_up["index"]


@pytest.mark.parametrize("layout", ["nodes21", "manus25"])
def test_a_live_glove_gives_what_its_file_gives(shadow: HandModel, tmp_path: Path, layout: GloveLayout):
    file = tmp_path / ("glove.csv" if layout == "nodes21" else "glove.npz")
    write_log(file, hard_log(layout))
    live, own = Retargeter(shadow), Retargeter(shadow)
    with GloveReceiver(port=0) as receiver:
        sender = GloveSender(port=receiver.port)
        for frame in islice(read_log(file), 200):
            sender.send(frame)
            heard = receiver.wait(5.0)
            assert heard is not None
            assert np.abs(live(heard).joint_rad - own(frame).joint_rad).max() < 1e-9
        sender.close()
