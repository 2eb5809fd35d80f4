"""A humanoid somewhere on the network, followed: what it reports becomes a `RobotData`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from thenar import hands
from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.humanoid.control.fsm import HAND_GROUPS
from thenar.humanoid.control.robot_config import load_config
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.model.hand_mount import hand_load
from thenar.humanoid.state import archive
from thenar.humanoid.state.lazy import member_names
from thenar.humanoid.state.parts import ContactData, FsmStateData
from thenar.humanoid.state.robot_data import RobotData, RobotSnapshot
from thenar.wire.clients.aurora_client import AuroraListener

JOINT_FIELDS = ("joint_position", "joint_velocity", "joint_effort")


class BodyWatch(AuroraListener):
    """Everything about a running humanoid, by its own reports. Use it in a ``with``."""

    def __init__(
        self,
        config: Path | None = None,
        *,
        domain: int | None = None,
        ros: bool = False,
        interface: str = "lo",
        peers: tuple[str, ...] = (),
    ):
        """Listen.

        Args:
            config: The robot's own YAML file; None for a GR-2 with its hands.
            domain: DDS domain, in place of the configuration's.
            ros: Whether names are spelled as ROS 2 does.
            interface: Network interface.
            peers: Addresses to look for the robot at where multicast does not reach.
        """
        settings = load_config(config)
        self.robot = RobotData(loads=[hand_load(GR2, hands.load(name)) for name in settings.hands])
        super().__init__(
            domain=settings.domain if domain is None else domain,
            namespace=settings.namespace,
            ros=ros,
            interface=interface,
            peers=peers,
        )

    def read(self, part: str = "") -> archive.Arrays:
        """Every value of the newest instant by its dotted name, or those of one part."""
        values = archive.to_dict(follow(self.robot, self.messages()))
        return {name: value for name, value in values.items() if not part or name.partition(".")[0] == part}


def check_part(part: str) -> None:
    """Refuse what is no part of `BodyWatch.read`; empty is all of them."""
    parts = sorted(member_names(RobotSnapshot))
    if part and part not in parts:
        raise BadValue("--part", part, f"one of {', '.join(parts)}")


def follow(robot: RobotData, messages: Mapping[str, Mapping[str, Any]]) -> RobotSnapshot:
    """Update a robot's data with its newest messages.

    Args:
        robot: What is updated.
        messages: Of `AuroraListener.messages`.
    """
    groups = {group["group_name"]: group for group in messages["robot_control_group_state"]["group_state"]}
    missing = [name for name in robot.body.groups if name not in groups]
    if missing:
        raise BadValue("group_state", sorted(groups), f"every group of {robot.body.name}; {missing[0]} is missing")
    joints = {
        field: np.concatenate([_sized(groups[name], field, len(names)) for name, names in robot.body.groups.items()])
        for field in JOINT_FIELDS
    }
    base, contact, state = messages["base_data_pub"], messages["contact_data_pub"], messages["aurora_state"]
    pose = messages["robot_stand_pose_state"]
    robot.put(
        contact_data=ContactData(
            stamp_s=_stamp_s(contact),
            valid=True,
            contact_force=_sized(contact, "contact_force", 12).reshape(2, 6),
            contact_prob=_sized(contact, "contact_prob", 2),
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
    # Only the base's acceleration is published; in axes that turn with the base a velocity changes by the turning too.
    qdd = np.full(robot.body.nv, np.nan)
    vel_B, omega_B = (_sized(base, name, 3) for name in ("vel_B", "omega_B"))
    qdd[:3] = _sized(base, "acc_B", 3) - np.cross(omega_B, vel_B)
    return robot.update(
        _stamp_s(messages["robot_control_group_state"]),
        q=np.concatenate([_sized(base, "pos_W", 3), _sized(base, "quat_xyzw", 4), joints["joint_position"]]),
        qd=np.concatenate([vel_B, omega_B, joints["joint_velocity"]]),
        tau=joints["joint_effort"],
        qdd=qdd,
        hand_pvc={
            name: np.stack([_sized(groups[name], field, len(groups[name]["joint_position"])) for field in JOINT_FIELDS])
            for name in HAND_GROUPS
            if name in groups
        },
    )


def _sized(message: Mapping[str, Any], field: str, size: int) -> FloatArray:
    """Numbers of a message, of which a robot may send any number."""
    values = np.asarray(message[field], dtype=np.float64)
    if values.shape != (size,):
        whose = message.get("group_name", "")
        raise BadValue(f"{field} of {whose}" if whose else field, f"{values.size} values", f"{size} values")
    return values


def _stamp_s(message: Mapping[str, Any]) -> float:
    return message["header"]["sec"] + 1e-9 * message["header"]["nanosec"]
