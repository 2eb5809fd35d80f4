"""What the page shows that does not move, as plain data sent from the twin's process to the page's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.hands.spec import HandSpec

Triple = tuple[float, float, float]
Message = dict[str, Any]
"""What goes through the pipe, both ways: ``{"do": verb, ...}``."""
Rows = list[tuple[str, str, float, float]]
"""Values of a hand and of its twin: of what, in which unit, and both."""
FOV_RAD = 0.66
"""Angle between the upper and the lower edge of the picture."""
SLOPE = float(np.tan(FOV_RAD / 2))
MARGIN = 1.06  # how much more than what must be seen a picture shows
MUCH_NEARER = 1.5


@dataclass(frozen=True, kw_only=True, eq=False)
class PagePart:
    """Triangle mesh of one color, fixed to a body."""

    body: int
    vertices_m: NDArray[np.float32]
    """In the frame of the body [m]. Shape (v, 3)."""
    faces: NDArray[np.uint32]
    """Shape (f, 3)."""
    rgb: Triple


@dataclass(frozen=True, kw_only=True, eq=False)
class PageHand:
    """A hand, and which body each of its links is."""

    spec: HandSpec
    link_body: dict[str, int]
    driven: bool
    """Whether its wrist can be moved."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PageCamera:
    """What must be in the picture, and the sides it may be looked at from; the distance follows from the window."""

    points_m: NDArray[np.float32]
    """Corners of what is shown, in the world [m]. Shape (n, 3)."""
    directions: tuple[Triple, ...]
    """Towards the camera. The first one is taken unless another brings the camera much nearer."""

    def views(self, aspect: float) -> list[tuple[FloatArray, FloatArray]]:
        """For each direction where the camera looks at, and where it stands with everything in a picture so wide [m].

        Args:
            aspect: Width of the picture over its height. What is looked at does not depend on it.
        """
        views = []
        for direction in self.directions:
            back = np.array(direction) / np.linalg.norm(direction)
            right = np.cross((0.0, 0.0, 1.0), back)
            right /= np.linalg.norm(right)
            depth_m = self.points_m @ back
            far_m, look_at_m = 0.0, back * (depth_m.min() + depth_m.max()) / 2
            for side, slope in ((right, SLOPE * aspect), (np.cross(back, right), SLOPE)):
                across_m = self.points_m @ side
                middle_m = (np.max(across_m + SLOPE * depth_m) - np.max(SLOPE * depth_m - across_m)) / 2
                far_m = max(far_m, np.max(MARGIN * np.abs(across_m - middle_m) / slope + depth_m))
                look_at_m = look_at_m + middle_m * side
            views.append((look_at_m, look_at_m + (far_m - look_at_m @ back) * back))
        return views

    def view(self, aspect: float) -> tuple[FloatArray, FloatArray]:
        """The one of `views` to take."""
        first, *others = self.views(aspect)
        nearest = min(others, key=_distance_m, default=first)
        return nearest if MUCH_NEARER * _distance_m(nearest) < _distance_m(first) else first


def _distance_m(view: tuple[FloatArray, FloatArray]) -> float:
    return float(np.linalg.norm(view[1] - view[0]))


@dataclass(frozen=True, kw_only=True, eq=False)
class PageScene:
    """Everything that does not change while a scene runs."""

    number: int
    """Counts scenes: poses of another scene's bodies are not drawn on this one."""
    bodies: tuple[str, ...]
    parts: tuple[PagePart, ...]
    hands: tuple[PageHand, ...]
    props: dict[str, int]
    """Bodies of the objects that can be dragged."""
    ground_m: float
    camera: PageCamera
    scene: str
    scenes: tuple[str, ...]
    """Names that can be chosen; none where the surroundings belong to a humanoid."""
    spawns: tuple[str, ...]
    """Kinds of objects that can be added."""
    recordings: tuple[str, ...]
    """Names of the glove recordings that can be played."""
    wires: dict[str, str]
    """Labels of the links that may command, by wire."""
    states: dict[int, str]
    """Whole-body states of a humanoid, by number."""
    title: str
    ghosts: frozenset[int] = frozenset()
    """Bodies that are seen through."""
    seconds: float = 0.0
    """Length of the recording that is shown [s]; 0 for a twin that runs."""
    tasks: tuple[tuple[float, str], ...] = ()
    """When its episodes begin [s], and what is done in them."""
