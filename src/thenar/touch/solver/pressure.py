"""Pressures that close a window's gaps: Polonsky and Keer's conjugate gradients."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.touch.solver.collision import HIT, MISS, FloatArray, Record
from thenar.touch.solver.influence import ASPECTS, LARGEST_GRID, influence_table

COLD_ITERATIONS, WARM_ITERATIONS, TOLERANCE = 14, 3, 1e-3  # while a window is fitted, and from frame to frame
POLISH_ITERATIONS, POLISHED = 60, 1e-9  # once, when a new window has found its place

WORK = (7, 2 * LARGEST_GRID * LARGEST_GRID)
"""Shape of the scratch memory of a window."""


@nb.njit(cache=True)
def relax(
    group: Record,
    window: Record,
    half_space: FloatArray,
    correction: FloatArray,
    warm: bool,
    polish: bool,
    work: FloatArray,
    table: FloatArray,
) -> None:
    """Solve the window's pressures for the group's gaps and force.

    A ``warm`` start is from the window's own pressures. A cold one is that of a window that was laid anew: what
    neighbours press away is then unknown.
    """
    grid, cell = window.grid, window.cell_m
    aspect = float(ASPECTS[window.aspect])
    influence_table(half_space[window.aspect], correction, aspect, cell, group.thickness_m, grid, table)
    warm = warm and is_supported(group, window)
    if not warm:
        window.crowded = False
        window.given_m[:] = 0.0
    scale_gaps(group, window, work[4])
    rounds = POLISH_ITERATIONS if polish else WARM_ITERATIONS if warm else COLD_ITERATIONS
    tolerance = POLISHED if polish else TOLERANCE
    total = group.force_n / (cell * cell * aspect)
    solve_pressure(work[4], table, grid, total, rounds, tolerance, warm, window.pressure, work)


@nb.njit(cache=True)
def is_supported(group: Record, window: Record) -> bool:
    """Whether any of the window's pressure lies where the object is."""
    supported = False
    for k in range(window.grid * window.grid):
        supported = supported or (window.pressure[k] > 0.0 and group.gap[k] < HIT)
    return supported


@nb.njit(cache=True)
def scale_gaps(group: Record, window: Record, scaled: FloatArray) -> None:
    """Gaps, widened by what neighbours press away, times modulus over cell length; `MISS` without a partner."""
    factor = group.modulus_pa / window.cell_m
    for k in range(window.grid * window.grid):
        scaled[k] = (group.gap[k] + window.given_m[k]) * factor if group.gap[k] < HIT else MISS


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
        gap: See `scale_gaps`. Shape (grid^2,).
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
    residual, direction, image, give = work[0], work[1], work[2], work[6]
    if not warm:
        _first_guess(gap, n, p, work[3])
    scale_to(gap, n, total, p)
    for k in range(n):
        direction[k] = 0.0
    norm_before, keep, known = 1.0, 0.0, False
    for _ in range(iterations):
        if not known:
            apply_table(table, grid, p, give, work[5])
        mean, count = 0.0, 0
        for k in range(n):
            residual[k] = give[k] + gap[k] if gap[k] < HIT else give[k]
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
        joined, known, change = advance(gap, n, step, p, residual, direction)
        keep = 0.0 if joined else 1.0
        factor = scale_to(gap, n, total, p)
        if known:  # no cell came or went: the skin gives way in proportion
            for k in range(n):
                give[k] = factor * (give[k] - step * image[k])
        if change < tolerance * total and not joined:
            return


@nb.njit(cache=True)
def advance(
    gap: FloatArray, n: int, step: float, p: FloatArray, residual: FloatArray, direction: FloatArray
) -> tuple[bool, bool, float]:
    """Pressures a step on, nowhere negative; whether a cell joined, whether none came or went, and the sum of changes.

    A cell without pressure through which the skin would pass joins the contact.
    """
    joined, same, change = False, True, 0.0
    for k in range(n):
        before = p[k]
        after = before - step * direction[k]
        if after <= 0.0:
            same = same and before <= 0.0
            after = 0.0
            if residual[k] < 0.0 and gap[k] < HIT:
                after = -step * residual[k]
                joined, same = True, False
        p[k] = after
        change += abs(after - before)
    return joined, same, change


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
def scale_to(gap: FloatArray, n: int, total: float, p: FloatArray) -> float:
    """Scale pressures to their sum; returns the factor."""
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
    return factor
