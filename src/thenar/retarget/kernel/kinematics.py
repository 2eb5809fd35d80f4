"""Where everything is at given angles, compiled: joint frames, points, and how fast points move."""

from __future__ import annotations

import math

from numba import njit

# Sums may be regrouped and fused, but NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, fastmath=FAST, error_model="numpy")
def forward(hand, variable_rad, pos, R, axis):
    """Fill the origin, orientation and axis of every moving joint in the root frame."""
    for i in range(hand.joints):
        angle = hand.ratio[i] * variable_rad[hand.variable[i]] + hand.offset_rad[i]
        s = math.sin(angle)
        c = math.cos(angle)
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


@njit(cache=True, fastmath=FAST, error_model="numpy", inline="always")
def place(joint, point, pos, R, out):
    """A point of a joint's frame (-1: the root's) in the root frame."""
    if joint < 0:
        out[0], out[1], out[2] = point[0], point[1], point[2]
    else:
        for a in range(3):
            out[a] = pos[joint, a] + R[joint, a, 0] * point[0] + R[joint, a, 1] * point[1] + R[joint, a, 2] * point[2]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def add_speed(hand, joint, at, along, sign, pos, axis, row):
    """Add to ``row`` how fast a point carried by a joint moves along a direction, per unit speed of each variable."""
    if joint < 0:
        return
    for m in range(hand.chain_length[joint]):
        k = hand.chain[joint, m]
        rx, ry, rz = at[0] - pos[k, 0], at[1] - pos[k, 1], at[2] - pos[k, 2]
        row[hand.variable[k]] += (
            sign
            * hand.ratio[k]
            * (
                along[0] * (axis[k, 1] * rz - axis[k, 2] * ry)
                + along[1] * (axis[k, 2] * rx - axis[k, 0] * rz)
                + along[2] * (axis[k, 0] * ry - axis[k, 1] * rx)
            )
        )
