"""Analytic shapes that collide, and lofted shapes that are only seen.

Plain data in the frame of the link they belong to. Nothing here knows about a physics engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray

Vec3: TypeAlias = tuple[float, float, float]
Station: TypeAlias = tuple[float, float, float, float, float]
"""One cross-section of a loft: x, y, z of its centre, half width, half depth [m]."""
RING_POINTS = 28
HULL_DIRECTIONS, MAX_HULL_POINTS, HULL_ERROR_M = 400, 24, 0.0004
DOME_RINGS = 5


def as_vec3(values: FloatArray) -> Vec3:
    """Three numbers as a spec has them."""
    x, y, z = (float(value) + 0.0 for value in values)  # + 0.0 turns -0.0 into 0.0
    return x, y, z


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


@dataclass(frozen=True, kw_only=True)
class Hull:
    """A convex hull of points, rounded by a radius: the mesh of a hand that comes from a file."""

    points_m: tuple[Vec3, ...]
    radius_m: float


Shape: TypeAlias = Capsule | Sphere | Box | Ellipsoid | Cylinder | Hull


@dataclass(frozen=True, kw_only=True)
class VisualShape:
    """A shape that is only seen."""

    shape: Shape
    tone: str = "body"
    """Colour of the palette: body, skin or dark."""


@dataclass(frozen=True, kw_only=True)
class Loft:
    """A smooth body through cross-sections, rounded rectangles, with domed ends; only seen, it never collides."""

    across: Vec3
    """Direction of the widths; depths are across both it and the loft."""
    stations: tuple[Station, ...]
    tone: str = "body"
    """Colour of the palette: body, skin or dark."""
    squareness: float = 2.6
    """2 is an ellipse, large is a rectangle."""
    dome_m: float = 0.004
    """How far the rounded ends reach beyond the first and last station [m]."""

    @classmethod
    def through(
        cls, across: Vec3, *stations: Station, tone: str = "body", squareness: float = 2.6, dome_m: float = 0.004
    ) -> Loft:
        """A loft in one row of a table."""
        return cls(across=across, stations=stations, tone=tone, squareness=squareness, dome_m=dome_m)


Visual: TypeAlias = Loft | VisualShape


@lru_cache(maxsize=512)
def loft_mesh(loft: Loft) -> tuple[FloatArray, NDArray[np.int32]]:
    """Vertices and triangles of a loft, the same arrays whenever a hand is built again; do not write into them.

    Returns:
        Vertices [m], shape (n, 3), and triangles with outward winding, shape (t, 3).
    """
    stations = np.array(loft.stations)
    along = stations[-1, :3] - stations[0, :3]
    along = along / np.linalg.norm(along)
    across = np.asarray(loft.across) - np.dot(loft.across, along) * along
    across = across / np.linalg.norm(across)
    third = np.cross(along, across)

    # A quarter circle of shrinking rings rounds each end off.
    angle = np.linspace(np.pi / 2, 0.0, DOME_RINGS, endpoint=False)[:, None]
    out, shrink = along * loft.dome_m * np.sin(angle), np.maximum(np.cos(angle), 0.02)
    first, last = stations[0], stations[-1]
    start = np.hstack([first[:3] - out, first[3:] * shrink])
    end = np.hstack([last[:3] + out, last[3:] * shrink])
    rings = np.concatenate([start, stations, end[::-1]])

    turn = np.arange(RING_POINTS) * (2 * np.pi / RING_POINTS)
    unit_w, unit_d = (np.sign(x) * np.abs(x) ** (2.0 / loft.squareness) for x in (np.cos(turn), np.sin(turn)))
    centre, width, depth = rings[:, None, :3], rings[:, 3, None], rings[:, 4, None]
    points = centre + (unit_w * width)[..., None] * across + (unit_d * depth)[..., None] * third
    vertices = np.concatenate([points.reshape(-1, 3), rings[[0, -1], :3]])

    here = np.arange(RING_POINTS)
    next_ = (here + 1) % RING_POINTS
    low = RING_POINTS * np.arange(len(rings) - 1)[:, None]
    high = low + RING_POINTS
    sides = [
        np.stack([low + here, low + next_, high + next_], axis=-1),
        np.stack([low + here, high + next_, high + here], axis=-1),
    ]
    bottom, top = np.full((2, RING_POINTS), [[len(vertices) - 2], [len(vertices) - 1]])
    ends = [np.stack([bottom, next_, here], axis=1), np.stack([top, high[-1] + here, high[-1] + next_], axis=1)]
    faces = np.concatenate([np.stack(sides, axis=1).reshape(-1, 3), *ends])
    return vertices, faces.astype(np.int32)


def sphere_directions() -> FloatArray:
    """Directions spread evenly over a sphere: a spiral with the golden angle. Shape (400, 3)."""
    height = 1.0 - (2.0 * np.arange(HULL_DIRECTIONS) + 1.0) / HULL_DIRECTIONS
    turn = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(HULL_DIRECTIONS)
    ring = np.sqrt(1.0 - height**2)
    return np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)


def surface_points(hull: Hull) -> FloatArray:
    """Points on a rounded hull, or its corners where nothing is rounded [m]. Shape (n, 3)."""
    points_m = np.asarray(hull.points_m)
    if hull.radius_m == 0.0:
        return points_m
    normal = sphere_directions()
    return points_m[(normal @ points_m.T).argmax(axis=1)] + hull.radius_m * normal


def hull_around(vertex_m: FloatArray, *, max_points: int = MAX_HULL_POINTS) -> Hull:
    """A rounded hull of few points near the convex hull of many.

    Points are taken one by one, each where the hull so far falls short the most, until that is below 0.4 mm or points
    run out. Half of what is left rounds the hull, so that it errs by no more than that either way.

    Args:
        vertex_m: Corners of a mesh [m]. Shape (n, 3).
        max_points: As many at most.
    """
    reach_m = sphere_directions() @ vertex_m.T
    outermost, full_m = reach_m.argmax(axis=1), reach_m.max(axis=1)
    chosen = [int(outermost[0])]
    while True:
        short_m = full_m - reach_m[:, chosen].max(axis=1)
        worst = int(short_m.argmax())
        if short_m[worst] < HULL_ERROR_M or len(chosen) == max_points:
            points = tuple((float(x), float(y), float(z)) for x, y, z in vertex_m[chosen])
            return Hull(points_m=points, radius_m=0.5 * float(short_m[worst]))
        chosen.append(int(outermost[worst]))
