"""A person's hand as a glove reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thenar.arrays import FloatArray
from thenar.signals.tracker_layouts import FINGER_INDEX, GloveLayout
from thenar.signals.value import Value

GloveSide = Literal["left", "right"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GloveFrame(Value):
    """A person's hand at one instant, in palm axes: z towards the fingers, y out of the back of the hand, x = y x z.

    The thumb of a right hand is then on the side of +x, that of a left hand on the side of -x.
    """

    stamp_s: float
    """Time of the measurement [s]."""
    side: GloveSide
    layout: GloveLayout
    position_m: FloatArray
    """Nodes from the root node [m]. Shape (21 to 27, 3)."""
    quat_wxyz: FloatArray
    """Orientation of each node. Shape (21 to 27, 4)."""

    @property
    def finger_m(self) -> FloatArray:
        """The nodes common to all layouts [m]. Shape (21, 3)."""
        return self.position_m.take(FINGER_INDEX[self.layout], axis=0)
