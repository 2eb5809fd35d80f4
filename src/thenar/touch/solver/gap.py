"""How far skin and object are apart under a window: heights and gaps along the contact's normal."""

from __future__ import annotations

import numba as nb
import numpy as np

from thenar.touch.solver.collision import HIT, MISS, FloatArray, IntArray, Record, enter
from thenar.touch.solver.influence import ASPECTS


@nb.njit(cache=True)
def measure_window(
    group: Record, window: Record, solids: Record, planes: FloatArray, field: FloatArray, parts: IntArray
) -> bool:
    """Heights and gaps of a window's cells, written to the group; False when nothing overlaps."""
    group.grid = window.grid
    group.cell_u, group.cell_v = window.cell_m, window.cell_m * ASPECTS[window.aspect]
    return measure_gap(
        group, solids, planes, field, parts, window.u_m, window.v_m, group.cell_u, group.cell_v, window.grid,
        group.height, group.gap,
    )  # fmt: skip


@nb.njit(cache=True)
def measure_gap(
    group: Record,
    solids: Record,
    planes: FloatArray,
    field: FloatArray,
    parts: IntArray,
    u_m: float,
    v_m: float,
    cell_u: float,
    cell_v: float,
    grid: int,
    height: FloatArray,
    gap: FloatArray,
) -> bool:
    """Height of the skin above the group's plane and gap to its partner, per cell of a grid; False without overlap.

    The gap is measured along the normal, not to the nearest point: an object that sinks in deeper shifts all gaps
    alike and changes nothing.
    """
    origin, normal, e1, e2 = group.origin, group.normal, group.e1, group.e2
    n = grid * grid
    for k in range(n):
        gap[k] = MISS
        height[k] = 0.0
    start, along_u, along_v, way = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    point = np.empty(3)
    half = (grid - 1) / 2.0
    for part in range(-1, len(parts)):
        solid = solids[group.skin] if part < 0 else solids[parts[part]]
        sign = -1.0 if part < 0 else 1.0
        for a in range(3):
            start[a] = along_u[a] = along_v[a] = way[a] = 0.0
            for b in range(3):
                start[a] += solid.R[b, a] * (origin[b] - solid.pos_m[b])
                along_u[a] += solid.R[b, a] * e1[b]
                along_v[a] += solid.R[b, a] * e2[b]
                way[a] += solid.R[b, a] * normal[b] * sign
        for i in range(grid):
            u = u_m + (i - half) * cell_u
            for j in range(grid):
                v = v_m + (j - half) * cell_v
                k = i * grid + j
                if part >= 0 and height[k] == MISS:
                    continue
                for a in range(3):
                    point[a] = start[a] + u * along_u[a] + v * along_v[a]
                t = enter(solid, planes, field, point, way)
                if part < 0:
                    height[k] = -t if t < HIT else MISS
                elif t < HIT:
                    gap[k] = min(gap[k], t - height[k])
    least = MISS
    for k in range(n):
        if height[k] == MISS:
            height[k] = 0.0
            gap[k] = MISS
        least = min(least, gap[k])
    if least > HIT:
        return False
    for k in range(n):
        if gap[k] < HIT:
            gap[k] -= least
    return True
