"""Where every taxel of a pad is: points on the skin and outward normals, in the link's frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue
from thenar.hands.shapes import Capsule
from thenar.hands.spec import HandSpec, Pad

FloatArray = NDArray[np.float64]


def taxel_grid(pad: Pad) -> tuple[FloatArray, FloatArray]:
    """Chart coordinates of the taxel centres: along the rows and along the columns [m], shape (rows, cols)."""
    u = (np.arange(pad.rows) - (pad.rows - 1) / 2) * pad.row_pitch_m
    v = (np.arange(pad.cols) - (pad.cols - 1) / 2) * pad.col_pitch_m
    zero = np.zeros((pad.rows, pad.cols))
    return zero + u[:, None], zero + v


def taxel_points(hand: HandSpec, pad: Pad) -> tuple[FloatArray, FloatArray]:
    """Centres and outward normals of a pad's taxels.

    Returns:
        Points on the skin [m] and unit normals in the frame of the pad's link, each of shape (rows, cols, 3).
    """
    u, v = taxel_grid(pad)
    return points_on_skin(hand, pad, u, v)


def points_on_skin(hand: HandSpec, pad: Pad, u_m: FloatArray, v_m: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points and normals of the skin at chart coordinates, measured along the skin from the pad's centre.

    Args:
        hand: The hand the pad belongs to.
        pad: The pad whose chart is meant.
        u_m: Distance along the rows [m], any shape.
        v_m: Distance along the columns [m], the same shape.

    Returns:
        Points [m] and unit normals, with a last axis of 3.
    """
    centre, normal = np.asarray(pad.centre_m), np.asarray(pad.normal)
    e_u = np.asarray(pad.row_axis)
    e_v = np.cross(normal, e_u) * (-1.0 if pad.mirrored else 1.0)
    if pad.chart == "face":
        points = centre + u_m[..., None] * e_u + v_m[..., None] * e_v
        return points, np.broadcast_to(normal, points.shape).copy()
    skin = hand.link(pad.link).skin
    if not isinstance(skin, Capsule):
        raise BadValue(f"chart of pad {pad.name!r}", pad.chart, f"'face' on a {type(skin).__name__} skin")
    radius = skin.radius_m
    if pad.chart == "cylinder":
        # Unrolled: v is an arc around the axis.
        angle = (v_m / radius)[..., None]
        normals = np.cos(angle) * normal + np.sin(angle) * e_v
        return centre + radius * (normals - normal) + u_m[..., None] * e_u, normals
    # Azimuthal equidistant about the pad's centre: distance and direction from there are true.
    distance = np.hypot(u_m, v_m)
    angle = (distance / radius)[..., None]
    safe = np.where(distance > 0.0, distance, 1.0)[..., None]
    direction = (u_m[..., None] * e_u + v_m[..., None] * e_v) / safe
    normals = np.cos(angle) * normal + np.sin(angle) * direction
    return centre + radius * (normals - normal), normals
