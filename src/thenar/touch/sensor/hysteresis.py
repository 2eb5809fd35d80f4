"""Hysteresis of a skin: creep (it follows slowly), play (it sticks until a load has changed enough), a ceiling.

None of them falls when the load grows, so a sensor made of them with weights above zero is monotone.
One step of a memory is for the running twin; the others run through a recording. Shapes use t = rows, n = taxels.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from thenar.arrays import FloatArray


def creep_step(past: FloatArray, now: FloatArray, step_s: float, fade_s: FloatArray | float) -> FloatArray:
    """The past load after a step in which the load was ``now``."""
    return past + (1.0 - np.exp(-step_s / fade_s)) * (now - past)


def play_step(past: FloatArray, now: FloatArray, width: FloatArray | float) -> FloatArray:
    """The stuck load: it stays until the load is more than ``width`` away, and then follows at that distance."""
    return np.minimum(np.maximum(past, now - width), now + width)


def bend(signal: FloatArray, inverse_ceiling: FloatArray | float, knee: FloatArray | float) -> FloatArray:
    """A signal that comes up against a ceiling, the more suddenly the larger the knee."""
    over = np.clip(np.abs(signal) * inverse_ceiling, 1e-12, 1e6)
    return signal * np.exp(-np.logaddexp(0.0, knee * np.log(over)) / knee)


@nb.njit(cache=True)
def creep_through(load: FloatArray, step_s: FloatArray, fade_s: FloatArray) -> FloatArray:
    """The past load in every row; it starts at the first row's load. Shapes (t, n), (t,), (n,)."""
    past = np.empty_like(load)
    past[0] = load[0]
    for row in range(1, len(load)):
        for taxel in range(load.shape[1]):
            share = 1.0 - np.exp(-step_s[row] / fade_s[taxel])
            past[row, taxel] = past[row - 1, taxel] + share * (load[row, taxel] - past[row - 1, taxel])
    return past


@nb.njit(cache=True)
def play_through(load: FloatArray, width: FloatArray) -> FloatArray:
    """The stuck load in every row; it starts at the first row's load. Shapes (t, n), (n,)."""
    stuck = np.empty_like(load)
    stuck[0] = load[0]
    for row in range(1, len(load)):
        for taxel in range(load.shape[1]):
            low, high = load[row, taxel] - width[taxel], load[row, taxel] + width[taxel]
            stuck[row, taxel] = min(max(stuck[row - 1, taxel], low), high)
    return stuck
