"""Recordings that are as hard to follow as a real glove's, made at once from a seed.

The made person of `thenar.glove` moves smoothly. Here it hurries from pinch to pinch with its hand half open, its nodes
are noisy, fingers freeze and jump as they do behind an obstacle, and frames come irregularly.
"""

import itertools

import numpy as np

from thenar.glove import quaternions
from thenar.glove.log import GloveLog
from thenar.glove.make import PERSONS, make_log
from thenar.glove.person import nodes, pinch_angles
from thenar.signals import FINGER_NODES, FINGERS, GloveLayout

NOISE_M = 0.00015
OCCLUSIONS, OCCLUDED_S = 8, 0.12
GAP_S = 0.2
PINCHES = ("index", "middle", "ring", "little", "index", "ring", "middle", "little")  # every two of them in turn
MOTIONS = (
    "fist",
    "random",
    "pinch_index",
    "pinch_ring",
    "wave",
    "random",
    "pinch_middle",
    "pinch_little",
    "random",
    "fist",
)


def hard_log(layout: GloveLayout, *, seed: int = 4, rate_hz: float = 60.0, pace: float = 1.0) -> GloveLog:
    """Pinches of every finger after every other, then gestures, all of it hurried, noisy and with gaps."""
    rng = np.random.default_rng(seed)
    gestures = make_log(MOTIONS, layout=layout, rate_hz=rate_hz, pace=pace, seed=seed)
    angle_rad = _pinch_after_pinch(layout, rng, rate_hz)
    position_m, turn = nodes(PERSONS[layout], angle_rad)
    position_m = np.concatenate([position_m, gestures.position_m])
    quat_wxyz = np.concatenate([quaternions.from_matrices(turn), gestures.quat_wxyz])
    position_m += rng.normal(0.0, NOISE_M, position_m.shape)
    _occlude(position_m, layout, rng, round(OCCLUDED_S * rate_hz))
    step_s = rng.uniform(0.7, 1.3, len(position_m)) / rate_hz
    step_s[len(angle_rad)] = GAP_S
    position_m -= position_m[:, :1]
    stamp_s = np.cumsum(step_s)
    return GloveLog(stamp_s=stamp_s, side="right", layout=layout, position_m=position_m, quat_wxyz=quat_wxyz)


def _pinch_after_pinch(layout: GloveLayout, rng: np.random.Generator, rate_hz: float) -> np.ndarray:
    """Joint angles of pinches, each pair of fingers after each other, the hand half open between [rad]. (n, 20)."""
    poses = {finger: pinch_angles(PERSONS[layout], finger, gap_m=0.012) for finger in FINGERS[1:]}
    frames = []
    for here, there in itertools.pairwise(PINCHES):
        half_open = 0.3 * (poses[here] + poses[there])
        for start, end, stay_s in ((poses[here], half_open, 0.0), (half_open, poses[there], rng.uniform(0.6, 0.9))):
            share = np.linspace(0.0, 1.0, round(rng.uniform(0.35, 0.6) * rate_hz))[:, None]
            frames.append(start + share**2 * (3 - 2 * share) * (end - start))
            frames.append(np.repeat(end[None], round(stay_s * rate_hz), axis=0))
    return np.concatenate(frames)


def _occlude(position_m: np.ndarray, layout: GloveLayout, rng: np.random.Generator, frames: int) -> None:
    """Freeze a finger for a while, now and then: it jumps to where it is when it is seen again."""
    fingers = np.array(FINGER_NODES[layout])[1:].reshape(5, 4)
    for start in rng.integers(0, len(position_m) - frames, OCCLUSIONS):
        finger = fingers[rng.integers(5)]
        position_m[start : start + frames, finger] = position_m[start, finger]
