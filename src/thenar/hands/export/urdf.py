"""A `HandSpec` into a URDF, with sensor links and Gazebo's sensor blocks.

URDF knows boxes, cylinders and spheres: a capsule becomes a cylinder and two spheres. It has no tendons and no springs;
tendons are told in comments, springs in Gazebo's own elements.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from numpy.typing import ArrayLike

from thenar.errors import BadValue
from thenar.hands.export import export_parts as parts
from thenar.hands.export.export_parts import Drive, Inertial, SensorBox, SensorKind, add, text
from thenar.hands.rotations import rpy_from_matrix
from thenar.hands.shapes import Box, Capsule, Cylinder, Shape, Sphere
from thenar.hands.spec import Coupling, HandSpec, Joint, Link


def export_urdf(hand: HandSpec, *, sensor: SensorKind = "contact") -> str:
    """The text of a URDF file.

    Args:
        hand: The hand.
        sensor: What Gazebo reads at every sensor link: ``contact``, which bodies touch it, or ``pressure``, the force
            on it as well.
    """
    parts.refuse_own_model(hand)
    robot = ElementTree.Element("robot", name=hand.name)
    for tone in ("body", "skin", "dark"):
        add(add(robot, "material", name=tone), "color", rgba=text([*getattr(hand.palette, tone), 1.0]))
    boxes = parts.sensor_boxes(hand)
    whole = parts.inertials(hand)
    for link in hand.links:
        _add_link(robot, link, parts.without(whole[link.name], (box for box in boxes if box.link == link.name)))
    couplings = {coupling.joint: coupling for coupling in hand.couplings}
    drives = parts.drives(hand)
    for joint in hand.joints:
        _add_joint(robot, joint, drives[joint.name], couplings.get(joint.name))
    for box in boxes:
        _add_sensor(robot, box, sensor)
    return parts.write_xml(robot, parts.comments(hand))


def _add_link(robot: ElementTree.Element, link: Link, inertial: Inertial) -> None:
    made = add(robot, "link", name=parts.link_name(link.name))
    _add_inertial(made, inertial)
    for shape, tone in parts.seen(link):
        for piece in _pieces(shape):
            add(_add_shape(made, "visual", piece), "material", name=tone)
    pieces = [piece for shape in link.collision_shapes for piece in _pieces(shape)]
    for number, piece in enumerate(pieces):
        _add_shape(made, "collision", piece).set("name", f"{link.name}_collision_{number}")


def _add_inertial(link: ElementTree.Element, inertial: Inertial) -> None:
    made = add(link, "inertial")
    _add_origin(made, inertial.com_m, (0.0, 0.0, 0.0))
    add(made, "mass", value=text(inertial.mass_kg))
    tensor = {
        f"i{'xyz'[row]}{'xyz'[col]}": text(inertial.about_com_kgm2[row, col])
        for row in range(3)
        for col in range(row, 3)
    }
    add(made, "inertia", **tensor)


def _add_joint(robot: ElementTree.Element, joint: Joint, drive: Drive, coupling: Coupling | None) -> None:
    made = add(robot, "joint", name=joint.name, type="revolute")
    _add_origin(made, joint.pos_m, joint.rpy_rad)
    add(made, "parent", link=parts.link_name(joint.parent))
    add(made, "child", link=parts.link_name(joint.child))
    add(made, "axis", xyz=text(joint.axis))
    add(
        made,
        "limit",
        lower=text(joint.lower_rad),
        upper=text(joint.upper_rad),
        effort=text(drive.effort_nm),
        velocity=text(drive.speed_rad_s),
    )
    add(made, "dynamics", damping=text(joint.damping_nms_rad), friction=text(joint.friction_nm))
    if coupling is not None:
        add(made, "mimic", joint=coupling.driver, multiplier=text(coupling.ratio), offset=text(coupling.offset_rad))
    if joint.spring_nm_rad:
        spring = add(robot, "gazebo", reference=joint.name)
        add(spring, "springStiffness", text(joint.spring_nm_rad))
        add(spring, "springReference", text(joint.spring_rest_rad))


def _add_sensor(robot: ElementTree.Element, box: SensorBox, kind: SensorKind) -> None:
    """A thin link on the skin, and what Gazebo shall read there."""
    link = add(robot, "link", name=box.name)
    _add_inertial(link, box.inertial)
    for tag in ("visual", "collision"):
        part = add(link, tag)  # without a name: Gazebo calls it as the link, with _collision behind
        _add_origin(part, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        add(add(part, "geometry"), "box", size=text(box.size_m))
        if tag == "visual":
            add(part, "material", name="dark")
    joint = add(robot, "joint", name=f"{box.name}_joint", type="fixed")
    _add_origin(joint, box.pos_m, rpy_from_matrix(box.R))
    add(joint, "parent", link=parts.link_name(box.link))
    add(joint, "child", link=box.name)
    # Otherwise Gazebo would melt the sensor into its link.
    kept = add(robot, "gazebo", reference=f"{box.name}_joint")
    add(kept, "preserveFixedJoint", "true")
    if kind == "pressure":
        force = add(kept, "sensor", name=f"{box.name}_force", type="force_torque")
        add(force, "update_rate", text(box.rate_hz))
        add(add(force, "force_torque"), "frame", "child")
    contact = add(add(robot, "gazebo", reference=box.name), "sensor", name=f"{box.name}_contact", type="contact")
    add(contact, "always_on", "true")
    add(contact, "update_rate", text(box.rate_hz))
    add(add(contact, "contact"), "collision", f"{box.name}_collision")


def _add_shape(link: ElementTree.Element, tag: str, shape: Shape) -> ElementTree.Element:
    made = add(link, tag)
    _add_origin(made, *parts.placed(shape))
    geometry = add(made, "geometry")
    match shape:
        case Box():
            add(geometry, "box", size=text([2.0 * half for half in shape.half_m]))
        case Sphere():
            add(geometry, "sphere", radius=text(shape.radius_m))
        case Cylinder():
            add(geometry, "cylinder", radius=text(shape.radius_m), length=text(parts.length_m(shape)))
        case _:
            raise BadValue(
                "shape", type(shape).__name__, "a box, sphere, capsule or cylinder; SDF and MJCF take others"
            )
    return made


def _pieces(shape: Shape) -> Iterator[Shape]:
    """The same surface in shapes that URDF knows."""
    if isinstance(shape, Capsule):
        yield Cylinder(start_m=shape.start_m, end_m=shape.end_m, radius_m=shape.radius_m)
        yield Sphere(centre_m=shape.start_m, radius_m=shape.radius_m)
        yield Sphere(centre_m=shape.end_m, radius_m=shape.radius_m)
    else:
        yield shape


def _add_origin(parent: ElementTree.Element, xyz: ArrayLike, rpy: ArrayLike) -> None:
    add(parent, "origin", xyz=text(xyz), rpy=text(rpy))
