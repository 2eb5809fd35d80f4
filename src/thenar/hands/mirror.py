"""The other hand: a spec reflected in a plane.

Each link keeps a frame of its maker's choosing, so each is reflected in its own axis (``x``, ``y`` or
``z``): with ``M`` the reflection of a frame, a point becomes ``M p``, the pose of a child ``M_parent R
M_child`` (again a proper rotation), a rotation axis ``-M a`` and that of a slide ``M a``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.rotations import matrix_from_rpy, rpy_from_matrix
from thenar.hands.shapes import Box, Capsule, Cylinder, Ellipsoid, Hull, Loft, Shape, Sphere, Vec3, Visual, as_vec3
from thenar.hands.spec import Coupling, HandSpec, Joint, Link, Pad, PalmFrame, Side, Tip

Axis = Literal["x", "y", "z"]


def mirrored(
    spec: HandSpec, *, name: str, side: Side, frames: Mapping[str, Axis], shifts_m: Mapping[str, Vec3] | None = None
) -> HandSpec:
    """The mirror image of a hand: equal joint angles give mirror-image postures.

    Args:
        spec: The hand to reflect.
        name: Name of the result.
        side: Side of the result.
        frames: Axis in which each link's frame is reflected, by link name.
        shifts_m: How far a link's frame lies further along its joint's axis in the result, in its own axes [m]. Makers
            choose where on its axis a joint's frame lies; this follows their choice without moving a part.
    """
    shifts = {link: np.asarray(shift) for link, shift in (shifts_m or {}).items()}
    frame = {link: _Frame(_reflection(axis), shifts.get(link, np.zeros(3))) for link, axis in frames.items()}
    root = frame[spec.root]
    return replace(
        spec,
        name=name,
        side=side,
        links=tuple(_link(link, frame[link.name]) for link in spec.links),
        joints=tuple(_joint(joint, frame[joint.parent], frame[joint.child]) for joint in spec.joints),
        pads=tuple(_pad(pad, frame[pad.link]) for pad in spec.pads),
        variants={name: tuple(_variant_part(part, frame) for part in parts) for name, parts in spec.variants.items()},
        tips=tuple(Tip(finger=t.finger, link=t.link, pos_m=frame[t.link].point(t.pos_m)) for t in spec.tips),
        palm=PalmFrame(
            pos_m=root.point(spec.palm.pos_m),
            # Reflecting the palm frame in x keeps z out of the palm and y towards the fingers.
            rpy_rad=rpy_from_matrix(root.M @ matrix_from_rpy(spec.palm.rpy_rad) @ _reflection("x")),
        ),
    )


class _Frame(NamedTuple):
    """How a link's frame becomes that of its mirror image: a point p has ``M p - shift_m`` there."""

    M: FloatArray
    shift_m: FloatArray

    def point(self, point_m: Vec3) -> Vec3:
        return as_vec3(self.M @ np.asarray(point_m) - self.shift_m)

    def direction(self, direction: Vec3) -> Vec3:
        return as_vec3(self.M @ np.asarray(direction))

    def shape(self, shape: Shape) -> Shape:
        match shape:
            case Capsule() | Cylinder():
                return replace(shape, start_m=self.point(shape.start_m), end_m=self.point(shape.end_m))
            case Sphere():
                return replace(shape, centre_m=self.point(shape.centre_m))
            case Box() | Ellipsoid():
                # Either is its own mirror image, so M R M is again a proper rotation of it.
                R = self.M @ matrix_from_rpy(shape.rpy_rad) @ self.M
                return replace(shape, centre_m=self.point(shape.centre_m), rpy_rad=rpy_from_matrix(R))
            case Hull():
                return self.hull(shape)

    def hull(self, hull: Hull) -> Hull:
        return replace(hull, points_m=tuple(self.point(point) for point in hull.points_m))

    def visual(self, visual: Visual) -> Visual:
        if not isinstance(visual, Loft):
            return replace(visual, shape=self.shape(visual.shape))
        stations = tuple((*self.point((x, y, z)), width, depth) for x, y, z, width, depth in visual.stations)
        return replace(visual, stations=stations, across=self.direction(visual.across))


def _reflection(axis: Axis) -> FloatArray:
    return np.diag([-1.0 if axis == own else 1.0 for own in "xyz"])


def _variant_part(part: Coupling | Joint | Pad, frame: Mapping[str, _Frame]) -> Coupling | Joint | Pad:
    match part:
        case Pad():
            return _pad(part, frame[part.link])
        case Joint():
            return _joint(part, frame[part.parent], frame[part.child])
        case Coupling():
            return part


def _joint(joint: Joint, parent: _Frame, child: _Frame) -> Joint:
    rpy_rad = rpy_from_matrix(parent.M @ matrix_from_rpy(joint.rpy_rad) @ child.M)
    return replace(
        joint,
        pos_m=as_vec3(np.asarray(parent.point(joint.pos_m)) + matrix_from_rpy(rpy_rad) @ child.shift_m),
        rpy_rad=rpy_rad,
        # A mirror turns a rotation round, and leaves a slide's direction as it sees it.
        axis=as_vec3((-1.0 if joint.kind == "hinge" else 1.0) * child.M @ np.asarray(joint.axis)),
    )


def _link(link: Link, frame: _Frame) -> Link:
    inertia = link.inertia_kgm2
    if inertia is not None:
        ixx, iyy, izz, ixy, ixz, iyz = inertia
        x, y, z = np.diag(frame.M).tolist()
        inertia = (ixx, iyy, izz, x * y * ixy + 0.0, x * z * ixz + 0.0, y * z * iyz + 0.0)
    return replace(
        link,
        inertia_kgm2=inertia,
        com_m=None if link.com_m is None else frame.point(link.com_m),
        skin=None if link.skin is None else frame.shape(link.skin),
        more_skin=tuple(frame.shape(shape) for shape in link.more_skin),
        outline=None if link.outline is None else frame.hull(link.outline),
        collision=tuple(frame.shape(shape) for shape in link.collision),
        visuals=tuple(frame.visual(visual) for visual in link.visuals),
    )


def _pad(pad: Pad, frame: _Frame) -> Pad:
    if pad.points is not None:
        points = replace(
            pad.points,
            points_m=pad.points.points_m @ frame.M - frame.shift_m,
            normals=pad.points.normals @ frame.M,
            row_axes=pad.points.row_axes @ frame.M,
        )
        pad = replace(pad, points=points)
    return replace(
        pad,
        centre_m=frame.point(pad.centre_m),
        row_axis=frame.direction(pad.row_axis),
        normal=frame.direction(pad.normal),
        mirrored=not pad.mirrored,
    )
