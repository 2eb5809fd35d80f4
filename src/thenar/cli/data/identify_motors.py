"""``thenar identify``: what the motors of a hand are like, from recordings, and the motions that tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from thenar import hands
from thenar.cli.show import console, print_json, print_table
from thenar.errors import BadValue


@dataclass(frozen=True)
class IdentifyFit:
    """Fit the motors to recordings, say how well each value is known, and write a file for --motors."""

    recordings: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FILE")]
    """Recordings (.mcap) of one hand; see thenar record."""
    hand: str = ""
    """The hand, where recordings have several."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """File (.toml) to write."""
    report: Path | None = None
    """Page (.html) with tables and plots."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Fit, print and write."""
        from thenar.recordings.recording import Recording
        from thenar.twin.recording.identification import identify, rows_of, write_identity, write_report

        for path, ending in ((self.out, ".toml"), (self.report, ".html")):
            if path is not None and path.suffix != ending:
                raise BadValue("file to write", str(path), f"a name that ends in {ending}")
        if not self.recordings:
            raise BadValue("recordings", "none", "one file or more, such as session.mcap")
        opened = [Recording(path) for path in self.recordings]
        names = {name for one in opened for name in one.hands}
        name = self.hand or (names.pop() if len(names) == 1 else "")
        if not name:
            raise BadValue("--hand", self.hand, f"one of {', '.join(sorted(names))}")
        spec = hands.load(name)
        motors = identify(opened, spec)
        source = ", ".join(path.name for path in self.recordings)
        rows = rows_of(spec, motors)
        refused = [f"{why_not} of {motor.name}: {why}" for motor in motors for why_not, why in motor.refused.items()]
        if self.json:
            print_json({"hand": name, "values": rows, "refused": refused})
        else:
            print_table(f"motors of {name}, {source}", rows)
            for line in refused:
                console.print(f"not known: {line}", highlight=False, markup=False, soft_wrap=True)
        if self.out is not None:
            write_identity(self.out, spec, motors, source)
        if self.report is not None:
            write_report(self.report, spec, motors, source)
        for written in (self.out, self.report):
            if written is not None and not self.json:
                console.print(f"wrote {written}", highlight=False)


@dataclass(frozen=True)
class IdentifyProtocol:
    """Show the ten minutes of motions that tell everything."""

    hand: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="HAND")]
    """Hand to move."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Show it."""
        from thenar.sim.identify.programme import programme

        phases = programme(hands.load(self.hand))
        rows = [
            {
                "phase": phase.name,
                "tells": phase.tells,
                "motions": len(phase.steps),
                "seconds": round(phase.duration_s),
                "limit_n": max(step.limit_n for step in phase.steps),
                "before it": phase.before or "the hand is bare",
            }
            for phase in phases
        ]
        if self.json:
            print_json(rows)
            return
        total_s = sum(phase.duration_s for phase in phases)
        print_table(f"{self.hand}: {total_s / 60:.1f} minutes", rows)


@dataclass(frozen=True)
class Identify:
    """Find out what the motors of a real hand are like, from recordings of it, and the motions that tell.

    For example:

    thenar identify protocol inspire_right

    thenar identify bare.mcap bar.mcap -o motors.toml --report fit.html

    The file goes where motors are named: thenar serve --motors motors.toml
    """

    action: tyro.conf.OmitSubcommandPrefixes[
        Annotated[IdentifyFit, tyro.conf.subcommand("fit")]
        | Annotated[IdentifyProtocol, tyro.conf.subcommand("protocol")]
    ]

    def run(self) -> None:
        """Run the chosen one."""
        self.action.run()
