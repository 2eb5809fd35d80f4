"""What the page shows that does not move, as plain data sent from the twin's process to the page's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thenar.hands.spec import HandSpec

Triple = tuple[float, float, float]
Message = dict[str, Any]
"""What goes through the pipe, both ways: ``{"do": verb, ...}``."""
MOTOR_FAULTS = {"jam": "stalled", "hot": "over-temperature", "communication": "not responding"}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault to inject: of a motor, a taxel or a link."""

    kind: Literal["jam", "hot", "communication", "taxel", "link"]
    hand: str = ""
    motor: str = ""
    pad: str = ""
    row: int = 0
    col: int = 0
    wire: str = ""

    def __str__(self) -> str:
        """What the page calls it."""
        if self.kind == "link":
            return f"{self.wire}: disconnected"
        if self.kind == "taxel":
            return f"{self.hand} {self.pad}: taxel [{self.row}, {self.col}] dead"
        return f"{self.hand} {self.motor}: {MOTOR_FAULTS[self.kind]}"


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
    """Direction of view and the extent to show; the distance follows from the shape of the window."""

    look_at_m: Triple
    direction: Triple
    """Unit vector from there to the camera."""
    half_width_m: float
    half_height_m: float


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
