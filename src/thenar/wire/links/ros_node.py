"""A link that is a ROS 2 node: topics and services on our own participant, and who talks to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from thenar.signals import Request, TouchFrame
from thenar.wire.config import WireConfig
from thenar.wire.links.inbox import TWIN_NAME, Inbox, LinkHealth, PeerStats
from thenar.wire.links.status import StatusTeller
from thenar.wire.rtps import SENSOR_DATA, Participant, Reader, Sample, Service, Writer, ros
from thenar.wire.rtps.type_hash import Fields, type_hash

SERVICE_CALLER = "a ROS 2 service call"
"""Sender of requests by service: they do not say who calls."""

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
    """A node that others find; links of hands on ROS 2 derive from it."""

    wire: str
    where: str
    """Topics it serves, in words."""

    def __init__(self, name: str, types: Mapping[str, Fields], config: WireConfig):
        """Join a ROS 2 domain.

        Args:
            name: Of the node.
            types: Fields of every message type it uses.
            config: Domain, interface, peers, and which ROS 2 shows us in ``ros2 node list``: Humble and Jazzy differ.
        """
        self._inbox = Inbox()
        self._types = types
        self._peer_stats: dict[bytes, PeerStats] = {}
        self._ends: list[Reader | Writer | Service] = []
        self._participant = Participant(
            config.domain,
            interface=config.interface,
            peers=config.peers or ("127.0.0.1",),
            name=TWIN_NAME,
            user_data=ros.ENCLAVE,
        )
        self._node = ros.Node(self._participant, name, layout=config.ros)
        self.publish_status = StatusTeller(self._participant).tell

    def advertise(self, topic: str, type_name: str) -> Writer:
        """Publish a topic."""
        return self._keep(
            self._participant.advertise(
                ros.topic_name(topic), ros.message_type(type_name), user_data=_hash(type_name, self._types)
            )
        )

    def subscribe(self, topic: str, type_name: str, on_message: Callable[[str, bytes], None]) -> Reader:
        """Hear a topic, from writers of any quality: who spoke, and the body."""

        def on_sample(sample: Sample) -> None:
            peer = self._stats(sample.identity.guid[:12])
            peer.record(time.perf_counter())
            on_message(peer.who, sample.body)

        return self._keep(
            self._participant.subscribe(
                ros.topic_name(topic),
                ros.message_type(type_name),
                on_sample,
                qos=SENSOR_DATA,  # matches whatever quality a program offers
                user_data=_hash(type_name, self._types),
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
                request_user_data=_hash(request, types),
                reply_user_data=_hash(response, types),
            )
        )

    def show(self) -> None:
        """Let ``ros2 node info`` list what was made so far."""
        self._node.show(self._ends)

    def request(self, hand: str, sender: str = SERVICE_CALLER, **asked: Any) -> None:
        """Leave a request for the loop."""
        self._inbox.put(Request(hand=hand, sender=sender, arrived_s=time.perf_counter(), **asked))

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        return self._inbox.drain()

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Nothing: most of these interfaces carry no touch."""

    def health(self) -> LinkHealth:
        """How it is doing."""
        health = self._participant.health()
        writers = [end for end in health.endpoints if end.kind == "writer"]
        return LinkHealth(
            wire=self.wire,
            where=self.where,
            listeners=max((len(writer.matched) for writer in writers), default=0),
            written=sum(writer.samples for writer in writers),
            not_written=0,
            peers=tuple(peer.health("commands") for peer in list(self._peer_stats.values())),
            refused=dict(self._inbox.refused) | health.refusals,
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


def _hash(type_name: str, types: Mapping[str, Fields]) -> bytes:
    return ros.type_hash_data(type_hash(type_name, types))
