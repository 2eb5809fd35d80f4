"""Unitree's topics of Dex1-1 grippers (``rt/dex1/{left,right}/cmd`` and ``state``): the twin's side."""

from __future__ import annotations

from collections.abc import Mapping

from thenar.hands.spec import HandSpec
from thenar.signals import HandSettings, HandState
from thenar.wire.codecs.unitree import dex1_codec, unitree_go
from thenar.wire.links.dds_link import send
from thenar.wire.links.registry import LinkContext
from thenar.wire.links.unitree.hand_sides import SidedTopics


class Dex1Topics(SidedTopics):
    """A command and a state topic for each gripper."""

    wire = "dex1"
    where = "rt/dex1/{left,right}/{cmd,state}"

    def __init__(self, context: LinkContext):
        """Announce the topics of one or two grippers."""
        states, commands = dex1_codec.STATES, dex1_codec.COMMANDS
        super().__init__(context, states=states, commands=commands, absent=dex1_codec.absent_message)

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send both sides."""
        for side, message in self._messages(hands).items():
            send(self._writers[f"rt/dex1/{side}/state"], message)

    def _state_message(self, spec: HandSpec, state: HandState) -> bytes:
        return dex1_codec.state_message(spec, state)

    def _on_command(self, spec: HandSpec, message: bytes, sender: str, arrived_s: float) -> None:
        command, why_not = dex1_codec.command_of(spec, unitree_go.decode_motors(message, unitree_go.MOTOR_CMD))
        if command is None:
            self._inbox.refuse(why_not)
        else:
            self._inbox.put(spec.name, sender, arrived_s=arrived_s, command=command)
