"""``thenar inspect``: what is on the network, and why something does not connect."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass

from rich.console import RenderableType
from rich.text import Text

from thenar.cli.show import console, listed, make_table, print_json, print_table
from thenar.errors import BadValue, clean_text


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
        from thenar.wire.clients.domain_survey import survey
        from thenar.wire.codecs.status_codec import TOPIC

        if not 0.0 < self.seconds <= 600.0:
            raise BadValue("--seconds", self.seconds, "seconds above 0 and up to 600")
        peers = listed(self.peers)
        with contextlib.nullcontext() if self.json else console.status(f"listening for {self.seconds:g} s"):
            found = survey(domain=self.domain, interface=self.interface, peers=peers, seconds=self.seconds)
        if self.json:
            print_json(asdict(found))
            return
        console.print(f"domain {found.domain} on {found.interface} ({found.address})")
        if not found.participants:
            console.print(Text("nobody is there. The usual reasons:", style="yellow"))
            for hint in found.hints:
                console.print(Text(f"- {hint}"))
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
            try:
                report = _twin_report(twin)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                words = f"! somebody's {TOPIC} does not say what a twin's does ({error!r})"
                report = [Text(clean_text(words), style="yellow")]
            console.print(*report, sep="\n")
        for problem in found.problems:
            console.print(Text(f"! {problem}", style="yellow"))


def _twin_report(twin: dict) -> list[RenderableType]:
    """A twin's own report: who commands what, what it refused and what is wrong."""
    hands = [
        {
            "hand": hand,
            "requests": health["requests"],
            "last writer": health["sender"] or "nobody yet",
            "age_s": "-" if health["age_s"] is None else f"{health['age_s']:.1f}",
            "at odds": ", ".join(health["recent_senders"]) if len(health["recent_senders"]) > 1 else "",
        }
        for hand, health in twin["hands"].items()
    ]
    talk = [
        {"wire": link["wire"], "peer": peer["who"], "where": peer["where"], "messages": peer["messages"],
         "hz": f"{peer['rate_hz']:.1f}", "age_s": f"{peer['age_s']:.1f}"}
        for link in twin["links"] for peer in link["peers"]
    ]  # fmt: skip
    lines = [(f"{link['wire']}: {n} x {why}", "yellow") for link in twin["links"] for why, n in link["refused"].items()]
    if twin["skipped_s"]:
        lines.append((f"too slow for real time: {twin['skipped_s']:.1f} s were dropped", "red"))
    # What a twin of another version does not say is not missed.
    lines += [(why, "red") for name in ("failed", "standing", "diverged") for why in twin.get(name, ())]
    lines += [(why, "yellow") for why in twin.get("warnings", ())]
    lines += [(f"{count} x {why}", "yellow") for why, count in twin["refused"].items()]
    head = (
        f"twin: {twin['time_s']:.1f} s, real-time factor {twin['real_time_factor']:.4f}, "
        f"{twin['late_ticks']} of {twin['ticks']} ticks late"
    )
    tables = [make_table("", rows) for rows in (hands, talk) if rows]
    return [Text(head), *tables, *(Text(f"! {why}", style=style) for why, style in lines)]
