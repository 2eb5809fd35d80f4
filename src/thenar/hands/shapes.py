"""Analytic shapes that collide, and lofted shapes that are only seen.

Plain data in the frame of the link they belong to. Nothing here knows about a physics engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vec3: TypeAlias = tuple[float, float, float]
LoftRow: TypeAlias = tuple[float, float, float, float, float]
"""One station of a loft: x, y, z of its centre, half width, half depth [m]."""
RING_POINTS = 28
DOME_RINGS = 5


@dataclass(frozen=True, kw_only=True)
class _Rod:
    start_m: Vec3
    """Centre of one end [m]."""
    end_m: Vec3
    """Centre of the other end [m]."""
    radius_m: float

    @property
    def length_m(self) -> float:
        """Distance of the two ends' centres [m]."""
        return float(np.linalg.norm(np.subtract(self.end_m, self.start_m)))


class Cylinder(_Rod):
    """A cylinder between two points."""


class Capsule(_Rod):
    """A cylinder with round ends, whose spheres are centred at its two points."""


@dataclass(frozen=True, kw_only=True)
class _Block:
    centre_m: Vec3
    half_m: Vec3
    """Half edges or half axes [m]."""
    rpy_rad: Vec3 = (0.0, 0.0, 0.0)


class Box(_Block):
    """A box."""


class Ellipsoid(_Block):
    """A body with three half axes."""


@dataclass(frozen=True, kw_only=True)
class Sphere:
    """A ball."""

    centre_m: Vec3
    radius_m: float


Shape: TypeAlias = Capsule | Sphere | Box | Ellipsoid | Cylinder


@dataclass(frozen=True, kw_only=True)
class VisualShape:
    """A shape that is only seen."""

    shape: Shape
    tone: str = "body"
    """Colour of the palette: body, skin or dark."""


@dataclass(frozen=True, kw_only=True)
class Station:
    """One cross-section of a loft: a rounded rectangle."""

    centre_m: Vec3
    half_width_m: float
    """Half size along the loft's ``across`` [m]."""
    half_depth_m: float
    """Half size along the third direction [m]."""


@dataclass(frozen=True, kw_only=True)
class Loft:
    """A smooth body through cross-sections, with rounded ends; only seen, it never collides."""

    stations: tuple[Station, ...]
    across: Vec3
    """Direction of the widths."""
    tone: str = "body"
    """Colour of the palette: body, skin or dark."""
    squareness: float = 2.6
    """2 is an ellipse, large is a rectangle."""
    dome_m: float = 0.004
    """How far the rounded ends reach beyond the first and last station [m]."""

    @classmethod
    def through(
        cls, across: Vec3, *rows: LoftRow, tone: str = "body", squareness: float = 2.6, dome_m: float = 0.004
    ) -> Loft:
        """A loft from the rows of a table, one for each station."""
        stations = tuple(
            Station(centre_m=(x, y, z), half_width_m=width, half_depth_m=depth) for x, y, z, width, depth in rows
        )
        return cls(stations=stations, across=across, tone=tone, squareness=squareness, dome_m=dome_m)


Visual: TypeAlias = Loft | VisualShape


def loft_mesh(loft: Loft) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Vertices and triangles of a loft.

    Returns:
        Vertices [m], shape (n, 3), and triangles with outward winding, shape (t, 3).
    """
    centres = np.array([s.centre_m for s in loft.stations])
    along = centres[-1] - centres[0]
    along = along / np.linalg.norm(along)
    across = np.asarray(loft.across) - np.dot(loft.across, along) * along
    across = across / np.linalg.norm(across)
    third = np.cross(along, across)

    rings: list[tuple[NDArray[np.float64], float, float]] = []
    first, last = loft.stations[0], loft.stations[-1]
    # A quarter circle of shrinking rings rounds each end off.
    for angle in np.linspace(np.pi / 2, 0.0, DOME_RINGS, endpoint=False):
        scale = max(np.cos(angle), 0.02)
        centre = centres[0] - along * loft.dome_m * np.sin(angle)
        rings.append((centre, first.half_width_m * scale, first.half_depth_m * scale))
    rings += [(c, s.half_width_m, s.half_depth_m) for c, s in zip(centres, loft.stations, strict=True)]
    for angle in np.linspace(np.pi / 2, 0.0, DOME_RINGS, endpoint=False)[::-1]:
        scale = max(np.cos(angle), 0.02)
        centre = centres[-1] + along * loft.dome_m * np.sin(angle)
        rings.append((centre, last.half_width_m * scale, last.half_depth_m * scale))

    turn = np.arange(RING_POINTS) * (2 * np.pi / RING_POINTS)
    power = 2.0 / loft.squareness
    unit_w = np.sign(np.cos(turn)) * np.abs(np.cos(turn)) ** power
    unit_d = np.sign(np.sin(turn)) * np.abs(np.sin(turn)) ** power
    points = [
        centre + np.outer(unit_w * width, across) + np.outer(unit_d * depth, third) for centre, width, depth in rings
    ]
    vertices = np.asarray(np.concatenate([*points, [rings[0][0]], [rings[-1][0]]]), dtype=np.float64)

    here = np.arange(RING_POINTS)
    next_ = (here + 1) % RING_POINTS
    faces = []
    for k in range(len(rings) - 1):
        low, high = k * RING_POINTS, (k + 1) * RING_POINTS
        faces.append(np.stack([low + here, low + next_, high + next_], axis=1))
        faces.append(np.stack([low + here, high + next_, high + here], axis=1))
    bottom, top = len(vertices) - 2, len(vertices) - 1
    last_ring = (len(rings) - 1) * RING_POINTS
    faces.append(np.stack([np.full(RING_POINTS, bottom), next_, here], axis=1))
    faces.append(np.stack([np.full(RING_POINTS, top), last_ring + here, last_ring + next_], axis=1))
    return vertices, np.concatenate(faces).astype(np.int32)
