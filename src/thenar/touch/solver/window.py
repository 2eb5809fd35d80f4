"""A small grid laid over one contact's patch, in the plane normal to the contact's force.

The grid (the *window*) has ``grid x grid`` cells of ``cell x aspect * cell`` metres. Along the force's direction each
cell has a gap between skin and object (`gap.py`); elastic contact then asks for pressures that are nowhere negative,
that carry exactly the contact's force, and under which the skin meets the object wherever there is pressure
(`pressure.py`). The window is moved, sized and turned until it fits the patch, its borders are put on edges that cut it
(`edges.py`), and it is kept for the next frame, where one pass is enough.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.touch.solver.collision import CAPSULE, MISS, FloatArray, IntArray, Record
from thenar.touch.solver.edges import snap_to_edges
from thenar.touch.solver.gap import measure_window
from thenar.touch.solver.influence import ASPECTS, LARGEST_GRID
from thenar.touch.solver.patch import EMPTY, SNUG, patch_axes, patch_extent
from thenar.touch.solver.pressure import is_supported, relax

SMOOTH_GRID = 14  # 1 % accuracy on smooth patches
SHARP_GRID = 20  # patches under a sharp edge are thin
FIRST_WINDOW_M = 0.012
SHARP = 8.0  # a patch this many times longer than wide is under a sharp edge
LOOK_FOR_EDGES = 8  # every so many frames of a lasting contact
PASSES = 8

WINDOW = np.dtype(
    [
        ("link", np.int64),  # number of the skin's solid; -1: free
        ("partner", np.int64),
        ("turn", np.int64),  # which contact of the pair
        ("frame", np.int64),  # when it was last used
        ("grid", np.int64),
        ("aspect", np.int64),
        ("cell_m", np.float64),
        ("u_m", np.float64),  # centre, from the contact's centre of force
        ("v_m", np.float64),
        ("angle_rad", np.float64),
        ("cut", np.int64, 4),  # on which sides (low and high u, low and high v) the patch ends at an edge of a solid
        ("passes", np.int64),
        ("since_edges", np.int64),  # frames since edges were looked for
        ("pressure", np.float64, LARGEST_GRID * LARGEST_GRID),
        ("crowded", np.bool_),  # other objects press close by
        ("given_m", np.float64, LARGEST_GRID * LARGEST_GRID),  # what they press away
    ]
)
"""What is remembered of a contact from frame to frame."""


@nb.njit(cache=True)
def solve_window(
    group: Record,
    window: Record,
    solids: Record,
    planes: FloatArray,
    field: FloatArray,
    half_space: FloatArray,
    correction: FloatArray,
    parts: IntArray,
    smooth_grid: int,
    work: FloatArray,
    table: FloatArray,
) -> bool:
    """Fit the window to the patch and solve its pressures; False when skin and object share no line.

    ``window`` is the start (a fresh one has ``cell_m`` 0) and the result; cells, directions, heights and gaps of its
    last pass are written to ``group``. The pressures of a flat contact's lasting window are left to `tilt_pressure`.
    """
    p = window.pressure
    first_axis = _first_axis(solids[group.skin])
    fresh = window.cell_m <= 0.0
    if fresh:
        _start(window, smooth_grid)
    warm = not fresh
    turned = 0
    window.passes = 0
    while True:
        grid = window.grid
        _axes(group.normal, first_axis, window.angle_rad, group.e1, group.e2)
        if not measure_window(group, window, solids, planes, field, parts):
            if window.passes == 0 and not fresh:  # the object has moved away from the old window
                _start(window, smooth_grid)
                fresh, warm = True, False
                continue
            return False
        cell_u, cell_v = group.cell_u, group.cell_v
        warm = warm and is_supported(group, window)
        if not (group.flat and warm):
            relax(group, window, half_space, correction, warm, False, work, table)
        window.passes += 1
        i1, i2, j1, j2 = patch_extent(p, grid)
        rows, cols = i2 - i1 + 1, j2 - j1 + 1
        at_border = (i1 == 0, i2 == grid - 1, j1 == 0, j2 == grid - 1)
        touches, is_cut = False, False
        for side in range(4):  # a patch may end with the window where it ends with the solid
            touches = touches or (at_border[side] and window.cut[side] == 0)
            is_cut = is_cut or window.cut[side] != 0
        least = (EMPTY if warm else SNUG) * grid
        small = rows < least or cols < least
        if is_cut and warm and not touches:
            break
        if window.passes >= PASSES:
            break
        half = (grid - 1) / 2.0
        angle, longer = patch_axes(p, grid, cell_u, cell_v)
        slant = min(abs(math.sin(angle)), abs(math.cos(angle)))
        # A thin patch must lie straighter: from end to end it may stray by a cell.
        slanted = slant > 0.17 or slant * max(rows * cell_u, cols * cell_v) > min(cell_u, cell_v)
        if longer > 2.2 and slanted and turned < 3 and rows * cols >= 9 and (not warm or touches or small):
            turned += 1
            _turn(window, p, grid, cell_u, cell_v, angle, touches)
            warm = False
            continue
        if not touches and not small:
            break
        grow = max(4.0, 0.5 * grid) if touches else 1.6
        wide_u, wide_v = (rows + grow) * cell_u, (cols + grow) * cell_v
        new_aspect = _nearest_aspect(wide_v / wide_u)
        new_cell = max(wide_u, wide_v / ASPECTS[new_aspect]) / grid * 1.02
        if not touches and new_aspect == window.aspect and new_cell > (0.8 if warm else 0.93) * window.cell_m:
            break
        window.u_m += ((i1 + i2) / 2.0 - half) * cell_u
        window.v_m += ((j1 + j2) / 2.0 - half) * cell_v
        window.aspect, window.cell_m = new_aspect, new_cell
        for side in range(4):
            window.cut[side] = 0
        warm = False
    stretched = ASPECTS[window.aspect] >= SHARP or ASPECTS[window.aspect] <= 1.0 / SHARP
    if window.grid < SHARP_GRID and stretched:  # a sharp edge: thin, with steep pressure across
        window.cell_m *= window.grid / SHARP_GRID
        window.grid = SHARP_GRID
        if not measure_window(group, window, solids, planes, field, parts):
            return False
        relax(group, window, half_space, correction, False, False, work, table)
        window.passes += 1
        warm = False
    if warm and window.since_edges < LOOK_FOR_EDGES:
        window.since_edges += 1
        return True
    window.since_edges = 0
    found = snap_to_edges(group, window, solids, planes, field, half_space, correction, parts, work, table, warm)
    if found and fresh:
        relax(group, window, half_space, correction, True, True, work, table)
    return found


@nb.njit(cache=True)
def _first_axis(skin: Record) -> FloatArray:
    """A direction on the skin to lay windows along: the axis of a capsule, the x of a box."""
    column = 2 if skin.kind == CAPSULE else 0
    return np.array([skin.R[0, column], skin.R[1, column], skin.R[2, column]])


@nb.njit(cache=True)
def _start(window: Record, grid: int) -> None:
    """A square window about the centre of force."""
    window.grid = grid
    window.aspect = len(ASPECTS) // 2
    window.cell_m = FIRST_WINDOW_M / grid
    window.u_m = window.v_m = window.angle_rad = 0.0
    for side in range(4):
        window.cut[side] = 0


@nb.njit(cache=True)
def _axes(normal: FloatArray, first_axis: FloatArray, angle: float, e1: FloatArray, e2: FloatArray) -> None:
    """Directions of the window: the link's first axis laid into the plane of the contact and turned by ``angle``."""
    dot = first_axis[0] * normal[0] + first_axis[1] * normal[1] + first_axis[2] * normal[2]
    a = np.empty(3)
    norm = 0.0
    for k in range(3):
        a[k] = first_axis[k] - dot * normal[k]
        norm += a[k] * a[k]
    norm = math.sqrt(norm)
    if norm < 1e-6:  # the contact looks along the axis: any direction will do
        smallest = 0
        for k in range(3):
            if abs(normal[k]) < abs(normal[smallest]):
                smallest = k
        for k in range(3):
            a[k] = (1.0 if k == smallest else 0.0) - normal[smallest] * normal[k]
        norm = math.sqrt(a[0] ** 2 + a[1] ** 2 + a[2] ** 2)
    for k in range(3):
        a[k] /= norm
    b0 = normal[1] * a[2] - normal[2] * a[1]
    b1 = normal[2] * a[0] - normal[0] * a[2]
    b2 = normal[0] * a[1] - normal[1] * a[0]
    c, s = math.cos(angle), math.sin(angle)
    e1[0], e1[1], e1[2] = c * a[0] + s * b0, c * a[1] + s * b1, c * a[2] + s * b2
    e2[0], e2[1], e2[2] = c * b0 - s * a[0], c * b1 - s * a[1], c * b2 - s * a[2]


@nb.njit(cache=True)
def _turn(window: Record, p: FloatArray, grid: int, cell_u: float, cell_v: float, angle: float, touches: bool) -> None:
    """Turn the window to the patch's long axis and lay it around the patch."""
    half = (grid - 1) / 2.0
    c, s = math.cos(angle), math.sin(angle)
    x1, x2, y1, y2 = MISS, -MISS, MISS, -MISS
    for i in range(grid):
        for j in range(grid):
            if p[i * grid + j] > 0.0:
                u = window.u_m + (i - half) * cell_u
                v = window.v_m + (j - half) * cell_v
                x, y = u * c + v * s, v * c - u * s
                x1, x2, y1, y2 = min(x1, x), max(x2, x), min(y1, y), max(y2, y)
    cell = 0.5 * (cell_u + cell_v)
    wide_u = x2 - x1 + (6.0 if touches else 1.6) * cell
    wide_v = y2 - y1 + 1.6 * cell
    window.aspect = _nearest_aspect(wide_v / wide_u)
    window.cell_m = max(wide_u, wide_v / ASPECTS[window.aspect]) / grid * 1.02
    window.u_m, window.v_m = (x1 + x2) / 2, (y1 + y2) / 2
    window.angle_rad += angle


@nb.njit(cache=True)
def _nearest_aspect(aspect: float) -> int:
    """Number of the aspect in the list that is nearest to this one."""
    best, nearest = 1e9, 0
    for k in range(len(ASPECTS)):
        off = abs(math.log(ASPECTS[k] / aspect))
        if off < best:
            best, nearest = off, k
    return nearest
