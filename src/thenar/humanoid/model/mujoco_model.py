"""MuJoCo model of a `BodySpec`: floating base, hinges with the servo of the robot's drives, soles that collide."""

from __future__ import annotations

import mujoco

from thenar.hands.build import add_link
from thenar.hands.rotations import quat_wxyz_from_rpy
from thenar.hands.shapes import Vec3
from thenar.humanoid.model.body_spec import BodySpec, Hinge

FLOATING_BASE = "floating_base"
GANTRY = "gantry"
IMU_SENSORS = {
    "quat": mujoco.mjtSensor.mjSENS_FRAMEQUAT,
    "gyro": mujoco.mjtSensor.mjSENS_GYRO,
    "accel": mujoco.mjtSensor.mjSENS_ACCELEROMETER,
}
BODY_CONTACT, ANYTHING_ELSE = 2, 1  # bits of the collision: a body meets everything but itself


def build_spec(
    body: BodySpec,
    *,
    base_height_m: float,
    armature: bool = True,
    fixed: bool = False,
    base_xy_yaw: Vec3 = (0.0, 0.0, 0.0),
) -> mujoco.MjSpec:
    """The body alone, upright, its base at a height.

    Each joint has an actuator of the same name whose force is ``gain * ctrl + bias``: written with stiffness and
    damping it is the position servo of the real drive, evaluated at every step of the physics.

    Args:
        body: What to build.
        base_height_m: Height of the base at the start [m].
        armature: Whether the rotors' inertia counts.
        fixed: Whether the base stands still in the world, instead of being free and held by a gantry at times.
        base_xy_yaw: Place of the base on the ground [m] and heading [rad] at the start.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.modelname = body.name
    x, y, yaw = base_xy_yaw
    place = {"pos": [x, y, base_height_m], "quat": list(quat_wxyz_from_rpy((0.0, 0.0, yaw)))}
    root = spec.worldbody.add_body(name=body.root, **place)
    if not fixed:
        root.add_freejoint(name=FLOATING_BASE)
    bodies = {body.root: root}
    for joint in body.joints:
        bodies[joint.child] = bodies[joint.parent].add_body(
            name=joint.child, pos=list(joint.pos_m), quat=list(quat_wxyz_from_rpy(joint.rpy_rad))
        )
        if isinstance(joint, Hinge):
            _add_hinge(spec, bodies[joint.child], joint, armature=armature)
    for link in body.links:
        add_link(spec, bodies[link.name], link, body.palette)
        for geom in bodies[link.name].geoms:
            if geom.contype:
                geom.contype, geom.conaffinity = BODY_CONTACT, ANYTHING_ELSE
    for imu in body.imus:
        bodies[imu].add_site(name=imu)
        for kind, sensor in IMU_SENSORS.items():
            spec.add_sensor(name=f"{imu}_{kind}", type=sensor, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=imu)
    for name, eye in body.eyes.items():
        bodies[eye.link].add_camera(
            name=name, pos=list(eye.pos_m), quat=list(eye.quat_wxyz), fovy=eye.fovy_deg, resolution=[640, 480]
        )
    if fixed:
        return spec
    spec.add_equality(
        name=GANTRY,
        type=mujoco.mjtEq.mjEQ_WELD,
        objtype=mujoco.mjtObj.mjOBJ_BODY,
        name1=body.root,
        active=False,
        solref=[0.02, 1.0],
    )
    return spec


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
