"""Control loop of a humanoid: the simulated body, the robot's own computer, and its link to clients."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.humanoid.control.controller import BodyController
from thenar.humanoid.control.fsm import HUNG
from thenar.humanoid.state.lazy import member_names
from thenar.humanoid.state.parts import BaseData
from thenar.humanoid.state.robot_data import RobotSnapshot
from thenar.signals import BodyReport, BodyRequest, GroupReport
from thenar.twin.body.body_world import BodyWorld
from thenar.twin.world import World

REPORT_HZ = 100.0
MOVING_RAD_S = 0.05  # a hand whose motors are all slower is at rest
BASE_FIELDS = tuple(name for name in member_names(BaseData) if name not in ("stamp_s", "valid"))


class BodyLink(Protocol):
    """Connection that brings requests of clients in and reports out."""

    def receive(self) -> list[BodyRequest]:
        """Requests since the last call."""
        ...

    def publish(self, report: BodyReport) -> None:
        """Send a report to the clients."""
        ...

    def close(self) -> None:
        """Leave."""
        ...


class BodyTwin:
    """A simulated humanoid with its controller, tick by tick: read the body, control, drive the motors, step."""

    def __init__(
        self,
        body: BodyWorld,
        controller: BodyController | None = None,
        *,
        link: BodyLink | None = None,
        report_hz: float = REPORT_HZ,
    ):
        """Hanging from its gantry in the state Default.

        Args:
            body: The simulated robot.
            controller: Its computer.
            link: Connection to clients; None for none.
            report_hz: How often reports are sent.
        """
        self.body = body
        self.controller = controller or BodyController(body.robot)
        self.link = link
        self._every = max(1, round(1.0 / (report_hz * body.world.timestep_s)))
        self._ticks = 0
        body.hang(True)

    def tick(self, _world: World | None = None) -> None:
        """Everything of a tick but the physics, which follows it."""
        body, controller = self.body, self.controller
        body.read()
        if self.link is not None:
            for request in self.link.receive():
                if request.reset:
                    self.reset()
                controller.submit(request)
        body.drive(controller.tick())
        # On the gantry until something balances, and off it until it is put back: who falls, falls.
        body.hang(controller.whole_body in HUNG or (body.hangs and not controller.balances))
        for hand in body.scales:
            command = body.robot.board.read_hand(hand)
            if command is not None:
                body.drive_hand(hand, command)
        if self.link is not None and self._ticks % self._every == 0:
            self.link.publish(self.report())
        self._ticks += 1

    def reset(self) -> None:
        """Back to time 0 and to the gantry, its computer switched on anew."""
        self.body.world.reset()
        self.body.read()
        self.body.drive(self.controller.restart())
        self.body.hang(True)

    def stop(self) -> None:
        """The end: the robot's tasks end and its drives lose their power."""
        self.body.drive(self.controller.stop())

    def advance(self, seconds: float) -> None:
        """Let the robot live for some simulated time, as fast as the machine can."""
        for _ in range(round(seconds / self.body.world.timestep_s)):
            self.tick()
            self.body.advance(self.body.world.timestep_s)

    def report(self) -> BodyReport:
        """State of the robot for clients, with the simulator's truth about its feet."""
        controller, now = self.controller, self.body.robot.snapshot()
        arms = zip(("left_manipulator", "right_manipulator"), now.kindyn_data.hands_B, strict=True)
        return BodyReport(
            stamp_s=now.stamp_s,
            whole_body_state=int(controller.whole_body),
            upper_body_state=int(controller.upper_body),
            velocity_source=int(controller.velocity_source),
            allow_upper_body_override=now.fsm_state.allow_upper_body_override,
            stable_level=controller.stable_level,
            stand_pose=now.stand_pose_cmd,
            groups=_joint_groups(controller, now) | _hand_groups(now),
            hands={
                group: (np.concatenate([link.p, np.roll(quat_wxyz_from_matrix(link.R), -1)]), link.twist, np.zeros(6))
                for group, link in arms
            },
            base={name: getattr(now.base_data, name) for name in BASE_FIELDS},
            contact_force=now.contact_data.contact_force,
            contact_prob=now.contact_data.contact_prob,
            true_contact_n=self.body.foot_forces()[:, 2],
        )


def _joint_groups(controller: BodyController, now: RobotSnapshot) -> dict[str, GroupReport]:
    board, state = controller.robot.board, now.robot_state
    groups = {}
    for group in controller.robot.body.groups:
        place = controller.robot.body.group_slice(group)
        kp, kd = board.gains(group)
        groups[group] = GroupReport(
            position=state.q[place],
            velocity=state.qd[place],
            effort=state.qft[place],
            moving=controller.move.moving(group),
            kp_nm_rad=kp,
            kd_nms_rad=kd,
            position_mode=board.position_gains(group),
            powered=bool(kp.any() or kd.any()),
        )
    return groups


def _hand_groups(now: RobotSnapshot) -> dict[str, GroupReport]:
    return {
        hand: GroupReport(
            position=position,
            velocity=velocity,
            effort=current,
            moving=bool(np.abs(velocity).max() > MOVING_RAD_S),
            kp_nm_rad=np.zeros(position.size),  # its servos have gains of their own
            kd_nms_rad=np.zeros(position.size),
            position_mode=np.zeros((3, position.size)),
            powered=True,
        )
        for hand, (position, velocity, current) in now.hand_pvc.items()
    }
