"""``thenar report``: the page about a real hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from thenar.cli.show import check_ending, console, print_table


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write a page: how far a real hand and its twin are apart.

    For example:

    thenar report hardware other.mcap

    thenar report hardware bare.mcap bar.mcap other.mcap --firmware 1.0.7 -o inspire_right.md

    The last recording is judged; the motors are identified from the others, see thenar identify protocol.
    """

    what: tyro.conf.Positional[Literal["hardware"]]
    """What is reported on."""
    recordings: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FILE")]
    """Recordings (.mcap) of one hand by thenar record."""
    firmware: str = ""
    """What the maker calls the hand's firmware."""
    hand: str = ""
    """The hand, where recordings have several."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("hardware.md")
    """Page (.md) to write."""

    def run(self) -> None:
        """Write the page."""
        from thenar.recordings.recording import Recording
        from thenar.twin.compare.hardware_report import hardware_report

        check_ending("--out", self.out, ".md")
        opened = [Recording(path) for path in self.recordings]
        report = hardware_report(opened, hand=self.hand, firmware=self.firmware)
        report.save(self.out)
        print_table(f"{report.hand} and its twin apart", report.apart)
        console.print(f"wrote {self.out}; docs/hardware.md says where it goes", soft_wrap=True)
