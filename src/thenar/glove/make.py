"""Recordings made by a parametric person: gestures into a `GloveLog`, the same for the same seed."""

from __future__ import annotations

import numpy as np

from thenar.errors import BadValue, UnknownName
from thenar.glove import quaternions
from thenar.glove.log import GloveLog
from thenar.glove.person import LOWER_RAD, PERSON_21, PERSON_25, UPPER_RAD, Person, nodes, pinch_angles, scaled
from thenar.signals import FINGERS, FloatArray, GloveLayout, GloveSide

PERSONS: dict[GloveLayout, Person] = {"nodes21": PERSON_21, "manus25": PERSON_25}
PINCHES = tuple(f"pinch_{finger}" for finger in FINGERS[1:])
GESTURES = ("open", "fist", *PINCHES, "spread", "point", "wave", "thumbs_up", "random")
# First finger that is curled with all after it, and the angles of the thumb.
CURLED = {
    "fist": (1, (0.1, 0.65, 0.6, 0.6)),  # the thumb across the fingers
    "point": (2, (0.1, 0.65, 0.5, 0.5)),
    "thumbs_up": (1, (-0.5, -0.35, 0.0, -0.1)),
}
PINCH_GAP_M = 0.012  # between the tips' bones: the flesh of two fingertips
MOVE_S, HOLD_S = 0.8, 0.6
TREMOR_RAD = 0.002


def make_log(
    gestures: tuple[str, ...] = GESTURES,
    *,
    layout: GloveLayout = "nodes21",
    side: GloveSide = "right",
    rate_hz: float = 60.0,
    size: float = 1.0,
    pace: float = 1.0,
    seed: int = 0,
) -> GloveLog:
    """A recording of gestures, one after the other, each from and back to the open hand.

    Args:
        gestures: Names out of `GESTURES`.
        layout: Which glove.
        side: Which hand; a left hand is the mirror image.
        rate_hz: Frames per second.
        size: Of the hand, as a multiple of a usual one.
        pace: How fast it moves, as a multiple.
        seed: Of tremor and of the random gesture.
    """
    if not 0.5 <= size <= 1.5:
        raise BadValue("size", size, "0.5 to 1.5")
    if not 0.1 <= pace <= 5.0:
        raise BadValue("pace", pace, "0.1 to 5")
    if seed < 0:
        raise BadValue("seed", seed, "a whole number from 0 on")
    rng = np.random.default_rng(seed)
    person = scaled(PERSONS[layout], size)
    rest = _rest()
    keys, stay_s = [rest], [HOLD_S]
    for gesture in gestures:
        for pose in _poses(person, gesture, rng):
            keys.append(pose)
            stay_s.append(0.1 if gesture in ("wave", "random") else HOLD_S)
        keys.append(rest)
        stay_s.append(0.2)
    angle_rad = _play(np.array(keys), stay_s, MOVE_S / pace, rate_hz)
    angle_rad = np.clip(angle_rad + _tremor(rng, angle_rad.shape, rate_hz), LOWER_RAD, UPPER_RAD)
    position_m, turn = nodes(person, angle_rad)
    if side == "left":
        flip = np.array([-1.0, 1.0, 1.0])
        position_m, turn = position_m * flip, flip[:, None] * turn * flip
    return GloveLog(
        stamp_s=np.arange(len(angle_rad)) / rate_hz,
        side=side,
        layout=layout,
        position_m=position_m,
        quat_wxyz=quaternions.from_matrices(turn),
    )


def _rest() -> FloatArray:
    """An open hand as people hold it: nearly straight, so that palm and back can be told apart."""
    rest = np.zeros((5, 4))
    rest[0] = (-0.1, 0.0, 0.05, 0.05)
    rest[1:] = (0.0, 0.12, 0.12, 0.08)
    rest[:, 0] += (0.0, 0.08, 0.0, -0.06, -0.14)
    return rest.ravel()


def _poses(person: Person, gesture: str, rng: np.random.Generator) -> list[FloatArray]:
    """The postures a gesture goes through."""
    if gesture in PINCHES:
        return [pinch_angles(person, gesture.removeprefix("pinch_"), gap_m=PINCH_GAP_M)]
    if gesture not in GESTURES:
        raise UnknownName("gesture", gesture, GESTURES)
    hand = _rest().reshape(5, 4)
    if gesture in CURLED:
        first, hand[0] = CURLED[gesture]
        hand[first:] = (0.0, 1.35, 1.55, 0.95)
    elif gesture == "spread":
        hand[:, 0] = (-0.45, 0.30, 0.06, -0.18, -0.34)
        hand[1:, 1:] = 0.02
    poses = np.tile(hand, ({"wave": 4, "random": 8}.get(gesture, 1), 1, 1))
    if gesture == "wave":
        poses[:, 1:, 1] = np.array([0.9, 0.1, 0.9, 0.1])[:, None]
    elif gesture == "random":
        for pose in poses:
            # Fingers bend their last two joints together, as people's do.
            bend = rng.uniform(0.0, 1.0, (4, 2))
            pose[1:, 1] = 1.3 * bend[:, 0]
            pose[1:, 2], pose[1:, 3] = 1.5 * bend[:, 1], 0.8 * bend[:, 1]
            pose[1:, 0] += rng.uniform(-0.1, 0.1, 4)
            pose[0] = rng.uniform((-0.4, -0.2, 0.0, 0.0), (0.4, 0.4, 0.6, 0.8))
    return [pose.ravel() for pose in poses]


def _play(keys: FloatArray, stay_s: list[float], move_s: float, rate_hz: float) -> FloatArray:
    """Postures joined by smooth moves of equal time, each held for a while."""
    frames = []
    for here, there, stay in zip(keys[:-1], keys[1:], stay_s[1:], strict=True):
        share = np.linspace(0.0, 1.0, max(2, round(move_s * rate_hz)), endpoint=False)[:, None]
        smooth = share**3 * (10 - 15 * share + 6 * share**2)  # no jerk at either end
        frames.append(here + smooth * (there - here))
        frames.append(np.repeat(there[None], max(1, round(stay * rate_hz)), axis=0))
    return np.concatenate(frames)


def _tremor(rng: np.random.Generator, shape: tuple[int, ...], rate_hz: float) -> FloatArray:
    """Tremor: noise on every joint around 10 Hz and below, as living hands have [rad]."""
    noise = rng.standard_normal(shape)
    keep = np.exp(-2 * np.pi * 10.0 / rate_hz)
    for row in range(1, len(noise)):
        noise[row] = keep * noise[row - 1] + np.sqrt(1 - keep**2) * noise[row]
    return TREMOR_RAD * noise
