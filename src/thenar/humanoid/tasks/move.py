"""Moves asked for from outside: joints to a posture, a hand to a pose, a hand along a line."""

from __future__ import annotations

from collections import deque

import numpy as np

from thenar.errors import BadCommand
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.humanoid.arm import solve_arm
from thenar.humanoid.fsm import UPPER_BODY_GROUPS
from thenar.humanoid.model.spec import FloatArray
from thenar.humanoid.motion import Glide
from thenar.humanoid.robot_data import RobotData
from thenar.humanoid.task import Task
from thenar.signals import MoveRequest

LINE_STEP_M = 0.02
HAND_SPEED_M_S = 0.5  # of a line at full speed; assumed


class MoveTask(Task):
    """Carries moves out, the newest of a group first; owned by the upper-body state MoveCmd."""

    def __init__(self) -> None:
        self._asked: deque[MoveRequest] = deque(maxlen=16)
        self._ways: dict[str, list[Glide]] = {}

    def ask(self, data: RobotData, move: MoveRequest) -> None:
        """Check a move and leave it for the next execution."""
        for group, share in move.speed.items():
            if not 0.0 < share <= 1.0:
                raise BadCommand(f"speed of {group} is {share:g} of the full speed; wanted above 0, up to 1")
        for group in (*move.joints_rad, *move.pose):
            if group not in UPPER_BODY_GROUPS:
                raise BadCommand(f"{group} does not take moves; {', '.join(UPPER_BODY_GROUPS)} do")
        limit = data.kindyn_data.joint_limit
        for group, goal in move.joints_rad.items():
            place = data.body.group_slice(group)
            if goal.shape != (place.stop - place.start,) or not np.all(np.isfinite(goal)):
                raise BadCommand(f"goal of {group} has {goal.size} values; {group} has {place.stop - place.start}")
            if np.any((goal < limit.lower[place]) | (goal > limit.upper[place])):
                raise BadCommand(f"goal of {group} is beyond its limits: {goal.tolist()}")
        for group, pose in move.pose.items():
            if group not in ("left_manipulator", "right_manipulator") or pose.shape != (7,):
                raise BadCommand(f"a pose of {group} has {pose.size} values; wanted 7 for an arm")
            if not np.all(np.isfinite(pose)) or not 0.9 < np.linalg.norm(pose[3:]) < 1.1:
                raise BadCommand(f"a pose of {group} is none: {pose.tolist()}")
        self._asked.append(move)

    def moving(self, group: str) -> bool:
        """Whether a group is on its way."""
        return bool(self._ways.get(group)) or any(group in (*m.joints_rad, *m.pose) for m in list(self._asked))

    def enter(self, data: RobotData) -> bool:
        """Hold where the joints are."""
        self._ways = {}
        self._asked.clear()
        gains, state = data.body.gains["user_cmd"], data.hardware_data.state
        limit = data.kindyn_data.joint_limit
        for group in UPPER_BODY_GROUPS:
            place = data.body.group_slice(group)
            data.hardware_data.set_control_group_pd_mode_pd(group, gains.kp_nm_rad[place], gains.kd_nms_rad[place])
            held = np.clip(state.q[place], limit.lower[place], limit.upper[place])
            data.hardware_data.set_control_group_pos_cmd(group, held)
        return True

    def execute(self, data: RobotData) -> None:
        """Begin what was asked for, go on with what is under way."""
        while self._asked:
            move = self._asked.popleft()
            try:
                self._ways.update(self._plan(data, move))
            except BadCommand as error:
                data.board.refuse(str(error))
        for group, ways in list(self._ways.items()):
            position, velocity = ways[0].at(data.stamp_s)
            data.hardware_data.set_control_group_pos_cmd(group, position, velocity)
            if ways[0].over(data.stamp_s):
                ways.pop(0)
            if not ways:
                del self._ways[group]

    def exit(self, data: RobotData) -> bool:
        """Forget what was under way."""
        self._ways = {}
        return True

    def _plan(self, data: RobotData, move: MoveRequest) -> dict[str, list[Glide]]:
        q = data.board.read().position_rad
        speed = data.body.per_joint("speed_rad_s")
        plans = {}
        for group, goal in move.joints_rad.items():
            place, share = data.body.group_slice(group), move.speed.get(group, 1.0)
            plans[group] = [Glide.at_speed(q[place], goal, start_s=data.stamp_s, speed_rad_s=share * speed[place])]
        for group, pose in move.pose.items():
            place, share = data.body.group_slice(group), move.speed.get(group, 1.0)
            if move.kind == "line":
                plans[group] = self._line(data, group, q, pose, share)
                continue
            goal = solve_arm(data, group, q, pos_m=pose[:3], quat_xyzw=pose[3:])
            plans[group] = [Glide.at_speed(q[place], goal, start_s=data.stamp_s, speed_rad_s=share * speed[place])]
        return plans

    def _line(self, data: RobotData, group: str, q: FloatArray, pose: FloatArray, share: float) -> list[Glide]:
        """Short ways from one point of the line to the next, at an even pace."""
        place = data.body.group_slice(group)
        hand = data.kindyn_data.hands_B[0 if group.startswith("left") else 1]
        start = np.concatenate([hand.p, np.roll(quat_wxyz_from_matrix(hand.R), -1)])
        if start[3:] @ pose[3:] < 0.0:
            start[3:] *= -1.0
        length = float(np.linalg.norm(pose[:3] - start[:3]))
        points = max(2, int(np.ceil(length / LINE_STEP_M)))
        each_s = max(length / (HAND_SPEED_M_S * share) / points, 0.02)
        ways, here, at_s = [], q.copy(), data.stamp_s
        for share_done in np.linspace(0.0, 1.0, points + 1)[1:]:
            point = start + share_done * (pose - start)
            goal = solve_arm(data, group, here, pos_m=point[:3], quat_xyzw=point[3:])
            ways.append(Glide(start_rad=here[place].copy(), goal_rad=goal, start_s=at_s, duration_s=each_s))
            here[place] = goal
            at_s += each_s
        return ways
