"""The other hand: a spec reflected in a plane.

Each link keeps a frame of its maker's choosing, so each is reflected in its own axis (``x``, ``y`` or
``z``): with ``M`` the reflection of a frame, a point becomes ``M p``, the pose of a child ``M_parent R
M_child`` (again a proper rotation), and a rotation axis ``-M a``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thenar.hands.rotations import matrix_from_rpy, rpy_from_matrix
from thenar.hands.shapes import Box, Capsule, Cylinder, Ellipsoid, Loft, Shape, Sphere, Vec3
from thenar.hands.spec import HandSpec, Joint, Link, Pad, PalmFrame, Side, Tip

Axis = Literal["x", "y", "z"]
IDENTITY = np.eye(3)


def mirrored(spec: HandSpec, *, name: str, side: Side, frames: Mapping[str, Axis]) -> HandSpec:
    """The mirror image of a hand: equal joint angles give mirror-image postures.

    Args:
        spec: The hand to reflect.
        name: Name of the result.
        side: Side of the result.
        frames: Axis in which each link's frame is reflected, by link name.
    """
    M = {link: _reflection(axis) for link, axis in frames.items()}
    root = M[spec.root]
    return replace(
        spec,
        name=name,
        side=side,
        links=tuple(_link(link, M[link.name]) for link in spec.links),
        joints=tuple(_joint(joint, M[joint.parent], M[joint.child]) for joint in spec.joints),
        pads=tuple(_pad(pad, M[pad.link]) for pad in spec.pads),
        tips=tuple(Tip(finger=t.finger, link=t.link, pos_m=_point(t.pos_m, M[t.link])) for t in spec.tips),
        palm=PalmFrame(
            pos_m=_point(spec.palm.pos_m, root),
            # Reflecting the palm frame in x keeps z out of the palm and y towards the fingers.
            rpy_rad=rpy_from_matrix(root @ matrix_from_rpy(spec.palm.rpy_rad) @ _reflection("x")),
        ),
    )


def with_frame_moved(spec: HandSpec, link: str, shift_m: Vec3) -> HandSpec:
    """The same hand with one link's frame moved by ``shift_m`` in its own axes along its joint's axis.

    Makers choose where on its axis a joint's frame lies; this follows their choice without moving a part.
    """

    def back(point: Vec3) -> Vec3:
        return (point[0] - shift_m[0], point[1] - shift_m[1], point[2] - shift_m[2])

    def joint(joint: Joint) -> Joint:
        if joint.child == link:
            moved = np.asarray(joint.pos_m) + matrix_from_rpy(joint.rpy_rad) @ np.asarray(shift_m)
            return replace(joint, pos_m=(float(moved[0]), float(moved[1]), float(moved[2])))
        return replace(joint, pos_m=back(joint.pos_m)) if joint.parent == link else joint

    return replace(
        spec,
        links=tuple(_link_mapped(x, back) if x.name == link else x for x in spec.links),
        joints=tuple(joint(x) for x in spec.joints),
        pads=tuple(replace(x, centre_m=back(x.centre_m)) if x.link == link else x for x in spec.pads),
        tips=tuple(replace(x, pos_m=back(x.pos_m)) if x.link == link else x for x in spec.tips),
    )


def _reflection(axis: Axis) -> NDArray[np.float64]:
    M = np.eye(3)
    M["xyz".index(axis), "xyz".index(axis)] = -1.0
    return M


def _point(point: Vec3, M: NDArray[np.float64]) -> Vec3:
    x, y, z = M @ np.asarray(point) + 0.0  # + 0.0 turns -0.0 into 0.0
    return float(x), float(y), float(z)


def _joint(joint: Joint, M_parent: NDArray[np.float64], M_child: NDArray[np.float64]) -> Joint:
    return replace(
        joint,
        pos_m=_point(joint.pos_m, M_parent),
        rpy_rad=rpy_from_matrix(M_parent @ matrix_from_rpy(joint.rpy_rad) @ M_child),
        axis=_point(joint.axis, -M_child),
    )


def _link(link: Link, M: NDArray[np.float64]) -> Link:
    reflected = _link_mapped(link, lambda point: _point(point, M), M)
    if link.inertia_kgm2 is None:
        return reflected
    ixx, iyy, izz, ixy, ixz, iyz = link.inertia_kgm2
    tensor = M @ np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]) @ M
    inertia = (ixx, iyy, izz, float(tensor[0, 1]), float(tensor[0, 2]), float(tensor[1, 2]))
    return replace(reflected, inertia_kgm2=inertia)


def _link_mapped(link: Link, point: Callable[[Vec3], Vec3], M: NDArray[np.float64] = IDENTITY) -> Link:
    """A link with every point sent through ``point`` and every direction through ``M``."""

    def shape(shape: Shape) -> Shape:
        match shape:
            case Capsule() | Cylinder():
                return replace(shape, start_m=point(shape.start_m), end_m=point(shape.end_m))
            case Sphere():
                return replace(shape, centre_m=point(shape.centre_m))
            case Box() | Ellipsoid():
                # Either is its own mirror image, so M R M is again a proper rotation of it.
                R = M @ matrix_from_rpy(shape.rpy_rad) @ M
                return replace(shape, centre_m=point(shape.centre_m), rpy_rad=rpy_from_matrix(R))

    def loft(loft: Loft) -> Loft:
        stations = tuple(replace(s, centre_m=point(s.centre_m)) for s in loft.stations)
        return replace(loft, stations=stations, across=_point(loft.across, M))

    return replace(
        link,
        com_m=None if link.com_m is None else point(link.com_m),
        skin=None if link.skin is None else shape(link.skin),
        more_skin=tuple(shape(x) for x in link.more_skin),
        collision=tuple(shape(x) for x in link.collision),
        visuals=tuple(loft(x) if isinstance(x, Loft) else replace(x, shape=shape(x.shape)) for x in link.visuals),
    )


def _pad(pad: Pad, M: NDArray[np.float64]) -> Pad:
    return replace(
        pad,
        centre_m=_point(pad.centre_m, M),
        row_axis=_point(pad.row_axis, M),
        normal=_point(pad.normal, M),
        mirrored=not pad.mirrored,
    )
