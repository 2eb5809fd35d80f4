"""Which way a hand lies, and which hand it is, from the places of its nodes alone.

Shapes use n = frames; nodes are the 21 of `FINGER_NODES`.
"""

from __future__ import annotations

import numpy as np

from thenar.glove import quaternions
from thenar.signals import FINGER_NODES, FloatArray, GloveFrame, GloveLayout, GloveSide

INDEX_KNUCKLE, MIDDLE_KNUCKLE, LITTLE_KNUCKLE = 5, 9, 17
FINGER_TIPS, FINGER_KNUCKLES = (8, 12, 16, 20), (5, 9, 13, 17)


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
    stamp_s: float, side: GloveSide, layout: GloveLayout, position_m: FloatArray, quat_wxyz: FloatArray
) -> GloveFrame:
    """A frame from nodes in any axes, from any origin. Shapes (21 or 25, 3) and (21 or 25, 4)."""
    position_m = position_m - position_m[0]
    R = palm_axes(position_m[None, list(FINGER_NODES[layout])], side)
    turn = quaternions.from_matrices(np.swapaxes(R, 1, 2))
    return GloveFrame(
        stamp_s=stamp_s,
        side=side,
        layout=layout,
        position_m=position_m @ R[0],
        quat_wxyz=quaternions.product(turn, quat_wxyz),
    )


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


def _unit(vectors: FloatArray) -> FloatArray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
