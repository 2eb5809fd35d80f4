"""The topics of Unitree's service for BrainCo hands (``rt/brainco/{left,right}/...``): the twin's side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from thenar.errors import look_up
from thenar.hands.spec import HandSpec
from thenar.signals import HandSettings, HandState
from thenar.wire.codecs.unitree import brainco_codec, unitree_go
from thenar.wire.links.dds_link import send
from thenar.wire.links.registry import LinkContext
from thenar.wire.links.unitree.hand_sides import SidedTopics


class BraincoTopics(SidedTopics):
    """A command and a state topic for each hand."""

    wire = "brainco"

    def __init__(self, context: LinkContext):
        """Announce the topics of one or two hands."""
        order = context.config.brainco.order
        self._order = np.array(look_up(brainco_codec.ORDERS, order, "brainco.order"))
        thumb = "thumb, thumb_aux" if order == "hand" else "thumb_aux, thumb"
        self.where = f"rt/brainco/{{left,right}}/{{cmd,state}}, motors 0 and 1: {thumb}"
        states, commands = brainco_codec.STATES, brainco_codec.COMMANDS
        super().__init__(context, states=states, commands=commands, absent=brainco_codec.absent_message)

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send both sides."""
        for side, message in self._messages(hands).items():
            send(self._writers[f"rt/brainco/{side}/state"], message)

    def _state_message(self, spec: HandSpec, state: HandState) -> bytes:
        return brainco_codec.state_message(spec, state, self._order)

    def _on_command(self, spec: HandSpec, message: bytes, sender: str, arrived_s: float) -> None:
        motors = unitree_go.decode_motors(message, unitree_go.MOTOR_CMD)
        command, wrong = brainco_codec.command_of(spec, motors, self._order)
        if wrong:
            self._inbox.refuse("values out of range", wrong)
        if command is not None:
            self._inbox.put(spec.name, sender, arrived_s=arrived_s, command=command)
