"""A `HandSpec` into an SDF model, with sensor links and Gazebo's sensors.

Poses are relative to the joint a link hangs on, so numbers are those of the spec. SDF has no tendons; they are told in
comments.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
from numpy.typing import ArrayLike

from thenar.hands.export import export_parts as parts
from thenar.hands.export.export_parts import Drive, Inertial, SensorBox, SensorKind, add, text
from thenar.hands.rotations import rpy_from_matrix
from thenar.hands.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from thenar.hands.spec import Coupling, HandSpec, Joint, Link

VERSION = "1.9"
COUPLED = "Couplings are <mimic> elements of SDF 1.11, which readers of older versions pass over."


def export_sdf(hand: HandSpec, *, sensor: SensorKind = "contact") -> str:
    """The text of an SDF file; ``sensor`` as in `export_urdf`."""
    parts.refuse_own_model(hand)
    root = ElementTree.Element("sdf", version=VERSION)
    model = add(root, "model", name=hand.name)
    boxes = parts.sensor_boxes(hand)
    whole = parts.inertials(hand)
    above = {joint.child: joint.name for joint in hand.joints}
    for link in hand.links:
        made = add(model, "link", name=parts.link_name(link.name))
        if link.name in above:
            add(made, "pose", "0 0 0 0 0 0", relative_to=above[link.name])
        _add_inertial(made, parts.without(whole[link.name], (box for box in boxes if box.link == link.name)))
        _add_shapes(made, link, hand)
    couplings = {coupling.joint: coupling for coupling in hand.couplings}
    drives = parts.drives(hand)
    for joint in hand.joints:
        _add_joint(model, joint, drives[joint.name], couplings.get(joint.name))
    for box in boxes:
        _add_sensor(model, box, hand, sensor)
    return parts.write_xml(root, [*parts.comments(hand), *([COUPLED] if couplings else [])])


def _add_inertial(link: ElementTree.Element, inertial: Inertial) -> None:
    made = add(link, "inertial")
    add(made, "pose", _pose(inertial.com_m))
    add(made, "mass", text(inertial.mass_kg))
    tensor = add(made, "inertia")
    for row in range(3):
        for col in range(row, 3):
            add(tensor, f"i{'xyz'[row]}{'xyz'[col]}", text(inertial.about_com_kgm2[row, col]))


def _add_shapes(parent: ElementTree.Element, link: Link, hand: HandSpec) -> None:
    for number, shape in enumerate(link.collision_shapes):
        _add_shape(add(parent, "collision", name=f"{link.name}_collision_{number}"), shape)
    for number, (shape, tone) in enumerate(parts.seen(link)):
        made = add(parent, "visual", name=f"{link.name}_visual_{number}")
        _add_shape(made, shape)
        _paint(made, hand, tone)


def _add_joint(model: ElementTree.Element, joint: Joint, drive: Drive, coupling: Coupling | None) -> None:
    made = add(model, "joint", name=joint.name, type="revolute")
    add(made, "pose", _pose(joint.pos_m, joint.rpy_rad), relative_to=parts.link_name(joint.parent))
    add(made, "parent", parts.link_name(joint.parent))
    add(made, "child", parts.link_name(joint.child))
    axis = add(made, "axis")
    add(axis, "xyz", text(joint.axis))
    limit = add(axis, "limit")
    add(limit, "lower", text(joint.lower_rad))
    add(limit, "upper", text(joint.upper_rad))
    add(limit, "effort", text(drive.effort_nm))
    add(limit, "velocity", text(drive.speed_rad_s))
    dynamics = add(axis, "dynamics")
    add(dynamics, "damping", text(joint.damping_nms_rad))
    add(dynamics, "friction", text(joint.friction_nm))
    add(dynamics, "spring_reference", text(joint.spring_rest_rad))
    add(dynamics, "spring_stiffness", text(joint.spring_nm_rad))
    if coupling is not None:
        mimic = add(axis, "mimic", joint=coupling.driver)
        add(mimic, "multiplier", text(coupling.ratio))
        add(mimic, "offset", text(coupling.offset_rad))
        add(mimic, "reference", "0")


def _add_sensor(model: ElementTree.Element, box: SensorBox, hand: HandSpec, kind: SensorKind) -> None:
    link = add(model, "link", name=box.name)
    add(link, "pose", _pose(box.pos_m, rpy_from_matrix(box.R)), relative_to=parts.link_name(box.link))
    _add_inertial(link, box.inertial)
    for tag in ("collision", "visual"):
        made = add(link, tag, name=f"{box.name}_{tag}")
        add(add(add(made, "geometry"), "box"), "size", text(box.size_m))
        if tag == "visual":
            _paint(made, hand, "dark")
    contact = add(link, "sensor", name=f"{box.name}_contact", type="contact")
    add(contact, "always_on", "true")
    add(contact, "update_rate", text(box.rate_hz))
    add(add(contact, "contact"), "collision", f"{box.name}_collision")
    joint = add(model, "joint", name=f"{box.name}_joint", type="fixed")
    add(joint, "parent", parts.link_name(box.link))
    add(joint, "child", box.name)
    if kind == "pressure":
        force = add(joint, "sensor", name=f"{box.name}_force", type="force_torque")
        add(force, "update_rate", text(box.rate_hz))
        add(add(force, "force_torque"), "frame", "child")


def _add_shape(parent: ElementTree.Element, shape: Shape) -> None:
    add(parent, "pose", _pose(*parts.placed(shape)))
    geometry = add(parent, "geometry")
    match shape:
        case Box():
            add(add(geometry, "box"), "size", text(2.0 * np.asarray(shape.half_m)))
        case Sphere():
            add(add(geometry, "sphere"), "radius", text(shape.radius_m))
        case Ellipsoid():
            add(add(geometry, "ellipsoid"), "radii", text(shape.half_m))
        case Capsule() | Cylinder():
            made = add(geometry, "capsule" if isinstance(shape, Capsule) else "cylinder")
            add(made, "radius", text(shape.radius_m))
            add(made, "length", text(parts.length_m(shape)))


def _paint(visual: ElementTree.Element, hand: HandSpec, tone: str) -> None:
    material = add(visual, "material")
    colour = text([*getattr(hand.palette, tone), 1.0])
    add(material, "ambient", colour)
    add(material, "diffuse", colour)


def _pose(xyz: ArrayLike, rpy: ArrayLike = (0.0, 0.0, 0.0)) -> str:
    return f"{text(xyz)} {text(rpy)}"
