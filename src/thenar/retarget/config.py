"""How a hand is to be followed: what a user may choose, with the reasons for the defaults."""

from __future__ import annotations

from dataclasses import dataclass

from thenar.errors import BadValue
from thenar.retarget.kernel.solver_memory import Tuning

PINCH_FROM_MM, PINCH_FROM_COUPLED_MM, PINCH_FROM_FAR_MM = 26.0, 50.0, 60.0
# A pinch draws early because motors need time to close it; those that are faster need less, down to this share.
MIN_PINCH_ZONE = 0.5


@dataclass(frozen=True, kw_only=True)
class RetargetConfig:
    """How a person's hand is followed."""

    weight_middle: float = 0.5
    """Weight of the finger's middle joint."""
    weight_last: float = 0.5
    """Weight of its last joint."""
    weight_tip: float = 1.0
    """Weight of its tip; with the other two at 0 only tips are followed."""
    pinch: bool = True
    """Keep the thumb's contact with a finger when the person pinches."""
    pinch_from_mm: float | None = None
    """Distance of the person's fingertips at which a pinch begins to draw; None: 26, 50 for hands with coupled
    joints, which cannot follow a person closely anyway and need the time to bring their thumb round, and 60 for fingers
    that the thumb only just reaches. Where `speed_scale` makes motors faster a pinch begins nearer."""
    pinch_full_mm: float = 20.0
    """Distance at which it is complete."""
    contact: bool = True
    """Keep parts of the hand from running into each other."""
    clearance_mm: float = 0.4
    """Smallest distance of parts, pinching tips excepted."""
    speed_scale: float = 1.0
    """Motors may move at this multiple of their speed; large numbers lift the limit."""
    reversal_share: float = 0.25
    """Share of its speed at which a joint may turn back in the frame after it ran faster; 1 does not hold it."""
    friction_rad: float = 0.014
    """Resistance of a joint that turns back; one that goes on is nearly free. It keeps noise out without delay."""
    prediction_s: float = 0.15
    """How far ahead a finger looks that is behind a target on its way back; 0 runs after it."""
    posture: float = 3e-4
    """Pull of joints that carry a knuckle towards the open hand; segment directions do not determine them."""
    twist: float = 0.0
    """Pull of joints that turn a finger about its length towards the open hand."""
    damping: float = 2e-4
    """Resistance to any move; keeps undetermined joints where they are."""
    rest: bool = True
    """Have a still hand end where it would have come to from open: one posture for one input, whatever was before."""
    smooth_s: float = 0.0
    """Time constant of the low pass on the glove; it adds as much latency."""
    hold_s: float = 0.25
    """Age of the last frame from which the hand holds still."""
    relax_s: float = 2.0
    """Age of the last frame from which the hand opens slowly."""
    mirror: bool = False
    """Let a glove of the other side drive the hand, mirrored."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        positive, free = ("speed_scale", "damping"), ("pinch_from_mm", "pinch_full_mm", "hold_s", "relax_s")
        for name, value in vars(self).items():
            if isinstance(value, bool) or name in free:
                continue
            if not (0.0 < value < 1e6 if name in positive else 0.0 <= value < 1e6):
                raise BadValue(name, value, f"a number {'above' if name in positive else 'from'} 0")
        if self.reversal_share > 1.0:
            raise BadValue("reversal_share", self.reversal_share, "a number from 0 to 1, a share of the joint's speed")
        below = PINCH_FROM_MM if self.pinch_from_mm is None else self.pinch_from_mm
        if not 0.0 < self.pinch_full_mm < below:
            raise BadValue("pinch_full_mm", self.pinch_full_mm, f"above 0, below pinch_from_mm ({below})")
        if not 0.0 < self.hold_s <= self.relax_s:
            raise BadValue("hold_s", self.hold_s, f"above 0, at most relax_s ({self.relax_s})")

    def tuning(self) -> Tuning:
        """All numbers of the solver."""
        same = {name: float(getattr(self, name)) for name in Tuning._fields if hasattr(self, name)}
        return Tuning(
            **same,
            pinch_from_m=1e-3 * (self.pinch_from_mm or 0.0),
            pinch_full_m=1e-3 * self.pinch_full_mm,
            pinch_zone=max(MIN_PINCH_ZONE, min(1.0, 1.0 / self.speed_scale)),
            clearance_m=1e-3 * self.clearance_mm,
            max_iterations=3.0 if self.speed_scale <= 1.0 else 4.0,
        )


LIMITS_ALONE = RetargetConfig(
    pinch=False, contact=False, reversal_share=1.0, friction_rad=0.0, prediction_s=0.0, rest=False
)
"""What is left without pinches, contact and smoothing: to measure against."""
