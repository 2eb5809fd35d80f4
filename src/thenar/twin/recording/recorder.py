"""Writes down what a world does: what its hands report and feel, and everything that changed it."""

from __future__ import annotations

import math
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from thenar import __version__
from thenar.errors import BadValue, ThenarError
from thenar.hands.export import export_hand
from thenar.recordings.chunks import Bundle, Draft, Entry, Kind, Sheet
from thenar.recordings.container import RecordingWriter, WriterHealth
from thenar.recordings.ros_messages import (
    ACTIONS,
    JOINT_STATE,
    ROBOT,
    TEXT,
    TRANSFORMS,
    HandMessages,
    JointMessages,
    Rows,
    TransformMessages,
    encode_text,
    topic,
)
from thenar.recordings.ros_schema import Schema, Unpacked
from thenar.signals import TouchFrame
from thenar.sim.motor_bank import MotorBank, MotorReading, checked_command
from thenar.twin.recording.recipe import state_digest, to_text, world_recipe
from thenar.twin.twin_health import RecordingHealth
from thenar.twin.world import World

TF_EVERY = 4  # readings of the state: 25 poses a second are enough to look at
SEGMENT_CALLS = ("swap_world", "restore", "copy_state_from", "diverged")
"""Changes after which the whole world is written down again."""


class Writer(Protocol):
    """Sink of a recorder's messages."""

    def put(self, *entries: Entry | Bundle) -> None:
        """Leave messages."""
        ...

    def put_metadata(self, name: str, words: Mapping[str, str]) -> None:
        """Leave a record of words."""
        ...


class _LateStates:
    """Joint states and motors of a hand, worked out from readings of all motors when many are written at once."""

    def __init__(self, hand: str, messages: HandMessages, motors: MotorBank):
        """Of a hand with these motors."""
        self._hand, self._messages, self._motors = hand, messages, motors

    @property
    def kinds(self) -> tuple[Kind, Kind]:
        """Both kinds of messages, which are made of a stamp and a reading."""
        return self._messages.state_kinds(self._pack_joints, self._pack_motors)

    def _pack_joints(self, rows: Rows, stamps_ns: Sequence[int], readings: Sequence[MotorReading]) -> None:
        self._messages.fill_joints(rows, stamps_ns, **self._motors.joint_columns(self._hand, readings))

    def _pack_motors(self, rows: Rows, stamps_ns: Sequence[int], readings: Sequence[MotorReading]) -> None:
        self._messages.fill_motors(rows, stamps_ns, self._motors.motor_columns(self._hand, readings))


class Recorder:
    """Listener to a world's journal that writes messages; files are the writer's matter."""

    def __init__(self, world: World, writer: Writer, *, start_ns: int, state_hz: float = 0.0, touch: bool = True):
        """Prepare; nothing is written yet.

        Args:
            world: What is recorded.
            writer: Where messages go.
            start_ns: UNIX time at which the twin's clock is 0 in the file.
            state_hz: How often to read the hands; 0: whenever somebody else does.
            touch: Whether to read skins that nobody else reads.
        """
        self._world: World = world
        self._writer, self._start_ns = writer, start_ns
        self._period_s = 1.0 / state_hz if state_hz else 0.0
        self._touch = touch
        self._readings = 0
        self._newest_s = world.time_s
        self._shifts = [(0, 0.0)]
        """From which change on the file's clock is how far ahead of the twin's [s]: time in a file never goes back."""
        self.next_s = math.inf
        specs = [world.hand(hand) for hand in world.hand_names]
        self._messages = {spec.name: HandMessages(spec) for spec in specs}
        self._descriptions = {
            spec.name: encode_text(export_hand(spec, format="urdf")) for spec in specs if spec.own_model is None
        }
        if touch:
            for hand in self._skins():
                world.skin(hand)

    def begin(self) -> None:
        """Begin, on the thread on which the world runs; its skins start without a past, so that a replay can too."""
        world = self._world
        world.restore(world.snapshot())  # what derives from positions is up to date, as it will be in a replay
        world.journal.count = 0
        world.journal.listeners.append(self)
        self._begin_segment("world")
        for hand, description in self._descriptions.items():
            self._put(topic(hand, "robot_description"), TEXT, description)
        if self._period_s:
            self.next_s = world.time_s
            world.advance(0.0)

    def close(self) -> None:
        """Stop listening."""
        self._world.journal.listeners.remove(self)
        end = {"digest": state_digest(self._world), "time_s": repr(self._world.time_s)}
        self._writer.put_metadata("thenar_end", end)

    def episode(self, task: str, *, success: bool | None = None) -> None:
        """Let a new episode begin, or say how the last one went.

        Args:
            task: What is done in it, in words.
            success: Of the episode that ends here; None where nobody knows.
        """
        self._world.journal.note("episode", {"task": task, "success": success})

    def changed(self, call: str, arguments: Mapping[str, Any]) -> None:
        """Write a change of the world down."""
        self._world = arguments.get("world", self._world)
        if self._world.time_s < self._newest_s - 1e-9:
            shift_s = self._shifts[-1][1] + self._newest_s - self._world.time_s + self._world.timestep_s
            self._shifts.append((self._world.journal.count, shift_s))
            self._newest_s = self._world.time_s
            if self._period_s:
                self.next_s = self._world.time_s
        if call in SEGMENT_CALLS:
            self._begin_segment(call)
            return
        self._put_action(call, dict(arguments))
        if call == "command":
            hand = arguments["hand"]
            spec = self._world.hand(hand)
            target, speed, limit = checked_command(spec, arguments["command"])
            target = np.where(np.isinf(target), np.nan, target)  # a motion that is ended
            self._put(
                topic(hand, "command"),
                JOINT_STATE,
                self._messages[hand].command(self._stamp_ns(), target, speed, limit),
            )

    def read_state(self, reading: MotorReading | None = None) -> None:
        """Write the state of every hand down.

        Args:
            reading: Of the motors now, where somebody else has taken it already.
        """
        world = self._world
        if self._period_s:
            self.next_s = self.next_s + self._period_s
            if self._touch:
                for hand in self._skins():
                    if world.skin(hand).next_s == math.inf:
                        world.touch(hand)
        stamp_ns = self._stamp_ns()
        log_ns, after = time.time_ns(), world.journal.count
        reading = reading or world.physics.read_motors()
        entries: list[Entry | Bundle] = [Bundle(self._states, log_ns, stamp_ns, after, (stamp_ns, reading))]
        if self._robot is not None:
            data, still = world.data, np.full(self._joints.shape[1], np.nan)
            qpos, dof, motor = self._joints
            now = self._robot.encode(stamp_ns, data.qpos[qpos], data.qvel[dof], data.qfrc_actuator[dof])
            sent = self._robot.encode(stamp_ns, data.ctrl[motor], still, still)
            for kind, payload in (("joint_states", now), ("command", sent)):
                entries.append(Entry(topic(ROBOT, kind), JOINT_STATE, Draft(log_ns, stamp_ns, after, payload)))
        if self._readings % TF_EVERY == 0:
            poses = world.data.xpos[self._bodies], world.data.xquat[self._bodies]
            transforms = self._tf.encode(stamp_ns, *poses)
            entries.append(Entry("/tf", TRANSFORMS, Draft(log_ns, stamp_ns, after, transforms)))
        self._writer.put(*entries)
        self._readings += 1

    def read_touch(self, hand: str, frame: TouchFrame, *, at_s: float, after: int) -> None:
        """Write a reading of a skin down."""
        sheet, stamp_ns = self._messages[hand].touch(frame), self._stamp_ns(frame.stamp_s, after)
        self._writer.put(Bundle(sheet, time.time_ns(), self._stamp_ns(at_s, after), after, (stamp_ns, frame)))

    def _begin_segment(self, call: str) -> None:
        world, model = self._world, self._world.model
        self._readings = 0
        late = [_LateStates(name, made, world.physics.motors) for name, made in self._messages.items()]
        self._states = Sheet(*(kind for hand in late for kind in hand.kinds))
        bodies = range(1, model.nbody)
        self._tf = TransformMessages([model.body(body).name for body in bodies])
        self._bodies = np.array(bodies)
        robot = world.physics.config.robot
        names = () if robot is None else tuple(robot.rest_rad)  # each joint has an actuator of its name
        self._robot = JointMessages(names) if names else None
        joints = [(model.joint(name), model.actuator(name).id) for name in names]
        self._joints = np.array([(joint.qposadr[0], joint.dofadr[0], motor) for joint, motor in joints], dtype=int).T
        faults = [(one.hand, one.part, one.kind, one.amount) for one in world.faults.active]
        self._put_action(
            "world", {"because": call, "recipe": world_recipe(world), "state": world.snapshot(), "faults": faults}
        )

    def _put_action(self, call: str, arguments: dict[str, Any]) -> None:
        action = {"time_s": self._world.time_s, "call": call, "arguments": arguments}
        self._put(ACTIONS, TEXT, encode_text(to_text(action)))

    def _put(self, topic: str, schema: Schema, payload: bytes | Unpacked) -> None:
        draft = Draft(time.time_ns(), self._stamp_ns(), self._world.journal.count, payload)
        self._writer.put(Entry(topic, schema, draft))

    def _stamp_ns(self, time_s: float | None = None, after: int | None = None) -> int:
        """UNIX time in the file of a time of the twin, when ``after`` changes had been made."""
        if time_s is None:
            time_s = self._newest_s = self._world.time_s
        shift_s = self._shifts[-1][1]
        if after is not None:
            shift_s = next(shift_s for since, shift_s in reversed(self._shifts) if since <= after)
        return self._start_ns + round((time_s + shift_s) * 1e9)

    def _skins(self) -> list[str]:
        return [hand for hand in self._world.hand_names if self._world.hand(hand).pads]


class RecorderContext(ABC):
    """What is closed at the end of a ``with``."""

    @abstractmethod
    def close(self) -> None:
        """Stop, and end the file; what could not be written is raised."""

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: TracebackType | BaseException | None) -> None:
        """Close; an error on the way out is not hidden by one of the file."""
        try:
            self.close()
        except ThenarError:
            if kind is None:
                raise


class FileRecorder(RecorderContext):
    """Records a world into a file. Use it in a ``with``, or `close` it."""

    def __init__(self, world: World, path: Path | str, *, state_hz: float = 0.0, touch: bool = True):
        """Begin a file; see `Recorder`."""
        # The twin's clock is 0 at this instant of ours, whatever it shows now.
        start_ns = time.time_ns() - round(world.time_s * 1e9)
        self._began_s = time.perf_counter()
        self._file = RecordingWriter(path, metadata={"thenar": about(world, start_ns)})
        try:
            self._recorder = Recorder(world, self._file, start_ns=start_ns, state_hz=state_hz, touch=touch)
        except BaseException:
            self._file.close()
            raise
        self._listens = False

    def begin(self) -> Self:
        """Begin to listen, on the thread on which the world runs."""
        self._recorder.begin()
        self._listens = True
        return self

    def episode(self, task: str, *, success: bool | None = None) -> None:
        """Let a new episode begin; see `Recorder.episode`."""
        self._recorder.episode(task, success=success)

    def health(self) -> RecordingHealth:
        """How it is getting on, from any thread."""
        return RecordingHealth(seconds=time.perf_counter() - self._began_s, **asdict(self._file.health))

    def detach(self) -> None:
        """Stop listening, on the thread on which the world runs."""
        if self._listens:
            self._recorder.close()
            self._listens = False

    def finish(self) -> WriterHealth:
        """End the file, on any thread."""
        return self._file.close()

    def close(self) -> None:
        """Stop, and end the file; what could not be written is raised."""
        self.detach()
        health = self.finish()
        if health.failed:
            raise ThenarError(f"{health.path} {health.failed}; {health.lost} messages were lost")


def record(world: World, path: Path | str, *, state_hz: float = 100.0, touch: bool = True) -> FileRecorder:
    """Record a world into an MCAP file: ``with thenar.record(world, "grip.mcap") as tape: world.advance(2.0)``.

    Args:
        world: What is recorded.
        path: Of the new file, ending in .mcap.
        state_hz: How often the hands are read.
        touch: Whether skins are read, at their own rate; an ideal one as often as the hands.
    """
    top_hz = 1.0 / world.timestep_s
    if not 0.0 < state_hz <= top_hz:
        raise BadValue("state_hz", state_hz, f"hertz above 0, at most {top_hz:g}: one a step of the physics")
    return FileRecorder(world, path, state_hz=state_hz, touch=touch).begin()


def about(world: World, start_ns: int) -> dict[str, str]:
    """What a recording says of itself: versions, hands, and when its clock is 0."""
    config = world.physics.config
    return {
        "thenar": __version__,
        "mujoco_core": version("mujoco-core"),
        "numpy": np.__version__,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "start_ns": str(start_ns),
        "clock_offset_s": repr(start_ns * 1e-9),
        "hands": ",".join(world.hand_names),
        "profile": config.profile,
        "seed": str(config.seed),
    }
