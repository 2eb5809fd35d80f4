"""``thenar identify``: what the motors of a hand are like, from recordings, and the motions that tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from thenar import hands
from thenar.cli.run.running import stop_on_signals
from thenar.cli.show import check_ending, console, print_json, print_table
from thenar.cli.wire.wires import ConnectionOptions, Wire
from thenar.errors import BadValue, ThenarError
from thenar.hands.spec import LeadScrew

if TYPE_CHECKING:
    from thenar.sim.identify.programme import Phase

MAX_FORCE_N = 20.0


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
    weighed: Path | None = None
    """File (.toml) with what a scale showed while a finger pressed on it: tells real newtons; see docs/motors.md."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Fit, print and write."""
        from thenar.recordings.recording import Recording
        from thenar.twin.recording.coupling_law import LIMITS_ADVICE
        from thenar.twin.recording.identification import (
            identify,
            read_weighed,
            rows_of,
            write_identity,
            write_report,
        )

        check_ending("--out", self.out, ".toml")
        check_ending("--report", self.report, ".html")
        if not self.recordings:
            raise BadValue("recordings", "none", "one file or more, such as session.mcap")
        opened = [Recording(path) for path in self.recordings]
        names = {name for one in opened for name in one.hands}
        name = self.hand or (names.pop() if len(names) == 1 else "")
        if not name:
            raise BadValue("--hand", self.hand, f"one of {', '.join(sorted(names))}")
        spec = hands.load(name)
        motors, coupling = identify(opened, spec, read_weighed(self.weighed) if self.weighed else ())
        source = ", ".join(path.name for path in self.recordings)
        rows = rows_of(spec, motors)
        unknown = [f"limits of joints: no wire tells them; {LIMITS_ADVICE}"]
        unknown += [str(coupling)] if coupling.refused else []
        refused = [f"{why_not} of {motor.name}: {why}" for motor in motors for why_not, why in motor.refused.items()]
        refused += unknown
        if self.json:
            print_json({"hand": name, "values": rows, "coupling": list(coupling.fit), "refused": refused})
        else:
            print_table(f"motors of {name}, {source}", rows)
            if coupling.fit:
                console.print(str(coupling), soft_wrap=True)
            for line in refused:
                console.print(f"not known: {line}", soft_wrap=True)
        if self.out is not None:
            write_identity(self.out, spec, motors, source, coupling)
        if self.report is not None:
            write_report(self.report, spec, motors, source, coupling)
        for written in (self.out, self.report):
            if written is not None and not self.json:
                console.print(f"wrote {written}")


@dataclass(frozen=True)
class IdentifyProtocol:
    """Show the ten minutes of motions that tell everything, or let a hand do them."""

    hand: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="HAND")]
    """Hand to move."""
    wire: Wire | None = None
    """Protocol through which the hand is moved; without it nothing is. Record it meanwhile: thenar record."""
    bar: bool = False
    """Only the presses on a bar that you hold in the hand; without it, all that a bare hand can do."""
    scale: str = ""
    """Only the presses of one motor, such as index, on a kitchen scale that you lay under its fingertip."""
    yes: bool = False
    """You stand beside the hand, nothing is in its way and it may move: do not ask."""
    force: float = 10.0
    """Force at which everything stops [N]."""
    connection: Annotated[ConnectionOptions, tyro.conf.arg(name="")] = field(default_factory=ConnectionOptions)
    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Show it, or do it."""
        from thenar.sim.identify.force_scale import scale_presses
        from thenar.sim.identify.programme import Phase, programme

        spec = hands.load(self.hand)
        if not all(isinstance(actuator.motor, LeadScrew) for actuator in spec.actuators):
            raise BadValue(
                "HAND", self.hand, "a hand with lead screws, such as inspire_right; no other is identified yet"
            )
        phases = programme(spec)
        if self.scale:
            steps = tuple(scale_presses(spec, self.scale))
            under = f"lay a kitchen scale under the tip of {self.scale}, so that it moves straight down onto it"
            phases = (Phase(name=f"{self.scale}: scale", tells="force scale", before=under, steps=steps),)
        if self.wire is not None or self.bar:
            phases = [phase for phase in phases if self.scale or ("bar of" in phase.before) == self.bar]
        if self.wire is not None:
            self._drive(self.wire, phases)
            return
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
        console.print(
            f"Record it: thenar record bare.mcap --wire inspire --hands {self.hand}. Beside it: thenar identify "
            f"protocol {self.hand} --wire inspire, and the same again with --bar into another file.",
            soft_wrap=True,
        )

    def _drive(self, wire: Wire, phases: Sequence[Phase]) -> None:
        from thenar.twin.recording.protocol_drive import drive_programme
        from thenar.wire.clients.hand_connection import connect_inspire

        if not 0.0 < self.force <= MAX_FORCE_N:
            raise BadValue("--force", self.force, f"newtons up to {MAX_FORCE_N:g}")
        minutes = sum(phase.duration_s for phase in phases) / 60
        what = f"{self.hand} will move for {minutes:.1f} minutes, at up to its top speed. {phases[0].before}".strip()
        if not self.yes:
            if not console.is_terminal:
                raise BadValue("--yes", "missing", "somebody beside the hand who says so")
            if console.input(f"{what}\nNothing is in its way and you can reach Ctrl-C? Type move: ").strip() != "move":
                raise BadValue("answer", "no", "move; nothing was moved")
        stop = stop_on_signals()
        spec = hands.load(self.hand)
        with connect_inspire((spec,), self.connection.place(wire)) as (line,):
            outcome = drive_programme(
                line,
                spec,
                phases,
                stop=stop,
                before=lambda phase: console.print(f"{phase.name}: {phase.duration_s:.0f} s"),
                force_limit_n=self.force,
            )
        if outcome.why:
            raise ThenarError(
                f"stopped after {outcome.steps} motions: {outcome.why}. The hand stays where it is; to open it: "
                f"thenar command {self.hand} --close 0 --speed 100"
            )
        console.print(f"done, {outcome.steps} motions")


@dataclass(frozen=True)
class Identify:
    """Find out what the motors of a real hand are like, from recordings.

    For example:

    thenar identify protocol inspire_right

    thenar identify protocol inspire_right --wire inspire --interface eth0 --domain 0

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
