"""Kinematics of a hand, compiled: joint frames, key points and Jacobians at given angles."""

from __future__ import annotations

import math

from numba import njit

# Of every compiled function. Sums may be regrouped and fused, but NaN and infinity keep their meaning.
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"}}


@njit(**OPTIONS)
def minus(a, b):
    """Difference of two vectors."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit(**OPTIONS)
def dot(a, b):
    """Scalar product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(**OPTIONS)
def cross(a, b):
    """Vector product of two vectors."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit(**OPTIONS)
def forward_kinematics(hand, variable_rad, pos, R, axis):
    """Fill the origin, orientation and axis of every moving joint in the root frame."""
    for i in range(hand.joints):
        angle = hand.ratio[i] * variable_rad[hand.variable[i]] + hand.offset_rad[i]
        s, c = math.sin(angle), math.cos(angle)
        x, y, z = hand.axis[i, 0], hand.axis[i, 1], hand.axis[i, 2]
        v = 1.0 - c
        t00, t01, t02 = c + x * x * v, x * y * v - z * s, x * z * v + y * s
        t10, t11, t12 = y * x * v + z * s, c + y * y * v, y * z * v - x * s
        t20, t21, t22 = z * x * v - y * s, z * y * v + x * s, c + z * z * v
        up = hand.parent[i]
        px, py, pz = hand.pos_m[i, 0], hand.pos_m[i, 1], hand.pos_m[i, 2]
        for a in range(3):
            if up < 0:
                pos[i, a] = hand.pos_m[i, a]
                b0, b1, b2 = hand.R[i, a, 0], hand.R[i, a, 1], hand.R[i, a, 2]
            else:
                r0, r1, r2 = R[up, a, 0], R[up, a, 1], R[up, a, 2]
                pos[i, a] = pos[up, a] + r0 * px + r1 * py + r2 * pz
                b0 = r0 * hand.R[i, 0, 0] + r1 * hand.R[i, 1, 0] + r2 * hand.R[i, 2, 0]
                b1 = r0 * hand.R[i, 0, 1] + r1 * hand.R[i, 1, 1] + r2 * hand.R[i, 2, 1]
                b2 = r0 * hand.R[i, 0, 2] + r1 * hand.R[i, 1, 2] + r2 * hand.R[i, 2, 2]
            axis[i, a] = b0 * x + b1 * y + b2 * z
            R[i, a, 0] = b0 * t00 + b1 * t10 + b2 * t20
            R[i, a, 1] = b0 * t01 + b1 * t11 + b2 * t21
            R[i, a, 2] = b0 * t02 + b1 * t12 + b2 * t22


@njit(**OPTIONS, inline="always")
def transform_point(joint, point, pos, R, out):
    """A point of a joint's frame (-1: the root's) in the root frame."""
    if joint < 0:
        out[0], out[1], out[2] = point[0], point[1], point[2]
    else:
        for a in range(3):
            out[a] = pos[joint, a] + R[joint, a, 0] * point[0] + R[joint, a, 1] * point[1] + R[joint, a, 2] * point[2]


@njit(**OPTIONS)
def add_jacobian(hand, joint, at, along, sign, pos, axis, row):
    """Add to ``row`` the Jacobian of a point carried by a joint, along a direction: d(along @ point) / d(variables)."""
    if joint < 0:
        return
    for m in range(hand.chain_length[joint]):
        k = hand.chain[joint, m]
        row[hand.variable[k]] += sign * hand.ratio[k] * dot(along, cross(axis[k], minus(at, pos[k])))


@njit(**OPTIONS)
def points_of_postures(hands, works, variable_rad, out):
    """Fill the knuckle and key points of each finger for every posture. Shapes (n, v) and (n, p + f, 3)."""
    hand, w = hands[0], works[0]
    for n in range(variable_rad.shape[0]):
        forward_kinematics(hand, variable_rad[n], w.pos, w.R, w.axis)
        row = 0
        for finger in range(hand.fingers):
            transform_point(hand.knuckle_joint[finger], hand.knuckle_m[finger], w.pos, w.R, out[n, row])
            row += 1
            for i in range(hand.finger_first[finger], hand.finger_first[finger + 1]):
                transform_point(hand.point_joint[i], hand.point_m[i], w.pos, w.R, out[n, row])
                row += 1
