"""Objects that press a link close together: each gives way to what the others press away."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.arrays import FloatArray
from thenar.touch.solver.collision import MISS
from thenar.touch.solver.influence import MAX_CELLS, point_response
from thenar.touch.solver.pressure import solve_pressure
from thenar.touch.solver.touch_records import Elastic, Record, combine, dot, minus

CLOSE = 1.5  # patches nearer than this many of their sizes feel each other
ROUNDS = 2
NEWS = 0.02  # of what neighbors press away: below this, a window is not solved again
BLOCKS = 8  # a side: how finely neighbors see each other


@nb.njit(cache=True)
def solve_neighbors(groups: Record, windows: Record, elastic: Elastic) -> None:
    """Solve objects that press a link close to each other in turns.

    Windows remember what their neighbors pressed away in the last frame and were solved with it, so only those where
    it has changed are solved again.
    """
    displacement = np.empty(MAX_CELLS)
    for _ in range(ROUNDS):
        changed = False
        for g in range(len(groups)):
            one = groups[g]
            if not one.solved:
                continue
            window = windows[one.window]
            near = False
            displacement[:] = 0.0
            for h in range(len(groups)):
                other = groups[h]
                if h == g or not other.solved or other.skin != one.skin or not _are_close(one, other, windows):
                    continue
                near = True
                _add_displacement(one, window, other, windows[other.window], elastic.correction, displacement)
            if not near and not window.crowded:
                continue
            news = not window.crowded or not near or _is_news(window, displacement)
            window.crowded = near
            window.neighbor_displacement_m[:] = displacement
            if news:
                changed = True
                solve_pressure(one, window, elastic, True)
        if not changed:
            return


@nb.njit(cache=True)
def _is_news(window: Record, displacement: FloatArray) -> bool:
    """Whether what is pressed away under the patch has changed by more than a small share; an even shift is none."""
    low, high, less, more = MISS, -MISS, MISS, -MISS
    for k in range(window.grid * window.grid):
        if window.pressure[k] > 0.0:
            low, high = min(low, displacement[k]), max(high, displacement[k])
            change = displacement[k] - window.neighbor_displacement_m[k]
            less, more = min(less, change), max(more, change)
    return more - less > NEWS * (high - low)


@nb.njit(cache=True)
def _are_close(one: Record, other: Record, windows: Record) -> bool:
    mine, theirs = windows[one.window], windows[other.window]
    away = minus(
        combine(one.origin, mine.u_m, one.e1, mine.v_m, one.e2),
        combine(other.origin, theirs.u_m, other.e1, theirs.v_m, other.e2),
    )
    size = 0.5 * one.grid * max(one.cell_u, one.cell_v) + 0.5 * other.grid * max(other.cell_u, other.cell_v)
    return math.sqrt(dot(away, away)) < CLOSE * size


@nb.njit(cache=True)
def _add_displacement(
    one: Record, mine: Record, other: Record, theirs: Record, correction: FloatArray, displacement: FloatArray
) -> None:
    """Add what the other object's pressure takes from the skin under this window [m].

    Seen from a neighboring patch the pressure is a few blocks of force, and what it takes is smooth: it is worked out
    on a coarse net and interpolated.
    """
    sources = _force_blocks(other, theirs)
    nearest = 0.4 * other.grid / BLOCKS * max(other.cell_u, other.cell_v)
    net = np.zeros((BLOCKS + 1, BLOCKS + 1))
    half, spacing = (one.grid - 1) / 2.0, (one.grid - 1) / BLOCKS
    for p in range(BLOCKS + 1):
        u = mine.u_m + (p * spacing - half) * one.cell_u
        for q in range(BLOCKS + 1):
            v = mine.v_m + (q * spacing - half) * one.cell_v
            place = combine(one.origin, u, one.e1, v, one.e2)
            for b in range(BLOCKS * BLOCKS):
                force = sources[b, 3]
                if force > 0.0:
                    x, y, z = place[0] - sources[b, 0], place[1] - sources[b, 1], place[2] - sources[b, 2]
                    r = max(math.sqrt(x * x + y * y + z * z), nearest)
                    net[p, q] += force * point_response(r, other.thickness_m, correction)
    net /= math.pi * other.modulus_pa
    for i in range(one.grid):
        x = i / spacing
        p = min(int(x), BLOCKS - 1)
        for j in range(one.grid):
            y = j / spacing
            q = min(int(y), BLOCKS - 1)
            low = net[p, q] * (1.0 - (y - q)) + net[p, q + 1] * (y - q)
            high = net[p + 1, q] * (1.0 - (y - q)) + net[p + 1, q + 1] * (y - q)
            displacement[i * one.grid + j] += low * (1.0 - (x - p)) + high * (x - p)


@nb.njit(cache=True)
def _force_blocks(group: Record, window: Record) -> FloatArray:
    """A window's pressure as a few point forces: places in the world [m] and forces [N]. Shape (blocks, 4)."""
    grid, n = group.grid, group.normal
    blocks = np.zeros((BLOCKS * BLOCKS, 4))
    half = (grid - 1) / 2.0
    for i in range(grid):
        for j in range(grid):
            k = i * grid + j
            force = window.pressure[k] * group.cell_u * group.cell_v
            if force > 0.0:
                block = blocks[(i * BLOCKS // grid) * BLOCKS + j * BLOCKS // grid]
                u, v = window.u_m + (i - half) * group.cell_u, window.v_m + (j - half) * group.cell_v
                place = combine(group.origin, u, group.e1, v, group.e2)
                for a in range(3):
                    block[a] += force * (place[a] + group.height[k] * n[a])
                block[3] += force
    for b in range(len(blocks)):
        if blocks[b, 3] > 0.0:
            blocks[b, :3] /= blocks[b, 3]
    return blocks
