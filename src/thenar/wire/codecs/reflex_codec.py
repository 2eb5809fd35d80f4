"""``reflex_msgs`` of the ReFlex hand as ROS 2 bodies, both ways. Bodies are plain CDR without a header.

The hand's own driver is a ROS 1 package; these are its messages and services, field for field, in ROS 2 types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar import cdr
from thenar.cdr import BadMessage
from thenar.signals import FloatArray
from thenar.wire.codecs.reflex_counts import FINGER_CELLS, MOTORS
from thenar.wire.codecs.service_definition import NOTHING, RosService

NAMESPACE = "/reflex_takktile"
STATE_TOPIC = f"{NAMESPACE}/hand_state"
HAND = "reflex_msgs/msg/Hand"
_FOUR = dict.fromkeys(MOTORS, "float64")

TYPES = {
    "reflex_msgs/msg/Finger": {
        "proximal": "float32",
        "distal_approx": "float32",
        "contact": "bool[9]",
        "pressure": "float32[9]",
    },
    "reflex_msgs/msg/Motor": {
        "joint_angle": "float64",
        "raw_angle": "float64",
        "velocity": "float64",
        "load": "float64",
        "voltage": "float64",
        "temperature": "int32",
        "error_state": "string",
    },
    HAND: {"finger": "reflex_msgs/msg/Finger[3]", "motor": "reflex_msgs/msg/Motor[4]"},
    "reflex_msgs/msg/PoseCommand": _FOUR,
    "reflex_msgs/msg/VelocityCommand": _FOUR,
    "reflex_msgs/msg/ForceCommand": _FOUR,
    "reflex_msgs/msg/Command": {
        "pose": "reflex_msgs/msg/PoseCommand",
        "velocity": "reflex_msgs/msg/VelocityCommand",
    },
    "reflex_msgs/msg/RawServoCommands": {"raw_positions": "uint16[4]"},
    "reflex_msgs/msg/RadianServoCommands": {"radian_commands": "float32[4]"},
    "reflex_msgs/msg/FingerPressure": {"sensor": "uint16[9]"},
}
"""Fields of the message types."""

COMMANDS = {
    "command": "reflex_msgs/msg/Command",
    "command_position": "reflex_msgs/msg/PoseCommand",
    "command_velocity": "reflex_msgs/msg/VelocityCommand",
    "command_motor_force": "reflex_msgs/msg/ForceCommand",
    "raw_hand_command": "reflex_msgs/msg/RawServoCommands",
    "radian_hand_command": "reflex_msgs/msg/RadianServoCommands",
}
"""Topics that move the hand, and their types."""
_NUMBERS = {
    "reflex_msgs/msg/Command": ("f8", 8),
    "reflex_msgs/msg/RawServoCommands": ("u2", 4),
    "reflex_msgs/msg/RadianServoCommands": ("f4", 4),
}


def _service(
    name: str, type_name: str = "std_srvs/srv/Empty", request: Mapping[str, str] = NOTHING, request_bytes: int = 1
) -> RosService:
    return RosService(name=name, type_name=type_name, request=request, response=NOTHING, request_bytes=request_bytes)


SERVICES = (
    _service("calibrate_fingers"),
    _service("calibrate_tactile"),
    _service("zero_pose"),
    _service("disable_torque"),
    _service("enable_tactile_stops"),
    _service("disable_tactile_stops"),
    _service("set_speed", "reflex_msgs/srv/SetSpeed", {"motor": "float64[4]"}, 32),
    _service(
        "set_tactile_threshold",
        "reflex_msgs/srv/SetTactileThreshold",
        {"finger": "reflex_msgs/msg/FingerPressure[3]"},
        54,
    ),
)
DONE = b"\x00"
"""The reply of every service: an empty message."""

# Both are aligned as CDR wants them, so a message is its records without the padding behind the last.
_FINGER = np.dtype(
    {
        "names": ["proximal", "distal_approx", "contact", "pressure"],
        "formats": ["<f4", "<f4", ("?", FINGER_CELLS), ("<f4", FINGER_CELLS)],
        "offsets": [0, 4, 8, 20],
        "itemsize": 56,
    }
)
_MOTOR = np.dtype(
    {
        "names": [*("joint_angle", "raw_angle", "velocity", "load", "voltage"), "temperature", "length", "error_state"],
        "formats": [*["<f8"] * 5, "<i4", "<u4", "S5"],
        "offsets": [0, 8, 16, 24, 32, 40, 44, 48],
        "itemsize": 56,
    }
)
_ERROR_CHARS = 5  # "0x00" and the zero behind it
_HAND_BYTES = 3 * _FINGER.itemsize + 3 * _MOTOR.itemsize + 48 + _ERROR_CHARS


@dataclass(frozen=True, kw_only=True, eq=False)
class HandMessage:
    """A ``reflex_msgs/Hand``: what the driver knows of a hand."""

    proximal_rad: NDArray[Any]
    """Of each finger. Shape (3,)."""
    distal_rad: NDArray[Any]
    contact: NDArray[Any]
    """Shape (3, 9)."""
    pressure: NDArray[Any]
    """Counts above the offset. Shape (3, 9)."""
    joint_rad: NDArray[Any]
    """Of each motor, as the fields below. Shape (4,)."""
    raw_angle: NDArray[Any]
    velocity: NDArray[Any]
    """In the motor's own counts, as the driver publishes it."""
    load: NDArray[Any]
    voltage: NDArray[Any]
    temperature: NDArray[Any]
    error: NDArray[Any]
    """Bits of the motor's error byte."""


_FINGER_FIELDS = {
    "proximal": "proximal_rad",
    "distal_approx": "distal_rad",
    "contact": "contact",
    "pressure": "pressure",
}
_MOTOR_FIELDS = {
    "joint_angle": "joint_rad",
    **{name: name for name in ("raw_angle", "velocity", "load", "voltage", "temperature")},
}
"""Names in the message, and those of `HandMessage`."""


def encode_hand(hand: HandMessage) -> bytes:
    """A Hand as a body."""
    fingers, motors = np.zeros(3, _FINGER), np.zeros(4, _MOTOR)
    for records, names in ((fingers, _FINGER_FIELDS), (motors, _MOTOR_FIELDS)):
        for theirs, ours in names.items():
            records[theirs] = getattr(hand, ours)
    motors["length"] = _ERROR_CHARS
    motors["error_state"] = [f"0x{int(bits):02x}".encode() for bits in hand.error]
    return (fingers.tobytes() + motors.tobytes())[:_HAND_BYTES]


def decode_hand(body: bytes) -> HandMessage:
    """A Hand from a body; anything else raises `BadMessage`."""
    if not _HAND_BYTES <= len(body) <= _HAND_BYTES + 3:
        raise BadMessage(f"a Hand of {len(body)} bytes; wanted {_HAND_BYTES}")
    fingers = np.frombuffer(body[: 3 * _FINGER.itemsize], _FINGER)
    motors = np.frombuffer(body[3 * _FINGER.itemsize : _HAND_BYTES] + bytes(3), _MOTOR)
    try:
        error = [int(text, 16) for text in motors["error_state"]]
    except ValueError:
        raise BadMessage(f"error states {motors['error_state'].tolist()}; wanted such as 0x00") from None
    fields = {ours: fingers[theirs] for theirs, ours in _FINGER_FIELDS.items()}
    fields |= {ours: motors[theirs] for theirs, ours in _MOTOR_FIELDS.items()}
    return HandMessage(**fields, error=np.array(error))


def encode_numbers(topic: str, values: ArrayLike) -> bytes:
    """The numbers of a command topic as a body."""
    dtype, count = _NUMBERS.get(COMMANDS[topic], ("f8", 4))
    return np.broadcast_to(np.asarray(values, dtype=f"<{dtype}"), count).tobytes()


def decode_numbers(topic: str, body: bytes) -> FloatArray:
    """Numbers of a command topic: f1, f2, f3, preshape; ``command`` has four angles, then four speeds."""
    dtype, count = _NUMBERS.get(COMMANDS[topic], ("f8", 4))
    reader = cdr.Reader(cdr.HEADER + body)
    values = cdr.as_float64(reader.numbers(dtype, count, topic))
    reader.end()
    if not np.isfinite(values).all():
        raise BadMessage(f"{topic} has numbers that are none")
    return values


def speeds_of(body: bytes) -> FloatArray | None:
    """Speeds of a ``SetSpeed`` request [rad/s]; None where one is not a number."""
    speeds = np.frombuffer(body[:32], "<f8").astype(np.float64)
    return speeds if np.isfinite(speeds).all() else None


def thresholds_of(body: bytes) -> NDArray[np.int64]:
    """Thresholds of a ``SetTactileThreshold`` request. Shape (3, 9)."""
    return np.frombuffer(body[:54], "<u2").reshape(3, FINGER_CELLS).astype(np.int64)
