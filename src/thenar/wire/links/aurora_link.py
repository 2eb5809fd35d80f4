"""A humanoid on Fourier's Aurora interface: `fourier-aurora-client` connects to it as to the robot."""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import replace
from functools import partial

from thenar.cdr import BadMessage
from thenar.errors import count_reason
from thenar.signals import BodyReport, BodyRequest
from thenar.wire.codecs import aurora_codec
from thenar.wire.codecs.aurora_codec import COMMANDS, REPORTS, RESET, Names
from thenar.wire.links.dds_link import find_rivals
from thenar.wire.links.inbox import TWIN_NAME, Waiting
from thenar.wire.links.link_health import LinkHealth, PeerHealth, ended
from thenar.wire.rtps import SENSOR_DATA, Participant, Sample

logger = logging.getLogger(__name__)

DOMAIN = 123
"""Of the robot."""
POLICY = 0
"""The one whole-body policy that there is."""


class AuroraNode:
    """The robot's side: reports go out, requests come in, one service answers."""

    wire = "aurora"

    def __init__(
        self,
        *,
        domain: int = DOMAIN,
        namespace: str = "",
        ros: bool = False,
        interface: str = "lo",
        peers: tuple[str, ...] = (),
    ):
        """Join a domain.

        Args:
            domain: DDS domain.
            namespace: Before every topic, such as ``gr2/SN01``.
            ros: Whether names are spelled as ROS 2 does.
            interface: Network interface.
            peers: Addresses to look for clients at where multicast does not reach.
        """
        self.names = Names(namespace=namespace, ros=ros)
        self.refused: Counter[str] = Counter()
        self._waiting = Waiting[BodyRequest](self.refused)
        self._participant = Participant(domain, interface=interface, peers=peers, name=TWIN_NAME)
        # Best effort and without a past: an old command must not be played again to a robot that has just started.
        self._writers = {
            topic: self._participant.advertise(self.names.topic(topic), self.names.type_name(kind), qos=SENSOR_DATA)
            for topic, kind in REPORTS.items()
        }
        for topic, kind in (*COMMANDS.items(), (RESET, "ThenarReset")):
            self._participant.subscribe(
                self.names.topic(topic), self.names.type_name(kind), partial(self._on_command, topic), qos=SENSOR_DATA
            )
        self._participant.serve(
            self.names.policy_service(),
            self._choose_policy,
            refusal=aurora_codec.policy_reply(False, "not a PolicyChange request"),
            check=aurora_codec.policy_refusal,
        )
        self._look(b"")

    def receive(self) -> list[BodyRequest]:
        """Requests since the last call."""
        return self._waiting.take()

    def publish(self, report: BodyReport) -> None:
        """Send what the robot reports."""
        for topic, body in aurora_codec.reports_of(report, wall_s=time.time()).items():
            self._writers[topic].post(body)

    def health(self) -> LinkHealth:
        """How it was doing when it was last asked."""
        self._participant.post(self._look, b"")  # for the next time: this must not wait
        standing_s, failed = self._participant.standing_s, ended(*self._participant.threads)
        return replace(self._seen, standing_s=standing_s, failed=failed)

    def _look(self, _: bytes) -> None:
        health = self._participant.health()
        writers = [end for end in health.endpoints if end.kind == "writer"]
        self._seen = LinkHealth(
            wire=self.wire,
            where=f"domain {health.domain}, {len(REPORTS)} reports, {len(COMMANDS)} commands, 1 service",
            listeners=max((len(writer.matched) for writer in writers), default=0),
            written=sum(writer.samples for writer in writers),
            peers=tuple(
                PeerHealth(who=p.description, where=p.host, age_s=p.silent_s, messages=0, rate_hz=0.0)
                for p in health.peers
            ),
            refused=dict(self.refused) | health.refusals,
            warnings=find_rivals(self._participant, set(map(self.names.topic, REPORTS)), "robots"),
        )

    def close(self) -> None:
        """Leave the domain."""
        self._participant.close()

    def _on_command(self, topic: str, sample: Sample) -> None:
        try:
            request = aurora_codec.request_of(
                topic,
                sample.body,
                sender=self._participant.describe(sample.identity.guid),
                arrived_s=time.perf_counter(),
            )
        except BadMessage as error:
            if count_reason(self.refused, f"{topic}: {error}"):
                logger.warning("refused: %s: %s", topic, error)
            return
        self._waiting.put(request)

    def _choose_policy(self, body: bytes) -> bytes:
        whole, _ = aurora_codec.policy_request(body)
        if whole != POLICY:
            count_reason(self.refused, f"policy {whole} does not exist")
            return aurora_codec.policy_reply(False, f"no policy {whole}; there are: {POLICY}")
        return aurora_codec.policy_reply(True)
