"""How far skin and object are apart under a window: heights and gaps along the contact's normal.

The gap is measured along the normal, not to the nearest point: an object that sinks in deeper shifts all gaps alike and
changes nothing.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.arrays import IntArray
from thenar.touch.solver.collision import HIT, MISS, ray_entry
from thenar.touch.solver.touch_records import Record, Scene, Vector, combine, minus, to_local

BISECTIONS = 6  # to find an edge between two cells
STEEP = 3.0  # a side of an object that rises from the skin like this bears nothing
STEP = 0.05  # of a cell, to see how steeply it rises


@nb.njit(cache=True)
def measure_window(group: Record, window: Record, scene: Scene, parts: IntArray) -> bool:
    """Height of the skin above a window's plane and gap to the object, per cell; False when nothing overlaps.

    Args:
        group: Contacts with their plane; heights, gaps and cells are written to it.
        window: Place and size of the grid.
        scene: All shapes.
        parts: Numbers of the object's shapes.
    """
    grid, height, gap = window.grid, group.height, group.gap
    cell_u, cell_v = window.cell_m, window.cell_m * window.aspect
    group.grid, group.cell_u, group.cell_v = grid, cell_u, cell_v
    half = (grid - 1) / 2.0
    for part in range(-1, len(parts)):
        shape = scene.shapes[group.skin if part < 0 else parts[part]]
        start, along_u, along_v, direction = _plane_in_shape(group, shape, part < 0)
        for i in range(grid):
            u = window.u_m + (i - half) * cell_u
            for j in range(grid):
                v = window.v_m + (j - half) * cell_v
                k = i * grid + j
                if part >= 0 and height[k] == MISS:
                    continue
                point = combine(start, u, along_u, v, along_v)
                t = ray_entry(shape, scene.planes, scene.field_m, point, direction)
                if part < 0:
                    height[k], gap[k] = -t if t < HIT else MISS, MISS
                elif t < HIT:
                    gap[k] = min(gap[k], t - height[k])
    _reach_to_edges(group, window, scene, parts)
    least = MISS
    for k in range(grid * grid):
        if height[k] == MISS:
            height[k] = 0.0
        least = min(least, gap[k])
    if least > HIT:
        return False
    for k in range(grid * grid):
        if gap[k] < HIT:
            gap[k] -= least
    return True


@nb.njit(cache=True)
def _reach_to_edges(group: Record, window: Record, scene: Scene, parts: IntArray) -> None:
    """Let cells beside an edge reach as far as it does, and measure in their new middles; cells beyond it have no gap.

    Beyond an edge lines miss, or meet a wall: a side of the object that rises steeply from the skin.
    """
    grid, gap, wide, shift = window.grid, group.gap, group.wide, group.shift
    cells = (group.cell_u, group.cell_v)
    half = (grid - 1) / 2.0
    walls = np.zeros(grid * grid, dtype=np.bool_)
    wide[: grid * grid] = 1.0
    shift[: grid * grid] = 0.0
    for k in range(grid * grid):
        if gap[k] >= HIT:
            continue
        u, v = window.u_m + (k // grid - half) * cells[0], window.v_m + (k % grid - half) * cells[1]
        for side in range(4):
            axis, sign = side // 2, 2 * (side % 2) - 1
            if not 0 <= (k // grid if axis == 0 else k % grid) + sign < grid:
                continue
            beside = k + sign * (grid if axis == 0 else 1)
            if gap[beside] - gap[k] < 0.5 * cells[axis]:
                continue
            du, dv = (sign * cells[0], 0.0) if axis == 0 else (0.0, sign * cells[1])
            if is_over(group, scene, parts, u + du, v + dv, STEP * du, STEP * dv):
                continue
            walls[beside] = True
            inside, outside = 0.02, 1.0
            for _ in range(BISECTIONS):
                middle = (inside + outside) / 2
                if is_over(group, scene, parts, u + middle * du, v + middle * dv, STEP * du, STEP * dv):
                    inside = middle
                else:
                    outside = middle
            wide[k, axis] += inside - 0.5
            shift[k, axis] += sign * (inside - 0.5) / 2
    for k in range(grid * grid):
        if walls[k]:
            gap[k] = MISS
        elif wide[k, 0] != 1.0 or wide[k, 1] != 1.0:
            u = window.u_m + (k // grid - half + shift[k, 0]) * cells[0]
            v = window.v_m + (k % grid - half + shift[k, 1]) * cells[1]
            height, apart = measure_line(group, scene, parts, u, v)
            if apart < HIT:  # round a corner it may be missed
                group.height[k], gap[k] = height, apart


@nb.njit(cache=True)
def is_over(
    group: Record, scene: Scene, parts: IntArray, u_m: float, v_m: float, step_u_m: float, step_v_m: float
) -> bool:
    """Whether the line through a point of the group's plane meets skin and object, and not at a wall of the object.

    The step is a short way towards the edge that may be there.
    """
    _, here = measure_line(group, scene, parts, u_m, v_m)
    if here >= HIT:
        return False
    rise = measure_line(group, scene, parts, u_m + step_u_m, v_m + step_v_m)[1] - here
    if rise >= HIT:  # the last line that meets it, at an edge or at the end of a wall
        rise = here - measure_line(group, scene, parts, u_m - step_u_m, v_m - step_v_m)[1]
    return rise < STEEP * math.hypot(step_u_m, step_v_m)


@nb.njit(cache=True)
def measure_line(group: Record, scene: Scene, parts: IntArray, u_m: float, v_m: float) -> tuple[float, float]:
    """Height of the skin and gap to the object on the line through one point of the group's plane, or a miss."""
    height, gap = MISS, MISS
    for part in range(-1, len(parts)):
        shape = scene.shapes[group.skin if part < 0 else parts[part]]
        start, along_u, along_v, direction = _plane_in_shape(group, shape, part < 0)
        point = combine(start, u_m, along_u, v_m, along_v)
        t = ray_entry(shape, scene.planes, scene.field_m, point, direction)
        if part < 0:
            if t >= HIT:
                return MISS, MISS
            height = -t
        elif t < HIT:
            gap = min(gap, t - height)
    return height, gap


@nb.njit(cache=True)
def _plane_in_shape(group: Record, shape: Record, is_skin: bool) -> tuple[Vector, Vector, Vector, Vector]:
    """Origin and axes of a group's plane in a shape's frame, and the direction in which lines enter the shape."""
    n = to_local(shape.R, group.normal)
    return (
        to_local(shape.R, minus(group.origin, shape.pos_m)),
        to_local(shape.R, group.e1),
        to_local(shape.R, group.e2),
        (-n[0], -n[1], -n[2]) if is_skin else n,
    )
