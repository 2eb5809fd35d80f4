"""What a participant can tell about itself: who is there, who talks to whom, what was refused and why."""

from collections import Counter
from dataclasses import dataclass, field

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
    topics: tuple[RemoteTopic, ...]
    datagrams_in: int
    datagrams_out: int
    bytes_in: int
    bytes_out: int
    refusals: dict[str, int]
    """What was not accepted, by reason."""
