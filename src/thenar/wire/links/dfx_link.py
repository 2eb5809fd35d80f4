"""Unitree's DFX topics (``rt/inspire/cmd`` and ``rt/inspire/state``): the twin's side and a client's side."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import numpy as np

from thenar.signals import HandSettings, HandState, Request, TouchFrame
from thenar.wire.codecs import cdr, dfx_codec, inspire_counts
from thenar.wire.codecs.inspire_counts import Scale
from thenar.wire.links import idl
from thenar.wire.links.dds_link import DdsNode, dds_health
from thenar.wire.links.inbox import Inbox, LinkHealth
from thenar.wire.links.registry import LinkContext


class DfxTopics:
    """The twin's side: one topic in, one out, both hands in each message."""

    wire = "dfx"

    def __init__(self, context: LinkContext):
        """Announce the topics of one or two Inspire hands."""
        self._node = node = context.dds_node
        self.publish_status = node.tell_status
        self._inbox = Inbox()
        self._by_side = inspire_counts.sides([Scale.of(spec) for spec in context.hands])
        self._state = node.writer(dfx_codec.STATE_TOPIC, idl.MotorStates)
        self._incoming = node.reader(dfx_codec.COMMAND_TOPIC, idl.MotorCmds, self._hear, refuse=self._inbox.refuse)

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        return self._inbox.drain()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send both hands."""
        readings = {side: inspire_counts.readings(scale, hands[scale.hand][0]) for side, scale in self._by_side.items()}
        self._state.write(dfx_codec.encode_states(readings, lost=self._state.written))

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """These topics carry no touch."""

    def health(self) -> LinkHealth:
        """How it is doing."""
        return dds_health(self.wire, "rt/inspire/{cmd,state}", [self._state], [self._incoming], self._inbox.refused)

    def close(self) -> None:
        """Leave the domain, with everything else on the node."""
        self._node.close()

    def _hear(self, message: bytes, sender: str, arrived_s: float) -> None:
        try:
            commands = dfx_codec.decode_commands(message)
        except cdr.BadMessage as error:
            self._inbox.refuse(f"cmd refused: {error}")
            return
        for side, scale in self._by_side.items():
            command, wrong = dfx_codec.command_of(scale, commands[side])
            if wrong:
                self._inbox.refuse("values out of range", wrong)
            if command is not None:
                self._inbox.put(Request(hand=scale.hand, sender=sender, arrived_s=arrived_s, command=command))


class DfxClient:
    """A client's side: sends commands for both hands, keeps the newest state."""

    def __init__(self, node: DdsNode):
        """Listen to the hands."""
        self._command = node.writer(dfx_codec.COMMAND_TOPIC, idl.MotorCmds)
        self._news = threading.Condition()
        self.q: dict[str, np.ndarray] | None = None
        """How far open each motor is, by side."""
        self.lost: dict[str, int] = {}
        """Readings that a hand has missed in a row; a hand that is there has missed none."""
        self.state_messages = 0
        node.reader(dfx_codec.STATE_TOPIC, idl.MotorStates, self._hear)

    def send(self, q: Mapping[str, Sequence[float]]) -> None:
        """Send a command, see `dfx_codec.encode_commands`."""
        self._command.write(dfx_codec.encode_commands(q))

    def wait_until_heard(self, timeout_s: float) -> bool:
        """Wait until somebody listens to commands; False if nobody does in time."""
        return self._command.wait_for_readers(timeout_s)

    def wait_for_news(self, *, timeout_s: float) -> bool:
        """Wait for the next state message; False if none comes in time."""
        with self._news:
            before = self.state_messages
            return self._news.wait_for(lambda: self.state_messages > before, timeout_s)

    def _hear(self, message: bytes, _sender: str, _arrived_s: float) -> None:
        states = dfx_codec.decode_states(message)
        with self._news:
            self.q = {side: part["q"].copy() for side, part in states.items()}
            self.lost = {side: int(part["lost"].max(initial=0)) for side, part in states.items()}
            self.state_messages += 1
            self._news.notify_all()
