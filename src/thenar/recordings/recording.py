"""A recording as columns: motors, touch and poses over time."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray, IntArray
from thenar.cdr import BadMessage
from thenar.errors import BadFile, BadValue, UnknownName
from thenar.recordings.container import Channel, Contents, read_contents
from thenar.recordings.ros_messages import ACTIONS, MOTOR_NUMBERS, PROXIMITY, ROBOT, decode_text, topic, transform_paths
from thenar.recordings.ros_schema import Layout, layout_of
from thenar.signals import PadLayout


@dataclass(frozen=True, kw_only=True)
class TopicSummary:
    """What a topic of a recording holds."""

    topic: str
    type: str
    messages: int
    rate_hz: float


@dataclass(frozen=True, kw_only=True)
class Episode:
    """A part of a recording with one task."""

    task: str
    start_s: float
    end_s: float
    success: bool | None
    """Whether it went well; None where nobody said."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MotorColumns:
    """Readings and settings of a hand's motors over time. Shapes (T,) and (T, motors)."""

    stamp_s: FloatArray
    names: tuple[str, ...]
    angle_rad: FloatArray
    velocity_rad_s: FloatArray
    force_n: FloatArray
    torque_nm: FloatArray
    current_a: FloatArray
    temperature_c: FloatArray
    status: IntArray
    error: IntArray
    target_rad: FloatArray
    speed_rad_s: FloatArray
    force_limit_n: FloatArray
    current_limit_a: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class JointColumns:
    """Angles of all joints of a hand, or commands to its motors. Shapes (T,) and (T, joints)."""

    stamp_s: FloatArray
    names: tuple[str, ...]
    position_rad: FloatArray
    velocity_rad_s: FloatArray
    effort: FloatArray
    """Force limits of commands [N]; empty for joints."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TouchColumns(Mapping[str, NDArray[np.float32]]):
    """Touch over time; ``columns["palm"]`` is that pad's pressure [Pa]. Shape (T, rows, cols)."""

    stamp_s: FloatArray
    layout: tuple[PadLayout, ...]
    taxel_pressure_pa: NDArray[np.float32]
    """All taxels, pad after pad [Pa]. Shape (T, taxels)."""
    taxel_shear_pa: NDArray[np.float32]
    """Friction along rows and columns [Pa]. Shape (T, taxels, 2)."""
    taxel_counts: IntArray
    """What the sensor reads [counts]. Shape (T, taxels)."""
    pad_force_n: FloatArray
    """Normal force on each pad [N]. Shape (T, pads)."""
    bare_skin_n: FloatArray
    """Normal force that fell beside every pad [N]. Shape (T,)."""
    contact_n: FloatArray
    """Normal force of all contacts on the skin [N]. Shape (T,)."""
    pad_centre_m: FloatArray
    """Where each pad is pressed, from its centre [m]; NaN where nothing touches. Shape (T, pads, 2)."""
    pad_slip: NDArray[np.float32]
    """Share of what is touched of each pad that slips; NaN where it is not known. Shape (T, pads)."""
    pad_proximity_m: FloatArray
    """Distance from each pad to what is in front of it [m], NaN of pads that do not measure it. Shape (T, pads)."""
    taxel_shear_counts: IntArray
    """What sensors with three axes read along rows and columns [counts]. Shape (T, taxels, 2), or (T, 0, 2)."""
    die_pressure_pa: FloatArray
    """Absolute pressure at the dies of barometers [Pa]. Shape (T, dies), none for other skins."""
    die_temperature_c: FloatArray
    """Temperature of those dies [degrees Celsius]. Shape (T, dies)."""

    def __getitem__(self, pad: str) -> NDArray[np.float32]:
        """Pressure of a pad [Pa]. Shape (T, rows, cols)."""
        return self._of(self.taxel_pressure_pa, pad)

    def __iter__(self) -> Iterator[str]:
        """Names of the pads."""
        return (pad.name for pad in self.layout)

    def __len__(self) -> int:
        """Number of pads."""
        return len(self.layout)

    def counts(self, pad: str) -> IntArray:
        """Readings of a pad [counts]. Shape (T, rows, cols)."""
        return self._of(self.taxel_counts, pad)

    def _of(self, flat: NDArray[Any], pad: str) -> NDArray[Any]:
        for one in self.layout:
            if one.name == pad:
                return flat[:, one.first : one.first + one.rows * one.cols].reshape(-1, one.rows, one.cols)
        raise UnknownName("pad", pad, list(self))


@dataclass(frozen=True, kw_only=True, eq=False)
class Poses:
    """Where a body was in the world. Shapes (T,), (T, 3) and (T, 4)."""

    stamp_s: FloatArray
    pos_m: FloatArray
    quat_wxyz: FloatArray


class Recording:
    """A recording, opened for reading: ``Recording("grip.mcap").touch("inspire_right")["palm"]``.

    A file whose writer was killed is read as far as it goes; `damage` says so.
    """

    def __init__(self, source: Path | str | Contents, *, name: str = ""):
        """Read a file, or take what was read already."""
        self.name = name or (str(source) if not isinstance(source, Contents) else "recording")
        self.contents = source if isinstance(source, Contents) else read_contents(source)
        self.about = self.contents.metadata.get("thenar", {})
        """Versions, hands, profile and seed it was made with."""
        self.end = self.contents.metadata.get("thenar_end", {})
        """Digest and time of the last state; empty where the writer was killed."""
        if not self.about:
            raise BadFile(self.name, "an MCAP file, but not one that thenar has written: it has no record named thenar")
        if not self.about.get("start_ns", "").isdecimal():
            raise BadFile(self.name, "its record named thenar does not say when the recording began (start_ns)")
        self._span_s = (-np.inf, np.inf)
        self.differs_at = ""
        """Of a replay: where it first differs from what was recorded; empty where every byte is the same."""

    @property
    def damage(self) -> str:
        """Why the file has no proper end; empty for one that does."""
        return self.contents.damage

    @cached_property
    def hands(self) -> tuple[str, ...]:
        """Names of the hands."""
        return tuple(filter(None, self.about.get("hands", "").split(",")))

    @cached_property
    def start_ns(self) -> int:
        """UNIX time at which the twin's clock was 0."""
        return int(self.about["start_ns"])

    @cached_property
    def duration_s(self) -> float:
        """From the first to the last message, by the clock on the wall [s]."""
        first, last = self._log_span_ns
        return (last - first) * 1e-9

    @property
    def topics(self) -> list[TopicSummary]:
        """What there is."""
        return [
            TopicSummary(
                topic=channel.topic,
                type=channel.schema.name,
                messages=(count := len(channel.messages)),
                rate_hz=(count - 1) / max(1e-9 * (channel.messages[-1].log_ns - channel.messages[0].log_ns), 1e-9)
                if count > 1
                else 0.0,
            )
            for channel in self.contents.channels.values()
        ]

    def slice(self, start_s: float, end_s: float) -> Recording:
        """The same recording between two times of the twin's clock [s]."""
        if not start_s < end_s:
            raise BadValue("end_s", end_s, f"more than start_s, which is {start_s:g}")
        part = Recording(self.contents, name=self.name)
        part._span_s = (max(start_s, self._span_s[0]), min(end_s, self._span_s[1]))
        return part

    @cached_property
    def actions(self) -> list[dict[str, Any]]:
        """Everything that changed the world, as it was written: its time, the call and the arguments."""
        if ACTIONS not in self.contents.channels:
            return []
        try:
            return [json.loads(decode_text(message.payload)) for message in self.contents.channels[ACTIONS].messages]
        except (ValueError, BadMessage) as error:
            raise BadFile(self.name, f"{ACTIONS} is not what thenar writes: {error}") from error

    @cached_property
    def episodes(self) -> list[Episode]:
        """Parts with a task each; none where nobody named any."""
        messages = self._channel(ACTIONS).messages if self.actions else []
        marks = [
            ((message.publish_ns - self.start_ns) * 1e-9, action["arguments"])
            for message, action in zip(messages, self.actions, strict=True)
            if action["call"] == "episode"
        ]
        if not marks:
            return []
        last_s = max((float(columns.stamp_s[-1]) for columns in map(self.motors, self.hands)), default=0.0)
        following = [*marks[1:], (last_s, {})][: len(marks)]
        return [
            Episode(task=words["task"], start_s=start_s, end_s=end_s, success=after.get("success"))
            for (start_s, words), (end_s, after) in zip(marks, following, strict=True)
            if words["task"]
        ]

    def motors(self, hand: str) -> MotorColumns:
        """What the motors of a hand reported and were told."""
        layout, rows, stamp_s = self._rows(hand, "motors")
        numbers = {name: layout.column(rows, name) for name in MOTOR_NUMBERS}
        return MotorColumns(stamp_s=stamp_s, names=tuple(layout.listed("name")), **numbers)

    def joints(self, hand: str) -> JointColumns:
        """Angles of every joint of a hand, or of the ``robot`` that holds the hands."""
        return self._joints(hand, "joint_states")

    def commands(self, hand: str) -> JointColumns:
        """Commands to a hand: targets, speeds and force limits; NaN leaves one as it is."""
        return self._joints(hand, "command")

    def has_commands(self, hand: str) -> bool:
        """Whether anybody commanded a hand."""
        return topic(hand, "command") in self.contents.channels

    @property
    def has_robot(self) -> bool:
        """Whether a robot held the hands: `joints` and `commands` have it as ``robot``."""
        return topic(ROBOT, "joint_states") in self.contents.channels

    def has_touch(self, hand: str) -> bool:
        """Whether the skin of a hand was recorded."""
        return topic(hand, "touch") in self.contents.channels

    def touch(self, hand: str) -> TouchColumns:
        """What the skin of a hand felt."""
        layout, rows, stamp_s = self._rows(hand, "touch")
        paths = [path for path in layout.slots if path.endswith(".values")]
        pressure = [layout.column(rows, path) for path in paths]
        skin, skin_rows, _ = self._rows(hand, "skin")
        first_row = skin.rows([self._channel(topic(hand, "skin")).messages[0].payload])  # a slice may have none
        n_rows, n_cols = (skin.column(first_row, name)[0].tolist() for name in ("rows", "cols"))
        pads, first = [], 0
        for name, rows_of, cols_of in zip(skin.listed("pad"), n_rows, n_cols, strict=True):
            pads.append(PadLayout(name=name, first=first, rows=rows_of, cols=cols_of))
            first += rows_of * cols_of
        proximity_m = np.full((len(rows), len(pads)), np.nan)
        for number, pad in enumerate(pads):
            if topic(hand, PROXIMITY + pad.name) in self.contents.channels:
                seen, seen_rows, _ = self._rows(hand, PROXIMITY + pad.name)
                proximity_m[:, number] = seen.column(seen_rows, "range")
        found: dict[str, NDArray[Any]] = {name: skin.column(skin_rows, name) for name in skin.slots}
        pad_slip, shear_counts = found.get("pad_slip"), found.get("shear_counts")
        if pad_slip is None or not pad_slip.shape[1]:  # of a real hand, or in an older file
            pad_slip = np.full((len(rows), len(pads)), np.nan, np.float32)
        if shear_counts is None:
            shear_counts = np.zeros((len(rows), 0), dtype=np.int64)
        return TouchColumns(
            stamp_s=stamp_s,
            layout=tuple(pads),
            taxel_pressure_pa=np.concatenate(pressure, axis=1),
            taxel_shear_pa=found["shear_pa"].reshape(len(rows), first, 2),
            taxel_counts=found["counts"],
            pad_force_n=found["pad_force_n"],
            bare_skin_n=found["bare_skin_n"],
            contact_n=found["contact_n"],
            pad_centre_m=found["pad_centre_m"].reshape(len(rows), len(pads), 2),
            pad_slip=pad_slip,
            pad_proximity_m=proximity_m,
            taxel_shear_counts=shear_counts.reshape(len(rows), shear_counts.shape[1] // 2, 2),
            die_pressure_pa=found["die_pressure_pa"],
            die_temperature_c=found["die_temperature_c"],
        )

    @cached_property
    def bodies(self) -> tuple[str, ...]:
        """Names of everything whose pose is known: objects, and links as ``hand/link``."""
        return tuple(dict.fromkeys(name for part in self._scenes for name in transform_paths(self._layout(part))))

    def poses(self, body: str) -> Poses:
        """Where an object or a link was."""
        if body not in self.bodies:
            raise UnknownName("body in this recording", body, self.bodies)
        found: list[tuple[FloatArray, ...]] = []
        for part in self._scenes:
            at = transform_paths(self._layout(part)).get(body)
            if at is not None:
                layout, rows, stamp_s = self._rows_of(part, f"{at}.header.stamp")
                numbers = [
                    np.stack([layout.column(rows, f"{at}.transform.{name}.{axis}") for axis in axes], axis=1)
                    for name, axes in (("translation", "xyz"), ("rotation", "wxyz"))
                ]
                found.append((stamp_s, *numbers))
        stamp_s, pos_m, quat_wxyz = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Poses(stamp_s=stamp_s, pos_m=pos_m, quat_wxyz=quat_wxyz)

    @cached_property
    def _scenes(self) -> list[Channel]:
        """Messages of transforms, those of each scene by themselves: another scene has other objects."""
        channel = self.contents.channels.get("/tf")
        groups = itertools.groupby(channel.messages if channel else (), key=lambda message: len(message.payload))
        return [replace(channel, messages=list(part)) for _, part in groups] if channel else []

    def description(self, hand: str) -> str:
        """The hand's URDF."""
        channel = self._channel(topic(hand, "robot_description"))
        return decode_text(channel.messages[0].payload)

    def __repr__(self) -> str:
        return f"Recording({self.name!r}: {', '.join(self.hands)}, {self.duration_s:.1f} s)"

    def _joints(self, hand: str, kind: str) -> JointColumns:
        layout, rows, stamp_s = self._rows(hand, kind)
        position, velocity, effort = (layout.column(rows, name) for name in ("position", "velocity", "effort"))
        names = tuple(layout.listed("name"))
        return JointColumns(stamp_s=stamp_s, names=names, position_rad=position, velocity_rad_s=velocity, effort=effort)

    def _rows(self, hand: str, kind: str) -> tuple[Layout, NDArray[np.uint8], FloatArray]:
        """Messages of a hand's topic as bytes, and their stamps by the clock of the recording."""
        if hand not in self.hands and hand != ROBOT:
            raise UnknownName("hand in this recording", hand, self.hands)
        return self._rows_of(self._channel(topic(hand, kind)), "header.stamp")

    def _rows_of(self, channel: Channel, stamp: str) -> tuple[Layout, NDArray[np.uint8], FloatArray]:
        try:
            layout = self._layout(channel)
            rows = layout.rows([message.payload for message in channel.messages])
        except BadMessage as error:
            raise BadFile(self.name, f"{channel.topic}: {error}") from error
        seconds, nanoseconds = (layout.column(rows, f"{stamp}.{part}") for part in ("sec", "nanosec"))
        stamp_ns = seconds.astype(np.int64) * 10**9 + nanoseconds.astype(np.int64)
        stamp_s = np.asarray((stamp_ns - self.start_ns) * 1e-9, dtype=np.float64)
        inside = (stamp_s >= self._span_s[0] - 1e-9) & (stamp_s < self._span_s[1])
        return layout, rows[inside], stamp_s[inside]

    def _channel(self, name: str) -> Channel:
        channels = self.contents.channels
        if name not in channels or not channels[name].messages:
            raise UnknownName("topic in this recording", name, channels)
        return channels[name]

    def _layout(self, channel: Channel) -> Layout:
        return layout_of(channel.schema.name, channel.schema.text, channel.messages[0].payload)

    @cached_property
    def _log_span_ns(self) -> tuple[int, int]:
        filled = [channel.messages for channel in self.contents.channels.values() if channel.messages]
        times = [message.log_ns for messages in filled for message in (messages[0], messages[-1])]
        return (min(times), max(times)) if times else (0, 0)


def with_contents(recording: Recording, contents: Contents) -> Recording:
    """A recording of the same world with other messages."""
    return Recording(replace(contents, metadata={**recording.contents.metadata, **contents.metadata}), name="replay")
