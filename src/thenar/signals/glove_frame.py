"""A person's hand as a glove reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thenar.arrays import FloatArray
from thenar.signals.value import Value

GloveSide = Literal["left", "right"]
GloveLayout = Literal["nodes21", "manus25", "openxr26"]
FINGER_NODES: dict[GloveLayout, tuple[int, ...]] = {
    "nodes21": tuple(range(21)),  # also MediaPipe's
    # The Manus skeleton has one more node at the base of each finger's metacarpal; so has Apple's.
    "manus25": (0, 1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 23, 24),
    # OpenXR's (Quest, PICO) begins with the middle of the palm, which is left out.
    "openxr26": (1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 14, 15, 17, 18, 19, 20, 22, 23, 24, 25),
}
"""Nodes of each layout in the order of 21: root, then four from root to tip of thumb, index, middle, ring, little."""
NODES: dict[GloveLayout, int] = {"nodes21": 21, "manus25": 25, "openxr26": 26}
LAYOUT_OF: dict[int, GloveLayout] = {count: layout for layout, count in NODES.items()}


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
    """Nodes from the root node [m]. Shape (21, 25 or 26, 3)."""
    quat_wxyz: FloatArray
    """Orientation of each node. Shape (21, 25 or 26, 4)."""

    @property
    def finger_m(self) -> FloatArray:
        """The nodes common to all layouts [m]. Shape (21, 3)."""
        return self.position_m[list(FINGER_NODES[self.layout])]
