"""``thenar inspect``: what is on the network, and why something does not connect."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass

from rich.text import Text

from thenar.cli.show import console, listed, print_json, print_table
from thenar.errors import BadValue


@dataclass(frozen=True)
class Inspect:
    """Show who is on a DDS domain, which topics flow how fast, what does not fit, and why nothing may be seen.

    For example:

    thenar inspect

    thenar inspect --domain 0 --interface eth0 --seconds 5
    """

    domain: int = 1
    """DDS domain: Unitree's simulators use 1, robots 0."""
    interface: str = "lo"
    """Network interface."""
    peers: str = ""
    """Addresses, separated by commas, to look at where multicast does not reach."""
    seconds: float = 2.0
    """How long to listen."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Look and print."""
        from thenar.wire.clients.survey import survey

        if not 0.0 < self.seconds <= 600.0:
            raise BadValue("--seconds", self.seconds, "seconds above 0 and up to 600")
        peers = listed(self.peers)
        with contextlib.nullcontext() if self.json else console.status(f"listening for {self.seconds:g} s"):
            found = survey(domain=self.domain, interface=self.interface, peers=peers, seconds=self.seconds)
        if self.json:
            print_json(asdict(found))
            return
        console.print(f"domain {found.domain} on {found.interface} ({found.address})", highlight=False)
        if not found.participants:
            console.print(Text("nobody is there. The usual reasons:", style="yellow"))
            for hint in found.hints:
                console.print(Text(f"- {hint}"), highlight=False)
            return
        print_table("Participants", [{"who": who} for who in found.participants])
        if found.topics:
            print_table(
                "Topics",
                [
                    {
                        "topic": topic.topic,
                        "type": ", ".join(name.rpartition("::")[2] for name in topic.type_names),
                        "out": len(topic.writers),
                        "in": len(topic.readers),
                        "hz": "?" if topic.rate_hz is None else f"{topic.rate_hz:.1f}",
                        "age_s": "-" if topic.age_s is None else f"{abs(topic.age_s):.2f}",
                    }
                    for topic in found.topics
                ],
            )
        if found.services:
            print_table(
                "Services",
                [
                    {
                        "service": service.service,
                        "type": service.type_name.rpartition("/")[2],
                        "out": len(service.servers),
                        "in": len(service.clients),
                    }
                    for service in found.services
                ],
            )
        for twin in found.twins:
            _print_twin(twin)
        for problem in found.problems:
            console.print(Text(f"! {problem}", style="yellow"), highlight=False)


def _print_twin(twin: dict) -> None:
    """A twin's own report: who commands what, and what it refused."""
    console.print(
        f"twin: {twin['time_s']:.1f} s, real-time factor {twin['real_time_factor']:.4f}, "
        f"{twin['late_ticks']} of {twin['ticks']} ticks late",
        highlight=False,
    )
    rows = []
    for hand, health in twin["hands"].items():
        senders = health["recent_senders"]
        rows.append(
            {
                "hand": hand,
                "requests": health["requests"],
                "last writer": health["sender"] or "nobody yet",
                "age_s": "-" if health["age_s"] is None else f"{health['age_s']:.1f}",
                "at odds": ", ".join(senders) if len(senders) > 1 else "",
            }
        )
    print_table("", rows)
    talk = [
        {"wire": link["wire"], "peer": peer["who"], "where": peer["where"], "messages": peer["messages"],
         "hz": f"{peer['rate_hz']:.1f}", "age_s": f"{peer['age_s']:.1f}"}
        for link in twin["links"] for peer in link["peers"]
    ]  # fmt: skip
    if talk:
        print_table("", talk)
    for link in twin["links"]:
        for why, count in link["refused"].items():
            console.print(Text(f"! {link['wire']}: {count} x {why}", style="yellow"), highlight=False)
    if twin["skipped_s"]:
        console.print(Text(f"! too slow for real time: {twin['skipped_s']:.1f} s were let go", style="red"))
    for why in twin["diverged"]:
        console.print(Text(f"! {why}", style="red"), highlight=False)
    for why, count in twin["refused"].items():
        console.print(Text(f"! {count} x {why}", style="yellow"), highlight=False)
