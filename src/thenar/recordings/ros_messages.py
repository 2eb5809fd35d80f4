"""Messages of a recording: ROS's own types where there is one, and what each hand writes in them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar import cdr
from thenar.arrays import FloatArray
from thenar.cdr import BadMessage
from thenar.hands.spec import HandSpec
from thenar.recordings.chunks import Kind, Sheet
from thenar.recordings.ros_schema import Layout, Schema, Unpacked, find_layout, write
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
RANGE = _schema(
    "sensor_msgs/msg/Range",
    "std_msgs/Header header\nuint8 ULTRASOUND=0\nuint8 INFRARED=1\nuint8 radiation_type\nfloat32 field_of_view\n"
    "float32 min_range\nfloat32 max_range\nfloat32 range\nfloat32 variance",
    *_HEADER,
)
INFRARED = 1
REPORTED = ("angle_rad", "velocity_rad_s", "force_n", "torque_nm", "current_a", "temperature_c", "status", "error")
TOLD = ("target_rad", "speed_rad_s", "force_limit_n", "current_limit_a")
MOTOR_NUMBERS = (*REPORTED, *TOLD)
_reported, _told = attrgetter(*REPORTED), attrgetter(*TOLD)
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
    "float64 bare_skin_n\nfloat64 contact_n\nfloat32[] pad_slip\nint32[] shear_counts",
    *_HEADER,
)

ROBOT = "robot"
"""In place of a hand in the topics of the robot that holds the hands."""
Rows = NDArray[np.uint8]
"""Messages of one kind, one a row. Shape (T, bytes)."""
PROXIMITY = "proximity/"
"""Before the name of a pad in the topic of its proximity sensor."""
ACTIONS = "/thenar/actions"
"""Topic of everything that changed the world, one JSON object each: what a replay does again."""


def topic(hand: str, kind: str) -> str:
    """Topic of a hand: ``joint_states``, ``motors``, ``command``, ``touch``, ``skin`` and so on."""
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


def _stamped(stamps_ns: Sequence[int], path: str = "header.stamp") -> dict[str, ArrayLike]:
    seconds, nanoseconds = np.divmod(np.array(stamps_ns, dtype=np.int64), 10**9)
    return {f"{path}.sec": seconds, f"{path}.nanosec": nanoseconds}


class HandMessages:
    """Messages of one hand; what stays the same in all of them is laid out once, and many are packed at once."""

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
        self._motors = self._layout(
            MOTORS, header=head, name=motors, **{name: np.zeros(len(motors)) for name in MOTOR_NUMBERS}
        )
        sensors = [{"name": pad.name, "values": np.zeros(pad.taxels)} for pad in hand.pads]
        self._touch = self._layout(TACTILE_STATE, header={"frame_id": self.name}, sensors=sensors)
        self._touch_sheet: Sheet | None = None

    @staticmethod
    def _layout(schema: Schema, **value: Any) -> Layout:
        return find_layout(schema, write(schema, value))

    def state_kinds(self, pack_joints: Callable[..., None], pack_motors: Callable[..., None]) -> tuple[Kind, Kind]:
        """Joint states and motors that are made by others, with `fill_joints` and `fill_motors`."""
        return (
            Kind(topic(self.name, "joint_states"), JOINT_STATE, pack_joints, len(self._joints.blank)),
            Kind(topic(self.name, "motors"), MOTORS, pack_motors, len(self._motors.blank)),
        )

    def fill_joints(
        self, rows: Rows, stamps_ns: Sequence[int], *, joint_rad: ArrayLike, joint_velocity_rad_s: ArrayLike
    ) -> None:
        """Write messages of joint states, one a row. Shapes (rows, joints)."""
        columns = {"position": joint_rad, "velocity": joint_velocity_rad_s}
        self._joints.fill(rows, {**_stamped(stamps_ns), **columns})

    def fill_motors(self, rows: Rows, stamps_ns: Sequence[int], columns: Mapping[str, ArrayLike]) -> None:
        """Write messages of motors, one a row, with all of `MOTOR_NUMBERS`. Shapes (rows, motors)."""
        self._motors.fill(rows, {**_stamped(stamps_ns), **columns})

    def joint_states(self, stamp_ns: int, state: HandState) -> Unpacked:
        """Angles and velocities of every joint."""
        return Unpacked(self._pack_joints, (stamp_ns, state), len(self._joints.blank))

    def motors(self, stamp_ns: int, state: HandState, settings: HandSettings) -> Unpacked:
        """What the motors report, and what they were told."""
        return Unpacked(self._pack_motors, (stamp_ns, state, settings), len(self._motors.blank))

    def command(
        self, stamp_ns: int, target_rad: FloatArray, speed_rad_s: FloatArray, force_limit_n: FloatArray
    ) -> Unpacked:
        """Targets as positions, speeds as velocities, force limits as efforts; NaN leaves them as they are."""
        values = (stamp_ns, target_rad, speed_rad_s, force_limit_n)
        return Unpacked(self._pack_commands, values, len(self._command.blank))

    def touch(self, frame: TouchFrame) -> Sheet:
        """Pressure of every taxel, pad by pad [Pa], and everything else that the skin feels; of a stamp and a frame."""
        if self._touch_sheet is None:  # a frame tells how much there is of everything
            first = {name: column[0] for name, column in _skin_columns([frame]).items()}
            pads = {"pad": [pad.name for pad in frame.layout]}
            self._skin = self._layout(SKIN, header={"frame_id": self.name}, **pads, **first)
            self._touch_sheet = Sheet(
                Kind(topic(self.name, "touch"), TACTILE_STATE, self._pack_touch, len(self._touch.blank)),
                Kind(topic(self.name, "skin"), SKIN, self._pack_skins, len(self._skin.blank)),
                *(self._range_kind(number) for number in np.flatnonzero(~np.isnan(frame.pad_proximity_m)).tolist()),
            )
        return self._touch_sheet

    def _range_kind(self, number: int) -> Kind:
        """Distances before one pad; how wide such a sensor sees is not known."""
        pad = self._spec.pads[number]
        layout = self._layout(RANGE, header={"frame_id": f"{self.name}/{pad.link}"})
        what = {"radiation_type": INFRARED, "max_range": pad.proximity_range_m}

        def pack(rows: Rows, stamps_ns: Sequence[int], frames: Sequence[TouchFrame]) -> None:
            away_m = [frame.pad_proximity_m[number] for frame in frames]
            layout.fill(rows, {**_stamped(stamps_ns), **what, "range": away_m})

        return Kind(topic(self.name, f"{PROXIMITY}{pad.name}"), RANGE, pack, len(layout.blank))

    def _pack_joints(self, rows: Rows, stamps_ns: Sequence[int], states: Sequence[HandState]) -> None:
        self.fill_joints(
            rows,
            stamps_ns,
            joint_rad=[state.joint_rad for state in states],
            joint_velocity_rad_s=[state.joint_velocity_rad_s for state in states],
        )

    def _pack_motors(
        self, rows: Rows, stamps_ns: Sequence[int], states: Sequence[HandState], settings: Sequence[HandSettings]
    ) -> None:
        parts: list[FloatArray] = []
        for state, told in zip(states, settings, strict=True):
            parts += _reported(state)
            parts += _told(told)
        numbers = np.concatenate(parts).reshape(len(states), len(MOTOR_NUMBERS), -1)  # one call for all of them
        self.fill_motors(rows, stamps_ns, {name: numbers[:, k] for k, name in enumerate(MOTOR_NUMBERS)})

    def _pack_commands(self, rows: Rows, stamps_ns: Sequence[int], *columns: Sequence[FloatArray]) -> None:
        names = ("position", "velocity", "effort")
        self._command.fill(rows, {**_stamped(stamps_ns), **dict(zip(names, columns, strict=True))})

    def _pack_touch(self, rows: Rows, stamps_ns: Sequence[int], frames: Sequence[TouchFrame]) -> None:
        columns = _stamped(stamps_ns)
        pressure = np.array([frame.taxel_pressure_pa for frame in frames])
        for number, pad in enumerate(frames[0].layout):
            columns[f"sensors.{number}.values"] = pressure[:, pad.first : pad.first + pad.rows * pad.cols]
        self._touch.fill(rows, columns)

    def _pack_skins(self, rows: Rows, stamps_ns: Sequence[int], frames: Sequence[TouchFrame]) -> None:
        self._skin.fill(rows, {**_stamped(stamps_ns), **_skin_columns(frames)})


def _skin_columns(frames: Sequence[TouchFrame]) -> dict[str, NDArray[Any]]:
    count, pads = len(frames), frames[0].layout
    names = ("pad_force_n", "die_pressure_pa", "die_temperature_c", "bare_skin_n", "contact_n", "pad_slip")
    return {
        "rows": np.array([[pad.rows for pad in pads]]),
        "cols": np.array([[pad.cols for pad in pads]]),
        "shear_pa": np.array([frame.taxel_shear_pa for frame in frames]).reshape(count, -1),
        "counts": np.array([frame.taxel_counts for frame in frames]),
        "shear_counts": np.array([frame.taxel_shear_counts for frame in frames]).reshape(count, -1),
        "pad_centre_m": np.array([frame.pad_centre_m for frame in frames]).reshape(count, -1),
        **{name: np.array([getattr(frame, name) for frame in frames]) for name in names},
    }


class JointMessages:
    """Messages of the joints of the robot that holds the hands: where they are, or where they are sent."""

    def __init__(self, joints: Sequence[str]):
        """For these joints."""
        numbers = {name: np.zeros(len(joints)) for name in ("position", "velocity", "effort")}
        self._layout = find_layout(JOINT_STATE, write(JOINT_STATE, {"name": list(joints), **numbers}))

    def encode(
        self, stamp_ns: int, position_rad: FloatArray, velocity_rad_s: FloatArray, effort_nm: FloatArray
    ) -> Unpacked:
        """One instant."""
        return Unpacked(self._pack, (stamp_ns, position_rad, velocity_rad_s, effort_nm), len(self._layout.blank))

    def _pack(self, rows: Rows, stamps_ns: Sequence[int], *columns: Sequence[FloatArray]) -> None:
        names = ("position", "velocity", "effort")
        self._layout.fill(rows, {**_stamped(stamps_ns), **dict(zip(names, columns, strict=True))})


class TransformMessages:
    """Poses of named frames in the world."""

    def __init__(self, frames: Sequence[str]):
        """For these frames."""
        self.frames = tuple(frames)
        transforms = [{"header": {"frame_id": "world"}, "child_frame_id": frame} for frame in frames]
        layout = find_layout(TRANSFORMS, write(TRANSFORMS, {"transforms": transforms}))
        self._blank = np.frombuffer(layout.blank, np.uint8)
        slots = layout.slots
        # One gather for all: seconds and nanoseconds, then seven numbers of each frame.
        stamps = [slots[f"transforms.{n}.header.stamp.sec"].offset for n in range(len(frames))]
        first = [slots[f"transforms.{n}.transform.translation.x"].offset for n in range(len(frames))]
        self._stamps = np.array(stamps, dtype=np.int64).reshape(-1, 1) + np.arange(8)
        self._poses = np.array(first, dtype=np.int64).reshape(-1, 1) + np.arange(56)

    def encode(self, stamp_ns: int, pos_m: FloatArray, quat_wxyz: FloatArray) -> Unpacked:
        """Poses in the world. Shapes (frames, 3) and (frames, 4)."""
        return Unpacked(self._pack, (stamp_ns, pos_m, quat_wxyz), len(self._blank))

    def _pack(
        self, rows: Rows, stamps_ns: Sequence[int], pos_m: Sequence[FloatArray], quat_wxyz: Sequence[FloatArray]
    ) -> None:
        rows[:] = self._blank
        stamps = np.stack(np.divmod(np.array(stamps_ns, dtype=np.int64), 10**9), axis=1).astype(np.uint32)
        rows[:, self._stamps] = stamps.view(np.uint8)[:, None]
        xyz, wxyz = np.array(pos_m, dtype=np.float64), np.array(quat_wxyz, dtype=np.float64)
        rows[:, self._poses] = np.concatenate([xyz, wxyz[..., 1:], wxyz[..., :1]], axis=2).view(np.uint8)


def transform_paths(layout: Layout) -> Mapping[str, str]:
    """Where each frame of a message of transforms stands, by name of the frame."""
    return {
        name: path.removesuffix(".child_frame_id")
        for path, name in layout.texts.items()
        if path.endswith(".child_frame_id")
    }
