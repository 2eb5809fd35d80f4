"""A `HandSpec` into a URDF, with sensor links and Gazebo's sensor blocks.

URDF knows boxes, cylinders and spheres: a capsule becomes a cylinder and two spheres. It has no tendons and no springs;
tendons are told in comments, springs in Gazebo's own elements.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from thenar.errors import BadValue
from thenar.hands.export import export_parts as parts
from thenar.hands.export.export_parts import Drive, Element, Inertial, SensorBox, SensorKind, add, add_all
from thenar.hands.rotations import rpy_from_matrix
from thenar.hands.shapes import Box, Cylinder, Shape, Sphere
from thenar.hands.spec import Coupling, HandSpec, Joint, Link

NO_TURN = (0.0, 0.0, 0.0)
MACRO_NAME = re.compile(r"[^\W\d][\w.-]*")


def export_urdf(hand: HandSpec, *, sensor: SensorKind = "contact") -> str:
    """The text of a URDF file.

    Args:
        hand: The hand.
        sensor: What Gazebo reads at every sensor link: ``contact``, which bodies touch it, or ``pressure``, the force
            on it as well; ``none``: there are no sensor links.
    """
    robot = ElementTree.Element("robot", name=hand.name)
    add_hand(robot, hand, sensor, sensors=robot)
    return parts.write_xml(robot, parts.comments(hand))


def export_xacro(hand: HandSpec, *, sensor: SensorKind = "contact") -> str:
    """The text of a xacro file: a macro with the hand's name, and one hand made with it.

    Both have the arguments ``hand_name``, which stands before every name, and ``sensor_type``: ``contact``,
    ``pressure`` or ``none``. Defaults are the hand's name and ``sensor``.
    """
    if not MACRO_NAME.fullmatch(hand.name):
        raise BadValue(
            "name of the hand", hand.name, "a letter, then letters, digits and _: xacro's macro is called so"
        )
    robot = ElementTree.Element("robot", {"name": hand.name, "xmlns:xacro": "http://www.ros.org/wiki/xacro"})
    defaults = {"hand_name": hand.name, "sensor_type": sensor}
    for name, default in defaults.items():
        add(robot, "xacro:arg", name=name, default=default)
    params = " ".join(f"{name}:={default}" for name, default in defaults.items())
    macro = add(robot, "xacro:macro", name=hand.name, params=params)
    sensors = add(macro, "xacro:if", value="${sensor_type != 'none'}")
    add_hand(macro, parts.with_prefix(hand, "${hand_name}_"), "pressure", sensors=sensors)
    macro.remove(sensors)  # to the end: links come first
    macro.append(sensors)
    for block in sensors.iter("gazebo"):
        for force in [one for one in block.findall("sensor") if one.get("type") == "force_torque"]:
            block.remove(force)
            add(block, "xacro:if", value="${sensor_type == 'pressure'}").append(force)
    add(robot, f"xacro:{hand.name}", **{name: f"$(arg {name})" for name in defaults})
    return parts.write_xml(robot, parts.comments(hand))


def add_hand(robot: Element, hand: HandSpec, sensor: SensorKind, *, sensors: Element) -> None:
    """Everything of a hand, its sensors into an element of their own."""
    for tone in ("body", "skin", "dark"):
        add(add(robot, "material", name=_material(hand, tone)), "color", rgba=(*getattr(hand.palette, tone), 1.0))
    whole = parts.model_parts(hand, sensor)
    for link, inertial in whole.links:
        _add_link(robot, hand, link, inertial)
    for joint, drive, coupling in whole.joints:
        _add_joint(robot, joint, drive, coupling)
    for box in whole.boxes:
        _add_sensor(sensors, hand, box, sensor)


def _material(hand: HandSpec, tone: str) -> str:
    return f"{hand.name}_{tone}"


def _add_link(robot: Element, hand: HandSpec, link: Link, inertial: Inertial) -> None:
    made = add(robot, "link", name=parts.link_name(link.name))
    _add_inertial(made, inertial)
    for shape, tone in parts.visual_shapes(link):
        for piece in parts.capsule_pieces(shape):
            add(_add_shape(made, "visual", piece), "material", name=_material(hand, tone))
    pieces = [piece for shape in link.collision_shapes for piece in parts.capsule_pieces(shape)]
    for number, piece in enumerate(pieces):
        _add_shape(made, "collision", piece).set("name", f"{link.name}_collision_{number}")


def _add_inertial(link: Element, inertial: Inertial) -> None:
    made = add(link, "inertial")
    add(made, "origin", xyz=inertial.com_m, rpy=NO_TURN)
    add(made, "mass", value=inertial.mass_kg)
    add(made, "inertia", **inertial.tensor)


def _add_joint(robot: Element, joint: Joint, drive: Drive, coupling: Coupling | None) -> None:
    made = add(robot, "joint", name=joint.name, type="prismatic" if joint.kind == "slide" else "revolute")
    add(made, "origin", xyz=joint.pos_m, rpy=joint.rpy_rad)
    add(made, "parent", link=parts.link_name(joint.parent))
    add(made, "child", link=parts.link_name(joint.child))
    add(made, "axis", xyz=joint.axis)
    ends = {"lower": joint.lower_rad, "upper": joint.upper_rad}
    add(made, "limit", **ends, effort=drive.effort_nm, velocity=drive.speed_rad_s)
    add(made, "dynamics", damping=joint.damping_nms_rad, friction=joint.friction_nm)
    if coupling is not None:
        add(made, "mimic", joint=coupling.driver, multiplier=coupling.ratio, offset=coupling.offset_rad)
    if parts.is_damped(joint):
        block = add(robot, "gazebo", reference=joint.name)
        add(block, "implicitSpringDamper", "1")
        if joint.spring_nm_rad:
            add_all(block, springStiffness=joint.spring_nm_rad, springReference=joint.spring_rest_rad)


def _add_sensor(robot: Element, hand: HandSpec, box: SensorBox, kind: SensorKind) -> None:
    """A thin link on the skin, and what Gazebo shall read there."""
    link = add(robot, "link", name=box.name)
    _add_inertial(link, box.inertial)
    for tag in ("visual", "collision"):
        part = add(link, tag)  # without a name: Gazebo calls it as the link, with _collision behind
        add(part, "origin", xyz=(0.0, 0.0, 0.0), rpy=NO_TURN)
        add(add(part, "geometry"), "box", size=box.size_m)
        if tag == "visual":
            add(part, "material", name=_material(hand, "dark"))
    joint = add(robot, "joint", name=f"{box.name}_joint", type="fixed")
    add(joint, "origin", xyz=box.pos_m, rpy=rpy_from_matrix(box.R))
    add(joint, "parent", link=parts.link_name(box.link))
    add(joint, "child", link=box.name)
    # Otherwise Gazebo would melt the sensor into its link.
    preserved = add(robot, "gazebo", reference=f"{box.name}_joint")
    add(preserved, "preserveFixedJoint", "true")
    if kind == "pressure":
        parts.add_force_sensor(preserved, box)
    parts.add_contact_sensor(add(robot, "gazebo", reference=box.name), box)


def _add_shape(link: Element, tag: str, shape: Shape) -> Element:
    made = add(link, tag)
    xyz, rpy = parts.shape_pose(shape)
    add(made, "origin", xyz=xyz, rpy=rpy)
    geometry = add(made, "geometry")
    match shape:
        case Box():
            add(geometry, "box", size=[2.0 * half for half in shape.half_m])
        case Sphere():
            add(geometry, "sphere", radius=shape.radius_m)
        case Cylinder():
            add(geometry, "cylinder", radius=shape.radius_m, length=shape.length_m)
        case _:
            raise BadValue(
                "shape", type(shape).__name__, "a box, sphere, capsule or cylinder; SDF and MJCF take others"
            )
    return made
