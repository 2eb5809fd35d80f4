"""Hands in the vendor's own numbers: position, velocity and current of each motor, in its published range.

How the vendor's range maps to joint angles is not published. Taken here: the lower end is the open hand, the upper end
the closed one, and the way between is even.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thenar.hands.spec import HandSpec
from thenar.humanoid.control.board import HandPort
from thenar.humanoid.model.body_spec import FloatArray

# Ref: Fourier's hand tutorial, FDH-6: index, middle, ring, little, thumb bend, thumb rotation [rad].
FDH6_LOWER = (0.17, 0.17, 0.17, 0.17, 0.12, 0.0)
FDH6_UPPER = (1.78, 1.78, 1.78, 1.78, 1.28, 1.68)


@dataclass(frozen=True, kw_only=True, eq=False)
class PvcScale:
    """Between a hand's motor angles and the vendor's range."""

    hand: str
    """Name of the hand in the world."""
    lower: FloatArray
    upper: FloatArray
    open_rad: FloatArray
    closed_rad: FloatArray

    @staticmethod
    def of(hand: HandSpec) -> PvcScale:
        """The published range of Fourier's hand; any other hand has its own strokes from 0 on."""
        strokes = np.abs(hand.closed_rad - hand.open_rad)
        fourier = hand.maker == "Fourier"
        return PvcScale(
            hand=hand.name,
            lower=np.array(FDH6_LOWER) if fourier else np.zeros_like(strokes),
            upper=np.array(FDH6_UPPER) if fourier else strokes,
            open_rad=hand.open_rad,
            closed_rad=hand.closed_rad,
        )

    @property
    def rad_per_unit(self) -> FloatArray:
        """Radians of the motor for one of the vendor's."""
        return np.abs(self.closed_rad - self.open_rad) / (self.upper - self.lower)

    @property
    def sign(self) -> FloatArray:
        """+1 where closing grows the motor's angle, -1 where it falls."""
        return np.sign(self.closed_rad - self.open_rad)

    def port(self, name: str) -> HandPort:
        """The hand as tasks see it."""
        return HandPort(name=name, lower=tuple(self.lower.tolist()), upper=tuple(self.upper.tolist()))

    def to_rad(self, position: FloatArray) -> FloatArray:
        """Motor angles [rad] of positions in the vendor's range."""
        return self.open_rad + (position - self.lower) / (self.upper - self.lower) * (self.closed_rad - self.open_rad)

    def from_rad(self, angle_rad: FloatArray) -> FloatArray:
        """Positions in the vendor's range of motor angles [rad]."""
        share = (angle_rad - self.open_rad) / (self.closed_rad - self.open_rad)
        return self.lower + share * (self.upper - self.lower)
