"""How the skin gives way: displacement of a cell under pressure on another cell.

For a grid of cells of size ``h x asp h`` the displacement is ``(h / E*) K p`` with a table ``K[di, dj]`` that depends
only on how far two cells are apart. The half-space's table is Love's (1929). A rubber layer of thickness t bonded to
bone gives way less; the difference is smooth, so it is one radial function of r/t, tabulated once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numba as nb
import numpy as np

from thenar.arrays import FloatArray
from thenar.touch.solver.touch_records import Elastic, Record, lean

MAX_GRID = 24
MAX_CELLS = MAX_GRID * MAX_GRID
TOGETHER = 8  # cells whose influence is added in one sweep
STRIPS = 3  # of columns, each with a table of its own: narrower than one for all, so that sweeps are shorter
TABLE_SIZE = STRIPS * (2 * MAX_GRID - 1) * (MAX_GRID + -(-MAX_GRID // STRIPS) - 1) + MAX_GRID
PER_CELL = ("own", "gap", "residual", "direction", "image", "displacement", "jump")
ASPECT_STEPS = 16  # tables in a doubling: between two of them the truth is a straight line to 3e-4
ASPECTS = 2.0 ** (np.arange(-6 * ASPECT_STEPS, 6 * ASPECT_STEPS + 1) / ASPECT_STEPS)
"""Shapes of a cell that have a table: its length along v over its length along u."""
POISSON = 0.49
"""Poisson's ratio of the skin: rubber hardly changes its volume. Assumed."""

LAYER_REACH = 12.0
LAYER_POINTS = 601
HALF_SPACE_M = 1e3  # a layer as thick as this is a half-space


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
    """Love's table for every aspect. Shape (aspects, MAX_GRID, MAX_GRID)."""
    step = np.arange(MAX_GRID, dtype=np.float64)
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


def elastic_tables(thickness_m: Sequence[float]) -> Elastic:
    """Tables and scratch memory for skin of these thicknesses [m]."""
    layered = np.isfinite(thickness_m).any()
    return Elastic(
        half_space=half_space_tables(),
        correction=layer_correction() if layered else np.zeros(LAYER_POINTS),
        table=np.zeros(TABLE_SIZE),
        **{name: np.zeros(MAX_CELLS) for name in PER_CELL},
        sweep=np.zeros(2 * MAX_CELLS),
        values=np.zeros(TOGETHER),
        starts=np.zeros(TOGETHER, dtype=np.int64),
        plane=np.zeros((MAX_CELLS, 3)),
    )


@lean
def strip_sizes(grid: int) -> tuple[int, int, int]:
    """Columns of a strip of cells, width of a row of its table, and numbers in the table."""
    columns = (grid + STRIPS - 1) // STRIPS
    width = grid + columns - 1
    return columns, width, (2 * grid - 1) * width


@nb.njit(cache=True)
def write_table(group: Record, window: Record, elastic: Elastic) -> None:
    """Write the tables of one window, mirrored in both axes and flat, so that one cell acts on all in a single sweep.

    Cells of a strip of columns act on every column: their table is that much narrower than one for the whole window.
    The influence of a cell of a strip on one that is (di, dj) away is
    ``table[strip * size + (grid - 1 + di) * width + (strip + 1) * columns - 1 + dj]``, see `strip_sizes`.
    """
    grid, aspect, table = window.grid, window.aspect, elastic.table
    place = min(max(ASPECT_STEPS * math.log2(aspect), -6.0 * ASPECT_STEPS), 5.999 * ASPECT_STEPS) + 6 * ASPECT_STEPS
    low, high, share = elastic.half_space[int(place)], elastic.half_space[int(place) + 1], place - int(place)
    layered = group.thickness_m < HALF_SPACE_M
    columns, width, size = strip_sizes(grid)
    scale = window.cell_m / group.thickness_m if layered else 0.0
    for i in range(grid):
        for j in range(grid):
            value = low[i, j] + share * (high[i, j] - low[i, j])
            if layered:
                s = scale * math.hypot(i, j * aspect)
                value = 0.0 if s >= LAYER_REACH else value - _phi(elastic.correction, s) * scale * aspect / math.pi
            for strip in range(STRIPS):
                for col in ((strip + 1) * columns - 1 + j, (strip + 1) * columns - 1 - j):
                    if 0 <= col < width:
                        table[strip * size + (grid - 1 + i) * width + col] = value
                        table[strip * size + (grid - 1 - i) * width + col] = value


@nb.njit(cache=True)
def own_influence(wide_u: float, wide_v: float, aspect: float) -> float:
    """What a cell of ``wide_u x wide_v`` cells adds to the influence on itself of a whole one with the same force."""
    part, whole = _under_middle(wide_u, wide_v * aspect) / (wide_u * wide_v), _under_middle(1.0, aspect)
    return (part - whole) / math.pi


@nb.njit(cache=True)
def _under_middle(a: float, b: float) -> float:
    """Love's integral under the middle of a rectangle."""
    return 2.0 * (a * math.asinh(b / a) + b * math.asinh(a / b))


@nb.njit(cache=True)
def point_response(r_m: float, thickness_m: float, correction: FloatArray) -> float:
    """How much the skin gives at a distance from a point force, times pi E* over the force [1/m]."""
    if thickness_m >= HALF_SPACE_M:
        return 1.0 / r_m
    s = r_m / thickness_m
    return 0.0 if s >= LAYER_REACH else 1.0 / r_m - _phi(correction, s) / thickness_m


@nb.njit(cache=True)
def _phi(correction: FloatArray, s: float) -> float:
    """`layer_correction` between the points of its table."""
    step = LAYER_REACH / (LAYER_POINTS - 1)
    k = min(int(s / step), LAYER_POINTS - 2)
    share = s / step - k
    return correction[k] * (1.0 - share) + correction[k + 1] * share
