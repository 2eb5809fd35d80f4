"""What the robot tells the world about one instant: states, groups, hands, base and feet in one `BodyReport`."""

from __future__ import annotations

import numpy as np

from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.humanoid.control.controller import BodyController
from thenar.humanoid.model.body_spec import FloatArray
from thenar.humanoid.state.robot_data import RobotSnapshot
from thenar.signals import BodyReport, GroupReport

MOVING_RAD_S = 0.05  # a hand whose motors are all slower is at rest


def report_of(controller: BodyController, *, true_contact_n: FloatArray) -> BodyReport:
    """What the robot reports.

    Args:
        controller: The robot's computer.
        true_contact_n: Vertical force on each foot as the simulator knows it [N]. Shape (2,).
    """
    now = controller.robot.snapshot()
    hands = zip(("left_manipulator", "right_manipulator"), now.kindyn_data.hands_B, strict=True)
    base = now.base_data
    return BodyReport(
        stamp_s=now.stamp_s,
        whole_body_state=int(controller.whole),
        upper_body_state=int(controller.upper),
        velocity_source=int(controller.velocity_source),
        allow_upper_body_override=now.fsm_state.allow_upper_body_override,
        stable_level=controller.stable_level,
        stand_pose=now.stand_pose_cmd,
        groups=_joint_groups(controller, now) | _hand_groups(now),
        hands={
            group: (np.concatenate([link.p, np.roll(quat_wxyz_from_matrix(link.R), -1)]), link.twist, np.zeros(6))
            for group, link in hands
        },
        base={name: getattr(base, name) for name in base.FIELDS},
        contact_force=now.contact_data.contact_force,
        contact_prob=now.contact_data.contact_prob,
        true_contact_n=true_contact_n,
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
    nothing = np.zeros(0)
    return {
        hand: GroupReport(
            position=position,
            velocity=velocity,
            effort=np.nan_to_num(current),
            moving=bool(np.abs(velocity).max() > MOVING_RAD_S),
            kp_nm_rad=nothing,
            kd_nms_rad=nothing,
            position_mode=np.zeros((3, position.size)),
            powered=True,
        )
        for hand, (position, velocity, current) in now.hand_pvc.items()
    }
