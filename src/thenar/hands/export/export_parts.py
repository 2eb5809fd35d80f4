"""What every exported model needs beyond a spec: inertias, sensor boxes, effort and speed of joints, XML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.hands.build import build_spec
from thenar.hands.pad_charts import taxel_frames
from thenar.hands.rotations import matrix_from_quat_wxyz, rpy_from_matrix
from thenar.hands.shapes import Box, Capsule, Cylinder, Ellipsoid, Hull, Shape, Sphere, Vec3, VisualShape
from thenar.hands.spec import Coupling, HandSpec, Joint, LeadScrew, Link, Pad

SensorKind = Literal["contact", "pressure", "none"]
Element = ElementTree.Element

CELL_M = (0.006, 0.006, 0.0003)
"""Size of the box that stands for one barometer, as in the models of this hand for Gazebo."""
SENSOR_KG = 1e-5
"""Mass of a sensor's box; it is taken off the link that carries it."""
WITHSTOOD = 0.25
"""Damping with which an engine that adds it as a force is stable, of what stops a joint within a step."""
SENSOR_HZ = {"force": 50.0, "barometer": 40.0}
"""How often the sensors of real hands are read."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Inertial:
    """Mass of a link, and how it is spread, in the link's axes."""

    mass_kg: float
    com_m: FloatArray
    about_com_kgm2: FloatArray
    """Shape (3, 3)."""

    @property
    def tensor(self) -> dict[str, float]:
        """The six numbers of the inertia by their names in model files."""
        return {
            f"i{'xyz'[row]}{'xyz'[col]}": self.about_com_kgm2[row, col] for row in range(3) for col in range(row, 3)
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class SensorBox:
    """A thin box on the skin that stands for a sensor: one barometer, or a whole pad of taxels."""

    name: str
    link: str
    pos_m: FloatArray
    R: FloatArray
    """Columns are the directions of rows, of columns and out of the skin, in the link's axes."""
    size_m: FloatArray
    rate_hz: float

    @property
    def inertial(self) -> Inertial:
        """Of the box, in its own axes."""
        squares = np.square(self.size_m)
        tensor = np.diag(SENSOR_KG / 12.0 * (squares.sum() - squares))
        return Inertial(mass_kg=SENSOR_KG, com_m=np.zeros(3), about_com_kgm2=tensor)


@dataclass(frozen=True, kw_only=True)
class Drive:
    """What moves a joint."""

    effort_nm: float
    speed_rad_s: float


FREE = Drive(effort_nm=0.0, speed_rad_s=0.0)
"""What moves a joint without a motor: nothing."""


@dataclass(frozen=True, kw_only=True)
class ModelParts:
    """A hand as bodies, hinges and sensors: what a URDF or SDF file is written from."""

    links: list[tuple[Link, Inertial]]
    """With what is left of each when its sensors weigh something of their own."""
    joints: list[tuple[Joint, Drive, Coupling | None]]
    boxes: list[SensorBox]


def with_prefix(hand: HandSpec, prefix: str) -> HandSpec:
    """The hand with all its names behind a prefix, so that several fit into one world."""
    return replace(
        hand,
        name=prefix + hand.name,
        root=prefix + hand.root,
        links=tuple(replace(link, name=prefix + link.name) for link in hand.links),
        joints=tuple(
            replace(one, name=prefix + one.name, parent=prefix + one.parent, child=prefix + one.child)
            for one in hand.joints
        ),
        couplings=tuple(replace(c, joint=prefix + c.joint, driver=prefix + c.driver) for c in hand.couplings),
        tendons=tuple(
            replace(t, name=prefix + t.name, joints=tuple((prefix + joint, weight) for joint, weight in t.joints))
            for t in hand.tendons
        ),
        actuators=tuple(replace(a, name=prefix + a.name, drives=prefix + a.drives) for a in hand.actuators),
        pads=tuple(replace(pad, name=prefix + pad.name, link=prefix + pad.link) for pad in hand.pads),
        tips=tuple(replace(tip, finger=prefix + tip.finger, link=prefix + tip.link) for tip in hand.tips),
        no_contact=tuple((prefix + one, prefix + other) for one, other in hand.no_contact),
        variants={},
    )


def with_bounded_damping(hand: HandSpec, step_s: float) -> HandSpec:
    """The hand with no joint damped more than an engine withstands that adds damping to the next step as a force.

    Such a joint overshoots from where its damping stops it within a step, and diverges at twice as much. What it moves
    is the least there can be: every other joint gives way.
    """
    model = build_spec(hand).compile()
    model.dof_armature[:] = 0.0  # model files have none
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    least = 1.0 / np.diagonal(np.linalg.inv(M))
    bound = {joint.name: WITHSTOOD * least[model.joint(joint.name).dofadr[0]] / step_s for joint in hand.joints}
    return replace(
        hand,
        joints=tuple(
            replace(one, damping_nms_rad=min(one.damping_nms_rad, float(bound[one.name]))) for one in hand.joints
        ),
    )


def model_parts(hand: HandSpec, sensor: SensorKind) -> ModelParts:
    """Links, joints and sensors of a hand."""
    boxes, whole, moved_by = sensor_boxes(hand) if sensor != "none" else [], inertials(hand), drives(hand)
    couplings = couplings_to_drivers(hand)
    return ModelParts(
        links=[
            (link, without_boxes(whole[link.name], (box for box in boxes if box.link == link.name)))
            for link in hand.links
        ],
        joints=[(joint, moved_by[joint.name], couplings.get(joint.name)) for joint in hand.joints],
        boxes=boxes,
    )


def couplings_to_drivers(hand: HandSpec) -> dict[str, Coupling]:
    """Coupling of every coupled joint to the joint a motor turns: most readers do not follow a mimic of a mimic."""
    found: dict[str, Coupling] = {}
    for own in hand.couplings:  # drivers come before what they drive
        if above := found.get(own.driver):
            ratio, offset_rad = own.ratio * above.ratio, own.ratio * above.offset_rad + own.offset_rad
            own = replace(own, driver=above.driver, ratio=ratio, offset_rad=offset_rad)
        found[own.joint] = own
    return found


def inertials(hand: HandSpec) -> dict[str, Inertial]:
    """Mass, centre and inertia of every link, as the twin has them."""
    model = build_spec(hand).compile()
    found = {}
    for link in hand.links:
        body = model.body(link.name).id
        R = matrix_from_quat_wxyz(model.body_iquat[body])
        found[link.name] = Inertial(
            mass_kg=float(model.body_mass[body]),
            com_m=model.body_ipos[body].copy(),
            about_com_kgm2=R @ np.diag(model.body_inertia[body]) @ R.T,
        )
    return found


def without_boxes(whole: Inertial, boxes: Iterable[SensorBox]) -> Inertial:
    """What is left of a link when boxes fixed to it have a mass of their own: together they are the whole again."""
    mass, moment = whole.mass_kg, whole.mass_kg * whole.com_m
    about_origin = whole.about_com_kgm2 + whole.mass_kg * _steiner(whole.com_m)
    for box in boxes:
        own = box.inertial
        mass -= own.mass_kg
        moment = moment - own.mass_kg * box.pos_m
        about_origin = about_origin - (box.R @ own.about_com_kgm2 @ box.R.T + own.mass_kg * _steiner(box.pos_m))
    com = moment / mass
    return Inertial(mass_kg=mass, com_m=com, about_com_kgm2=about_origin - mass * _steiner(com))


def sensor_boxes(hand: HandSpec) -> list[SensorBox]:
    """A box for every barometer, and one for every pad of other taxels; half of it stands out, to be touched."""
    return [box for pad in hand.pads for box in _boxes_of(hand, pad)]


def drives(hand: HandSpec) -> dict[str, Drive]:
    """Largest torque and speed of every joint; a coupled joint has those of its driver, a free one none."""
    found: dict[str, Drive] = {}
    tendons = {tendon.name: tendon for tendon in hand.tendons}
    for actuator in hand.actuators:
        motor, speed = actuator.motor, actuator.top_speed_rad_s
        if isinstance(motor, LeadScrew):
            effort = motor.force_max_n * motor.lever_m * motor.newton_per_reported
        else:
            effort = motor.effort_nm
        tendon = tendons.get(actuator.drives)
        for name, weight in tendon.joints if tendon else ((actuator.drives, 1.0),):
            found[name] = Drive(effort_nm=effort * abs(weight), speed_rad_s=speed / abs(weight))
    for coupling in hand.couplings:  # drivers come before what they drive
        driver = found.get(coupling.driver, FREE)
        found[coupling.joint] = Drive(effort_nm=driver.effort_nm, speed_rad_s=driver.speed_rad_s * abs(coupling.ratio))
    return {joint.name: found.get(joint.name, FREE) for joint in hand.joints}


def is_damped(joint: Joint) -> bool:
    """Whether a joint has damping or a spring.

    Gazebo's ODE adds both to the next step as forces by default, which diverges where damping times step is more than
    twice the inertia: a ReFlex flexure is at 83 with 1 ms, a Shadow fingertip at 19. Such joints ask it to solve for
    them instead.
    """
    return joint.damping_nms_rad > 0.0 or joint.spring_nm_rad > 0.0


def link_name(link: str) -> str:
    """Name of a link in URDF and SDF, where links and joints may not share names."""
    return f"{link}_link"


def visual_shapes(link: Link) -> tuple[tuple[Shape, str], ...]:
    """Shapes of a link that are drawn, with their colour in the palette; lofted visuals are left out."""
    extra = ((visual.shape, visual.tone) for visual in link.visuals if isinstance(visual, VisualShape))
    return (*((shape, "skin") for shape in link.skins), *((shape, "body") for shape in link.collision), *extra)


def shape_pose(shape: Shape) -> tuple[FloatArray, Vec3]:
    """Centre [m] and roll, pitch, yaw [rad] of a shape in its link; round ones lie along their own z."""
    match shape:
        case Sphere():
            return np.asarray(shape.centre_m), (0.0, 0.0, 0.0)
        case Hull():
            raise BadValue("shape", "a mesh", "a hand of the catalogue: this one comes from a file already")
        case Box() | Ellipsoid():
            return np.asarray(shape.centre_m), shape.rpy_rad
        case Capsule() | Cylinder():
            start, end = np.asarray(shape.start_m), np.asarray(shape.end_m)
            return (start + end) / 2, rpy_from_matrix(_z_along(end - start))


def comments(hand: HandSpec) -> list[str]:
    """What a file of bodies and hinges cannot say about this hand, in words."""
    lines = [f"{hand.maker} {hand.model}, from thenar's hand {hand.name}. Lengths in m, angles in rad."]
    for tendon in hand.tendons:
        ends = f", from {tendon.lower_rad} to {tendon.upper_rad} rad"
        bounded = (tendon.lower_rad, tendon.upper_rad) != (None, None)
        path = " + ".join(f"{weight:g} * {joint}" for joint, weight in tendon.joints)
        lines.append(f"Tendon {tendon.name}, which this format cannot say: {path}{ends if bounded else ''}.")
    return lines


def add(parent: Element, tag: str, content: ArrayLike = "", /, **attributes: ArrayLike) -> Element:
    """A new element at the end of another; numbers are written short, and the same when read back."""
    made = ElementTree.SubElement(parent, tag, {name: text(value) for name, value in attributes.items()})
    made.text = text(content) or None
    return made


def add_all(parent: Element, /, **contents: ArrayLike) -> None:
    """A new element for every content, called by its name."""
    for tag, content in contents.items():
        add(parent, tag, content)


def add_contact_sensor(parent: Element, box: SensorBox) -> None:
    """Gazebo's sensor that says what touches a box."""
    sensor = add(parent, "sensor", name=f"{box.name}_contact", type="contact")
    add_all(sensor, always_on="true", update_rate=box.rate_hz)
    add(add(sensor, "contact"), "collision", f"{box.name}_collision")


def add_force_sensor(joint: Element, box: SensorBox) -> None:
    """Gazebo's sensor of the force that a box passes on."""
    sensor = add(joint, "sensor", name=f"{box.name}_force", type="force_torque")
    add_all(sensor, always_on="true", update_rate=box.rate_hz)
    add(add(sensor, "force_torque"), "frame", "child")


def text(value: ArrayLike) -> str:
    """Words as they are, numbers as a model file has them."""
    if isinstance(value, str):
        return value
    return " ".join(repr(float(number) + 0.0) for number in np.atleast_1d(np.asarray(value, dtype=np.float64)))


def write_xml(root: Element, lines: Iterable[str]) -> str:
    """A whole file, with comments before everything else."""
    for number, line in enumerate(lines):
        root.insert(number, ElementTree.Comment(f" {re.sub('--+', '-', line)} "))
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def capsule_pieces(shape: Shape) -> tuple[Shape, ...]:
    """The same surface in shapes that formats without capsules know."""
    if not isinstance(shape, Capsule):
        return (shape,)
    ends = (Sphere(centre_m=end, radius_m=shape.radius_m) for end in (shape.start_m, shape.end_m))
    return (Cylinder(start_m=shape.start_m, end_m=shape.end_m, radius_m=shape.radius_m), *ends)


def _boxes_of(hand: HandSpec, pad: Pad) -> list[SensorBox]:
    if pad.sensor == "barometer":
        size = np.array(CELL_M)
        names = [pad.name] if pad.taxels == 1 else [f"{pad.name}_{n + 1}" for n in range(pad.taxels)]
    else:  # as one large taxel
        size = np.array([pad.rows * pad.row_pitch_m, pad.cols * pad.col_pitch_m, CELL_M[2]])
        pad, names = replace(pad, rows=1, cols=1, chart="face", points=None), [pad.name]
    return [
        SensorBox(name=f"{name}_sensor", link=pad.link, pos_m=point, R=R, size_m=size, rate_hz=SENSOR_HZ[pad.sensor])
        for name, point, R in zip(names, *taxel_frames(hand, pad), strict=True)
    ]


def _steiner(offset_m: FloatArray) -> FloatArray:
    """Inertia of a unit mass at an offset."""
    return np.dot(offset_m, offset_m) * np.eye(3) - np.outer(offset_m, offset_m)


def _z_along(direction: FloatArray) -> FloatArray:
    z = direction / np.linalg.norm(direction)
    helper = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
