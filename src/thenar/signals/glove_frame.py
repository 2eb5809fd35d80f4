"""A person's hand as a glove reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from thenar.arrays import FloatArray
from thenar.signals.value import Value

GloveSide = Literal["left", "right"]
GloveLayout = Literal["nodes21", "manus25", "openxr26", "apple27", "mano21"]
FINGER_NODES: dict[GloveLayout, tuple[int, ...]] = {
    "nodes21": tuple(range(21)),
    # One more node at the base of each finger's metacarpal.
    "manus25": (0, 1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 23, 24),
    # It begins with the middle of the palm, which is left out.
    "openxr26": (1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 14, 15, 17, 18, 19, 20, 22, 23, 24, 25),
    # It ends with two joints of the forearm, which are left out.
    "apple27": (0, 1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 23, 24),
    # Index, middle, little, ring finger and thumb with three joints each, then the tips from thumb to little finger.
    "mano21": (0, 13, 14, 15, 16, 1, 2, 3, 17, 4, 5, 6, 18, 10, 11, 12, 19, 7, 8, 9, 20),
}
"""Nodes of each layout in the order of 21: root, then four from root to tip of thumb, index, middle, ring, little."""
NODES: dict[GloveLayout, int] = {"nodes21": 21, "manus25": 25, "openxr26": 26, "apple27": 27, "mano21": 21}
LAYOUT_OF: dict[int, GloveLayout] = {21: "nodes21", 25: "manus25", 26: "openxr26", 27: "apple27"}
"""What a number of nodes means where nothing else is said."""
TRACKERS: dict[str, GloveLayout] = {
    **{layout: layout for layout in NODES},
    **{"mediapipe": "nodes21", "manus21": "nodes21", "webxr": "manus25", "apple25": "manus25"},
    **{"openxr": "openxr26", "quest": "openxr26", "pico": "openxr26", "mano": "mano21", "smplx": "mano21"},
}
"""Layouts by the names of those who have them."""
_INDEX = {layout: np.array(nodes) for layout, nodes in FINGER_NODES.items()}


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
        return self.position_m.take(_INDEX[self.layout], axis=0)
