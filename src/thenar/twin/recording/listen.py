"""Records hands that are heard on a wire, real ones or twins, into the same file as a twin's own recording.

Nothing is sent to them. What was heard can be done again: the file says which commands came when, and a replay gives
them to a twin that begins where the hand began.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import ThenarError
from thenar.hands import load
from thenar.hands.export import export_hand
from thenar.hands.spec import HandSpec
from thenar.recordings.chunks import Bundle, Draft, Entry
from thenar.recordings.container import RecordingWriter, WriterHealth
from thenar.recordings.ros_messages import (
    ACTIONS,
    JOINT_STATE,
    MOTORS,
    TEXT,
    HandMessages,
    encode_text,
    topic,
)
from thenar.recordings.ros_schema import Schema, Unpacked
from thenar.signals import HandCommand, HandSettings, HandState
from thenar.touch.from_counts import CountsReader
from thenar.twin.recording.recipe import to_text, world_recipe
from thenar.twin.recording.recorder import RecorderContext, about
from thenar.twin.world import World
from thenar.wire.clients.listener import Listener, Place

SETTLE_S = 1.5  # the longest way of a finger, and a little more
SILENCE_S = 5.0


def world_at(hands: Sequence[HandSpec], angle_rad: dict[str, FloatArray], *, seed: int = 0) -> World:
    """A world with these hands alone, which stand at these angles of their motors and were told nothing else."""
    world = World(list(hands), seed=seed)
    for hand, target_rad in angle_rad.items():
        world.command(hand, HandCommand.to(target_rad))
    world.advance(SETTLE_S)
    return world


def merged(before: HandSettings, command: HandCommand) -> HandSettings:
    """What a hand has been told after one more command; what nobody said is NaN."""
    pairs = (
        (before.target_rad, command.lasting_target_rad),
        (before.speed_rad_s, command.speed_rad_s),
        (before.force_limit_n, command.force_limit_n),
    )
    told = [np.where(np.isnan(new), old, new) for old, new in pairs]
    return HandSettings(
        target_rad=told[0],
        speed_rad_s=told[1],
        force_limit_n=told[2],
        current_limit_a=before.current_limit_a,
        zeroing=False,
    )


def untold(spec: HandSpec) -> HandSettings:
    """Of a hand that nobody was heard to command."""
    nothing = np.full(len(spec.actuators), np.nan)
    fields: dict[str, Any] = dict.fromkeys(("target_rad", "speed_rad_s", "force_limit_n", "current_limit_a"), nothing)
    return HandSettings(**fields, zeroing=False)


class WireRecorder(RecorderContext):
    """Records hands on a wire into a file. Use it in a ``with``, or `close` it."""

    def __init__(self, path: Path | str, hands: Sequence[str], place: Place, *, raw: bool = False):
        """Listen until every hand has told its state, and begin the file; a silent wire is refused with the reason.

        Args:
            path: Of the new file, ending in .mcap.
            hands: Names of the hands.
            place: The wire and where it is.
            raw: Whether vendors' messages are kept too, byte for byte.
        """
        specs = [load(name) for name in hands]
        self._messages = {spec.name: HandMessages(spec) for spec in specs}
        self._told = {spec.name: untold(spec) for spec in specs}
        self._first: dict[str, HandState] = {}
        self._file: RecordingWriter | None = None
        self._start_s = self._start_ns = 0
        self._began_s = math.inf
        """When the file was there: the bytes of a state and its meaning are both before it, or both after."""
        self._count, self._raw = 0, raw
        self._lock = threading.Lock()
        self.listener = Listener(specs, place, self)
        try:
            self._wait_for_states()
            world = world_at(specs, {name: state.angle_rad for name, state in self._first.items()})
            skins = {spec.name: world.calibration(spec.name) for spec in specs if spec.pads}
            self._skins = {spec.name: CountsReader(spec, skins[spec.name]) for spec in specs if spec.pads}
            self._begin(path, world, place)
        except BaseException:
            self.listener.close()
            raise

    @property
    def running(self) -> bool:
        """True until the file fails."""
        return not self.health.failed

    @property
    def health(self) -> WriterHealth:
        """How the file is getting on."""
        assert self._file is not None
        return self._file.health

    def close(self) -> None:
        """Stop listening and end the file; what could not be written is raised."""
        self.listener.close()
        if self._file is not None:
            health = self._file.close()
            if health.failed:
                raise ThenarError(f"{health.path} {health.failed}; {health.lost} messages were lost")

    def hear(self, hand: str, said: HandCommand | HandState | FloatArray, arrived_s: float) -> None:
        """Write down what was heard; before the file is there, keep the first state."""
        with self._lock:
            # A command is never left out: it may have come after what was told was written down.
            if self._file is None or (arrived_s < self._began_s and not isinstance(said, HandCommand)):
                if isinstance(said, HandState):
                    self._first[hand] = said
                elif isinstance(said, HandCommand):
                    self._told[hand] = merged(self._told[hand], said)
                return
            stamp_ns = self._stamp_ns(arrived_s)
            made = self._messages[hand]
            if isinstance(said, HandCommand):
                self._told[hand] = merged(self._told[hand], said)
                self._put_action(arrived_s, "command", {"hand": hand, "command": said})
                payload = made.command(stamp_ns, said.lasting_target_rad, said.speed_rad_s, said.force_limit_n)
                self._put(topic(hand, "command"), JOINT_STATE, payload, stamp_ns)
            elif isinstance(said, HandState):
                self._put(topic(hand, "joint_states"), JOINT_STATE, made.joint_states(stamp_ns, said), stamp_ns)
                self._put(topic(hand, "motors"), MOTORS, made.motors(stamp_ns, said, self._told[hand]), stamp_ns)
            else:
                frame = self._skins[hand].frame(said, arrived_s)
                bundle = Bundle(made.touch(frame), time.time_ns(), stamp_ns, self._count, (stamp_ns, frame))
                self._file.put(bundle)

    def hear_raw(self, topic: str, type_name: str, message: bytes, arrived_s: float) -> None:
        """Keep a vendor's message as it came, where that was asked for."""
        if not self._raw:
            return
        with self._lock:
            if self._file is not None and arrived_s >= self._began_s:
                kind = type_name.replace("::dds_::", "::").removesuffix("_").replace("::", "/")
                schema = Schema(name=kind, text=f"# {type_name} as it came; its definition is the vendor's\n")
                self._put(f"/raw/{topic}", schema, message, self._stamp_ns(arrived_s))

    def _wait_for_states(self) -> None:
        until_s = time.perf_counter() + SILENCE_S
        self.listener.wait_for("state", SILENCE_S)
        while not self._messages.keys() <= self._first.keys():
            if time.perf_counter() > until_s:
                missing = ", ".join(self._messages.keys() - self._first.keys())
                raise ThenarError(f"nothing is heard of {missing}: {self.listener.silence()}")
            time.sleep(0.01)

    def _begin(self, path: Path | str, world: World, place: Place) -> None:
        # The file's clock is the twin's that a replay begins with: it stands at SETTLE_S now.
        now_s = time.perf_counter()
        self._start_s = now_s - world.time_s
        self._start_ns = time.time_ns() - round(world.time_s * 1e9)
        words = about(world, self._start_ns) | {
            "source": "wire",
            "wire": place.wire,
            "passive": "yes" if self.listener.passive else "no: the hands were polled",
            "domain": str(place.domain),
            "interface": place.interface,
        }
        with self._lock:
            self._file = RecordingWriter(path, metadata={"thenar": words})
            self._put_action(
                now_s,
                "world",
                {"because": "world", "recipe": world_recipe(world), "state": world.snapshot(), "faults": []},
            )
            for spec in self.listener.hands:
                description = encode_text(export_hand(spec, format="urdf"))
                self._put(topic(spec.name, "robot_description"), TEXT, description, self._stamp_ns(now_s))
                told = self._told[spec.name]
                known = HandCommand.to(told.target_rad, speed_rad_s=told.speed_rad_s, force_limit_n=told.force_limit_n)
                self._put_action(now_s, "command", {"hand": spec.name, "command": known})
            self._began_s = time.perf_counter()

    def _put_action(self, arrived_s: float, call: str, arguments: dict[str, Any]) -> None:
        self._count += 1
        action = {"time_s": arrived_s - self._start_s, "call": call, "arguments": arguments}
        self._put(ACTIONS, TEXT, encode_text(to_text(action)), self._stamp_ns(arrived_s))

    def _put(self, topic: str, schema: Schema, payload: bytes | Unpacked, stamp_ns: int) -> None:
        assert self._file is not None
        self._file.put(Entry(topic, schema, Draft(time.time_ns(), stamp_ns, self._count, payload)))

    def _stamp_ns(self, arrived_s: float) -> int:
        return self._start_ns + round((arrived_s - self._start_s) * 1e9)
