"""``thenar mirror``: a twin beside the real hand, and what it sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro
from rich.console import Group, RenderableType
from rich.text import Text

from thenar.cli.run.running import check_duration, show_until_stopped, stop_on_signals
from thenar.cli.show import console, make_table, print_json
from thenar.cli.wire.wires import ConnectionOptions
from thenar.twin.serve_config import PageOptions

if TYPE_CHECKING:
    from thenar.twin.compare.mirror_link import MirrorLink
    from thenar.twin.live_twin import LiveTwin


@dataclass(frozen=True, kw_only=True)
class Mirror:
    """Run a twin beside a real hand and say in words what differs.

    For example:

    thenar mirror inspire_right --wire inspire --interface eth0 --domain 0

    thenar mirror inspire_left inspire_right --wire dfx --view

    thenar mirror inspire_right --motors motors.toml --duration 60 --json

    Nothing is sent to the hand but DDS discovery; a Modbus hand must be asked, so it is polled.
    """

    hands: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="HAND [HAND]")]
    """Hands that are there."""
    wire: str = "inspire"
    """Protocol: inspire, dfx, tienkung, reflex, dex3, brainco, or modbus (polled)."""
    connection: Annotated[ConnectionOptions, tyro.conf.arg(name="")] = field(default_factory=ConnectionOptions)
    motors: Mapping[str, Path] = field(default_factory=dict)
    """What the motors of the hand are like, or HAND=FILE for each hand, separated by commas; see thenar identify.
    Without it the twin has the motors of the catalogue, and every way in which yours differ is told."""
    view: bool = False
    """Show both in a browser: the real hand solid, its twin as a ghost."""
    page: Annotated[PageOptions, tyro.conf.arg(name="")] = field(default_factory=PageOptions)
    duration: float = 0.0
    """Seconds; 0 runs until Ctrl-C."""
    json: bool = False
    """Print what was found as JSON when it ends, and nothing else."""

    def run(self) -> None:
        """Mirror until told to stop."""
        from thenar.twin.compare.mirroring import mirror

        check_duration(self.duration)
        stop = stop_on_signals()
        place = self.connection.place(self.wire)
        if not self.json:
            console.print("loading; the very first start compiles for about half a minute", style="dim")
        motors = self.motors.get("", self.motors)  # a file without a name is that of the only hand
        twin, link = mirror(self.hands, place, motors=motors, page=self.page if self.view else None)
        with twin:
            if not self.json and twin.page_url:
                console.print("the page is at", Text(twin.page_url, style="bold"), soft_wrap=True)
            show_until_stopped(twin, stop, lambda: _picture(twin, link), duration_s=self.duration, quiet=self.json)
            found, health = link.findings(), twin.health()
            apart = {hand: link.apart_deg(hand) for hand in self.hands}
        if self.json:
            print_json(
                {
                    "passive": link.listener.passive,
                    "findings": [asdict(finding) for finding in found],
                    "apart_deg": {hand: _shares(values) for hand, values in apart.items()},
                    "too_slow": link.too_slow,
                    "late": health.late_ticks / max(health.ticks, 1),
                    "real_time_factor": health.real_time_factor,
                }
            )


def _picture(twin: LiveTwin, link: MirrorLink) -> Group:
    """Both hands, motor by motor, and everything that differs."""
    parts: list[RenderableType] = []
    for hand in twin.world.hand_names:
        real, ours, _ = link.newest(hand)
        rows = [
            {
                "motor": name,
                "hand_deg": round(float(np.degrees(real.angle_rad[n])), 1),
                "twin_deg": round(float(np.degrees(ours.angle_rad[n])), 1),
                "apart": round(float(np.degrees(real.angle_rad[n] - ours.angle_rad[n])), 1),
                "hand_n": round(float(real.force_n[n]), 2),
                "twin_n": round(float(ours.force_n[n]), 2),
                "hand_a": round(float(real.current_a[n]), 2),
                "twin_a": round(float(ours.current_a[n]), 2),
            }
            for n, name in enumerate(real.actuator_names)
        ]
        parts.append(make_table(hand, rows))
        shares = _shares(link.apart_deg(hand))
        if shares:
            parts.append(Text(f"angles apart: median {shares['median']:.2f}, 99 % {shares['p99']:.2f} degrees"))
    found = link.findings()
    parts += [Text(f"{finding.hand}: {finding.words} ({finding.evidence})", style="yellow") for finding in found]
    if link.too_slow:
        parts.append(Text(link.lateness, style="red"))
    elif not found:
        parts.append(Text("no difference that is sure", style="green"))
    how = "nothing is sent but DDS discovery" if link.listener.passive else "hands are polled, which they notice"
    parts.append(Text(f"{how}; Ctrl-C stops it", style="dim"))
    return Group(*parts)


def _shares(apart_deg: np.ndarray) -> dict[str, float]:
    if not len(apart_deg):
        return {}
    return {"median": float(np.median(apart_deg)), "p99": float(np.percentile(apart_deg, 99))}
