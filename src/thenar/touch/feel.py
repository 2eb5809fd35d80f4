"""One frame of touch, compiled as one function: contacts in, force on every taxel out.

Contacts on a link's skin are gathered by partner body and direction; each group gets a window (`window.py`); the force
of every cell of a window is laid into taxels by exact overlap of areas. What falls beside every pad is bare skin and is
never spread over taxels.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.touch.influence import LARGEST_GRID, LAYER_POINTS, LAYER_REACH
from thenar.touch.skin import CYLINDER_CHART, chart
from thenar.touch.solids import CAPSULE, HIT, FloatArray, IntArray, Record
from thenar.touch.tilt import tilt_pressure
from thenar.touch.window import ASPECTS, solve_window

LEAST_FORCE_N = 1e-4
SAME_DIRECTION = math.cos(math.radians(30.0))
CLOSE = 1.5  # patches nearer than this many of their sizes feel each other
ROUNDS = 2
BLOCKS = 8  # a side: how finely neighbours see each other
SPREAD_M = 1e-3  # contact points this far apart in both directions fix the tilt of a flat contact
MOST_GROUPS = 96
MOST_PIECES = 4  # of a cell
CELLS = LARGEST_GRID * LARGEST_GRID

GROUP = np.dtype(
    [
        ("skin", np.int64),  # number of the skin's solid
        ("link", np.int64),  # number among the skinned links
        ("partner", np.int64),  # number of the partner's body
        ("turn", np.int64),
        ("points", np.int64),
        ("weight", np.float64),
        ("force", np.float64, 3),  # sum of normal forces times outward normals
        ("moment", np.float64, 3),  # sum of normal forces times positions
        ("spread", np.float64, (3, 3)),
        ("friction", np.float64, 3),  # tangential force on the skin
        ("window", np.int64),
        ("solved", np.bool_),
        ("modulus_pa", np.float64),
        ("thickness_m", np.float64),
        ("grid", np.int64),
        ("cell_u", np.float64),
        ("cell_v", np.float64),
        ("origin", np.float64, 3),
        ("normal", np.float64, 3),
        ("e1", np.float64, 3),
        ("e2", np.float64, 3),
        ("height", np.float64, CELLS),
        ("gap", np.float64, CELLS),
    ]
)
"""Contacts that press one link in one direction, and the window laid over them."""


@nb.njit(cache=True)
def gather(
    pair: IntArray,
    position: FloatArray,
    normal: FloatArray,
    force: FloatArray,
    solids: Record,
    link_of_solid: IntArray,
    groups: Record,
) -> int:
    """Contacts on the skin of this hand, by link, partner body and direction; returns the number of groups."""
    count = 0
    for k in range(pair.shape[0]):
        for side in range(2):
            skin, other = pair[k, side], pair[k, 1 - side]
            link = link_of_solid[skin]
            if link < 0:
                continue
            sign = 1.0 if side == 0 else -1.0
            press = 0.0
            for a in range(3):  # the force on the first solid is the opposite of that on the second
                press += force[k, a] * normal[k, a]
            if press <= 0.0:
                continue
            partner = solids[other].body
            found, turn = -1, 0
            for g in range(count):
                group = groups[g]
                if group.skin == skin and group.partner == partner:
                    turn += 1
                    size = math.sqrt(group.force[0] ** 2 + group.force[1] ** 2 + group.force[2] ** 2)
                    dot = 0.0
                    for a in range(3):
                        dot += group.force[a] * sign * normal[k, a]
                    if dot > SAME_DIRECTION * size:
                        found = g
                        break
            if found < 0:
                if count == MOST_GROUPS:
                    continue
                found = count
                count += 1
                group = groups[found]
                group.skin, group.link, group.partner, group.turn = skin, link, partner, turn
                group.points, group.weight, group.solved = 0, 0.0, False
                for a in range(3):
                    group.force[a] = group.moment[a] = group.friction[a] = 0.0
                    for b in range(3):
                        group.spread[a, b] = 0.0
            group = groups[found]
            group.points += 1
            group.weight += press
            for a in range(3):
                out = sign * normal[k, a]
                group.force[a] += press * out
                group.moment[a] += press * position[k, a]
                # Force on the skin is -sign * force; its normal part is -press * out.
                group.friction[a] += -sign * force[k, a] + press * out
                for b in range(3):
                    group.spread[a, b] += press * position[k, a] * position[k, b]
    return count


@nb.njit(cache=True)
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
) -> tuple[float, float, int]:
    """Force on every taxel.

    ``windows`` are remembered between frames; ``load_n`` (along the contact's force), ``normal_n`` (across the taxel)
    and ``shear_n`` (along rows and columns) are added to, per taxel [N]; ``moment_nm`` is load times place along rows
    and columns, per pad [N m].

    Returns:
        Normal force of all contacts on the skin, the part of it that fell beside every pad [N], and the number of
        groups of contacts.
    """
    count = gather(pair, position, normal, force, solids, link_of_solid, groups)
    total, bare = 0.0, 0.0
    scratch = np.zeros(CELLS)
    for g in range(count):
        group = groups[g]
        size = math.sqrt(group.force[0] ** 2 + group.force[1] ** 2 + group.force[2] ** 2)
        total += size
        if size < LEAST_FORCE_N:
            bare += size
            continue
        for a in range(3):
            group.origin[a] = group.moment[a] / group.weight
            group.normal[a] = group.force[a] / size
        body = solids[group.skin].body
        _material(group, body_pos[body], body_R[body], pads, default_modulus_pa, default_thickness_m)
        group.window = _find_window(windows, group, frame)
        window = windows[group.window]
        flat = group.points >= 3 and _is_flat(group)
        group.solved = solve_window(
            window, solids, planes, field, half_space, correction, group.skin,
            part_list[first_part[group.partner] : first_part[group.partner + 1]], group.origin, group.normal,
            _first_axis(solids[group.skin]), size, group.modulus_pa, group.thickness_m, scratch, False, flat,
            smooth_grid, group.height, group.gap, group.e1, group.e2, work, table,
        )  # fmt: skip
        _remember_cells(group, window)
        if group.solved and flat:
            tilt_pressure(group, window, half_space, correction, size, work, table)
    _feel_neighbours(
        groups, count, solids, planes, field, first_part, part_list, half_space, correction, windows, smooth_grid,
        work, table, scratch,
    )  # fmt: skip
    for g in range(count):
        group = groups[g]
        size = math.sqrt(group.force[0] ** 2 + group.force[1] ** 2 + group.force[2] ** 2)
        if size < LEAST_FORCE_N:
            continue
        body = solids[group.skin].body
        laid = _deposit(
            group,
            windows[group.window],
            body_pos[body],
            body_R[body],
            pads,
            size,
            load_n,
            normal_n,
            shear_n,
            moment_nm,
        )
        bare += size - laid
    return total, bare, count


@nb.njit(cache=True)
def _first_axis(skin: Record) -> FloatArray:
    """A direction on the skin to lay windows along: the axis of a capsule, the x of a box."""
    column = 2 if skin.kind == CAPSULE else 0
    return np.array([skin.R[0, column], skin.R[1, column], skin.R[2, column]])


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


@nb.njit(cache=True)
def _remember_cells(group: Record, window: Record) -> None:
    group.grid = window.grid
    group.cell_u = window.cell_m
    group.cell_v = window.cell_m * ASPECTS[window.aspect]


@nb.njit(cache=True)
def _is_flat(group: Record) -> bool:
    """Whether contact points are spread in two directions: then their centre is the centre of pressure."""
    trace, square = 0.0, 0.0
    c = np.empty((3, 3))
    for a in range(3):
        for b in range(3):
            c[a, b] = group.spread[a, b] / group.weight - group.origin[a] * group.origin[b]
        trace += c[a, a]
    for a in range(3):
        for b in range(3):
            square += c[a, b] * c[b, a]
    # Points lie nearly in a plane: two eigenvalues matter, with this sum and this sum of squares.
    product = max(0.0, (trace * trace - square) / 2)
    smaller = trace / 2 - math.sqrt(max(0.0, trace * trace / 4 - product))
    return smaller > SPREAD_M * SPREAD_M


@nb.njit(cache=True)
def _feel_neighbours(
    groups: Record,
    count: int,
    solids: Record,
    planes: FloatArray,
    field: FloatArray,
    first_part: IntArray,
    part_list: IntArray,
    half_space: FloatArray,
    correction: FloatArray,
    windows: Record,
    smooth_grid: int,
    work: FloatArray,
    table: FloatArray,
    extra: FloatArray,
) -> None:
    """Objects that press a link close to each other share its give: solve them in turns."""
    for _ in range(ROUNDS):
        changed = False
        for g in range(count):
            one = groups[g]
            if not one.solved:
                continue
            near = False
            for k in range(one.grid * one.grid):
                extra[k] = 0.0
            for h in range(count):
                other = groups[h]
                if h == g or not other.solved or other.skin != one.skin or not _are_close(one, other, windows):
                    continue
                near = True
                _pressed_away(one, windows[one.window], other, windows[other.window], correction, extra)
            if not near:
                continue
            changed = True
            size = math.sqrt(one.force[0] ** 2 + one.force[1] ** 2 + one.force[2] ** 2)
            flat = one.points >= 3 and _is_flat(one)
            solve_window(
                windows[one.window], solids, planes, field, half_space, correction, one.skin,
                part_list[first_part[one.partner] : first_part[one.partner + 1]], one.origin, one.normal,
                _first_axis(solids[one.skin]), size, one.modulus_pa, one.thickness_m, extra, True, flat,
                smooth_grid, one.height, one.gap, one.e1, one.e2, work, table,
            )  # fmt: skip
            if flat:  # the gap now holds what the neighbours press away
                tilt_pressure(one, windows[one.window], half_space, correction, size, work, table)
        if not changed:
            return


@nb.njit(cache=True)
def _centre(group: Record, window: Record) -> FloatArray:
    centre = np.empty(3)
    for a in range(3):
        centre[a] = group.origin[a] + window.u_m * group.e1[a] + window.v_m * group.e2[a]
    return centre


@nb.njit(cache=True)
def _are_close(one: Record, other: Record, windows: Record) -> bool:
    a, b = _centre(one, windows[one.window]), _centre(other, windows[other.window])
    far = math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)
    size = 0.5 * one.grid * max(one.cell_u, one.cell_v) + 0.5 * other.grid * max(other.cell_u, other.cell_v)
    return far < CLOSE * size


@nb.njit(cache=True)
def _pressed_away(
    one: Record, mine: Record, other: Record, theirs: Record, correction: FloatArray, extra: FloatArray
) -> None:
    """Add what the other object's pressure takes from the skin under this window [m].

    Seen from a neighbouring patch the pressure is a few blocks of force, and what it takes is smooth: it is worked out
    on a coarse net and interpolated.
    """
    sources = np.zeros((BLOCKS * BLOCKS, 4))
    half = (other.grid - 1) / 2.0
    for i in range(other.grid):
        for j in range(other.grid):
            k = i * other.grid + j
            force = theirs.pressure[k] * other.cell_u * other.cell_v
            if force <= 0.0:
                continue
            block = sources[(i * BLOCKS // other.grid) * BLOCKS + j * BLOCKS // other.grid]
            u, v = theirs.u_m + (i - half) * other.cell_u, theirs.v_m + (j - half) * other.cell_v
            block[3] += force
            for a in range(3):
                place = other.origin[a] + u * other.e1[a] + v * other.e2[a] + other.height[k] * other.normal[a]
                block[a] += force * place
    nearest = 0.4 * other.grid / BLOCKS * max(other.cell_u, other.cell_v)
    net = np.zeros((BLOCKS + 1, BLOCKS + 1))
    half = (one.grid - 1) / 2.0
    for p in range(BLOCKS + 1):
        i = p * (one.grid - 1) / BLOCKS
        for q in range(BLOCKS + 1):
            j = q * (one.grid - 1) / BLOCKS
            u, v = mine.u_m + (i - half) * one.cell_u, mine.v_m + (j - half) * one.cell_v
            for b in range(BLOCKS * BLOCKS):
                force = sources[b, 3]
                if force > 0.0:
                    r = 0.0
                    for a in range(3):
                        away = one.origin[a] + u * one.e1[a] + v * one.e2[a] - sources[b, a] / force
                        r += away * away
                    r = max(math.sqrt(r), nearest)
                    net[p, q] += force * _response(r, other.thickness_m, correction) / (math.pi * other.modulus_pa)
    for i in range(one.grid):
        x = i * BLOCKS / (one.grid - 1.0)
        p = min(int(x), BLOCKS - 1)
        for j in range(one.grid):
            y = j * BLOCKS / (one.grid - 1.0)
            q = min(int(y), BLOCKS - 1)
            low = net[p, q] * (1.0 - (y - q)) + net[p, q + 1] * (y - q)
            high = net[p + 1, q] * (1.0 - (y - q)) + net[p + 1, q + 1] * (y - q)
            extra[i * one.grid + j] += low * (1.0 - (x - p)) + high * (x - p)


@nb.njit(cache=True)
def _response(r_m: float, thickness_m: float, correction: FloatArray) -> float:
    """How much the skin gives at a distance from a point force, times pi E* over the force [1/m]."""
    if thickness_m > 1e3:
        return 1.0 / r_m
    s = r_m / thickness_m
    if s >= LAYER_REACH:
        return 0.0
    step = LAYER_REACH / (LAYER_POINTS - 1)
    k = min(int(s / step), LAYER_POINTS - 2)
    share = s / step - k
    return 1.0 / r_m - (correction[k] * (1.0 - share) + correction[k + 1] * share) / thickness_m


@nb.njit(cache=True)
def _deposit(
    group: Record,
    window: Record,
    link_pos: FloatArray,
    link_R: FloatArray,
    pads: Record,
    size_n: float,
    load_n: FloatArray,
    normal_n: FloatArray,
    shear_n: FloatArray,
    moment_nm: FloatArray,
) -> float:
    """Lay a window's force into the taxels of its link by exact overlap; returns what the pads took [N].

    A window that found no line through both solids lays all its force at the contact point.
    """
    d1, d2, dn, o, friction = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for a in range(3):
        for b in range(3):
            d1[a] += link_R[b, a] * group.e1[b]
            d2[a] += link_R[b, a] * group.e2[b]
            dn[a] += link_R[b, a] * group.normal[b]
            o[a] += link_R[b, a] * (group.origin[b] - link_pos[b])
            friction[a] += link_R[b, a] * group.friction[b] / size_n
    grid = group.grid if group.solved else 1
    hu = group.cell_u if group.solved else 1e-6
    hv = group.cell_v if group.solved else 1e-6
    centre_u = window.u_m if group.solved else 0.0
    centre_v = window.v_m if group.solved else 0.0
    half = (grid - 1) / 2.0
    taken = 0.0
    s, g, p = group.height, group.gap, window.pressure
    for i in range(grid):
        for j in range(grid):
            k = i * grid + j
            cell_n = p[k] * hu * hv if group.solved else size_n
            if cell_n <= 0.0:
                continue
            # Slope of the skin against the window's plane.
            ia = k - grid if i > 0 and g[k - grid] < HIT else k
            ib = k + grid if i < grid - 1 and g[k + grid] < HIT else k
            ja = k - 1 if j > 0 and g[k - 1] < HIT else k
            jb = k + 1 if j < grid - 1 and g[k + 1] < HIT else k
            slope_u = (s[ib] - s[ia]) / (hu * (ib - ia) / grid) if ib != ia else 0.0
            slope_v = (s[jb] - s[ja]) / (hv * (jb - ja)) if jb != ja else 0.0
            steeper = math.sqrt(1.0 + slope_u * slope_u + slope_v * slope_v)
            u, v = centre_u + (i - half) * hu, centre_v + (j - half) * hv
            high = s[k] if group.solved else 0.0
            x = o[0] + u * d1[0] + v * d2[0] + high * dn[0]
            y = o[1] + u * d1[1] + v * d2[1] + high * dn[1]
            z = o[2] + u * d1[2] + v * d2[2] + high * dn[2]
            ax, ay, az = (
                hu / 2 * (d1[0] + slope_u * dn[0]),
                hu / 2 * (d1[1] + slope_u * dn[1]),
                hu / 2 * (d1[2] + slope_u * dn[2]),
            )
            bx, by, bz = (
                hv / 2 * (d2[0] + slope_v * dn[0]),
                hv / 2 * (d2[1] + slope_v * dn[1]),
                hv / 2 * (d2[2] + slope_v * dn[2]),
            )
            for q in range(len(pads)):
                pad = pads[q]
                if pad.link != group.link:
                    continue
                cu, cv, reaches = chart(pad, x, y, z)
                if not reaches:
                    continue
                margin = hu + hv
                if abs(cu) > pad.rows * pad.row_pitch_m / 2 + margin:
                    continue
                if abs(cv) > pad.cols * pad.col_pitch_m / 2 + margin:
                    continue
                u1, v1, _ = chart(pad, x - ax, y - ay, z - az)
                u2, v2, _ = chart(pad, x + ax, y + ay, z + az)
                u3, v3, _ = chart(pad, x - bx, y - by, z - bz)
                u4, v4, _ = chart(pad, x + bx, y + by, z + bz)
                # A long cell that lies askew in the chart is laid down in pieces: it is not the box around it.
                long_u, long_v, short_u, short_v = u2 - u1, v2 - v1, u4 - u3, v4 - v3
                if hu < hv:
                    long_u, long_v, short_u, short_v = short_u, short_v, long_u, long_v
                box = math.hypot(long_u, short_u) * math.hypot(long_v, short_v)
                pieces = min(MOST_PIECES, math.ceil(box / max(abs(long_u * short_v - long_v * short_u), 1e-18) - 0.5))
                du = 0.5 * math.hypot(long_u / pieces, short_u)
                dv = 0.5 * math.hypot(long_v / pieces, short_v)
                for piece in range(pieces):
                    along = (piece + 0.5) / pieces - 0.5
                    taken += _overlap(
                        pad,
                        cu + along * long_u,
                        cv + along * long_v,
                        du,
                        dv,
                        cell_n / pieces,
                        steeper,
                        _along(pad, friction, cv),
                        load_n,
                        normal_n,
                        shear_n,
                        moment_nm[q],
                    )
    return taken


@nb.njit(cache=True)
def _along(pad: Record, friction: FloatArray, v_m: float) -> tuple[float, float]:
    """Friction per newton of load along the pad's rows and columns, at ``v_m`` round a cylinder."""
    along_u = friction[0] * pad.e_u[0] + friction[1] * pad.e_u[1] + friction[2] * pad.e_u[2]
    flat = friction[0] * pad.e_v[0] + friction[1] * pad.e_v[1] + friction[2] * pad.e_v[2]
    if pad.chart != CYLINDER_CHART:
        return along_u, flat
    up = friction[0] * pad.normal[0] + friction[1] * pad.normal[1] + friction[2] * pad.normal[2]
    angle = v_m / pad.radius_m
    return along_u, flat * math.cos(angle) - up * math.sin(angle)


@nb.njit(cache=True)
def _overlap(
    pad: Record,
    u: float,
    v: float,
    half_u: float,
    half_v: float,
    cell_n: float,
    steeper: float,
    shear: tuple[float, float],
    load_n: FloatArray,
    normal_n: FloatArray,
    shear_n: FloatArray,
    moment_nm: FloatArray,
) -> float:
    """Share a cell's force over the taxels under it, by the area each of them covers."""
    a1, a2 = (u - half_u) / pad.row_pitch_m + pad.rows / 2, (u + half_u) / pad.row_pitch_m + pad.rows / 2
    b1, b2 = (v - half_v) / pad.col_pitch_m + pad.cols / 2, (v + half_v) / pad.col_pitch_m + pad.cols / 2
    taken = 0.0
    for row in range(max(0, math.floor(a1)), min(pad.rows - 1, math.floor(a2)) + 1):
        in_row = (min(a2, row + 1.0) - max(a1, float(row))) / (a2 - a1)
        if in_row <= 0.0:
            continue
        for col in range(max(0, math.floor(b1)), min(pad.cols - 1, math.floor(b2)) + 1):
            in_col = (min(b2, col + 1.0) - max(b1, float(col))) / (b2 - b1)
            if in_col <= 0.0:
                continue
            taxel = pad.first + row * pad.cols + col
            part = cell_n * in_row * in_col
            load_n[taxel] += part
            normal_n[taxel] += part * steeper
            shear_n[taxel, 0] += part * shear[0]
            shear_n[taxel, 1] += part * shear[1]
            # Where the covered part of the taxel is, not where the taxel is.
            moment_nm[0] += part * ((min(a2, row + 1.0) + max(a1, float(row))) / 2 - pad.rows / 2) * pad.row_pitch_m
            moment_nm[1] += part * ((min(b2, col + 1.0) + max(b1, float(col))) / 2 - pad.cols / 2) * pad.col_pitch_m
            taken += part
    return taken
