"""Which way a hand lies, and which hand it is, from the places of its nodes alone.

Shapes use n = frames; nodes are the 21 of `FINGER_INDEX`.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue
from thenar.glove.quaternions import fill_quat, times
from thenar.signals import FINGER_INDEX, FloatArray, GloveFrame, GloveLayout, GloveSide

INDEX_KNUCKLE, MIDDLE_KNUCKLE, LITTLE_KNUCKLE = 5, 9, 17
FINGER_TIPS, FINGER_KNUCKLES = (8, 12, 16, 20), (5, 9, 13, 17)

# A small child's hand to a very large one, in whatever posture.
MIN_PALM_M, MAX_PALM_M = 0.04, 0.17
"""From the root to a knuckle of the four fingers."""
MAX_PALM_RATIO = 1.8
"""Of the longest of these to the shortest; 1.07 in recordings, above 2 where fingers are in another order."""
MIN_BONE_M, MAX_BONE_M = 0.004, 0.1
"""From a knuckle, or the thumb's first joint, to the next joint and so on."""
MIN_ACROSS_M = 0.01
"""From the knuckle of the index finger to that of the little finger, across the middle one's direction; 31 and 64 mm in
recordings. Below it the palm's axes are not known."""
MAX_EXTENSION_RAD = 0.26
"""How far fingers bend back beyond their knuckles, on average, from which it is a hand of the other side: people bend
knuckles back, and the joints after them by 0.12 in a recording; those of the other hand bend as a fist does."""


def palm_axes(finger_m: FloatArray, side: GloveSide) -> FloatArray:
    """Palm axes of every frame, from the root and the knuckles.

    Args:
        finger_m: Nodes in any axes, root at the origin [m]. Shape (n, 21, 3).
        side: Which hand it is.

    Returns:
        Rotations from palm axes to the given ones. Shape (n, 3, 3).
    """
    turn = np.empty((len(finger_m), 3, 3))
    for n, frame in enumerate(np.ascontiguousarray(finger_m)):
        _fill_turn(frame, side == "left", turn[n])
    return np.swapaxes(turn, 1, 2)


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
    count, given = len(position_m), _NO_QUAT if quat_wxyz is None else quat_wxyz
    turned_m, turned_wxyz = np.empty((count, 3)), np.empty((count, 4))
    nodes, left = FINGER_INDEX[layout], side == "left"
    extents_m, flexion_rad = _turn(np.ascontiguousarray(position_m), given, nodes, left, turned_m, turned_wxyz)
    _judge_bones(*extents_m)
    _judge_side(flexion_rad, side)
    return GloveFrame(stamp_s=stamp_s, side=side, layout=layout, position_m=turned_m, quat_wxyz=turned_wxyz)


def check_bones(finger_m: FloatArray) -> None:
    """Refuse nodes that no hand has: other units, another order, nothing but zeros. Shape (21, 3), from the root."""
    _judge_bones(*_extents(finger_m))


def _judge_bones(
    shortest_m: float, longest_m: float, narrow_m: float, wide_m: float, thumb_m: float, across_m: float
) -> None:
    alike = longest_m <= MAX_PALM_RATIO * shortest_m
    fits = shortest_m >= MIN_PALM_M and longest_m <= MAX_PALM_M
    bones = narrow_m >= MIN_BONE_M and wide_m <= MAX_BONE_M
    if fits and alike and bones and thumb_m <= MAX_PALM_M and across_m >= MIN_ACROSS_M:
        return
    if not alike and MIN_PALM_M <= longest_m <= MAX_PALM_M:
        got = f"{1e3 * shortest_m:.0f} to {1e3 * longest_m:.0f} mm from the wrist to the knuckles"
        raise BadValue("palm", got, "lengths alike: is this the nodes' order? That of MANO and SMPL-X is layout smplx")
    if shortest_m / 1e3 >= MIN_PALM_M and longest_m / 1e3 <= MAX_PALM_M:
        raise BadValue("palm", f"{longest_m:.0f} m long", "metres; these look like millimetres: divide them by 1000")
    if not fits:
        got = f"{1e3 * shortest_m:.0f} to {1e3 * longest_m:.0f} mm from the wrist to the knuckles"
        raise BadValue("palm", got, f"{1e3 * MIN_PALM_M:.0f} to {1e3 * MAX_PALM_M:.0f} mm, nodes in metres")
    if not bones:
        got = f"{1e3 * narrow_m:.0f} to {1e3 * wide_m:.0f} mm from joint to joint"
        wanted = f"{1e3 * MIN_BONE_M:.0f} to {1e3 * MAX_BONE_M:.0f} mm: are the nodes in this order?"
        raise BadValue("fingers", got, wanted)
    if thumb_m > MAX_PALM_M:
        raise BadValue("thumb", f"{1e3 * thumb_m:.0f} mm from the wrist", f"at most {1e3 * MAX_PALM_M:.0f} mm")
    raise BadValue("palm", f"{1e3 * across_m:.0f} mm wide across the knuckles", f"at least {1e3 * MIN_ACROSS_M:.0f} mm")


def _judge_side(flexion_rad: float, side: GloveSide) -> None:
    """Refuse fingers whose joints bend towards the back of the hand: it is the other hand."""
    if flexion_rad < -MAX_EXTENSION_RAD:
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


_NO_QUAT = np.empty((0, 4))


@nb.njit(cache=True)
def _length(x: float, y: float, z: float) -> float:
    return math.sqrt(x * x + y * y + z * z)


@nb.njit(cache=True)
def _extents(finger_m: FloatArray) -> tuple[float, float, float, float, float, float]:
    """Shortest and longest way from the root to a knuckle of the four fingers, shortest and longest bone of all five.

    Then the way from the root to the thumb, and how far the knuckles of index and little finger are apart across the
    middle finger's [m]. All are NaN where a number is missing.
    """
    shortest_m, longest_m, narrow_m, wide_m, thumb_m, total_m = 1e9, 0.0, 1e9, 0.0, 0.0, 0.0
    for first in (1, 5, 9, 13, 17):
        for node in range(first, first + 4):
            to = 0 if node == first else node - 1
            x, y = finger_m[node, 0] - finger_m[to, 0], finger_m[node, 1] - finger_m[to, 1]
            length_m = _length(x, y, finger_m[node, 2] - finger_m[to, 2])
            total_m += length_m
            if to > 0:
                narrow_m, wide_m = min(narrow_m, length_m), max(wide_m, length_m)
            elif first > 1:
                shortest_m, longest_m = min(shortest_m, length_m), max(longest_m, length_m)
            else:
                thumb_m = length_m
    if math.isnan(total_m):
        return math.nan, math.nan, math.nan, math.nan, math.nan, math.nan
    return shortest_m, longest_m, narrow_m, wide_m, thumb_m, _fill_turn(finger_m, False, np.empty((3, 3)))


@nb.njit(cache=True)
def _fill_turn(finger_m: FloatArray, left: bool, turn: FloatArray) -> float:
    """Fill the rotation of a frame into palm axes, and tell how wide the palm is [m]."""
    for a in range(3):
        turn[2, a] = finger_m[MIDDLE_KNUCKLE, a]
        # The index finger of a left hand is on the side of -x.
        across_m = finger_m[INDEX_KNUCKLE, a] - finger_m[LITTLE_KNUCKLE, a]
        turn[0, a] = -across_m if left else across_m
    x, z = turn[0], turn[2]
    z /= max(_length(z[0], z[1], z[2]), 1e-12)
    x -= (x[0] * z[0] + x[1] * z[1] + x[2] * z[2]) * z
    width_m = _length(x[0], x[1], x[2])
    x /= max(width_m, 1e-12)
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        turn[1, a] = z[b] * x[c] - z[c] * x[b]
    return width_m


@nb.njit(cache=True)
def _turn(
    position_m: FloatArray,
    quat_wxyz: FloatArray,
    nodes: NDArray[np.int64],
    left: bool,
    turned_m: FloatArray,
    turned_wxyz: FloatArray,
) -> tuple[tuple[float, float, float, float, float, float], float]:
    """Fill nodes from the root in palm axes and their orientations; `_extents`, and how the fingers bend.

    That is the mean bend of four fingers beyond their knuckles, towards the palm [rad]. Without orientations all are
    those of the palm.
    """
    finger_m, turn, palm_wxyz, flexion_rad = np.empty((21, 3)), np.empty((3, 3)), np.empty(4), 0.0
    root = nodes[0]
    for node in range(21):
        for a in range(3):
            finger_m[node, a] = position_m[nodes[node], a] - position_m[root, a]
    _fill_turn(finger_m, left, turn)
    fill_quat(turn, palm_wxyz)
    for node in range(len(position_m)):
        for a in range(3):
            turned_m[node, a] = 0.0
            for b in range(3):
                turned_m[node, a] += turn[a, b] * (position_m[node, b] - position_m[root, b])
        if len(quat_wxyz):
            w, x, y, z = times(palm_wxyz, quat_wxyz[node])
        else:
            w, x, y, z = palm_wxyz[0], palm_wxyz[1], palm_wxyz[2], palm_wxyz[3]
        turned_wxyz[node, 0], turned_wxyz[node, 1], turned_wxyz[node, 2], turned_wxyz[node, 3] = w, x, y, z
    for k in FINGER_KNUCKLES:
        first, last = turned_m[nodes[k + 1]] - turned_m[nodes[k]], turned_m[nodes[k + 3]] - turned_m[nodes[k + 1]]
        along = first[0] * last[0] + first[1] * last[1] + first[2] * last[2]
        flexion_rad += 0.25 * math.atan2(first[1] * last[2] - first[2] * last[1], along)
    return _extents(finger_m), flexion_rad
