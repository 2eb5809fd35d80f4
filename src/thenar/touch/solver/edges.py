"""Edges of shapes that cut a patch: pressure peaks there, so the window's borders are put on them, in every frame.

A patch has four sides: low and high u, low and high v.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.arrays import FloatArray
from thenar.touch.solver.gap import STEP, Lines, is_over
from thenar.touch.solver.influence import MAX_GRID
from thenar.touch.solver.touch_records import Record, lean
from thenar.touch.solver.window import KEPT, LEFT, RESIZED, TURNED, patch_extent, set_cells, turn_window

Extent = tuple[int, int, int, int]
EDGE_GRID = MAX_GRID  # patches that end at an edge have pressure peaks there
PROBES = 8  # lines across a patch on which its edges are looked for: as many in a new window as in a known one
BEYOND = 1 / 44  # of a patch's width from the middle of its last cell to its end
BISECTIONS = 8
NEAR = 1  # cells: an edge as near as this to a patch's last cell cuts it
SNAPPED = 0.02  # of a cell: how near to an edge's farthest point the border should be
SQUARE = 3.0  # patches that are longer lie along their own axis
RIGHT_ANGLED = 0.6  # how well directions of a patch's edges agree, up to quarter turns, if they are those of a box


@nb.njit(cache=True)
def lay_on_edges(group: Record, window: Record, lines: Lines, turn_rad: float) -> int:
    """Put the window's borders on the edges that cut the patch, and note which.

    Args:
        group: Contacts with the cells of the window.
        window: The window with its pressures.
        lines: Aimed along the group's normal.
        turn_rad: A square patch whose edges lie askew by more than this is turned along them, and not laid on them yet.

    Returns:
        `KEPT`, `TURNED` when the window's axes have changed, or `RESIZED` when its borders have moved.
    """
    half_u, half_v = window.grid / 2.0 * group.cell_u, window.grid / 2.0 * group.cell_v
    ends = np.array([window.u_m - half_u, window.u_m + half_u, window.v_m - half_v, window.v_m + half_v])
    extent = patch_extent(window.pressure, window.grid)
    if extent[1] < 0:  # no pressure
        return KEPT
    edge, change = np.empty(PROBES), KEPT
    cosine, sine, count = 0.0, 0.0, 0
    seen = [False, False]
    window.edged = False
    for side in range(4):
        window.cut[side] = _find_edge(group, window, lines, extent, side, edge)
        if np.isnan(edge).all():
            continue
        window.edged = True
        cell, sign = group.cell_u if side < 2 else group.cell_v, -1.0 if side % 2 == 0 else 1.0
        if window.cut[side]:
            # A border short of the edge would cut off its peak; one beyond it would let the last row of cells reach
            # far out to the edge, where pressure is steepest.
            at = _farthest(edge, sign)
            if abs(at - ends[side]) > SNAPPED * cell:
                ends[side], change = at, RESIZED
        step = _place(group, window, extent, side, 1.0 / PROBES)[3] - _place(group, window, extent, side, 0.0)[3]
        for probe in range(1, PROBES):
            rise = edge[probe] - edge[probe - 1]
            if not math.isnan(rise) and step > 0.0:
                angle = math.atan(rise / step) * (-1.0 if side < 2 else 1.0)
                cosine += math.cos(4.0 * angle)
                sine += math.sin(4.0 * angle)
                count += 1
                seen[side // 2] = True
    i1, i2, j1, j2 = extent
    shape = (i2 - i1 + 1) * group.cell_u / ((j2 - j1 + 1) * group.cell_v)
    angle = math.atan2(sine, cosine) / 4.0  # up to quarter turns
    agree = seen[0] and seen[1] and math.hypot(cosine, sine) >= RIGHT_ANGLED * count
    if agree and abs(angle) > turn_rad and max(shape, 1.0 / shape) <= SQUARE:
        turn_window(group, window, angle, False)
        return TURNED
    if change == RESIZED:
        window.u_m, window.v_m = (ends[0] + ends[1]) / 2, (ends[2] + ends[3]) / 2
        set_cells(window, ends[1] - ends[0], ends[3] - ends[2])
    return change


@nb.njit(cache=True)
def _find_edge(group: Record, window: Record, lines: Lines, extent: Extent, side: int, edge: FloatArray) -> bool:
    """Write where probes across one side leave a shape [m], NaN where they do not; True when an edge ends that side."""
    ends = True
    step = STEP * (group.cell_u if side < 2 else group.cell_v) * (-1.0 if side % 2 == 0 else 1.0)
    for probe in range(len(edge)):
        inside, near, outside, across = _place(group, window, extent, side, (probe + 0.5) / len(edge))
        edge[probe] = math.nan
        if _is_over(lines, side, outside, across, step):
            ends = False
            continue
        if _is_over(lines, side, near, across, step):
            inside = near
        elif not _is_over(lines, side, inside, across, step):
            continue
        for _ in range(BISECTIONS):
            middle = (inside + outside) / 2
            if _is_over(lines, side, middle, across, step):
                inside = middle
            else:
                outside = middle
        edge[probe] = inside
    return ends and not np.isnan(edge).all()


@nb.njit(cache=True)
def _farthest(edge: FloatArray, sign: float) -> float:
    """The farthest point of an edge; a slanted one goes on beyond the last probe, to the end of the patch."""
    at = math.nan
    last = len(edge) - 1
    for probe in range(last + 1):
        far = edge[probe]
        beside = 1 if probe == 0 else last - 1
        if probe in (0, last) and sign * (far - edge[beside]) > 0.0:
            far += (0.5 + BEYOND * len(edge)) * (far - edge[beside])
        if not math.isnan(far) and (math.isnan(at) or sign * (far - at) > 0.0):
            at = far
    return at


@lean
def _place(group: Record, window: Record, extent: Extent, side: int, share: float) -> tuple[float, float, float, float]:
    """Where a probe starts, in the middle of the patch, where it is near a side and where beyond; its place across."""
    axis, grid = side // 2, window.grid
    i1, i2, j1, j2 = extent
    first, last, low, high = (i1, i2, j1, j2) if axis == 0 else (j1, j2, i1, i2)
    cell, other = (group.cell_u, group.cell_v) if axis == 0 else (group.cell_v, group.cell_u)
    centre, centre_across = (window.u_m, window.v_m) if axis == 0 else (window.v_m, window.u_m)
    half, sign = (grid - 1) / 2.0, -1 if side % 2 == 0 else 1
    end, border = (first, 0) if side % 2 == 0 else (last, grid - 1)
    reach = NEAR
    if window.cut[side] and abs(border - end) <= LEFT:
        end, reach = border, LEFT
    across = low + share * (high - low)
    return (
        centre + ((first + last) / 2.0 - half) * cell,
        centre + (end - sign - half) * cell,
        centre + (end + reach * sign - half) * cell,
        centre_across + (across - half) * other,
    )


@lean
def _is_over(lines: Lines, side: int, along: float, across: float, step: float) -> bool:
    if side < 2:
        return is_over(lines, along, across, step, 0.0)
    return is_over(lines, across, along, 0.0, step)
