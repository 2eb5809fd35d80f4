"""The messages of Fourier's Aurora as bytes, both ways: what `fourier-aurora-client` reads and writes.

A message is a dict of its fields. Bodies are plain CDR without a header. Numbers inside are SI, as on the robot; hands
are in the vendor's own range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thenar import cdr
from thenar.cdr import BadMessage
from thenar.signals import BodyReport, BodyRequest, GroupCommand, GroupGains, MoveRequest
from thenar.wire.rtps.services import ServiceNames

Fields = tuple[tuple[str, str], ...]
Values = Mapping[str, Any]

MAX_ELEMENTS = 256
"""Elements a sequence may have; the largest real one has 29."""

GROUPS = ("left_leg", "right_leg", "waist", "head", "left_manipulator", "right_manipulator", "left_hand", "right_hand")
"""Order of the motion states."""
ARMS = ("left_manipulator", "right_manipulator")
IDLE, MOVING = 0, 1
MODE_DISABLE, MODE_PD = 0, 4
FULL_SPEED = 1000.0  # speeds of moves are per mille

# Ref: names and kinds as the client declares them; the order is that of the wire. ``[x]`` is a sequence of x.
_SCALARS = {"u8": "B", "bool": "?", "i32": "i", "u32": "I", "f64": "d"}
_HEADER = ("header", "Header")
_EXTRA = ("ex_data", "[BaseDataType]")


def _doubles(*names: str) -> Fields:
    return tuple((name, "[f64]") for name in names)


_GAINS = ("pos_kp", "pos_ki", "pos_kd", "pd_kp", "pd_kd")
_MOTION = ("position", "velocity", "effort")
_CARTESIAN = ("pose", "twist", "wrench")
_STAND_POSE = ("delta_z", "delta_pitch", "delta_yaw")
_STAND_FIELDS = tuple((name, "f64") for name in _STAND_POSE)
TYPES: dict[str, Fields] = {
    "Header": (("sec", "i32"), ("nanosec", "u32"), ("frame_id", "str")),
    "BaseDataType": (("arg_int", "[i32]"), ("arg_double", "[f64]"), ("arg_string", "[str]")),
    "AuroraState": (
        _HEADER,
        ("velocity_command_source", "u8"),
        ("whole_body_fsm_state", "u8"),
        ("upper_body_fsm_state", "u8"),
        ("allow_upper_body_override", "bool"),
    ),
    "RobotStandPoseState": (_HEADER, *_STAND_FIELDS, ("stable_level", "u8")),
    "ControlGroupState": (
        ("group_name", "str"),
        *_doubles(*(f"{part}_{field}" for part in ("joint", "motor") for field in _MOTION)),
    ),
    "RobotControlGroupState": (
        _HEADER,
        ("group_motion_state", "[u8]"),
        ("group_state", "[ControlGroupState]"),
        ("stable_level", "u8"),
        _EXTRA,
    ),
    "CartesianState": (("group_name", "str"), *_doubles(*_CARTESIAN)),
    "RobotCartesianState": (
        _HEADER,
        ("coordinate_system", "u8"),
        ("group_motion_state", "[u8]"),
        ("cartesian_state", "[CartesianState]"),
        ("stable_level", "u8"),
        _EXTRA,
    ),
    "MotorCfgGroupState": (("group_name", "str"), ("mode", "u32"), ("motor_error", "[u32]"), *_doubles(*_GAINS)),
    "RobotMotorCfgGroupState": (_HEADER, ("group_state", "[MotorCfgGroupState]"), _EXTRA),
    "BaseData": (
        _HEADER,
        *_doubles("quat_xyzw", "quat_wxyz", "rpy", "omega_W", "acc_W", "omega_B", "acc_B", "vel_W", "pos_W", "vel_B"),
    ),
    "TrueData": (_HEADER, *_doubles("vel_B", "vel_W", "pos_W", "contact_fz", "contact_prob")),
    "ContactData": (_HEADER, *_doubles("contact_force", "contact_prob")),
    "WholeBodyFsmStateChangeCmd": (_HEADER, ("desired_state", "u8")),
    "UpperBodyFsmStateChangeCmd": (_HEADER, ("desired_state", "u8")),
    "VelocityCmd": (_HEADER, ("vx", "f64"), ("vy", "f64"), ("yaw", "f64"), ("duration", "f64")),
    "RobotStandPoseCmd": (_HEADER, *_STAND_FIELDS),
    "VelocitySourceCmd": (_HEADER, ("desired_source", "u8")),
    "ControlGroupCmd": (
        ("group_name", "str"),
        ("group_motion_state", "u8"),
        ("control_type", "u8"),
        ("motor_mode", "u8"),
        *_doubles(*_MOTION),
    ),
    "RobotControlGroupCmd": (_HEADER, ("group_cmd", "[ControlGroupCmd]"), _EXTRA),
    "MotorCfgGroupCmd": (("group_name", "str"), ("mode", "u32"), *_doubles(*_GAINS)),
    "RobotMotorCfgGroupCmd": (_HEADER, ("group_cmd", "[MotorCfgGroupCmd]"), _EXTRA),
    "CartesianCmd": (("group_name", "str"), ("group_motion_state", "u8"), *_doubles(*_CARTESIAN)),
    "RobotCartesianCmd": (_HEADER, ("coordinate_system", "u8"), ("cartesian_cmd", "[CartesianCmd]"), _EXTRA),
    "MoveCommand": (
        _HEADER,
        ("move_type", "u8"),
        ("joint_commands", "RobotControlGroupCmd"),
        ("cartesian_commands", "RobotCartesianCmd"),
        _EXTRA,
    ),
    "ThenarReset": (_HEADER,),
    "PolicyChange_Request": (_HEADER, ("whole_body_policy", "u8"), ("upper_body_policy", "u8")),
    "PolicyChange_Response": (("result", "u8"), ("err_msg", "str")),
}

REPORTS = {
    "aurora_state": "AuroraState",
    "robot_stand_pose_state": "RobotStandPoseState",
    "robot_control_group_state": "RobotControlGroupState",
    "robot_cartesian_state": "RobotCartesianState",
    "robot_motor_cfg_group_state": "RobotMotorCfgGroupState",
    "base_data_pub": "BaseData",
    "true_data_pub": "TrueData",
    "contact_data_pub": "ContactData",
}
"""Topics the robot writes."""
COMMANDS = {
    "whole_body_fsm_state_change_cmd": "WholeBodyFsmStateChangeCmd",
    "upper_body_fsm_state_change_cmd": "UpperBodyFsmStateChangeCmd",
    "velocity_cmd": "VelocityCmd",
    "robot_stand_pose_cmd": "RobotStandPoseCmd",
    "velocity_source_cmd": "VelocitySourceCmd",
    "robot_control_group_cmd": "RobotControlGroupCmd",
    "robot_motor_cfg_group_cmd": "RobotMotorCfgGroupCmd",
    "move_command_data": "MoveCommand",
}
"""Topics the robot reads."""
RESET = "thenar_reset"
"""Topic of ours: a twin begins anew. No robot has it."""
POLICY_SERVICE = "policy_change_service"


@dataclass(frozen=True, kw_only=True)
class Names:
    """How topics and types are called: plain, or as ROS 2 spells them, under a namespace or none."""

    namespace: str = ""
    ros: bool = False

    def topic(self, name: str) -> str:
        """DDS name of a topic."""
        return ("rt/" if self.ros else "") + self._inside(name)

    def type_name(self, kind: str, package: str = "msg") -> str:
        """DDS name of a type."""
        return f"fourier_msgs::{package}::dds_::{kind}_" if self.ros else f"fourier_msgs::{package}::{kind}"

    def policy_service(self) -> ServiceNames:
        """DDS names of the one service."""
        inside = self._inside(POLICY_SERVICE)
        return ServiceNames(
            request_topic=f"rq/{inside}Request" if self.ros else f"req/{inside}",
            request_type=self.type_name("PolicyChange_Request", "srv"),
            reply_topic=f"rr/{inside}Reply" if self.ros else f"rep/{inside}",
            reply_type=self.type_name("PolicyChange_Response", "srv"),
        )

    def _inside(self, name: str) -> str:
        return f"{self.namespace}/{name}" if self.namespace else name


# Bytes.


def encode(kind: str, values: Values) -> bytes:
    """A message as a body; fields that are left out are zero or empty."""
    out = bytearray()
    _put(out, kind, values)
    return bytes(out)


def decode(kind: str, body: bytes) -> dict[str, Any]:
    """A message from a body; anything else raises `BadMessage`."""
    reader = cdr.Reader(cdr.HEADER + body)
    values = _get(reader, kind, kind)
    reader.end()
    return values


def _put(out: bytearray, kind: str, value: Any) -> None:
    if kind in _SCALARS:
        cdr.put(out, _SCALARS[kind], value or 0)
    elif kind == "str":
        cdr.put_string(out, value or "")
    elif not kind.startswith("["):
        for name, inner in TYPES[kind]:
            _put(out, inner, value.get(name) if value else None)
    else:
        inner, values = kind[1:-1], () if value is None else value
        if inner in _SCALARS:
            cdr.put_sequence(out, _dtype(inner), values)
            return
        cdr.put(out, "I", len(values))
        for one in values:
            _put(out, inner, one)


def _dtype(scalar: str) -> str:
    return np.dtype(_SCALARS[scalar]).str[1:]


def _get(reader: cdr.Reader, kind: str, what: str) -> Any:
    if kind in _SCALARS:
        return reader.numbers("u1" if kind == "bool" else _dtype(kind), 1, what)[0].item()
    if kind == "str":
        return reader.string(what)
    if not kind.startswith("["):
        return {name: _get(reader, inner, name) for name, inner in TYPES[kind]}
    inner, count = kind[1:-1], reader.length(MAX_ELEMENTS, what)
    if inner in _SCALARS:
        return reader.numbers(_dtype(inner), count, what)
    return [_get(reader, inner, what) for _ in range(count)]


# Meaning.


def reports_of(report: BodyReport, *, wall_s: float) -> dict[str, bytes]:
    """Every message the robot publishes about one instant, by topic.

    Args:
        report: What the robot reports.
        wall_s: Time for the headers, of the machine's clock.
    """
    seconds, nanoseconds = cdr.ros_time(wall_s)
    header = {"sec": seconds, "nanosec": nanoseconds, "frame_id": "base"}
    motion = {"group_motion_state": [g in report.groups and report.groups[g].moving for g in GROUPS]}
    stable = {"stable_level": report.stable_level}
    groups = [
        # Joints and motors are the same here.
        {f"{part}_{field}": getattr(group, field) for part in ("joint", "motor") for field in _MOTION}
        | {"group_name": name}
        for name, group in report.groups.items()
    ]
    gains = [
        {
            "group_name": name,
            "mode": MODE_PD if group.powered else MODE_DISABLE,
            "motor_error": np.zeros(group.position.size),
            **dict(zip(_GAINS, (*group.position_mode, group.kp_nm_rad, group.kd_nms_rad), strict=True)),
        }
        for name, group in report.groups.items()
    ]
    arms = [{"group_name": name, **dict(zip(_CARTESIAN, three, strict=True))} for name, three in report.hands.items()]
    bodies: dict[str, Values] = {
        "aurora_state": {
            "velocity_command_source": report.velocity_source,
            "whole_body_fsm_state": report.whole_body_state,
            "upper_body_fsm_state": report.upper_body_state,
            "allow_upper_body_override": report.allow_upper_body_override,
        },
        "robot_stand_pose_state": dict(zip(_STAND_POSE, report.stand_pose, strict=True)) | stable,
        "robot_control_group_state": {"group_state": groups} | motion | stable,
        "robot_cartesian_state": {"cartesian_state": arms} | motion | stable,
        "robot_motor_cfg_group_state": {"group_state": gains},
        "base_data_pub": report.base,
        "true_data_pub": {
            **{name: report.base[name] for name in ("vel_B", "vel_W", "pos_W")},
            "contact_fz": report.true_contact_n,
            "contact_prob": (report.true_contact_n > 0.0).astype(float),
        },
        "contact_data_pub": {"contact_force": report.contact_force.ravel(), "contact_prob": report.contact_prob},
    }
    return {topic: encode(REPORTS[topic], {"header": header, **body}) for topic, body in bodies.items()}


def request_of(topic: str, body: bytes, *, sender: str, arrived_s: float) -> BodyRequest:
    """What a message on a command topic asks for; one that makes no sense raises `BadMessage`."""
    field, value = _ASKED[topic]
    asked = {field: value(decode((COMMANDS | {RESET: "ThenarReset"})[topic], body))}
    return BodyRequest(sender=sender, arrived_s=arrived_s, **asked)


def _group(command: Values) -> GroupCommand:
    return GroupCommand(group=command["group_name"], **{field: command[field] for field in _MOTION})


def _gains(command: Values) -> GroupGains:
    # The client leaves the mode at 0 (disable) when it only means to set gains, so a mode never switches off here.
    *position_mode, kp, kd = (command[name] for name in _GAINS)
    return GroupGains(
        group=command["group_name"],
        kp_nm_rad=kp,
        kd_nms_rad=kd,
        position_mode=tuple(position_mode) if any(values.size for values in position_mode) else None,
    )


def _move(message: Values) -> MoveRequest:
    if message["move_type"] not in (0, 1, 2):
        raise BadMessage(f"move type {message['move_type']}; wanted 0, 1 or 2")
    kind = ("joints", "pose", "line")[message["move_type"]]
    outer, entry_list, goal = (
        ("joint_commands", "group_cmd", "position")
        if kind == "joints"
        else ("cartesian_commands", "cartesian_cmd", "pose")
    )
    inner = message[outer]
    # Every entry is there; those that shall move say so, and their speed stands at the same place of the extra data.
    speeds = [extra["arg_double"] for extra in (message["ex_data"] or inner["ex_data"])]
    goals, speed = {}, {}
    for index, entry in enumerate(inner[entry_list]):
        if entry["group_motion_state"] != MOVING:
            continue
        goals[entry["group_name"]] = entry[goal]
        if index < len(speeds) and speeds[index].size:
            speed[entry["group_name"]] = float(speeds[index][0]) / FULL_SPEED
    joints = kind == "joints"
    return MoveRequest(kind=kind, joints_rad=goals if joints else {}, pose={} if joints else goals, speed=speed)


_ASKED: dict[str, tuple[str, Callable[[Values], Any]]] = {
    "whole_body_fsm_state_change_cmd": ("whole_body_state", lambda message: message["desired_state"]),
    "upper_body_fsm_state_change_cmd": ("upper_body_state", lambda message: message["desired_state"]),
    "velocity_source_cmd": ("velocity_source", lambda message: message["desired_source"]),
    "velocity_cmd": ("velocity", lambda message: tuple(message[name] for name in ("vx", "vy", "yaw", "duration"))),
    "robot_stand_pose_cmd": ("stand_pose", lambda message: tuple(message[name] for name in _STAND_POSE)),
    "robot_control_group_cmd": ("groups", lambda message: tuple(map(_group, message["group_cmd"]))),
    "robot_motor_cfg_group_cmd": ("gains", lambda message: tuple(map(_gains, message["group_cmd"]))),
    "move_command_data": ("move", _move),
    RESET: ("reset", lambda _: True),
}
"""The field of a `BodyRequest` that each command topic fills, and from what."""


def policy_request(body: bytes) -> tuple[int, int]:
    """Whole-body and upper-body policy that a client wants."""
    message = decode("PolicyChange_Request", body)
    return message["whole_body_policy"], message["upper_body_policy"]


def policy_refusal(body: bytes) -> str | None:
    """Why a body cannot be a request for a policy, or None if it can."""
    try:
        policy_request(body)
    except BadMessage as error:
        return str(error)
    return None


def policy_reply(result: bool, err_msg: str = "") -> bytes:
    """The answer to a request for a policy."""
    return encode("PolicyChange_Response", {"result": int(result), "err_msg": err_msg})
