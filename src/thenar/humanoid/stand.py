"""Standing: where the joints should be and which torques carry the weight, as pure functions of one instant.

Joint servos alone do not hold a standing robot: two ankles of 150 N m/rad against the 556 N m/rad with which the weight
of a GR-2 tips over. So the weight is shared between the feet such that the centre of mass is pulled back over them and
the trunk upright; the legs' torques follow from the feet's Jacobians, and the servos keep the posture around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thenar.errors import BadValue
from thenar.humanoid.kindyn import KindynData
from thenar.humanoid.model.spec import BodySpec, FloatArray
from thenar.humanoid.robot_data import RobotSnapshot

UP_M_S2 = np.array([0.0, 0.0, 9.81])
# Ref: ranges of PdStand in Aurora 1.3: height [m], pitch and yaw [rad].
POSE_LOWER, POSE_UPPER = (-0.2, -0.3, -0.3), (0.025, 0.45, 0.3)


@dataclass(frozen=True, kw_only=True)
class Balance:
    """How stiffly a standing robot is held over its feet."""

    com_per_s2: float = 30.0
    """Pull of the centre of mass to its place, per kilogram [1/s^2]; above g/h = 11 it does not tip over."""
    com_per_s: float = 9.0
    """Damping of the same [1/s]."""
    turn_per_s2: float = 80.0
    """Pull of the trunk upright, per inertia [1/s^2]."""
    turn_per_s: float = 14.0
    """Damping of the same [1/s]."""
    arm_m: float = 0.05
    """A foot's torque counts as much as its force at this arm [m]."""


def stand_posture(
    body: BodySpec, *, delta_z_m: float = 0.0, pitch_rad: float = 0.0, yaw_rad: float = 0.0
) -> FloatArray:
    """Joint angles that stand lower, lean forwards or turn the trunk, the feet staying flat where they are [rad].

    Args:
        body: The robot.
        delta_z_m: Height of the base against the default pose [m].
        pitch_rad: Lean of the trunk, forwards positive [rad].
        yaw_rad: Turn of the trunk to the left [rad].
    """
    q = body.default_q_rad
    hinges = {hinge.name: hinge for hinge in body.hinges}
    for side in ("left", "right"):
        hip, knee, ankle = (body.index_of(f"{side}_{part}_pitch_joint") for part in ("hip", "knee", "ankle"))
        upper_m = -sum(hinges[f"{side}_{part}_joint"].pos_m[2] for part in ("hip_yaw", "knee_pitch"))
        lower_m = -hinges[f"{side}_ankle_pitch_joint"].pos_m[2]
        # The ankle stays as far ahead of the hip as it is by default.
        ahead_m, below_m = _ankle(upper_m, lower_m, q[hip], q[hip] + q[knee])
        below_m += delta_z_m
        far_m = math.hypot(ahead_m, below_m)
        if not abs(upper_m - lower_m) < far_m < upper_m + lower_m:
            raise BadValue("delta_z", delta_z_m, "a height the legs reach")
        inner = math.acos((upper_m**2 + far_m**2 - lower_m**2) / (2 * upper_m * far_m))
        bend = math.pi - math.acos((upper_m**2 + lower_m**2 - far_m**2) / (2 * upper_m * lower_m))
        thigh_rad = -math.atan2(ahead_m, below_m) - inner
        q[hip], q[knee], q[ankle] = thigh_rad - pitch_rad, bend, -thigh_rad - bend
    q[body.index_of("waist_yaw_joint")] += yaw_rad
    return q


def _ankle(upper_m: float, lower_m: float, upper_rad: float, lower_rad: float) -> tuple[float, float]:
    """How far ahead of the hip and below it the ankle is [m], links turned by these angles about y."""
    along = -upper_m * math.sin(upper_rad) - lower_m * math.sin(lower_rad)
    return along, upper_m * math.cos(upper_rad) + lower_m * math.cos(lower_rad)


def share_weight(kindyn: KindynData, *, force_n: FloatArray, torque_nm: FloatArray, arm_m: float) -> FloatArray:
    """Forces and torques of the ground on the feet that sum to a wrench about the centre of mass. Shape (2, 6).

    Of all that do, the smallest: neither foot carries more than it must.
    """
    weight = np.array([1.0, 1.0, 1.0, arm_m**2, arm_m**2, arm_m**2] * 2)
    sums = np.zeros((6, 12))
    for side, foot in enumerate(kindyn.feet_W):
        x, y, z = foot.p - kindyn.Pc
        block = sums[:, 6 * side : 6 * side + 6]
        block[:] = np.eye(6)
        block[3:, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    wanted = np.concatenate([force_n, torque_nm])
    weighted = weight[:, None] * sums.T
    return (weighted @ np.linalg.solve(sums @ weighted, wanted)).reshape(2, 6)


def stand_torques(
    now: RobotSnapshot, *, com_goal_m: FloatArray, upright_rad: FloatArray, balance: Balance
) -> FloatArray:
    """Torques of the joints that carry the weight and balance it [N m]. Shape (nv - 6,).

    Args:
        now: The robot.
        com_goal_m: Where the centre of mass shall be, in the world [m].
        upright_rad: Roll and pitch the base shall have [rad].
        balance: How stiffly.
    """
    kindyn, base = now.kindyn_data, now.base_data
    pull = balance.com_per_s2 * (com_goal_m - kindyn.Pc) - balance.com_per_s * kindyn.Vc
    force = kindyn.m * (pull + UP_M_S2)
    roll, pitch, yaw = base.rpy
    tilt = np.array([upright_rad[0] - roll, upright_rad[1] - pitch, 0.0])
    c, s = math.cos(yaw), math.sin(yaw)
    tilt_W = np.array([c * tilt[0] - s * tilt[1], s * tilt[0] + c * tilt[1], 0.0])
    torque = kindyn.Iw @ (balance.turn_per_s2 * tilt_W - balance.turn_per_s * base.omega_W)
    feet = share_weight(kindyn, force_n=force, torque_nm=torque, arm_m=balance.arm_m)
    left, right = kindyn.feet_W
    return (kindyn.g - left.J.T @ feet[0] - right.J.T @ feet[1])[6:]
