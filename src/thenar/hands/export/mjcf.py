"""A `HandSpec` into an MJCF file: MuJoCo knows couplings, tendons and springs itself, and motors become its servos."""

from __future__ import annotations

from dataclasses import replace

import mujoco

from thenar.hands.build import SKIN_GROUP, VISUAL_GROUP, build_spec
from thenar.hands.export import export_parts as parts
from thenar.hands.export.export_parts import SensorKind
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.hands.shapes import VisualShape
from thenar.hands.spec import Actuator, HandSpec, LeadScrew, Servo

SENSOR_GROUP = 4
SITE_HALF_DEPTH_M = 0.001


def export_mjcf(hand: HandSpec, *, sensor: SensorKind = "contact") -> str:
    """The text of an MJCF file.

    Args:
        hand: The hand.
        sensor: ``pressure`` reads the normal force at every sensor's site; ``contact`` does the same, and anything
            above 0 is a contact: MuJoCo has one sensor for both. ``none``: no sites and no sensors.
    """
    plain = replace(
        hand,
        links=tuple(
            replace(link, visuals=tuple(v for v in link.visuals if isinstance(v, VisualShape))) for link in hand.links
        ),
    )
    spec = build_spec(plain)
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for geom in spec.geoms:
        geom.group = VISUAL_GROUP if geom.contype == 0 else SKIN_GROUP  # both are drawn
    for link in hand.links:
        for geom in spec.body(link.name).geoms[len(link.skins) : len(link.collision_shapes)]:
            geom.rgba = [*hand.palette.body, 1.0]
    for actuator in hand.actuators:
        _make_servo(spec.actuator(actuator.name), actuator)
    for box in parts.sensor_boxes(hand) if sensor != "none" else ():
        spec.body(box.link).add_site(
            name=box.name,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=box.pos_m.tolist(),
            quat=quat_wxyz_from_matrix(box.R).tolist(),
            # Contacts lie a little below and above the skin: the site must hold them.
            size=[box.size_m[0] / 2, box.size_m[1] / 2, SITE_HALF_DEPTH_M],
            rgba=[*hand.palette.dark, 1.0],
            group=SENSOR_GROUP,
        )
        spec.add_sensor(
            name=box.name, type=mujoco.mjtSensor.mjSENS_TOUCH, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=box.name
        )
    spec.compile()
    return spec.to_xml()


def _make_servo(made: mujoco.MjsActuator, actuator: Actuator) -> None:
    """A position servo as stiff and as strong as the motor; how fast it goes is left to whoever commands it."""
    motor = actuator.motor
    if isinstance(motor, LeadScrew):
        torque_per_n = motor.lever_m * motor.newton_per_reported
        stiffness, effort = motor.stiffness_n * torque_per_n / actuator.stroke_rad, motor.force_max_n * torque_per_n
    else:
        stiffness, effort = motor.stiffness_nm_rad, motor.effort_nm
    made.set_to_position(kp=stiffness, kv=motor.damping_nms_rad)
    made.ctrllimited = made.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
    made.ctrlrange = [actuator.lower_rad, actuator.upper_rad]
    pulls_only = isinstance(motor, Servo) and motor.pulls_only
    made.forcerange = [0.0 if pulls_only else -effort, effort]
