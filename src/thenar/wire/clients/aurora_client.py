"""Listen to a humanoid on the Aurora interface, a twin or a real one: its joints, its base, its feet. Reset a twin."""

from __future__ import annotations

import math
import threading
import time
from functools import partial
from typing import Any, Self

from thenar.cdr import BadMessage
from thenar.errors import ThenarError
from thenar.wire.codecs import aurora_codec
from thenar.wire.codecs.aurora_codec import REPORTS, RESET, Names
from thenar.wire.rtps import SENSOR_DATA, Participant, Sample

TOPICS = (
    "aurora_state",
    "robot_control_group_state",
    "robot_stand_pose_state",
    "base_data_pub",
    "contact_data_pub",
)


class AuroraListener:
    """Listener to an Aurora robot that keeps the newest message of each topic. Use it in a ``with``."""

    def __init__(
        self,
        *,
        domain: int,
        namespace: str = "",
        ros: bool = False,
        interface: str = "lo",
        peers: tuple[str, ...] = (),
    ):
        """Join a domain.

        Args:
            domain: DDS domain.
            namespace: Before every topic.
            ros: Whether names are spelled as ROS 2 does.
            interface: Network interface.
            peers: Addresses to look for the robot at where multicast does not reach.
        """
        self.domain = domain
        self._newest: dict[str, dict[str, Any]] = {}
        self._heard = threading.Condition()
        self._heard_s = -math.inf
        names = Names(namespace=namespace, ros=ros)
        self._participant = Participant(domain, interface=interface, peers=peers, name="thenar body")
        for topic in TOPICS:
            self._participant.subscribe(
                names.topic(topic), names.type_name(REPORTS[topic]), partial(self._hear, topic), qos=SENSOR_DATA
            )

    def __enter__(self) -> Self:
        """Listen."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the domain."""
        self._participant.close()

    def messages(self, wait_s: float = 5.0) -> dict[str, dict[str, Any]]:
        """The newest message of every topic, by topic; waits until each has come once."""
        with self._heard:
            if not self._heard.wait_for(lambda: len(self._newest) == len(TOPICS), wait_s):
                missing = ", ".join(topic for topic in TOPICS if topic not in self._newest)
                raise ThenarError(f"no humanoid on domain {self.domain}: nothing heard on {missing}")
            return dict(self._newest)

    @property
    def silent_s(self) -> float:
        """Since anything was heard [s]; infinite before the first message."""
        return time.monotonic() - self._heard_s

    def _hear(self, topic: str, sample: Sample) -> None:
        try:
            message = aurora_codec.decode(REPORTS[topic], sample.body)
        except BadMessage as error:
            self._participant.refuse(f"{topic}: {error}")
            return
        with self._heard:
            self._newest[topic] = message
            self._heard_s = time.monotonic()
            self._heard.notify_all()


def send_reset(
    *, domain: int, namespace: str = "", ros: bool = False, interface: str = "lo", peers: tuple[str, ...] = ()
) -> None:
    """Let the twin of a humanoid begin anew: upright on its gantry, in the state Default. See `AuroraListener`."""
    names = Names(namespace=namespace, ros=ros)
    with Participant(domain, interface=interface, peers=peers, name="thenar body") as me:
        writer = me.advertise(names.topic(RESET), names.type_name("ThenarReset"))
        if not writer.wait_for_readers(5.0):
            raise ThenarError(f"no twin of a humanoid on domain {domain}; start one with: thenar body run")
        writer.write(aurora_codec.encode("ThenarReset", {}))
        time.sleep(0.1)
