"""Arms: which joint angles put a hand where it is wanted, relative to the base."""

from __future__ import annotations

import numpy as np

from thenar.errors import BadCommand
from thenar.hands.rotations import matrix_from_quat_wxyz, rotation_vector
from thenar.humanoid.model.body_spec import FloatArray
from thenar.humanoid.state.kindyn import KindynData, LinkData
from thenar.humanoid.state.robot_data import RobotData

REACHED_M, REACHED_RAD = 1e-4, 1e-3
STEPS, DAMPING = 200, 1e-3
LONGEST_STEP_RAD = 0.2


def solve_arm(
    data: RobotData, group: str, q: FloatArray, *, pos_m: FloatArray, quat_xyzw: FloatArray, steps: int = STEPS
) -> FloatArray:
    """Angles of one arm that bring its hand to a pose relative to the base [rad]; `BadCommand` if there are none.

    Args:
        data: The robot.
        group: ``left_manipulator`` or ``right_manipulator``.
        q: Angles of all joints to start from, in the joint sequence [rad].
        pos_m: Where the hand's link shall be in the base [m].
        quat_xyzw: Its orientation there.
        steps: Most steps of the search; a few are enough where the hand is near already.
    """
    place, limit = data.body.group_slice(group), data.kindyn_data.joint_limit
    columns = slice(6 + place.start, 6 + place.stop)
    lower, upper = limit.lower[place], limit.upper[place]
    q = q.copy()
    wanted = matrix_from_quat_wxyz(np.roll(quat_xyzw, 1))
    error = np.zeros(6)
    for _ in range(steps):
        hand = _hand(data, group, q)
        error = np.concatenate([pos_m - hand.p, rotation_vector(wanted @ hand.R.T)])
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
    kindyn = KindynData(data.solver, 0.0, False, posture, np.zeros(data.body.nv))
    return kindyn.hands_B[0 if group.startswith("left") else 1]
