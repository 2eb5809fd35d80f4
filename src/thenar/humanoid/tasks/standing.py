"""Standing on the joints alone, standing in balance, and powering down safely."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from thenar.arrays import FloatArray
from thenar.humanoid.control.balance import POSE_LOWER, POSE_UPPER, UP_M_S2, stand_torques
from thenar.humanoid.control.command_board import ANYONE
from thenar.humanoid.control.inverse_kinematics import solve_posture
from thenar.humanoid.control.task import Task
from thenar.humanoid.control.trajectory import Trajectory
from thenar.humanoid.state.robot_data import RobotData, RobotSnapshot

RISE_S = 2.0
POSE_PER_S = np.array([0.1, 0.3, 0.3])  # how fast a stand pose is taken: m/s, rad/s, rad/s
POSE_ITERATIONS = 5  # for a posture that is near the last one
MOVED_RAD = 0.02  # of a joint of the upper body, for which the legs then make up
LEGS = ("left_leg", "right_leg")
DAMPING_S = 2.0  # Ref: the vendor's security state damps for 2 s, then gives no torque
DAMPING_SHARE = 0.5
MAX_LEAN_RAD = 0.8  # a trunk that leans more is not upright
MIN_STANCE, HOP_S = 0.1, 0.5  # share of the weight on the feet, and how long a robot that stood goes on without it


class JointStandTask(Task):
    """Brings its joints to the default pose and holds them there. A robot on its own feet will tip over."""

    def enter(self, data: RobotData) -> bool:
        """Begin where the joints are, so that nothing jumps."""
        self._held = frozenset(owned_groups(data))
        for group in self._held:
            data.hardware_data.set_control_group_pd_mode_pd(group, *data.body.group_gains("client", group))
        start = within_limits(data, data.hardware_data.state.q)
        points = np.stack([start, data.body.default_q_rad])
        self._trajectory = Trajectory(points_rad=points, start_s=data.stamp_s, duration_s=RISE_S)
        return True

    def execute(self, data: RobotData) -> None:
        """Follow the trajectory; when groups come back to this task, it begins anew."""
        mine = owned_groups(data)
        if not self._held.issuperset(mine):
            self.enter(data)
        self._held = frozenset(mine)
        position, velocity = self._trajectory.at(data.stamp_s)
        for group in mine:
            at = data.body.group_slice(group)
            data.hardware_data.set_control_group_pos_cmd(group, position[at], velocity[at])


class PdStandTask(Task):
    """Task that balances at the commanded stand pose; joint groups under other control are left alone."""

    def __init__(self, *, gains: str = "user_cmd"):
        """Prepare; ``gains`` are those of the robot's published ones that keep the posture."""
        self._gains = gains

    def enter(self, data: RobotData) -> bool:
        """Begin where the joints are."""
        self._pose = np.zeros(3)
        self._legs = np.zeros(len(data.body.hinges), dtype=bool)
        for group in LEGS:
            self._legs[data.body.group_slice(group)] = True
        self._default_rad, q_rad = data.body.default_q_rad, data.hardware_data.state.q
        self._posture = solve_posture(data, self._pose, np.where(self._legs, self._default_rad, q_rad))
        self._lead_in(data, q_rad - self._goal_rad())
        self._held: tuple[str, ...] | None = None
        self._last_s = data.stamp_s
        self._carried_s = -math.inf
        return True

    def execute(self, data: RobotData) -> None:
        """Carry the weight, keep the posture."""
        now = data.snapshot()
        dt_s, self._last_s = max(now.stamp_s - self._last_s, 0.0), now.stamp_s
        mine = owned_groups(data)
        if mine != self._held:
            self._take(data, mine)
        offset, velocity = self._offset.at(now.stamp_s)
        self._step_pose(data, dt_s, self._goal_rad() + offset)
        left, right = now.kindyn_data.feet_W
        # The feet's heading, from the left foot being on the left.
        across = left.p - right.p
        heading = np.array([across[1], -across[0]]) / np.hypot(across[0], across[1])
        ahead, aside, above = self._posture.over_feet_m
        over = [ahead * heading[0] - aside * heading[1], ahead * heading[1] + aside * heading[0], above]
        goal = 0.5 * (left.p + right.p) + over
        effort, upright_rad = now.kindyn_data.joint_limit.effort, np.array([0.0, self._pose[1]])
        torque = now.kindyn_data.g[6:]
        if self._stands(now):  # who hangs or lies only goes to the posture
            torque = stand_torques(now, com_goal_m=goal, upright_rad=upright_rad)
        torque = np.clip(torque, -effort, effort)
        position = within_limits(data, self._goal_rad() + offset)
        hardware = data.hardware_data
        for group in ("whole_body",) if len(mine) == len(data.body.groups) else mine:
            at = data.body.group_slice(group)
            hardware.set_control_group_pos_cmd(group, position[at], velocity[at], torque[at])

    def _stands(self, now: RobotSnapshot) -> bool:
        """Whether the trunk is upright and the feet have carried something lately; a hop is no reason to give up."""
        if carried_share(now) > MIN_STANCE:
            self._carried_s = now.stamp_s
        return is_upright(now) and now.stamp_s - self._carried_s < HOP_S

    def _goal_rad(self) -> FloatArray:
        """Where the joints go: the legs to the posture, the others to the default pose [rad]."""
        return np.where(self._legs, self._posture.q_rad, self._default_rad)

    def _step_pose(self, data: RobotData, dt_s: float, target_rad: FloatArray) -> None:
        """One step from the present pose to the commanded one; the legs make up for where the arms are.

        Args:
            data: The robot.
            dt_s: Since the last step [s].
            target_rad: Where the joints of this task are sent; those of others are where they are [rad].
        """
        wanted = np.clip(data.stand_pose_cmd, POSE_LOWER, POSE_UPPER)
        step = np.clip(wanted - self._pose, -POSE_PER_S * dt_s, POSE_PER_S * dt_s)
        upper_rad = np.where(self._others, data.hardware_data.state.q, target_rad)
        start_rad = np.where(self._legs, self._posture.q_rad, upper_rad)
        if step.any() or np.abs(start_rad - self._posture.q_rad).max() > MOVED_RAD:
            self._pose = self._pose + step
            self._posture = solve_posture(data, self._pose, start_rad, iterations=POSE_ITERATIONS)

    def _take(self, data: RobotData, mine: tuple[str, ...]) -> None:
        """Set the gains of groups that have just come to this task, and lead them back from where they are."""
        if self._held:
            offset = self._offset.at(data.stamp_s)[0]
            for group in set(mine) - set(self._held):
                at = data.body.group_slice(group)
                offset[at] = (data.hardware_data.state.q - self._goal_rad())[at]
            self._lead_in(data, offset)
        self._others = np.ones(len(data.body.hinges), dtype=bool)
        for group in mine:
            self._others[data.body.group_slice(group)] = False
            data.hardware_data.set_control_group_pd_mode_pd(group, *data.body.group_gains(self._gains, group))
        self._held = mine

    def _lead_in(self, data: RobotData, offset_rad: FloatArray) -> None:
        """Let the joints come to the posture from this far off, so that nothing jumps whatever it becomes."""
        points = np.stack([offset_rad, np.zeros_like(offset_rad)])
        self._offset = Trajectory(points_rad=points, start_s=data.stamp_s, duration_s=RISE_S)


class SecurityTask(Task):
    """Task that lowers the robot softly: the drives only damp for two seconds, then they have no power."""

    def enter(self, data: RobotData) -> bool:
        """No stiffness from now on."""
        self._until_s = data.stamp_s + DAMPING_S
        self._kd = DAMPING_SHARE * np.array(data.body.gains["client"].kd_nms_rad)
        release(data, self._kd)
        return True

    def execute(self, data: RobotData) -> None:
        """After two seconds no torque at all."""
        release(data, self._kd if data.stamp_s < self._until_s else None)


def release(data: RobotData, kd_nms_rad: FloatArray | None = None) -> None:
    """No stiffness, no torque commanded, only damping; none of that either when it is left out."""
    zero = np.zeros(len(data.body.hinges))
    data.hardware_data.set_whole_body_pd_mode_pd(zero, zero if kd_nms_rad is None else kd_nms_rad)
    data.hardware_data.set_whole_body_pos_cmd(within_limits(data, data.hardware_data.state.q))


def carried_share(now: RobotSnapshot) -> float:
    """How much of the weight the feet carry."""
    return float(now.contact_data.contact_force[:, 2].sum()) / (now.kindyn_data.m * UP_M_S2[2])


def is_upright(now: RobotSnapshot) -> bool:
    """Whether the trunk is."""
    return bool(now.base_data.grav_proj[2] < -math.cos(MAX_LEAN_RAD))


def owned_groups(data: RobotData, groups: Iterable[str] | None = None) -> tuple[str, ...]:
    """The groups, of all or of some, that a task may command now."""
    owner = data.board.owner
    return tuple(group for group in groups or data.body.groups if owner[group] in (ANYONE, data.source))


def own_weight_nm(data: RobotData) -> FloatArray:
    """Torques that carry the links' own weight, within the drives' strength, so that servos need not give way to it."""
    effort = data.kindyn_data.joint_limit.effort
    return np.clip(data.kindyn_data.g[6:], -effort, effort)


def within_limits(data: RobotData, q: FloatArray) -> FloatArray:
    """Joint angles that may be commanded: end stops give way a little, so a joint can be found beyond its limit."""
    limit = data.kindyn_data.joint_limit
    return np.clip(q, limit.lower, limit.upper)
