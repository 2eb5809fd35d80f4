"""Does a recording again: the same world, the same changes at the same steps, and so the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from thenar.errors import BadFile, BadValue
from thenar.hands.motors_file import MotorValues
from thenar.recordings.chunks import Bundle, Draft, Entry, Sheet
from thenar.recordings.container import Channel, Contents, Message
from thenar.recordings.recording import Recording, with_contents
from thenar.recordings.ros_messages import ACTIONS, PROXIMITY, decode_text, topic
from thenar.recordings.ros_schema import Schema, fill_rows, runs_alike
from thenar.signals import SolidContacts
from thenar.signals.fault_kinds import FAULTS
from thenar.sim.journal import find_noted
from thenar.twin.recording.recipe import build_world, from_text, state_digest, steps_at
from thenar.twin.recording.recorder import Recorder
from thenar.twin.world import World

PACK_EVERY = 64  # messages of a topic: few calls, and frames of a long replay do not pile up


@dataclass(kw_only=True)
class _Memory:
    """A writer that keeps messages."""

    drafts: dict[str, tuple[Schema, list[Draft]]] = field(default_factory=dict)
    bundles: dict[Sheet, list[Bundle]] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)

    def put(self, *entries: Entry | Bundle) -> None:
        """Keep messages; many become bytes at once."""
        for entry in entries:
            if isinstance(entry, Bundle):
                if entry.sheet not in self.bundles:  # what was made in another way comes before it
                    self.pack()
                    self.bundles[entry.sheet] = []
                self.bundles[entry.sheet].append(entry)
                if len(self.bundles[entry.sheet]) == PACK_EVERY:
                    self._pack_bundles(entry.sheet)
            else:
                drafts = self.drafts.setdefault(entry.topic, (entry.schema, []))[1]
                drafts.append(entry.draft)
                if len(drafts) == PACK_EVERY:
                    self._pack_drafts(entry.topic)

    def pack(self) -> None:
        """Make bytes of everything that has been kept."""
        for sheet in self.bundles:
            self._pack_bundles(sheet)
        for name in [*self.drafts]:
            self._pack_drafts(name)

    def _channel(self, topic: str, schema: Schema) -> Channel:
        return self.channels.setdefault(topic, Channel(topic=topic, schema=schema, encoding="cdr"))

    def _pack_bundles(self, sheet: Sheet) -> None:
        bundles, self.bundles[sheet] = self.bundles[sheet], []
        if not bundles:
            return
        _, log_ns, publish_ns, sequence, values = zip(*bundles, strict=True)
        columns = tuple(zip(*values, strict=True))
        for kind in sheet.kinds:
            rows = np.empty((len(values), kind.size), dtype=np.uint8)
            kind.pack(rows, *columns)
            payloads = [row.tobytes() for row in rows]
            self._channel(kind.topic, kind.schema).messages.extend(map(Message, log_ns, publish_ns, sequence, payloads))

    def _pack_drafts(self, topic: str) -> None:
        schema, drafts = self.drafts.pop(topic)
        channel = self._channel(topic, schema)
        payloads = [draft.payload for draft in drafts]
        for run in runs_alike(payloads):
            rows = np.empty((len(payloads[run]), len(payloads[run][0])), dtype=np.uint8)
            fill_rows(rows, payloads[run])
            both = zip(drafts[run], rows, strict=True)
            channel.messages.extend(Message(*draft[:3], row.tobytes()) for draft, row in both)

    def put_metadata(self, name: str, words: Mapping[str, str]) -> None:
        """Keep a record of words."""
        self.metadata[name] = dict(words)


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """One reading of the recording: of all states, or of one skin."""

    hand: str
    """Empty for states."""
    step: int
    after: int
    time_s: float
    """By the clock of the recording."""


def replay(
    recording: Recording | Path | str,
    *,
    world: World | None = None,
    touch: bool = True,
    on_progress: Callable[[float], None] | None = None,
    on_state: Callable[[World, float], None] | None = None,
) -> Recording:
    """Do a recording again, as fast as it goes; `Recording.differs_at` of the answer says whether it came out the same.

    Args:
        recording: What was recorded.
        world: A world to do it in, such as one with other parameters; None: the recorded one.
        touch: Whether skins are read again.
        on_progress: Is called with the share that is done, from 0 to 1.
        on_state: Is called at every reading of the hands, with the world and the time in the recording [s].
    """
    recording = recording if isinstance(recording, Recording) else Recording(recording)
    if not recording.actions:
        raise BadFile(recording.name, "cannot be replayed: it does not say what was done to the world")
    actions = read_actions(recording)
    before = [message.sequence for message in recording.contents.channels[ACTIONS].messages]
    first = actions[0]["arguments"]
    own = world is not None
    world = world if world is not None else build_world(first["recipe"])
    if world.hand_names != tuple(first["recipe"]["hands"]) or world.timestep_s != first["recipe"]["timestep_s"]:
        raise BadValue("world", world.hand_names, f"a world with {', '.join(first['recipe']['hands'])} and its step")
    player = _Player(world, own=own, touch=touch)
    player.apply(actions[0])
    memory = _Memory()
    recorder = Recorder(world, memory, start_ns=recording.start_ns, touch=touch)
    recorder.begin()
    shifts_ns = {  # between the file's clock and the twin's, by number of the change before
        message.sequence: message.publish_ns - round(action["time_s"] * 1e9)
        for message, action in zip(recording.contents.channels[ACTIONS].messages, actions, strict=True)
    }
    readings = list(_readings(recording, shifts_ns, world.timestep_s, touch=touch))
    total = max(len(readings), 1)
    done = 0
    try:
        for number in range(1, len(actions) + 1):
            until = before[number] if number < len(actions) else None
            while done < len(readings) and (until is None or readings[done].after < until):
                reading = readings[done]
                player.read(reading, recorder)
                if on_state is not None and not reading.hand:
                    on_state(player.world, reading.time_s)
                done += 1
                if on_progress is not None and done % 64 == 0:
                    on_progress(done / total)
            if number < len(actions):
                player.apply(actions[number])
    finally:
        recorder.close()
    if recording.end:
        player.go_to(steps_at(float(recording.end["time_s"]), world.timestep_s))
        memory.metadata["thenar_end"] = {"digest": state_digest(player.world), "time_s": repr(player.world.time_s)}
    if on_progress is not None:
        on_progress(1.0)
    memory.pack()
    again = with_contents(recording, Contents(channels=memory.channels, metadata=memory.metadata, damage=""))
    again.differs_at = _first_difference(recording, again, touch=touch)
    return again


def recorded_world(recording: Recording, *, motors: Mapping[str, MotorValues]) -> World:
    """The world that a recording began with, at time 0, but with other motors; for `replay`."""
    return build_world(read_actions(recording)[0]["arguments"]["recipe"] | {"motors": motors})


def read_actions(recording: Recording) -> list[dict[str, Any]]:
    """Every change that was made, the world it began with first."""
    messages = recording.contents.channels[ACTIONS].messages
    actions = [from_text(decode_text(message.payload)) for message in messages]
    whole = all(isinstance(one, dict) and {"time_s", "call", "arguments"} <= one.keys() for one in actions)
    if not whole or actions[0]["call"] != "world":
        raise BadFile(recording.name, f"cannot be replayed: {ACTIONS} is not what thenar writes")
    if any(after.sequence != before.sequence + 1 for before, after in pairwise(messages)):
        raise BadFile(recording.name, f"cannot be replayed: changes of the world are missing; {recording.damage}")
    return actions


class _Player:
    """A world that does what is recorded."""

    def __init__(self, world: World, *, own: bool, touch: bool):
        self.world, self._own, self._touch = world, own, touch
        self._contacts: SolidContacts | None = None  # of this instant, which several skins may read

    def go_to(self, step: int) -> None:
        """Let time pass up to a step."""
        physics = self.world.physics
        missing = step - steps_at(physics.time_s, physics.timestep_s)
        if missing > 0:
            self._contacts = None
            physics.advance(missing * physics.timestep_s)

    def read(self, reading: _Reading, recorder: Recorder) -> None:
        """Read states or a skin as it was read then."""
        self.go_to(reading.step)
        if not reading.hand:
            recorder.read_state()
            return
        if self._contacts is None:
            self._contacts = self.world.physics.solid_contacts()
        self.world.sample_skin(reading.hand, self._contacts, self._contacts.stamp_s)

    def apply(self, action: Mapping[str, Any]) -> None:
        """Change the world as it was changed then."""
        self._contacts = None
        call, arguments = action["call"], dict(action["arguments"])
        if call == "world":
            self._begin(arguments)
            return
        self.go_to(steps_at(action["time_s"], self.world.timestep_s))
        if call == "episode":
            self.world.journal.note(call, arguments)
            return
        method = find_noted(self.world, call)
        if method is None:  # a file says what to do: nothing but what a journal would have told is done
            raise BadValue("action", call, "a change that a recording can hold, such as command or props.move")
        try:
            method(**arguments)
        except TypeError as error:
            raise BadValue(f"action {call}", sorted(arguments), f"arguments of that change: {error}") from error

    def _begin(self, arguments: Mapping[str, Any]) -> None:
        """The world as it was written down: where another was swapped in, or time went back."""
        journal = self.world.journal
        if not self._own and arguments["because"] == "swap_world":
            self.world = build_world(arguments["recipe"])
            self.world.journal.listeners, self.world.journal.count = journal.listeners, journal.count
        listeners, self.world.journal.listeners = self.world.journal.listeners, []
        self.world.restore(arguments["state"])
        if self._own:
            self.world.physics.motors.keep_own_values()
        for hand, part, kind, amount in arguments.get("faults", ()):
            if kind == "sticky" or (self._touch and FAULTS[kind].of == "taxel"):  # motors' own are in their state
                self.world.faults.inject(hand, part, kind, amount)
        self.world.journal.listeners = listeners
        if listeners:
            self.world.journal.note("swap_world", {"world": self.world})


def _readings(
    recording: Recording, shifts_ns: Mapping[int, int], timestep_s: float, *, touch: bool
) -> Iterator[_Reading]:
    """Everything that was read, in the order in which it has to be read again."""
    found: list[_Reading] = []
    channels = recording.contents.channels
    first = recording.hands[0]
    sources = [(topic(first, "motors"), "")]
    if touch:
        sources += [(topic(hand, "skin"), hand) for hand in recording.hands]
    for name, hand in sources:
        for message in channels[name].messages if name in channels else ():
            step = steps_at((message.publish_ns - shifts_ns[message.sequence]) * 1e-9, timestep_s)
            time_s = (message.publish_ns - recording.start_ns) * 1e-9
            found.append(_Reading(hand=hand, step=step, after=message.sequence, time_s=time_s))
    yield from sorted(found, key=lambda reading: (reading.after, reading.step))


def _first_difference(recording: Recording, again: Recording, *, touch: bool) -> str:
    """Where the replay first differs, in words."""
    worst: tuple[int, str] | None = None
    for name, channel in recording.contents.channels.items():
        if name == ACTIONS or name.endswith("/robot_description"):  # what was done, and words about the hand
            continue
        if not touch and (name.endswith(("/touch", "/skin")) or f"/{PROXIMITY}" in name):
            continue
        theirs = again.contents.channels[name].messages if name in again.contents.channels else []
        same = zip(channel.messages, theirs, strict=False)
        at = next((k for k, (mine, other) in enumerate(same) if mine.payload != other.payload), None)
        if at is None and len(channel.messages) != len(theirs):
            at = min(len(channel.messages), len(theirs))
        if at is not None:
            at_ns = channel.messages[min(at, len(channel.messages) - 1)].publish_ns
            if worst is None or at_ns < worst[0]:
                seconds = (at_ns - recording.start_ns) * 1e-9
                worst = at_ns, f"{name} differs first at {seconds:.3f} s, message {at + 1} of {len(channel.messages)}"
    if worst is not None:
        return worst[1]
    if recording.end and recording.end.get("digest") != again.end.get("digest"):
        return f"the last state, at {float(recording.end['time_s']):.3f} s, differs"
    return ""
