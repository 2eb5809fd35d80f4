"""Other participants: where to look for them, and what is known of those that were found."""

import ipaddress

from thenar.errors import BadValue
from thenar.wire.rtps import discovery, messages
from thenar.wire.rtps.discovery import Address, EndpointInfo, ParticipantInfo
from thenar.wire.rtps.network import unicast_ports

PROBED_INDICES = 16
"""Participants per machine that are looked for where there is no multicast."""


class Peer:
    """Another participant, as far as we know it."""

    __slots__ = ("endpoints", "heard_s", "info", "known_s", "meta", "source", "user")

    def __init__(self, info: ParticipantInfo, source: str, own: tuple[str, ...], now_s: float):
        self.info = info
        self.source = source
        self.known_s = now_s
        self.heard_s = now_s
        self.meta = discovery.reachable(info.meta, source=source, own=own)
        self.user = discovery.reachable(info.user, source=source, own=own, fallback=info.meta)
        self.endpoints: dict[bytes, EndpointInfo] = {}

    @property
    def vendor_name(self) -> str:
        """Who made it, in words."""
        return messages.VENDOR_NAMES.get(self.info.vendor, f"vendor {self.info.vendor.hex()}")


def probe_addresses(peer: str, domain: int) -> list[Address]:
    """Where participants may listen, given ``address`` (any of its first indices) or ``address:port``."""
    host, _, port = peer.partition(":")
    try:
        # Names would be looked up anew for every datagram.
        ipaddress.IPv4Address(host)
        if port:
            return [(host, int(port))]
    except ValueError:
        raise BadValue("peer", peer, "an IPv4 address, or address:port") from None
    return [(host, unicast_ports(domain, index)[0]) for index in range(PROBED_INDICES)]
