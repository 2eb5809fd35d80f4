"""A link over DDS topics: its readers and writers on a participant that several links share, and who sent what."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from thenar import cdr
from thenar.signals import Request, TouchFrame
from thenar.wire.codecs import status_codec
from thenar.wire.line_faults import LineFaults
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.link_health import LinkHealth, PeerStats, ended
from thenar.wire.links.type_ids import TYPE_IDS
from thenar.wire.rtps import LATCHED, SENSOR_DATA, Participant, Qos, Reader, Sample, Service, Writer

MAX_PEERS = 64  # remembered by a link; beyond that the one that was silent longest is forgotten

MAX_RIVALS = 4
FORGOTTEN_S = 2.0  # a peer that has left is shown for so long

End = TypeVar("End", Reader, Writer, Service)


class DdsLink:
    """The topics and services of one protocol; subclasses announce them and say what messages mean."""

    wire: str
    where: str
    """What it serves, in words."""

    def __init__(self, participant: Participant):
        """No topics yet."""
        self.line = LineFaults()
        self.publish_status = StatusPublisher(participant).publish
        self._inbox = Inbox()
        self._participant = participant
        self._ends: list[Reader | Writer | Service] = []
        self._peers: dict[tuple[str, bytes], PeerStats] = {}
        """By topic and writer."""
        self._rivals: tuple[str, ...] = ()

    def advertise(self, topic: str, type_name: str, *, check_readers: bool = False) -> Writer:
        """Announce a topic. As in the vendors' SDKs, writers are reliable and keep one message.

        Args:
            topic: DDS name of the topic.
            type_name: DDS name of its type.
            check_readers: Whether readers with another type of that name get nothing.
        """
        ids = TYPE_IDS[type_name] if check_readers else ()
        return self._keep(self._participant.advertise(topic, type_name, qos=Qos(depth=1), type_ids=ids))

    def subscribe(
        self, topic: str, type_name: str, on_message: Callable[[bytes, str, float], None], *, qos: Qos = SENSOR_DATA
    ) -> Reader:
        """Listen to a topic, from writers of any quality. Those with another type of that name are refused.

        Args:
            topic: DDS name of the topic.
            type_name: DDS name of its type.
            on_message: Called with the message, its sender in words and when it came (`time.perf_counter`), on the
                participant's thread.
            qos: What is asked of writers; by default nothing.
        """

        def on_sample(sample: Sample) -> None:
            arrived_s = time.perf_counter()
            sender = self._record(topic, sample, arrived_s)
            try:
                on_message(cdr.HEADER + sample.body, sender, arrived_s)
            except cdr.BadMessage as error:
                self._inbox.refuse(f"{topic}: {error}")

        ids = TYPE_IDS.get(type_name, ())
        return self._keep(self._participant.subscribe(topic, type_name, on_sample, qos=qos, type_ids=ids))

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        return self._inbox.drain()

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Nothing: most of these interfaces carry no touch."""

    def health(self) -> LinkHealth:
        """How it is doing."""
        writers = [end for end in self._ends if isinstance(end, Writer)]
        refused = Counter(self._inbox.refused.copy())  # copies: their threads go on counting
        refused.update(self._participant.datagram_refusals.copy())
        for end in list(self._ends):
            if not isinstance(end, Writer):
                refused.update(end.refusals.copy())
        self._participant.post(self._find_rivals, b"")  # for the next time: this must not wait
        now_s = time.perf_counter()
        return LinkHealth(
            wire=self.wire,
            where=self.where,
            listeners=max((len(writer.readers) for writer in writers), default=0),
            written=sum(writer.written - writer.not_written for writer in writers),
            not_written=sum(writer.not_written + writer.dropped for writer in writers),
            standing_s=self._participant.standing_s,
            peers=tuple(
                peer.health(topic)
                for (topic, writer), peer in list(self._peers.items())
                if self._participant.knows(writer[:12]) or now_s - peer.last_s < FORGOTTEN_S
            ),
            refused=dict(refused),
            warnings=self._rivals,
            failed=ended(*self._participant.threads),
        )

    def _find_rivals(self, _: bytes) -> None:
        ours = {end.info.topic for end in self._ends if isinstance(end, Writer)}
        self._rivals = find_rivals(self._participant, ours, "hands")

    def close(self) -> None:
        """Leave the domain, with everything else on the participant."""
        self._participant.close()

    def _keep(self, end: End) -> End:
        if isinstance(end, Writer):
            end.line = self.line
        self._ends.append(end)
        return end

    def _record(self, topic: str, sample: Sample, now_s: float) -> str:
        """Count a message of a peer; return who that is."""
        key = topic, sample.identity.guid
        # Taken out and put back, so that the first one is always the one that was silent longest.
        peer = self._peers.pop(key, None) or PeerStats(self._participant.describe(sample.identity.guid))
        self._peers[key] = peer
        if len(self._peers) > MAX_PEERS:
            del self._peers[next(iter(self._peers))]
        peer.record(now_s)
        return peer.who


def send(writer: Writer, message: bytes) -> None:
    """Post a message as the codecs make it: with its header, which the writer puts there itself."""
    writer.post(message[len(cdr.HEADER) :])


class StatusPublisher:
    """Publishes the health of a twin once there is some, for `thenar inspect`; latecomers get the newest."""

    def __init__(self, participant: Participant):
        """Nothing is published yet."""
        self._participant = participant
        self._writer: Writer | None = None

    def publish(self, health: Any) -> None:
        """Publish it soon; never waits."""
        self._participant.post(self._write, status_codec.encode_status(health))

    def _write(self, status: bytes) -> None:
        if self._writer is None:
            self._writer = self._participant.advertise(status_codec.TOPIC, status_codec.TYPE, qos=LATCHED)
        self._writer.write(status)


def find_rivals(participant: Participant, topics: Collection[str], what: str) -> tuple[str, ...]:
    """Others that publish what one hand or robot alone should: a second twin, or the real one.

    Args:
        participant: Who looks.
        topics: What it publishes itself.
        what: Of which there are then two, in words.
    """
    theirs: dict[str, set[str]] = {}
    for who, end in participant.peer_endpoints():
        if end.is_writer and end.topic in topics:
            theirs.setdefault(who, set()).add(end.topic)
    return tuple(
        f"{who} publishes {', '.join(sorted(shared)[:4])} too: clients see both {what} as one; take another --domain"
        for who, shared in sorted(theirs.items())[:MAX_RIVALS]
    )
