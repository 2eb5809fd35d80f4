"""Triangle meshes of simple solids, with edges kept sharp where the solid's are. Lengths in metres."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray

Mesh = tuple[FloatArray, NDArray[np.int64]]
"""Corners, shape (v, 3), and triangles as numbers of corners, shape (f, 3)."""

AROUND = 32
BEVEL = 0.06  # of the shortest half edge of a box, at most
BEVEL_M = 0.0015


def ellipsoid(radii_m: FloatArray) -> Mesh:
    """An ellipsoid with these half axes; a ball has three equal ones."""
    angles = np.linspace(0.0, np.pi, AROUND // 2 + 1)
    return _lathe(np.stack([np.sin(angles), np.cos(angles)], axis=1), np.asarray(radii_m))


def capsule(radius_m: float, half_m: float) -> Mesh:
    """A cylinder along z with round ends; ``half_m`` is half of the straight part."""
    angles = np.linspace(0.0, np.pi / 2, AROUND // 4 + 1)
    cap = radius_m * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    up = np.array([0.0, half_m])
    profile = np.concatenate([cap + up, cap[::-1] * np.array([1.0, -1.0]) - up])
    return _lathe(profile)


def cylinder(radius_m: float, half_m: float) -> Mesh:
    """A cylinder along z with slightly broken edges."""
    bevel = min(BEVEL_M, 0.2 * radius_m, 0.2 * half_m)
    inner, top = radius_m - bevel, half_m
    outline = [(0.0, top), (inner, top), (inner, top), (radius_m, top - bevel), (radius_m, top - bevel)]
    profile = np.array([*outline, *[(r, -z) for r, z in reversed(outline)]])
    return _lathe(profile)


def box(half_m: FloatArray) -> Mesh:
    """A box with slightly broken edges: a flat polygon for each of its six sides, twelve edges and eight corners."""
    half = np.asarray(half_m, dtype=np.float64)
    bevel = min(BEVEL_M, BEVEL * 4 * float(half.min()))
    corners: list[FloatArray] = []
    faces: list[tuple[int, int, int]] = []
    for normal in itertools.product((-1, 0, 1), repeat=3):
        axes = np.flatnonzero(normal)
        ends = itertools.product(*[(n,) if n else (-1, 1) for n in normal])
        # A corner of the box has three vertices, one in each of the sides that meet there.
        polygon = [np.array(end) * (half - bevel * (np.arange(3) != axis)) for end in ends for axis in axes]
        if polygon:
            away = np.array(polygon) - np.mean(polygon, axis=0)
            round_about = np.arctan2(away @ np.cross(normal, away[0]), away @ away[0])
            first = len(corners)
            corners.extend(polygon[k] for k in np.argsort(round_about))
            faces.extend((first, first + k, first + k + 1) for k in range(1, len(polygon) - 1))
    return np.array(corners), np.array(faces)


def joined(meshes: Sequence[tuple[Mesh, FloatArray, FloatArray]]) -> Mesh:
    """Several meshes as one, each moved to a position [m] and turned by a matrix."""
    firsts = np.cumsum([0, *[len(vertices) for (vertices, _), _, _ in meshes]])
    return (
        np.concatenate([vertices @ R.T + pos_m for (vertices, _), pos_m, R in meshes]),
        np.concatenate([faces + first for ((_, faces), _, _), first in zip(meshes, firsts, strict=False)]),
    )


def tile(wide_m: float, long_m: float) -> Mesh:
    """A small rectangle in the plane z = 0 that looks along z, with its corners cut."""
    x, y, cut = wide_m / 2, long_m / 2, 0.22 * min(wide_m, long_m)
    ring = [
        (x, y - cut), (x - cut, y), (cut - x, y), (-x, y - cut),
        (-x, cut - y), (cut - x, -y), (x - cut, -y), (x, cut - y),
    ]  # fmt: skip
    return np.array([(a, b, 0.0) for a, b in ring]), np.array([(0, k, k + 1) for k in range(1, 7)])


def _lathe(profile: FloatArray, stretch: FloatArray | float = 1.0) -> Mesh:
    """A profile of radius and height, from the top down, rotated about z. Shape of the profile (n, 2)."""
    turn = np.linspace(0.0, 2 * np.pi, AROUND, endpoint=False)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    vertices = np.concatenate([np.column_stack([r * ring, np.full(AROUND, z)]) for r, z in profile])
    k = np.arange(AROUND)
    after = (k + 1) % AROUND
    faces = []
    for row in range(len(profile) - 1):
        if np.allclose(profile[row], profile[row + 1]):
            continue  # a sharp edge: the same place twice
        a, b = row * AROUND, (row + 1) * AROUND
        if profile[row + 1, 0] > 0.0:
            faces.append(np.stack([a + k, b + k, b + after], axis=1))
        if profile[row, 0] > 0.0:
            faces.append(np.stack([a + k, b + after, a + after], axis=1))
    return vertices * stretch, np.concatenate(faces)
