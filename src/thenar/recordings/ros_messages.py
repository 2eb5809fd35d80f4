"""Messages of a recording: ROS's own types where there is one, and what each hand writes in them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thenar import cdr
from thenar.arrays import FloatArray
from thenar.cdr import BadMessage
from thenar.hands.spec import HandSpec
from thenar.recordings.ros_schema import Layout, Schema, find_layout, write
from thenar.signals import HandSettings, HandState, TouchFrame

_RULER = "=" * 80
_PARTS = {
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "sensor_msgs/ChannelFloat32": "string name\nfloat32[] values",
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform"
    ),
    "geometry_msgs/Transform": "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w",
}
_HEADER = ("std_msgs/Header", "builtin_interfaces/Time")


def _schema(name: str, text: str, *parts: str) -> Schema:
    return Schema(
        name=name, text="\n".join([text, *(f"{_RULER}\nMSG: {part}\n{_PARTS[part]}" for part in parts)]) + "\n"
    )


JOINT_STATE = _schema(
    "sensor_msgs/msg/JointState",
    "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort",
    *_HEADER,
)
TACTILE_STATE = _schema(
    "tactile_msgs/msg/TactileState",
    "std_msgs/Header header\nsensor_msgs/ChannelFloat32[] sensors",
    *_HEADER,
    "sensor_msgs/ChannelFloat32",
)
TRANSFORMS = _schema(
    "tf2_msgs/msg/TFMessage",
    "geometry_msgs/TransformStamped[] transforms",
    *_HEADER,
    *(part for part in _PARTS if part.startswith("geometry_msgs")),
)
TEXT = _schema("std_msgs/msg/String", "string data")
COMPRESSED_IMAGE = _schema(
    "sensor_msgs/msg/CompressedImage", "std_msgs/Header header\nstring format\nuint8[] data", *_HEADER
)
REPORTED = ("angle_rad", "velocity_rad_s", "force_n", "torque_nm", "current_a", "temperature_c", "status", "error")
TOLD = ("target_rad", "speed_rad_s", "force_limit_n", "current_limit_a")
MOTOR_NUMBERS = (*REPORTED, *TOLD)
_WHOLE = ("status", "error")
MOTORS = _schema(
    "thenar_msgs/msg/Motors",
    "\n".join(
        [
            "std_msgs/Header header",
            "string[] name",
            *(f"{'int32' if name in _WHOLE else 'float64'}[] {name}" for name in MOTOR_NUMBERS),
        ]
    ),
    *_HEADER,
)
SKIN = _schema(
    "thenar_msgs/msg/Skin",
    "std_msgs/Header header\nstring[] pad\nuint16[] rows\nuint16[] cols\nfloat32[] shear_pa\nint32[] counts\n"
    "float64[] pad_force_n\nfloat64[] pad_centre_m\nfloat64[] die_pressure_pa\nfloat64[] die_temperature_c\n"
    "float64 bare_skin_n\nfloat64 contact_n",
    *_HEADER,
)

ROBOT = "robot"
"""In place of a hand in the topics of the robot that holds the hands."""
ACTIONS = "/thenar/actions"
"""Topic of everything that changed the world, one JSON object each: what a replay does again."""


def topic(hand: str, kind: str) -> str:
    """Topic of a hand: ``joint_states``, ``motors``, ``command``, ``touch``, ``skin`` or ``robot_description``."""
    return f"/{hand}/{kind}"


def encode_text(text: str) -> bytes:
    """A string as a message."""
    out = bytearray()
    cdr.put_string(out, text)
    return cdr.HEADER + bytes(out)


def decode_text(payload: bytes) -> str:
    """The string of a message; of any length, unlike those of a wire."""
    if len(payload) < 9:
        raise BadMessage(f"a text of {len(payload)} bytes; wanted a header, a length and the text")
    (size,) = struct.unpack_from("<I", payload, 4)
    return payload[8 : 8 + size - 1].decode(errors="replace")


def _stamped(stamp_ns: int, path: str = "header.stamp") -> dict[str, ArrayLike]:
    return {f"{path}.sec": stamp_ns // 10**9, f"{path}.nanosec": stamp_ns % 10**9}


class HandMessages:
    """Messages of one hand; what stays the same in all of them is laid out once."""

    def __init__(self, hand: HandSpec):
        """For this hand."""
        self.name, self._spec = hand.name, hand
        joints, motors = hand.joint_names, hand.actuator_names
        head = {"frame_id": hand.name}
        self._joints = self._layout(
            JOINT_STATE, header=head, name=joints, position=np.zeros(len(joints)), velocity=np.zeros(len(joints))
        )
        of_motors = {name: np.zeros(len(motors)) for name in ("position", "velocity", "effort")}
        self._command = self._layout(JOINT_STATE, header=head, name=motors, **of_motors)
        self._touch_paths = tuple(f"sensors.{number}.values" for number in range(len(hand.pads)))
        self._motors = self._layout(
            MOTORS, header=head, name=motors, **{name: np.zeros(len(motors)) for name in MOTOR_NUMBERS}
        )

    @staticmethod
    def _layout(schema: Schema, **value: Any) -> Layout:
        return find_layout(schema, write(schema, value))

    @cached_property
    def _touch(self) -> Layout:
        sensors = [{"name": pad.name, "values": np.zeros(pad.taxels)} for pad in self._spec.pads]
        return self._layout(TACTILE_STATE, header={"frame_id": self.name}, sensors=sensors)

    def joint_states(self, stamp_ns: int, state: HandState) -> bytes:
        """Angles and velocities of every joint."""
        numbers = {"position": state.joint_rad, "velocity": state.joint_velocity_rad_s}
        return self._joints.pack({**_stamped(stamp_ns), **numbers})

    def motors(self, stamp_ns: int, state: HandState, settings: HandSettings) -> bytes:
        """What the motors report, and what they were told."""
        numbers = _stamped(stamp_ns)
        for name in REPORTED:
            numbers[name] = getattr(state, name)
        for name in TOLD:
            numbers[name] = getattr(settings, name)
        return self._motors.pack(numbers)

    def command(
        self, stamp_ns: int, target_rad: FloatArray, speed_rad_s: FloatArray, force_limit_n: FloatArray
    ) -> bytes:
        """Targets as positions, speeds as velocities, force limits as efforts; NaN leaves them as they are."""
        numbers = {"position": target_rad, "velocity": speed_rad_s, "effort": force_limit_n}
        return self._command.pack({**_stamped(stamp_ns), **numbers})

    def touch(self, stamp_ns: int, frame: TouchFrame) -> bytes:
        """Pressure of every taxel, pad by pad [Pa]."""
        numbers, pressure = _stamped(stamp_ns), frame.taxel_pressure_pa.astype(np.float32)
        for path, pad in zip(self._touch_paths, frame.layout, strict=True):
            numbers[path] = pressure[pad.first : pad.first + pad.rows * pad.cols]
        return self._touch.pack(numbers)

    def skin(self, stamp_ns: int, frame: TouchFrame) -> bytes:
        """Everything else that the skin feels."""
        numbers: dict[str, ArrayLike] = {
            "rows": [pad.rows for pad in frame.layout],
            "cols": [pad.cols for pad in frame.layout],
            "shear_pa": frame.taxel_shear_pa.ravel(),
            "counts": frame.taxel_counts,
            "pad_force_n": frame.pad_force_n,
            "pad_centre_m": frame.pad_centre_m.ravel(),
            "die_pressure_pa": frame.die_pressure_pa,
            "die_temperature_c": frame.die_temperature_c,
        }
        if not hasattr(self, "_skin"):
            pads = {"pad": [pad.name for pad in frame.layout]}
            self._skin = self._layout(SKIN, header={"frame_id": self.name}, **pads, **numbers)
        return self._skin.pack(
            {**_stamped(stamp_ns), **numbers, "bare_skin_n": frame.bare_skin_n, "contact_n": frame.contact_n}
        )


class JointMessages:
    """Messages of the joints of the robot that holds the hands: where they are, or where they are sent."""

    def __init__(self, joints: Sequence[str]):
        """For these joints."""
        numbers = {name: np.zeros(len(joints)) for name in ("position", "velocity", "effort")}
        self._layout = find_layout(JOINT_STATE, write(JOINT_STATE, {"name": list(joints), **numbers}))

    def encode(
        self, stamp_ns: int, position_rad: FloatArray, velocity_rad_s: FloatArray, effort_nm: FloatArray
    ) -> bytes:
        """One instant."""
        numbers = {"position": position_rad, "velocity": velocity_rad_s, "effort": effort_nm}
        return self._layout.pack({**_stamped(stamp_ns), **numbers})


class TransformMessages:
    """Poses of named frames in the world."""

    def __init__(self, frames: Sequence[str]):
        """For these frames."""
        self.frames = tuple(frames)
        transforms = [{"header": {"frame_id": "world"}, "child_frame_id": frame} for frame in frames]
        layout = find_layout(TRANSFORMS, write(TRANSFORMS, {"transforms": transforms}))
        self._blank = np.frombuffer(layout.blank, np.uint8)
        slots = layout.slots
        # One gather for all: seconds, nanoseconds and seven numbers of each frame.
        self._stamps = np.array([slots[f"transforms.{n}.header.stamp.sec"].offset for n in range(len(frames))])
        first = [slots[f"transforms.{n}.transform.translation.x"].offset for n in range(len(frames))]
        self._poses = np.array(first, dtype=np.int64).reshape(-1, 1) + np.arange(56)

    def encode(self, stamp_ns: int, pos_m: FloatArray, quat_wxyz: FloatArray) -> bytes:
        """Poses in the world. Shapes (frames, 3) and (frames, 4)."""
        out = self._blank.copy()
        stamp = np.frombuffer(struct.pack("<iI", stamp_ns // 10**9, stamp_ns % 10**9), np.uint8)
        out[self._stamps[:, None] + np.arange(8)] = stamp
        poses = np.concatenate([pos_m, quat_wxyz[:, 1:], quat_wxyz[:, :1]], axis=1, dtype=np.float64)
        out[self._poses] = np.ascontiguousarray(poses).view(np.uint8).reshape(len(poses), 56)
        return out.tobytes()


def transform_paths(layout: Layout) -> Mapping[str, str]:
    """Where each frame of a message of transforms stands, by name of the frame."""
    return {
        name: path.removesuffix(".child_frame_id")
        for path, name in layout.texts.items()
        if path.endswith(".child_frame_id")
    }
