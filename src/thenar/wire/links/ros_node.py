"""The ROS 2 side of a twin, whatever hand it has: topics and services on our own participant, and who talks to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from thenar.wire.links.inbox import TWIN_NAME, Inbox, LinkHealth, PeerStats
from thenar.wire.links.status import StatusTeller
from thenar.wire.rtps import SENSOR_DATA, Participant, Reader, Sample, Service, Writer, ros
from thenar.wire.rtps.type_hash import Fields, type_hash

End = TypeVar("End", Reader, Writer, Service)


class ServiceType(Protocol):
    """What must be known of a service to offer it."""

    @property
    def type_name(self) -> str:
        """Such as ``std_srvs/srv/Empty``."""
        ...

    @property
    def request(self) -> Fields:
        """Fields of the request."""
        ...

    @property
    def response(self) -> Fields:
        """Fields of the response."""
        ...

    @property
    def request_bytes(self) -> int | None:
        """Length of a request's body; None: it varies."""
        ...


class RosNode:
    """A node that others find, with a tally of who said what."""

    def __init__(
        self,
        name: str,
        types: Mapping[str, Fields],
        *,
        domain: int = 0,
        interface: str = "lo",
        peers: tuple[str, ...] = (),
        layout: ros.Layout = "humble",
    ):
        """Join a ROS 2 domain.

        Args:
            name: Of the node.
            types: Fields of every message type it uses.
            domain: ``ROS_DOMAIN_ID``.
            interface: Network interface.
            peers: Addresses to look for programs at where multicast does not reach.
            layout: Which ROS 2 shows us in ``ros2 node list``: Humble and Jazzy differ.
        """
        self.inbox = Inbox()
        self._types = types
        self._peer_stats: dict[bytes, PeerStats] = {}
        self._ends: list[Reader | Writer | Service] = []
        self._participant = Participant(
            domain, interface=interface, peers=peers or ("127.0.0.1",), name=TWIN_NAME, user_data=ros.ENCLAVE
        )
        self._node = ros.Node(self._participant, name, layout=layout)
        self.tell_status = StatusTeller(self._participant).tell

    def advertise(self, topic: str, type_name: str) -> Writer:
        """Publish a topic."""
        return self._keep(
            self._participant.advertise(
                ros.topic_name(topic), ros.message_type(type_name), user_data=self._hash(type_name, self._types)
            )
        )

    def subscribe(self, topic: str, type_name: str, hear: Callable[[PeerStats, bytes], None]) -> Reader:
        """Hear a topic, from writers of any quality: who spoke, and the body."""

        def on_sample(sample: Sample) -> None:
            stats = self._stats(sample.identity.guid[:12])
            stats.record(time.perf_counter())
            hear(stats, sample.body)

        return self._keep(
            self._participant.subscribe(
                ros.topic_name(topic),
                ros.message_type(type_name),
                on_sample,
                qos=SENSOR_DATA,  # matches whatever quality a program offers
                user_data=self._hash(type_name, self._types),
            )
        )

    def serve(
        self,
        path: str,
        service: ServiceType,
        handler: Callable[[bytes], bytes | None],
        *,
        check: Callable[[bytes], str | None] | None = None,
    ) -> Service:
        """Answer a service."""
        request, response = (f"{service.type_name}_{end}" for end in ("Request", "Response"))
        types = {**self._types, request: service.request, response: service.response}
        return self._keep(
            self._participant.serve(
                ros.service_names(path, service.type_name),
                handler,
                body_bytes=service.request_bytes,
                check=check,
                request_user_data=self._hash(request, types),
                reply_user_data=self._hash(response, types),
            )
        )

    def show(self) -> None:
        """Let ``ros2 node info`` list what was made so far."""
        self._node.show(self._ends)

    def health(self, wire: str, where: str) -> LinkHealth:
        """How it is doing."""
        health = self._participant.health()
        return LinkHealth(
            wire=wire,
            where=where,
            listeners=max((len(e.matched) for e in health.endpoints if e.kind == "writer"), default=0),
            written=sum(e.samples for e in health.endpoints if e.kind == "writer"),
            not_written=0,
            peers=tuple(stats.health("commands") for stats in list(self._peer_stats.values())),
            refused=dict(self.inbox.refused) | health.refusals,
        )

    def close(self) -> None:
        """Leave the domain."""
        self._participant.close()

    def _stats(self, prefix: bytes) -> PeerStats:
        """What a participant has said."""
        if prefix not in self._peer_stats:
            peers = {bytes.fromhex(peer.guid_prefix): peer for peer in self._participant.health().peers}
            peer = peers.get(prefix)
            who = f"{peer.name or 'a program'} ({peer.vendor}) at {peer.host}" if peer else "a ROS 2 program"
            self._peer_stats = {known: stats for known, stats in self._peer_stats.items() if known in peers} | {
                prefix: PeerStats(who)
            }
        return self._peer_stats[prefix]

    def _keep(self, end: End) -> End:
        self._ends.append(end)
        return end

    @staticmethod
    def _hash(type_name: str, types: Mapping[str, Fields]) -> bytes:
        return ros.type_hash_data(type_hash(type_name, types))
