"""Contacts on a hand's skin, gathered by link, partner body and direction."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.touch.solver.collision import FloatArray, IntArray, Record
from thenar.touch.solver.influence import LARGEST_GRID

SAME_DIRECTION = math.cos(math.radians(30.0))
SPREAD_M = 1e-3  # contact points this far apart in both directions fix the tilt of a flat contact
MOST_GROUPS = 96
CELLS = LARGEST_GRID * LARGEST_GRID

GROUP = np.dtype(
    [
        ("skin", np.int64),  # number of the skin's solid
        ("link", np.int64),  # number among the skinned links
        ("partner", np.int64),  # number of the partner's body
        ("turn", np.int64),
        ("points", np.int64),
        ("weight", np.float64),
        ("force", np.float64, 3),  # sum of normal forces times outward normals
        ("moment", np.float64, 3),  # sum of normal forces times positions
        ("spread", np.float64, (3, 3)),
        ("friction", np.float64, 3),  # tangential force on the skin
        ("force_n", np.float64),  # size of the force
        ("flat", np.bool_),  # contact points are spread in two directions
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
        ("height", np.float64, CELLS),
        ("gap", np.float64, CELLS),
    ]
)
"""Contacts that press one link in one direction, and the window laid over them."""


@nb.njit(cache=True)
def gather(
    pair: IntArray,
    position: FloatArray,
    normal: FloatArray,
    force: FloatArray,
    solids: Record,
    link_of_solid: IntArray,
    groups: Record,
) -> int:
    """Contacts on the skin of this hand, by link, partner body and direction; returns the number of groups."""
    count = 0
    for k in range(pair.shape[0]):
        for side in range(2):
            skin, other = pair[k, side], pair[k, 1 - side]
            link = link_of_solid[skin]
            if link < 0:
                continue
            sign = 1.0 if side == 0 else -1.0
            press = 0.0
            for a in range(3):  # the force on the first solid is the opposite of that on the second
                press += force[k, a] * normal[k, a]
            if press <= 0.0:
                continue
            partner = solids[other].body
            found, turn = -1, 0
            for g in range(count):
                group = groups[g]
                if group.skin == skin and group.partner == partner:
                    turn += 1
                    size = math.sqrt(group.force[0] ** 2 + group.force[1] ** 2 + group.force[2] ** 2)
                    dot = 0.0
                    for a in range(3):
                        dot += group.force[a] * sign * normal[k, a]
                    if dot > SAME_DIRECTION * size:
                        found = g
                        break
            if found < 0:
                if count == MOST_GROUPS:
                    continue
                found = count
                count += 1
                group = groups[found]
                group.skin, group.link, group.partner, group.turn = skin, link, partner, turn
                group.points, group.weight, group.solved = 0, 0.0, False
                for a in range(3):
                    group.force[a] = group.moment[a] = group.friction[a] = 0.0
                    for b in range(3):
                        group.spread[a, b] = 0.0
            group = groups[found]
            group.points += 1
            group.weight += press
            for a in range(3):
                out = sign * normal[k, a]
                group.force[a] += press * out
                group.moment[a] += press * position[k, a]
                # Force on the skin is -sign * force; its normal part is -press * out.
                group.friction[a] += -sign * force[k, a] + press * out
                for b in range(3):
                    group.spread[a, b] += press * position[k, a] * position[k, b]
    for g in range(count):
        _conclude(groups[g])
    return count


@nb.njit(cache=True)
def _conclude(group: Record) -> None:
    """Size, direction and centre of a group's force, once all its contacts are in."""
    group.force_n = math.sqrt(group.force[0] ** 2 + group.force[1] ** 2 + group.force[2] ** 2)
    for a in range(3):
        group.origin[a] = group.moment[a] / group.weight
        group.normal[a] = group.force[a] / group.force_n
    group.flat = group.points >= 3 and _is_flat(group)


@nb.njit(cache=True)
def _is_flat(group: Record) -> bool:
    """Whether contact points are spread in two directions: then their centre is the centre of pressure."""
    trace, square = 0.0, 0.0
    c = np.empty((3, 3))
    for a in range(3):
        for b in range(3):
            c[a, b] = group.spread[a, b] / group.weight - group.origin[a] * group.origin[b]
        trace += c[a, a]
    for a in range(3):
        for b in range(3):
            square += c[a, b] * c[b, a]
    # Points lie nearly in a plane: two eigenvalues matter, with this sum and this sum of squares.
    product = max(0.0, (trace * trace - square) / 2)
    smaller = trace / 2 - math.sqrt(max(0.0, trace * trace / 4 - product))
    return smaller > SPREAD_M * SPREAD_M
