"""A small grid laid over one contact's patch, in the plane normal to the contact's force.

The grid (the *window*) has ``grid x grid`` cells of ``cell x aspect * cell`` metres. It is moved, sized and turned
until it fits the patch of pressure (`refit`), and it is kept for the next frame, where one pass is enough. It moves on
with the centre of force; where the patch ends at edges, with the object that has them (`carry_window`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from thenar.arrays import FloatArray, IntArray
from thenar.touch.solver.collision import CAPSULE, CYLINDER, MISS
from thenar.touch.solver.influence import ASPECTS, MAX_CELLS
from thenar.touch.solver.touch_records import Record, Scene, Vector, combine, dot, minus, to_local, to_world

SMOOTH_GRID = 14  # 1 % accuracy on smooth patches
FIRST_WINDOW_M = 0.012
FIRST_WIDER, FIRST_NARROW = 1.2, 0.25  # than the contact points are apart; where they lie on a line, as narrow as this
SNUG = 0.75  # least share of the window's side that the patch should take
OBLONG = 2.2  # a patch this much longer than wide (squared) has a long axis to turn to
SHARP = 8.0  # a patch this many times longer than wide is under a sharp edge
PEAKED = 2.2  # a pressure this many times above its mean is under a corner
LEFT = 3  # cells: a patch that ends as far as this from an edge is no longer cut by it
DRIFT = 0.15  # of a known patch's width: so far it may stray from the window's axis, from end to end
KEPT, TURNED, RESIZED = range(3)
MAX_PULLS = 12

WINDOW = np.dtype(
    [
        ("skin", np.int64),  # number of the skin's shape; -1: free
        ("partner", np.int64),
        ("index", np.int64),  # which contact of the pair
        ("frame", np.int64),  # when it was last used
        ("grid", np.int64),
        ("cell_m", np.float64),
        ("aspect", np.float64),
        ("u_m", np.float64),  # centre, from the contact's centre of force
        ("v_m", np.float64),
        ("cut", np.int64, 4),  # on which sides (low and high u, low and high v) the patch ends at an edge of a shape
        ("edged", np.bool_),  # edges are near the patch
        ("on_object", np.bool_),  # the directions are kept in the object's frame, not in the link's
        ("along", np.float64, 3),  # direction of u in that frame
        ("anchor_m", np.float64, 3),  # centre in the object's frame
        ("passes", np.int64),
        ("pressure", np.float64, MAX_CELLS),
        # What the contact has been on average while the object lies still, in the link's frame, see `groups.py`.
        ("still", np.int64),  # frames
        ("lies_at_m", np.float64, 3),  # where the object was when it came to rest
        ("lies_R", np.float64, (3, 3)),
        ("mean_n", np.float64),  # normal force
        ("mean_normal", np.float64, 3),
        ("mean_origin_m", np.float64, 3),
        ("mean_spread_m2", np.float64, (3, 3)),
        ("crowded", np.bool_),  # other objects press close by
        ("neighbor_displacement_m", np.float64, MAX_CELLS),  # what they press away
        # Friction, see `shear.py`: load by load from 0 on, the friction that each newton of it carries.
        ("pulls", np.int64),
        ("upto_n", np.float64, MAX_PULLS),  # load up to which each pull goes
        ("pull", np.float64, (MAX_PULLS, 3)),  # friction per load, in the link's frame
        ("upto_pa", np.float64, MAX_PULLS),  # pressure that is left out of the patch at that load
        ("rest", np.float64, 3),  # friction per load that does not lie in the window's plane
        ("slipping", np.bool_),  # the outermost pull is at the friction limit
        ("slid_m", np.float64, 3),  # how far the object has moved along the skin before it slides
    ]
)
"""What is remembered of a contact from frame to frame."""


@nb.njit(cache=True)
def start_window(group: Record, window: Record, skin: Record, grid: int) -> None:
    """A window over the contact points: a narrow one where they lie on a line, else a square along the skin's axis."""
    across = minus(group.high, group.low)
    window.grid = grid
    window.cell_m = max(FIRST_WINDOW_M, FIRST_WIDER * math.sqrt(dot(across, across))) / grid
    window.cut[:] = 0
    window.edged = False
    if group.leans == 1:
        window.aspect = FIRST_NARROW
        _set_axes(group, (group.line[0], group.line[1], group.line[2]))
    else:
        window.aspect = 1.0
        column = 2 if skin.kind == CAPSULE or skin.kind == CYLINDER else 0  # the axis of a rod, the x of a box
        _set_axes(group, (skin.R[0, column], skin.R[1, column], skin.R[2, column]))
    middle = minus(combine(group.low, 0.5, across, 0.0, across), group.origin)
    window.u_m, window.v_m = dot(middle, group.e1), dot(middle, group.e2)


@nb.njit(cache=True)
def carry_window(group: Record, window: Record, scene: Scene) -> None:
    """Lay the window of the last frame where it is now, if object and link have moved as rigid bodies."""
    body = group.partner if window.on_object else scene.shapes[group.skin].body
    _set_axes(group, to_world(scene.body_R[body], window.along))
    turned = to_world(scene.body_R[group.partner], window.anchor_m)
    away = minus(combine(turned, 1.0, scene.body_pos_m[group.partner], 0.0, turned), group.origin)
    if window.cut[0] or window.cut[1]:
        window.u_m = dot(away, group.e1)
    if window.cut[2] or window.cut[3]:
        window.v_m = dot(away, group.e2)


@nb.njit(cache=True)
def keep_window(group: Record, window: Record, scene: Scene) -> None:
    """Note where the window lies for `carry_window`: sharp edges turn with the object, smooth patches do not."""
    cut = window.cut
    window.on_object = is_thin(window) or ((cut[0] or cut[1]) and (cut[2] or cut[3]))
    body = group.partner if window.on_object else scene.shapes[group.skin].body
    centre = combine(group.origin, window.u_m, group.e1, window.v_m, group.e2)
    window.along[:] = to_local(scene.body_R[body], group.e1)
    window.anchor_m[:] = to_local(scene.body_R[group.partner], minus(centre, scene.body_pos_m[group.partner]))


@nb.njit(cache=True)
def is_thin(window: Record) -> bool:
    """Whether the window is as long and narrow as patches under sharp edges are."""
    return max(window.aspect, 1.0 / window.aspect) >= SHARP


@nb.njit(cache=True)
def is_peaked(window: Record) -> bool:
    """Whether pressure peaks as it does under a corner: there it is far above its mean, under a ball 1.5 times that."""
    total, peak, count = 0.0, 0.0, 0
    for k in range(window.grid * window.grid):
        if window.pressure[k] > 0.0:
            total += window.pressure[k]
            peak = max(peak, window.pressure[k])
            count += 1
    return peak * count > PEAKED * total


@nb.njit(cache=True)
def _set_axes(group: Record, along: Vector) -> None:
    """Directions of the window: this one, laid into the plane of the contact, and the one across."""
    n = group.normal
    size = dot(along, n)
    a = combine(along, -size, n, 0.0, n)
    if dot(a, a) < 1e-12:  # the contact looks along it: any direction will do
        any_ = np.zeros(3)
        any_[np.argmin(np.abs(n))] = 1.0
        a = combine(any_, -dot(any_, n), n, 0.0, n)
    size = math.sqrt(dot(a, a))
    for k in range(3):
        group.e1[k] = a[k] / size
    e = group.e1
    group.e2[:] = (n[1] * e[2] - n[2] * e[1], n[2] * e[0] - n[0] * e[2], n[0] * e[1] - n[1] * e[0])


class Layout(NamedTuple):
    """Where the cells of a window lay before it was laid anew."""

    grid: int
    cell_u: float
    cell_v: float
    u_m: float
    v_m: float
    e1: Vector
    e2: Vector


@nb.njit(cache=True)
def layout(group: Record, window: Record) -> Layout:
    """Where a window's cells lie."""
    a, b = group.e1, group.e2
    return Layout(
        window.grid, group.cell_u, group.cell_v, window.u_m, window.v_m, (a[0], a[1], a[2]), (b[0], b[1], b[2])
    )


@nb.njit(cache=True)
def carry_pressure(group: Record, window: Record, before: Layout) -> None:
    """Give the cells of a window that was laid anew the pressures of those that lay there before."""
    group.grid, group.cell_u, group.cell_v = window.grid, window.cell_m, window.cell_m * window.aspect
    grid, half, half_before = window.grid, (window.grid - 1) / 2.0, (before.grid - 1) / 2.0
    pressure, displacement = window.pressure.copy(), window.neighbor_displacement_m.copy()
    c, s = dot(group.e1, before.e1), dot(group.e1, before.e2)
    for i in range(grid):
        u = window.u_m + (i - half) * group.cell_u
        for j in range(grid):
            v = window.v_m + (j - half) * group.cell_v
            row = round((u * c - v * s - before.u_m) / before.cell_u + half_before)
            col = round((u * s + v * c - before.v_m) / before.cell_v + half_before)
            k, inside = i * grid + j, 0 <= row < before.grid and 0 <= col < before.grid
            row, col = min(max(row, 0), before.grid - 1), min(max(col, 0), before.grid - 1)
            window.pressure[k] = pressure[row * before.grid + col] if inside else 0.0
            window.neighbor_displacement_m[k] = displacement[row * before.grid + col]


@nb.njit(cache=True)
def refit(group: Record, window: Record, warm: bool, may_turn: bool) -> int:
    """Lay the window around the patch of its pressures.

    Returns:
        `KEPT` when it fits already, `TURNED` when its axes have changed, `RESIZED` when only place or size have.
    """
    grid, cut = window.grid, window.cut
    i1, i2, j1, j2 = patch_extent(window.pressure, grid)
    rows, cols = i2 - i1 + 1, j2 - j1 + 1
    # A patch may end with the window where it ends with the shape.
    touches_u = (i1 == 0 and not cut[0]) or (i2 == grid - 1 and not cut[1])
    touches_v = (j1 == 0 and not cut[2]) or (j2 == grid - 1 and not cut[3])
    least = SNUG * grid
    small_u = rows < least and not (cut[0] and cut[1])
    small_v = cols < least and not (cut[2] and cut[3])
    if window.aspect in (ASPECTS[0], ASPECTS[-1]):  # cells are as thin as they come
        small_u = small_v = small_u and small_v
    changes = touches_u or touches_v or small_u or small_v
    if may_turn and rows * cols >= 9 and not ((cut[0] or cut[1]) and (cut[2] or cut[3])):
        angle, longer = patch_axes(window.pressure, grid, group.cell_u, group.cell_v)
        slant = min(abs(math.sin(angle)), abs(math.cos(angle)))
        # A thin patch must lie straighter: from end to end it may stray by a cell, later on by a part of its width.
        long, wide = max(rows * group.cell_u, cols * group.cell_v), min(rows * group.cell_u, cols * group.cell_v)
        strays = slant * long > max(min(group.cell_u, group.cell_v), DRIFT * wide if warm else 0.0)
        if longer > OBLONG and (slant > 0.17 or strays) and (not warm or changes or strays):
            turn_window(group, window, angle, touches_u or touches_v)
            return TURNED
    if not changes:
        return KEPT
    low_u, high_u = _side(i1, i2, grid, touches_u, small_u, cut[:2])
    low_v, high_v = _side(j1, j2, grid, touches_v, small_v, cut[2:])
    least = 0.93 * grid
    if not (touches_u or touches_v) and high_u - low_u > least and high_v - low_v > least:
        return KEPT
    window.u_m += ((low_u + high_u) / 2 - grid / 2.0) * group.cell_u
    window.v_m += ((low_v + high_v) / 2 - grid / 2.0) * group.cell_v
    set_cells(window, (high_u - low_u) * group.cell_u, (high_v - low_v) * group.cell_v)
    return RESIZED


@nb.njit(cache=True)
def _side(first: int, last: int, grid: int, touches: bool, small: bool, cut: IntArray) -> tuple[float, float]:
    """Where a window should begin and end along one axis, in its present cells; borders on edges stay."""
    low, high = 0.0, float(grid)
    if touches or small:
        spare = max(2.0, 0.25 * grid) if touches else 1.2
        if not cut[0] or first > LEFT:
            low, cut[0] = first - spare, 0
        if not cut[1] or last < grid - 1 - LEFT:
            high, cut[1] = last + 1.0 + spare, 0
    return low, high


@nb.njit(cache=True)
def set_cells(window: Record, wide_u: float, wide_v: float) -> None:
    """Cells that cover a rectangle [m]."""
    window.aspect = min(max(wide_v / wide_u, ASPECTS[0]), ASPECTS[-1])
    window.cell_m = max(wide_u, wide_v / window.aspect) / window.grid


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
def turn_window(group: Record, window: Record, angle: float, touches: bool) -> None:
    """Turn the window and lay it around the patch."""
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
    set_cells(window, 1.02 * (x2 - x1 + (6.0 if touches else 1.6) * cell), 1.02 * (y2 - y1 + 1.6 * cell))
    window.u_m, window.v_m = (x1 + x2) / 2, (y1 + y2) / 2
    window.cut[:] = 0
    along = combine((0.0, 0.0, 0.0), c, group.e1, s, group.e2)
    _set_axes(group, along)
