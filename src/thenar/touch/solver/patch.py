"""Where in its window a patch of pressure lies."""

from __future__ import annotations

import math

import numba as nb

from thenar.touch.solver.collision import FloatArray

SNUG, EMPTY = 0.8, 0.55  # least share of the window's side that the patch should take: when fitted, and later on


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
