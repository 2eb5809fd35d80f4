"""Surfaces of geoms: where lines enter them, their triangles, and points spread over them. All in the body's frame."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.hands.rotations import rpy_from_matrix
from thenar.hands.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere, as_vec3
from thenar.signals import SolidKind
from thenar.touch.solver.collision import HIT, ray_entry
from thenar.touch.solver.touch_records import Faces, Record, to_local

AROUND, ALONG = 96, 48  # triangles' sides round a curved geom, and from pole to pole
FAR_M = 1.0  # lines begin this far outside
SLOPE_STEP_M = 1e-5


@dataclass(frozen=True, kw_only=True, eq=False)
class Surface:
    """One or several geoms of a body that are one surface."""

    name: str
    shapes: tuple[int, ...]
    """Numbers of its geoms."""
    solids: NDArray[np.void]
    """Their records of `thenar.signals.SOLID`, with poses in the frame of the body."""
    faces: Faces
    triangles: FloatArray
    """Corners of its triangles [m]. Shape (n, 3, 3)."""

    @property
    def shape(self) -> Shape | None:
        """The one analytic shape that it is; None: a mesh, or several geoms."""
        return shape_of(self.solids[0]) if len(self.solids) == 1 else None

    @property
    def centre_m(self) -> FloatArray:
        """The middle of the box around it [m]."""
        points = self.triangles.reshape(-1, 3)
        return (points.min(axis=0) + points.max(axis=0)) / 2

    @property
    def axis(self) -> FloatArray:
        """The axis of its first geom: z of a rod, x of others, the longest of a mesh."""
        solid = self.solids[0]
        if solid["kind"] == SolidKind.HULL:
            spread = self.triangles.reshape(-1, 3) - self.centre_m
            return np.linalg.eigh(spread.T @ spread)[1][:, 2]
        return solid["R"][:, 2 if solid["kind"] in (SolidKind.CAPSULE, SolidKind.CYLINDER) else 0].copy()

    def heights(self, points: FloatArray, normal: FloatArray) -> FloatArray:
        """How high above these points, along ``normal``, the surface is [m]; infinite where there is none."""
        return FAR_M - _entries(self.solids, self.faces, points + FAR_M * normal, -normal)

    def slopes(self, points: FloatArray, normal: FloatArray) -> FloatArray:
        """Outward normals above these points. Shape (n, 3)."""
        a = across(normal)
        b = np.cross(normal, a)
        steps = [self.heights(points + s * e * SLOPE_STEP_M, normal) for e in (a, b) for s in (1.0, -1.0)]
        rise_a, rise_b = ((steps[k] - steps[k + 1]) / (2 * SLOPE_STEP_M) for k in (0, 2))
        out = normal - rise_a[:, None] * a - rise_b[:, None] * b
        return out / np.linalg.norm(out, axis=1, keepdims=True)

    def samples(self, step_m: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Points about as far apart as this, spread over the surface, outward normals, and the area each stands for."""
        corners = self.triangles
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        cut = np.cross(b - a, c - a)
        size = np.linalg.norm(cut, axis=1)
        longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
        pieces = np.maximum(np.ceil(longest / step_m).astype(np.int64), 1)
        points, normals, areas = [], [], []
        for n in np.unique(pieces):  # each side cut in n: n^2 smaller triangles, by their centres
            mine = (pieces == n) & (size > 0.0)
            i, j = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
            upright, upturned = i + j < n, i + j < n - 1
            s = np.concatenate([i[upright] + 1 / 3, i[upturned] + 2 / 3]) / n
            t = np.concatenate([j[upright] + 1 / 3, j[upturned] + 2 / 3]) / n
            at = (1 - s - t)[:, None, None] * a[mine] + s[:, None, None] * b[mine] + t[:, None, None] * c[mine]
            points.append(at.reshape(-1, 3))
            normals.append(np.broadcast_to(cut[mine] / size[mine, None], at.shape).reshape(-1, 3))
            areas.append(np.broadcast_to(size[mine] / (2 * n * n), at.shape[:2]).ravel())
        return np.concatenate(points), np.concatenate(normals), np.concatenate(areas)


@nb.njit(cache=True)
def _entries(solids: Record, faces: Faces, points: FloatArray, direction: FloatArray) -> FloatArray:
    """How far along a direction lines through these points enter the first of these shapes [m]."""
    nearest = np.full(len(points), math.inf)
    seen = np.full(1, -1)
    for s in range(len(solids)):
        solid = solids[s]
        local = to_local(solid.R, direction)
        for k in range(len(points)):
            away = (points[k, 0] - solid.pos_m[0], points[k, 1] - solid.pos_m[1], points[k, 2] - solid.pos_m[2])
            t = ray_entry(solid, faces, to_local(solid.R, away), local, seen)
            if t < HIT:
                nearest[k] = min(nearest[k], t)
    return nearest


def across(direction: FloatArray) -> FloatArray:
    """Any unit vector at a right angle to this one."""
    other = np.zeros(3)
    other[np.argmin(np.abs(direction))] = 1.0
    other -= (other @ direction) * direction
    return other / np.linalg.norm(other)


def shape_of(solid: np.void) -> Shape | None:
    """A solid as a shape of a link; None where there is none for it."""
    R, pos, size = solid["R"], solid["pos_m"], solid["size_m"]
    centre = as_vec3(pos)
    match SolidKind(int(solid["kind"])):
        case SolidKind.SPHERE:
            return Sphere(centre_m=centre, radius_m=float(size[0]))
        case SolidKind.CAPSULE | SolidKind.CYLINDER as kind:
            low, high = (as_vec3(pos + sign * size[1] * R[:, 2]) for sign in (-1.0, 1.0))
            rod = Capsule if kind == SolidKind.CAPSULE else Cylinder
            return rod(start_m=low, end_m=high, radius_m=float(size[0]))
        case SolidKind.BOX | SolidKind.ELLIPSOID as kind:
            block = Box if kind == SolidKind.BOX else Ellipsoid
            return block(centre_m=centre, half_m=as_vec3(size[:3]), rpy_rad=rpy_from_matrix(R))
        case _:
            return None


def primitive_triangles(solid: np.void) -> FloatArray:
    """Triangles of a solid that is no mesh, in the body's frame. Shape (n, 3, 3)."""
    size = solid["size_m"]
    match SolidKind(int(solid["kind"])):
        case SolidKind.BOX:
            local = _box_triangles() * size[:3]
        case SolidKind.CYLINDER:
            z = np.concatenate([[-1.0], np.linspace(-1.0, 1.0, ALONG), [1.0]])
            radius = np.concatenate([[0.0], np.ones(ALONG), [0.0]])
            local = _lathe(size[0] * radius, size[1] * z)
        case kind:
            angle = np.linspace(-math.pi / 2, math.pi / 2, ALONG)
            if kind == SolidKind.CAPSULE:  # two half balls, and a tube between them
                shift = np.repeat([-size[1], size[1]], ALONG // 2)
                angle = np.concatenate([np.linspace(-math.pi / 2, 0.0, ALONG // 2)] * 2)
                angle[ALONG // 2 :] += math.pi / 2
                local = _lathe(size[0] * np.cos(angle), size[0] * np.sin(angle) + shift)
            else:
                radii = size[:3] if kind == SolidKind.ELLIPSOID else size[0]
                local = _lathe(np.cos(angle), np.sin(angle)) * radii
    return local @ solid["R"].T + solid["pos_m"]


def _lathe(radius: FloatArray, z: FloatArray) -> FloatArray:
    """Triangles of a body that is round about z, outward. Shape (n, 3, 3)."""
    turn = np.arange(AROUND) * 2 * math.pi / AROUND
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    grid = np.concatenate(
        [radius[:, None, None] * ring, np.broadcast_to(z[:, None, None], (len(z), AROUND, 1))], axis=2
    )
    a, b = grid[:-1], np.roll(grid, -1, axis=1)[:-1]
    c, d = np.roll(grid, -1, axis=1)[1:], grid[1:]
    return np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3)


def _box_triangles() -> FloatArray:
    """Twelve triangles of a box with half edges 1, outward. Shape (12, 3, 3)."""
    found = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
            u = sign * u
            centre = sign * np.eye(3)[axis]
            a, b, c, d = centre - u - v, centre + u - v, centre + u + v, centre - u + v
            found += [[a, b, c], [a, c, d]]
    return np.array(found)
