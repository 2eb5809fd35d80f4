"""How near parts of a hand can come to each other, by trying many postures."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from thenar.retarget.kernel.distance import FAR, pair_distance
from thenar.retarget.kernel.kinematics import FAST, forward, place
from thenar.retarget.model.records import WORK
from thenar.signals import FloatArray

ENOUGH_M = 0.0015


def nearest_approach(
    hands: NDArray[np.void], lower_rad: FloatArray, upper_rad: FloatArray, *, postures: int
) -> FloatArray:
    """Smallest distance of each pair over random postures within the limits; below 1.5 mm nobody looks closer [m]."""
    rng = np.random.default_rng(0)
    share = rng.random((postures, len(lower_rad)))
    # A third of the postures has half of its joints at an end: there the farthest reaches are.
    ends = (np.arange(postures) % 3 == 1)[:, None] & (rng.random(share.shape) < 0.5)
    share = np.where(ends, np.round(share), share)
    nearest_m = np.full(int(hands["pairs"][0]), 1.0)
    _try_postures(hands, np.zeros(1, WORK), lower_rad + share * (upper_rad - lower_rad), nearest_m)
    return nearest_m


def tightest_m(hands: NDArray[np.void], variable_rad: FloatArray) -> float:
    """Smallest distance of any two parts in one posture [m]."""
    nearest_m = np.full(int(hands["pairs"][0]), 1.0)
    _try_postures(hands, np.zeros(1, WORK), np.ascontiguousarray(variable_rad)[None], nearest_m)
    return float(nearest_m.min(initial=1.0))


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _try_postures(hands, works, postures, nearest_m):
    hand, w = hands[0], works[0]
    for n in range(postures.shape[0]):
        forward(hand, postures[n], w.pos, w.R, w.axis)
        for i in range(hand.parts):
            place(hand.core_joint[i], hand.core_centre_m[i], w.pos, w.R, w.centre[i])
            w.placed[i] = 0
        for k in range(hand.pairs):
            if nearest_m[k] < ENOUGH_M:
                continue
            a, b = hand.pair[k, 0], hand.pair[k, 1]
            bound = hand.core_bound_m[a] + hand.core_bound_m[b] + nearest_m[k]
            square = 0.0
            for i in range(3):
                square += (w.centre[a, i] - w.centre[b, i]) ** 2
                w.point[i] = 0.0
            if square > bound * bound:
                continue
            distance = pair_distance(hand, k, nearest_m[k], w.point, w)
            if distance < 0.5 * FAR:
                nearest_m[k] = min(nearest_m[k], distance)
