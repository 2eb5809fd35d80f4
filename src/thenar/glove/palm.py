"""Which way a hand lies, and which hand it is, from the places of its nodes alone.

Shapes use n = frames; nodes are the 21 of `FINGER_NODES`.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue
from thenar.signals import FINGER_NODES, FloatArray, GloveFrame, GloveLayout, GloveSide

INDEX_KNUCKLE, MIDDLE_KNUCKLE, LITTLE_KNUCKLE = 5, 9, 17
FINGER_TIPS, FINGER_KNUCKLES = (8, 12, 16, 20), (5, 9, 13, 17)

# A small child's hand to a very large one, in whatever posture.
MIN_PALM_M, MAX_PALM_M = 0.04, 0.17
"""From the root to a knuckle of the four fingers."""
MAX_PALM_RATIO = 1.8
"""Of the longest of these to the shortest; 1.07 in recordings, above 2 where fingers are in another order."""
MIN_BONE_M, MAX_BONE_M = 0.004, 0.1
"""From a knuckle to the next joint and so on."""
MIN_WRONG_BEND_M = 0.015
"""Mean bend towards the back of the hand, beyond what joints allow, from which it is a hand of the other side."""


def palm_axes(finger_m: FloatArray, side: GloveSide) -> FloatArray:
    """Palm axes of every frame, from the root and the knuckles.

    Args:
        finger_m: Nodes in any axes, root at the origin [m]. Shape (n, 21, 3).
        side: Which hand it is.

    Returns:
        Rotations from palm axes to the given ones. Shape (n, 3, 3).
    """
    z = _unit(finger_m[:, MIDDLE_KNUCKLE])
    across = finger_m[:, INDEX_KNUCKLE] - finger_m[:, LITTLE_KNUCKLE]
    if side == "left":  # the index finger of a left hand is on the side of -x
        across = -across
    x = _unit(across - np.sum(across * z, axis=1, keepdims=True) * z)
    return np.stack([x, np.cross(z, x), z], axis=2)


def frame_in_palm_axes(
    stamp_s: float, side: GloveSide, layout: GloveLayout, position_m: FloatArray, quat_wxyz: FloatArray | None = None
) -> GloveFrame:
    """A frame from nodes in any axes, from any origin; one that cannot be a hand of that side is refused.

    Args:
        stamp_s: Time of the measurement [s].
        side: Which hand it is said to be.
        layout: The nodes' order.
        position_m: Places of the nodes [m]. Shape (k, 3).
        quat_wxyz: Orientations of the nodes; None: those of the palm. Shape (k, 4).
    """
    quat_wxyz = _NO_QUAT if quat_wxyz is None else quat_wxyz
    nodes, left = _FINGER_NODES[layout], side == "left"
    position_m, quat_wxyz, *extents_m, bend_m = _turn(np.ascontiguousarray(position_m), quat_wxyz, nodes, left)
    _judge_bones(*extents_m)
    _judge_side(bend_m, side)
    return GloveFrame(stamp_s=stamp_s, side=side, layout=layout, position_m=position_m, quat_wxyz=quat_wxyz)


def check_bones(finger_m: FloatArray) -> None:
    """Refuse nodes that no hand has: other units, another order, nothing but zeros. Shape (21, 3)."""
    _judge_bones(*_extents(finger_m))


def _judge_bones(shortest_m: float, longest_m: float, narrow_m: float, wide_m: float) -> None:
    alike = longest_m <= MAX_PALM_RATIO * shortest_m
    fits = shortest_m >= MIN_PALM_M and longest_m <= MAX_PALM_M
    if fits and alike and narrow_m >= MIN_BONE_M and wide_m <= MAX_BONE_M:
        return
    if not alike and MIN_PALM_M <= longest_m <= MAX_PALM_M:
        got = f"{1e3 * shortest_m:.0f} to {1e3 * longest_m:.0f} mm from the wrist to the knuckles"
        raise BadValue("palm", got, "lengths alike: is this the nodes' order? That of MANO and SMPL-X is layout smplx")
    if shortest_m / 1e3 >= MIN_PALM_M and longest_m / 1e3 <= MAX_PALM_M:
        raise BadValue("palm", f"{longest_m:.0f} m long", "metres; these look like millimetres: divide them by 1000")
    if not fits:
        got = f"{1e3 * shortest_m:.0f} to {1e3 * longest_m:.0f} mm from the wrist to the knuckles"
        raise BadValue("palm", got, f"{1e3 * MIN_PALM_M:.0f} to {1e3 * MAX_PALM_M:.0f} mm, nodes in metres")
    got = f"{1e3 * narrow_m:.0f} to {1e3 * wide_m:.0f} mm from joint to joint"
    raise BadValue("fingers", got, f"{1e3 * MIN_BONE_M:.0f} to {1e3 * MAX_BONE_M:.0f} mm: are the nodes in this order?")


def _judge_side(bend_m: float, side: GloveSide) -> None:
    """Refuse fingers that bend towards the back of the hand: it is the other hand."""
    if bend_m > MIN_WRONG_BEND_M:
        other = "left" if side == "right" else "right"
        raise BadValue("side", side, f"{other}: the fingers bend as those of a {other} hand do")


def detect_side(finger_m: FloatArray) -> GloveSide | None:
    """Which hand it is: fingers bend to the palm, so they tell the palm from the back.

    Returns:
        The side, or None where the fingers hardly bend (less than 2 mm on average).
    """
    R = palm_axes(finger_m, "right")
    reach_m = finger_m[:, FINGER_TIPS] - finger_m[:, FINGER_KNUCKLES]
    bend_m = float(np.mean(np.einsum("nki,ni->nk", reach_m, R[:, :, 1])))
    if abs(bend_m) < 0.002:
        return None
    return "right" if bend_m < 0.0 else "left"


_FINGER_NODES = {layout: np.array(nodes) for layout, nodes in FINGER_NODES.items()}
_NO_QUAT = np.empty((0, 4))


@nb.njit(cache=True)
def _extents(finger_m: FloatArray) -> tuple[float, float, float, float]:
    """Shortest and longest way from the root to a knuckle, shortest and longest bone of the fingers [m]."""
    palm_m, bone_m = np.empty(4), np.empty(12)
    for finger in range(4):
        first = 5 + 4 * finger
        palm_m[finger] = math.sqrt(((finger_m[first] - finger_m[0]) ** 2).sum())
        for bone in range(3):
            bone_m[3 * finger + bone] = math.sqrt(((finger_m[first + bone + 1] - finger_m[first + bone]) ** 2).sum())
    return palm_m.min(), palm_m.max(), bone_m.min(), bone_m.max()


@nb.njit(cache=True)
def _palm_axes(finger_m: FloatArray, left: bool) -> FloatArray:
    """`palm_axes` of one frame, for those that come live."""
    middle, across = finger_m[MIDDLE_KNUCKLE], finger_m[INDEX_KNUCKLE] - finger_m[LITTLE_KNUCKLE]
    z = middle / max(math.sqrt((middle * middle).sum()), 1e-12)
    x = (-across if left else across) - (-1.0 if left else 1.0) * (across * z).sum() * z
    x = x / max(math.sqrt((x * x).sum()), 1e-12)
    R = np.empty((3, 3))
    R[:, 0], R[:, 2] = x, z
    R[0, 1], R[1, 1], R[2, 1] = z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]
    return R


@nb.njit(cache=True)
def _turn(
    position_m: FloatArray, quat_wxyz: FloatArray, nodes: NDArray[np.int64], left: bool
) -> tuple[FloatArray, FloatArray, float, float, float, float, float]:
    """Nodes from the root in palm axes, their orientations, `_extents`, and how far the fingers bend back [m].

    Without orientations all are those of the palm.
    """
    count = len(position_m)
    away_m = position_m - position_m[nodes[0]]
    finger_m = away_m[nodes]
    shortest_m, longest_m, narrow_m, wide_m = _extents(finger_m)
    R = _palm_axes(finger_m, left)
    turned_m, turned_wxyz = np.empty((count, 3)), np.empty((count, 4))
    for node in range(count):
        for axis in range(3):
            turned_m[node, axis] = (away_m[node] * R[:, axis]).sum()
    bend_m = 0.0
    for finger in range(4):
        knuckle, tip = nodes[5 + 4 * finger], nodes[8 + 4 * finger]
        bend_m += 0.25 * (turned_m[tip, 1] - turned_m[knuckle, 1])
    turn = _quat_wxyz(R.T)
    for node in range(count):
        turned_wxyz[node] = _product(turn, quat_wxyz[node]) if len(quat_wxyz) else turn
    return turned_m, turned_wxyz, shortest_m, longest_m, narrow_m, wide_m, bend_m


@nb.njit(cache=True)
def _quat_wxyz(R: FloatArray) -> FloatArray:
    """`quaternions.from_matrices` of one matrix."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    quat = np.empty(4)
    best, most = 0, trace
    for k in range(3):
        if R[k, k] > most:
            best, most = k + 1, R[k, k]
    if best == 0:
        quat[:] = (1.0 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    else:
        i, j, k = best - 1, best % 3, (best + 1) % 3
        quat[0] = R[k, j] - R[j, k]
        quat[1 + i] = 1.0 + R[i, i] - R[j, j] - R[k, k]
        quat[1 + j] = R[j, i] + R[i, j]
        quat[1 + k] = R[k, i] + R[i, k]
    quat = quat / math.sqrt((quat * quat).sum())
    return -quat if quat[0] < 0.0 else quat


@nb.njit(cache=True)
def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """`quaternions.product` of two."""
    out = np.empty(4)
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]
    return out


def _unit(vectors: FloatArray) -> FloatArray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
