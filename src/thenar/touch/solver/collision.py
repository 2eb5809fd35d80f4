"""Where a straight line enters a collision shape: the one geometric question a contact window asks.

A shape is a record of `thenar.signals.SOLID`: a kind, sizes and a pose. Lines are infinite in both directions, so a
shape that overlaps the skin is no special case: the entry parameter is just negative. Misses answer `MISS`.
"""

from __future__ import annotations

import math

import numba as nb

from thenar.arrays import FloatArray
from thenar.signals import SolidKind
from thenar.touch.solver.touch_records import Record, Vector

MISS = 1e9
HIT = 5e8  # any entry parameter below this is a hit

SPHERE, CAPSULE, CYLINDER = int(SolidKind.SPHERE), int(SolidKind.CAPSULE), int(SolidKind.CYLINDER)
BOX, ROUNDED_BOX, ELLIPSOID = int(SolidKind.BOX), int(SolidKind.ROUNDED_BOX), int(SolidKind.ELLIPSOID)
PLANE, HULL = int(SolidKind.PLANE), int(SolidKind.HULL)


@nb.njit(cache=True)
def ray_entry(shape: Record, planes: FloatArray, field_m: FloatArray, point: Vector, direction: Vector) -> float:
    """How far along ``direction`` from ``point`` a line enters a shape [m].

    Args:
        shape: The shape, see `thenar.signals.SOLID`.
        planes: Planes of all hulls. Shape (planes, 4).
        field_m: Distances of all fields [m].
        point: Any point of the line, in the shape's own frame [m].
        direction: Unit vector in the same frame.
    """
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
    if kind == HULL:
        return _hull(shape, planes, x, y, z, u, v, w)
    return _field(shape, field_m, x, y, z, u, v, w)


@nb.njit(cache=True)
def _quadratic(a: float, b: float, c: float) -> tuple[float, float]:
    """Both roots of ``a t^2 + 2 b t + c``, or a miss."""
    inside = b * b - a * c
    if inside <= 0.0:
        return MISS, -MISS
    root = math.sqrt(inside)
    return (-b - root) / a, (-b + root) / a


@nb.njit(cache=True)
def _slab(x: float, u: float, half: float) -> tuple[float, float]:
    if abs(u) < 1e-12:
        return (-MISS, MISS) if abs(x) <= half else (MISS, -MISS)
    one, other = (-half - x) / u, (half - x) / u
    return (one, other) if one < other else (other, one)


@nb.njit(cache=True)
def _cylinder(x: float, y: float, z: float, u: float, v: float, w: float, radius: float, half: float) -> float:
    a, c = u * u + v * v, x * x + y * y - radius * radius
    if a < 1e-14:
        enter_side, leave_side = (-MISS, MISS) if c <= 0.0 else (MISS, -MISS)
    else:
        enter_side, leave_side = _quadratic(a, x * u + y * v, c)
    enter_end, leave_end = _slab(z, w, half)
    first, last = max(enter_side, enter_end), min(leave_side, leave_end)
    return first if first <= last else MISS


@nb.njit(cache=True)
def _capsule(x: float, y: float, z: float, u: float, v: float, w: float, radius: float, half: float) -> float:
    first = _cylinder(x, y, z, u, v, w, radius, half)
    for end in (-half, half):
        d = z - end
        ball = _quadratic(1.0, x * u + y * v + d * w, x * x + y * y + d * d - radius * radius)[0]
        first = min(first, ball)
    return first


@nb.njit(cache=True)
def _box(x: float, y: float, z: float, u: float, v: float, w: float, a: float, b: float, c: float) -> float:
    x_in, x_out = _slab(x, u, a)
    y_in, y_out = _slab(y, v, b)
    z_in, z_out = _slab(z, w, c)
    first, last = max(x_in, y_in, z_in), min(x_out, y_out, z_out)
    return first if first <= last else MISS


@nb.njit(cache=True)
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


@nb.njit(cache=True)
def _hull(shape: Record, planes: FloatArray, x: float, y: float, z: float, u: float, v: float, w: float) -> float:
    """Planes are rows (normal, distance): the hull is where normal . x <= distance for all of them."""
    first, last = -MISS, MISS
    for k in range(shape.first, shape.first + shape.count):
        toward = planes[k, 0] * u + planes[k, 1] * v + planes[k, 2] * w
        away = planes[k, 3] - (planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z)
        if toward < -1e-9:
            first = max(first, away / toward)
        elif toward > 1e-9:
            last = min(last, away / toward)
        elif away < 0.0:
            return MISS
        if first > last:
            return MISS
    return first


@nb.njit(cache=True)
def _field(shape: Record, field_m: FloatArray, x: float, y: float, z: float, u: float, v: float, w: float) -> float:
    """Walk along the line by the distance that is known to be free, from where it enters the field's cube."""
    half = shape.size_m[0]
    start = _box(x, y, z, u, v, w, half, half, half)
    if start > HIT:
        return MISS
    walked = 0.0
    longest = 2.0 * math.sqrt(3.0) * half
    for _ in range(64):
        s = start + walked
        free = _distance(shape, field_m, x + s * u, y + s * v, z + s * w)
        if free < 1e-7:
            return s
        walked += free
        if walked > longest:
            return MISS
    return MISS if walked < 0.0 else start + walked


@nb.njit(cache=True)
def _distance(shape: Record, field_m: FloatArray, x: float, y: float, z: float) -> float:
    """Trilinear distance to the surface; beyond the grid it is that of the nearest grid point."""
    n, half = shape.count, shape.size_m[0]
    scale = (n - 1) / (2.0 * half)
    fx = min(max((x + half) * scale, 0.0), n - 1.000001)
    fy = min(max((y + half) * scale, 0.0), n - 1.000001)
    fz = min(max((z + half) * scale, 0.0), n - 1.000001)
    i, j, k = int(fx), int(fy), int(fz)
    a, b, c = fx - i, fy - j, fz - k
    at = shape.first + (i * n + j) * n + k
    step_x, step_y = n * n, n
    low = (field_m[at] * (1 - c) + field_m[at + 1] * c) * (1 - b)
    low += (field_m[at + step_y] * (1 - c) + field_m[at + step_y + 1] * c) * b
    at += step_x
    high = (field_m[at] * (1 - c) + field_m[at + 1] * c) * (1 - b)
    high += (field_m[at + step_y] * (1 - c) + field_m[at + step_y + 1] * c) * b
    return low * (1 - a) + high * a
