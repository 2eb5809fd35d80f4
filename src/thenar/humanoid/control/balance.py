"""Standing: where the joints should be and which torques carry the weight, as pure functions of one instant.

Joint servos alone do not hold a standing robot: two ankles of 150 N m/rad against the 556 N m/rad with which the weight
of a GR-2 tips over. So the weight is shared between the feet such that the centre of mass is pulled back over them and
the trunk upright; the legs' torques follow from the feet's Jacobians, and the servos keep the posture around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thenar.hands.rotations import quat_wxyz_from_rpy, rotation_vector
from thenar.humanoid.model.body_spec import FloatArray
from thenar.humanoid.state.kindyn import KindynData
from thenar.humanoid.state.robot_data import RobotData, RobotSnapshot

UP_M_S2 = np.array([0.0, 0.0, 9.81])
SEARCH_STEPS, SEARCH_CLOSE, SEARCH_DAMPING, LONGEST_STEP_RAD = 60, 1e-6, 1e-5, 0.2
KNEE = 3  # place of the knee in a leg's group
LEAST_BEND_RAD, STRAIGHT_RAD = 0.05, 0.12
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Posture:
    """How to stand: where the joints are, and the centre of mass over the feet."""

    q_rad: FloatArray
    """Angles of all joints, in the joint sequence [rad]."""
    over_feet_m: FloatArray
    """Centre of mass against the middle of the feet, in the axes of the feet's heading [m]."""


def solve_posture(
    data: RobotData, pose: FloatArray, start: FloatArray | None = None, *, steps: int = SEARCH_STEPS
) -> Posture:
    """A posture that stands lower or higher, leans or turns, feet and centre of mass staying where they are.

    Where the legs do not reach, the base is lower than asked for.

    Args:
        data: The robot.
        pose: Height of the base against the default [m], pitch forwards and yaw to the left of the base [rad].
        start: Joint angles to start the search from [rad]; the default pose when left out.
        steps: Most steps of the search.
    """
    body, limit = data.body, data.kindyn_data.joint_limit
    lower, upper = limit.lower.copy(), limit.upper
    for group in ("left_leg", "right_leg"):
        lower[body.group_slice(group).start + KNEE] = LEAST_BEND_RAD  # knees never lock
    default = data.default_kindyn()
    middle = 0.5 * (default.feet_W.left.p + default.feet_W.right.p)
    joints = (body.default_q_rad if start is None else start).copy()
    base = np.array([default.q[0], default.q[1], default.q[2] + pose[0]])
    w, x, y, z = quat_wxyz_from_rpy((0.0, pose[1], pose[2]))
    legs = [body.group_slice(group) for group in ("left_leg", "right_leg")]
    kindyn = default
    for _ in range(steps):
        q = np.concatenate([base, [x, y, z, w], joints])
        kindyn = KindynData(data.solver, 0.0, False, q, np.zeros(body.nv))
        aside = default.Pc[:2] - kindyn.Pc[:2]
        off, sink = float(np.abs(aside).max()), 0.0
        for leg, foot, wanted in zip(legs, kindyn.feet_W, default.feet_W, strict=True):
            error = np.concatenate([wanted.p - foot.p, rotation_vector(wanted.R @ foot.R.T)])
            off = max(off, float(np.abs(error).max()))
            error[:2] -= aside  # the base is about to move by as much
            if joints[leg][KNEE] < STRAIGHT_RAD:
                sink = min(sink, float(error[2]))
                error[2] -= min(float(error[2]), 0.0)
            J = foot.J[:, 6 + leg.start : 6 + leg.stop]
            step = J.T @ np.linalg.solve(J @ J.T + SEARCH_DAMPING * np.eye(6), error)
            step *= min(1.0, LONGEST_STEP_RAD / max(float(np.abs(step).max()), 1e-12))
            joints[leg] = np.clip(joints[leg] + step, lower[leg], upper[leg])
        base[:2] += aside
        base[2] += sink  # a leg that is straight does not reach further: the base comes down to it
        if off < SEARCH_CLOSE:
            break
    return Posture(q_rad=joints, over_feet_m=kindyn.Pc - middle)


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
