"""How the skin gives way: displacement of a cell under pressure on another cell.

For a grid of cells of size ``h x asp h`` the displacement is ``(h / E*) K p`` with a table ``K[di, dj]`` that depends
only on how far two cells are apart. The half-space's table is Love's (1929). A rubber layer of thickness t bonded to
bone gives way less; the difference is smooth, so it is one radial function of r/t, tabulated once.
"""

from __future__ import annotations

import math
from functools import cache

import numba as nb
import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LARGEST_GRID = 24
TABLE_SIZE = (2 * LARGEST_GRID - 1) ** 2 + LARGEST_GRID
ASPECTS = 2.0 ** (np.arange(-12, 13) / 2)
"""Shapes a cell may have: its length along v over its length along u."""
POISSON = 0.49
"""Poisson's ratio of the skin: rubber hardly changes its volume. Assumed."""

LAYER_REACH = 12.0
LAYER_POINTS = 601


def reduced_modulus_pa(young_pa: float) -> float:
    """``E* = E / (1 - nu^2)`` of skin against something rigid [Pa]."""
    return young_pa / (1.0 - POISSON**2)


def love(x: FloatArray, y: FloatArray, half_x: float, half_y: float) -> FloatArray:
    """Integral of 1/r over a rectangle of these half sizes, seen from (x, y) relative to its centre."""
    xp, xm, yp, ym = x + half_x, x - half_x, y + half_y, y - half_y
    return (
        xp * np.log((yp + np.hypot(yp, xp)) / (ym + np.hypot(ym, xp)))
        + yp * np.log((xp + np.hypot(yp, xp)) / (xm + np.hypot(yp, xm)))
        + xm * np.log((ym + np.hypot(ym, xm)) / (yp + np.hypot(yp, xm)))
        + ym * np.log((xm + np.hypot(ym, xm)) / (xp + np.hypot(ym, xp)))
    )


@cache
def half_space_tables() -> FloatArray:
    """Love's table for every aspect. Shape (aspects, LARGEST_GRID, LARGEST_GRID)."""
    step = np.arange(LARGEST_GRID, dtype=np.float64)
    tables = [love(step[:, None], step[None, :] * asp, 0.5, asp / 2) / math.pi for asp in ASPECTS]
    return np.ascontiguousarray(np.stack(tables))


@cache
def layer_correction() -> FloatArray:
    """What a bonded layer takes from the half-space: ``G(r) = (1/r - phi(r/t)/t) / (pi E*)``.

    ``phi(s)`` is the integral over w of ``(1 - L(w)) J0(w s)``, with ``L`` the layer's response in wave numbers,
    ``L(w) = (2 K sinh 2w - 4 w) / (2 K cosh 2w + 4 w^2 + K^2 + 1)``, ``K = 3 - 4 nu``. Beyond the table the layer's
    response is nothing: phi = 1/s there.

    Returns:
        phi at `LAYER_POINTS` equal steps of s from 0 to `LAYER_REACH`.
    """
    kappa = 3.0 - 4.0 * POISSON
    # 1 - L falls like exp(-2w): beyond 12 nothing is left.
    w, weight = np.polynomial.legendre.leggauss(200)
    w, weight = 6.0 * (w + 1.0), 6.0 * weight
    response = (2 * kappa * np.sinh(2 * w) - 4 * w) / (2 * kappa * np.cosh(2 * w) + 4 * w**2 + kappa**2 + 1)
    s = np.linspace(0.0, LAYER_REACH, LAYER_POINTS)
    return (_bessel_j0(np.outer(s, w)) * (1.0 - response)) @ weight


def _bessel_j0(x: FloatArray) -> FloatArray:
    """J0 by its integral over half a turn; the trapezoid rule is exact to rounding for x below the points."""
    turn = (np.arange(160) + 0.5) * (math.pi / 160)
    total = np.zeros_like(x)
    for angle in turn:
        total += np.cos(x * math.sin(angle))
    return total / len(turn)


@nb.njit(cache=True)
def influence_table(
    half_space: FloatArray,
    correction: FloatArray,
    aspect: float,
    cell_m: float,
    thickness_m: float,
    grid: int,
    table: FloatArray,
) -> None:
    """Write the table of one window, mirrored in both axes and flat, so that one cell acts on all in a single sweep.

    Args:
        half_space: Love's table of this aspect. Shape (LARGEST_GRID, LARGEST_GRID).
        correction: `layer_correction`.
        aspect: Cell length along v over cell length along u.
        cell_m: Cell length along u [m].
        thickness_m: Thickness of the layer [m]; infinite for a half-space.
        grid: Cells along each side.
        table: Result, ``table[(grid - 1 + di) * (2 grid - 1) + grid - 1 + dj]``. At least `TABLE_SIZE` long.
    """
    layered = thickness_m < 1e3
    width = 2 * grid - 1
    step = LAYER_REACH / (LAYER_POINTS - 1)
    scale = cell_m / thickness_m if layered else 0.0
    for i in range(grid):
        for j in range(grid):
            value = half_space[i, j]
            if layered:
                s = scale * math.hypot(i, j * aspect)
                if s >= LAYER_REACH:
                    value = 0.0
                else:
                    k = int(s / step)
                    if k >= LAYER_POINTS - 1:
                        k = LAYER_POINTS - 2
                    share = s / step - k
                    phi = correction[k] * (1.0 - share) + correction[k + 1] * share
                    value -= phi * scale * aspect / math.pi
            for row in (grid - 1 + i, grid - 1 - i):
                table[row * width + grid - 1 + j] = value
                table[row * width + grid - 1 - j] = value
