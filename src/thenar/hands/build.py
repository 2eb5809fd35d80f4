"""A `HandSpec` into a MuJoCo `MjSpec`.

One body per link, one hinge per joint, couplings as equality constraints, tendons with their limits, and one
torque actuator per motor: the motor model decides the torque and the damping that goes with it. The skin and
the collision shapes of a link collide; its visuals never do.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Mapping
from pathlib import Path

import mujoco
import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadFile
from thenar.hands.rotations import quat_wxyz_from_rpy
from thenar.hands.shapes import Box, Capsule, Cylinder, Ellipsoid, Hull, Loft, Shape, Sphere, loft_mesh, surface_points
from thenar.hands.spec import HandSpec, Joint, LeadScrew, Link, OwnModel, Palette

logger = logging.getLogger(__name__)
if mujoco.get_mju_user_warning() is None:
    # The engine would print them and write MUJOCO_LOG.TXT into any folder; what matters comes as SimulationDiverged.
    mujoco.set_mju_user_warning(logger.info)
warnings.filterwarnings("ignore", "Attaching a spec with an empty prefix")  # see `on_body`: names shall stay

JOINT_TYPES = {"hinge": mujoco.mjtJoint.mjJNT_HINGE, "slide": mujoco.mjtJoint.mjJNT_SLIDE}
SKIN_GROUP, VISUAL_GROUP, COLLISION_GROUP, HIDDEN_GROUP = 1, 2, 3, 5  # MuJoCo draws groups 0 to 2

# Stiff contacts: 36 um deep at 1 N on a 50 g object.
CONTACT_SOLREF = (0.004, 1.0)
CONTACT_SOLIMP = (0.95, 0.99, 0.001, 0.5, 2.0)
SKIN_FRICTION = (0.9, 0.005, 0.0001)  # rubber on plastic; assumed

# Linkages and end stops: as stiff as a 2 ms step allows, so that a loaded fingertip does not open them.
# The ratio of damping says how much of an error is closed in such a step, 1 / (2 ratio)^2: most of it in a linkage, a
# quarter at a joint's stop, which throws back what it closes. Shorter steps close less, longer ones are as these.
COUPLING_SOLREF, STOP_SOLREF = (0.004, 0.6), (0.004, 1.0)
STIFF_SOLIMP = (0.9999, 0.99999, 0.001, 0.5, 2.0)


def build_spec(hand: HandSpec) -> mujoco.MjSpec:
    """The hand alone, its root link at the origin of the world."""
    if hand.own_model is not None:
        return _build_own(hand, hand.own_model)
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.modelname = hand.name
    bodies = {hand.root: spec.worldbody.add_body(name=hand.root)}
    for joint in hand.joints:  # parents come before children
        body = bodies[joint.parent].add_body(
            name=joint.child, pos=list(joint.pos_m), quat=list(quat_wxyz_from_rpy(joint.rpy_rad))
        )
        bodies[joint.child] = body
    for link in hand.links:
        add_link(spec, bodies[link.name], link, hand.palette)
    for joint in hand.joints:
        _add_joint(bodies[joint.child], joint)
    _add_drive(spec, hand, dict.fromkeys(hand.joint_names, 0.0))
    for tip in hand.tips:
        bodies[tip.link].add_site(name=f"{tip.finger}_tip", pos=list(tip.pos_m), size=[0.001, 0, 0], group=HIDDEN_GROUP)
    for joint in hand.joints:
        # MuJoCo skips parent and child by itself, but not when the parent is fixed to the world.
        spec.add_exclude(bodyname1=joint.parent, bodyname2=joint.child)
    for one, other in hand.no_contact:
        spec.add_exclude(bodyname1=one, bodyname2=other)
    return spec


def at_zero(hand: HandSpec) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The hand alone with all joints at 0: the places of its parts are known, nothing else is."""
    model = build_spec(hand).compile()
    data = mujoco.MjData(model)
    data.qpos[:] = 0.0
    mujoco.mj_kinematics(model, data)
    return model, data


def joint_inertia_kgm2(hand: HandSpec) -> FloatArray:
    """Inertia of the open hand as its joints feel it, in the spec's order [kg m^2]. Shape (joints, joints)."""
    model = build_spec(hand).compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    inertia = np.empty((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    at = [model.joint(name).dofadr[0] for name in hand.joint_names]
    return inertia[np.ix_(at, at)]


def _add_drive(spec: mujoco.MjSpec, hand: HandSpec, ref_rad: Mapping[str, float]) -> None:
    """Couplings, tendons and motors on joints that are there, whose angles in the model's own pose are these."""
    for coupling in hand.couplings:
        # MuJoCo counts both angles of a law from that pose.
        offset_rad = coupling.offset_rad - ref_rad[coupling.joint] + coupling.ratio * ref_rad[coupling.driver]
        spec.add_equality(
            name=f"{coupling.joint}_coupling",
            type=mujoco.mjtEq.mjEQ_JOINT,
            name1=coupling.joint,
            name2=coupling.driver,
            data=[offset_rad, coupling.ratio, *([0.0] * 10)],
            solref=COUPLING_SOLREF,
            solimp=STIFF_SOLIMP,
        )
    for tendon in hand.tendons:
        limits = (tendon.lower_rad, tendon.upper_rad)
        made = spec.add_tendon(name=tendon.name, solref_limit=COUPLING_SOLREF, solimp_limit=STIFF_SOLIMP)
        made.group = HIDDEN_GROUP  # a sum of angles has no place to be drawn at
        if limits != (None, None):
            made.limited = mujoco.mjtLimited.mjLIMITED_TRUE
            made.range = [
                -1e3 if tendon.lower_rad is None else tendon.lower_rad,
                1e3 if tendon.upper_rad is None else tendon.upper_rad,
            ]
        for joint_name, weight in tendon.joints:
            made.wrap_joint(joint_name, weight)
    tendon_names = {tendon.name for tendon in hand.tendons}
    for actuator in hand.actuators:
        kind = mujoco.mjtTrn.mjTRN_TENDON if actuator.drives in tendon_names else mujoco.mjtTrn.mjTRN_JOINT
        spec.add_actuator(name=actuator.name, trntype=kind, target=actuator.drives)
        motor = actuator.motor
        if isinstance(motor, LeadScrew) and motor.friction_n:
            spec.joint(actuator.drives).frictionloss += motor.friction_n * motor.lever_m * motor.newton_per_reported


def _build_own(hand: HandSpec, own: OwnModel) -> mujoco.MjSpec:
    """The user's body with this hand's names, couplings and motors; what the file had of these is dropped."""
    try:
        spec = mujoco.MjSpec.from_file(str(own.path))
        check_finite(own.path, spec.copy().compile())  # which reads its meshes too
    except ValueError as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile(own.path, f"not a model MuJoCo can read: {error}") from error
    for element in (*spec.actuators, *spec.equalities, *spec.tendons, *spec.sensors, *spec.keys):
        spec.delete(element)
    for kind, names, elements, known in (
        ("joint", own.joints, spec.joints, hand.joint_names),
        ("link", own.links, spec.bodies, [link.name for link in hand.links]),
    ):
        there = {element.name: element for element in elements}
        for ours, theirs in names.items():
            if ours not in known:
                raise BadFile(own.path, f"{hand.name} has no {kind} named {ours!r}; it has: {', '.join(known)}")
            if theirs not in there:
                raise BadFile(
                    own.path, f"no {kind} named {theirs!r} (for {ours!r}); it has: {', '.join(sorted(there))}"
                )
            if ours in there and ours not in names.values():
                raise BadFile(
                    own.path,
                    f"{theirs!r} is to be called {ours!r}, and so is another {kind} already: rename that one",
                )
        for index, theirs in enumerate(names.values()):
            there[theirs].name = f"_renaming_{index}"  # so that swapped names do not meet
        for ours, theirs in names.items():
            there[theirs].name = ours
    called = {theirs: ours for ours, theirs in own.links.items()}
    for element in (*spec.cameras, *spec.lights):  # what they look at is known by its name
        element.targetbody = called.get(element.targetbody, element.targetbody)
    wanted, ref_rad = set(hand.joint_names), dict[str, float]()
    for joint in spec.joints:
        if joint.name not in wanted:
            raise BadFile(
                own.path, f"joint {joint.name!r} has no place in {hand.name}; map it to one of {sorted(wanted)}"
            )
        wanted.discard(joint.name)
        ours = hand.joint(joint.name)
        if joint.type != JOINT_TYPES[ours.kind]:
            raise BadFile(own.path, f"joint {joint.name!r} is not a {ours.kind}")
        unit_rad = math.radians(1.0) if spec.compiler.degree and ours.kind == "hinge" else 1.0
        ref_rad[joint.name] = joint.ref * unit_rad
        joint.armature = ours.armature_kgm2
        joint.damping = [ours.damping_nms_rad, 0, 0]
        joint.frictionloss = ours.friction_nm
        joint.stiffness = [ours.spring_nm_rad, 0, 0]
        joint.springref = ours.spring_rest_rad / unit_rad
        spec.add_exclude(bodyname1=joint.parent.name, bodyname2=joint.parent.parent.name)
    if wanted:
        raise BadFile(own.path, f"no joint is mapped to {', '.join(sorted(wanted))} of {hand.name}")
    if spec.body(hand.root) is None:  # the file's parts hang on the world itself
        spec = on_body(spec, hand.root)
    _add_drive(spec, hand, ref_rad)
    return spec


def on_body(spec: mujoco.MjSpec, name: str) -> mujoco.MjSpec:
    """The same model, all of it on a new body of that name instead of on the world."""
    outer = mujoco.MjSpec()
    outer.modelname = spec.modelname
    outer.attach(spec, prefix="", frame=outer.worldbody.add_body(name=name).add_frame())
    return outer


def check_finite(path: Path, model: mujoco.MjModel) -> None:
    """Refuse a model with values that are no numbers: MuJoCo takes them, and nothing moves as it should."""
    kinds = {"body": mujoco.mjtObj.mjOBJ_BODY, "jnt": mujoco.mjtObj.mjOBJ_JOINT, "geom": mujoco.mjtObj.mjOBJ_GEOM}
    for field in sorted(dir(model), key=lambda field: field.endswith("0")):  # what derives from others comes last
        values, kind = getattr(model, field), field.partition("_")[0]
        if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or np.isfinite(values).all():
            continue
        row = int(np.argmax(~np.isfinite(values.reshape(len(values), -1)).all(axis=1)))
        name = mujoco.mj_id2name(model, kinds[kind], row) if kind in kinds else ""
        raise BadFile(path, f"{field} of {name or f'element {row}'} is {values[row]}; wanted finite numbers")


def _add_joint(body: mujoco.MjsBody, joint: Joint) -> None:
    body.add_joint(
        name=joint.name,
        type=JOINT_TYPES[joint.kind],
        axis=list(joint.axis),
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
        range=[joint.lower_rad, joint.upper_rad],
        damping=[joint.damping_nms_rad, 0, 0],
        armature=joint.armature_kgm2,
        frictionloss=joint.friction_nm,
        stiffness=[joint.spring_nm_rad, 0, 0],
        springref=joint.spring_rest_rad,
        solref_limit=STOP_SOLREF,
        solimp_limit=STIFF_SOLIMP,
    )


def add_link(spec: mujoco.MjSpec, body: mujoco.MjsBody, link: Link, palette: Palette) -> None:
    """Give a body the mass, the colliding shapes and the visuals of a link."""
    collision = link.collision_shapes
    total = sum(_volume_m3(shape) for shape in collision)
    inertial = link.inertia_kgm2 is not None or not collision
    if inertial:
        body.explicitinertial = True
        body.mass = link.mass_kg
        body.ipos = list(link.com_m or (0.0, 0.0, 0.0))
        # A part without shape or published inertia is taken as a ball of 10 mm radius.
        ball = 0.4 * link.mass_kg * 0.01**2
        body.fullinertia = list(link.inertia_kgm2 or (ball, ball, ball, 0.0, 0.0, 0.0))
    for index, shape in enumerate(collision):
        is_skin = index < len(link.skins)
        geom = _add_shape(spec, body, shape)
        geom.name = link.skin_names[index] if is_skin else f"{link.name}_collision_{index}"
        # A palm is drawn by its visuals; its box would show square corners.
        geom.group = SKIN_GROUP if is_skin and not isinstance(shape, Box) else COLLISION_GROUP
        geom.rgba = [*palette.skin, 1.0]
        geom.mass = 0.0 if inertial else link.mass_kg * _volume_m3(shape) / total
        geom.friction = SKIN_FRICTION
        geom.solref = CONTACT_SOLREF
        geom.solimp = CONTACT_SOLIMP
        geom.condim = 4 if is_skin else 3
    for index, visual in enumerate(link.visuals):
        name = f"{link.name}_visual_{index}"
        if isinstance(visual, Loft):
            vertices, faces = loft_mesh(visual)
            spec.add_mesh(name=name, uservert=vertices.ravel().tolist(), userface=faces.ravel().tolist())
            geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name)
        else:
            geom = _add_shape(spec, body, visual.shape)
        geom.name = name
        geom.group = VISUAL_GROUP
        geom.contype = geom.conaffinity = 0
        geom.mass = 0.0
        geom.rgba = [*getattr(palette, visual.tone), 1.0]


def _add_shape(spec: mujoco.MjSpec, body: mujoco.MjsBody, shape: Shape) -> mujoco.MjsGeom:
    geoms = mujoco.mjtGeom
    match shape:
        case Capsule() | Cylinder():
            kind = geoms.mjGEOM_CAPSULE if isinstance(shape, Capsule) else geoms.mjGEOM_CYLINDER
            return body.add_geom(type=kind, fromto=[*shape.start_m, *shape.end_m], size=[shape.radius_m, 0, 0])
        case Sphere():
            return body.add_geom(type=geoms.mjGEOM_SPHERE, pos=list(shape.centre_m), size=[shape.radius_m, 0, 0])
        case Box() | Ellipsoid():
            return body.add_geom(
                type=geoms.mjGEOM_BOX if isinstance(shape, Box) else geoms.mjGEOM_ELLIPSOID,
                pos=list(shape.centre_m),
                size=list(shape.half_m),
                quat=list(quat_wxyz_from_rpy(shape.rpy_rad)),
            )
        case Hull():
            name = f"{body.name}_hull_{len(spec.meshes)}"
            spec.add_mesh(name=name, uservert=surface_points(shape).ravel().tolist())
            return body.add_geom(type=geoms.mjGEOM_MESH, meshname=name)


def _volume_m3(shape: Shape) -> float:
    match shape:
        case Sphere():
            return 4.0 / 3.0 * math.pi * shape.radius_m**3
        case Box():
            return 8.0 * math.prod(shape.half_m)
        case Ellipsoid():
            return 4.0 / 3.0 * math.pi * math.prod(shape.half_m)
        case Capsule() | Cylinder():
            ends = 4.0 / 3.0 * math.pi * shape.radius_m**3 if isinstance(shape, Capsule) else 0.0
            return math.pi * shape.radius_m**2 * shape.length_m + ends
        case Hull():
            return 0.0  # a link from a file has an inertia of its own
