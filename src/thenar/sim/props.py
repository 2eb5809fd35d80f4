"""Things to touch. Sizes in metres, masses in kilograms, poses in the world."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeAlias

from thenar.arrays import finite_vector
from thenar.errors import BadFile, BadValue
from thenar.hands.shapes import Vec3

MESH_ENDINGS = (".obj", ".stl", ".msh")


@dataclass(frozen=True, kw_only=True)
class _Prop:
    """Fields of every object."""

    name: str = ""
    """Name in the world; empty: its kind, numbered from the second on."""
    mass_kg: float = 0.1
    """Mass [kg]."""
    pos_m: Vec3 = (0.0, 0.0, 0.1)
    """Centre [m]."""
    rpy_rad: Vec3 = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw [rad]."""
    friction: float = 0.8
    """Sliding friction coefficient against anything; between two objects the larger counts."""
    colour: Vec3 = (0.85, 0.45, 0.20)
    """Red, green, blue from 0 to 1."""
    fixed: bool = False
    """True: nailed to the world."""

    def __post_init__(self) -> None:
        """Refuse what cannot exist, by the name of the field."""
        for field in fields(self):
            value = getattr(self, field.name)
            label = f"{type(self).__name__}.{field.name}"
            if field.name == "mass_kg" or field.name.endswith(("radius_m", "length_m")):
                _check_positive(label, value)
            elif field.name in ("size_m", "radii_m", "scale"):
                for part in finite_vector(label, value).tolist():
                    _check_positive(label, part)
            elif field.name in ("pos_m", "rpy_rad", "colour"):
                finite_vector(label, value)
            elif field.name == "friction":
                if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 0.0):
                    raise BadValue(label, value, "a number not below 0")
            elif field.name == "name" and not isinstance(value, str):
                raise BadValue(label, value, "a text")


@dataclass(frozen=True, kw_only=True)
class Sphere(_Prop):
    """A ball."""

    radius_m: float = 0.03


@dataclass(frozen=True, kw_only=True)
class Box(_Prop):
    """A box."""

    size_m: Vec3 = (0.05, 0.05, 0.05)
    """Full edge lengths [m]."""


@dataclass(frozen=True, kw_only=True)
class Cylinder(_Prop):
    """A cylinder along its own z."""

    radius_m: float = 0.025
    length_m: float = 0.12


@dataclass(frozen=True, kw_only=True)
class Capsule(_Prop):
    """A cylinder with round ends, along its own z."""

    radius_m: float = 0.02
    length_m: float = 0.08
    """Length of the straight part [m]."""


@dataclass(frozen=True, kw_only=True)
class Ellipsoid(_Prop):
    """An ellipsoid."""

    radii_m: Vec3 = (0.03, 0.025, 0.04)


@dataclass(frozen=True, kw_only=True)
class Mesh(_Prop):
    """A body from a closed mesh; where it is not convex it is cut into convex pieces, so that a ring has a hole."""

    file: Path | str = ""
    """An OBJ, STL or MSH file."""
    scale: Vec3 = (1.0, 1.0, 1.0)
    """Factor from the file's units to metres, per axis."""

    def __post_init__(self) -> None:
        """Also refuse a file that is not there or of another kind."""
        super().__post_init__()
        path = Path(self.file)
        if path.suffix.lower() not in MESH_ENDINGS:
            raise BadFile(path, f"not a mesh file; wanted one of {', '.join(MESH_ENDINGS)}")
        if not path.is_file():
            raise BadFile(path, "no such mesh file")


Prop: TypeAlias = Sphere | Box | Cylinder | Capsule | Ellipsoid | Mesh


def _check_positive(label: str, value: float) -> None:
    if not (isinstance(value, (int, float)) and math.isfinite(value) and value > 0.0):
        raise BadValue(label, value, "a number above 0")
