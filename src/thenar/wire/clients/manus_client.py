"""Manus gloves on ROS 2 without ROS 2: the newest skeleton from ``/manus_glove_0`` and ``/manus_glove_1``."""

from __future__ import annotations

import threading
import time
from collections import Counter

from thenar.cdr import BadMessage
from thenar.errors import count_reason
from thenar.signals import GloveSide
from thenar.wire.codecs.manus_codec import MANUS_GLOVE, ManusGlove, decode_glove
from thenar.wire.links.inbox import TWIN_NAME
from thenar.wire.rtps import SENSOR_DATA, Participant, Sample, ros

TOPICS = ("/manus_glove_0", "/manus_glove_1")


class ManusListener:
    """Listener to Manus gloves; malformed frames are refused and counted."""

    def __init__(self, side: GloveSide | None, *, domain: int = 0, interface: str = "lo", peers: tuple[str, ...] = ()):
        """Join a ROS 2 domain.

        Args:
            side: Which glove to hear; None hears either.
            domain: ``ROS_DOMAIN_ID``.
            interface: Network interface.
            peers: Addresses to look for programs at where multicast does not reach.
        """
        self._side = side
        self._news = threading.Condition()
        self._newest: dict[GloveSide, tuple[ManusGlove, float]] = {}
        self.refused: Counter[str] = Counter()
        self._participant = Participant(domain, interface=interface, peers=peers, name=TWIN_NAME, user_data=ros.ENCLAVE)
        for topic in TOPICS:
            self._participant.subscribe(
                ros.topic_name(topic), ros.message_type(MANUS_GLOVE), self._hear, qos=SENSOR_DATA
            )

    def __enter__(self) -> ManusListener:
        """The listener itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the domain."""
        self._participant.close()

    def wait(self, timeout_s: float) -> tuple[ManusGlove, float] | None:
        """The newest glove since the last call and when it came, by `time.perf_counter`; None if none came in time.

        Where both hands have sent, the other one's comes with the next call.
        """
        with self._news:
            self._news.wait_for(lambda: self._newest, timeout_s)
            return self._newest.pop(next(iter(self._newest))) if self._newest else None

    def _hear(self, sample: Sample) -> None:
        try:
            glove = decode_glove(bytes(sample.body))
        except BadMessage as error:
            count_reason(self.refused, str(error))
            return
        if self._side not in (None, glove.side):
            count_reason(self.refused, f"a {glove.side} glove; the hand is a {self._side} one")
        else:
            with self._news:
                self._newest[glove.side] = glove, time.perf_counter()
                self._news.notify_all()
