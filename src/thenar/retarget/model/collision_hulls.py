"""Collision hulls of a hand: rounded convex hulls of a few points, and the pairs of them that can meet.

A sphere is one point and a capsule two, both exact. Boxes and cylinders get rounded edges of one millimetre.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar.hands.rotations import matrix_from_rpy
from thenar.hands.shapes import Box, Capsule, Cylinder, Ellipsoid, Hull, Shape, Sphere
from thenar.hands.spec import HandSpec
from thenar.retarget.kernel.distance import nearest_approaches
from thenar.retarget.kernel.solver_memory import HAND, PAIRS, WORK, as_record
from thenar.retarget.model.tree import KinematicTree
from thenar.signals import FloatArray

EDGE_M = 0.001
RING = 12
# Corners of a polygon stand out of the circle and its sides lie inside: this makes the areas equal.
RING_SCALE = 1.017
ENOUGH_M = 0.0015  # pairs that come as near as this need no closer look


@dataclass(frozen=True, kw_only=True, eq=False)
class CollisionHull:
    """One hull, in the frame of the moving joint that carries it."""

    link: str
    joint: int
    """-1 stands still."""
    vertex_m: FloatArray
    radius_m: float


def build_collision_hulls(hand: HandSpec, tree: KinematicTree) -> list[CollisionHull]:
    """Hulls of everything that collides."""
    hulls = []
    for link in hand.links:
        frame = tree.links[link.name]
        for shape in link.planned_shapes:
            vertex_m, radius_m = rounded_hull(shape)
            vertex_m = frame.pos_m + vertex_m @ frame.R.T
            hulls.append(CollisionHull(link=link.name, joint=frame.joint, vertex_m=vertex_m, radius_m=radius_m))
    return hulls


def hull_arrays(tree: KinematicTree, hulls: list[CollisionHull]) -> dict[str, ArrayLike]:
    """Hulls as the solver reads them."""
    centre = [0.5 * (hull.vertex_m.min(axis=0) + hull.vertex_m.max(axis=0)) for hull in hulls]
    lever = np.zeros((len(hulls), max(len(chain) for chain in tree.chains)))
    for row, hull in enumerate(hulls):
        reach_m = float(np.linalg.norm(hull.vertex_m, axis=1).max()) + hull.radius_m
        for place, joint in reversed(list(enumerate(tree.chains[hull.joint] if hull.joint >= 0 else ()))):
            lever[row, place] = reach_m
            reach_m += float(np.linalg.norm(tree.pos_m[joint]))
    count = [len(hull.vertex_m) for hull in hulls]
    return {
        "hulls": len(hulls),
        "hull_joint": [hull.joint for hull in hulls],
        "hull_first": np.cumsum([0, *count[:-1]]),
        "hull_count": count,
        "hull_radius_m": [hull.radius_m for hull in hulls],
        "hull_centre_m": centre,
        "hull_bound_m": [
            np.linalg.norm(hull.vertex_m - middle, axis=1).max() + hull.radius_m
            for hull, middle in zip(hulls, centre, strict=True)
        ],
        "hull_lever_m": lever,
        "vertex_m": np.concatenate([hull.vertex_m for hull in hulls]),
    }


def possible_pairs(hand: HandSpec, hulls: list[CollisionHull]) -> NDArray[np.int64]:
    """Pairs of hulls that collision looks at: not of one joint, of parent and child, or of links left alone. (n, 2)."""
    ignored = {frozenset(pair) for pair in hand.no_contact}
    ignored |= {frozenset((joint.parent, joint.child)) for joint in hand.joints}
    return np.array(
        [
            (a, b)
            for a, one in enumerate(hulls)
            for b, other in enumerate(hulls[a + 1 :], start=a + 1)
            if one.joint != other.joint and one.link != other.link and frozenset((one.link, other.link)) not in ignored
        ]
    )


def nearest_approach_m(values: Mapping[str, ArrayLike], pairs: NDArray[np.int64], *, postures: int) -> FloatArray:
    """Smallest distance of each pair over random postures within the limits; below 1.5 mm nobody looks closer [m].

    Args:
        values: Fields of the hand's record, pairs left out.
        pairs: Pairs of hulls. Shape (n, 2).
        postures: How many to try.
    """
    lower_rad, upper_rad = np.asarray(values["lower_rad"]), np.asarray(values["upper_rad"])
    rng = np.random.default_rng(0)
    share = rng.random((postures, len(lower_rad)))
    # A third of the postures has half of its joints at an end: there the farthest reaches are.
    ends = (np.arange(postures) % 3 == 1)[:, None] & (rng.random(share.shape) < 0.5)
    posture_rad = lower_rad + np.where(ends, np.round(share), share) * (upper_rad - lower_rad)
    nearest_m = np.ones(len(pairs))
    for first in range(0, len(pairs), PAIRS):  # far more pairs are possible than ever come near
        part = slice(first, min(first + PAIRS, len(pairs)))
        record = as_record(HAND, {**values, "pair": pairs[part], "pairs": part.stop - first})
        nearest_approaches(record, np.zeros(1, WORK), posture_rad, ENOUGH_M, nearest_m[part])
    return nearest_m


def min_distance_m(hand: NDArray[np.void], variable_rad: FloatArray) -> float:
    """Smallest distance of any two hulls of a hand's record in one posture; below 1.5 mm one such [m]."""
    nearest_m = np.ones(int(hand["pairs"][0]))
    nearest_approaches(hand, np.zeros(1, WORK), np.ascontiguousarray(variable_rad)[None], ENOUGH_M, nearest_m)
    return float(nearest_m.min(initial=1.0))


def rounded_hull(shape: Shape) -> tuple[FloatArray, float]:
    """Vertices and radius of a shape, in its link [m]."""
    angle = np.arange(RING) * (2 * np.pi / RING)
    match shape:
        case Sphere():
            return np.array([shape.centre_m]), shape.radius_m
        case Capsule():
            return np.array([shape.start_m, shape.end_m]), shape.radius_m
        case Hull():
            return np.array(shape.points_m), shape.radius_m
        case Box():
            corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            return _posed(corners * (np.asarray(shape.half_m) - EDGE_M), shape), EDGE_M
        case Cylinder():
            start, end = np.asarray(shape.start_m), np.asarray(shape.end_m)
            along = (end - start) / np.linalg.norm(end - start)
            side = np.cross(along, [1.0, 0.0, 0.0] if abs(along[0]) < 0.9 else [0.0, 1.0, 0.0])
            side = side / np.linalg.norm(side)
            ring = np.outer(np.cos(angle), side) + np.outer(np.sin(angle), np.cross(along, side))
            ring = ring * (shape.radius_m - EDGE_M) * RING_SCALE
            return np.concatenate([ring + start + EDGE_M * along, ring + end - EDGE_M * along]), EDGE_M
        case Ellipsoid():
            # Rings of a globe; shrunk by the edge, which is only right on the axes but errs by less than the edge.
            height = np.array([-0.85, -0.4, 0.0, 0.4, 0.85])
            globe = [(np.cos(a) * np.sqrt(1 - h * h), np.sin(a) * np.sqrt(1 - h * h), h) for h in height for a in angle]
            globe += [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0)]
            return _posed(np.array(globe) * (np.asarray(shape.half_m) - EDGE_M), shape), EDGE_M


def _posed(points_m: FloatArray, shape: Box | Ellipsoid) -> FloatArray:
    return np.asarray(shape.centre_m) + points_m @ matrix_from_rpy(shape.rpy_rad).T
