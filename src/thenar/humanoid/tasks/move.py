"""Moves that clients request: joints to a posture, a hand to a pose, a hand along a line."""

from __future__ import annotations

from collections import deque

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadCommand
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.humanoid.control.fsm import UPPER_BODY_GROUPS
from thenar.humanoid.control.inverse_kinematics import solve_arm
from thenar.humanoid.control.task import Task
from thenar.humanoid.control.trajectory import MIN_DURATION_S, PEAK_OVER_MEAN, Trajectory
from thenar.humanoid.state.robot_data import RobotData
from thenar.humanoid.tasks.standing import own_weight_nm, within_limits
from thenar.signals import MoveRequest

LINE_STEP_M, LINE_STEP_RAD = 0.02, 0.1
ARRIVED_RAD, SETTLE_S = 0.01, 1.0  # a group has arrived when its joints have, or no longer than this afterwards
HAND_SPEED_M_S = 0.5  # of a line at full speed; assumed


class MoveTask(Task):
    """Task of the upper-body state MoveCmd: carries moves out, the newest of a group first."""

    def __init__(self) -> None:
        self._requested: deque[MoveRequest] = deque(maxlen=16)
        self._trajectories: dict[str, Trajectory] = {}

    def submit(self, data: RobotData, move: MoveRequest) -> None:
        """Check a move and leave it for the next execution."""
        for group, share in move.speed.items():
            if not 0.0 < share <= 1.0:
                raise BadCommand(f"speed of {group} is {share:g} of the full speed; wanted above 0, up to 1")
        for group in (*move.joints_rad, *move.pose):
            if group not in UPPER_BODY_GROUPS:
                raise BadCommand(f"{group} does not take moves; {', '.join(UPPER_BODY_GROUPS)} do")
        limit = data.kindyn_data.joint_limit
        for group, goal in move.joints_rad.items():
            at = data.body.group_slice(group)
            if goal.shape != (at.stop - at.start,):
                raise BadCommand(f"goal of {group} has {goal.size} values; {group} has {at.stop - at.start}")
            if not np.all(np.isfinite(goal)):
                raise BadCommand(f"goal of {group} is not finite: {goal.tolist()}")
            if np.any((goal < limit.lower[at]) | (goal > limit.upper[at])):
                raise BadCommand(f"goal of {group} is beyond its limits: {goal.tolist()}")
        for group, pose in move.pose.items():
            if group not in ("left_manipulator", "right_manipulator"):
                raise BadCommand(f"{group} does not take poses; left_manipulator, right_manipulator do")
            if pose.shape != (7,):
                raise BadCommand(
                    f"a pose of {group} has {pose.size} values; wanted 7: x y z and the quaternion, w last"
                )
            if not np.all(np.isfinite(pose)) or not 0.9 < np.linalg.norm(pose[3:]) < 1.1:
                raise BadCommand(f"a pose of {group} is none: {pose.tolist()}")
        self._requested.append(move)

    def moving(self, group: str) -> bool:
        """Whether a group is on its way."""
        return group in self._trajectories or any(group in (*m.joints_rad, *m.pose) for m in list(self._requested))

    def enter(self, data: RobotData) -> bool:
        """Hold where the joints are."""
        self._trajectories = {}
        self._requested.clear()
        held, weight = within_limits(data, data.hardware_data.state.q), own_weight_nm(data)
        for group in UPPER_BODY_GROUPS:
            at = data.body.group_slice(group)
            data.hardware_data.set_control_group_pd_mode_pd(group, *data.body.group_gains("user_cmd", group))
            data.hardware_data.set_control_group_pos_cmd(group, held[at], None, weight[at])
        return True

    def execute(self, data: RobotData) -> None:
        """Begin what was requested, go on with what is under way."""
        while self._requested:
            move = self._requested.popleft()
            try:
                self._trajectories.update(self._plan(data, move))
            except BadCommand as error:
                data.board.refuse(str(error))
        weight = own_weight_nm(data)
        for group, trajectory in list(self._trajectories.items()):
            position, velocity = trajectory.at(data.stamp_s)
            at = data.body.group_slice(group)
            data.hardware_data.set_control_group_pos_cmd(group, position, velocity, weight[at])
            off_rad = np.abs(data.hardware_data.state.q[at] - trajectory.points_rad[-1]).max()
            if data.stamp_s >= trajectory.end_s + (0.0 if off_rad < ARRIVED_RAD else SETTLE_S):
                del self._trajectories[group]

    def exit(self, data: RobotData) -> bool:
        """Forget what was under way."""
        self._trajectories = {}
        return True

    def _plan(self, data: RobotData, move: MoveRequest) -> dict[str, Trajectory]:
        q = data.board.read().position_rad
        arrived = q.copy()  # where the other joints of this move will be when a hand is to be at its pose
        speed = data.body.per_joint("speed_rad_s")
        plans: dict[str, Trajectory] = {}
        for group, goal in move.joints_rad.items():
            at, share = data.body.group_slice(group), move.speed.get(group, 1.0)
            plans[group] = Trajectory.at_speed(q[at], goal, start_s=data.stamp_s, speed_rad_s=share * speed[at])
            arrived[at] = goal
        for group, pose in move.pose.items():
            at, share = data.body.group_slice(group), move.speed.get(group, 1.0)
            if move.kind == "line":
                plans[group] = self._line(data, group, q, pose, share, share * speed[at])
            else:
                goal = solve_arm(data, group, arrived, pos_m=pose[:3], quat_xyzw=pose[3:])
                plans[group] = Trajectory.at_speed(q[at], goal, start_s=data.stamp_s, speed_rad_s=share * speed[at])
        return plans

    def _line(
        self, data: RobotData, group: str, q: FloatArray, pose: FloatArray, share: float, speed_rad_s: FloatArray
    ) -> Trajectory:
        """Through points of the line, near enough to each other that the hand stays on it."""
        at = data.body.group_slice(group)
        hand = data.kindyn_data.hands_B[0 if group.startswith("left") else 1]
        start = np.concatenate([hand.p, np.roll(quat_wxyz_from_matrix(hand.R), -1)])
        if start[3:] @ pose[3:] < 0.0:
            start[3:] *= -1.0
        length = float(np.linalg.norm(pose[:3] - start[:3]))
        turn = 2.0 * float(np.linalg.norm(pose[3:] - start[3:]))  # [rad], nearly
        steps = max(2, int(np.ceil(length / LINE_STEP_M)), int(np.ceil(turn / LINE_STEP_RAD)))
        here, points = q.copy(), [q[at].copy()]
        for done in np.linspace(0.0, 1.0, steps + 1)[1:]:
            point = start + done * (pose - start)
            here[at] = solve_arm(data, group, here, pos_m=point[:3], quat_xyzw=point[3:])
            points.append(here[at].copy())
        way = np.array(points)
        # As long as the hand takes, or the joint that has furthest to go: a turn on the spot has no length.
        needed_s = max(
            length / (HAND_SPEED_M_S * share), steps * float(np.max(np.abs(np.diff(way, axis=0)) / speed_rad_s))
        )
        duration_s = max(PEAK_OVER_MEAN * needed_s, MIN_DURATION_S)
        return Trajectory(points_rad=way, start_s=data.stamp_s, duration_s=duration_s)
