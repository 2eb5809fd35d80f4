"""A flat object that is pressed off its middle leans: two more unknowns, so that the centre of pressure is right.

The same conjugate gradients as in `pressure.py`, with residuals freed of every plane (not only of their mean) and
pressures scaled by a plane so that force and both moments are met.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from thenar.touch.solver.collision import HIT, FloatArray, Record
from thenar.touch.solver.influence import ASPECTS, influence_table
from thenar.touch.solver.pressure import (
    COLD_ITERATIONS,
    TOLERANCE,
    WARM_ITERATIONS,
    advance,
    apply_table,
    scale_gaps,
    scale_to,
)

RIDGE = 1e-6  # with a single cell in contact no plane is known: smaller, and rounding would decide


@nb.njit(cache=True)
def tilt_pressure(
    group: Record, window: Record, half_space: FloatArray, correction: FloatArray, work: FloatArray, table: FloatArray
) -> None:
    """Re-solve a window's pressures so that their centre is the contact's centre of force, in place."""
    grid, cell = window.grid, window.cell_m
    aspect = float(ASPECTS[window.aspect])
    influence_table(half_space[window.aspect], correction, aspect, cell, group.thickness_m, grid, table)
    n = grid * grid
    p, gap = window.pressure, work[4]
    residual, direction, image, give = work[0], work[1], work[2], work[6]
    scale_gaps(group, window, gap)
    half = (grid - 1) / 2.0
    reach = half * cell * max(1.0, aspect) + abs(window.u_m) + abs(window.v_m)
    plane = np.empty((n, 3))
    for i in range(grid):
        for j in range(grid):
            k = i * grid + j
            plane[k, 0] = 1.0
            plane[k, 1] = (window.u_m + (i - half) * cell) / reach
            plane[k, 2] = (window.v_m + (j - half) * cell * aspect) / reach
            direction[k] = 0.0
    total = group.force_n / (cell * cell * aspect)
    norm_before, keep, known = 1.0, 0.0, False
    # A window of the last frame starts near the answer.
    for _ in range(WARM_ITERATIONS if window.passes == 1 else 2 * COLD_ITERATIONS):
        if not known:
            meet_moments(plane, gap, n, total, p)
            apply_table(table, grid, p, give, work[5])
        for k in range(n):
            residual[k] = give[k] + gap[k] if gap[k] < HIT else give[k]
        _free_of_planes(plane, n, p, residual)
        norm = 0.0
        for k in range(n):
            if p[k] > 0.0:
                norm += residual[k] * residual[k]
        if norm <= 0.0:
            break
        follow = keep * norm / norm_before
        norm_before = norm
        for k in range(n):
            direction[k] = residual[k] + follow * direction[k] if p[k] > 0.0 else 0.0
        apply_table(table, grid, direction, image, work[5])
        top, bottom = 0.0, 0.0
        for k in range(n):  # the direction is free of planes, so those of the image do not matter
            if p[k] > 0.0:
                top += residual[k] * direction[k]
                bottom += image[k] * direction[k]
        step = top / bottom if bottom > 0.0 else 0.0
        joined, known, change = advance(gap, n, step, p, residual, direction)
        keep = 0.0 if joined else 1.0
        if known:  # no cell came or went: force and moments are still met, and the skin gives way in proportion
            for k in range(n):
                give[k] -= step * image[k]
            if change < TOLERANCE * total:
                break
    meet_moments(plane, gap, n, total, p)


@nb.njit(cache=True)
def _free_of_planes(plane: FloatArray, n: int, p: FloatArray, values: FloatArray) -> None:
    """Take the plane that fits best, over cells in contact, from all values."""
    matrix, right = np.zeros((3, 3)), np.zeros(3)
    for k in range(n):
        if p[k] > 0.0:
            for a in range(3):
                right[a] += plane[k, a] * values[k]
                for b in range(3):
                    matrix[a, b] += plane[k, a] * plane[k, b]
    for a in range(3):
        matrix[a, a] += RIDGE * matrix[0, 0]
    fit = _solve(matrix, right)
    for k in range(n):
        values[k] -= fit[0] * plane[k, 0] + fit[1] * plane[k, 1] + fit[2] * plane[k, 2]


@nb.njit(cache=True)
def meet_moments(plane: FloatArray, gap: FloatArray, n: int, total: float, p: FloatArray) -> None:
    """Scale pressures by a plane so that they sum to ``total`` about the contact's centre of force."""
    right = np.zeros(3)
    right[0] = total
    scale_to(gap, n, total, p)
    for _ in range(3):
        matrix = np.zeros((3, 3))
        for k in range(n):
            if p[k] > 0.0:
                for a in range(3):
                    for b in range(3):
                        matrix[a, b] += p[k] * plane[k, a] * plane[k, b]
        for a in range(3):
            matrix[a, a] += RIDGE * matrix[0, 0]
        fit = _solve(matrix, right)
        for k in range(n):
            if p[k] > 0.0:
                p[k] = max(0.0, p[k] * (fit[0] + fit[1] * plane[k, 1] + fit[2] * plane[k, 2]))
        scale_to(gap, n, total, p)  # the force is met exactly whatever the clipping did to the moments


@nb.njit(cache=True)
def _solve(m: FloatArray, r: FloatArray) -> FloatArray:
    """Three equations by Cramer's rule: numba's own solver would need SciPy."""
    c0 = m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1]
    c1 = m[1, 2] * m[2, 0] - m[1, 0] * m[2, 2]
    c2 = m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0]
    whole = m[0, 0] * c0 + m[0, 1] * c1 + m[0, 2] * c2
    out = np.empty(3)
    out[0] = r[0] * c0 + m[0, 1] * (m[1, 2] * r[2] - r[1] * m[2, 2]) + m[0, 2] * (r[1] * m[2, 1] - m[1, 1] * r[2])
    out[1] = m[0, 0] * (r[1] * m[2, 2] - m[1, 2] * r[2]) + r[0] * c1 + m[0, 2] * (m[1, 0] * r[2] - r[1] * m[2, 0])
    out[2] = m[0, 0] * (m[1, 1] * r[2] - r[1] * m[2, 1]) + m[0, 1] * (r[1] * m[2, 0] - m[1, 0] * r[2]) + r[0] * c2
    return out / whole
