"""What a participant can tell about itself: who is there, who talks to whom, what was refused and why."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thenar.wire.rtps.reader import Reader
from thenar.wire.rtps.services import Service
from thenar.wire.rtps.writer import Writer

if TYPE_CHECKING:
    from thenar.wire.rtps.directory import Peer


@dataclass(frozen=True, kw_only=True)
class PeerHealth:
    """Another participant."""

    guid_prefix: str
    description: str
    """Program, process and host, in words."""
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
    matched: tuple[str, ...]
    """The peers it is connected to, as vendor@host."""
    mismatches: tuple[str, ...]
    """Peers of the same topic it is not connected to, and why."""
    samples: int
    """Samples written or received."""
    lost: int
    """Samples that a reader has given up."""


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
class Health:
    """A participant at one moment."""

    domain: int
    interface_address: str
    multicast: str
    """``on``, or why it is not."""
    peers: tuple[PeerHealth, ...]
    endpoints: tuple[EndpointHealth, ...]
    services: tuple[ServiceHealth, ...]
    datagrams_in: int
    refusals: dict[str, int]
    """What was not accepted, by reason."""


def peer_health(peer: "Peer", now_s: float) -> PeerHealth:
    """What is known of a peer."""
    return PeerHealth(
        guid_prefix=peer.info.prefix.hex(),
        description=peer.description,
        name=peer.info.name,
        vendor=peer.vendor_name,
        host=peer.source,
        addresses=tuple(f"{host}:{port}" for host, port in peer.user),
        known_s=now_s - peer.known_s,
        silent_s=now_s - peer.heard_s,
        lease_s=peer.lease_s,
        endpoints=len(peer.endpoints),
    )


def endpoint_health(endpoint: Reader | Writer, hosts: dict[bytes, str]) -> EndpointHealth:
    """Health of an endpoint of ours; hosts names the peers by their prefix."""
    writes = isinstance(endpoint, Writer)
    return EndpointHealth(
        kind="writer" if writes else "reader",
        topic=endpoint.info.topic,
        type_name=endpoint.info.type_name,
        matched=tuple(_host(guid, hosts) for guid in (endpoint.readers if writes else endpoint.writers)),
        mismatches=tuple(f"{_host(guid, hosts)}: {why}" for guid, why in endpoint.mismatches.items()),
        samples=endpoint.written if writes else endpoint.received,
        lost=0 if writes else endpoint.lost,
    )


def service_health(service: Service, hosts: dict[bytes, str]) -> ServiceHealth:
    """Health of a service of ours; hosts names the peers by their prefix."""
    return ServiceHealth(
        request_topic=service.names.request_topic,
        request_type=service.names.request_type,
        clients=tuple(_host(guid, hosts) for guid in service.clients),
        answered=service.answered,
        refused=service.refused,
    )


def _host(guid: bytes, hosts: dict[bytes, str]) -> str:
    return hosts.get(guid[:12], guid[:12].hex())
