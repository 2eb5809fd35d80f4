"""Manus gloves on ROS 2 without ROS 2: the newest skeleton from ``/manus_glove_0`` and ``/manus_glove_1``."""

from __future__ import annotations

import threading
import time

from thenar.cdr import BadMessage
from thenar.signals import GloveSide
from thenar.wire.codecs.manus_codec import MANUS_GLOVE, ManusGlove, decode_glove
from thenar.wire.links.inbox import TWIN_NAME
from thenar.wire.rtps import SENSOR_DATA, Participant, Sample, ros

TOPICS = ("/manus_glove_0", "/manus_glove_1")


class ManusListener:
    """Hears gloves; what makes no sense is refused and counted."""

    def __init__(
        self, side: GloveSide | None, *, domain: int = 0, interface: str = "lo", peers: tuple[str, ...] = ("127.0.0.1",)
    ):
        """Join a ROS 2 domain.

        Args:
            side: Which glove to hear; None hears either.
            domain: ``ROS_DOMAIN_ID``.
            interface: Network interface.
            peers: Addresses to look for programs at where multicast does not reach.
        """
        self._side = side
        self._news = threading.Condition()
        self._newest: tuple[ManusGlove, float] | None = None
        self.refused: dict[str, int] = {}
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
        """The newest glove since the last call and when it came, by `time.perf_counter`; None if none came in time."""
        with self._news:
            self._news.wait_for(lambda: self._newest is not None, timeout_s)
            newest, self._newest = self._newest, None
            return newest

    def _hear(self, sample: Sample) -> None:
        try:
            glove = decode_glove(bytes(sample.body))
        except BadMessage as error:
            self.refused[str(error)] = self.refused.get(str(error), 0) + 1
            return
        if self._side in (None, glove.side):
            with self._news:
                self._newest = (glove, time.perf_counter())
                self._news.notify_all()
