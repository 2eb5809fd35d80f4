"""How far skin and object are apart under a window: heights and gaps along the contact's normal.

The gap is measured along the normal, not to the nearest point: an object that sinks in deeper shifts all gaps alike and
changes nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from thenar.arrays import FloatArray, IntArray
from thenar.touch.solver.collision import HIT, MISS, ray_entry
from thenar.touch.solver.touch_records import Record, Scene, Vector, combine, lean, minus, to_local

BISECTIONS = 6  # to find an edge between two cells
STEEP = 3.0  # a side of an object that rises from the skin like this bears nothing
STEP = 0.05  # of a cell, to see how steeply it rises


class Lines(NamedTuple):
    """The lines along a contact's normal, ready to be asked where they enter skin and object."""

    scene: Scene
    skins: int
    shapes: IntArray
    """Numbers of the shapes that are the skin (so many) and, after them, of the object's."""
    frames: FloatArray
    """The plane's origin and axes and the way lines enter, in the frame of each shape. Shape (shapes, 12)."""
    seen: IntArray
    """The face of each hull that the last line entered. Shape (shapes, 1)."""


@nb.njit(cache=True)
def lines_of(scene: Scene, pieces: IntArray, parts: IntArray) -> Lines:
    """Lines that meet the shapes (their numbers) of a skin and of an object; not yet aimed."""
    skins = len(pieces)
    shapes = np.empty(skins + len(parts), dtype=np.int64)
    shapes[:skins], shapes[skins:] = pieces, parts
    return Lines(scene, skins, shapes, np.empty((len(shapes), 12)), np.full((len(shapes), 1), -1))


@nb.njit(cache=True)
def aim(lines: Lines, group: Record) -> None:
    """Note where the group's plane is in the frame of every shape: once, not for every line."""
    for k in range(len(lines.shapes)):
        shape, frame = lines.scene.shapes[lines.shapes[k]], lines.frames[k]
        frame[0:3] = to_local(shape.R, minus(group.origin, shape.pos_m))
        frame[3:6] = to_local(shape.R, group.e1)
        frame[6:9] = to_local(shape.R, group.e2)
        frame[9:12] = to_local(shape.R, group.normal)
        if k < lines.skins:
            frame[9:12] *= -1.0


@lean
def _frame(lines: Lines, k: int) -> tuple[Vector, Vector, Vector, Vector]:
    f = lines.frames[k]
    return (f[0], f[1], f[2]), (f[3], f[4], f[5]), (f[6], f[7], f[8]), (f[9], f[10], f[11])


@nb.njit(cache=True)
def measure_window(group: Record, window: Record, lines: Lines) -> bool:
    """Height of the skin above a window's plane and gap to the object, per cell; False when nothing overlaps.

    Args:
        group: Contacts with their plane; heights, gaps and cells are written to it.
        window: Place and size of the grid.
        lines: Aimed along the group's normal.
    """
    grid, height, gap = window.grid, group.height, group.gap
    group.grid, group.cell_u, group.cell_v = grid, window.cell_m, window.cell_m * window.aspect
    _measure_cells(group, window, lines)
    _reach_to_edges(group, window, lines)
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


@lean
def _measure_cells(group: Record, window: Record, lines: Lines) -> None:
    """Height and gap in the middle of every cell, `MISS` where there is no skin or no object."""
    grid, height, gap, cell_u, cell_v = group.grid, group.height, group.gap, group.cell_u, group.cell_v
    half = (grid - 1) / 2.0
    scene, skins = lines.scene, lines.skins
    height[: grid * grid] = gap[: grid * grid] = MISS
    for n in range(len(lines.shapes)):
        shape, faces, seen = scene.shapes[lines.shapes[n]], scene.faces, lines.seen[n]
        start, along_u, along_v, direction = _frame(lines, n)
        for i in range(grid):
            row = combine(start, window.u_m + (i - half) * cell_u, along_u, 0.0, along_v)
            for j in range(grid):
                k = i * grid + j
                if n >= skins and height[k] == MISS:
                    continue
                point = combine(row, window.v_m + (j - half) * cell_v, along_v, 0.0, along_u)
                t = ray_entry(shape, faces, point, direction, seen)
                if t >= HIT:
                    continue
                if n >= skins:
                    gap[k] = min(gap[k], t - height[k])
                elif height[k] == MISS or -t > height[k]:
                    height[k] = -t


@nb.njit(cache=True)
def _reach_to_edges(group: Record, window: Record, lines: Lines) -> None:
    """Let cells beside an edge reach as far as it does, and measure in their new middles; cells beyond it have no gap.

    Beyond an edge lines miss, or meet a wall: a side of the object that rises steeply from the skin.
    """
    grid, gap, wide, shift = window.grid, group.gap, group.wide, group.shift
    half = (grid - 1) / 2.0
    walls = np.zeros(grid * grid, dtype=np.bool_)
    wide[: grid * grid] = 1.0
    shift[: grid * grid] = 0.0
    for axis in range(2):
        cell, stride = (group.cell_u, grid) if axis == 0 else (group.cell_v, 1)
        for i in range(grid):
            for j in range(grid):
                k = i * grid + j
                if gap[k] >= HIT:
                    continue
                at = i if axis == 0 else j
                for sign in (-1, 1):
                    if not 0 <= at + sign < grid or gap[k + sign * stride] - gap[k] < 0.5 * cell:
                        continue
                    u, v = window.u_m + (i - half) * group.cell_u, window.v_m + (j - half) * group.cell_v
                    du, dv = (sign * cell, 0.0) if axis == 0 else (0.0, sign * cell)
                    if is_over(lines, u + du, v + dv, STEP * du, STEP * dv):
                        continue
                    walls[k + sign * stride] = True
                    inside, outside = 0.02, 1.0
                    for _ in range(BISECTIONS):
                        middle = (inside + outside) / 2
                        if is_over(lines, u + middle * du, v + middle * dv, STEP * du, STEP * dv):
                            inside = middle
                        else:
                            outside = middle
                    wide[k, axis] += inside - 0.5
                    shift[k, axis] += sign * (inside - 0.5) / 2
    for k in range(grid * grid):
        if walls[k]:
            gap[k] = MISS
        elif wide[k, 0] != 1.0 or wide[k, 1] != 1.0:
            u = window.u_m + (k // grid - half + shift[k, 0]) * group.cell_u
            v = window.v_m + (k % grid - half + shift[k, 1]) * group.cell_v
            height, apart = measure_line(lines, u, v)
            if apart < HIT:  # round a corner it may be missed
                group.height[k], gap[k] = height, apart


@lean
def is_over(lines: Lines, u_m: float, v_m: float, step_u_m: float, step_v_m: float) -> bool:
    """Whether the line through a point of the group's plane meets skin and object, and not at a wall of the object.

    The step is a short way towards the edge that may be there. The rise is that from a step behind: a step ahead lies
    beyond the edge before the point does, and whether it meets a wall there hangs on a microradian of tilt.
    """
    _, here = measure_line(lines, u_m, v_m)
    if here >= HIT:
        return False
    rise = here - measure_line(lines, u_m - step_u_m, v_m - step_v_m)[1]
    return rise < STEEP * math.hypot(step_u_m, step_v_m)


@lean
def measure_line(lines: Lines, u_m: float, v_m: float) -> tuple[float, float]:
    """Height of the skin and gap to the object on the line through one point of the group's plane, or a miss."""
    height, gap, scene = MISS, MISS, lines.scene
    for k in range(len(lines.shapes)):
        start, along_u, along_v, direction = _frame(lines, k)
        point = combine(start, u_m, along_u, v_m, along_v)
        t = ray_entry(scene.shapes[lines.shapes[k]], scene.faces, point, direction, lines.seen[k])
        if t < HIT:
            if k >= lines.skins:
                gap = min(gap, t - height)
            elif height == MISS or -t > height:
                height = -t
        if k == lines.skins - 1 and height == MISS:
            return MISS, MISS
    return height, gap
