"""``thenar calibrate``: what to record with a real hand, and a calibration of its skin from that."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Group
from rich.live import Live
from rich.text import Text

from thenar import hands
from thenar.cli.show import check_ending, console, make_table, print_json, print_table
from thenar.errors import BadFile, BadValue, NotIdentifiable

if TYPE_CHECKING:
    from thenar.hands.spec import HandSpec, Pad
    from thenar.touch.calibrate import PadResult, Progress, Recording, RecordingRows

POLL_S = 1.0  # between two looks at a recording that grows
RecordingFile = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RECORDING")]


@dataclass(frozen=True)
class CalibrateProtocol:
    """Show what to record on a pad, or how far a recording has come."""

    hand: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="HAND")]
    """Hand to record with."""
    pad: tuple[str, ...] = ()
    """Pads; the first of the hand when left out."""
    check: str = ""
    """The recording as it comes in, a .csv file or - for standard input."""
    follow: bool = False
    """Keep looking while the file grows, until every step is satisfied or Ctrl-C."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Show it."""
        from thenar.touch.calibrate import plan

        spec = hands.load(self.hand)
        if self.follow and (not self.check or self.json):
            raise BadValue("--follow", "alone" if not self.check else "with --json", "--check FILE, without --json")
        pads = _pads(spec, self.pad)
        if len(pads) > 1 and (self.json or self.check == "-"):
            raise BadValue("--pad", ",".join(self.pad), "one pad with --json or --check -")
        for pad in pads:
            if self.check:
                self._check(spec, pad)
                continue
            rows = [
                {"step": step.name, "presses": len(step.presses), "what to do": step.instruction} for step in plan(pad)
            ]
            if self.json:
                print_json({"hand": spec.name, "pad": pad.name, "steps": rows})
                continue
            print_table(f"{pad.name} of {spec.name}", rows)
            _print_file_format(spec, pad)

    def _check(self, spec: HandSpec, pad: Pad) -> None:
        from thenar.touch.calibrate import RecordingRows

        rows = RecordingRows(self.check if self.check != "-" else "standard input", hand=spec.name)
        progress: list[Progress] = []
        with Live(console=console, auto_refresh=False) if self.follow else nullcontext() as live:
            for lines in _batches(self.check, follow=self.follow):
                rows.feed(lines)
                progress = _progress(rows, spec, pad)
                if live is not None:
                    live.update(_checklist(pad, rows, progress), refresh=True)
                    if progress and all(one.satisfied for one in progress):
                        return
        if self.json:
            print_json([vars(one) | {"satisfied": one.satisfied} for one in progress])
        elif not self.follow:
            console.print(_checklist(pad, rows, progress))


@dataclass(frozen=True)
class CalibrateMake:
    """Make a recording with a synthetic sensor, to try the procedure without a hand."""

    recording: RecordingFile
    """File to write, .csv or .npz."""
    hand: str = ""
    """Hand with pads."""
    pad: str = ""
    """Pad; the first of the hand when left out."""
    seed: int = 0
    """Another seed, another skin."""
    curve: Literal["straight", "bent"] = "straight"
    """bent reads light touches more strongly than firm ones."""
    loads: Literal["protocol", "unseen"] = "protocol"
    """Follow the protocol, or press the same skin anywhere and at any speed, to score with."""
    json: bool = False
    """Print JSON instead of a sentence."""

    def run(self) -> None:
        """Make and write it."""
        from thenar.touch.calibrate import make_recording, write_recording

        if not self.hand:
            raise BadValue("--hand", self.hand, f"a hand with pads: {_names_with_pads()}")
        spec = hands.load(self.hand)
        (pad,) = _pads(spec, (self.pad,) if self.pad else ())
        recording = make_recording(spec, pad.name, seed=self.seed, curve=self.curve, loads=self.loads)
        write_recording(self.recording, recording)
        rows, seconds = len(recording), float(recording.time_s[-1])
        if self.json:
            print_json({"wrote": str(self.recording), "rows": rows, "seconds": round(seconds, 1), "pad": pad.name})
            return
        text = f"wrote {self.recording}: {rows} readings of a synthetic {pad.name} in {seconds:.0f} s"
        console.print(text)


@dataclass(frozen=True)
class CalibrateFit:
    """Fit a calibration to a recording, say how well each number is known, and write a file for --skin."""

    recording: RecordingFile
    """The recording, .csv or .npz."""
    hand: str = ""
    """Its hand, where the recording does not tell."""
    pad: tuple[str, ...] = ()
    """Pads; all recorded ones when left out."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """The calibration file (.toml)."""
    model: Literal["parametric", "learned"] = "parametric"
    """Numbers with a meaning, or a learned monotone curve with memory."""
    without: tuple[str, ...] = ()
    """Leave these at their defaults: depth, crosstalk, hysteresis, drift, saturation."""
    report: Path | None = None
    """Page (.html) with tables and plots, or one plot (.svg)."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Fit, print and write."""
        from thenar.touch.calibrate import OPTIONAL_GROUPS, fit_pad, read_recording, write_calibration
        from thenar.twin.reports.calibration_report import known_rows, notes, score_rows, write_report

        check_ending("--out", self.out, ".toml")
        check_ending("--report", self.report, ".html", ".svg")
        for group in self.without:
            if group not in OPTIONAL_GROUPS:
                raise BadValue("--without", group, f"some of {', '.join(OPTIONAL_GROUPS)}")
        recording = read_recording(self.recording, hand=self.hand or None)
        spec = hands.load(recording.hand)
        with nullcontext() if self.json else console.status("reading") as status:
            progress = {} if status is None else {"progress": status.update}
            results = [
                fit_pad(recording, spec, name, model=self.model, without=self.without, **progress)
                for name in _recorded(self.recording, recording, spec, self.pad)
            ]
        if self.report is not None:
            write_report(self.report, results, f"{spec.name}, {self.recording.name}, {self.model}")
        known = {result.pad.name: known_rows(result) for result in results}
        refusals = [refusal for result in results for refusal in result.refusals]
        if self.json:
            print_json({"scores": score_rows(results), "known": known, "refused": refusals})
        else:
            for name, rows in known.items():
                print_table(f"{name}, {self.model}", rows)
            print_table("held-out presses, percent of full scale", score_rows(results))
        if refusals:
            raise NotIdentifiable(self.recording, refusals, f"Nothing is written.{self._advice(results)}")
        if self.out is not None:
            title = f"Skin of {spec.name}, fitted to {self.recording.name} ({self.model})."
            calibrations = {result.pad.name: result.calibration for result in results}
            write_calibration(self.out, spec, calibrations, [title, *notes(results)])
        for written in (self.out, self.report):
            if written is not None and not self.json:
                console.print(f"wrote {written}")

    def _advice(self, results: list[PadResult]) -> str:
        """How to go on with a recording that cannot tell everything."""
        from thenar.touch.calibrate import OPTIONAL_GROUPS

        refused = {known.group for result in results for known in result.known if known.refusal}
        groups = ",".join(sorted(refused & set(OPTIONAL_GROUPS)))
        leave = f" Or leave them at their defaults: --without {groups}." if groups else ""
        learn = " A curve that is far from straight shows the same way: --model learned."
        return leave + (learn if self.model != "learned" else "")


@dataclass(frozen=True)
class CalibrateScore:
    """Hold a calibration against a recording it has not seen."""

    recording: RecordingFile
    """The recording, .csv or .npz."""
    hand: str = ""
    """Its hand, where the recording does not tell."""
    pad: tuple[str, ...] = ()
    """Pads; all recorded ones when left out."""
    calibration: Path | None = None
    """The calibration file."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Score and print."""
        from thenar.touch.calibrate import load_calibration, read_recording, score_pad
        from thenar.twin.reports.calibration_report import score_row

        if self.calibration is None:
            raise BadValue("--calibration", None, "a file that fit has written")
        recording = read_recording(self.recording, hand=self.hand or None)
        spec = hands.load(recording.hand)
        calibration = load_calibration(self.calibration, spec)
        rows = [
            score_row(name, score_pad(recording, spec, name, calibration))
            for name in _recorded(self.recording, recording, spec, self.pad)
        ]
        if self.json:
            print_json(rows)
        else:
            print_table(f"{self.calibration.name} against {self.recording.name}, percent of full scale", rows)


@dataclass(frozen=True)
class Calibrate:
    """Calibrate the skin of a real hand: see what to record, fit it, score it. Without a hand, make a recording.

    For example:

    thenar calibrate protocol reflex --pad finger_1_proximal

    thenar calibrate protocol reflex --pad finger_1_proximal --check recording.csv --follow

    thenar calibrate make recording.csv --hand reflex --pad finger_1_proximal --seed 3

    thenar calibrate fit recording.csv -o sensor.toml --report report.html

    thenar calibrate fit recording.csv -o sensor.toml --model learned --without drift

    thenar calibrate score other.csv --calibration sensor.toml

    The file goes where skins are named: thenar serve --skin sensor.toml
    """

    action: tyro.conf.OmitSubcommandPrefixes[
        Annotated[CalibrateProtocol, tyro.conf.subcommand("protocol")]
        | Annotated[CalibrateMake, tyro.conf.subcommand("make")]
        | Annotated[CalibrateFit, tyro.conf.subcommand("fit")]
        | Annotated[CalibrateScore, tyro.conf.subcommand("score")]
    ]

    def run(self) -> None:
        """Run the chosen one."""
        self.action.run()


def _names_with_pads() -> str:
    return ", ".join(name for name in hands.names() if hands.load(name).pads)


def _pads(spec: HandSpec, names: tuple[str, ...]) -> list[Pad]:
    """Pads by name, or the first of the hand."""
    if not spec.pads:
        raise BadValue("hand", spec.name, f"a hand with pads: {_names_with_pads()}")
    return [spec.pad(name) for name in names or (spec.pads[0].name,)]


def _recorded(path: Path, recording: Recording, spec: HandSpec, names: tuple[str, ...]) -> tuple[str, ...]:
    """Pads by name, or all of the recording."""
    for name in names:
        spec.pad(name)
        if name not in recording.counts:
            raise BadFile(path, f"no columns of {name}; it has {', '.join(recording.counts)}")
    return names or tuple(recording.counts)


def _print_file_format(spec: HandSpec, pad: Pad) -> None:
    from thenar.touch.calibrate.press_recording import FIXED, taxel_columns

    columns = taxel_columns(spec, pad.name)
    console.print(
        f"Full force: where the pressed taxel stops counting up, or the most it will meet. Use a round probe and a "
        f"load cell or known weights.\nWrite a CSV file, 25 rows a second or more:\n"
        f"  # hand: {spec.name}\n  # probe_mm: 1.5        (radius of the patch that presses)\n"
        f"  {','.join(FIXED)},{columns[0]},...,{columns[-1]}\n"
        f"time_s since switching on; u_mm and v_mm along rows and columns from the pad's centre. While it grows:\n"
        f"  thenar calibrate protocol {spec.name} --pad {pad.name} --check FILE.csv --follow",
    )


def _batches(name: str, *, follow: bool) -> Iterator[list[str]]:
    """All lines of a file or of standard input; or whole lines as they come, about once a second."""
    try:
        with nullcontext(sys.stdin) if name == "-" else Path(name).open(encoding="utf-8") as file:
            if not follow:
                yield file.readlines()
                return
            lines, begun, next_s = [], "", 0.0
            while True:
                begun += file.readline()
                at_end = not begun.endswith("\n")
                if not at_end:
                    lines.append(begun)
                    begun = ""
                if at_end or time.monotonic() > next_s:
                    yield lines
                    lines, next_s = [], time.monotonic() + POLL_S
                if at_end and file is sys.stdin:
                    yield [begun]
                    return
                if at_end:
                    time.sleep(POLL_S)
    except UnicodeDecodeError as error:
        raise BadFile(name, "no text; wanted rows of numbers as CSV") from error
    except OSError as error:
        raise BadFile(name, f"cannot be read: {error.strerror}") from error


def _progress(rows: RecordingRows, spec: HandSpec, pad: Pad) -> list[Progress]:
    from thenar.touch.calibrate import check, plan
    from thenar.touch.calibrate.press_recording import MIN_ROWS

    if len(rows) < MIN_ROWS:
        return []
    recording = rows.recording(growing=True)
    if recording.hand != spec.name or pad.name not in recording.counts:
        has = f"{', '.join(recording.counts)} of {recording.hand}"
        raise BadFile("recording", f"it is of {has}; wanted {pad.name} of {spec.name}")
    return check(recording, pad, plan(pad))


def _checklist(pad: Pad, rows: RecordingRows, progress: list[Progress]) -> Group:
    if not progress:
        return Group(Text(f"{len(rows)} readings so far"))
    table = make_table(
        f"{pad.name}, {len(rows)} readings",
        [
            {"step": one.step, "done": f"{one.done} of {one.of}", "": "ok" if one.satisfied else "missing"}
            for one in progress
        ],
    )
    first = next((one for one in progress if not one.satisfied), None)
    advice = "complete: thenar calibrate fit" if first is None else f"{first.step}: {first.missing}"
    return Group(table, Text(advice))
