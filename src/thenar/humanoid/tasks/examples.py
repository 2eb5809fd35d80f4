"""Examples: a wave, a squat, an arm swing, leaning into a velocity."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from thenar.arrays import FloatArray
from thenar.humanoid.control.balance import POSE_LOWER, POSE_UPPER
from thenar.humanoid.control.fsm import UPPER_BODY_GROUPS
from thenar.humanoid.control.task import Task
from thenar.humanoid.control.trajectory import Trajectory
from thenar.humanoid.state.robot_data import RobotData
from thenar.humanoid.tasks.standing import PdStandTask, own_weight_nm, owned_groups, within_limits

WAVE_HZ, WAVE_RAD = 0.8, 0.35
SQUAT_HZ, SQUAT_M = 0.2, 0.12
LEAN_RAD_S_M = 0.5  # forwards for each m/s that is commanded
SWING_HZ, SWING_RAD = 0.5, 0.25


class UpperBodyTask(Task):
    """Base of tasks that move the upper body to a start posture, then through postures over time."""

    period_s = 0.005
    claims = UPPER_BODY_GROUPS
    SPEED_SHARE = 0.25

    def enter(self, data: RobotData) -> bool:
        """Move smoothly from where the joints are, so that nothing jumps."""
        self._held = frozenset(owned_groups(data, UPPER_BODY_GROUPS))
        for group in self._held:
            data.hardware_data.set_control_group_pd_mode_pd(group, *data.body.group_gains("user_cmd", group))
        start = within_limits(data, data.hardware_data.state.q)
        speed = self.SPEED_SHARE * data.body.per_joint("speed_rad_s")
        self._lead_in = Trajectory.at_speed(start, self.posture(data, 0.0), start_s=data.stamp_s, speed_rad_s=speed)
        return True

    def execute(self, data: RobotData) -> None:
        """Command every group that belongs to this task; when some come back to it, it begins anew."""
        mine = owned_groups(data, UPPER_BODY_GROUPS)
        if not self._held.issuperset(mine):
            self.enter(data)
        self._held = frozenset(mine)
        since_s = data.stamp_s - self._lead_in.end_s
        position = self._lead_in.at(data.stamp_s)[0] if since_s < 0.0 else self.posture(data, since_s)
        weight = own_weight_nm(data)  # the drives carry the arms' own weight
        for group in mine:
            at = data.body.group_slice(group)
            data.hardware_data.set_control_group_pos_cmd(group, position[at], None, weight[at])

    def posture(self, data: RobotData, since_s: float) -> FloatArray:
        """Angles of all joints after a time in motion [rad]."""
        return data.body.default_q_rad


class WaveTask(UpperBodyTask):
    """Raises the right hand, palm forwards, and waves."""

    def posture(self, data: RobotData, since_s: float) -> FloatArray:
        """The forearm goes to and fro."""
        q = data.body.default_q_rad
        wave = WAVE_RAD * math.sin(2 * math.pi * WAVE_HZ * since_s)
        for joint, angle in (("shoulder_roll", -1.1), ("shoulder_yaw", -1.5), ("elbow_pitch", wave - 1.15)):
            q[data.body.index_of(f"right_{joint}_joint")] = angle
        return q


class ActTask(UpperBodyTask):
    """Swings the arms, as the upper-body state Act does."""

    def posture(self, data: RobotData, since_s: float) -> FloatArray:
        """Arms swing against each other."""
        q = data.body.default_q_rad
        swing = SWING_RAD * math.sin(2 * math.pi * SWING_HZ * since_s)
        q[data.body.index_of("left_shoulder_pitch_joint")] = swing
        q[data.body.index_of("right_shoulder_pitch_joint")] = -swing
        return q


class StandPoseTask(PdStandTask):
    """Base of tasks that stand in balance and command the stand pose themselves."""

    def pose(self, data: RobotData, since_s: float) -> ArrayLike:
        """The stand pose some time after the task began, see ``stand_pose_cmd``."""
        raise NotImplementedError

    def enter(self, data: RobotData) -> bool:
        """Remember when it began."""
        self._began_s = data.stamp_s
        return super().enter(data)

    def execute(self, data: RobotData) -> None:
        """Command the pose, then stand."""
        data.put(stand_pose_cmd=self.pose(data, data.stamp_s - self._began_s))
        super().execute(data)

    def exit(self, data: RobotData) -> None:
        """Leave no pose behind."""
        data.put(stand_pose_cmd=np.zeros(3))


class SquatTask(StandPoseTask):
    """Task that squats in balance, down and up."""

    def pose(self, data: RobotData, since_s: float) -> ArrayLike:
        """A height that goes down and up."""
        return [0.5 * SQUAT_M * (math.cos(2 * math.pi * SQUAT_HZ * since_s) - 1.0), 0.0, 0.0]


class LeanTask(StandPoseTask):
    """Leans into the commanded velocity and turns with it, as far as feet that stay where they are let it.

    It does not walk; a task that does reads ``vel_cmd`` in the same way.
    """

    follows_velocity = True

    def pose(self, data: RobotData, since_s: float) -> ArrayLike:
        """Forwards is pitch, turning is yaw."""
        forwards, _, turning = data.vel_cmd
        return np.clip([0.0, LEAN_RAD_S_M * forwards, turning], POSE_LOWER, POSE_UPPER)
