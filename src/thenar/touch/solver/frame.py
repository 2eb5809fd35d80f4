"""One frame of touch, compiled as one function: contacts in, force on every taxel out.

Contacts on a link's skin are gathered by partner body and direction (`groups.py`); each group gets a window
(`window.py`); objects close together are told of each other (`neighbours.py`); the force of every cell of a window is
laid into taxels (`deposit.py`).
"""

from __future__ import annotations

import numba as nb

from thenar.touch.solver.collision import FloatArray, IntArray, Record
from thenar.touch.solver.deposit import deposit
from thenar.touch.solver.dies import press_dies
from thenar.touch.solver.groups import gather
from thenar.touch.solver.neighbors import feel_neighbours
from thenar.touch.solver.tilt import tilt_pressure
from thenar.touch.solver.window import solve_window

LEAST_FORCE_N = 1e-4


@nb.njit(cache=True, nogil=True)
def feel(
    pair: IntArray,
    position: FloatArray,
    normal: FloatArray,
    force: FloatArray,
    solids: Record,
    body_pos: FloatArray,
    body_R: FloatArray,
    planes: FloatArray,
    field: FloatArray,
    first_part: IntArray,
    part_list: IntArray,
    link_of_solid: IntArray,
    pads: Record,
    half_space: FloatArray,
    correction: FloatArray,
    default_modulus_pa: float,
    default_thickness_m: float,
    smooth_grid: int,
    windows: Record,
    frame: int,
    groups: Record,
    work: FloatArray,
    table: FloatArray,
    load_n: FloatArray,
    normal_n: FloatArray,
    shear_n: FloatArray,
    moment_nm: FloatArray,
    dies: Record,
    die_pa: FloatArray,
) -> tuple[float, float, int]:
    """Force on every taxel.

    ``windows`` are remembered between frames; ``load_n`` (along the contact's force), ``normal_n`` (across the taxel)
    and ``shear_n`` (along rows and columns) are added to, per taxel [N]; ``moment_nm`` is load times place along rows
    and columns, per pad [N m]; ``die_pa`` is the stress at each of the buried ``dies`` [Pa].

    Returns:
        Normal force of all contacts on the skin, the part of it that fell beside every pad [N], and the number of
        groups of contacts.
    """
    count = gather(pair, position, normal, force, solids, link_of_solid, groups)
    total, bare = 0.0, 0.0
    for g in range(count):
        group = groups[g]
        total += group.force_n
        if group.force_n < LEAST_FORCE_N:
            bare += group.force_n
            continue
        body = solids[group.skin].body
        _material(group, body_pos[body], body_R[body], pads, default_modulus_pa, default_thickness_m)
        group.window = _find_window(windows, group, frame)
        window = windows[group.window]
        group.solved = solve_window(
            group, window, solids, planes, field, half_space, correction,
            part_list[first_part[group.partner] : first_part[group.partner + 1]], smooth_grid, work, table,
        )  # fmt: skip
        if group.solved and group.flat:
            tilt_pressure(group, window, half_space, correction, work, table)
    feel_neighbours(groups, count, windows, half_space, correction, work, table)
    for g in range(count):
        group = groups[g]
        if group.force_n < LEAST_FORCE_N:
            continue
        body = solids[group.skin].body
        laid = deposit(
            group, windows[group.window], body_pos[body], body_R[body], pads, load_n, normal_n, shear_n, moment_nm
        )
        bare += group.force_n - laid
        press_dies(group, windows[group.window], body_pos[body], body_R[body], dies, die_pa)
    return total, bare, count


@nb.njit(cache=True)
def _material(
    group: Record, link_pos: FloatArray, link_R: FloatArray, pads: Record, modulus_pa: float, thickness_m: float
) -> None:
    """The skin's modulus and thickness at a contact are those of the nearest pad of the link."""
    group.modulus_pa, group.thickness_m = modulus_pa, thickness_m
    nearest = 1e9
    for k in range(len(pads)):
        pad = pads[k]
        if pad.link != group.link:
            continue
        far = 0.0
        for a in range(3):
            local = 0.0
            for b in range(3):
                local += link_R[b, a] * (group.origin[b] - link_pos[b])
            far += (pad.centre_m[a] - local) ** 2
        if far < nearest:
            nearest = far
            group.modulus_pa, group.thickness_m = pad.modulus_pa, pad.thickness_m


@nb.njit(cache=True)
def _find_window(windows: Record, group: Record, frame: int) -> int:
    """The window of this contact in the last frame, or a free one."""
    free, oldest = -1, frame
    for k in range(len(windows)):
        w = windows[k]
        if w.link == group.skin and w.partner == group.partner and w.turn == group.turn and w.frame >= frame - 1:
            w.frame = frame
            return k
        if w.frame < frame and (w.frame < oldest or w.link < 0 or free < 0):
            free, oldest = k, w.frame
    w = windows[free]
    w.link, w.partner, w.turn, w.frame = group.skin, group.partner, group.turn, frame
    w.cell_m = 0.0
    return free
