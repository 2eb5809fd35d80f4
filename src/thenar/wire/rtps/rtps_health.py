"""What a participant can tell about itself: who is there, who talks to whom, what was refused and why."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from thenar.wire.rtps.peer import Peer
from thenar.wire.rtps.qos import TRANSIENT_LOCAL
from thenar.wire.rtps.reader import Reader
from thenar.wire.rtps.services import Service
from thenar.wire.rtps.writer import Writer

MAX_REASONS = 64
"""Different reasons kept apart; reasons made up on the way must not grow without end."""


@dataclass
class Counts:
    """Running totals of a participant."""

    datagrams_in: int = 0
    datagrams_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    """What was not accepted, by reason."""

    def refuse(self, reason: str) -> None:
        """Count a refusal."""
        if reason not in self.refusals and len(self.refusals) >= MAX_REASONS:
            reason = "other reasons"
        self.refusals[reason] += 1


@dataclass(frozen=True, kw_only=True)
class PeerHealth:
    """Another participant."""

    guid_prefix: str
    name: str
    vendor: str
    host: str
    """Address its announcements come from."""
    addresses: tuple[str, ...]
    """Where its endpoints are reached, as address:port."""
    known_s: float
    """For how long it has been known [s]."""
    silent_s: float
    """How long ago it was last heard [s]."""
    lease_s: float
    """After how long a silence it counts as gone [s]."""
    endpoints: int
    """Readers and writers it announced."""


@dataclass(frozen=True, kw_only=True)
class EndpointHealth:
    """A reader or writer of ours."""

    kind: str
    """``reader`` or ``writer``."""
    topic: str
    type_name: str
    reliable: bool
    transient_local: bool
    matched: tuple[str, ...]
    """The peers it is connected to, as vendor@host."""
    mismatches: tuple[str, ...]
    """Peers of the same topic it is not connected to, and why."""
    samples: int
    """Samples written or received."""
    sent_again: int
    lost: int
    duplicates: int
    silent_s: float | None
    """How long ago the last sample came; None for writers and where none came [s]."""


@dataclass(frozen=True, kw_only=True)
class ServiceHealth:
    """A service of ours."""

    request_topic: str
    request_type: str
    clients: tuple[str, ...]
    """The clients that are connected, as vendor@host."""
    answered: int
    refused: int
    """Requests that could not be one; the reasons are among the participant's refusals."""


@dataclass(frozen=True, kw_only=True)
class RemoteTopic:
    """A topic that peers announced, whether we use it or not."""

    topic: str
    type_name: str
    writers: int
    readers: int


@dataclass(frozen=True, kw_only=True)
class Health:
    """A participant at one moment."""

    domain: int
    interface_address: str
    ports: tuple[int, int]
    """Ports of discovery and of user data."""
    multicast: str
    """``on``, or why it is not."""
    peers: tuple[PeerHealth, ...]
    endpoints: tuple[EndpointHealth, ...]
    services: tuple[ServiceHealth, ...]
    topics: tuple[RemoteTopic, ...]
    datagrams_in: int
    datagrams_out: int
    bytes_in: int
    bytes_out: int
    refusals: dict[str, int]
    """What was not accepted, by reason."""


def peer_health(peer: Peer, now_s: float) -> PeerHealth:
    """What is known of a peer."""
    return PeerHealth(
        guid_prefix=peer.info.prefix.hex(),
        name=peer.info.name,
        vendor=peer.vendor_name,
        host=peer.source,
        addresses=tuple(f"{host}:{port}" for host, port in peer.user),
        known_s=now_s - peer.known_s,
        silent_s=now_s - peer.heard_s,
        lease_s=peer.info.lease_s,
        endpoints=len(peer.endpoints),
    )


def endpoint_health(endpoint: Reader | Writer, hosts: dict[bytes, str], now_s: float) -> EndpointHealth:
    """How an endpoint of ours does; hosts names the peers by their prefix."""
    is_writer = isinstance(endpoint, Writer)
    others = endpoint.readers if is_writer else endpoint.writers
    last_s = None if is_writer else endpoint.last_s
    return EndpointHealth(
        kind="writer" if is_writer else "reader",
        topic=endpoint.info.topic,
        type_name=endpoint.info.type_name,
        reliable=endpoint.qos.reliable,
        transient_local=endpoint.qos.durability == TRANSIENT_LOCAL,
        matched=tuple(hosts.get(guid[:12], guid[:12].hex()) for guid in others),
        mismatches=tuple(
            f"{hosts.get(guid[:12], guid[:12].hex())}: {why}" for guid, why in endpoint.mismatches.items()
        ),
        samples=endpoint.written if is_writer else endpoint.received,
        sent_again=endpoint.sent_again if is_writer else 0,
        lost=0 if is_writer else endpoint.lost,
        duplicates=0 if is_writer else endpoint.duplicates,
        silent_s=None if last_s is None else now_s - last_s,
    )


def service_health(service: Service, hosts: dict[bytes, str]) -> ServiceHealth:
    """How a service of ours does; hosts names the peers by their prefix."""
    return ServiceHealth(
        request_topic=service.names.request_topic,
        request_type=service.names.request_type,
        clients=tuple(hosts.get(guid[:12], guid[:12].hex()) for guid in service.clients),
        answered=service.answered,
        refused=service.refused,
    )


def remote_topics(peers: Iterable[Peer]) -> tuple[RemoteTopic, ...]:
    """All topics of some peers, by name."""
    counts: dict[tuple[str, str], list[int]] = {}
    for peer in peers:
        for endpoint in peer.endpoints.values():
            counts.setdefault((endpoint.topic, endpoint.type_name), [0, 0])[endpoint.is_writer] += 1
    return tuple(
        RemoteTopic(topic=topic, type_name=type_name, writers=writers, readers=readers)
        for (topic, type_name), (readers, writers) in sorted(counts.items())
    )
