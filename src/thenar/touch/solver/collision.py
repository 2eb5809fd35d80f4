"""Where a straight line enters a collision shape: the one geometric question a contact window asks.

A shape is a record of `thenar.signals.SOLID`: a kind, sizes and a pose. Lines are infinite in both directions, so a
shape that overlaps the skin is no special case: the entry parameter is just negative. Misses answer `MISS`.
"""

from __future__ import annotations

import math

import numba as nb

from thenar.arrays import FloatArray, IntArray
from thenar.signals import SolidKind
from thenar.touch.solver.touch_records import Faces, Record, Vector, lean

MISS = 1e9
HIT = 5e8  # any entry parameter below this is a hit
EDGE_ON = 1e-9  # cosine: a face that is seen like this from the side is not entered
TOUCHING_M = 1e-12

SPHERE, CAPSULE, CYLINDER = int(SolidKind.SPHERE), int(SolidKind.CAPSULE), int(SolidKind.CYLINDER)
BOX, ROUNDED_BOX, ELLIPSOID = int(SolidKind.BOX), int(SolidKind.ROUNDED_BOX), int(SolidKind.ELLIPSOID)
PLANE, HULL = int(SolidKind.PLANE), int(SolidKind.HULL)


@nb.njit(cache=True, inline="always")
def ray_entry(shape: Record, faces: Faces, point: Vector, direction: Vector, seen: IntArray) -> float:
    """How far along ``direction`` from ``point`` a line enters a shape [m].

    Args:
        shape: The shape, see `thenar.signals.SOLID`.
        faces: Faces of all hulls.
        point: Any point of the line, in the shape's own frame [m].
        direction: Unit vector in the same frame.
        seen: The face of a hull that the last line entered, from which this one's is looked for; changed. Shape (1,).
    """
    if shape.kind == HULL:
        return _hull(shape, faces, point, direction, seen)
    return _primitive(shape, point, direction)


@lean
def _primitive(shape: Record, point: Vector, direction: Vector) -> float:
    """The entry into anything but a hull: apart from it, because it is called far more often and needs no faces."""
    x, y, z = point
    u, v, w = direction
    size = shape.size_m
    kind = shape.kind
    if kind == SPHERE:
        return _quadratic(1.0, x * u + y * v + z * w, x * x + y * y + z * z - size[0] ** 2)[0]
    if kind == CAPSULE:
        return _capsule(x, y, z, u, v, w, size[0], size[1])
    if kind == CYLINDER:
        return _cylinder(x, y, z, u, v, w, size[0], size[1])
    if kind == BOX:
        return _box(x, y, z, u, v, w, size[0], size[1], size[2])
    if kind == ELLIPSOID:
        a, b, c = size[0], size[1], size[2]
        x, y, z, u, v, w = x / a, y / b, z / c, u / a, v / b, w / c
        return _quadratic(u * u + v * v + w * w, x * u + y * v + z * w, x * x + y * y + z * z - 1.0)[0]
    if kind == PLANE:
        return -z / w if w < 0.0 else MISS
    if kind == ROUNDED_BOX:
        return _rounded_box(x, y, z, u, v, w, size)
    return MISS


@lean
def _quadratic(a: float, b: float, c: float) -> tuple[float, float]:
    """Both roots of ``a t^2 + 2 b t + c``, or a miss."""
    inside = b * b - a * c
    if inside <= 0.0:
        return MISS, -MISS
    root = math.sqrt(inside)
    return (-b - root) / a, (-b + root) / a


@lean
def _slab(x: float, u: float, half: float) -> tuple[float, float]:
    if abs(u) < 1e-12:
        return (-MISS, MISS) if abs(x) <= half else (MISS, -MISS)
    one, other = (-half - x) / u, (half - x) / u
    return (one, other) if one < other else (other, one)


@lean
def _cylinder(x: float, y: float, z: float, u: float, v: float, w: float, radius: float, half: float) -> float:
    a, c = u * u + v * v, x * x + y * y - radius * radius
    if a < 1e-14:
        enter_side, leave_side = (-MISS, MISS) if c <= 0.0 else (MISS, -MISS)
    else:
        enter_side, leave_side = _quadratic(a, x * u + y * v, c)
    enter_end, leave_end = _slab(z, w, half)
    first, last = max(enter_side, enter_end), min(leave_side, leave_end)
    return first if first <= last else MISS


@lean
def _capsule(x: float, y: float, z: float, u: float, v: float, w: float, radius: float, half: float) -> float:
    first = _cylinder(x, y, z, u, v, w, radius, half)
    for end in (-half, half):
        d = z - end
        ball = _quadratic(1.0, x * u + y * v + d * w, x * x + y * y + d * d - radius * radius)[0]
        first = min(first, ball)
    return first


@lean
def _box(x: float, y: float, z: float, u: float, v: float, w: float, a: float, b: float, c: float) -> float:
    x_in, x_out = _slab(x, u, a)
    y_in, y_out = _slab(y, v, b)
    z_in, z_out = _slab(z, w, c)
    first, last = max(x_in, y_in, z_in), min(x_out, y_out, z_out)
    return first if first <= last else MISS


@lean
def _rounded_box(x: float, y: float, z: float, u: float, v: float, w: float, size: FloatArray) -> float:
    """A box swept by a ball is the union of three boxes and twelve capsules along its edges."""
    a, b, c, r = size[0], size[1], size[2], size[3]
    first = min(
        _box(x, y, z, u, v, w, a + r, b, c), _box(x, y, z, u, v, w, a, b + r, c), _box(x, y, z, u, v, w, a, b, c + r)
    )
    for s in (-1.0, 1.0):
        for t in (-1.0, 1.0):
            first = min(first, _capsule(x - s * a, y - t * b, z, u, v, w, r, c))
            first = min(first, _capsule(y - s * b, z - t * c, x, v, w, u, r, a))
            first = min(first, _capsule(z - s * c, x - t * a, y, w, u, v, r, b))
    return first


@lean
def _hull(shape: Record, faces: Faces, point: Vector, direction: Vector, seen: IntArray) -> float:
    """Walk from face to face, each time to the one beside it that the line meets last.

    The entry is the last meeting with any face that looks towards the line, and on a convex body a face that is met
    later than all such faces beside it is met last of all. The line misses if it lies outside a face beside that one.
    """
    (x, y, z), (u, v, w) = point, direction
    planes = faces.planes
    face = seen[0]
    if not shape.first <= face < shape.first + shape.count:
        face = shape.first
    toward = planes[face, 0] * u + planes[face, 1] * v + planes[face, 2] * w
    if toward >= -EDGE_ON:  # begin at one that looks towards the line
        face, toward = _facing(shape, planes, u, v, w)
    entry = (planes[face, 3] - (planes[face, 0] * x + planes[face, 1] * y + planes[face, 2] * z)) / toward
    for _ in range(shape.count):
        best, latest, missed = face, entry, False
        for k in range(faces.first_beside[face], faces.first_beside[face + 1]):
            other = faces.beside[k]
            toward = planes[other, 0] * u + planes[other, 1] * v + planes[other, 2] * w
            away = planes[other, 3] - (planes[other, 0] * x + planes[other, 1] * y + planes[other, 2] * z)
            if toward < -EDGE_ON:
                if away < latest * toward:
                    best, latest = other, away / toward
            elif away < entry * toward - TOUCHING_M:
                missed = True
        if best == face:
            seen[0] = face
            return MISS if missed else entry
        face, entry = best, latest
    return MISS


@lean
def _facing(shape: Record, planes: FloatArray, u: float, v: float, w: float) -> tuple[int, float]:
    """The face that looks most straight towards a line, and how much it does (as the cosine, negative)."""
    face, least = shape.first, 1.0
    for k in range(shape.first, shape.first + shape.count):
        toward = planes[k, 0] * u + planes[k, 1] * v + planes[k, 2] * w
        if toward < least:
            face, least = k, toward
    return face, least
