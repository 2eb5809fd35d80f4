"""The texts of the page as small pieces of HTML: status of the twin, its motors, its links and its faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from thenar import display
from thenar.signals import MotorError, MotorStatus
from thenar.view.page_scene import Rows

GOOD, WARN, BAD, DIM = "#69db7c", "#ffc078", "#ff8787", "#8b93a5"
STATUS_LABELS: dict[int, str] = {
    MotorStatus.RELEASING: "opening",
    MotorStatus.GRASPING: "closing",
    MotorStatus.POSITION_REACHED: "position reached",
    MotorStatus.FORCE_REACHED: "force reached",
    MotorStatus.CURRENT_PROTECTION: "current limit",
    MotorStatus.STALLED: "stalled",
    MotorStatus.FAULT: "fault",
}
WARN_STATUS = (MotorStatus.CURRENT_PROTECTION, MotorStatus.STALLED, MotorStatus.FAULT)
COUNTS_PER_KPA = 10.0
"""One full scale serves both: of counts it is ten times as many as of kilopascals."""
ANY_LINK = "any (last command wins)"
MAX_PEERS, MAX_ADDRESS = 8, 90


def status_line(health: Mapping[str, Any], updates_hz: float) -> str:
    """The line at the top: clock, speed, late steps, rate of the page."""
    pace = health["pace"]
    if pace == 0.0:
        speed, tone = "paused", WARN
    elif pace < 1.0:
        speed, tone = f"slow motion &times; {pace:g}", WARN
    else:
        speed, tone = f"real time &times; {health['real_time_factor']:.3f}", GOOD
    late = 100.0 * health["late_ticks"] / max(health["ticks"], 1)
    cells = [
        ("simulated", f"{health['time_s']:.1f} s", "inherit"),
        ("runs at", speed, tone),
        ("late steps", f"{late:.2f} %", GOOD if late < 0.5 else WARN),
        ("page", f"{updates_hz:.0f} updates/s", "inherit"),
    ]
    return _flow(
        f'<span style="white-space:nowrap">{_dim(name)} <b style="color:{tone}">{value}</b></span>'
        for name, value, tone in cells
    )


def caption(text: str) -> str:
    """What the guided tour says, or a mirror, line by line; what a line is too long for stands further in."""
    if not text:
        return ""
    lines = (f'<div style="padding-left:1em;text-indent:-1em">{escape(line)}</div>' for line in text.splitlines())
    return (
        '<div style="margin:2px 10px;padding:8px 12px;border-radius:8px;background:rgba(255,146,43,0.14);'
        f'border-left:3px solid #ff922b;font-size:0.9em">{"".join(lines)}</div>'
    )


def legend(full_kpa: float, counts: bool) -> str:
    """The color scale with its numbers."""
    stops = ",".join(display.css(colour) for colour in display.scale()[::15])
    full, unit = (COUNTS_PER_KPA * full_kpa, "counts") if counts else (full_kpa, "kPa")
    swatch = '<i style="display:inline-block;width:10px;height:10px;border-radius:2px;background:{}"></i>'
    return (
        f'<div style="padding:2px 12px 6px;font-size:0.78em;color:{DIM}">'
        f'<div style="height:12px;border-radius:6px;background:linear-gradient(90deg,{stops})"></div>'
        '<div style="display:flex;justify-content:space-between">'
        f"<span>0</span><span>{full / 2:.0f}</span><span>{full:.0f} {unit}</span></div>"
        '<div style="display:flex;gap:14px">'
        f"<span>{swatch.format(display.css(display.IDLE))} no contact</span>"
        f"<span>{swatch.format(display.css(display.DEAD))} dead taxel</span></div></div>"
    )


def pad_forces(forces_n: Mapping[str, float]) -> str:
    """The force on each pad [N]."""
    if not forces_n:
        return _flow([_dim("no contact on any pad")])
    return _flow(
        f'<span style="white-space:nowrap">{_dim(escape(pad))} <b>{force_n:.2f} N</b></span>'
        for pad, force_n in forces_n.items()
    )


def motors(names: Sequence[str], own: Any) -> str:
    """State of every motor of a hand: status or errors, force, temperature."""
    rows = []
    for name, status, errors, force_n, warm_c in zip(
        names, own["status"], own["error"], own["force_n"], own["temperature_c"], strict=True
    ):
        error, status = MotorError(int(errors)), int(status)
        flags = ", ".join(flag.name.lower().replace("_", " ") for flag in MotorError if flag in error and flag.name)
        tone = BAD if error else WARN if status in WARN_STATUS else "inherit"
        load, warm = (
            "" if value != value else f"{value:.{digits}f} {unit}"  # some wires do not tell
            for value, digits, unit in ((force_n, 1, "N"), (warm_c, 0, "°C"))
        )
        rows.append(
            f"<tr><td>{escape(name)}</td><td style='color:{tone}'>{flags or STATUS_LABELS.get(status, status)}</td>"
            f"<td style='text-align:right'>{load}</td><td style='text-align:right'>{warm}</td></tr>"
        )
    return f'<table style="width:100%;font-size:0.78em;padding:0 10px">{"".join(rows)}</table>'


def beside(hands: Mapping[str, Rows]) -> str:
    """Values of hands and of their twins, and how far they are apart."""
    parts = []
    for hand, rows in hands.items():
        before = ["", *(what for what, *_ in rows)]
        cells = "".join(
            f"<tr><td>{'' if what == last else escape(what)}</td>"
            + "".join(f"<td style='text-align:right'>{value:z.2f}</td>" for value in (real, twin, real - twin))
            + f"<td>{escape(unit)}</td></tr>"
            for (what, unit, real, twin), last in zip(rows, before, strict=False)
            if real == real and twin == twin
        )
        titles = "".join(f"<th align=right>{title}</th>" for title in ("hand", "twin", "apart"))
        head = f"<tr><th align=left>{escape(hand)}</th>{titles}<th></th></tr>"
        parts.append(f'<table style="width:100%;font-size:0.78em;padding:0 10px">{head}{cells}</table>')
    return "".join(parts)


def wires(health: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Every link with its clients: how fast they write, how old the last message is."""
    blocks = []
    for link in health["links"]:
        wire = link["wire"]
        state, tone = ("disconnected", BAD) if wire in health["disconnected"] else ("up", GOOD)
        if wire == health["active_link"]:
            state += ", active"
        rows = "".join(
            f"<tr><td>{escape(peer['who'])}</td><td style='text-align:right'>{peer['rate_hz']:.0f} / s</td>"
            f"<td style='text-align:right;color:{GOOD if peer['age_s'] < 1 else WARN}'>{_age(peer['age_s'])}</td></tr>"
            for peer in link["peers"][:MAX_PEERS]
        )
        rows = rows or f"<tr><td>{_dim('no command received yet')}</td></tr>"
        notes = [f"clients reading: {link['listeners']}"]
        if ignored := health["ignored"].get(wire, 0):
            notes.append(f"{ignored} commands ignored, not the active link")
        if refused := sum(link["refused"].values()):
            notes.append(f"{refused} refused: {next(iter(link['refused']))}")
        where = link["where"]
        where = where if len(where) <= MAX_ADDRESS else where[: MAX_ADDRESS - 1] + "…"
        blocks.append(
            f'<div style="padding:4px 12px"><b>{escape(labels.get(wire, wire))}</b> '
            f"<span style='color:{tone}'>{state}</span>"
            f"<div style='color:{DIM};overflow-wrap:anywhere'>{escape(where)}<br>{escape(', '.join(notes))}</div>"
            f"<table style='width:100%'>{rows}</table></div>"
        )
    median_s, worst_s = health["command_latency_s"]
    rates = f"state {health['state_hz'][1]:.0f} / s, touch {health['touch_hz'][1]:.0f} / s"
    latency = f"command to motor {1e3 * median_s:.1f} ms (99 %: {1e3 * worst_s:.1f} ms)"
    blocks.append(f'<div style="padding:4px 12px;color:{DIM}">{rates}; {latency}</div>')
    return f'<div style="font-size:0.82em">{"".join(blocks)}</div>'


def faults(texts: Sequence[str]) -> str:
    """The faults that are injected now."""
    tone, lines = (BAD, [f"&#9888; {escape(text)}" for text in texts]) if texts else (GOOD, ["no faults"])
    return f'<div style="padding:2px 12px;font-size:0.85em;color:{tone}">{"<br>".join(lines)}</div>'


def _flow(spans: Any) -> str:
    """Pieces beside each other, in as many lines as they need."""
    style = "display:flex;flex-wrap:wrap;gap:1px 14px;padding:2px 12px;font-size:0.82em"
    return f'<div style="{style}">{"".join(spans)}</div>'


def _dim(text: str) -> str:
    return f'<span style="color:{DIM}">{text}</span>'


def _age(age_s: float) -> str:
    return f"{1e3 * age_s:.0f} ms ago" if age_s < 1.0 else f"{age_s:.0f} s ago"
