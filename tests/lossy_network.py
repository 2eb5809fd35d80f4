"""A network that loses, doubles and reorders datagrams, in both directions, the same way for the same seed."""

import random
from collections.abc import Iterator

from thenar.wire.rtps import messages
from thenar.wire.rtps.discovery import Address
from thenar.wire.rtps.network import Network


class LossyNetwork(Network):
    """Real sockets on loopback, with a bad line in between.

    Args:
        domain: Domain number.
        seed: Seed of the bad luck.
        loss: Fraction of datagrams lost; as many are doubled, and as many overtaken by the next one.
        spare_discovery: Whether datagrams in which participants find each other all arrive.
    """

    def __init__(self, domain: int, *, seed: int, loss: float = 0.1, spare_discovery: bool = False):
        super().__init__(domain)
        self._luck = random.Random(seed)
        self._loss = loss
        self._spare_discovery = spare_discovery
        self._late_out: tuple[bytes, Address] | None = None
        self._late_in: tuple[bytes, str] | None = None
        self.lost = self.doubled = self.overtaken = 0

    def send(self, datagram: bytes, address: Address) -> str | None:
        fate = self._fate(datagram)
        if fate == "lost":
            return None
        if fate == "late" and self._late_out is None:
            self._late_out = (datagram, address)
            return None
        why_not = super().send(datagram, address)
        if fate == "doubled":
            super().send(datagram, address)
        if self._late_out is not None:
            late, self._late_out = self._late_out, None
            super().send(*late)
        return why_not

    def receive(self, timeout_s: float) -> Iterator[tuple[bytes, str]]:
        for arrived in super().receive(timeout_s):
            fate = self._fate(arrived[0])
            if fate == "lost":
                continue
            if fate == "late" and self._late_in is None:
                self._late_in = arrived
                continue
            yield arrived
            if fate == "doubled":
                yield arrived
            if self._late_in is not None:
                late, self._late_in = self._late_in, None
                yield late

    def _fate(self, datagram: bytes) -> str:
        if self._spare_discovery and _is_discovery(datagram):
            return "fine"
        chance = self._luck.random()
        if chance < self._loss:
            self.lost += 1
            return "lost"
        if chance < 2 * self._loss:
            self.doubled += 1
            return "doubled"
        if chance < 3 * self._loss:
            self.overtaken += 1
            return "late"
        return "fine"


def _is_discovery(datagram: bytes) -> bool:
    """Whether a datagram is from or for a writer that every participant has."""
    said = messages.read_message(datagram).submessages
    return any(getattr(part, "writer", bytes(4))[3] >= 0xC0 for part in said)
