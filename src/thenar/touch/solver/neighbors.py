"""Objects that press a link close together: each gives way to what the others press away."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.touch.solver.collision import MISS, FloatArray, Record
from thenar.touch.solver.influence import LARGEST_GRID, LAYER_POINTS, LAYER_REACH
from thenar.touch.solver.pressure import relax
from thenar.touch.solver.tilt import tilt_pressure

CLOSE = 1.5  # patches nearer than this many of their sizes feel each other
ROUNDS = 2
NEWS = 0.02  # of what neighbours press away: below this, a window is not solved again
BLOCKS = 8  # a side: how finely neighbours see each other


@nb.njit(cache=True)
def feel_neighbours(
    groups: Record,
    count: int,
    windows: Record,
    half_space: FloatArray,
    correction: FloatArray,
    work: FloatArray,
    table: FloatArray,
) -> None:
    """Solve objects that press a link close to each other in turns.

    Windows remember what their neighbours pressed away in the last frame and were solved with it, so only those where
    it has changed are solved again.
    """
    given = np.empty(LARGEST_GRID * LARGEST_GRID)
    for _ in range(ROUNDS):
        changed = False
        for g in range(count):
            one = groups[g]
            if not one.solved:
                continue
            window = windows[one.window]
            near = False
            given[:] = 0.0
            for h in range(count):
                other = groups[h]
                if h == g or not other.solved or other.skin != one.skin or not _are_close(one, other, windows):
                    continue
                near = True
                _pressed_away(one, window, other, windows[other.window], correction, given)
            if not near and not window.crowded:
                continue
            news = not window.crowded or not near or _is_news(window, given)
            window.crowded = near
            window.given_m[:] = given
            if news:
                changed = True
                if one.flat:
                    tilt_pressure(one, window, half_space, correction, work, table)
                else:
                    relax(one, window, half_space, correction, True, False, work, table)
        if not changed:
            return


@nb.njit(cache=True)
def _is_news(window: Record, given: FloatArray) -> bool:
    """Whether what is pressed away under the patch has changed by more than a small share; an even shift is none."""
    low, high, less, more = MISS, -MISS, MISS, -MISS
    for k in range(window.grid * window.grid):
        if window.pressure[k] > 0.0:
            low, high = min(low, given[k]), max(high, given[k])
            less, more = min(less, given[k] - window.given_m[k]), max(more, given[k] - window.given_m[k])
    return more - less > NEWS * (high - low)


@nb.njit(cache=True)
def _are_close(one: Record, other: Record, windows: Record) -> bool:
    a, b = _centre(one, windows[one.window]), _centre(other, windows[other.window])
    far = math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)
    size = 0.5 * one.grid * max(one.cell_u, one.cell_v) + 0.5 * other.grid * max(other.cell_u, other.cell_v)
    return far < CLOSE * size


@nb.njit(cache=True)
def _centre(group: Record, window: Record) -> FloatArray:
    centre = np.empty(3)
    for a in range(3):
        centre[a] = group.origin[a] + window.u_m * group.e1[a] + window.v_m * group.e2[a]
    return centre


@nb.njit(cache=True)
def _pressed_away(
    one: Record, mine: Record, other: Record, theirs: Record, correction: FloatArray, extra: FloatArray
) -> None:
    """Add what the other object's pressure takes from the skin under this window [m].

    Seen from a neighbouring patch the pressure is a few blocks of force, and what it takes is smooth: it is worked out
    on a coarse net and interpolated.
    """
    sources = np.zeros((BLOCKS * BLOCKS, 4))
    half = (other.grid - 1) / 2.0
    for i in range(other.grid):
        for j in range(other.grid):
            k = i * other.grid + j
            force = theirs.pressure[k] * other.cell_u * other.cell_v
            if force <= 0.0:
                continue
            block = sources[(i * BLOCKS // other.grid) * BLOCKS + j * BLOCKS // other.grid]
            u, v = theirs.u_m + (i - half) * other.cell_u, theirs.v_m + (j - half) * other.cell_v
            block[3] += force
            for a in range(3):
                place = other.origin[a] + u * other.e1[a] + v * other.e2[a] + other.height[k] * other.normal[a]
                block[a] += force * place
    nearest = 0.4 * other.grid / BLOCKS * max(other.cell_u, other.cell_v)
    net = np.zeros((BLOCKS + 1, BLOCKS + 1))
    half = (one.grid - 1) / 2.0
    for p in range(BLOCKS + 1):
        i = p * (one.grid - 1) / BLOCKS
        for q in range(BLOCKS + 1):
            j = q * (one.grid - 1) / BLOCKS
            u, v = mine.u_m + (i - half) * one.cell_u, mine.v_m + (j - half) * one.cell_v
            for b in range(BLOCKS * BLOCKS):
                force = sources[b, 3]
                if force > 0.0:
                    r = 0.0
                    for a in range(3):
                        away = one.origin[a] + u * one.e1[a] + v * one.e2[a] - sources[b, a] / force
                        r += away * away
                    r = max(math.sqrt(r), nearest)
                    net[p, q] += force * _response(r, other.thickness_m, correction) / (math.pi * other.modulus_pa)
    for i in range(one.grid):
        x = i * BLOCKS / (one.grid - 1.0)
        p = min(int(x), BLOCKS - 1)
        for j in range(one.grid):
            y = j * BLOCKS / (one.grid - 1.0)
            q = min(int(y), BLOCKS - 1)
            low = net[p, q] * (1.0 - (y - q)) + net[p, q + 1] * (y - q)
            high = net[p + 1, q] * (1.0 - (y - q)) + net[p + 1, q + 1] * (y - q)
            extra[i * one.grid + j] += low * (1.0 - (x - p)) + high * (x - p)


@nb.njit(cache=True)
def _response(r_m: float, thickness_m: float, correction: FloatArray) -> float:
    """How much the skin gives at a distance from a point force, times pi E* over the force [1/m]."""
    if thickness_m > 1e3:
        return 1.0 / r_m
    s = r_m / thickness_m
    if s >= LAYER_REACH:
        return 0.0
    step = LAYER_REACH / (LAYER_POINTS - 1)
    k = min(int(s / step), LAYER_POINTS - 2)
    share = s / step - k
    return 1.0 / r_m - (correction[k] * (1.0 - share) + correction[k + 1] * share) / thickness_m
