"""Colliding parts of a hand as rounded convex cores: a few points, and a radius that swells their hull.

A sphere is one point and a capsule two, both exact. Boxes and cylinders get rounded edges of one millimetre.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thenar.hands.rotations import matrix_from_rpy
from thenar.hands.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from thenar.hands.spec import HandSpec
from thenar.retarget.model.tree import Tree
from thenar.signals import FloatArray

EDGE_M = 0.001
RING = 12
# Corners of a polygon stand out of the circle and its sides lie inside: this makes the areas equal.
RING_SCALE = 1.017


@dataclass(frozen=True, kw_only=True, eq=False)
class Core:
    """One part, in the frame of the moving joint that carries it."""

    link: str
    joint: int
    """-1 stands still."""
    vertex_m: FloatArray
    radius_m: float


def find_cores(hand: HandSpec, tree: Tree) -> list[Core]:
    """All colliding parts."""
    cores = []
    for link in hand.links:
        place = tree.links[link.name]
        for shape in link.collision_shapes:
            vertex_m, radius_m = _core(shape)
            cores.append(
                Core(
                    link=link.name,
                    joint=place.joint,
                    vertex_m=place.pos_m + vertex_m @ place.R.T,
                    radius_m=radius_m,
                )
            )
    return cores


def may_meet(hand: HandSpec) -> set[frozenset[str]]:
    """Pairs of links that the hand's collision looks at: not parent and child, not those left alone."""
    names = [link.name for link in hand.links]
    apart = {frozenset(pair) for pair in hand.no_contact}
    apart |= {frozenset((joint.parent, joint.child)) for joint in hand.joints}
    every = {frozenset((a, b)) for n, a in enumerate(names) for b in names[n + 1 :]}
    return every - apart


def _core(shape: Shape) -> tuple[FloatArray, float]:
    match shape:
        case Sphere():
            return np.array([shape.centre_m]), shape.radius_m
        case Capsule():
            return np.array([shape.start_m, shape.end_m]), shape.radius_m
        case Box():
            corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            return _posed(corners * (np.asarray(shape.half_m) - EDGE_M), shape), EDGE_M
        case Cylinder():
            start, end = np.asarray(shape.start_m), np.asarray(shape.end_m)
            along = (end - start) / np.linalg.norm(end - start)
            side = np.cross(along, [1.0, 0.0, 0.0] if abs(along[0]) < 0.9 else [0.0, 1.0, 0.0])
            side = side / np.linalg.norm(side)
            angle = np.arange(RING) * (2 * np.pi / RING)
            ring = np.outer(np.cos(angle), side) + np.outer(np.sin(angle), np.cross(along, side))
            ring = ring * (shape.radius_m - EDGE_M) * RING_SCALE
            return np.concatenate([ring + start + EDGE_M * along, ring + end - EDGE_M * along]), EDGE_M
        case Ellipsoid():
            # Rings of a globe; shrunk by the edge, which is only right on the axes but errs by less than the edge.
            height = np.array([-0.85, -0.4, 0.0, 0.4, 0.85])
            angle = np.arange(RING) * (2 * np.pi / RING)
            globe = [(np.cos(a) * np.sqrt(1 - h * h), np.sin(a) * np.sqrt(1 - h * h), h) for h in height for a in angle]
            globe += [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0)]
            return _posed(np.array(globe) * (np.asarray(shape.half_m) - EDGE_M), shape), EDGE_M


def _posed(points_m: FloatArray, shape: Box | Ellipsoid) -> FloatArray:
    return np.asarray(shape.centre_m) + points_m @ matrix_from_rpy(shape.rpy_rad).T
