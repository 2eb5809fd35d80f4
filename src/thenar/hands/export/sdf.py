"""A `HandSpec` into an SDF model, with sensor links and Gazebo's sensors.

Poses are relative to the joint a link hangs on, so numbers are those of the spec. SDF has no tendons; they are told in
comments.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from thenar.hands.export import export_parts as parts
from thenar.hands.export.export_parts import Drive, Element, Inertial, SensorBox, SensorKind, add, add_all, text
from thenar.hands.rotations import rpy_from_matrix
from thenar.hands.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from thenar.hands.spec import Coupling, HandSpec, Joint, Link

COUPLED = "Couplings are <mimic> elements of SDF 1.11, which readers of older versions pass over."
UNCOUPLED = "SDF 1.7 has no couplings, so these are for whoever moves the joints:"


def export_sdf(hand: HandSpec, *, sensor: SensorKind = "contact") -> str:
    """The text of an SDF 1.9 file; ``sensor`` as in `export_urdf`."""
    return _export(hand, sensor, old=False)


def export_sdf_1_7(hand: HandSpec, *, sensor: SensorKind = "contact") -> str:
    """The text of an SDF 1.7 file, for Gazebo 11: no capsules, and couplings told in a comment."""
    return _export(hand, sensor, old=True)


def _export(hand: HandSpec, sensor: SensorKind, *, old: bool) -> str:
    root = ElementTree.Element("sdf", version="1.7" if old else "1.9")
    model = add(root, "model", name=hand.name)
    whole = parts.model_parts(hand, sensor)
    above = {joint.child: joint.name for joint in hand.joints}
    for link, inertial in whole.links:
        made = add(model, "link", name=parts.link_name(link.name))
        if link.name in above:
            add(made, "pose", "0 0 0 0 0 0", relative_to=above[link.name])
        _add_inertial(made, inertial)
        _add_shapes(made, link, hand, parts.capsule_pieces if old else lambda shape: (shape,))
    for joint, drive, coupling in whole.joints:
        _add_joint(model, joint, drive, None if old else coupling)
    for box in whole.boxes:
        _add_sensor(model, box, hand, sensor)
    lines = parts.comments(hand)
    laws = [coupling for _, _, coupling in whole.joints if coupling is not None]
    if laws and old:
        told = [f"{law.joint} = {law.ratio:g} * {law.driver} + {law.offset_rad:g}" for law in laws]
        lines += [f"{UNCOUPLED} {', '.join(told)}."]
    elif laws:
        lines += [COUPLED]
    return parts.write_xml(root, lines)


def _add_inertial(link: Element, inertial: Inertial) -> None:
    made = add(link, "inertial")
    add_all(made, pose=_pose(inertial.com_m), mass=inertial.mass_kg)
    add_all(add(made, "inertia"), **inertial.tensor)


def _add_shapes(parent: Element, link: Link, hand: HandSpec, pieces: Callable[[Shape], Sequence[Shape]]) -> None:
    solid = (piece for shape in link.collision_shapes for piece in pieces(shape))
    for number, shape in enumerate(solid):
        _add_shape(add(parent, "collision", name=f"{link.name}_collision_{number}"), shape)
    seen = ((piece, tone) for shape, tone in parts.visual_shapes(link) for piece in pieces(shape))
    for number, (shape, tone) in enumerate(seen):
        made = add(parent, "visual", name=f"{link.name}_visual_{number}")
        _add_shape(made, shape)
        _add_material(made, hand, tone)


def _add_joint(model: Element, joint: Joint, drive: Drive, coupling: Coupling | None) -> None:
    made = add(model, "joint", name=joint.name, type="prismatic" if joint.kind == "slide" else "revolute")
    add(made, "pose", _pose(joint.pos_m, joint.rpy_rad), relative_to=parts.link_name(joint.parent))
    add_all(made, parent=parts.link_name(joint.parent), child=parts.link_name(joint.child))
    axis = add(made, "axis")
    add(axis, "xyz", joint.axis)
    limit = add(axis, "limit")
    add_all(limit, lower=joint.lower_rad, upper=joint.upper_rad, effort=drive.effort_nm, velocity=drive.speed_rad_s)
    dynamics = add(axis, "dynamics")
    add_all(dynamics, damping=joint.damping_nms_rad, friction=joint.friction_nm)
    add_all(dynamics, spring_reference=joint.spring_rest_rad, spring_stiffness=joint.spring_nm_rad)
    if parts.is_damped(joint):
        add(add(add(made, "physics"), "ode"), "implicit_spring_damper", "true")
    if coupling is not None:
        mimic = add(axis, "mimic", joint=coupling.driver)
        add_all(mimic, multiplier=coupling.ratio, offset=coupling.offset_rad, reference="0")


def _add_sensor(model: Element, box: SensorBox, hand: HandSpec, kind: SensorKind) -> None:
    link = add(model, "link", name=box.name)
    add(link, "pose", _pose(box.pos_m, rpy_from_matrix(box.R)), relative_to=parts.link_name(box.link))
    _add_inertial(link, box.inertial)
    for tag in ("collision", "visual"):
        made = add(link, tag, name=f"{box.name}_{tag}")
        add(add(add(made, "geometry"), "box"), "size", box.size_m)
        if tag == "visual":
            _add_material(made, hand, "dark")
    parts.add_contact_sensor(link, box)
    joint = add(model, "joint", name=f"{box.name}_joint", type="fixed")
    add_all(joint, parent=parts.link_name(box.link), child=box.name)
    if kind == "pressure":
        parts.add_force_sensor(joint, box)


def _add_shape(parent: Element, shape: Shape) -> None:
    add(parent, "pose", _pose(*parts.shape_pose(shape)))
    geometry = add(parent, "geometry")
    match shape:
        case Box():
            add(add(geometry, "box"), "size", 2.0 * np.asarray(shape.half_m))
        case Sphere():
            add(add(geometry, "sphere"), "radius", shape.radius_m)
        case Ellipsoid():
            add(add(geometry, "ellipsoid"), "radii", shape.half_m)
        case Capsule() | Cylinder():
            made = add(geometry, "capsule" if isinstance(shape, Capsule) else "cylinder")
            add_all(made, radius=shape.radius_m, length=shape.length_m)


def _add_material(visual: Element, hand: HandSpec, tone: str) -> None:
    colour = (*getattr(hand.palette, tone), 1.0)
    add_all(add(visual, "material"), ambient=colour, diffuse=colour)


def _pose(xyz: ArrayLike, rpy: ArrayLike = (0.0, 0.0, 0.0)) -> str:
    return f"{text(xyz)} {text(rpy)}"
