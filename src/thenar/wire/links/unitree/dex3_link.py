"""Unitree's topics of Dex3-1 hands (``rt/dex3/{left,right}/cmd`` and ``state``): the twin's side."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from thenar.arrays import FloatArray
from thenar.hands.spec import HandSpec
from thenar.pace import Pace
from thenar.signals import HandSettings, HandState, TouchFrame
from thenar.wire.codecs.unitree import dex3_codec, unitree_hg
from thenar.wire.links.dds_link import send
from thenar.wire.links.registry import LinkContext
from thenar.wire.links.unitree.hand_sides import SidedTopics

SLOW_HZ = 20.0  # of the copies on rt/lf
FORGOTTEN_S = 1.0  # a command that says so is forgotten after this


class Dex3Topics(SidedTopics):
    """A command and two state topics for each hand."""

    wire = "dex3"
    where = "rt/dex3/{left,right}/{cmd,state}"

    def __init__(self, context: LinkContext):
        """Announce the topics of one or two hands."""
        self._slow = Pace(SLOW_HZ)
        self._press: dict[str, FloatArray] = {spec.side: dex3_codec.press_counts(spec, None) for spec in context.hands}
        self._forget_s: dict[str, float] = {}
        """When the command of a side is forgotten, by `time.perf_counter`."""
        self._lock = threading.Lock()
        """Held around a command and its deadline together: they come on one thread and are forgotten on another."""
        states, commands = dex3_codec.STATES, dex3_codec.COMMANDS
        super().__init__(context, states=states, commands=commands, absent=dex3_codec.absent_message)

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Keep it for the next state, which carries it."""
        for side, spec in self._by_side.items():
            if spec.name in frames:
                self._press[side] = dex3_codec.press_counts(spec, frames[spec.name])

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send both sides, and let go of what was not commanded for too long."""
        with self._lock:
            for side, due_s in list(self._forget_s.items()):
                if time.perf_counter() > due_s:
                    del self._forget_s[side]
                    spec = self._by_side[side]
                    self._inbox.put(spec.name, "its own timeout", command=dex3_codec.let_go(spec))
        now_s = next(iter(hands.values()))[0].stamp_s
        slow = self._slow.is_due(now_s)
        for side, message in self._messages(hands).items():
            send(self._writers[f"rt/dex3/{side}/state"], message)
            if slow:
                send(self._writers[f"rt/lf/dex3/{side}/state"], message)

    def _state_message(self, spec: HandSpec, state: HandState) -> bytes:
        return dex3_codec.state_message(spec, state, self._press[spec.side])

    def _on_command(self, spec: HandSpec, message: bytes, sender: str, arrived_s: float) -> None:
        command, forgets, refused = dex3_codec.command_of(spec, unitree_hg.decode_hand_cmd(message))
        for reason in refused:
            self._inbox.refuse(reason)
        if command is None:
            return
        with self._lock:
            self._inbox.put(spec.name, sender, arrived_s=arrived_s, command=command)
            self._forget_s.pop(spec.side, None)
            if forgets:
                self._forget_s[spec.side] = arrived_s + FORGOTTEN_S
