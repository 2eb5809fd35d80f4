"""What stands on the page, as plain data that goes from the twin's process to the page's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.hands.spec import HandSpec

Triple = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class PagePart:
    """Triangles of one colour, fixed to a body."""

    body: int
    vertices_m: NDArray[np.float32]
    """In the frame of the body [m]. Shape (v, 3)."""
    faces: NDArray[np.uint32]
    """Shape (f, 3)."""
    rgb: Triple


@dataclass(frozen=True, kw_only=True, eq=False)
class PageHand:
    """A hand and where its links are among the bodies."""

    spec: HandSpec
    link_body: dict[str, int]
    driven: bool
    """Whether its wrist can be moved."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PageCamera:
    """What the page looks at, and from which side; how far away depends on the shape of the window."""

    look_at_m: Triple
    direction: Triple
    """Unit vector from there to the camera."""
    half_wide_m: float
    half_high_m: float


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
    """That can be chosen; none where the surroundings belong to a machine."""
    spawns: tuple[str, ...]
    """Objects that can be added."""
    recordings: tuple[str, ...]
    """Recordings of a glove that can be played."""
    wires: dict[str, str]
    """Who may command, as words for people, by name."""
    states: dict[int, str]
    """Whole-body states of a humanoid, by number."""
    title: str


Message = dict[str, Any]
"""What goes through the pipe, both ways: ``{"do": verb, ...}``."""
