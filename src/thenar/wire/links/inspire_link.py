"""The tactile Inspire hand on DDS, ``rt/inspire_hand/{ctrl,state,touch}/{l,r}``: the twin's and a client's side."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from thenar.hands.spec import HandSpec
from thenar.signals import HandSettings, HandState, Request, TouchFrame
from thenar.wire.codecs import cdr, inspire_codec, inspire_counts
from thenar.wire.codecs.inspire_codec import LETTER, Ctrl, TouchLayout, topic
from thenar.wire.codecs.inspire_counts import Readings, Scale
from thenar.wire.links import idl
from thenar.wire.links.dds_link import DdsNode, Outgoing, dds_health
from thenar.wire.links.inbox import Inbox, LinkHealth
from thenar.wire.links.registry import LinkContext


class InspireTopics:
    """The twin's side: hears ctrl, publishes state and touch."""

    wire = "inspire"

    def __init__(self, context: LinkContext):
        """Announce the topics of one or two Inspire hands."""
        self._node = node = context.dds_node
        hands = context.hands
        self.publish_status = node.tell_status
        self._inbox = Inbox()
        self._scales = {spec.name: Scale.of(spec) for spec in hands}
        inspire_counts.sides(list(self._scales.values()))
        self._layouts = {spec.name: TouchLayout.of(spec) for spec in hands if spec.pads}
        self._state: dict[str, Outgoing] = {}
        self._touch: dict[str, Outgoing] = {}
        self._incoming = []
        for name, scale in self._scales.items():
            self._state[name] = node.writer(topic("state", scale.side), idl.InspireState)
            if name in self._layouts:
                self._touch[name] = node.writer(topic("touch", scale.side), idl.InspireTouch)
            self._incoming.append(
                node.reader(
                    topic("ctrl", scale.side),
                    idl.InspireCtrl,
                    lambda *heard, scale=scale: self._hear(scale, *heard),
                    refuse=self._inbox.refuse,
                )
            )

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        return self._inbox.drain()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send the state of each hand."""
        for name, out in self._state.items():
            out.write(inspire_codec.encode_state(inspire_counts.readings(self._scales[name], hands[name][0])))

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Send the skin of each hand that has one."""
        for name, out in self._touch.items():
            out.write(inspire_codec.encode_touch(self._layouts[name], frames[name].taxel_counts))

    def health(self) -> LinkHealth:
        """How it is doing."""
        out = [*self._state.values(), *self._touch.values()]
        letters = ",".join(LETTER[scale.side] for scale in self._scales.values())
        kinds = "ctrl,state,touch" if self._touch else "ctrl,state"
        where = f"rt/inspire_hand/{{{kinds}}}/{{{letters}}}"
        return dds_health(self.wire, where, out, self._incoming, self._inbox.refused)

    def close(self) -> None:
        """Leave the domain, with everything else on the node."""
        self._node.close()

    def _hear(self, scale: Scale, message: bytes, sender: str, arrived_s: float) -> None:
        try:
            ctrl = inspire_codec.decode_ctrl(message)
        except cdr.BadMessage as error:
            self._inbox.refuse(f"ctrl refused: {error}")
            return
        command, wrong = inspire_codec.command_of(scale, ctrl)
        if wrong:
            self._inbox.refuse("counts out of range", wrong)
        if command is None:
            self._inbox.refuse("ctrl with nothing to do (mode 0, or the flagged groups are empty)")
            return
        self._inbox.put(Request(hand=scale.hand, sender=sender, arrived_s=arrived_s, command=command))


class InspireClient:
    """A client's side: sends ctrl, keeps the newest state and touch. It speaks to twins and to real hands alike."""

    def __init__(self, node: DdsNode, spec: HandSpec):
        """Listen to a hand."""
        self.scale = Scale.of(spec)
        self._layout = TouchLayout.of(spec) if spec.pads else None
        self._ctrl = node.writer(topic("ctrl", self.scale.side), idl.InspireCtrl)
        self._news = threading.Condition()
        self.readings: Readings | None = None
        self.taxel_counts: NDArray[np.int64] | None = None
        self.state_messages = self.touch_messages = 0
        node.reader(topic("state", self.scale.side), idl.InspireState, self._hear_state)
        if self._layout is not None:
            node.reader(topic("touch", self.scale.side), idl.InspireTouch, self._hear_touch)

    def send(self, ctrl: Ctrl) -> None:
        """Send a ctrl message."""
        self._ctrl.write(inspire_codec.encode_ctrl(ctrl))

    def wait_until_heard(self, timeout_s: float) -> bool:
        """Wait until somebody listens to ctrl; False if nobody does in time."""
        return self._ctrl.wait_for_readers(timeout_s)

    def wait_for_news(self, *, touch: bool, timeout_s: float) -> bool:
        """Wait for the next state or touch message; False if none comes in time."""
        with self._news:
            before = self.touch_messages if touch else self.state_messages
            return self._news.wait_for(
                lambda: (self.touch_messages if touch else self.state_messages) > before, timeout_s
            )

    def _hear_state(self, message: bytes, _sender: str, _arrived_s: float) -> None:
        readings = inspire_codec.decode_state(message)
        with self._news:
            self.readings = readings
            self.state_messages += 1
            self._news.notify_all()

    def _hear_touch(self, message: bytes, _sender: str, _arrived_s: float) -> None:
        assert self._layout is not None
        taxel_counts = inspire_codec.decode_touch(self._layout, message)
        with self._news:
            self.taxel_counts = taxel_counts
            self.touch_messages += 1
            self._news.notify_all()
