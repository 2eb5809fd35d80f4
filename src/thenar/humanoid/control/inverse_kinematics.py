"""Joint angles that put a hand or the base where it is wanted, by damped least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadCommand
from thenar.hands.rotations import matrix_from_quat_wxyz, quat_wxyz_from_rpy, rotation_vector
from thenar.humanoid.state.kindyn import LinkData
from thenar.humanoid.state.robot_data import RobotData

MAX_STEP_RAD = 0.2
ARM_ITERATIONS, ARM_DAMPING, ARM_TOLERANCE_M, ARM_TOLERANCE_RAD = 200, 1e-3, 1e-4, 1e-3
LEG_ITERATIONS, LEG_DAMPING, LEG_TOLERANCE = 60, 1e-5, 1e-6
KNEE = 3  # index of the knee in a leg's group
MIN_KNEE_RAD, STRAIGHT_KNEE_RAD = 0.05, 0.12


def solve_arm(
    data: RobotData,
    group: str,
    q: FloatArray,
    *,
    pos_m: FloatArray,
    quat_xyzw: FloatArray,
    iterations: int = ARM_ITERATIONS,
) -> FloatArray:
    """Angles of one arm that bring its hand to a pose relative to the base [rad]; `BadCommand` if there are none.

    Args:
        data: The robot.
        group: ``left_manipulator`` or ``right_manipulator``.
        q: Angles of all joints to start from, in the joint sequence [rad].
        pos_m: Position of the hand's link in the base [m].
        quat_xyzw: Its orientation there.
        iterations: At most so many; a few are enough where the hand is near already.
    """
    arm, limit = data.body.group_slice(group), data.kindyn_data.joint_limit
    side = 0 if group.startswith("left") else 1
    R_goal = matrix_from_quat_wxyz(np.roll(quat_xyzw, 1))
    q, error = q.copy(), np.zeros(6)
    for _ in range(iterations):
        hand = data.kindyn_at(np.concatenate([np.zeros(6), [1.0], q])).hands_B[side]
        error = _pose_error(hand, pos_m, R_goal)
        if np.abs(error[:3]).max() < ARM_TOLERANCE_M and np.abs(error[3:]).max() < ARM_TOLERANCE_RAD:
            return q[arm].copy()
        q[arm] = np.clip(q[arm] + _step(hand, arm, error, ARM_DAMPING), limit.lower[arm], limit.upper[arm])
    raise BadCommand(
        f"{group} does not reach {np.round(pos_m, 3).tolist()} m; it comes as near as {np.linalg.norm(error[:3]):.3f} m"
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Posture:
    """A standing posture: joint angles, and where the centre of mass is over the feet."""

    q_rad: FloatArray
    """Angles of all joints, in the joint sequence [rad]."""
    over_feet_m: FloatArray
    """Centre of mass against the middle of the feet, in the axes of the feet's heading [m]."""


def solve_posture(
    data: RobotData, pose: FloatArray, start: FloatArray | None = None, *, iterations: int = LEG_ITERATIONS
) -> Posture:
    """A posture that stands lower or higher, leans or turns, feet and centre of mass staying where they are.

    Where the legs do not reach, the base is lower than commanded.

    Args:
        data: The robot.
        pose: Height of the base against the default [m], pitch forwards and yaw to the left of the base [rad].
        start: Joint angles to start from [rad]; the default pose when left out.
        iterations: At most so many.
    """
    body, limit = data.body, data.kindyn_data.joint_limit
    legs = [body.group_slice(group) for group in ("left_leg", "right_leg")]
    lower = limit.lower.copy()
    lower[[leg.start + KNEE for leg in legs]] = MIN_KNEE_RAD  # knees never lock
    default = kindyn = data.default_kindyn()
    joints = (body.default_q_rad if start is None else start).copy()
    base = default.q[:3].copy()
    base[2] += pose[0]
    w, x, y, z = quat_wxyz_from_rpy((0.0, pose[1], pose[2]))
    for _ in range(iterations):
        kindyn = data.kindyn_at(np.concatenate([base, [x, y, z, w], joints]))
        shift = default.Pc[:2] - kindyn.Pc[:2]
        worst, sink = float(np.abs(shift).max()), 0.0
        for leg, foot, goal in zip(legs, kindyn.feet_W, default.feet_W, strict=True):
            error = _pose_error(foot, goal.p, goal.R)
            worst = max(worst, float(np.abs(error).max()))
            error[:2] -= shift  # the base is about to move by as much
            if joints[leg][KNEE] < STRAIGHT_KNEE_RAD:
                sink = min(sink, float(error[2]))
                error[2] -= min(float(error[2]), 0.0)
            joints[leg] = np.clip(joints[leg] + _step(foot, leg, error, LEG_DAMPING), lower[leg], limit.upper[leg])
        base[:2] += shift
        base[2] += sink  # a straight leg does not reach further: the base comes down to it
        if worst < LEG_TOLERANCE:
            break
    return Posture(q_rad=joints, over_feet_m=kindyn.Pc - 0.5 * (default.feet_W.left.p + default.feet_W.right.p))


def _pose_error(link: LinkData, pos_m: FloatArray, R: FloatArray) -> FloatArray:
    return np.concatenate([pos_m - link.p, rotation_vector(R @ link.R.T)])


def _step(link: LinkData, joints: slice, error: FloatArray, damping: float) -> FloatArray:
    """Change of a limb's joints that reduces an error of its link, none by more than `MAX_STEP_RAD` [rad]."""
    J = link.J[:, 6 + joints.start : 6 + joints.stop]
    step = J.T @ np.linalg.solve(J @ J.T + damping * np.eye(6), error)
    return step * min(1.0, MAX_STEP_RAD / max(float(np.abs(step).max()), 1e-12))
