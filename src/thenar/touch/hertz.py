"""Analytic contact: what theory says the pressure is, to hold the solver against."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thenar.arrays import FloatArray


@dataclass(frozen=True, kw_only=True)
class Ellipse:
    """A Hertzian contact: ``p = peak * sqrt(1 - (x/a)^2 - (y/b)^2)``."""

    a_m: float
    """Half axis along the first direction [m]."""
    b_m: float
    """Half axis along the second direction [m]."""
    peak_pa: float


def hertz_ellipse(force_n: float, curvature_a: float, curvature_b: float, modulus_pa: float) -> Ellipse:
    """Contact of two smooth bodies with these relative curvatures along the two half axes [1/m].

    Args:
        force_n: Normal force [N].
        curvature_a: Sum of both bodies' curvatures along the first direction [1/m].
        curvature_b: The same along the second direction [1/m].
        modulus_pa: E* [Pa].
    """
    if curvature_a > curvature_b:
        other = hertz_ellipse(force_n, curvature_b, curvature_a, modulus_pa)
        return Ellipse(a_m=other.b_m, b_m=other.a_m, peak_pa=other.peak_pa)
    if curvature_b - curvature_a < 1e-9 * curvature_b:
        a = (3 * force_n / (4 * modulus_pa * curvature_a)) ** (1 / 3)
        return Ellipse(a_m=a, b_m=a, peak_pa=3 * force_n / (2 * math.pi * a * a))
    low, high = 1e-6, 1.0 - 1e-12
    for _ in range(200):  # bisection for k = b/a; the ratio of curvatures falls with k
        k = math.sqrt(low * high) if low < 0.5 else (low + high) / 2
        K, E = elliptic_integrals(1 - k * k)
        ratio = (E / k**2 - K) / (K - E)
        low, high = (k, high) if ratio > curvature_b / curvature_a else (low, k)
    k = (low + high) / 2
    m = 1 - k * k
    K, E = elliptic_integrals(m)
    stiffness = curvature_a / 2 * modulus_pa * m / (k * (K - E))  # peak per half axis a
    a = (force_n / (2 / 3 * math.pi * k * stiffness)) ** (1 / 3)
    return Ellipse(a_m=a, b_m=k * a, peak_pa=stiffness * a)


def elliptic_integrals(m: float) -> tuple[float, float]:
    """Complete elliptic integrals K(m) and E(m), by the arithmetic-geometric mean."""
    a, b, c2, power, total = 1.0, math.sqrt(1.0 - m), m, 0.5, m / 2
    while abs(a - b) > 1e-15 * a:
        a, b, c = (a + b) / 2, math.sqrt(a * b), (a - b) / 2
        c2 = c * c
        power *= 2
        total += power * c2
    K = math.pi / (2 * a)
    return K, K * (1 - total)


def punch_pressure(force_n: float, radius_m: float, r_m: FloatArray) -> FloatArray:
    """Pressure under a flat round punch at distance r from its centre [Pa]; 0 outside."""
    inside = r_m < radius_m
    safe = np.where(inside, radius_m**2 - r_m**2, 1.0)
    return np.where(inside, force_n / (2 * math.pi * radius_m * np.sqrt(safe)), 0.0)
