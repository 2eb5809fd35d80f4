"""Where a hand is: the options that verbs share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from thenar.cli.show import listed

if TYPE_CHECKING:
    from thenar.wire.clients.listener import Place

Wire = Literal["inspire", "dfx", "modbus", "tienkung"]
"""Wires of Inspire hands."""
AnyWire = Wire | Literal["dex3", "brainco", "reflex"]
"""Wires on which hands can be commanded."""


@dataclass(frozen=True)
class ConnectionOptions:
    """Where the hand is."""

    domain: int = 1
    """DDS domain: Unitree's simulators use 1, robots 0."""
    interface: str = "lo"
    """Network interface."""
    peers: str = ""
    """Addresses, separated by commas, to look at where multicast does not reach."""
    modbus: str = ""
    """HOST:PORT of a Modbus hand: every hand has a port of its own, which thenar serve shows; of two hands with a comma
    between them."""

    def place(self, wire: str) -> Place:
        """The same, for clients."""
        from thenar.wire.clients.listener import Place

        where = {"domain": self.domain, "interface": self.interface}
        return Place(wire=wire, **where, peers=listed(self.peers), modbus=listed(self.modbus))
