"""The tactile Inspire hand on DDS, ``rt/inspire_hand/{ctrl,state,touch}/{l,r}``: the twin's side."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from thenar.signals import HandSettings, HandState, TouchFrame
from thenar.wire.codecs import inspire_codec, inspire_counts
from thenar.wire.codecs.inspire_codec import COMMANDS, LETTER, STATES, TouchLayout, topic
from thenar.wire.codecs.inspire_counts import Scale
from thenar.wire.links.dds_link import DdsLink, send
from thenar.wire.links.registry import LinkContext
from thenar.wire.rtps import Writer


class InspireTopics(DdsLink):
    """Topics of one or two Inspire hands: ctrl in, state and touch out."""

    wire = "inspire"

    def __init__(self, context: LinkContext):
        """Announce the topics."""
        super().__init__(context.participant)
        self._scales = {spec.name: Scale.of(spec) for spec in context.by_side.values()}
        self._layouts = {spec.name: TouchLayout.of(spec) for spec in context.hands if spec.pads}
        self._state = {name: self._publish("state", name) for name in self._scales}
        self._touch = {name: self._publish("touch", name, check_readers=True) for name in self._layouts}
        for scale in self._scales.values():
            ctrl = topic("ctrl", scale.side)
            self.subscribe(ctrl, COMMANDS[ctrl], partial(self._on_ctrl, scale))
        letters = ",".join(LETTER[scale.side] for scale in self._scales.values())
        self.where = f"rt/inspire_hand/{{ctrl,state{',touch' if self._touch else ''}}}/{{{letters}}}"

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send the state of each hand."""
        for name, writer in self._state.items():
            send(writer, inspire_codec.encode_state(inspire_counts.readings(self._scales[name], hands[name][0])))

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Send the skin of each hand that has one."""
        for name, writer in self._touch.items():
            send(writer, inspire_codec.encode_touch(self._layouts[name], frames[name].taxel_counts))

    def _publish(self, kind: str, hand: str, *, check_readers: bool = False) -> Writer:
        name = topic(kind, self._scales[hand].side)
        return self.advertise(name, STATES[name], check_readers=check_readers)

    def _on_ctrl(self, scale: Scale, message: bytes, sender: str, arrived_s: float) -> None:
        command, wrong = inspire_codec.command_of(scale, inspire_codec.decode_ctrl(message))
        if wrong:
            self._inbox.refuse("counts out of range", wrong)
        if command is None:
            self._inbox.refuse("ctrl with nothing to do (mode 0, or the flagged groups are empty)")
            return
        self._inbox.put(scale.hand, sender, arrived_s=arrived_s, command=command)
