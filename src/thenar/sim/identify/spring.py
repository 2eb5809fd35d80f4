"""The spring between screw and finger, and the sensor that reads it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thenar.arrays import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Spring:
    """What standing under load tells of a spring, and of the sensor on it."""

    value: FloatArray
    """Linear and cubic part [N per stroke, N per stroke cubed]. Shape (2,)."""
    zero_n: float
    covariance: FloatArray
    """Of both and the zero. Shape (3, 3)."""
    degrees: float
    """Of freedom."""


def stretch(force_n: FloatArray, linear_n: float, cubic_n: float) -> FloatArray:
    """How far the screw is ahead of the finger at a force, in strokes: x of ``linear x + cubic x^3 = force``."""
    if cubic_n < 1e-6 * linear_n:
        return force_n / linear_n
    p = linear_n / cubic_n
    root = np.sqrt(p / 3.0)
    return 2.0 * root * np.sinh(np.arcsinh(1.5 * force_n / cubic_n / (p * root)) / 3.0)


def slope(x: FloatArray, linear_n: float, cubic_n: float) -> FloatArray:
    """Stiffness [N per stroke]."""
    return linear_n + 3.0 * cubic_n * x**2


def bent(force_n: FloatArray, noise_n: float, linear_n: float, cubic_n: float) -> FloatArray:
    """How much too short the stretch of a noisy force is in the mean, in strokes: its law bends."""
    x = stretch(force_n, linear_n, cubic_n)
    return 3.0 * cubic_n * x / slope(x, linear_n, cubic_n) ** 3 * noise_n**2


def load_of(reported_n: FloatArray, zero_n: float, offset_n: float) -> FloatArray:
    """Force on the screw [N] from what its sensor says; see `LeadScrew.loaded_offset_n`."""
    inside = np.abs(reported_n) <= 2.0 * offset_n
    return zero_n + np.where(inside, 0.5 * reported_n, reported_n - np.sign(reported_n) * offset_n)
