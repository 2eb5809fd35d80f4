"""Arms: which joint angles put a hand where it is wanted, relative to the base."""

from __future__ import annotations

import numpy as np

from thenar.errors import BadCommand
from thenar.humanoid.kindyn import KindynData, LinkData
from thenar.humanoid.model.spec import FloatArray
from thenar.humanoid.robot_data import RobotData

REACHED_M, REACHED_RAD = 1e-4, 1e-3
STEPS, DAMPING = 200, 1e-3
LONGEST_STEP_RAD = 0.2


def solve_arm(data: RobotData, group: str, q: FloatArray, *, pos_m: FloatArray, quat_xyzw: FloatArray) -> FloatArray:
    """Angles of one arm that bring its hand to a pose relative to the base [rad]; `BadCommand` if there are none.

    Args:
        data: The robot.
        group: ``left_manipulator`` or ``right_manipulator``.
        q: Angles of all joints to start from, in the joint sequence [rad].
        pos_m: Where the hand's link shall be in the base [m].
        quat_xyzw: Its orientation there.
    """
    place, limit = data.body.group_slice(group), data.kindyn_data.joint_limit
    columns = slice(6 + place.start, 6 + place.stop)
    lower, upper = limit.lower[place], limit.upper[place]
    q = q.copy()
    wanted = quat_xyzw / np.linalg.norm(quat_xyzw)
    error = np.zeros(6)
    for _ in range(STEPS):
        hand = _hand(data, group, q)
        error = np.concatenate([pos_m - hand.p, _turn(hand.R, wanted)])
        if np.abs(error[:3]).max() < REACHED_M and np.abs(error[3:]).max() < REACHED_RAD:
            return q[place].copy()
        J = hand.J[:, columns]
        step = J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(6), error)
        step *= min(1.0, LONGEST_STEP_RAD / max(float(np.abs(step).max()), 1e-12))
        q[place] = np.clip(q[place] + step, lower, upper)
    raise BadCommand(
        f"{group} does not reach {np.round(pos_m, 3).tolist()} m; it comes as near as {np.linalg.norm(error[:3]):.3f} m"
    )


def _hand(data: RobotData, group: str, q: FloatArray) -> LinkData:
    posture = np.concatenate([np.zeros(6), [1.0], q])
    kindyn = KindynData(data.solver, stamp_s=0.0, valid=False, q=posture, qd=np.zeros(data.body.nv))
    return kindyn.hands_B[0 if group.startswith("left") else 1]


def _turn(R: FloatArray, quat_xyzw: FloatArray) -> FloatArray:
    """Rotation vector from one orientation to another, in the axes both are told in [rad]."""
    x, y, z, w = quat_xyzw
    wanted = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    between = wanted @ R.T
    axis = np.array([between[2, 1] - between[1, 2], between[0, 2] - between[2, 0], between[1, 0] - between[0, 1]])
    angle = np.arctan2(np.linalg.norm(axis), np.trace(between) - 1.0)
    size = np.linalg.norm(axis)
    return 0.5 * axis if size < 1e-9 else angle * axis / size
