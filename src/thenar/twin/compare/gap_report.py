"""Two recordings under the same commands, side by side: ``thenar.compare(rec, again).save("gap.html")``."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thenar import hands
from thenar.errors import BadValue, UnknownName, writing
from thenar.recordings.recording import JointColumns, Recording
from thenar.twin.compare.finding import Finding, in_one_grip
from thenar.twin.compare.motor_findings import MotorPair, find_motor_gaps, pair_motors
from thenar.twin.compare.rates import find_rate_gaps
from thenar.twin.compare.skin_findings import SkinSeries, find_skin_gaps
from thenar.twin.reports.svg_panel import OURS, SCALE, STYLE, Panel, html_table

POINTS = 1200
EXPECTED_HZ = {"inspire": (100.0, 50.0), "dfx": (100.0, 0.0), "tienkung": (25.0, 0.0), "reflex": (40.0, 40.0)}
"""How often states and touch come on each wire."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Gap:
    """How far two recordings differ; `findings` is empty where nothing is sure."""

    findings: tuple[Finding, ...]
    pairs: tuple[MotorPair, ...]
    names: tuple[str, str]
    left_out: tuple[str, ...] = ()
    """Hands whose motions could not be compared, each with the reason."""

    def __str__(self) -> str:
        found = [finding.words for finding in self.findings] or ["no difference that is sure"] * bool(self.pairs)
        return "\n".join([*found, *self.left_out])

    def rows(self) -> list[dict[str, object]]:
        """Findings as rows of a table."""
        return [
            {
                "hand": finding.hand,
                "finding": finding.words,
                "size": f"{finding.size:.4g} {finding.unit}",
                "error": f"{finding.error:.2g}" if finding.error else "",
                "seen in": finding.evidence,
            }
            for finding in self.findings
        ]

    def save(self, path: Path | str) -> None:
        """Write a page that needs nothing else: findings, differences and every motor's angle over time."""
        path = Path(path)
        if path.suffix != ".html":
            raise BadValue("report", str(path), "a name that ends in .html")
        title = f"{self.names[0]} beside {self.names[1]}"
        parts = [f"<h1>{html.escape(title)}</h1>"]
        if self.findings:
            parts.append(html_table(self.rows()))
        elif self.pairs:
            parts.append("<p>No difference that is sure.</p>")
        parts += [f"<p>{html.escape(reason)}</p>" for reason in self.left_out]
        for pair in self.pairs:
            apart = pair.apart_deg
            rows: list[dict[str, object]] = [
                {
                    "motor": name,
                    "median": f"{np.median(apart[:, n]):.2f} degrees",
                    "99 %": f"{np.percentile(apart[:, n], 99):.2f} degrees",
                    "most": f"{apart[:, n].max():.2f} degrees",
                }
                for n, name in enumerate(pair.names)
            ]
            parts += [f"<h2>{html.escape(pair.spec.name)}</h2>", html_table(rows)]
            legend = f'<p><span style="color:{OURS}">{html.escape(self.names[0])}</span>, '
            parts.append(
                f'{legend}<span style="color:{SCALE}">{html.escape(self.names[1])}</span>; degrees, seconds</p>'
            )
            parts += [_plot(pair, n) for n in range(len(pair.names))]
        page = f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><style>{STYLE}</style>"
        with writing(path):
            path.write_text(page + "".join(parts), encoding="utf-8")


def _plot(pair: MotorPair, motor: int) -> str:
    rows = np.arange(0, len(pair.stamp_s), max(1, len(pair.stamp_s) // POINTS))
    lines = [np.degrees(part["angle_rad"][rows, motor]) for part in (pair.hand, pair.twin)]
    low, high = min(float(line.min()) for line in lines), max(float(line.max()) for line in lines)
    along = pair.stamp_s[rows]
    panel = Panel(56, 8, 940, 128, (float(along[0]), float(along[-1])), (low - 2.0, high + 2.0))
    drawn = [panel.line(along, line, color, 1.3) for line, color in zip(lines, (OURS, SCALE), strict=True)]
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 164" width="100%" font-size="12" fill="#222">'
    return "\n".join([head, *panel.frame(pair.names[motor], "", numbered=True), *drawn, "</svg>"])


def compare(recording: Recording | Path | str, again: Recording | Path | str) -> Gap:
    """Say how far two recordings under the same commands differ, such as a real hand's and its twin's replay.

    Args:
        recording: The hand; sizes of findings are this one less the other.
        again: Its twin, such as ``thenar.replay(recording)`` gives it.
    """
    recording, again = (one if isinstance(one, Recording) else Recording(one) for one in (recording, again))
    shared = [hand for hand in recording.hands if hand in again.hands]
    if not shared:
        raise UnknownName("hand of the other recording", ", ".join(recording.hands), again.hands)
    findings: list[Finding] = []
    pairs = []
    every = dict.fromkeys((*recording.hands, *again.hands))
    left_out = [f"{hand} is in one of them only: it was not compared" for hand in every if hand not in shared]
    for hand in shared:
        spec = hands.load(hand)
        motors = recording.motors(hand)
        pair = pair_motors(spec, motors, again.motors(hand), _commands(recording, hand, len(spec.actuators)))
        if pair is not None:
            pairs.append(pair)
            findings += find_motor_gaps(pair)
        else:
            left_out.append(f"{hand}: both tell its state at the same times for less than a second: not compared")
        state_hz, touch_hz = _expected(recording, again, hand)
        findings += find_rate_gaps(hand, "state", motors.stamp_s, state_hz)
        if recording.has_touch(hand):
            touch = _skin(recording, hand)
            findings += find_skin_gaps(spec, touch, _skin(again, hand) if again.has_touch(hand) else None)
            findings += find_rate_gaps(hand, "touch", touch.stamp_s, touch_hz)
    names = recording.name, again.name
    return Gap(findings=tuple(in_one_grip(findings)), pairs=tuple(pairs), names=names, left_out=tuple(left_out))


def _skin(recording: Recording, hand: str) -> SkinSeries:
    touch = recording.touch(hand)
    return SkinSeries(touch.stamp_s, touch.layout, touch.taxel_counts)


def _commands(recording: Recording, hand: str, motors: int) -> JointColumns:
    """What the hand was told; nothing, where nobody said anything."""
    try:
        return recording.commands(hand)
    except UnknownName:
        nothing = np.zeros((0, motors))
        return JointColumns(stamp_s=np.zeros(0), names=(), position_rad=nothing, velocity_rad_s=nothing, effort=nothing)


def _expected(recording: Recording, again: Recording, hand: str) -> tuple[float, float]:
    """Rates of states and touch: the wire's own, or those of the other recording."""
    wire = recording.about.get("wire", "")
    if wire:
        return EXPECTED_HZ.get(wire, (0.0, 0.0))
    stamps = [again.motors(hand).stamp_s, again.touch(hand).stamp_s if again.has_touch(hand) else np.zeros(0)]
    rates = [(len(times) - 1) / max(float(times[-1] - times[0]), 1e-9) if len(times) > 1 else 0.0 for times in stamps]
    return rates[0], rates[1]
