"""Pressure under one contact: a small grid laid over the patch, in the plane normal to the contact's force.

The grid (the *window*) has ``grid x grid`` cells of ``cell x aspect * cell`` metres. Along the force's direction each
cell has a gap between skin and object; elastic contact then asks for pressures that are nowhere negative, that carry
exactly the contact's force, and under which the skin meets the object wherever there is pressure. Polonsky and Keer's
conjugate gradients solve that. The window is moved, sized and turned until it fits the patch, and kept for the next
frame, where one pass is enough.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

from thenar.touch.influence import ASPECTS, LARGEST_GRID, influence_table
from thenar.touch.solids import HIT, MISS, FloatArray, IntArray, Record, enter

SMOOTH_GRID = 14  # 1 % accuracy on smooth patches
SHARP_GRID = 20  # patches under a sharp edge are thin
EDGE_GRID = LARGEST_GRID  # patches that end at an edge have pressure peaks there
FIRST_WINDOW_M = 0.012
COLD_ITERATIONS, WARM_ITERATIONS, TOLERANCE = 14, 3, 1e-3  # while a window is fitted, and from frame to frame
POLISH_ITERATIONS, POLISHED = 60, 1e-9  # once, when a new window has found its place
PROBES = 5  # lines across a patch on which its edges are looked for
SHARP = 8.0  # a patch this many times longer than wide is under a sharp edge
LOOK_FOR_EDGES = 8  # every so many frames of a lasting contact
SNAPPED = 0.1  # of a cell: an edge this near to a cell border needs no new snap
PASSES = 8
SNUG, EMPTY = 0.8, 0.55  # least share of the window's side that the patch should take: when fitted, and later on

WORK = (6, 2 * LARGEST_GRID * LARGEST_GRID)
"""Shape of the scratch memory of a window."""

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
    ]
)
"""What is remembered of a contact from frame to frame."""


@nb.njit(cache=True)
def measure_gap(
    solids: Record,
    planes: FloatArray,
    field: FloatArray,
    skin: int,
    parts: IntArray,
    origin: FloatArray,
    normal: FloatArray,
    e1: FloatArray,
    e2: FloatArray,
    u_m: float,
    v_m: float,
    cell_u: float,
    cell_v: float,
    grid: int,
    height: FloatArray,
    gap: FloatArray,
) -> bool:
    """Height of the skin above the window's plane and gap to the object, per cell; False when nothing overlaps.

    The gap is measured along the normal, not to the nearest point: an object that sinks in deeper shifts all gaps
    alike and changes nothing.
    """
    n = grid * grid
    for k in range(n):
        gap[k] = MISS
        height[k] = 0.0
    start, along_u, along_v, way = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    point = np.empty(3)
    half = (grid - 1) / 2.0
    for part in range(-1, len(parts)):
        solid = solids[skin] if part < 0 else solids[parts[part]]
        sign = -1.0 if part < 0 else 1.0
        for a in range(3):
            start[a] = along_u[a] = along_v[a] = way[a] = 0.0
            for b in range(3):
                start[a] += solid.R[b, a] * (origin[b] - solid.pos_m[b])
                along_u[a] += solid.R[b, a] * e1[b]
                along_v[a] += solid.R[b, a] * e2[b]
                way[a] += solid.R[b, a] * normal[b] * sign
        for i in range(grid):
            u = u_m + (i - half) * cell_u
            for j in range(grid):
                v = v_m + (j - half) * cell_v
                k = i * grid + j
                if part >= 0 and height[k] == MISS:
                    continue
                for a in range(3):
                    point[a] = start[a] + u * along_u[a] + v * along_v[a]
                t = enter(solid, planes, field, point, way)
                if part < 0:
                    height[k] = -t if t < HIT else MISS
                elif t < HIT:
                    gap[k] = min(gap[k], t - height[k])
    least = MISS
    for k in range(n):
        if height[k] == MISS:
            height[k] = 0.0
            gap[k] = MISS
        least = min(least, gap[k])
    if least > HIT:
        return False
    for k in range(n):
        if gap[k] < HIT:
            gap[k] -= least
    return True


@nb.njit(cache=True, fastmath=True)
def apply_table(table: FloatArray, grid: int, p: FloatArray, out: FloatArray, sweep: FloatArray) -> None:
    """Displacement of every cell under pressures ``p`` (in units of cell over modulus).

    Rows are laid out twice as wide as the window. Then the influence of one cell on all is one long run of the table,
    which the processor adds several numbers at a time; what lands in the spare half of a row is not looked at.
    """
    width = 2 * grid - 1
    length = grid * width
    for k in range(length):
        sweep[k] = 0.0
    for i2 in range(grid):
        for j2 in range(grid):
            value = p[i2 * grid + j2]
            if value != 0.0:
                at = (grid - 1 - i2) * width + grid - 1 - j2
                run = table[at : at + length]
                for k in range(length):
                    sweep[k] += value * run[k]
    for i in range(grid):
        for j in range(grid):
            out[i * grid + j] = sweep[i * width + j]


@nb.njit(cache=True)
def solve_pressure(
    gap: FloatArray,
    table: FloatArray,
    grid: int,
    total: float,
    iterations: int,
    tolerance: float,
    warm: bool,
    p: FloatArray,
    work: FloatArray,
) -> None:
    """Polonsky and Keer: pressures in place, nowhere negative, with sum ``total``.

    Args:
        gap: Gap times modulus over cell length; `MISS` where a cell has no partner. Shape (grid^2,).
        table: Influence of the window, see `influence_table`.
        grid: Cells along each side.
        total: Force over the area of a cell.
        iterations: At most.
        tolerance: Share of the pressure that may still change in the last iteration.
        warm: True: ``p`` holds a start with about the right support.
        p: Pressures [Pa], start and result.
        work: Scratch. Shape `WORK`.
    """
    n = grid * grid
    residual, direction, image = work[0], work[1], work[2]
    if not warm:
        _first_guess(gap, n, p, work[3])
    _scale_to(gap, n, total, p)
    for k in range(n):
        direction[k] = 0.0
    norm_before, keep = 1.0, 0.0
    for _ in range(iterations):
        apply_table(table, grid, p, residual, work[5])
        mean, count = 0.0, 0
        for k in range(n):
            if gap[k] < HIT:
                residual[k] += gap[k]
            if p[k] > 0.0:
                mean += residual[k]
                count += 1
        mean /= count
        norm = 0.0
        for k in range(n):
            residual[k] -= mean
            if p[k] > 0.0:
                norm += residual[k] * residual[k]
        if norm <= 0.0:
            return
        follow = keep * norm / norm_before
        norm_before = norm
        for k in range(n):
            direction[k] = residual[k] + follow * direction[k] if p[k] > 0.0 else 0.0
        apply_table(table, grid, direction, image, work[5])
        mean = 0.0
        for k in range(n):
            if p[k] > 0.0:
                mean += image[k]
        mean /= count
        top, bottom = 0.0, 0.0
        for k in range(n):
            if p[k] > 0.0:
                top += residual[k] * direction[k]
                bottom += (image[k] - mean) * direction[k]
        step = top / bottom if bottom > 0.0 else 0.0
        keep, change, amount = 1.0, 0.0, 0.0
        for k in range(n):
            before = p[k]
            after = before - step * direction[k]
            if after <= 0.0:
                after = 0.0
                if residual[k] < 0.0 and gap[k] < HIT:  # the skin would pass through: this cell joins the contact
                    after = -step * residual[k]
                    keep = 0.0
            p[k] = after
            amount += after
            change += abs(after - before)
        _scale_to(gap, n, total, p)
        if change < tolerance * amount and keep > 0.0:
            return


@nb.njit(cache=True)
def _first_guess(gap: FloatArray, n: int, p: FloatArray, order: FloatArray) -> None:
    """Start from the quarter of cells with the smallest gaps."""
    found = 0
    for k in range(n):
        if gap[k] < HIT:
            order[found] = gap[k]
            found += 1
    ordered = np.sort(order[:found])
    level = ordered[min(found - 1, max(6, found // 4))]
    for k in range(n):
        # The small constant keeps a flat object (all gaps equal) from starting at nothing.
        p[k] = math.sqrt(level - gap[k] + 1e-12 + 1e-6 * level) if gap[k] <= level else 0.0


@nb.njit(cache=True)
def _scale_to(gap: FloatArray, n: int, total: float, p: FloatArray) -> None:
    amount = 0.0
    for k in range(n):
        if gap[k] >= HIT or p[k] < 0.0:
            p[k] = 0.0
        amount += p[k]
    if amount <= 0.0:
        nearest = 0
        for k in range(n):
            if gap[k] < gap[nearest]:
                nearest = k
        p[nearest] = 1.0
        amount = 1.0
    factor = total / amount
    for k in range(n):
        p[k] *= factor


@nb.njit(cache=True)
def nearest_aspect(aspect: float) -> int:
    """Number of the aspect in the list that is nearest to this one."""
    best, nearest = 1e9, 0
    for k in range(len(ASPECTS)):
        off = abs(math.log(ASPECTS[k] / aspect))
        if off < best:
            best, nearest = off, k
    return nearest


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
def solve_window(
    window: Record,
    solids: Record,
    planes: FloatArray,
    field: FloatArray,
    half_space: FloatArray,
    correction: FloatArray,
    skin: int,
    parts: IntArray,
    origin: FloatArray,
    normal: FloatArray,
    first_axis: FloatArray,
    force_n: float,
    modulus_pa: float,
    thickness_m: float,
    extra_gap: FloatArray,
    use_extra: bool,
    tilted: bool,
    smooth_grid: int,
    height: FloatArray,
    gap: FloatArray,
    e1: FloatArray,
    e2: FloatArray,
    work: FloatArray,
    table: FloatArray,
) -> bool:
    """Fit the window to the patch and solve its pressures; False when skin and object share no line.

    ``window`` is the start (a fresh one has ``cell_m`` 0) and the result; ``height``, ``gap``, ``e1`` and ``e2`` are
    those of its last pass. ``extra_gap`` (of a window of the same placing) is added when ``use_extra`` is set: the skin
    that another object has pressed away. A window with extra gap is solved as it stands, without fitting. With
    ``tilted``, the pressures of the last frame are left to `tilt_pressure`.
    """
    p = window.pressure
    fresh = window.cell_m <= 0.0
    if fresh:
        _start(window, smooth_grid)
    warm = not fresh
    turned = 0
    window.passes = 0
    while True:
        grid = window.grid
        aspect = ASPECTS[window.aspect]
        cell_u, cell_v = window.cell_m, window.cell_m * aspect
        _axes(normal, first_axis, window.angle_rad, e1, e2)
        if not measure_gap(
            solids, planes, field, skin, parts, origin, normal, e1, e2,
            window.u_m, window.v_m, cell_u, cell_v, grid, height, gap,
        ):  # fmt: skip
            if window.passes == 0 and not fresh:  # the object has moved away from the old window
                _start(window, smooth_grid)
                fresh, warm, use_extra = True, False, False
                continue
            return False
        if use_extra:
            for k in range(grid * grid):
                if gap[k] < HIT:
                    gap[k] += extra_gap[k]
        if not (tilted and warm):
            _relax(window, gap, half_space, correction, thickness_m, force_n, modulus_pa, warm, False, work, table)
        window.passes += 1
        if use_extra:
            return True
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
        new_aspect = nearest_aspect(wide_v / wide_u)
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
        if not measure_gap(
            solids, planes, field, skin, parts, origin, normal, e1, e2,
            window.u_m, window.v_m, window.cell_m, window.cell_m * ASPECTS[window.aspect], SHARP_GRID, height, gap,
        ):  # fmt: skip
            return False
        _relax(window, gap, half_space, correction, thickness_m, force_n, modulus_pa, False, False, work, table)
        window.passes += 1
        warm = False
    if warm and window.since_edges < LOOK_FOR_EDGES:
        window.since_edges += 1
        return True
    window.since_edges = 0
    found = _snap_to_edges(
        window, solids, planes, field, half_space, correction, skin, parts, origin, normal,
        force_n, modulus_pa, thickness_m, height, gap, e1, e2, work, table, warm,
    )  # fmt: skip
    if found and fresh:
        _relax(window, gap, half_space, correction, thickness_m, force_n, modulus_pa, True, True, work, table)
    return found


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
def _relax(
    window: Record,
    gap: FloatArray,
    half_space: FloatArray,
    correction: FloatArray,
    thickness_m: float,
    force_n: float,
    modulus_pa: float,
    warm: bool,
    polish: bool,
    work: FloatArray,
    table: FloatArray,
) -> None:
    """Solve the window's pressures for its gaps."""
    grid, cell = window.grid, window.cell_m
    aspect = float(ASPECTS[window.aspect])
    influence_table(half_space[window.aspect], correction, aspect, cell, thickness_m, grid, table)
    scaled = work[4]
    supported = False
    for k in range(grid * grid):
        scaled[k] = gap[k] * modulus_pa / cell if gap[k] < HIT else MISS
        supported = supported or (window.pressure[k] > 0.0 and gap[k] < HIT)
    warm = warm and supported
    rounds = POLISH_ITERATIONS if polish else WARM_ITERATIONS if warm else COLD_ITERATIONS
    tolerance = POLISHED if polish else TOLERANCE
    total = force_n / (cell * cell * aspect)
    solve_pressure(scaled, table, grid, total, rounds, tolerance, warm, window.pressure, work)


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
    window.aspect = nearest_aspect(wide_v / wide_u)
    window.cell_m = max(wide_u, wide_v / ASPECTS[window.aspect]) / grid * 1.02
    window.u_m, window.v_m = (x1 + x2) / 2, (y1 + y2) / 2
    window.angle_rad += angle


@nb.njit(cache=True)
def _snap_to_edges(
    window: Record,
    solids: Record,
    planes: FloatArray,
    field: FloatArray,
    half_space: FloatArray,
    correction: FloatArray,
    skin: int,
    parts: IntArray,
    origin: FloatArray,
    normal: FloatArray,
    force_n: float,
    modulus_pa: float,
    thickness_m: float,
    height: FloatArray,
    gap: FloatArray,
    e1: FloatArray,
    e2: FloatArray,
    work: FloatArray,
    table: FloatArray,
    warm: bool,
) -> bool:
    """Where the patch is cut by the end of a solid, put cell borders on that edge and solve on a finer grid."""
    grid, p = window.grid, window.pressure
    aspect = ASPECTS[window.aspect]
    cell_u, cell_v = window.cell_m, window.cell_m * aspect
    half = (grid - 1) / 2.0
    i1, i2, j1, j2 = patch_extent(p, grid)
    ends = np.empty(4)
    cut = np.zeros(4, dtype=np.bool_)
    one_height, one_gap = np.empty(1), np.empty(1)
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
            if measure_gap(
                solids, planes, field, skin, parts, origin, normal, e1, e2, u, v, 1.0, 1.0, 1, one_height, one_gap
            ):
                continue
            inside = start
            u, v = (inside, across) if along_u else (across, inside)
            if not measure_gap(
                solids, planes, field, skin, parts, origin, normal, e1, e2, u, v, 1.0, 1.0, 1, one_height, one_gap
            ):
                continue
            for _ in range(16):
                middle = (inside + outside) / 2
                u, v = (middle, across) if along_u else (across, middle)
                if measure_gap(
                    solids, planes, field, skin, parts, origin, normal, e1, e2, u, v, 1.0, 1.0, 1, one_height, one_gap
                ):
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
    if not measure_gap(
        solids, planes, field, skin, parts, origin, normal, e1, e2,
        window.u_m, window.v_m, cell_u, cell_v, fine, height, gap,
    ):  # fmt: skip
        return False
    _relax(
        window, gap, half_space, correction, thickness_m, force_n, modulus_pa, warm and grid == fine, False, work, table
    )
    window.passes += 1
    return True


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
