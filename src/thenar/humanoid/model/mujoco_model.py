"""A `BodySpec` into a MuJoCo `MjSpec`: floating base, hinges with the servo of the robot's drives, soles that touch."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from thenar.hands.build import add_link
from thenar.hands.rotations import matrix_from_rpy, quat_wxyz_from_matrix, quat_wxyz_from_rpy
from thenar.hands.shapes import Vec3
from thenar.hands.spec import HandSpec
from thenar.humanoid.model.body_spec import BodySpec, FloatArray, Hinge

FLOATING_BASE = "floating_base"
GANTRY = "gantry"
BODY_CONTACT, ANYTHING_ELSE = 2, 1  # bits of the collision: a body meets everything but itself


def build_spec(body: BodySpec, *, base_height_m: float, armature: bool = True) -> mujoco.MjSpec:
    """The body alone, upright, its base at a height.

    Each joint has an actuator of the same name whose force is ``gain * ctrl + bias``: written with stiffness and
    damping it is the position servo of the real drive, evaluated at every step of the physics.

    Args:
        body: What to build.
        base_height_m: Height of the base at the start [m].
        armature: Whether the rotors' inertia counts.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.modelname = body.name
    links = {link.name: link for link in body.links}
    root = spec.worldbody.add_body(name=body.root, pos=[0.0, 0.0, base_height_m])
    root.add_freejoint(name=FLOATING_BASE)
    bodies = {body.root: root}
    for joint in body.joints:
        bodies[joint.child] = bodies[joint.parent].add_body(
            name=joint.child, pos=list(joint.pos_m), quat=list(quat_wxyz_from_rpy(joint.rpy_rad))
        )
        if isinstance(joint, Hinge):
            _add_hinge(spec, bodies[joint.child], joint, armature=armature)
    for name, link in links.items():
        add_link(spec, bodies[name], link, body.palette)
        for geom in bodies[name].geoms:
            if geom.contype:
                geom.contype, geom.conaffinity = BODY_CONTACT, ANYTHING_ELSE
    spec.add_equality(
        name=GANTRY,
        type=mujoco.mjtEq.mjEQ_WELD,
        objtype=mujoco.mjtObj.mjOBJ_BODY,
        name1=body.root,
        active=False,
        solref=[0.02, 1.0],
    )
    return spec


@dataclass(frozen=True, kw_only=True)
class HandSeat:
    """Where a hand sits on a body."""

    link: str
    pos_m: Vec3
    quat_wxyz: tuple[float, float, float, float]


def seat_hand(body: BodySpec, hand: HandSpec) -> HandSeat:
    """A hand on its wrist: its root at the end of the arm, fingers along the forearm, palm towards the body."""
    inwards = -1.0 if hand.side == "left" else 1.0
    # Of the palm frame in the end of the arm: y towards the fingers (down), z out of the palm.
    y, z = np.array([0.0, 0.0, -1.0]), np.array([0.0, inwards, 0.0])
    R_ep = np.stack([np.cross(y, z), y, z], axis=1)
    w, x, y_, z_ = quat_wxyz_from_matrix(R_ep @ matrix_from_rpy(hand.palm.rpy_rad).T)
    return HandSeat(
        link=body.roles.hands[0 if hand.side == "left" else 1],
        pos_m=(0.0, 0.0, 0.0),
        quat_wxyz=(float(w), float(x), float(y_), float(z_)),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Load:
    """A rigid load on a link: what an open hand is to the robot's own model."""

    link: str
    mass_kg: float
    com_m: FloatArray
    """In the frame of the link [m]."""
    inertia_kgm2: FloatArray
    """About the centre, in the axes of the link. Shape (3, 3)."""


def hand_load(body: BodySpec, hand: HandSpec) -> Load:
    """Mass, centre and inertia of a hand in its first posture, as one rigid piece on the wrist."""
    from thenar.hands.build import build_spec as build_hand

    seat = seat_hand(body, hand)
    model = build_hand(hand).compile()
    data = mujoco.MjData(model)
    for joint, angle in hand.joint_angles(hand.open_rad).items():
        data.joint(joint).qpos[0] = angle
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    root = model.body(hand.root).id
    com = data.subtree_com[root]
    inertia = np.zeros((3, 3))
    for index in range(root, model.nbody):
        axes, arm = data.ximat[index].reshape(3, 3), data.xipos[index] - com
        inertia += axes @ np.diag(model.body_inertia[index]) @ axes.T
        inertia += model.body_mass[index] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, np.array(seat.quat_wxyz))
    R = turn.reshape(3, 3)
    return Load(
        link=seat.link,
        mass_kg=float(model.body_subtreemass[root]),
        com_m=np.asarray(seat.pos_m) + R @ com,
        inertia_kgm2=R @ inertia @ R.T,
    )


def _add_hinge(spec: mujoco.MjSpec, body: mujoco.MjsBody, hinge: Hinge, *, armature: bool) -> None:
    body.add_joint(
        name=hinge.name,
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=list(hinge.axis),
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
        range=[hinge.lower_rad, hinge.upper_rad],
        damping=[hinge.damping_nms_rad, 0, 0],
        armature=hinge.armature_kgm2 if armature else 0.0,
        frictionloss=hinge.friction_nm,
    )
    spec.add_actuator(
        name=hinge.name,
        trntype=mujoco.mjtTrn.mjTRN_JOINT,
        target=hinge.name,
        gaintype=mujoco.mjtGain.mjGAIN_FIXED,
        biastype=mujoco.mjtBias.mjBIAS_AFFINE,
        gainprm=[0.0] * 10,
        biasprm=[0.0] * 10,
        forcelimited=mujoco.mjtLimited.mjLIMITED_TRUE,
        forcerange=[-hinge.effort_nm, hinge.effort_nm],
    )
