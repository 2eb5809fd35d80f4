"""Contacts on a hand's skin, gathered by link, partner body and direction, and averaged while an object lies still.

An engine holds a cylinder or a can by a few points of its rim, others in every step, and their centre of force jumps by
a tenth of a millimetre about the place where it must be on average for the object to stay. While nothing moves and the
force stays the same, centre, direction and spread of the contact points are averaged over the frames; the force is
always that of now. Whatever moves, or is pushed, starts anew.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.arrays import FloatArray
from thenar.touch.solver.influence import MAX_CELLS
from thenar.touch.solver.touch_records import (
    Contacts,
    Record,
    Scene,
    Skin,
    Vector,
    dot,
    minus,
    to_local,
    to_world,
)

SAME_DIRECTION = math.cos(math.radians(30.0))
SPREAD_M = (
    1e-3  # contact points that lie this far from their centre (root mean square, by force) fix how the object leans
)
FIRST_GROUPS = 96  # there is room for, until more contacts come
STILL_M, STILL_RAD = 2e-5, 2e-3  # an object that has moved by more than this does not lie still
SAME_LOAD = 5e-3  # where the load has changed by more than this share of it, something pushes
STRAY_M = 3e-4  # a centre of force that is farther from the mean than this is another one ...
STRAY = 0.04  # ... or than this share of how far its points are spread: tall things rock, and shift it by more
MAX_STILL = 200  # frames

GROUP = np.dtype(
    [
        ("skin", np.int64),  # number of the skin's shape, of several that are one surface the first
        ("link", np.int64),  # number among the skinned links
        ("partner", np.int64),  # number of the partner's body
        ("index", np.int64),  # among the groups of this skin and partner
        ("points", np.int64),
        ("weight", np.float64),  # sum of normal forces
        ("force", np.float64, 3),  # sum of normal forces times outward normals
        ("moment", np.float64, 3),  # sum of normal forces times positions
        ("spread", np.float64, (3, 3)),  # of the contact points about their centre, weighted by force [m^2]
        ("low", np.float64, 3),  # corners of the box around the contact points
        ("high", np.float64, 3),
        ("friction", np.float64, 3),  # tangential force on the skin
        ("slip_n", np.float64),  # at which it would slide
        ("force_n", np.float64),  # size of the force: less than the weight where normals differ
        ("leans", np.int64),  # directions in which the contact points are spread: none, one or two
        ("line", np.float64, 3),  # that in which they are spread most
        ("window", np.int64),
        ("solved", np.bool_),
        ("modulus_pa", np.float64),
        ("thickness_m", np.float64),
        ("grid", np.int64),
        ("cell_u", np.float64),
        ("cell_v", np.float64),
        ("origin", np.float64, 3),
        ("normal", np.float64, 3),
        ("e1", np.float64, 3),
        ("e2", np.float64, 3),
        ("height", np.float64, MAX_CELLS),
        ("gap", np.float64, MAX_CELLS),
        ("wide", np.float64, (MAX_CELLS, 2)),  # cells at an edge reach up to it: their sizes, in cells
        ("shift", np.float64, (MAX_CELLS, 2)),  # and where their middles are
    ]
)
"""Contacts that press one link in one direction, and the window laid over them."""


@nb.njit(cache=True)
def gather(contacts: Contacts, shapes: Record, skin: Skin, groups: Record) -> int:
    """Contacts on the skin of this hand, by link, partner body and direction; returns the number of groups."""
    count = 0
    for k in range(contacts.pair.shape[0]):
        position, normal, force = contacts.position_m[k], contacts.normal[k], contacts.force_n[k]
        press = dot(force, normal)
        for side in range(2):
            if skin.link_of_shape[contacts.pair[k, side]] < 0 or not press > 0.0:
                continue
            surface, partner = (
                int(skin.surface_of_shape[contacts.pair[k, side]]),
                shapes[contacts.pair[k, 1 - side]].body,
            )
            sign = 1.0 if side == 0 else -1.0  # the force on the first shape is the opposite of that on the second
            found = _find_group(groups, count, surface, partner, sign, normal)
            if found == len(groups):
                continue
            group = groups[found]
            if found == count:
                count += 1
                group.skin, group.link, group.partner = surface, skin.link_of_shape[surface], partner
            group.points += 1
            group.weight += press
            group.slip_n += contacts.slip_n[k]
            for a in range(3):
                out = sign * normal[a]
                group.force[a] += press * out
                group.moment[a] += press * position[a]
                group.low[a], group.high[a] = min(group.low[a], position[a]), max(group.high[a], position[a])
                # Force on the skin is -sign * force; its normal part is -press * out.
                group.friction[a] += -sign * force[a] + press * out
                for b in range(3):
                    group.spread[a, b] += press * position[a] * position[b]
    for g in range(count):
        group = groups[g]
        group.force_n = math.sqrt(dot(group.force, group.force))
        for a in range(3):
            group.origin[a] = group.moment[a] / group.weight
            group.normal[a] = group.force[a] / group.force_n
        for a in range(3):
            for b in range(3):
                group.spread[a, b] = group.spread[a, b] / group.weight - group.origin[a] * group.origin[b]
        set_leans(group)
    return count


@nb.njit(cache=True)
def _find_group(groups: Record, count: int, skin: int, partner: int, sign: float, normal: Record) -> int:
    """Number of the group that a contact belongs to, or of a new, empty one."""
    index = 0
    for g in range(count):
        group = groups[g]
        if group.skin == skin and group.partner == partner:
            index += 1
            if sign * dot(group.force, normal) > SAME_DIRECTION * math.sqrt(dot(group.force, group.force)):
                return g
    if count < len(groups):
        group = groups[count]
        group.index, group.points, group.weight, group.slip_n, group.solved = index, 0, 0.0, 0.0, False
        group.force[:] = group.moment[:] = group.friction[:] = 0.0
        group.spread[:] = 0.0
        group.low[:], group.high[:] = math.inf, -math.inf
    return count


@nb.njit(cache=True)
def set_leans(group: Record) -> None:
    """Find in which directions the contact points are spread: there their centre is the centre of pressure."""
    covariance = group.spread
    trace, square, largest = 0.0, 0.0, 0
    for a in range(3):
        for b in range(3):
            square += covariance[a, b] ** 2
        trace += covariance[a, a]
        if covariance[a, a] > covariance[largest, largest]:
            largest = a
    # Points lie nearly in a plane: two eigenvalues matter, with this sum and this sum of squares.
    product = max(0.0, (trace * trace - square) / 2)
    apart = math.sqrt(max(0.0, trace * trace / 4 - product))
    group.leans = (trace / 2 + apart > SPREAD_M**2) + (trace / 2 - apart > SPREAD_M**2)
    if group.leans == 1:  # every column of the covariance then points along the line
        column = covariance[:, largest]
        group.line[:] = column / math.sqrt(dot(column, column))


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
    away, spread_m2 = minus(origin, window.mean_origin_m), group.spread[0, 0] + group.spread[1, 1] + group.spread[2, 2]
    if dot(away, away) > max(STRAY_M**2, STRAY**2 * spread_m2):
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
