"""What the page says in words: the state of the twin, its wires and what is broken, as small pieces of HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from thenar import colours
from thenar.signals import MotorError, MotorStatus

GOOD, WARM, BAD, DIM = "#69db7c", "#ffc078", "#ff8787", "#8b93a5"
STATUS_WORDS = {
    MotorStatus.RELEASING: "opening",
    MotorStatus.GRASPING: "closing",
    MotorStatus.POSITION_REACHED: "there",
    MotorStatus.FORCE_REACHED: "force reached",
    MotorStatus.CURRENT_PROTECTION: "current limit",
    MotorStatus.STALLED: "stalled",
    MotorStatus.FAULT: "fault",
}
COUNTS_PER_KPA = 10.0
"""One full scale serves both: of counts it is ten times as many as of kilopascals."""
ANYBODY = "anybody (last one wins)"


def strip(status: Mapping[str, Any], wires: Mapping[str, str], updates_hz: float) -> str:
    """The line at the top: clock, speed, who commands."""
    health = status["health"]
    pace = health["pace"]
    if pace == 0.0:
        tempo, tone = "paused", WARM
    elif pace < 1.0:
        tempo, tone = f"slow motion &times; {pace:g}", WARM
    else:
        tempo, tone = f"real time &times; {health['real_time_factor']:.3f}", GOOD
    late = 100.0 * health["late_ticks"] / max(health["ticks"], 1)
    commander = wires.get(health["commander"], ANYBODY)
    cells = [
        ("twin", f"{health['time_s']:.1f} s", ""),
        ("pace", tempo, tone),
        ("late", f"{late:.2f} %", GOOD if late < 0.5 else WARM),
        ("page", f"{updates_hz:.0f} / s", ""),
        ("in command", escape(commander), GOOD if health["commander"] == "page" else WARM),
    ]
    spans = "".join(
        f'<span style="white-space:nowrap"><span style="color:{DIM}">{name}</span> '
        f'<b style="color:{tone or "inherit"}">{value}</b></span>'
        for name, value, tone in cells
    )
    return f'<div style="display:flex;flex-wrap:wrap;gap:2px 12px;font-size:0.82em;padding:4px 12px">{spans}</div>'


def caption(text: str) -> str:
    """What the scripted minute says."""
    if not text:
        return ""
    return (
        '<div style="margin:2px 10px;padding:8px 12px;border-radius:8px;background:rgba(255,146,43,0.14);'
        f'border-left:3px solid #ff922b;font-size:0.9em">{escape(text)}</div>'
    )


def legend(full_kpa: float, counts: bool) -> str:
    """The colour scale with its numbers."""
    table = colours.scale()
    stops = ",".join(colours.css(table[k]) for k in range(0, 256, 15))
    most = COUNTS_PER_KPA * full_kpa if counts else full_kpa
    full, half = f"{most:.0f} {'counts' if counts else 'kPa'}", f"{most / 2:.0f}"
    swatch = (
        '<i style="display:inline-block;width:10px;height:10px;border-radius:2px;background:{};margin-right:4px"></i>'
    )
    return (
        '<div style="padding:2px 12px 6px;font-size:0.78em">'
        f'<div style="height:12px;border-radius:6px;background:linear-gradient(90deg,{stops})"></div>'
        f'<div style="display:flex;justify-content:space-between;color:{DIM}">'
        f"<span>0</span><span>{half}</span><span>{full}</span></div>"
        f'<div style="color:{DIM};display:flex;gap:14px">'
        f"<span>{swatch.format(colours.css(colours.IDLE))}nothing touches</span>"
        f"<span>{swatch.format(colours.css(colours.DEAD))}dead taxel</span></div></div>"
    )


def pad_forces(rows: Sequence[tuple[str, str, float]]) -> str:
    """The pads that are pressed hardest: hand, pad, force."""
    if not rows:
        return f'<div style="padding:0 12px;font-size:0.82em;color:{DIM}">no pad is touched</div>'
    cells = "".join(
        f"<span style='white-space:nowrap'><span style='color:{DIM}'>{escape(hand)}</span> {escape(pad)} "
        f"<b>{force:.2f} N</b></span>"
        for hand, pad, force in rows
    )
    return f'<div style="display:flex;flex-wrap:wrap;gap:1px 14px;padding:0 12px;font-size:0.82em">{cells}</div>'


def motors(names: Sequence[str], own: Any) -> str:
    """State of every motor of a hand: what it does, its force, what is wrong."""
    rows = []
    for k, name in enumerate(names):
        error = MotorError(int(own["error"][k]))
        status = STATUS_WORDS.get(MotorStatus(int(own["status"][k])), "?")
        wrong = ", ".join(
            flag.name.lower().replace("_", " ") for flag in MotorError if flag and flag in error and flag.name
        )
        tone = BAD if error else (WARM if status in ("stalled", "fault", "current limit") else "inherit")
        warm = own["temperature_c"][k]
        heat = "" if warm != warm else f"{warm:.0f} °C"
        rows.append(
            f"<tr><td>{escape(name)}</td><td style='color:{tone}'>{escape(wrong or status)}</td>"
            f"<td style='text-align:right'>{own['force_n'][k]:.1f} N</td>"
            f"<td style='text-align:right'>{heat}</td></tr>"
        )
    return f'<table style="width:100%;font-size:0.78em;padding:0 10px">{"".join(rows)}</table>'


def wires(health: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Everyone who is connected: what they read, how fast they write, how old the last word is."""
    blocks = []
    for link in health["links"]:
        wire = link["wire"]
        state, tone = ("cable pulled", BAD) if wire in health["cut"] else ("up", GOOD)
        ignored = health["not_in_command"].get(wire, 0)
        if wire == health["commander"]:
            state += ", in command"
        rows = "".join(
            f"<tr><td>{escape(peer['who'])}</td><td style='text-align:right'>{peer['rate_hz']:.0f} / s</td>"
            f"<td style='text-align:right;color:{GOOD if peer['age_s'] < 1 else WARM}'>{_age(peer['age_s'])}</td></tr>"
            for peer in link["peers"][:8]
        )
        if not rows:
            rows = f"<tr><td colspan=3 style='color:{DIM}'>nobody has written yet</td></tr>"
        notes = [f"{link['listeners']} reading"]
        if ignored:
            notes.append(f"{ignored} requests heard, not in command")
        refused = sum(link["refused"].values())
        if refused:
            notes.append(f"{refused} refused: {next(iter(link['refused']))}")
        blocks.append(
            f'<div style="padding:4px 12px"><b>{escape(labels.get(wire, wire))}</b> '
            f"<span style='color:{tone}'>{state}</span>"
            f"<div style='color:{DIM};overflow-wrap:anywhere'>{escape(_short(link['where']))}</div>"
            f"<div style='color:{DIM}'>{escape(', '.join(notes))}</div>"
            f"<table style='width:100%'>{rows}</table></div>"
        )
    median_s, worst_s = health["command_latency_s"]
    state, touch = health["state_hz"], health["touch_hz"]
    tail = (
        f'<div style="padding:4px 12px;color:{DIM}">state {state[1]:.0f} / s, touch {touch[1]:.0f} / s; '
        f"command to motor {1e3 * median_s:.1f} ms (99 %: {1e3 * worst_s:.1f} ms)</div>"
    )
    return f'<div style="font-size:0.82em">{"".join(blocks)}{tail}</div>'


def faults(texts: Sequence[str]) -> str:
    """What is broken now."""
    if not texts:
        return f'<div style="padding:2px 12px;font-size:0.85em;color:{GOOD}">everything works</div>'
    items = "".join(f"<div style='color:{BAD}'>&#9888; {escape(text)}</div>" for text in texts)
    return f'<div style="padding:2px 12px;font-size:0.85em">{items}</div>'


def _age(age_s: float) -> str:
    return f"{1e3 * age_s:.0f} ms ago" if age_s < 1.0 else f"{age_s:.0f} s ago"


def _short(where: str, most: int = 90) -> str:
    return where if len(where) <= most else where[: most - 1] + "…"
