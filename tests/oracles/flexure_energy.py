"""Where a finger comes to rest, by minimising its energy: written from the mechanism alone, without the simulator.

A finger in its plane: a pin joint with a return spring, then hinges with springs, then the distal link; a cord that
makes all angles add up to the spool's. Angles in radians, lengths in metres, x along the straight finger, z up.
"""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Finger:
    """Numbers of a finger."""

    return_nm: float
    return_nm_rad: float
    flexure_nm_rad: float
    flexure_limit_rad: float
    pin_limit_rad: float
    hinge_m: tuple[tuple[float, float], ...]
    """Place (x, z) of each flexure hinge, straight."""
    mass_at: tuple[tuple[float, float, float, int], ...]
    """Mass [kg], place (x, z) when straight, and how many flexure hinges lie before it."""


def height_kgm(finger: Finger, pin_rad: float, hinge_rad: np.ndarray) -> float:
    """Sum of mass times height above the pin joint."""
    total = 0.0
    for mass, x, z, hinges in finger.mass_at:
        point = np.array([x, z])
        # Straighten out from the tip: turn the point about each hinge, the last first.
        for (hx, hz), angle in reversed(list(zip(finger.hinge_m[:hinges], hinge_rad[:hinges], strict=True))):
            point = np.array([hx, hz]) + _turned(point - [hx, hz], angle)
        total += mass * _turned(point, pin_rad)[1]
    return total


def _turned(point: np.ndarray, angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([c * point[0] - s * point[1], s * point[0] + c * point[1]])


def energy_j(finger: Finger, pin_rad: float, hinge_rad: np.ndarray, gravity_m_s2: float) -> float:
    """Energy in springs and height."""
    count = len(hinge_rad)
    springs = finger.return_nm * pin_rad + 0.5 * finger.return_nm_rad * pin_rad**2
    springs += 0.5 * count * finger.flexure_nm_rad * float(hinge_rad @ hinge_rad)
    return springs + gravity_m_s2 * height_kgm(finger, pin_rad, hinge_rad)


def rest(finger: Finger, spool_rad: float, *, gravity_m_s2: float = 0.0) -> tuple[float, float]:
    """Pin angle and whole bend of the flexure at the least energy with the cord taut [rad]."""
    count = len(finger.hinge_m)
    most = finger.flexure_limit_rad / count

    def pin(hinges: np.ndarray) -> float:
        return spool_rad - float(hinges.sum())

    def allowed(hinges: np.ndarray) -> np.ndarray:
        hinges = np.clip(hinges, 0.0, most)
        over = max(-pin(hinges), 0.0)  # the pin joint does not open beyond its stop
        hinges = np.clip(hinges - over / count, 0.0, most)
        short = max(pin(hinges) - finger.pin_limit_rad, 0.0)  # nor close beyond the other
        return np.clip(hinges + short / count, 0.0, most)

    hinges = allowed(np.full(count, 0.01))
    step = 0.5 / (count * finger.flexure_nm_rad)
    for _ in range(400):
        slope = np.zeros(count)
        for k in range(count):
            aside = np.zeros(count)
            aside[k] = 1e-5
            ahead, behind = hinges + aside, hinges - aside
            slope[k] = energy_j(finger, pin(ahead), ahead, gravity_m_s2)
            slope[k] -= energy_j(finger, pin(behind), behind, gravity_m_s2)
        hinges = allowed(hinges - step * slope / 2e-5)
    return pin(hinges), float(hinges.sum())
