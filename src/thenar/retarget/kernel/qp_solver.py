"""A small dense quadratic program, compiled: Goldfarb and Idnani's dual active-set method.

Minimise ``x'Hx/2 + g'x`` with ``step_lower <= x[:bounded] <= step_upper`` and ``row @ x >= row_lower`` for every row.
It starts at the free minimum and adds the most violated constraint until none is left, so few active constraints cost
little. Constraints are numbered: lower bounds, upper bounds, rows.
"""

from __future__ import annotations

import math

from numba import njit

from thenar.retarget.kernel.kinematics import OPTIONS

TOLERANCE = 1e-10
MAX_STEPS = 250
SOLVED, INFEASIBLE, GAVE_UP = 0, 1, 2


@njit(**OPTIONS)
def factorize(H, n, L, J):
    """Cholesky factor of H (lower triangle given) and its inverse, row by row."""
    for j in range(n):
        for i in range(j, n):
            s = H[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[j, j] = math.sqrt(max(s, 1e-14))
            else:
                L[i, j] = s / L[j, j]
    for i in range(n):
        for j in range(n):
            J[i, j] = 0.0
        inverse = 1.0 / L[i, i]
        for k in range(i):
            f = L[i, k] * inverse
            if f != 0.0:
                for j in range(k + 1):
                    J[i, j] -= f * J[k, j]
        J[i, i] = inverse


@njit(**OPTIONS)
def most_violated(x, lower, upper, bounded, row, row_lower, rows, n, active):
    """Number of the constraint that is broken most, or -1, and by how much (negative)."""
    worst, which, amount = 0.0, -1, 0.0
    for i in range(bounded):
        # Bounds are angles and rows mostly lengths of some 5 cm per radian: compare them as lengths.
        s = x[i] - lower[i]
        if s < -TOLERANCE and active[i] == 0 and 0.05 * s < worst:
            worst, which, amount = 0.05 * s, i, s
        s = upper[i] - x[i]
        if s < -TOLERANCE and active[bounded + i] == 0 and 0.05 * s < worst:
            worst, which, amount = 0.05 * s, bounded + i, s
    for k in range(rows):
        if active[2 * bounded + k] == 0:
            s = -row_lower[k]
            for j in range(n):
                s += row[k, j] * x[j]
            if s < -TOLERANCE and s < worst:
                worst, which, amount = s, 2 * bounded + k, s
    return which, amount


@njit(**OPTIONS)
def solve_qp(n, bounded, rows, w):
    """Solve the program in ``w`` into ``w.x`` and say how it went: solved, infeasible or gave up."""
    J, g, x, row, triangle = w.J, w.g, w.x, w.row, w.triangle
    d, z, r, multiplier, active_set, active = w.d, w.z, w.r, w.multiplier, w.active_set, w.active
    factorize(w.H, n, w.L, J)
    for i in range(n):
        d[i] = 0.0
        for j in range(i + 1):
            d[i] += J[i, j] * g[j]
        x[i] = 0.0
    for i in range(n):
        for j in range(i + 1):
            x[j] -= J[i, j] * d[i]
    for i in range(2 * bounded + rows):
        active[i] = 0
    count, steps = 0, 0
    while True:
        new, gap = most_violated(x, w.step_lower, w.step_upper, bounded, row, w.row_lower, rows, n, active)
        if new < 0:
            return SOLVED
        new_multiplier = 0.0
        while True:
            steps += 1
            if steps > MAX_STEPS:
                return GAVE_UP
            # The new constraint's normal in the transformed space.
            if new < bounded:
                for i in range(n):
                    d[i] = J[i, new]
            elif new < 2 * bounded:
                for i in range(n):
                    d[i] = -J[i, new - bounded]
            else:
                for i in range(n):
                    s = 0.0
                    for j in range(n):
                        s += J[i, j] * row[new - 2 * bounded, j]
                    d[i] = s
            # z: the step in x that closes the gap; r: how the multipliers of the active ones change.
            curvature = 0.0
            for j in range(n):
                z[j] = 0.0
            for i in range(count, n):
                curvature += d[i] * d[i]
                for j in range(n):
                    z[j] += d[i] * J[i, j]
            for i in range(count - 1, -1, -1):
                s = d[i]
                for j in range(i + 1, count):
                    s -= triangle[i, j] * r[j]
                r[i] = s / triangle[i, i]
            until_drop, drop = 1e300, -1
            for i in range(count):
                if r[i] > 1e-14 and multiplier[i] / r[i] < until_drop:
                    until_drop, drop = multiplier[i] / r[i], i
            until_closed = -gap / curvature if curvature > 1e-14 else 1e300
            if until_drop >= 1e299 and until_closed >= 1e299:
                return INFEASIBLE
            step = min(until_drop, until_closed)
            for i in range(count):
                multiplier[i] -= step * r[i]
            new_multiplier += step
            if until_closed < 1e299:
                for j in range(n):
                    x[j] += step * z[j]
                gap += step * curvature
            if until_closed <= until_drop:
                _add(J, triangle, d, z, w.v, n, count, curvature)
                multiplier[count], active_set[count] = new_multiplier, new
                active[new] = 1
                count += 1
                break
            active[active_set[drop]] = 0
            count -= 1
            _drop(J, triangle, multiplier, active_set, n, count, drop)


@njit(**OPTIONS)
def _add(J, triangle, d, z, v, n, count, curvature):
    """Take a constraint in: a reflection makes its normal end at place ``count``."""
    end = -math.sqrt(curvature) if d[count] > 0.0 else math.sqrt(curvature)
    v[count] = d[count] - end
    square = v[count] * v[count]
    for i in range(count + 1, n):
        v[i] = d[i]
        square += d[i] * d[i]
    if square > 1e-30:
        for j in range(n):
            z[j] = 0.0
        for i in range(count, n):
            for j in range(n):
                z[j] += v[i] * J[i, j]
        for i in range(count, n):
            f = 2.0 / square * v[i]
            for j in range(n):
                J[i, j] -= f * z[j]
    for i in range(count):
        triangle[i, count] = d[i]
    triangle[count, count] = end


@njit(**OPTIONS)
def _drop(J, triangle, multiplier, active_set, n, count, drop):
    """Leave a constraint out: rotations make what is left a triangle again. ``count`` is what is left."""
    for j in range(drop + 1, count + 1):
        for i in range(j + 1):
            triangle[i, j - 1] = triangle[i, j]
        multiplier[j - 1], active_set[j - 1] = multiplier[j], active_set[j]
    for j in range(drop, count):
        a, b = triangle[j, j], triangle[j + 1, j]
        length = math.sqrt(a * a + b * b)
        if length == 0.0:
            continue
        c, s = a / length, b / length
        triangle[j, j], triangle[j + 1, j] = length, 0.0
        for k in range(j + 1, count):
            a, b = triangle[j, k], triangle[j + 1, k]
            triangle[j, k], triangle[j + 1, k] = c * a + s * b, c * b - s * a
        for k in range(n):
            a, b = J[j, k], J[j + 1, k]
            J[j, k], J[j + 1, k] = c * a + s * b, c * b - s * a
