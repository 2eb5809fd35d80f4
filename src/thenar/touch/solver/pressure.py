"""Pressures that close a window's gaps: Polonsky and Keer's conjugate gradients.

An object that is pressed off its middle leans in the directions in which its contact points are spread: one or two
more unknowns, so that the centre of pressure is right. Residuals are then freed of every plane (not only of their
mean), and pressures scaled by a plane so that force and moments are met.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.arrays import FloatArray, IntArray
from thenar.touch.solver.collision import HIT, MISS
from thenar.touch.solver.influence import STRIPS, TOGETHER, own_influence, strip_sizes, write_table
from thenar.touch.solver.touch_records import Elastic, Record, dot, lean, lean_contracting

COLD_ITERATIONS, WARM_ITERATIONS, TOLERANCE = 14, 16, 3e-4  # while a window is fitted, and from frame to frame
POLISH_ITERATIONS, POLISHED = 60, 1e-9  # once, when a new window has found its place
RIDGE = 1e-6  # with a single cell in contact no plane is known: smaller, and rounding would decide


@nb.njit(cache=True)
def solve_pressure(group: Record, window: Record, elastic: Elastic, warm: bool, polish: bool = False) -> None:
    """Solve the window's pressures for the group's gaps, force and, where it leans, centre of force.

    A ``warm`` start is from the window's own pressures. A cold one is that of a window that was laid anew: what
    neighbors press away is then unknown.
    """
    warm = warm and is_supported(group, window)
    if not warm:
        window.crowded = False
        window.neighbor_displacement_m[:] = 0.0
    total = _prepare(group, window, elastic)
    n, leans = window.grid * window.grid, group.leans > 0
    if not warm:
        _first_guess(elastic.gap[:n], window.pressure)
    _scale_to(elastic.gap, n, total, window.pressure)
    if leans:
        _write_plane(group, window, elastic.plane)
    rounds = POLISH_ITERATIONS if polish else WARM_ITERATIONS if warm else COLD_ITERATIONS
    tolerance = POLISHED if polish else TOLERANCE
    _conjugate_gradients(window.pressure, window.grid, total, rounds, tolerance, leans, elastic)
    if leans:
        meet_moments(elastic.plane, elastic.gap, n, total, window.pressure)


@nb.njit(cache=True)
def _write_plane(group: Record, window: Record, plane: FloatArray) -> None:
    """Write 1 and the coordinates of every cell along which the object may lean, from the contact's centre of force."""
    grid, cell, aspect = window.grid, window.cell_m, window.aspect
    half = (grid - 1) / 2.0
    reach = half * cell * max(1.0, aspect) + abs(window.u_m) + abs(window.v_m)
    line_u, line_v = dot(group.line, group.e1) / reach, dot(group.line, group.e2) / reach
    for i in range(grid):
        for j in range(grid):
            k = i * grid + j
            u = window.u_m + (i - half + group.shift[k, 0]) * cell
            v = window.v_m + (j - half + group.shift[k, 1]) * cell * aspect
            plane[k, 0] = 1.0
            plane[k, 1], plane[k, 2] = (u / reach, v / reach) if group.leans == 2 else (u * line_u + v * line_v, 0.0)


@lean
def is_supported(group: Record, window: Record) -> bool:
    """Whether any of the window's pressure lies where the object is."""
    supported = False
    for k in range(window.grid * window.grid):
        supported = supported or (window.pressure[k] > 0.0 and group.gap[k] < HIT)
    return supported


@nb.njit(cache=True)
def _prepare(group: Record, window: Record, elastic: Elastic) -> float:
    """Write the window's influence table and scaled gaps; returns the force over the area of a cell [Pa].

    Gaps are widened by what neighbors press away, and scaled by modulus over cell length; `MISS` without a partner.
    """
    write_table(group, window, elastic)
    factor = group.modulus_pa / window.cell_m
    for k in range(window.grid * window.grid):
        widened = group.gap[k] + window.neighbor_displacement_m[k]
        elastic.gap[k] = widened * factor if group.gap[k] < HIT else MISS
        wide_u, wide_v = group.wide[k, 0], group.wide[k, 1]
        elastic.own[k] = 0.0 if wide_u == wide_v == 1.0 else own_influence(wide_u, wide_v, window.aspect)
    return group.force_n / (window.cell_m * window.cell_m * window.aspect)


@nb.njit(cache=True)
def _conjugate_gradients(
    p: FloatArray, grid: int, total: float, iterations: int, tolerance: float, tilts: bool, elastic: Elastic
) -> None:
    """Polonsky and Keer: pressures ``p`` [Pa] in place, nowhere negative, with sum ``total``.

    Ends when a step changes less than ``tolerance`` of the total. With ``tilts`` the object may lean, see
    `meet_moments`.
    """
    n, gap = grid * grid, elastic.gap
    residual, direction, image, displacement = elastic.residual, elastic.direction, elastic.image, elastic.displacement
    direction[:n] = 0.0
    norm_before, keep, known = 1.0, 0.0, False
    for _ in range(iterations):
        if not known:
            if tilts:
                meet_moments(elastic.plane, gap, n, total, p)
            apply_table(elastic, grid, p, displacement)
        for k in range(n):
            residual[k] = displacement[k] + gap[k] if gap[k] < HIT else displacement[k]
        if tilts:
            _remove_plane(elastic.plane, n, p, residual)
        else:
            residual[:n] -= _mean_in_contact(n, p, residual)
        norm = _dot_in_contact(n, p, residual, residual)
        if norm <= 0.0:
            return
        follow = keep * norm / norm_before
        norm_before = norm
        for k in range(n):
            direction[k] = residual[k] + follow * direction[k] if p[k] > 0.0 else 0.0
        apply_table(elastic, grid, direction, image)
        mean = 0.0 if tilts else _mean_in_contact(n, p, image)  # a direction that is free of planes needs none
        bottom = 0.0
        for k in range(n):
            if p[k] > 0.0:
                bottom += (image[k] - mean) * direction[k]
        step = _dot_in_contact(n, p, residual, direction) / bottom if bottom > 0.0 else 0.0
        joined, same, change = _advance(gap, n, step, p, residual, direction, elastic.jump)
        keep = 0.0 if joined else 1.0
        factor = 1.0 if tilts else _scale_to(gap, n, total, p)
        if change < tolerance * total and (same if tilts else not joined):
            return
        # The skin gives way in proportion to the step and to what cells jumped that came or went, mostly few.
        known = factor > 0.0 and (same or not tilts)
        if known:
            for k in range(n):
                displacement[k] = factor * (displacement[k] - step * image[k])
        if known and not same:
            apply_table(elastic, grid, elastic.jump, image)
            for k in range(n):
                displacement[k] += factor * image[k]


@lean
def _advance(
    gap: FloatArray, n: int, step: float, p: FloatArray, residual: FloatArray, direction: FloatArray, jump: FloatArray
) -> tuple[bool, bool, float]:
    """Pressures a step on, nowhere negative; whether a cell joined, whether none came or went, and the sum of changes.

    A cell without pressure through which the skin would pass joins the contact. By how much pressures differ from
    those of the plain step is written to ``jump``.
    """
    joined, same, change = False, True, 0.0
    for k in range(n):
        before = p[k]
        plain = before - step * direction[k]
        after = plain
        if after <= 0.0:
            same = same and before <= 0.0
            after = 0.0
            if residual[k] < 0.0 and gap[k] < HIT:
                after = -step * residual[k]
                joined, same = True, False
        p[k], jump[k] = after, after - plain
        change += abs(after - before)
    return joined, same, change


@lean_contracting
def apply_table(elastic: Elastic, grid: int, p: FloatArray, out: FloatArray) -> None:
    """Displacement of every cell under pressures ``p`` (in units of cell over modulus).

    Rows are laid out as wide as those of the table. Then the influence of one cell on all is one long run of the table,
    which the processor adds several numbers at a time; what lands in the spare part of a row is not looked at.
    """
    columns, width, size = strip_sizes(grid)
    sweep, values, starts = elastic.sweep[: grid * width], elastic.values, elastic.starts
    sweep[:] = 0.0
    for strip in range(STRIPS):
        table, count = elastic.table[strip * size :], 0
        after = (strip + 1) * columns
        for i in range(grid):
            for j in range(strip * columns, min(after, grid)):
                value = p[i * grid + j]
                if value != 0.0:
                    values[count], starts[count] = value, (grid - 1 - i) * width + after - 1 - j
                    count += 1
                if count == TOGETHER:
                    _add_runs(table, values, starts, sweep)
                    count = 0
        if count > 0:
            values[count:], starts[count:] = 0.0, 0
            _add_runs(table, values, starts, sweep)
    for i in range(grid):
        for j in range(grid):
            k = i * grid + j
            out[k] = sweep[i * width + j] + elastic.own[k] * p[k]


@lean_contracting
def _add_runs(table: FloatArray, values: FloatArray, starts: IntArray, sweep: FloatArray) -> None:
    """Add `TOGETHER` values, each times its run of the table, one after the other: a sum is loaded and stored once."""
    length = len(sweep)
    a, b, c, d = values[0], values[1], values[2], values[3]
    e, f, g, h = values[4], values[5], values[6], values[7]
    # As slices: of an index that might count from the end, no two numbers are loaded at once.
    run_a, run_b = table[starts[0] : starts[0] + length], table[starts[1] : starts[1] + length]
    run_c, run_d = table[starts[2] : starts[2] + length], table[starts[3] : starts[3] + length]
    run_e, run_f = table[starts[4] : starts[4] + length], table[starts[5] : starts[5] + length]
    run_g, run_h = table[starts[6] : starts[6] + length], table[starts[7] : starts[7] + length]
    for k in range(length):
        four = (((sweep[k] + a * run_a[k]) + b * run_b[k]) + c * run_c[k]) + d * run_d[k]
        sweep[k] = (((four + e * run_e[k]) + f * run_f[k]) + g * run_g[k]) + h * run_h[k]


@nb.njit(cache=True)
def _first_guess(gap: FloatArray, p: FloatArray) -> None:
    """Start from the quarter of cells with the smallest gaps."""
    ordered = np.sort(gap[gap < HIT])
    level = ordered[min(len(ordered) - 1, max(6, len(ordered) // 4))]
    for k in range(len(gap)):
        # The small constant keeps a flat object (all gaps equal) from starting at nothing.
        p[k] = math.sqrt(level - gap[k] + 1e-12 + 1e-6 * level) if gap[k] <= level else 0.0


@lean
def _scale_to(gap: FloatArray, n: int, total: float, p: FloatArray) -> float:
    """Scale pressures to their sum; returns the factor; 0: there were none, the cell with the least gap gets it all."""
    amount = 0.0
    for k in range(n):
        if gap[k] >= HIT or p[k] < 0.0:
            p[k] = 0.0
        amount += p[k]
    if amount <= 0.0:
        p[np.argmin(gap[:n])] = total
        return 0.0
    factor = total / amount
    for k in range(n):
        p[k] *= factor
    return factor


@nb.njit(cache=True)
def meet_moments(plane: FloatArray, gap: FloatArray, n: int, total: float, p: FloatArray) -> None:
    """Scale pressures by a plane so that they sum to ``total`` about the contact's centre of force.

    Args:
        plane: 1 and both coordinates of every cell; 0: in this direction the object does not lean. Shape (cells, 3).
        gap: `MISS` where there is no object. Shape (cells,).
        n: Number of cells.
        total: Sum of the pressures.
        p: Pressures, changed in place. Shape (cells,).
    """
    _scale_to(gap, n, total, p)
    for _ in range(3):
        fit = _solve(_plane_moments(plane, n, p, True), (total, 0.0, 0.0))
        for k in range(n):
            if p[k] > 0.0:
                p[k] = max(0.0, p[k] * (fit[0] + fit[1] * plane[k, 1] + fit[2] * plane[k, 2]))
        _scale_to(gap, n, total, p)  # the force is met exactly whatever the clipping did to the moments


@nb.njit(cache=True)
def _remove_plane(plane: FloatArray, n: int, p: FloatArray, values: FloatArray) -> None:
    """Take the plane that fits best, over cells in contact, from all values."""
    matrix = _plane_moments(plane, n, p, False)
    for _ in range(2):  # the ridge leaves a little of the plane, on which conjugate gradients would stall
        x = y = z = 0.0
        for k in range(n):
            if p[k] > 0.0:
                x += plane[k, 0] * values[k]
                y += plane[k, 1] * values[k]
                z += plane[k, 2] * values[k]
        fit = _solve(matrix, (x, y, z))
        for k in range(n):
            values[k] -= fit[0] * plane[k, 0] + fit[1] * plane[k, 1] + fit[2] * plane[k, 2]


@nb.njit(cache=True)
def _plane_moments(plane: FloatArray, n: int, p: FloatArray, by_pressure: bool) -> FloatArray:
    """Sum over cells in contact of the products of their coordinates, times pressure if asked. Shape (3, 3)."""
    matrix = np.zeros((3, 3))
    for k in range(n):
        if p[k] > 0.0:
            weight = p[k] if by_pressure else 1.0
            for a in range(3):
                for b in range(3):
                    matrix[a, b] += weight * plane[k, a] * plane[k, b]
    for a in range(3):
        matrix[a, a] += RIDGE * matrix[0, 0]
    return matrix


@nb.njit(cache=True)
def _solve(m: FloatArray, r: tuple[float, float, float]) -> tuple[float, float, float]:
    """Three equations by Cramer's rule: numba's own solver would need SciPy."""
    c0 = m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1]
    c1 = m[1, 2] * m[2, 0] - m[1, 0] * m[2, 2]
    c2 = m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0]
    whole = m[0, 0] * c0 + m[0, 1] * c1 + m[0, 2] * c2
    x = r[0] * c0 + m[0, 1] * (m[1, 2] * r[2] - r[1] * m[2, 2]) + m[0, 2] * (r[1] * m[2, 1] - m[1, 1] * r[2])
    y = m[0, 0] * (r[1] * m[2, 2] - m[1, 2] * r[2]) + r[0] * c1 + m[0, 2] * (m[1, 0] * r[2] - r[1] * m[2, 0])
    z = m[0, 0] * (m[1, 1] * r[2] - r[1] * m[2, 1]) + m[0, 1] * (r[1] * m[2, 0] - m[1, 0] * r[2]) + r[0] * c2
    return x / whole, y / whole, z / whole


@lean
def _mean_in_contact(n: int, p: FloatArray, values: FloatArray) -> float:
    total, count = 0.0, 0
    for k in range(n):
        if p[k] > 0.0:
            total += values[k]
            count += 1
    return total / count


@lean
def _dot_in_contact(n: int, p: FloatArray, a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for k in range(n):
        if p[k] > 0.0:
            total += a[k] * b[k]
    return total
