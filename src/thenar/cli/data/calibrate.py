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
from thenar.cli.show import console, listed, make_table, print_json, print_table
from thenar.errors import BadFile, BadValue, NotIdentifiable

if TYPE_CHECKING:
    from thenar.hands.spec import HandSpec, Pad
    from thenar.touch.calibrate import Progress, Recording, RecordingRows

LOOK_S = 1.0  # between two looks at a recording that grows


@dataclass(frozen=True)
class Calibrate:
    """Calibrate the skin of a real hand: be told what to record, fit it, score it. Without a hand, make a recording.

    For example:

    thenar calibrate protocol reflex --pad finger_1_proximal

    thenar calibrate protocol reflex --pad finger_1_proximal --check recording.csv --follow

    thenar calibrate make recording.csv --hand reflex --pad finger_1_proximal --seed 3

    thenar calibrate fit recording.csv -o sensor.toml --report report.html

    thenar calibrate fit recording.csv -o sensor.toml --model learned --without drift

    thenar calibrate score other.csv --calibration sensor.toml

    The file goes where skins are named: thenar serve --skin sensor.toml
    """

    action: tyro.conf.Positional[Literal["protocol", "make", "fit", "score"]]
    """What to do."""
    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="HAND|RECORDING")]
    """protocol: the hand. make, fit, score: the recording, .csv or .npz."""
    pad: str = ""
    """Pads, separated by commas; protocol and make take the first of the hand when left out, fit all recorded ones."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """fit: the calibration file (.toml)."""
    model: Literal["parametric", "learned"] = "parametric"
    """fit: numbers with a meaning, or a learned monotone curve with memory."""
    without: str = ""
    """fit: leave these at their defaults, separated by commas: depth, crosstalk, hysteresis, drift, saturation."""
    report: Path | None = None
    """fit: page (.html) with tables and plots, or one plot (.svg)."""
    calibration: Path | None = None
    """score: the calibration file."""
    check: str = ""
    """protocol: the recording as it comes in, a .csv file or - for standard input."""
    follow: bool = False
    """protocol: keep looking while the file grows, until every step is satisfied or Ctrl-C."""
    hand: str = ""
    """make: the hand. fit, score: the hand, where the recording does not tell."""
    seed: int = 0
    """make: another seed, another skin."""
    curve: Literal["straight", "bent"] = "straight"
    """make: bent reads light touches more strongly than firm ones."""
    loads: Literal["protocol", "unseen"] = "protocol"
    """make: follow the protocol, or press the same skin anywhere and at any speed, to score with."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Do it."""
        {"protocol": self._protocol, "make": self._make, "fit": self._fit, "score": self._score}[self.action]()

    def _protocol(self) -> None:
        from thenar.touch.calibrate import plan

        spec = hands.load(self.name)
        if self.follow and (not self.check or self.json):
            raise BadValue("--follow", "alone" if not self.check else "with --json", "--check FILE, without --json")
        pads = self._pads(spec)
        if len(pads) > 1 and (self.json or self.check == "-"):
            raise BadValue("--pad", self.pad, "one pad with --json or --check -")
        for name in pads:
            pad = spec.pad(name)
            steps = plan(pad)
            if self.check:
                self._check(spec, pad)
                continue
            rows = [{"step": step.name, "presses": len(step.presses), "what to do": step.instruction} for step in steps]
            if self.json:
                print_json({"hand": spec.name, "pad": name, "steps": rows})
                continue
            print_table(f"{name} of {spec.name}", rows)
            _say_how(spec, pad)

    def _check(self, spec: HandSpec, pad: Pad) -> None:
        from thenar.touch.calibrate import RecordingRows

        rows = RecordingRows(self.check if self.check != "-" else "standard input", hand=spec.name)
        progress: list[Progress] = []
        if not self.follow:
            for _ in _growing(self.check, rows, once=True):
                progress = _progress(rows, spec, pad)
            if self.json:
                print_json([vars(one) | {"satisfied": one.satisfied} for one in progress])
                return
            console.print(_checklist(pad, rows, progress))
            return
        with Live(console=console, auto_refresh=False) as live:
            for _ in _growing(self.check, rows, once=False):
                progress = _progress(rows, spec, pad)
                live.update(_checklist(pad, rows, progress), refresh=True)
                if progress and all(one.satisfied for one in progress):
                    break

    def _make(self) -> None:
        from thenar.touch.calibrate import make_recording, write_recording

        if not self.hand:
            raise BadValue("--hand", self.hand, f"a hand with pads: {_with_pads()}")
        spec, path = hands.load(self.hand), Path(self.name)
        (pad,) = self._pads(spec)
        recording = make_recording(spec, pad, seed=self.seed, curve=self.curve, loads=self.loads)
        write_recording(path, recording)
        told = {
            "wrote": str(path),
            "rows": len(recording),
            "seconds": round(float(recording.time_s[-1]), 1),
            "pad": pad,
        }
        if self.json:
            print_json(told)
            return
        console.print(
            f"wrote {path}: {len(recording)} readings of a made-up {pad} in {recording.time_s[-1]:.0f} s",
            highlight=False,
        )

    def _fit(self) -> None:
        from thenar.touch.calibrate import OPTIONAL_GROUPS, fit_pad, read_recording, write_calibration
        from thenar.twin.calibration_report import known_rows, score_rows, write_report

        if self.out is not None and self.out.suffix != ".toml":
            raise BadValue("--out", str(self.out), "a name that ends in .toml")
        if self.report is not None and self.report.suffix not in (".html", ".svg"):
            raise BadValue("--report", str(self.report), "a name that ends in .html or .svg")
        without = listed(self.without)
        for group in without:
            if group not in OPTIONAL_GROUPS:
                raise BadValue("--without", group, f"some of {', '.join(OPTIONAL_GROUPS)}")
        recording = read_recording(Path(self.name), hand=self.hand or None)
        spec = hands.load(recording.hand)
        names = self._recorded(recording, spec)
        results = []
        with nullcontext() if self.json else console.status("reading") as status:
            told = {} if status is None else {"progress": status.update}
            for name in names:
                results.append(fit_pad(recording, spec, name, model=self.model, without=without, **told))
        if self.report is not None:
            write_report(self.report, results, f"{spec.name}, {Path(self.name).name}, {self.model}")
        if not self.json:
            for result in results:
                print_table(f"{result.pad.name}, {self.model}", known_rows(result))
            print_table("held-out presses, percent of full scale", score_rows(results))
        refusals = [refusal for result in results for refusal in result.refusals]
        if self.json:
            print_json(
                {
                    "scores": score_rows(results),
                    "known": {result.pad.name: known_rows(result) for result in results},
                    "refused": refusals,
                }
            )
        if refusals:
            groups = sorted(
                {known.group for r in results for known in r.known if known.refusal and known.group in OPTIONAL_GROUPS}
            )
            leave = f" Or leave them at their defaults: --without {','.join(groups)}." if groups else ""
            learn = (
                " A curve that is far from straight shows the same way: --model learned."
                if self.model != "learned"
                else ""
            )
            raise NotIdentifiable(self.name, refusals, f"Nothing is written.{leave}{learn}")
        if self.out is not None:
            notes = [
                f"Skin of {spec.name}, fitted to {Path(self.name).name} ({self.model}).",
                *(
                    f"{r.pad.name}: {r.score.rms:.2f} % of full scale off in {r.score.presses} presses it had not seen "
                    f"(95 %: {r.score.low:.2f} to {r.score.high:.2f})."
                    for r in results
                ),
            ]
            write_calibration(self.out, spec, {r.pad.name: r.calibration for r in results}, notes)
        for written in (self.out, self.report):
            if written is not None and not self.json:
                console.print(f"wrote {written}", highlight=False)

    def _score(self) -> None:
        from thenar.touch.calibrate import load_calibration, read_recording, score_pad

        if self.calibration is None:
            raise BadValue("--calibration", None, "a file that fit has written")
        recording = read_recording(Path(self.name), hand=self.hand or None)
        spec = hands.load(recording.hand)
        calibration = load_calibration(self.calibration, spec)
        rows: list[dict[str, object]] = []
        for name in self._recorded(recording, spec):
            found = score_pad(recording, spec, name, calibration)
            figures = {"error": found.rms, "low": found.low, "high": found.high, "p95": found.p95}
            rounded = {key: round(value, 2) for key, value in figures.items()}
            rows.append({"pad": name, **rounded, "presses": found.presses})
        if self.json:
            print_json(rows)
        else:
            print_table(f"{self.calibration.name} against {Path(self.name).name}, percent of full scale", rows)

    def _recorded(self, recording: Recording, spec: HandSpec) -> tuple[str, ...]:
        """Pads that were asked for, or all of the recording."""
        names = listed(self.pad) or tuple(recording.counts)
        for name in names:
            spec.pad(name)
            if name not in recording.counts:
                raise BadFile(self.name, f"no columns of {name}; it has {', '.join(recording.counts)}")
        return names

    def _pads(self, spec: HandSpec) -> tuple[str, ...]:
        if not spec.pads:
            raise BadValue("hand", spec.name, f"a hand with pads: {_with_pads()}")
        names = listed(self.pad) or (spec.pads[0].name,)
        if self.action == "make" and len(names) > 1:
            raise BadValue("--pad", self.pad, "one pad")
        for name in names:
            spec.pad(name)
        return names


def _with_pads() -> str:
    return ", ".join(name for name in hands.names() if hands.load(name).pads)


def _say_how(spec: HandSpec, pad: Pad) -> None:
    from thenar.touch.calibrate.press_recording import FIXED, taxel_columns

    columns = taxel_columns(spec, pad.name)
    console.print(
        f"Full force: where the pressed taxel stops counting up, or the most it will meet. Use a round probe and a "
        f"load cell or known weights.\nWrite a CSV file, 25 rows a second or more:\n"
        f"  # hand: {spec.name}\n  # probe_mm: 1.5        (radius of the patch that presses)\n"
        f"  {','.join(FIXED)},{columns[0]},...,{columns[-1]}\n"
        f"time_s since switching on; u_mm and v_mm along rows and columns from the pad's centre. While it grows:\n"
        f"  thenar calibrate protocol {spec.name} --pad {pad.name} --check FILE.csv --follow",
        highlight=False,
        markup=False,
    )


def _growing(name: str, rows: RecordingRows, *, once: bool) -> Iterator[None]:
    """Feed whole lines as they come; yields after every look."""
    if name == "-":
        last_s = time.monotonic()
        for line in sys.stdin:
            rows.feed([line])
            if not once and time.monotonic() - last_s > LOOK_S:
                last_s = time.monotonic()
                yield
        yield
        return
    path, left = Path(name), ""
    try:
        with path.open(encoding="utf-8") as file:
            while True:
                left += file.read()
                lines = left.splitlines(keepends=True)
                left = lines.pop() if lines and not lines[-1].endswith("\n") and not once else ""
                rows.feed(lines)
                yield
                if once:
                    return
                time.sleep(LOOK_S)
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error


def _progress(rows: RecordingRows, spec: HandSpec, pad: Pad) -> list[Progress]:
    from thenar.touch.calibrate import check, plan
    from thenar.touch.calibrate.press_recording import MIN_ROWS

    if len(rows) < MIN_ROWS:
        return []
    recording = rows.recording(growing=True)
    if recording.hand != spec.name or pad.name not in recording.counts:
        raise BadFile(
            "recording", f"it is of {', '.join(recording.counts)} of {recording.hand}; wanted {pad.name} of {spec.name}"
        )
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
    advice = Text("complete: thenar calibrate fit") if first is None else Text(f"{first.step}: {first.missing}")
    return Group(table, advice)
