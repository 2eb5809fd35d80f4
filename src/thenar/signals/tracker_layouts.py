"""Whose points are which: orders in which gloves, headsets and hand trackers list the joints of a hand."""

from __future__ import annotations

from typing import Literal

import numpy as np

FINGERS = ("thumb", "index", "middle", "ring", "little")
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
FINGER_INDEX = {layout: np.array(nodes) for layout, nodes in FINGER_NODES.items()}
"""The same to index arrays with."""
NODES: dict[GloveLayout, int] = {"nodes21": 21, "manus25": 25, "openxr26": 26, "apple27": 27, "mano21": 21}
LAYOUT_OF: dict[int, GloveLayout] = {21: "nodes21", 25: "manus25", 26: "openxr26", 27: "apple27"}
"""What a number of nodes means where nothing else is said."""
TRACKERS: dict[str, GloveLayout] = {
    **{layout: layout for layout in NODES},
    **{"mediapipe": "nodes21", "manus21": "nodes21", "webxr": "manus25", "apple25": "manus25"},
    **{"openxr": "openxr26", "quest": "openxr26", "pico": "openxr26", "mano": "mano21", "smplx": "mano21"},
}
"""Layouts by the names of those who have them."""
