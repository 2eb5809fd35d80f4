"""Simple solids as triangles, with edges kept sharp where the solid's are. Lengths in metres."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Mesh = tuple[FloatArray, NDArray[np.int64]]
"""Corners, shape (v, 3), and triangles as numbers of corners, shape (f, 3)."""

AROUND = 32
BEVEL = 0.06  # of the shortest half edge of a box, at most
BEVEL_M = 0.0015


def ellipsoid(radii_m: FloatArray) -> Mesh:
    """An ellipsoid with these half axes; a ball has three equal ones."""
    angles = np.linspace(0.0, np.pi, AROUND // 2 + 1)
    return _turned(np.stack([np.sin(angles), np.cos(angles)], axis=1), np.asarray(radii_m))


def capsule(radius_m: float, half_m: float) -> Mesh:
    """A cylinder along z with round ends; ``half_m`` is half of the straight part."""
    angles = np.linspace(0.0, np.pi / 2, AROUND // 4 + 1)
    cap = radius_m * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    up = np.array([0.0, half_m])
    profile = np.concatenate([cap + up, cap[::-1] * np.array([1.0, -1.0]) - up])
    return _turned(profile, np.ones(3))


def cylinder(radius_m: float, half_m: float) -> Mesh:
    """A cylinder along z with slightly broken edges."""
    bevel = min(BEVEL_M, 0.2 * radius_m, 0.2 * half_m)
    inner, top = radius_m - bevel, half_m
    outline = [(0.0, top), (inner, top), (inner, top), (radius_m, top - bevel), (radius_m, top - bevel)]
    profile = np.array([*outline, *[(r, -z) for r, z in reversed(outline)]])
    return _turned(profile, np.ones(3))


def box(half_m: FloatArray) -> Mesh:
    """A box with slightly broken edges."""
    half = np.asarray(half_m, dtype=np.float64)
    bevel = min(BEVEL_M, BEVEL * 4 * float(half.min()))
    corners: list[FloatArray] = []
    faces: list[tuple[int, int, int]] = []

    def add(polygon: list[FloatArray]) -> None:
        """A flat convex polygon that looks outwards."""
        first = len(corners)
        normal = np.cross(polygon[1] - polygon[0], polygon[2] - polygon[0])
        ordered = polygon if normal @ np.mean(polygon, axis=0) > 0.0 else polygon[::-1]
        corners.extend(ordered)
        faces.extend((first, first + k, first + k + 1) for k in range(1, len(ordered) - 1))

    def at(signs: tuple[int, int, int], flush: int) -> FloatArray:
        """The point of a corner that lies on the face across one axis."""
        inset = half - bevel
        inset[flush] = half[flush]
        return np.array(signs) * inset

    signs = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1, 1):
            ring = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
            polygon = []
            for one, other in ring:
                sign = [0, 0, 0]
                sign[axis], sign[u], sign[v] = side, one, other
                polygon.append(at((sign[0], sign[1], sign[2]), axis))
            add(polygon)
        for one in (-1, 1):  # the edges along this axis
            for other in (-1, 1):
                ends = [s for s in signs if s[u] == one and s[v] == other]
                add([at(ends[0], u), at(ends[1], u), at(ends[1], v), at(ends[0], v)])
    for sign in signs:
        add([at(sign, 0), at(sign, 1), at(sign, 2)])
    return np.array(corners), np.array(faces)


def moved(mesh: Mesh, pos_m: FloatArray, R: FloatArray) -> Mesh:
    """The mesh somewhere else."""
    vertices, faces = mesh
    return vertices @ np.asarray(R).T + np.asarray(pos_m), faces


def joined(meshes: list[Mesh]) -> Mesh:
    """Several meshes as one."""
    firsts = np.cumsum([0, *[len(vertices) for vertices, _ in meshes]])
    return (
        np.concatenate([vertices for vertices, _ in meshes]),
        np.concatenate([faces + first for (_, faces), first in zip(meshes, firsts, strict=False)]),
    )


def tile(wide_m: float, long_m: float) -> Mesh:
    """A small rectangle in the plane z = 0 that looks along z, with its corners cut."""
    x, y, cut = wide_m / 2, long_m / 2, 0.22 * min(wide_m, long_m)
    ring = [
        (x, y - cut), (x - cut, y), (cut - x, y), (-x, y - cut),
        (-x, cut - y), (cut - x, -y), (x - cut, -y), (x, cut - y),
    ]  # fmt: skip
    return np.array([(a, b, 0.0) for a, b in ring]), np.array([(0, k, k + 1) for k in range(1, 7)])


def _turned(profile: FloatArray, stretch: FloatArray) -> Mesh:
    """A profile of radius and height, from the top down, turned about z."""
    turn = np.linspace(0.0, 2 * np.pi, AROUND, endpoint=False)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    vertices = np.concatenate([np.column_stack([r * ring, np.full(AROUND, z)]) for r, z in profile])
    k = np.arange(AROUND)
    follow = (k + 1) % AROUND
    faces = []
    for row in range(len(profile) - 1):
        if np.allclose(profile[row], profile[row + 1]):
            continue  # a sharp edge: the same place twice
        a, b = row * AROUND, (row + 1) * AROUND
        if profile[row + 1, 0] > 0.0:
            faces.append(np.stack([a + k, b + k, b + follow], axis=1))
        if profile[row, 0] > 0.0:
            faces.append(np.stack([a + k, b + follow, a + follow], axis=1))
    return vertices * stretch, np.concatenate(faces)
