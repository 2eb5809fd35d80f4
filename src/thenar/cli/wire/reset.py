"""``thenar reset``: a running twin back to its beginning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import tyro

from thenar.cli.show import console, listed, print_json, print_table

CONFIRMED_S = 2.0  # a twin says twice a second how it is doing


@dataclass(frozen=True)
class Reset:
    """Put a running twin, or Unitree's simulator, back to its beginning.

    For example:

    thenar reset

    thenar reset objects

    thenar reset --domain 0 --interface eth0 --json

    Everything (all) opens the hands, too. Objects alone go back into hands as they are: into a closed one with force.
    """

    what: tyro.conf.Positional[Literal["all", "objects"]] = "all"
    """What goes back: everything, or objects alone."""
    domain: int = 1
    """DDS domain: Unitree's simulators use 1, robots 0."""
    interface: str = "lo"
    """Network interface."""
    peers: str = ""
    """Addresses, separated by commas, to look at where multicast does not reach."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Ask, wait, show."""
        from thenar.wire.clients.listener import CONNECT_S, Place
        from thenar.wire.clients.sim_client import SimClient
        from thenar.wire.codecs.sim_codec import object_positions

        place = Place(domain=self.domain, interface=self.interface, peers=listed(self.peers))
        with place.participant() as participant:
            client = SimClient(participant)
            place.check(client.wait_until_heard(CONNECT_S), "listens to rt/reset_pose/cmd")
            asked = sum(client.resets.values()) + 1
            client.reset(self.what)
            confirmed = client.wait_for_resets(asked, CONFIRMED_S)
            client.wait_for_state(CONNECT_S)
            objects = {} if client.state is None else object_positions(client.state)
        if self.json:
            print_json({"reset": self.what, "confirmed": confirmed, "objects": objects})
            return
        console.print(f"reset: {self.what}" + ("" if confirmed else "; sent, but nobody says that it was done"))
        if objects:
            rows = [{"object": name, "x_m": x, "y_m": y, "z_m": z} for name, (x, y, z) in objects.items()]
            print_table("", rows)
