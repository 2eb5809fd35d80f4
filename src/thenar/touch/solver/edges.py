"""Edges of shapes that cut a patch: pressure peaks there, so cell borders are put on them.

A patch has four sides: low and high u, low and high v.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from thenar.arrays import BoolArray, FloatArray, IntArray
from thenar.touch.solver.collision import MISS
from thenar.touch.solver.gap import line_meets_both
from thenar.touch.solver.influence import ASPECTS, MAX_GRID
from thenar.touch.solver.touch_records import Record, Scene
from thenar.touch.solver.window import EMPTY, patch_extent

EDGE_GRID = MAX_GRID  # patches that end at an edge have pressure peaks there
PROBES = 5  # lines across a patch on which its edges are looked for
BISECTIONS = 16
SNAPPED = 0.1  # of a cell: an edge this near to a cell border needs no new snap


@nb.njit(cache=True)
def snap_to_edges(group: Record, window: Record, scene: Scene, parts: IntArray, warm: bool) -> bool:
    """Put cell borders of a finer grid on edges that cut the patch; True when the window has changed.

    Args:
        group: Contacts with the cells of the window.
        window: The window with its pressures; what cuts it is noted even when it stays.
        scene: All shapes.
        parts: Numbers of the object's shapes.
        warm: True: the window may already lie on these edges.
    """
    ends = _find_edges(group, window, scene, parts)
    cut = window.cut != 0
    if not cut.any() or (warm and window.grid == EDGE_GRID and _is_snapped(group, window, ends)):
        return False
    cell, aspect, cells_u, cells_v = _choose_cells(ends, cut)
    if cell == 0.0:
        return False
    window.grid, window.cell_m, window.aspect = EDGE_GRID, cell, aspect
    window.u_m = _middle(ends[0], ends[1], cut[0], cut[1], cells_u, cell)
    window.v_m = _middle(ends[2], ends[3], cut[2], cut[3], cells_v, cell * ASPECTS[aspect])
    return True


@nb.njit(cache=True)
def _find_edges(group: Record, window: Record, scene: Scene, parts: IntArray) -> FloatArray:
    """Where the patch ends on each side [m]; sides that end at an edge of a shape are marked in ``window.cut``."""
    half = (window.grid - 1) / 2.0
    i1, i2, j1, j2 = patch_extent(window.pressure, window.grid)
    first = (window.u_m + (i1 - half) * group.cell_u, window.v_m + (j1 - half) * group.cell_v)
    last = (window.u_m + (i2 - half) * group.cell_u, window.v_m + (j2 - half) * group.cell_v)
    cells = (group.cell_u, group.cell_v)
    ends = np.empty(4)
    for side in range(4):
        axis, sign = side // 2, -1.0 if side % 2 == 0 else 1.0
        border = first[axis] if side % 2 == 0 else last[axis]
        ends[side] = border + 0.5 * sign * cells[axis]
        window.cut[side] = 0
        low, high = first[1 - axis], last[1 - axis]
        for probe in range(PROBES):  # across the patch: an edge may be slanted or round, its farthest point counts
            across = low + (probe + 0.5) / PROBES * (high - low)
            inside, outside = (first[axis] + last[axis]) / 2, border + sign * cells[axis]
            if _meets(group, scene, parts, axis, outside, across):
                continue
            if not _meets(group, scene, parts, axis, inside, across):
                continue
            for _ in range(BISECTIONS):
                middle = (inside + outside) / 2
                if _meets(group, scene, parts, axis, middle, across):
                    inside = middle
                else:
                    outside = middle
            if not window.cut[side] or sign * (inside - ends[side]) > 0.0:
                ends[side] = inside
            window.cut[side] = 1
    return ends


@nb.njit(cache=True)
def _meets(group: Record, scene: Scene, parts: IntArray, axis: int, along: float, across: float) -> bool:
    u_m, v_m = (along, across) if axis == 0 else (across, along)
    return line_meets_both(group, scene, parts, u_m, v_m)


@nb.njit(cache=True)
def _is_snapped(group: Record, window: Record, ends: FloatArray) -> bool:
    """Whether every edge that cuts the patch lies on a border between cells."""
    for side in range(4):
        if window.cut[side]:
            centre, cell = (window.u_m, group.cell_u) if side < 2 else (window.v_m, group.cell_v)
            cells = (ends[side] - centre) / cell + window.grid / 2.0
            if abs(cells - round(cells)) > SNAPPED:
                return False
    return True


@nb.njit(cache=True)
def _choose_cells(ends: FloatArray, cut: BoolArray) -> tuple[float, int, int, float]:
    """Cell length along u [m], number of its aspect, and how many cells the patch then takes; 0 if none will do."""
    long_u, long_v = ends[1] - ends[0], ends[3] - ends[2]
    both_u, both_v = cut[0] and cut[1], cut[2] and cut[3]
    best_score, best = MISS, (0.0, 0, 0, 0.0)
    for cells_u in range(EDGE_GRID - 4, (EDGE_GRID if both_u else EDGE_GRID - 2) + 1):
        cell = long_u / cells_u
        for aspect in range(len(ASPECTS)):
            cells_v = long_v / (cell * ASPECTS[aspect])
            if not EMPTY * EDGE_GRID <= cells_v <= (EDGE_GRID + 0.02 if both_v else EDGE_GRID - 2):
                continue
            whole = abs(round(cells_v) - cells_v) / cells_v if both_v else 0.0
            score = whole + 0.002 * (EDGE_GRID - cells_u) + 0.002 * abs(EDGE_GRID - cells_v)
            if score < best_score:
                best_score, best = score, (cell, aspect, cells_u, cells_v)
    return best


@nb.njit(cache=True)
def _middle(low: float, high: float, cut_low: bool, cut_high: bool, cells: float, cell: float) -> float:
    """Centre of a window along one axis, with cell borders on the ends that are cut [m]."""
    spare = int((EDGE_GRID - cells) / 2)
    if cut_low != cut_high:
        return low + (EDGE_GRID / 2.0 - spare) * cell if cut_low else high - (EDGE_GRID / 2.0 - spare) * cell
    odd = cut_low and (EDGE_GRID - round(cells)) % 2 == 1
    return (low + high) / 2 + (cell / 2 if odd else 0.0)
