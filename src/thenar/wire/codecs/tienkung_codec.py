"""The ROS 2 messages of Tienkung's Inspire hands as bytes, both ways: ``sensor_msgs/JointState`` and ``bodyctrl_msgs``.

Fingers are called '1' (little) to '6' (thumb rotation). Every number is a ratio: position 1 is open and 0 closed, force
1 is 1000 g, speed 1 is the full stroke in 0.8 s, current 1 is 1000 mA. Bodies are plain CDR without a header.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thenar import cdr
from thenar.arrays import FloatArray
from thenar.cdr import BadMessage, put, put_sequence, put_string
from thenar.errors import BadValue
from thenar.signals import HandCommand, HandState
from thenar.units import GRAM_FORCE_N
from thenar.wire.codecs.inspire_counts import MOTORS, Readings, Scale, command_in_hand_order
from thenar.wire.codecs.service_definition import NOTHING, RosService

FINGER_IDS = ("1", "2", "3", "4", "5", "6")
"""In the order of `MOTORS`."""

FULL_FORCE_N = 1000 * GRAM_FORCE_N
FULL_STROKE_S = 0.8
FULL_CURRENT_MA = 1000.0
MAX_NAMES = 64

JOINT_STATE = "sensor_msgs/msg/JointState"
TYPES = {
    "builtin_interfaces/msg/Time": {"sec": "int32", "nanosec": "uint32"},
    "std_msgs/msg/Header": {"stamp": "builtin_interfaces/msg/Time", "frame_id": "string"},
    JOINT_STATE: {
        "header": "std_msgs/msg/Header",
        "name": "string[]",
        "position": "float64[]",
        "velocity": "float64[]",
        "effort": "float64[]",
    },
}
"""Fields of the message types."""


def _service(name: str, request: Mapping[str, str], response: str, kind: str, request_bytes: int | None) -> RosService:
    camel = "".join(word.capitalize() for word in name.split("_"))
    return RosService(
        name=name,
        type_name=f"bodyctrl_msgs/srv/{camel}",
        request=request,
        response={response: kind},
        request_bytes=request_bytes,
    )


def _six(stem: str) -> dict[str, str]:
    return {f"{stem}{n}_ratio": "float32" for n in range(len(MOTORS))}


SERVICES = (
    _service("set_angle_flexible", {"name": "string[]", "angle_ratio": "float32[]"}, "angle_accepted", "bool", None),
    _service("set_angle", _six("angle"), "angle_accepted", "bool", 24),
    _service("set_force", _six("force"), "force_accepted", "bool", 24),
    _service("set_speed", _six("speed"), "speed_accepted", "bool", 24),
    _service("set_clear_error", NOTHING, "setclear_error_accepted", "bool", 1),
    _service("get_angle_act", NOTHING, "curangle_ratio", "float32[6]", 1),
    _service("get_force_act", NOTHING, "curforce_ratio", "float32[6]", 1),
    _service("get_error", NOTHING, "errorvalue", "uint32[6]", 1),
    _service("get_status", NOTHING, "statusvalue", "uint32[6]", 1),
)


def state_topic(side: str) -> str:
    """ROS 2 topic of a hand's state."""
    return f"/inspire_hand/state/{side}_hand"


def control_topic(side: str) -> str:
    """ROS 2 topic that moves a hand."""
    return f"/inspire_hand/ctrl/{side}_hand"


STATES = {state_topic(side): JOINT_STATE for side in ("left", "right")}
CONTROLS = {control_topic(side): JOINT_STATE for side in ("left", "right")}


def service_path(service: str, side: str) -> str:
    """ROS 2 name of a hand's service."""
    return f"/inspire_hand/{service}/{side}_hand"


@dataclass(frozen=True, kw_only=True, eq=False)
class JointState:
    """A JointState message."""

    stamp_s: float = 0.0
    frame_id: str = ""
    name: tuple[str, ...] = ()
    position: ArrayLike = ()
    velocity: ArrayLike = ()
    effort: ArrayLike = ()


def joint_state_of(scale: Scale, state: HandState, readings: Readings, *, stamp_s: float) -> JointState:
    """What the robot publishes about a hand. Positions are single precision made double, as on the robot."""
    stroke = scale.closed_rad - scale.open_rad
    velocity = -state.velocity_rad_s[scale.actuators] / stroke * FULL_STROKE_S
    return JointState(
        stamp_s=stamp_s,
        frame_id=f"hand_{scale.side}_link",
        name=FINGER_IDS,
        position=(readings.angle / np.float32(1000)).astype(np.float32),
        velocity=np.round(velocity, 3) + 0.0,
        effort=readings.current_ma / FULL_CURRENT_MA,
    )


def encode_joint_state(message: JointState) -> bytes:
    """A JointState as a body."""
    out = bytearray(struct.pack("<iI", *cdr.ros_time(message.stamp_s)))
    put_string(out, message.frame_id)
    _put_strings(out, message.name)
    for values in (message.position, message.velocity, message.effort):
        put_sequence(out, "f8", values)
    return bytes(out)


def decode_joint_state(body: bytes) -> JointState:
    """A JointState from a body; anything else raises `BadMessage`."""
    reader = cdr.Reader(cdr.HEADER + body)
    seconds, nanoseconds = reader.numbers("u4", 2, "stamp").tolist()
    message = JointState(
        stamp_s=seconds + 1e-9 * nanoseconds,
        frame_id=reader.string("frame_id"),
        name=_strings(reader),
        **{field: reader.sequence("f8", MAX_NAMES, field) for field in ("position", "velocity", "effort")},
    )
    reader.end()
    return message


def by_finger(message: JointState) -> tuple[FloatArray, FloatArray]:
    """Positions and efforts of a state in the order of `FINGER_IDS`, NaN where it has no effort."""
    told = [
        dict(zip(message.name, np.asarray(values, dtype=np.float64).tolist(), strict=False))
        for values in (message.position, message.effort)
    ]
    if not told[0].keys() >= {*FINGER_IDS}:
        raise BadMessage(f"a state with the names {', '.join(message.name)}; wanted 1 to 6")
    position, effort = np.array([[values.get(name, np.nan) for name in FINGER_IDS] for values in told])
    return position, effort


def command_by_name(scale: Scale, names: Sequence[str], ratios: ArrayLike) -> tuple[HandCommand | None, int, int]:
    """A command from finger ids and opening ratios, matched by name, in any order, not necessarily all.

    Returns:
        The command (None if it asks nothing), how many names are not of a finger, and how many ratios are not within 0
        and 1: those are clamped, and what is not a number leaves its finger alone.
    """
    values = np.asarray(ratios, dtype=np.float64)
    if len(names) != values.size:
        raise BadMessage(f"{len(names)} names and {values.size} positions; wanted one for each")
    opened = np.full(len(MOTORS), np.nan)
    unknown = outside = 0
    for name, value in zip(names, values.tolist(), strict=True):
        if name not in FINGER_IDS:
            unknown += 1
            continue
        outside += not 0.0 <= value <= 1.0
        if np.isfinite(value):
            opened[FINGER_IDS.index(name)] = min(max(value, 0.0), 1.0)
    if np.isnan(opened).all():
        return None, unknown, outside
    return command_in_hand_order(scale, target_rad=scale.angle_rad(opened)), unknown, outside


def six_ratios(body: bytes) -> FloatArray | None:
    """The six ratios of a fixed request; None where one of them is not within 0 and 1."""
    ratios = cdr.as_float64(np.frombuffer(body[:24], "<f4"))
    return ratios if np.all((ratios >= 0.0) & (ratios <= 1.0)) else None


def flexible_request(body: bytes) -> tuple[tuple[str, ...], FloatArray]:
    """Names and ratios of a ``SetAngleFlexible`` request; anything else raises `BadMessage`."""
    reader = cdr.Reader(cdr.HEADER + body)
    names = _strings(reader)
    ratios = cdr.as_float64(reader.sequence("f4", MAX_NAMES, "angle_ratio"))
    reader.end()
    return names, ratios


def flexible_refusal(body: bytes) -> str | None:
    """Why a body cannot be a ``SetAngleFlexible`` request; None if it can."""
    try:
        names, ratios = flexible_request(body)
    except BadMessage as error:
        return str(error)
    return None if len(names) == ratios.size else f"has {len(names)} names and {ratios.size} ratios"


def encode_flexible_request(names: Sequence[str], ratios: ArrayLike) -> bytes:
    """A ``SetAngleFlexible`` request as a body."""
    values = np.asarray(ratios, dtype="<f4")
    if len(names) != values.size:
        raise BadValue("names", list(names), f"{values.size} of them, one for each ratio")
    out = bytearray()
    _put_strings(out, names)
    put_sequence(out, "f4", values)
    return bytes(out)


def angle_command(scale: Scale, ratios: FloatArray) -> HandCommand:
    """Opening ratios as a command."""
    return command_in_hand_order(scale, target_rad=scale.angle_rad(ratios))


def force_command(scale: Scale, ratios: FloatArray) -> HandCommand:
    """Force limits as a command: 1 is 1000 g."""
    return command_in_hand_order(scale, force_limit_n=ratios * FULL_FORCE_N)


def speed_command(scale: Scale, ratios: FloatArray) -> HandCommand:
    """Speeds as a command: 1 is the full stroke in 0.8 s, also for hands that could go faster."""
    stroke_rad = np.abs(scale.closed_rad - scale.open_rad)
    return command_in_hand_order(scale, speed_rad_s=ratios * stroke_rad / FULL_STROKE_S)


REPLIES: dict[str, Callable[[Readings], bytes]] = {
    "get_angle_act": lambda readings: (readings.angle / 1000).astype("<f4").tobytes(),
    "get_force_act": lambda readings: (readings.force / 1000).astype("<f4").tobytes(),
    "get_error": lambda readings: readings.error.astype("<u4").tobytes(),
    "get_status": lambda readings: readings.status.astype("<u4").tobytes(),
}
"""Bodies of the replies of services that ask for something; those that set something answer with one flag."""


def _put_strings(out: bytearray, texts: Sequence[str]) -> None:
    put(out, "I", len(texts))
    for text in texts:
        put_string(out, text)


def _strings(reader: cdr.Reader) -> tuple[str, ...]:
    return tuple(reader.string("name") for _ in range(reader.length(MAX_NAMES, "name")))
