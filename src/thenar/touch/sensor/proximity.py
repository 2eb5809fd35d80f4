"""How far the nearest thing in front of a pad is, before it touches.

From points all over the pad's face lines are sent up to `WIDEST_RAD` off its normal, against the exact collision
shapes. The nearest meeting is found by search: of the best direction from one point of the face, then of the best point
of the face for that direction or for the place that was met, and so on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numba as nb
import numpy as np

from thenar.arrays import FloatArray, IntArray
from thenar.hands.pad_charts import points_on_skin, taxel_points
from thenar.hands.spec import Pad, SkinSpec
from thenar.signals import SolidContacts
from thenar.sim.contacts import touchable
from thenar.touch.solver.collision import BOX, CAPSULE, CYLINDER, ELLIPSOID, HIT, MISS, PLANE, SPHERE, ray_entry
from thenar.touch.solver.touch_records import Faces, Record, Vector, combine, dot, lean, minus, to_local

WIDEST_RAD = math.radians(60.0)  # how far off a pad's normal it sees; no maker publishes it: assumed
WIDEST = math.cos(WIDEST_RAD)
FACE_STEP_M = 1e-3  # how far apart points of a pad's face are, if it is small enough for that
MAX_FACE_POINTS = 400
STARTS = 25  # points of the face from which a shape is looked for
FIRST_STEP_RAD, LAST_STEP_RAD = 0.4, 0.003
GOLDEN_RAD = 2.39996
MAX_LOOKS = 80  # rounds of the search for one direction
ROUNDS = 12  # of the search for a point of the face
ENOUGH = 1e-3  # a round that comes nearer by less than this share is the last


class Proximity:
    """The proximity sensors of a skin."""

    def __init__(self, model: Any, hand: SkinSpec, skin_shapes: Mapping[str, Sequence[int]]):
        """Lay points over the faces of the pads that have such a sensor.

        Args:
            model: The world's ``MjModel``: what may touch a link is what its sensors see.
            hand: The pads; those with a `Pad.proximity_range_m` have a sensor.
            skin_shapes: Numbers of the geoms that are each link's skin.
        """
        self._range_m = np.array([pad.proximity_range_m for pad in hand.pads])
        self._eyes: list[tuple[int, int, IntArray, FloatArray, FloatArray]] = []
        for k in np.flatnonzero(self._range_m > 0.0):
            pad = hand.pads[k]
            geoms = skin_shapes[pad.link]
            seen = np.unique(np.concatenate([touchable(model, geom) for geom in geoms]))
            self._eyes.append((int(k), int(model.geom_bodyid[geoms[0]]), seen, *_face(hand, pad)))

    def __bool__(self) -> bool:
        """Whether any pad has such a sensor."""
        return bool(self._eyes)

    def read(self, contacts: SolidContacts, pad_force_n: FloatArray) -> FloatArray:
        """Distance from each pad's face to the nearest thing in front of it [m], see `TouchFrame.pad_proximity_m`.

        Args:
            contacts: The shapes of the world, and where they are.
            pad_force_n: What presses on each pad [N]; nothing is farther than 0 from a pad that is pressed.
        """
        found = np.where(self._range_m > 0.0, self._range_m, math.nan)
        faces = Faces(contacts.planes, contacts.first_beside, contacts.beside)
        for k, body, shapes, points, normals in self._eyes:
            R, pos_m = contacts.body_R[body], contacts.body_pos_m[body]
            found[k] = (
                _nearest(contacts.solids, faces, shapes, points @ R.T + pos_m, normals @ R.T, self._range_m[k])
                if pad_force_n[k] <= 0.0
                else 0.0
            )
        return found


def _face(hand: SkinSpec, pad: Pad) -> tuple[FloatArray, FloatArray]:
    """Points all over a pad, its rim included, and where each looks, in the frame of its link. Shapes (n, 3).

    All look where the whole pad does, or each straight out of the skin where that is round a link.
    """
    if pad.points is not None:
        points, normals = (part.reshape(-1, 3) for part in taxel_points(hand, pad))
    else:
        sides = pad.rows * pad.row_pitch_m, pad.cols * pad.col_pitch_m
        step = max(FACE_STEP_M, math.sqrt(sides[0] * sides[1] / MAX_FACE_POINTS))
        u, v = (np.linspace(-side / 2, side / 2, 1 + max(1, round(side / step))) for side in sides)
        points, normals = (part.reshape(-1, 3) for part in points_on_skin(hand, pad, *np.meshgrid(u, v, indexing="ij")))
    ahead = normals.mean(axis=0)
    if np.all(normals @ ahead > 0.0):
        normals = np.broadcast_to(ahead / np.linalg.norm(ahead), normals.shape)
    return np.ascontiguousarray(points), np.ascontiguousarray(normals)


@nb.njit(cache=True)
def _nearest(
    solids: Record, faces: Faces, shapes: IntArray, points: FloatArray, normals: FloatArray, range_m: float
) -> float:
    """Distance to the nearest of these shapes in front of a face, or the range."""
    seen = np.full(1, -1)
    middle = points[len(points) // 2]
    wide_m = 0.0
    for k in range(len(points)):
        wide_m = max(wide_m, _length(minus(points[k], middle)))
    nearest = range_m
    for s in shapes:
        if _length(minus(solids[s].pos_m, middle)) - _bound(solids[s]) - wide_m < nearest:
            nearest = min(nearest, _distance(solids[s], faces, points, normals, seen))
    return nearest


@nb.njit(cache=True)
def _distance(solid: Record, faces: Faces, points: FloatArray, normals: FloatArray, seen: IntArray) -> float:
    """Distance from a face to a shape in front of it [m], or a miss."""
    start, way, found = 0, (0.0, 0.0, 1.0), MISS
    for k in range(0, len(points), max(1, len(points) // STARTS)):
        ahead = (normals[k, 0], normals[k, 1], normals[k, 2])
        for first in (ahead, _towards(solid, points[k], ahead)):
            t = _meet(solid, faces, points[k], normals[k], first, seen)
            if t < found:
                start, way, found = k, first, t
    if found >= HIT:
        return MISS
    for _ in range(ROUNDS):
        before = found
        way, found = _search(solid, faces, points[start], normals[start], way, found, seen)
        met, straight = combine(points[start], found, way, 0.0, way), way
        for k in range(len(points)):  # the same way, or to the same place, from elsewhere
            for tried in (straight, _unit(minus(met, points[k]))):
                t = _meet(solid, faces, points[k], normals[k], tried, seen)
                if t < found:
                    start, way, found = k, tried, t
        if found > (1.0 - ENOUGH) * before:
            break
    return found


@lean
def _towards(solid: Record, point: FloatArray, normal: Vector) -> Vector:
    """The direction to the middle of a shape, or the one nearest to it in which the sensor sees."""
    middle = minus(solid.pos_m, point)
    if solid.kind == PLANE:
        middle = (-solid.R[0, 2], -solid.R[1, 2], -solid.R[2, 2])
    way = _unit(middle)
    along = dot(way, normal)
    if along >= WIDEST:
        return way
    side = _unit(combine(way, -along, normal, 0.0, normal))
    return combine((0.0, 0.0, 0.0), math.cos(0.999 * WIDEST_RAD), normal, math.sin(0.999 * WIDEST_RAD), side)


@nb.njit(cache=True)
def _meet(solid: Record, faces: Faces, point: FloatArray, normal: FloatArray, way: Vector, seen: IntArray) -> float:
    """How far ahead a shape is met [m]; 0 from within it, and a miss where the sensor does not look or it is behind."""
    if dot(way, normal) < WIDEST:
        return MISS
    local, here = to_local(solid.R, way), to_local(solid.R, minus(point, solid.pos_m))
    if solid.kind == PLANE and here[2] <= 0.0:
        return 0.0
    t = ray_entry(solid, faces, here, local, seen)
    if t >= 0.0:
        return t
    return 0.0 if ray_entry(solid, faces, here, (-local[0], -local[1], -local[2]), seen) < 0.0 else MISS


@nb.njit(cache=True)
def _search(
    solid: Record, faces: Faces, point: FloatArray, normal: FloatArray, way: Vector, found: float, seen: IntArray
) -> tuple[Vector, float]:
    """The direction in which a shape is nearest from a point, and how far it is there."""
    step = FIRST_STEP_RAD
    for look in range(MAX_LOOKS):
        if step < LAST_STEP_RAD or found <= 0.0:
            break
        e1 = _unit(_cross(way, (0.0, 0.0, 1.0) if abs(way[2]) < 0.7 else (1.0, 0.0, 0.0)))
        e2 = _cross(way, e1)
        best, nearest = way, found
        for k in range(8):
            angle = k * math.pi / 4 + look * GOLDEN_RAD  # along a ridge too, whichever way it runs
            tried = _unit(combine(way, step * math.cos(angle), e1, step * math.sin(angle), e2))
            t = _meet(solid, faces, point, normal, tried, seen)
            if t < nearest:
                best, nearest = tried, t
        if nearest < found:
            way, found, step = best, nearest, min(2.0 * step, FIRST_STEP_RAD)
        else:
            step *= 0.7
    return way, found


@lean
def _bound(solid: Record) -> float:
    """Radius of a ball about a shape's place that holds it [m]."""
    a, b, c = solid.size_m[0], solid.size_m[1], solid.size_m[2]
    if solid.kind == SPHERE:
        return a
    if solid.kind == CAPSULE:
        return a + b
    if solid.kind == CYLINDER:
        return math.hypot(a, b)
    if solid.kind in (BOX, ELLIPSOID):
        return math.sqrt(a * a + b * b + c * c)
    return math.inf


@lean
def _length(v: Vector) -> float:
    return math.sqrt(dot(v, v))


@lean
def _unit(v: Vector) -> Vector:
    size = _length(v)
    return (v[0] / size, v[1] / size, v[2] / size) if size > 0.0 else (0.0, 0.0, 1.0)


@lean
def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
