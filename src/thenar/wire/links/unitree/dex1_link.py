"""Unitree's topics of Dex1-1 grippers (``rt/dex1/{left,right}/cmd`` and ``state``): the twin's side."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from thenar.signals import HandSettings, HandState, Request
from thenar.wire.codecs.unitree import dex1_codec, unitree_go
from thenar.wire.codecs.unitree.dex1_codec import COMMANDS, STATES
from thenar.wire.links.dds_link import DdsLink, send
from thenar.wire.links.registry import LinkContext
from thenar.wire.links.unitree.hand_sides import one_of_each_side


class Dex1Topics(DdsLink):
    """A command and a state topic for each gripper."""

    wire = "dex1"
    where = "rt/dex1/{left,right}/{cmd,state}"

    def __init__(self, context: LinkContext):
        """Announce the topics of one or two grippers."""
        super().__init__(context.participant)
        self._by_side = one_of_each_side(context.hands)
        self._writers = {}
        for side in self._by_side:
            state, command = f"rt/dex1/{side}/state", f"rt/dex1/{side}/cmd"
            self._writers[side] = self.advertise(state, STATES[state])
            self.subscribe(command, COMMANDS[command], partial(self._on_command, side))

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send each gripper."""
        for side, spec in self._by_side.items():
            send(self._writers[side], dex1_codec.state_message(spec, hands[spec.name][0]))

    def _on_command(self, side: str, message: bytes, sender: str, arrived_s: float) -> None:
        spec = self._by_side[side]
        command, why_not = dex1_codec.command_of(spec, unitree_go.decode_motors(message, unitree_go.MOTOR_CMD))
        if command is None:
            self._inbox.refuse(why_not)
        else:
            self._inbox.put(Request(hand=spec.name, sender=sender, arrived_s=arrived_s, command=command))
