"""Objects that lie still on a skin: their contact is what it has been on average, not what the last step made of it.

An engine holds a cylinder or a can by a few points of its rim, others in every step, and their centre of force jumps by
a tenth of a millimetre about the place where it must be on average for the object to stay. While nothing moves and the
force stays the same, centre, direction and spread of the contact points are averaged over the frames; the force is
always that of now. Whatever moves, or is pushed, starts anew.
"""

from __future__ import annotations

import math

import numba as nb

from thenar.arrays import FloatArray
from thenar.touch.solver.groups import set_leans
from thenar.touch.solver.touch_records import Record, Scene, Vector, dot, minus, to_local, to_world

STILL_M, STILL_RAD = 2e-5, 2e-3  # an object that has moved by more than this does not lie still
SAME_LOAD = 5e-3  # where the load has changed by more than this share of it, something pushes
STRAY_M = 3e-4  # a centre of force that is farther from the mean than this is another one
MAX_STILL = 200  # frames


@nb.njit(cache=True)
def average_still(group: Record, window: Record, scene: Scene, known: bool) -> None:
    """Give a contact whose object lies still the mean place, direction and spread of its points."""
    link = scene.shapes[group.skin].body
    R, at_m = scene.body_R[link], scene.body_pos_m[link]
    place = to_local(R, minus(scene.body_pos_m[group.partner], at_m))
    origin, normal = to_local(R, minus(group.origin, at_m)), to_local(R, group.normal)
    if not known or not _lies_still(group, window, R, scene.body_R[group.partner], place, origin):
        window.still = 0
        window.lies_at_m[:] = place
        window.mean_n = group.weight
        window.mean_normal[:] = normal
        window.mean_origin_m[:] = origin
        for a in range(3):
            for b in range(3):
                window.lies_R[a, b] = _in_link(R, scene.body_R[group.partner], a, b)
                window.mean_spread_m2[a, b] = 0.0
    window.still = min(window.still + 1, MAX_STILL)
    share = 1.0 / window.still
    away = minus(origin, window.mean_origin_m)
    for a in range(3):
        window.mean_origin_m[a] += share * away[a]
        window.mean_normal[a] += share * (normal[a] - window.mean_normal[a])
        for b in range(3):
            here = 0.0
            for c in range(3):
                for d in range(3):
                    here += R[c, a] * group.spread[c, d] * R[d, b]
            window.mean_spread_m2[a, b] += share * (here - window.mean_spread_m2[a, b])
    if window.still == 1:
        return
    size = math.sqrt(dot(window.mean_normal, window.mean_normal))
    turned, moved = to_world(R, window.mean_normal), to_world(R, window.mean_origin_m)
    for a in range(3):
        group.normal[a], group.origin[a] = turned[a] / size, at_m[a] + moved[a]
        for b in range(3):
            group.spread[a, b] = 0.0
            for c in range(3):
                for d in range(3):
                    group.spread[a, b] += R[a, c] * window.mean_spread_m2[c, d] * R[b, d]
    set_leans(group)


@nb.njit(cache=True)
def _lies_still(
    group: Record,
    window: Record,
    R: FloatArray,
    object_R: FloatArray,
    place: Vector,
    origin: Vector,
) -> bool:
    """Whether object, load and centre of force are what they were, all in the link's frame ``R``."""
    moved = minus(place, window.lies_at_m)
    if dot(moved, moved) > STILL_M**2 or abs(group.weight - window.mean_n) > SAME_LOAD * group.weight:
        return False
    away = minus(origin, window.mean_origin_m)
    if dot(away, away) > STRAY_M**2:
        return False
    for a in range(3):
        for b in range(3):
            if abs(_in_link(R, object_R, a, b) - window.lies_R[a, b]) > STILL_RAD:
                return False
    return True


@nb.njit(cache=True)
def _in_link(R: FloatArray, object_R: FloatArray, a: int, b: int) -> float:
    """One entry of the object's rotation in the link's frame."""
    return R[0, a] * object_R[0, b] + R[1, a] * object_R[1, b] + R[2, a] * object_R[2, b]
