"""How far skin and object are apart under a window: heights and gaps along the contact's normal.

The gap is measured along the normal, not to the nearest point: an object that sinks in deeper shifts all gaps alike and
changes nothing.
"""

from __future__ import annotations

import numba as nb

from thenar.arrays import IntArray
from thenar.touch.solver.collision import HIT, MISS, ray_entry
from thenar.touch.solver.influence import ASPECTS
from thenar.touch.solver.touch_records import Record, Scene, Vector, combine, minus, to_local


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
    cell_u, cell_v = window.cell_m, window.cell_m * ASPECTS[window.aspect]
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
def line_meets_both(group: Record, scene: Scene, parts: IntArray, u_m: float, v_m: float) -> bool:
    """Whether the line through one point of the group's plane meets skin and object."""
    for part in range(-1, len(parts)):
        shape = scene.shapes[group.skin if part < 0 else parts[part]]
        start, along_u, along_v, direction = _plane_in_shape(group, shape, part < 0)
        point = combine(start, u_m, along_u, v_m, along_v)
        hit = ray_entry(shape, scene.planes, scene.field_m, point, direction) < HIT
        if hit != (part < 0):  # the skin is missed, or a part of the object is hit
            return hit
    return False


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
