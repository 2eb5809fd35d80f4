"""What the compiled functions hand to each other, and the three-vectors they reckon with."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numba as nb
import numpy as np

from thenar.arrays import FloatArray, IntArray

Record: TypeAlias = Any  # an element of a structured array: numba gives it attributes, type checkers do not
Vector: TypeAlias = tuple[float, float, float]


_LEAN: dict[str, Any] = {"cache": True, "_nrt": False}
lean = nb.njit(**_LEAN)
"""Compiles a function that makes no array, nor is given one by a function it calls: nobody counts who uses its arrays.

Counting costs more than such small functions do.
"""
lean_contracting = nb.njit(**_LEAN, fastmath={"contract"})
"""The same, with a product and a sum in one instruction."""


class Contacts(NamedTuple):
    """Contact points of one instant, see `thenar.signals.SolidContacts`. Shapes use n = contacts."""

    pair: IntArray
    position_m: FloatArray
    normal: FloatArray
    force_n: FloatArray
    slip_n: FloatArray


class Faces(NamedTuple):
    """Faces of all hulls, see `thenar.signals.SolidContacts`."""

    planes: FloatArray
    first_beside: IntArray
    beside: IntArray


NO_FACES = Faces(np.zeros((0, 4)), np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
"""Where no shape is a hull."""


class Scene(NamedTuple):
    """Collision shapes of the world and the poses of its bodies, see `thenar.signals.SolidContacts`."""

    shapes: Record
    faces: Faces
    body_pos_m: FloatArray
    body_R: FloatArray
    first_part: IntArray
    """``parts[first_part[b] : first_part[b + 1]]`` are the shapes of body b."""
    parts: IntArray


class Skin(NamedTuple):
    """The sensed surface of one hand."""

    link_of_shape: IntArray
    """Number of the skinned link that each shape of the world belongs to; -1: none."""
    surface_of_shape: IntArray
    """The first of the shapes that make up one surface with each: pieces of a mesh. Mostly the shape itself."""
    first_piece: IntArray
    """``pieces[first_piece[s] : first_piece[s + 1]]`` are the shapes of the surface whose first shape is s."""
    pieces: IntArray
    pads: Record
    """Records of `pads.PAD`."""
    cloud: Any
    """Taxels that are given points, a `taxel_cloud.Cloud`."""
    dies: Record
    """Records of `barometer_stress.DIE`."""
    modulus_pa: float
    """E* of links without a pad [Pa]."""
    thickness_m: float
    """Thickness of their skin [m]."""


class Elastic(NamedTuple):
    """Influence tables and the scratch memory of one window's pressure solver. Rows have space for every cell."""

    half_space: FloatArray
    """`influence.half_space_tables`."""
    correction: FloatArray
    """`influence.layer_correction`."""
    table: FloatArray
    """Influence of the window that is being solved, see `influence.write_table`."""
    own: FloatArray
    """What a cell's reach to an edge adds to its influence on itself."""
    gap: FloatArray
    residual: FloatArray
    direction: FloatArray
    image: FloatArray
    displacement: FloatArray
    jump: FloatArray
    """By how much pressures differ from a plain step: of cells that came or went."""
    sweep: FloatArray
    values: FloatArray
    """Pressures of the cells that are swept together. Shape (`influence.TOGETHER`,)."""
    starts: IntArray
    """And where each one's run of the table begins."""
    plane: FloatArray
    """Shape (cells, 3)."""


class TaxelForces(NamedTuple):
    """What a frame adds to. Shapes use n = taxels, p = pads, d = dies."""

    load_n: FloatArray
    """Share of the contacts' normal force [N]. Shape (n,)."""
    normal_n: FloatArray
    """Force across the taxel [N]. Shape (n,)."""
    shear_n: FloatArray
    """Force along rows and columns [N]. Shape (n, 2)."""
    moment_nm: FloatArray
    """Load times place along rows and columns [N m]. Shape (p, 2)."""
    patch_m2: FloatArray
    """Area of every pad that is touched, and the part of it that is at its friction limit [m^2]. Shape (p, 2)."""
    die_pa: FloatArray
    """Stress at every buried die [Pa]. Shape (d,)."""


@lean
def dot(a: FloatArray | Vector, b: FloatArray | Vector) -> float:
    """Scalar product of two three-vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@lean
def to_local(R: FloatArray, v: FloatArray | Vector) -> Vector:
    """A direction of the world in a frame whose axes are the columns of ``R``."""
    return (
        R[0, 0] * v[0] + R[1, 0] * v[1] + R[2, 0] * v[2],
        R[0, 1] * v[0] + R[1, 1] * v[1] + R[2, 1] * v[2],
        R[0, 2] * v[0] + R[1, 2] * v[1] + R[2, 2] * v[2],
    )


@lean
def to_world(R: FloatArray, v: FloatArray | Vector) -> Vector:
    """A direction of a frame whose axes are the columns of ``R``, in the world."""
    return (
        R[0, 0] * v[0] + R[0, 1] * v[1] + R[0, 2] * v[2],
        R[1, 0] * v[0] + R[1, 1] * v[1] + R[1, 2] * v[2],
        R[2, 0] * v[0] + R[2, 1] * v[1] + R[2, 2] * v[2],
    )


@lean
def minus(a: FloatArray | Vector, b: FloatArray | Vector) -> Vector:
    """Difference of two three-vectors."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@lean
def combine(o: FloatArray | Vector, u: float, a: FloatArray | Vector, v: float, b: FloatArray | Vector) -> Vector:
    """``o + u a + v b``."""
    return o[0] + u * a[0] + v * b[0], o[1] + u * a[1] + v * b[1], o[2] + u * a[2] + v * b[2]
