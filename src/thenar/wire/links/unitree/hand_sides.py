"""Links with topics of their own for the hand on each side of a robot: ``rt/NAME/{left,right}/cmd`` and ``state``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from thenar.hands import load
from thenar.hands.spec import HandSpec
from thenar.signals import HandSettings, HandState
from thenar.wire.links.dds_link import DdsLink
from thenar.wire.links.registry import LinkContext

SIDES = ("left", "right")


class SidedTopics(DdsLink):
    """Command and state topics of one or two hands; subclasses say what messages mean.

    Both sides have states, since clients wait for both: a hand that is not there reads as one at rest.
    """

    def __init__(
        self,
        context: LinkContext,
        *,
        states: Mapping[str, str],
        commands: Mapping[str, str],
        absent: Callable[[HandSpec], bytes],
    ):
        """Announce the topics.

        Args:
            context: The hands.
            states: Topics of states of both sides, with their types.
            commands: Those of commands; only hands that are there listen.
            absent: The state of a hand that is not there.
        """
        super().__init__(context.participant)
        self._by_side = context.by_side
        self._absent = {side: absent(load(f"{self.wire}_{side}")) for side in SIDES if side not in self._by_side}
        self._writers = {topic: self.advertise(topic, kind) for topic, kind in states.items()}
        for topic, kind in commands.items():
            side = topic.split("/")[-2]
            if side in self._by_side:
                self.subscribe(topic, kind, partial(self._on_command, self._by_side[side]))
        self.where += "".join(f"; no {side} hand: it reads as one at rest" for side in self._absent)

    def _messages(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> dict[str, bytes]:
        """The states of both sides."""
        here = {side: self._state_message(spec, hands[spec.name][0]) for side, spec in self._by_side.items()}
        return here | self._absent

    def _state_message(self, spec: HandSpec, state: HandState) -> bytes:
        raise NotImplementedError

    def _on_command(self, spec: HandSpec, message: bytes, sender: str, arrived_s: float) -> None:
        raise NotImplementedError
