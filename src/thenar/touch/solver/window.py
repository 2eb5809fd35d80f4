"""A small grid laid over one contact's patch, in the plane normal to the contact's force.

The grid (the *window*) has ``grid x grid`` cells of ``cell x aspect * cell`` metres. It is moved, sized and turned
until it fits the patch of pressure (`refit`), and it is kept for the next frame, where one pass is enough.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.arrays import FloatArray
from thenar.touch.solver.collision import CAPSULE, MISS
from thenar.touch.solver.influence import ASPECTS, MAX_CELLS
from thenar.touch.solver.touch_records import Record, dot

SMOOTH_GRID = 14  # 1 % accuracy on smooth patches
FIRST_WINDOW_M = 0.012
SNUG, EMPTY = 0.8, 0.55  # least share of the window's side that the patch should take: when fitted, and later on
OBLONG = 2.2  # a patch this much longer than wide (squared) has a long axis to turn to
KEPT, TURNED, RESIZED = range(3)

WINDOW = np.dtype(
    [
        ("skin", np.int64),  # number of the skin's shape; -1: free
        ("partner", np.int64),
        ("index", np.int64),  # which contact of the pair
        ("frame", np.int64),  # when it was last used
        ("grid", np.int64),
        ("aspect", np.int64),
        ("cell_m", np.float64),
        ("u_m", np.float64),  # centre, from the contact's centre of force
        ("v_m", np.float64),
        ("angle_rad", np.float64),
        ("cut", np.int64, 4),  # on which sides (low and high u, low and high v) the patch ends at an edge of a shape
        ("passes", np.int64),
        ("since_edges", np.int64),  # frames since edges were looked for
        ("pressure", np.float64, MAX_CELLS),
        ("crowded", np.bool_),  # other objects press close by
        ("neighbor_displacement_m", np.float64, MAX_CELLS),  # what they press away
    ]
)
"""What is remembered of a contact from frame to frame."""


@nb.njit(cache=True)
def start_window(window: Record, grid: int) -> None:
    """A square window about the centre of force."""
    window.grid = grid
    window.aspect = len(ASPECTS) // 2
    window.cell_m = FIRST_WINDOW_M / grid
    window.u_m = window.v_m = window.angle_rad = 0.0
    window.cut[:] = 0


@nb.njit(cache=True)
def set_axes(group: Record, window: Record, skin: Record) -> None:
    """Directions of the window: the skin's first axis laid into the plane of the contact and turned by its angle."""
    n = group.normal
    column = 2 if skin.kind == CAPSULE else 0  # the axis of a capsule, the x of a box
    axis = skin.R[:, column].copy()
    a = axis - dot(axis, n) * n
    if math.sqrt(dot(a, a)) < 1e-6:  # the contact looks along the axis: any direction will do
        axis = np.zeros(3)
        axis[np.argmin(np.abs(n))] = 1.0
        a = axis - dot(axis, n) * n
    a /= math.sqrt(dot(a, a))
    b = np.array([n[1] * a[2] - n[2] * a[1], n[2] * a[0] - n[0] * a[2], n[0] * a[1] - n[1] * a[0]])
    c, s = math.cos(window.angle_rad), math.sin(window.angle_rad)
    group.e1[:] = c * a + s * b
    group.e2[:] = c * b - s * a


@nb.njit(cache=True)
def refit(group: Record, window: Record, warm: bool, may_turn: bool) -> int:
    """Lay the window around the patch of its pressures.

    Returns:
        `KEPT` when it fits already, `TURNED` when its axes have changed, `RESIZED` when only place or size have.
    """
    grid, cell_u, cell_v = window.grid, group.cell_u, group.cell_v
    i1, i2, j1, j2 = patch_extent(window.pressure, grid)
    rows, cols = i2 - i1 + 1, j2 - j1 + 1
    at_border = (i1 == 0, i2 == grid - 1, j1 == 0, j2 == grid - 1)
    touches, is_cut = False, False
    for side in range(4):  # a patch may end with the window where it ends with the shape
        touches = touches or (at_border[side] and window.cut[side] == 0)
        is_cut = is_cut or window.cut[side] != 0
    if is_cut and warm and not touches:
        return KEPT
    small = min(rows, cols) < (EMPTY if warm else SNUG) * grid
    angle, longer = patch_axes(window.pressure, grid, cell_u, cell_v)
    slant = min(abs(math.sin(angle)), abs(math.cos(angle)))
    # A thin patch must lie straighter: from end to end it may stray by a cell.
    slanted = slant > 0.17 or slant * max(rows * cell_u, cols * cell_v) > min(cell_u, cell_v)
    if longer > OBLONG and slanted and may_turn and rows * cols >= 9 and (not warm or touches or small):
        _turn(group, window, angle, touches)
        return TURNED
    if not touches and not small:
        return KEPT
    grow = max(4.0, 0.5 * grid) if touches else 1.6
    aspect, cell_m = _cells_over((rows + grow) * cell_u, (cols + grow) * cell_v, grid)
    if not touches and aspect == window.aspect and cell_m > (0.8 if warm else 0.93) * window.cell_m:
        return KEPT
    window.u_m += ((i1 + i2) / 2.0 - (grid - 1) / 2.0) * cell_u
    window.v_m += ((j1 + j2) / 2.0 - (grid - 1) / 2.0) * cell_v
    window.aspect, window.cell_m = aspect, cell_m
    window.cut[:] = 0
    return RESIZED


@nb.njit(cache=True)
def patch_extent(p: FloatArray, grid: int) -> tuple[int, int, int, int]:
    """First and last row and column of the window that carry pressure."""
    i1, i2, j1, j2 = grid, -1, grid, -1
    for i in range(grid):
        for j in range(grid):
            if p[i * grid + j] > 0.0:
                i1, i2 = min(i1, i), max(i2, i)
                j1, j2 = min(j1, j), max(j2, j)
    return i1, i2, j1, j2


@nb.njit(cache=True)
def patch_axes(p: FloatArray, grid: int, cell_u: float, cell_v: float) -> tuple[float, float]:
    """Angle of the patch's long axis in the window [rad] and how much longer than wide it is (squared)."""
    half = (grid - 1) / 2.0
    s = su = sv = suu = svv = suv = 0.0
    for i in range(grid):
        u = (i - half) * cell_u
        for j in range(grid):
            v = (j - half) * cell_v
            w = p[i * grid + j]
            s += w
            su += w * u
            sv += w * v
            suu += w * u * u
            svv += w * v * v
            suv += w * u * v
    suu, svv, suv = suu / s - (su / s) ** 2, svv / s - (sv / s) ** 2, suv / s - su * sv / s**2
    spread = math.hypot((suu - svv) / 2, suv)
    mean = (suu + svv) / 2
    return 0.5 * math.atan2(2 * suv, suu - svv), (mean + spread) / max(mean - spread, 1e-30)


@nb.njit(cache=True)
def _turn(group: Record, window: Record, angle: float, touches: bool) -> None:
    """Turn the window to the patch's long axis and lay it around the patch."""
    grid, cell_u, cell_v = window.grid, group.cell_u, group.cell_v
    half = (grid - 1) / 2.0
    c, s = math.cos(angle), math.sin(angle)
    x1, x2, y1, y2 = MISS, -MISS, MISS, -MISS
    for i in range(grid):
        for j in range(grid):
            if window.pressure[i * grid + j] > 0.0:
                u = window.u_m + (i - half) * cell_u
                v = window.v_m + (j - half) * cell_v
                x, y = u * c + v * s, v * c - u * s
                x1, x2, y1, y2 = min(x1, x), max(x2, x), min(y1, y), max(y2, y)
    cell = 0.5 * (cell_u + cell_v)
    wide_u, wide_v = x2 - x1 + (6.0 if touches else 1.6) * cell, y2 - y1 + 1.6 * cell
    window.aspect, window.cell_m = _cells_over(wide_u, wide_v, grid)
    window.u_m, window.v_m = (x1 + x2) / 2, (y1 + y2) / 2
    window.angle_rad += angle


@nb.njit(cache=True)
def _cells_over(wide_u: float, wide_v: float, grid: int) -> tuple[int, float]:
    """Number of the aspect and length along u of cells that cover a rectangle [m]."""
    aspect = int(np.argmin(np.abs(np.log(ASPECTS / (wide_v / wide_u)))))
    return aspect, max(wide_u, wide_v / ASPECTS[aspect]) / grid * 1.02
