"""Smooth motions of joints over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thenar.arrays import FloatArray

MIN_DURATION_S = 0.05
PEAK_OVER_MEAN = 1.875
"""Largest speed of a minimum-jerk motion over its mean speed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Trajectory:
    """Minimum-jerk motion through postures: at rest at both ends, without stopping in between."""

    points_rad: FloatArray
    """The postures, one after the other. Shape (n, joints)."""
    start_s: float
    duration_s: float

    @staticmethod
    def at_speed(start_rad: FloatArray, goal_rad: FloatArray, *, start_s: float, speed_rad_s: FloatArray) -> Trajectory:
        """The quickest one to a goal in which no joint is faster than its speed."""
        needed_s = PEAK_OVER_MEAN * np.max(np.abs(goal_rad - start_rad) / speed_rad_s, initial=0.0)
        points = np.stack([start_rad, goal_rad])
        return Trajectory(points_rad=points, start_s=start_s, duration_s=max(float(needed_s), MIN_DURATION_S))

    @property
    def end_s(self) -> float:
        """When the last posture is reached [s]."""
        return self.start_s + self.duration_s

    def at(self, now_s: float) -> tuple[FloatArray, FloatArray]:
        """Position [rad] and velocity [rad/s] at a time."""
        last = len(self.points_rad) - 1
        share = min(max((now_s - self.start_s) / self.duration_s, 0.0), 1.0)
        along = last * share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
        along_per_s = last * 30.0 * share**2 * (1.0 - share) ** 2 / self.duration_s
        segment = min(int(along), last - 1)
        step = self.points_rad[segment + 1] - self.points_rad[segment]
        return self.points_rad[segment] + (along - segment) * step, along_per_s * step
