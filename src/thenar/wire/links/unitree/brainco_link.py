"""The topics of Unitree's service for BrainCo hands (``rt/brainco/{left,right}/...``): the twin's side."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from thenar.errors import UnknownName
from thenar.signals import HandSettings, HandState, Request
from thenar.wire.codecs.unitree import brainco_codec, unitree_go
from thenar.wire.codecs.unitree.brainco_codec import COMMANDS, ORDERS, STATES
from thenar.wire.links.dds_link import DdsLink, send
from thenar.wire.links.registry import LinkContext
from thenar.wire.links.unitree.hand_sides import one_of_each_side


class BraincoTopics(DdsLink):
    """A command and a state topic for each hand."""

    wire = "brainco"

    def __init__(self, context: LinkContext):
        """Announce the topics of one or two hands."""
        super().__init__(context.participant)
        order = context.config.brainco.order
        if order not in ORDERS:
            raise UnknownName("brainco.order", order, ORDERS)
        thumb = "thumb, thumb_aux" if order == "hand" else "thumb_aux, thumb"
        self.where = f"rt/brainco/{{left,right}}/{{cmd,state}}, motors 0 and 1: {thumb}"
        self._order = np.array(ORDERS[order])
        self._by_side = one_of_each_side(context.hands)
        self._writers = {}
        for side in self._by_side:
            state, command = f"rt/brainco/{side}/state", f"rt/brainco/{side}/cmd"
            self._writers[side] = self.advertise(state, STATES[state])
            self.subscribe(command, COMMANDS[command], partial(self._on_command, side))

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send each hand."""
        for side, spec in self._by_side.items():
            send(self._writers[side], brainco_codec.state_message(spec, hands[spec.name][0], self._order))

    def _on_command(self, side: str, message: bytes, sender: str, arrived_s: float) -> None:
        spec, motors = self._by_side[side], unitree_go.decode_motors(message, unitree_go.MOTOR_CMD)
        command, wrong = brainco_codec.command_of(spec, motors, self._order)
        if wrong:
            self._inbox.refuse("values out of range", wrong)
        if command is not None:
            self._inbox.put(Request(hand=spec.name, sender=sender, arrived_s=arrived_s, command=command))
