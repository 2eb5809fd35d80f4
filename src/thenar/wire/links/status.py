"""Tells `thenar inspect` how a twin is doing, on a participant of our own."""

from __future__ import annotations

from typing import Any

from thenar.wire.codecs.status_codec import TOPIC, TYPE, encode_status
from thenar.wire.rtps import LATCHED, Participant, Writer


class StatusTeller:
    """Publishes the twin's health once there is some; latecomers get the newest."""

    def __init__(self, participant: Participant):
        """Nothing is said yet."""
        self._participant = participant
        self._writer: Writer | None = None

    def tell(self, health: Any) -> None:
        """Publish it."""
        if self._writer is None:
            self._writer = self._participant.advertise(TOPIC, TYPE, qos=LATCHED)
        self._writer.write(encode_status(health))
