"""The page about one real hand: what was checked, and how far the twin was off before and after identification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thenar import __version__, hands
from thenar.errors import BadValue, UnknownName, writing
from thenar.recordings.recording import Recording
from thenar.twin.compare.finding import Finding
from thenar.twin.compare.gap_report import Gap, compare
from thenar.twin.recording.identification import identify, rows_of, values_of
from thenar.twin.recording.replay import recorded_world, replay

FIELDS = {"angle_rad": ("angle", "degrees", 180.0 / np.pi), "force_n": ("force", "N", 1.0)}
FIELDS |= {"current_a": ("current", "A", 1.0), "temperature_c": ("temperature", "C", 1.0)}
UNKNOWN = "not told"


@dataclass(frozen=True, kw_only=True, eq=False)
class HardwareReport:
    """What recordings of a real hand say about it and its twin."""

    hand: str
    facts: dict[str, str]
    """What was checked, by name; the page begins with it."""
    apart: list[dict[str, object]]
    """A row for each field: hand and twin apart, before and after."""
    findings: tuple[Finding, ...]
    """What differs before anything is identified."""
    left: tuple[Finding, ...]
    """What differs after it."""
    motors: list[dict[str, object]]
    """What was identified."""

    def markdown(self) -> str:
        """The page."""
        head = "\n".join(f"{name}: {value}" for name, value in self.facts.items())
        learned = self.facts["taught by"] != "nothing"
        parts = [
            f"---\n{head}\n---\n\n# {self.hand}, firmware {self.facts['firmware']}",
            f"Judged on `{self.facts['judged on']}`, a recording of {self.facts['seconds']} s on the wire "
            f"`{self.facts['wire']}`; motors identified from {self.facts['taught by']}.",
            "## Hand and twin apart",
            _table(self.apart),
            "## What differs",
            _listed(self.findings, "nothing that is sure"),
        ]
        if learned:
            parts += ["## What differs after identification", _listed(self.left, "nothing that is sure")]
            parts += ["## Motors", _table(self.motors)]
        return "\n\n".join(parts) + "\n"

    def save(self, path: Path) -> None:
        """Write the page."""
        if path.suffix != ".md":
            raise BadValue("page", str(path), "a name that ends in .md")
        with writing(path):
            path.write_text(self.markdown(), encoding="utf-8")


def hardware_report(recordings: Sequence[Recording], *, hand: str = "", firmware: str = "") -> HardwareReport:
    """Hold a twin against the last of these recordings, before and after its motors are identified from the others.

    Args:
        recordings: Of one hand, by ``thenar record``: the protocol of ``thenar identify``, then any other motions.
        hand: Its name, where recordings have several.
        firmware: What its maker calls it.
    """
    if not recordings:
        raise BadValue("recordings", "none", "one file or more; the last one is judged")
    for one in recordings:
        if one.about.get("source") != "wire":
            raise BadValue("recording", one.name, "one of a hand on its wire: thenar record makes it")
    *teaching, judged = recordings
    name = hand or (judged.hands[0] if len(judged.hands) == 1 else "")
    if name not in judged.hands:
        raise UnknownName("hand of the recording", name, judged.hands)
    spec = hands.load(name)
    touch = judged.has_touch(name)
    before = compare(judged, replay(judged, world=recorded_world(judged, motors={}), touch=touch))
    after, found = before, []
    if teaching:
        found = identify(teaching, spec).motors
        own = recorded_world(judged, motors={name: values_of(found)})
        after = compare(judged, replay(judged, world=own, touch=touch))
    stamps = judged.motors(name).stamp_s
    rate_hz = (len(stamps) - 1) / max(float(stamps[-1] - stamps[0]), 1e-9)
    facts = {
        "hand": name,
        "firmware": firmware or UNKNOWN,
        "wire": judged.about["wire"],
        "only listened": judged.about["passive"],
        "judged on": Path(judged.name).name,
        "seconds": f"{judged.duration_s:.0f}",
        "taught by": ", ".join(Path(one.name).name for one in teaching) or "nothing",
        "states a second": f"{rate_hz:.1f}",
        "touch": "yes" if touch else "no",
        "thenar": __version__,
    }
    return HardwareReport(
        hand=name,
        facts=facts,
        apart=_apart(name, before, after if teaching else None),
        findings=tuple(one for one in before.findings if one.hand == name),
        left=tuple(one for one in after.findings if one.hand == name),
        motors=rows_of(spec, found) if found else [],
    )


def _apart(hand: str, before: Gap, after: Gap | None) -> list[dict[str, object]]:
    """How far each field is apart, over all motors: median and 99 %."""
    rows = []
    for field, (label, unit, scale) in FIELDS.items():
        row: dict[str, object] = {"field": label, "unit": unit}
        for when, gap in (("before", before), ("after", after)):
            pair = next((one for one in gap.pairs if one.spec.name == hand), None) if gap is not None else None
            off = scale * np.abs(pair.hand[field] - pair.twin[field]) if pair is not None else np.zeros(0)
            off = off[np.isfinite(off)]
            for what, share in (("median", 50), ("99 %", 99)):
                row[f"{when}, {what}"] = f"{np.percentile(off, share):.3g}" if off.size else "-"
        rows.append(row)
    return rows


def _table(rows: Sequence[dict[str, object]]) -> str:
    if not rows:
        return "nothing"
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _listed(findings: Sequence[Finding], nothing: str) -> str:
    return "\n".join(f"- {one.words}" for one in findings) or f"- {nothing}"
