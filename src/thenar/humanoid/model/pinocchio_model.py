"""Pinocchio model of a `BodySpec`: free-flyer base, joints in the robot's sequence, a frame for every link."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from thenar.errors import MissingExtra
from thenar.hands.rotations import matrix_from_rpy
from thenar.humanoid.model.body_spec import BodySpec, Hinge, Load

try:
    import pinocchio as pin
except ImportError as error:
    raise MissingExtra("RobotData", "pin", "humanoid") from error

_JOINTS = {(1.0, 0.0, 0.0): pin.JointModelRX, (0.0, 1.0, 0.0): pin.JointModelRY, (0.0, 0.0, 1.0): pin.JointModelRZ}


def build_model(body: BodySpec, *, armature: bool = True, loads: Iterable[Load] = ()) -> Any:
    """The body as a Pinocchio model.

    Args:
        body: What to build.
        armature: Whether the rotors' inertia counts; without it the mass matrix is that of the links alone.
        loads: Rigid pieces on links, such as hands.
    """
    model = pin.Model()
    model.name = body.name
    links = {link.name: link for link in body.links}
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "floating_base")
    # Joint each link moves with, and where the link stands in that joint's frame.
    moves_with = {body.root: (base, pin.SE3.Identity())}
    for joint in body.joints:
        parent, place = moves_with[joint.parent]
        origin = place * pin.SE3(matrix_from_rpy(joint.rpy_rad), np.array(joint.pos_m))
        if isinstance(joint, Hinge):
            moved = model.addJoint(parent, _JOINTS[joint.axis](), origin, joint.name)
            moves_with[joint.child] = (moved, pin.SE3.Identity())
        else:
            moves_with[joint.child] = (parent, origin)
    for name, (moved, place) in moves_with.items():
        inertia = pin.Inertia.Zero()
        if name in links:
            link = links[name]
            assert link.com_m is not None
            assert link.inertia_kgm2 is not None
            xx, yy, zz, xy, xz, yz = link.inertia_kgm2
            about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            inertia = pin.Inertia(link.mass_kg, np.array(link.com_m), about_com)
        model.appendBodyToJoint(moved, inertia, place)
        model.addFrame(pin.Frame(name, moved, 0, place, pin.FrameType.BODY))
    for load in loads:
        moved, place = moves_with[load.link]
        model.appendBodyToJoint(moved, pin.Inertia(load.mass_kg, load.com_m, load.inertia_kgm2), place)
    model.lowerPositionLimit[7:] = body.per_joint("lower_rad")
    model.upperPositionLimit[7:] = body.per_joint("upper_rad")
    if armature:
        model.armature[6:] = body.per_joint("armature_kgm2")
    return model
