"""Smooth ways from here to there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thenar.humanoid.model.body_spec import FloatArray

LEAST_S = 0.05
PEAK = 1.875  # of the velocity, in means of it


@dataclass(frozen=True, kw_only=True, eq=False)
class Glide:
    """A way without jerks between two postures, at rest at both ends."""

    start_rad: FloatArray
    goal_rad: FloatArray
    start_s: float
    duration_s: float

    @staticmethod
    def at_speed(start_rad: FloatArray, goal_rad: FloatArray, *, start_s: float, speed_rad_s: FloatArray) -> Glide:
        """The quickest such way in which no joint is faster than its speed."""
        needed_s = PEAK * np.max(np.abs(goal_rad - start_rad) / speed_rad_s, initial=0.0)
        return Glide(start_rad=start_rad, goal_rad=goal_rad, start_s=start_s, duration_s=max(float(needed_s), LEAST_S))

    def at(self, now_s: float) -> tuple[FloatArray, FloatArray]:
        """Position [rad] and velocity [rad/s] at a time."""
        share = min(max((now_s - self.start_s) / self.duration_s, 0.0), 1.0)
        way = self.goal_rad - self.start_rad
        done = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
        pace = 30.0 * share**2 * (1.0 - share) ** 2 / self.duration_s
        return self.start_rad + done * way, pace * way

    def over(self, now_s: float) -> bool:
        """Whether the goal is reached."""
        return now_s >= self.start_s + self.duration_s


@dataclass(frozen=True, kw_only=True, eq=False)
class Course:
    """A way through several postures without stopping at them, at rest at both ends."""

    points_rad: FloatArray
    """The postures, one after the other. Shape (n, joints)."""
    start_s: float
    duration_s: float

    def at(self, now_s: float) -> tuple[FloatArray, FloatArray]:
        """Position [rad] and velocity [rad/s] at a time."""
        last = len(self.points_rad) - 1
        along = Glide(
            start_rad=np.zeros(1), goal_rad=np.full(1, float(last)), start_s=self.start_s, duration_s=self.duration_s
        )
        (place,), (pace,) = along.at(now_s)
        number = min(int(place), last - 1)
        step = self.points_rad[number + 1] - self.points_rad[number]
        return self.points_rad[number] + (place - number) * step, pace * step

    def over(self, now_s: float) -> bool:
        """Whether the last posture is reached."""
        return now_s >= self.start_s + self.duration_s
