"""Edges of solids that cut a patch: pressure peaks there, so cell borders are put on them."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from thenar.touch.solver.collision import MISS, FloatArray, IntArray, Record
from thenar.touch.solver.gap import measure_gap, measure_window
from thenar.touch.solver.influence import ASPECTS, LARGEST_GRID
from thenar.touch.solver.patch import EMPTY, patch_extent
from thenar.touch.solver.pressure import relax

EDGE_GRID = LARGEST_GRID  # patches that end at an edge have pressure peaks there
PROBES = 5  # lines across a patch on which its edges are looked for
SNAPPED = 0.1  # of a cell: an edge this near to a cell border needs no new snap


@nb.njit(cache=True)
def snap_to_edges(
    group: Record,
    window: Record,
    solids: Record,
    planes: FloatArray,
    field: FloatArray,
    half_space: FloatArray,
    correction: FloatArray,
    parts: IntArray,
    work: FloatArray,
    table: FloatArray,
    warm: bool,
) -> bool:
    """Where the patch is cut by the end of a solid, put cell borders on that edge and solve on a finer grid."""
    grid, p = window.grid, window.pressure
    cell_u, cell_v = group.cell_u, group.cell_v
    half = (grid - 1) / 2.0
    i1, i2, j1, j2 = patch_extent(p, grid)
    ends = np.empty(4)
    cut = np.zeros(4, dtype=np.bool_)
    middle_u = window.u_m + ((i1 + i2) / 2.0 - half) * cell_u
    middle_v = window.v_m + ((j1 + j2) / 2.0 - half) * cell_v
    for side in range(4):
        along_u = side < 2
        sign = -1.0 if side % 2 == 0 else 1.0
        if along_u:
            start, cell, border = middle_u, cell_u, window.u_m + ((i1, i2)[side] - half) * cell_u
            low, high = window.v_m + (j1 - half) * cell_v, window.v_m + (j2 - half) * cell_v
        else:
            start, cell, border = middle_v, cell_v, window.v_m + ((j1, j2)[side - 2] - half) * cell_v
            low, high = window.u_m + (i1 - half) * cell_u, window.u_m + (i2 - half) * cell_u
        ends[side] = border + 0.5 * sign * cell
        for probe in range(PROBES):  # across the patch: an edge may be slanted or round, its farthest point counts
            across = low + (probe + 0.5) / PROBES * (high - low)
            outside = border + sign * cell
            u, v = (outside, across) if along_u else (across, outside)
            if _meet(group, solids, planes, field, parts, u, v):
                continue
            inside = start
            u, v = (inside, across) if along_u else (across, inside)
            if not _meet(group, solids, planes, field, parts, u, v):
                continue
            for _ in range(16):
                middle = (inside + outside) / 2
                u, v = (middle, across) if along_u else (across, middle)
                if _meet(group, solids, planes, field, parts, u, v):
                    inside = middle
                else:
                    outside = middle
            if not cut[side] or sign * (inside - ends[side]) > 0.0:
                ends[side] = inside
            cut[side] = True
    any_cut = False
    for side in range(4):
        window.cut[side] = 1 if cut[side] else 0
        any_cut = any_cut or cut[side]
    if not any_cut:
        return True
    fine = EDGE_GRID
    if grid == fine and warm and _is_snapped(window, ends, cut, cell_u, cell_v):
        return True
    long_u, long_v = ends[1] - ends[0], ends[3] - ends[2]
    best_score, best_cell, best_aspect, best_u, best_v = MISS, 0.0, 0, 0, 0.0
    for cells_u in range(fine - 4, fine + 1):
        if not (cut[0] and cut[1]) and cells_u > fine - 2:
            continue
        cell = long_u / cells_u
        for number in range(len(ASPECTS)):
            cells_v = long_v / (cell * ASPECTS[number])
            if cells_v > fine + 0.02 or cells_v < EMPTY * fine:
                continue
            if not (cut[2] and cut[3]) and cells_v > fine - 2:
                continue
            whole = abs(round(cells_v) - cells_v) / cells_v if cut[2] and cut[3] else 0.0
            score = whole + 0.002 * (fine - cells_u) + 0.002 * abs(fine - cells_v)
            if score < best_score:
                best_score, best_cell, best_aspect, best_u, best_v = score, cell, number, cells_u, cells_v
    if best_score >= MISS:
        return True
    window.grid, window.cell_m, window.aspect = fine, best_cell, best_aspect
    cell_u, cell_v = best_cell, best_cell * ASPECTS[best_aspect]
    spare = (fine - best_u) // 2
    if cut[0]:
        window.u_m = ends[0] + (fine / 2.0 - spare) * cell_u
    elif cut[1]:
        window.u_m = ends[1] - (fine / 2.0 - spare) * cell_u
    else:
        window.u_m = (ends[0] + ends[1]) / 2
    spare_v = int((fine - best_v) / 2)
    if cut[2] and cut[3]:
        odd = (fine - round(best_v)) % 2
        window.v_m = (ends[2] + ends[3]) / 2 + (cell_v / 2 if odd else 0.0)
    elif cut[2]:
        window.v_m = ends[2] + (fine / 2.0 - spare_v) * cell_v
    elif cut[3]:
        window.v_m = ends[3] - (fine / 2.0 - spare_v) * cell_v
    else:
        window.v_m = (ends[2] + ends[3]) / 2
    if not measure_window(group, window, solids, planes, field, parts):
        return False
    relax(group, window, half_space, correction, warm and grid == fine, False, work, table)
    window.passes += 1
    return True


@nb.njit(cache=True)
def _meet(
    group: Record, solids: Record, planes: FloatArray, field: FloatArray, parts: IntArray, u_m: float, v_m: float
) -> bool:
    """Whether the line through one point of the window's plane meets skin and object."""
    height, gap = np.empty(1), np.empty(1)
    return measure_gap(group, solids, planes, field, parts, u_m, v_m, 1.0, 1.0, 1, height, gap)


@nb.njit(cache=True)
def _is_snapped(window: Record, ends: FloatArray, cut: NDArray[np.bool_], cell_u: float, cell_v: float) -> bool:
    """Whether every edge that cuts the patch lies on a border between cells."""
    for side in range(4):
        if cut[side]:
            centre, cell = (window.u_m, cell_u) if side < 2 else (window.v_m, cell_v)
            cells = (ends[side] - centre) / cell + window.grid / 2.0
            if abs(cells - round(cells)) > SNAPPED:
                return False
    return True
