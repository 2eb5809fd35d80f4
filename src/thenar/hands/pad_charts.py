"""Where every taxel of a pad is: points on the skin and outward normals, in the link's frame."""

from __future__ import annotations

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.hands.rotations import matrix_from_rpy
from thenar.hands.shapes import Capsule, Cylinder, Ellipsoid, Sphere
from thenar.hands.spec import Pad, SkinSpec

ARC_POINTS = 6  # where the length of an arc is sampled
NEWTON_STEPS = 8


def taxel_grid(pad: Pad) -> tuple[FloatArray, FloatArray]:
    """Chart coordinates of the taxel centres: along the rows and along the columns [m], shape (rows, cols)."""
    if pad.points is not None:  # as seen from above the pad's centre
        away = (pad.points.points_m - pad.centre_m).reshape(pad.rows, pad.cols, 3)
        e_u, e_v, _ = pad_axes(pad)
        return away @ e_u, away @ e_v
    u = (np.arange(pad.rows) - (pad.rows - 1) / 2) * pad.row_pitch_m
    v = (np.arange(pad.cols) - (pad.cols - 1) / 2) * pad.col_pitch_m
    zero = np.zeros((pad.rows, pad.cols))
    return zero + u[:, None], zero + v


def taxel_points(hand: SkinSpec, pad: Pad) -> tuple[FloatArray, FloatArray]:
    """Centres and outward normals of a pad's taxels.

    Returns:
        Points on the skin [m] and unit normals in the frame of the pad's link, each of shape (rows, cols, 3).
    """
    if pad.points is not None:
        shape = (pad.rows, pad.cols, 3)
        return pad.points.points_m.reshape(shape), pad.points.normals.reshape(shape)
    u, v = taxel_grid(pad)
    return points_on_skin(hand, pad, u, v)


def taxel_frames(hand: SkinSpec, pad: Pad) -> tuple[FloatArray, FloatArray]:
    """Where a pad's taxels lie on the skin, row after row.

    Returns:
        Centres [m], shape (taxels, 3), and orientations, shape (taxels, 3, 3), in the frame of the pad's link: x is the
        direction of growing row, made to lie in the skin, z points out of it.
    """
    points, normals = (part.reshape(-1, 3) for part in taxel_points(hand, pad))
    if pad.points is not None:
        along = pad.points.row_axes
    else:
        row_axis, _, _ = pad_axes(pad)
        along = row_axis - (normals @ row_axis)[:, None] * normals
        along /= np.linalg.norm(along, axis=1, keepdims=True)
    return points, np.stack([along, np.asarray(np.cross(normals, along), dtype=np.float64), normals], axis=2)


def points_on_skin(hand: SkinSpec, pad: Pad, u_m: FloatArray, v_m: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points and normals of the skin at chart coordinates, measured along the skin from the pad's centre.

    Args:
        hand: The hand the pad belongs to.
        pad: The pad whose chart is meant.
        u_m: Distance along the rows [m], any shape.
        v_m: Distance along the columns [m], the same shape.

    Returns:
        Points [m] and unit normals, with a last axis of 3.
    """
    centre = np.asarray(pad.centre_m)
    e_u, e_v, normal = pad_axes(pad)
    if pad.chart == "face":
        points = centre + u_m[..., None] * e_u + v_m[..., None] * e_v
        return points, np.broadcast_to(normal, points.shape).copy()
    skin = hand.link(pad.link).skin
    if pad.chart == "ellipsoid":
        return _on_ellipsoid(hand, pad, u_m, v_m)
    if not isinstance(skin, Capsule | (Cylinder if pad.chart == "cylinder" else Sphere)):
        raise BadValue(f"chart of pad {pad.name!r}", pad.chart, f"one that a {type(skin).__name__} skin has")
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


def pad_axes(pad: Pad) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Directions of growing row, of growing column and out of the skin at a pad's centre, in the link's frame."""
    e_u, normal = np.asarray(pad.row_axis), np.asarray(pad.normal)
    e_v = np.asarray(np.cross(normal, e_u), dtype=np.float64) * (-1.0 if pad.mirrored else 1.0)
    return e_u, e_v, normal


def ellipsoid_bend(hand: SkinSpec, pad: Pad) -> FloatArray:
    """How an ellipsoid bends away under a pad: a symmetric matrix B along rows, columns and normal [1/m]. Shape (3, 3).

    With d from the pad's centre in those axes the surface is ``d . B d + 2 d_n = 0``: near the centre it falls off by
    half its curvature times distance squared.
    """
    skin = hand.link(pad.link).skin
    if not isinstance(skin, Ellipsoid):
        raise BadValue(f"chart of pad {pad.name!r}", pad.chart, f"one that a {type(skin).__name__} skin has")
    R = matrix_from_rpy(skin.rpy_rad)
    form = R @ np.diag(1.0 / np.square(skin.half_m)) @ R.T
    axes = np.column_stack(pad_axes(pad))
    steep = form @ (np.asarray(pad.centre_m) - np.asarray(skin.centre_m)) @ axes[:, 2]
    return np.asarray(axes.T @ form @ axes / steep)


def _on_ellipsoid(hand: SkinSpec, pad: Pad, u_m: FloatArray, v_m: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lengths are true along every cut through the normal at the pad's centre; on a ball that is the chart of a cap.

    Such a cut is an ellipse. A chord from the centre that dips by ``m`` per unit of advance meets it after an advance
    of ``2 m / (k - 2 t m + c m^2)``, with k the cut's curvature, t its tilt and c the bend along the normal.
    """
    bend = ellipsoid_bend(hand, pad)
    distance = np.hypot(u_m, v_m)
    safe = np.where(distance > 0.0, distance, 1.0)
    along = np.stack([np.where(distance > 0.0, u_m / safe, 1.0), v_m / safe], axis=-1)
    k = np.einsum("...i,ij,...j->...", along, bend[:2, :2], along)
    t, c = along @ bend[:2, 2], bend[2, 2]

    def pace(m: FloatArray) -> FloatArray:
        """Length of arc per change of dip."""
        rest = k - 2 * t * m + c * m * m
        return 2 / rest**2 * np.hypot(k - c * m * m, 2 * m * (k - t * m))

    nodes, weights = np.polynomial.legendre.leggauss(ARC_POINTS)
    m = np.tan(np.minimum(distance * k / 2, 1.2))  # exact on a ball
    for _ in range(NEWTON_STEPS):
        arc = sum(w * pace(m * (1 + x) / 2) for x, w in zip(nodes, weights, strict=True)) * m / 2
        m = np.maximum(m - (arc - distance) / pace(m), 0.0)
    advance = 2 * m / (k - 2 * t * m + c * m * m)
    local = np.concatenate([along * advance[..., None], -(advance * m)[..., None]], axis=-1)
    axes = np.column_stack(pad_axes(pad))
    outward = (local @ bend + [0.0, 0.0, 1.0]) @ axes.T
    return np.asarray(pad.centre_m) + local @ axes.T, outward / np.linalg.norm(outward, axis=-1, keepdims=True)
