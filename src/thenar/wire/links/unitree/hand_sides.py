"""Links with topics of their own for the hand on each side of a robot: ``rt/NAME/{left,right}/cmd`` and ``state``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.wire.links.dds_link import DdsLink
from thenar.wire.links.registry import LinkContext


class SidedTopics(DdsLink):
    """Command and state topics of one or two hands; subclasses say what messages mean."""

    def __init__(self, context: LinkContext, *, states: Mapping[str, str], commands: Mapping[str, str]):
        """Announce, of all topics with their types, those of the sides that there are."""
        super().__init__(context.participant)
        self._by_side = {spec.side: spec for spec in context.hands}
        if len(self._by_side) < len(context.hands):
            names = [spec.name for spec in context.hands]
            raise BadValue("hands", names, "at most one left and one right hand")
        sides = {topic: topic.split("/")[-2] for topic in (*states, *commands)}
        self._writers = {
            topic: self.advertise(topic, kind) for topic, kind in states.items() if sides[topic] in self._by_side
        }
        for topic, kind in commands.items():
            if sides[topic] in self._by_side:
                self.subscribe(topic, kind, partial(self._on_command, self._by_side[sides[topic]]))

    def _on_command(self, spec: HandSpec, message: bytes, sender: str, arrived_s: float) -> None:
        raise NotImplementedError
