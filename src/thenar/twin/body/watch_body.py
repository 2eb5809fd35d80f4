"""What a humanoid tells over the wire into a `RobotData`: every field of a robot that is somewhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from thenar.errors import BadValue
from thenar.humanoid.state.parts import ContactData, FsmStateData
from thenar.humanoid.state.robot_data import RobotData, RobotSnapshot

HANDS = ("left_hand", "right_hand")


def follow(robot: RobotData, messages: Mapping[str, Mapping[str, Any]]) -> RobotSnapshot:
    """Bring a robot's data up to date with its newest messages.

    Args:
        robot: What is brought up to date.
        messages: Of `AuroraListener.messages`.
    """
    groups = {group["group_name"]: group for group in messages["robot_control_group_state"]["group_state"]}
    missing = [name for name in robot.body.groups if name not in groups]
    if missing:
        raise BadValue("group_state", sorted(groups), f"every group of {robot.body.name}; {missing[0]} is missing")
    joints = {
        field: np.concatenate([groups[name][f"joint_{field}"] for name in robot.body.groups])
        for field in ("position", "velocity", "effort")
    }
    base, contact, state = messages["base_data_pub"], messages["contact_data_pub"], messages["aurora_state"]
    pose = messages["robot_stand_pose_state"]
    robot.put(
        contact_data=ContactData(
            stamp_s=_stamp_s(contact),
            valid=True,
            contact_force=np.reshape(contact["contact_force"], (2, 6)),
            contact_prob=contact["contact_prob"],
        ),
        fsm_state=FsmStateData(
            stamp_s=_stamp_s(state),
            valid=True,
            whole_body=state["whole_body_fsm_state"],
            upper_body=state["upper_body_fsm_state"],
            velocity_source=state["velocity_command_source"],
            allow_upper_body_override=bool(state["allow_upper_body_override"]),
            stable_level=messages["robot_control_group_state"]["stable_level"],
        ),
        stand_pose_cmd=[pose["delta_z"], pose["delta_pitch"], pose["delta_yaw"]],
    )
    # Of accelerations the base's is told alone; in axes that turn with the base a velocity changes by the turning too.
    qdd = np.full(robot.body.nv, np.nan)
    qdd[:3] = base["acc_B"] - np.cross(base["omega_B"], base["vel_B"])
    return robot.update(
        _stamp_s(messages["robot_control_group_state"]),
        q=np.concatenate([base["pos_W"], base["quat_xyzw"], joints["position"]]),
        qd=np.concatenate([base["vel_B"], base["omega_B"], joints["velocity"]]),
        tau=joints["effort"],
        qdd=qdd,
        hand_pvc={
            name: np.stack([groups[name][f"joint_{field}"] for field in ("position", "velocity", "effort")])
            for name in HANDS
            if name in groups
        },
    )


def _stamp_s(message: Mapping[str, Any]) -> float:
    return message["header"]["sec"] + 1e-9 * message["header"]["nanosec"]
