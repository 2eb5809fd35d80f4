"""``thenar record``: what hands on a wire do, real ones or twins, written down without a word to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Group
from rich.text import Text

from thenar.cli.run.running import check_duration, show_until_stopped, stop_on_signals
from thenar.cli.show import check_ending, console, make_table, print_json
from thenar.cli.wire.wires import ConnectionOptions

if TYPE_CHECKING:
    from thenar.twin.recording.listen import WireRecorder


@dataclass(frozen=True, kw_only=True)
class Record:
    """Record real hands, or twins, by listening to their wire.

    For example:

    thenar record session.mcap --wire inspire --hands inspire_right --interface eth0 --domain 0

    thenar record session.mcap --wire dfx --raw --duration 60

    thenar record session.mcap --wire modbus --modbus 192.168.11.210:6000

    Nothing is sent but DDS discovery; a Modbus hand must be asked, so it is polled. Then: thenar replay session.mcap
    --report gap.html
    """

    file: Annotated[Path, tyro.conf.Positional]
    """The new file (.mcap)."""
    wire: str = "inspire"
    """Protocol: inspire, dfx, tienkung, reflex, dex3, brainco, or modbus (polled)."""
    hands: tuple[str, ...] = ("inspire_right",)
    """Hands, separated by commas."""
    connection: Annotated[ConnectionOptions, tyro.conf.arg(name="")] = field(default_factory=ConnectionOptions)
    raw: bool = False
    """Keep the vendor's messages too, byte for byte."""
    duration: float = 0.0
    """Seconds; 0 records until Ctrl-C."""
    json: bool = False
    """Print JSON when it ends, and nothing else."""

    def run(self) -> None:
        """Record until told to stop."""
        from thenar.twin.recording.listen import WireRecorder

        check_ending("FILE", self.file, ".mcap")
        check_duration(self.duration)
        stop = stop_on_signals()
        place = self.connection.place(self.wire)
        if not self.json:
            console.print("listening", style="dim")
        with WireRecorder(self.file, self.hands, place, raw=self.raw) as recorder:
            show_until_stopped(recorder, stop, lambda: _picture(recorder), duration_s=self.duration, quiet=self.json)
            flows, refused = recorder.listener.flows(), dict(recorder.listener.refused)
        health = recorder.health
        found = {
            "file": str(self.file),
            "passive": recorder.listener.passive,
            "messages": health.messages,
            "lost": health.lost,
            "topics": [{"topic": flow.topic, "messages": flow.messages, "lost": flow.lost} for flow in flows],
            "refused": refused,
        }
        if self.json:
            print_json(found)
        else:
            console.print(Text(f"{self.file}: {health.messages} messages; thenar recording {self.file} says more"))


def _picture(recorder: WireRecorder) -> Group:
    """What has come so far."""
    rows = [
        {"topic": flow.topic, "messages": flow.messages, "lost": flow.lost, "from": ", ".join(flow.writers) or "-"}
        for flow in recorder.listener.flows()
    ]
    health = recorder.health
    words = f"{health.path}: {health.messages} messages, {health.lost} lost"
    how = (
        "nothing is sent but DDS discovery" if recorder.listener.passive else "the hands are polled, which they notice"
    )
    reasons = [Text(f"{count} x {why}", style="yellow") for why, count in recorder.listener.refused.items()]
    return Group(Text(words), make_table("", rows), *reasons, Text(f"{how}; Ctrl-C stops it", style="dim"))
