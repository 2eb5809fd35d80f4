"""Balance of a standing robot: the torques that carry its weight, as pure functions of one instant.

Joint servos alone do not hold a standing robot: two ankles of 150 N m/rad against the 556 N m/rad with which the weight
of a GR-2 tips over. So the weight is shared between the feet such that the centre of mass is pulled back over them and
the trunk upright; the legs' torques follow from the feet's Jacobians, and the servos keep the posture around it.
"""

from __future__ import annotations

import math

import numpy as np

from thenar.arrays import FloatArray
from thenar.humanoid.state.kindyn import KindynData
from thenar.humanoid.state.robot_data import RobotSnapshot

UP_M_S2 = np.array([0.0, 0.0, 9.81])
# Ref: ranges of PdStand in Aurora 1.3: height [m], pitch and yaw [rad].
POSE_LOWER, POSE_UPPER = (-0.2, -0.3, -0.3), (0.025, 0.45, 0.3)
MAX_RISE_M = 0.005  # where the knees are nearly straight; the vendor's range goes on

# Gains that hold a standing robot over its feet: the pull of the centre of mass to its place, per kilogram, which does
# not tip over above g/h = 11, and of the trunk upright, per inertia, each with its damping.
COM_PER_S2, COM_PER_S = 30.0, 9.0
TILT_PER_S2, TILT_PER_S = 80.0, 14.0
FOOT_ARM_M = 0.05  # a foot's torque counts as much as its force at this arm


def share_weight(kindyn: KindynData, *, force_n: FloatArray, torque_nm: FloatArray) -> FloatArray:
    """Forces and torques of the ground on the feet that sum to a wrench about the centre of mass. Shape (2, 6).

    Of all that do, the smallest: neither foot carries more than it must.
    """
    weight = np.repeat([1.0, FOOT_ARM_M**2, 1.0, FOOT_ARM_M**2], 3)
    sums = np.zeros((6, 12))
    for side, foot in enumerate(kindyn.feet_W):
        x, y, z = foot.p - kindyn.Pc
        block = sums[:, 6 * side : 6 * side + 6]
        block[:] = np.eye(6)
        block[3:, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    wanted = np.concatenate([force_n, torque_nm])
    weighted = weight[:, None] * sums.T
    return (weighted @ np.linalg.solve(sums @ weighted, wanted)).reshape(2, 6)


def stand_torques(now: RobotSnapshot, *, com_goal_m: FloatArray, upright_rad: FloatArray) -> FloatArray:
    """Torques of the joints that carry the weight and balance it [N m]. Shape (nv - 6,).

    Args:
        now: The robot.
        com_goal_m: Where the centre of mass shall be, in the world [m].
        upright_rad: Roll and pitch the base shall have [rad].
    """
    kindyn, base = now.kindyn_data, now.base_data
    pull = COM_PER_S2 * (com_goal_m - kindyn.Pc) - COM_PER_S * kindyn.Vc
    force = kindyn.m * (pull + UP_M_S2)
    roll, pitch, yaw = base.rpy
    tilt = np.array([upright_rad[0] - roll, upright_rad[1] - pitch, 0.0])
    c, s = math.cos(yaw), math.sin(yaw)
    tilt_W = np.array([c * tilt[0] - s * tilt[1], s * tilt[0] + c * tilt[1], 0.0])
    torque = kindyn.Iw @ (TILT_PER_S2 * tilt_W - TILT_PER_S * base.omega_W)
    feet = share_weight(kindyn, force_n=force, torque_nm=torque)
    left, right = kindyn.feet_W
    return (kindyn.g - left.J.T @ feet[0] - right.J.T @ feet[1])[6:]
