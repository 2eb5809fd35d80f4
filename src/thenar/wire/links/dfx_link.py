"""Unitree's DFX topics (``rt/inspire/cmd`` and ``rt/inspire/state``): the twin's side."""

from __future__ import annotations

from collections.abc import Mapping

from thenar.signals import HandSettings, HandState
from thenar.wire.codecs import dfx_codec, inspire_counts
from thenar.wire.codecs.dfx_codec import COMMAND_TOPIC, COMMANDS, STATE_TOPIC, STATES
from thenar.wire.codecs.inspire_counts import Scale
from thenar.wire.links.dds_link import DdsLink, send
from thenar.wire.links.registry import LinkContext


class DfxTopics(DdsLink):
    """One topic in, one out, both hands in each message."""

    wire = "dfx"
    where = "rt/inspire/{cmd,state}"

    def __init__(self, context: LinkContext):
        """Announce the topics of one or two Inspire hands."""
        super().__init__(context.participant)
        self._by_side = {side: Scale.of(spec) for side, spec in context.by_side.items()}
        self._state = self.advertise(STATE_TOPIC, STATES[STATE_TOPIC])
        self.subscribe(COMMAND_TOPIC, COMMANDS[COMMAND_TOPIC], self._on_command)

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send both hands."""
        here = {side: (scale, hands[scale.hand][0]) for side, scale in self._by_side.items()}
        message = dfx_codec.encode_states(
            {side: inspire_counts.readings(scale, state) for side, (scale, state) in here.items()},
            dq_rad_s={side: state.velocity_rad_s[scale.actuators] for side, (scale, state) in here.items()},
            tau_nm={side: state.torque_nm[scale.actuators] for side, (scale, state) in here.items()},
            lost=self._state.written,
        )
        send(self._state, message)

    def _on_command(self, message: bytes, sender: str, arrived_s: float) -> None:
        commands = dfx_codec.decode_commands(message)
        for side, scale in self._by_side.items():
            command, wrong = dfx_codec.command_of(scale, commands[side])
            if wrong:
                self._inbox.refuse("values out of range", wrong)
            if command is not None:
                self._inbox.put(scale.hand, sender, arrived_s=arrived_s, command=command)
