"""A report on a calibration: what is known and how well, as one HTML page or one SVG plot that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadFile, BadValue
from thenar.touch.calibrate.identify import TOLERANCE, USUAL_TOLERANCE
from thenar.touch.calibrate.procedure import PadResult
from thenar.touch.calibrate.score import one_scale

STYLE = (
    "body{font:15px system-ui;max-width:62em;margin:2em auto;padding:0 1em;color:#222}"
    "td,th{padding:.15em .9em;text-align:right;border-bottom:1px solid #ddd}"
    "td:first-child,th:first-child{text-align:left}"
)
READ, OURS, SCALE = "#555", "#0b62a4", "#d1495b"
WIDTH, HEIGHT = 960, 560
POINTS = 900
BAR = 3.0  # percent: what a calibration should reach


def score_rows(results: Sequence[PadResult]) -> list[dict[str, object]]:
    """Scores as rows of a table, in percent of full scale; low and high are the 95 % interval of the error."""
    return [
        {
            "pad": result.pad.name,
            "error": round(result.score.rms, 2),
            "low": round(result.score.low, 2),
            "high": round(result.score.high, 2),
            "p95": round(result.score.p95, 2),
            "one_scale": round(result.scale_score.rms, 2),
            "presses": result.score.presses,
        }
        for result in results
    ]


def known_rows(result: PadResult) -> list[dict[str, object]]:
    """Every number that was fitted, with its range over the taxels and how well it is known."""
    f, unit = result.fitted, "Pa" if result.pad.sensor == "barometer" else "counts"
    per = "Pa/Pa" if result.pad.sensor == "barometer" else "counts/N"

    def span(values: FloatArray, form: str = "{:.3g}") -> str:
        low, high = form.format(float(values.min())), form.format(float(values.max()))
        return low if low == high else f"{low} to {high}"

    values = {
        "offset": f"{span(f.offset)} {unit}",
        "gain": f"{span(f.gain)} {per}",
        "depth": f"{1e3 * f.depth_m:.2f} mm",
        "crosstalk": f"{span(100 * f.crosstalk)} %",
        "hysteresis": f"creep {span(100 * f.hysteresis)} % in {f.fade_s:.2g} s, play {span(100 * f.play)} %",
        "drift": f"{span(f.drift)} {unit} in {f.drift_s:.0f} s",
    }
    return [
        {
            "what": known.group,
            "value": values[known.group],
            "off_by_%": round(100 * float(known.error.max()), 1),
            "known": "no" if known.refusal else "yes",
        }
        for known in result.known
    ]


def write_report(path: Path, results: Sequence[PadResult], title: str) -> None:
    """Write a page (.html) with tables and plots of every pad, or the plot of the first pad (.svg)."""
    if path.suffix not in (".html", ".svg"):
        raise BadValue("report", str(path), "a name that ends in .html or .svg")
    if path.suffix == ".svg":
        text = plot(results[0])
    else:
        parts = [f"<h1>{html.escape(title)}</h1>", _table(score_rows(results))]
        for result in results:
            parts += [f"<h2>{result.pad.name}</h2>", plot(result), _table(known_rows(result))]
            parts += [f"<p>{html.escape(refusal)}</p>" for refusal in result.refusals]
        within = f"{100 * USUAL_TOLERANCE:g} % of full scale, of drift and offset {100 * TOLERANCE['drift']:g} %"
        parts.append(f"<p>Known: 95 % of the error it leaves in a reading is within {within}.</p>")
        text = (
            f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><style>{STYLE}</style>"
            + "".join(parts)
        )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadFile(path, f"cannot be written: {error.strerror}") from error


def plot(result: PadResult) -> str:
    """Unseen presses over time, one taxel's reading against its load, and the error of every taxel."""
    presses, back = result.presses, result.held_out & result.presses.usable
    load = presses.taxel_load_n(result.fitted.depth_m)
    scale = one_scale(presses, load, result.fitted.offset, ~result.held_out)
    taxel = int(np.argmax(np.sum(load[back], axis=0)))
    rows = np.flatnonzero(back)
    takes_part = np.array(
        [load[presses.press == n, taxel].max() > 0.2 * load[:, taxel].max() for n in range(presses.count)]
    )
    rows = rows[takes_part[presses.press[rows]]]
    rows = rows[:: max(1, len(rows) // POINTS)]
    unit = 1e-3 if result.pad.sensor == "barometer" else 1.0
    names = ("kPa", "load at the die, kPa") if result.pad.sensor == "barometer" else ("counts", "load on the taxel, N")
    row, col = divmod(taxel, result.pad.cols)
    lines = [
        ("one scale factor", SCALE, unit * scale[rows, taxel]),
        ("read", READ, unit * presses.counts[rows, taxel]),
        ("calibrated", OURS, unit * result.predicted[rows, taxel]),
    ]
    top = max(float(values.max()) for _, _, values in lines[1:]) * 1.12
    low = min(0.0, *(float(values.min()) for _, _, values in lines))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="12" y="22" font-size="15" font-weight="bold">{result.pad.name}: unseen presses, '
        f"{result.score.rms:.2f} % of full scale off ({result.score.low:.2f} to {result.score.high:.2f}); "
        f"one scale factor {result.scale_score.rms:.1f} %</text>",
    ]
    for number, (name, colour, _) in enumerate(lines):
        x = 64 + 150 * number
        parts.append(f'<line x1="{x}" x2="{x + 22}" y1="40" y2="40" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="{x + 28}" y="44">{name}</text>')
    box = (64, 58, WIDTH - 24, 258)
    along = np.linspace(0.0, 1.0, len(rows))
    parts += _frame(
        box, (0.0, 1.0), (low, top), f"taxel {row},{col}, {names[0]}", "unseen presses, one after the other"
    )
    parts += [_line(box, along, values, (0.0, 1.0), (low, top), colour, 1.6) for _, colour, values in lines]
    box = (64, 310, 430, HEIGHT - 46)
    x = unit * load[rows, taxel]
    wide = (0.0, float(x.max()) * 1.03)
    parts += _frame(box, wide, (low, top), names[0], names[1], numbered=True)
    for _, colour, values in lines:
        for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(presses.press[rows])) + 1):
            parts.append(_line(box, x[part], values[part], wide, (low, top), colour, 1.0))
    parts += _bars((540, 310, WIDTH - 24, HEIGHT - 46), result)
    return "\n".join([*parts, "</svg>", ""])


def _bars(box: tuple[float, float, float, float], result: PadResult) -> list[str]:
    """Error of every taxel."""
    left, top, right, bottom = box
    errors = result.score.taxel_rms
    most = max(1.2 * BAR, 1.1 * float(np.nanmax(errors, initial=0.0)))
    step = (right - left) / len(errors)
    parts = _frame(box, (0.0, float(len(errors))), (0.0, most), "error, % of full scale", "taxels, row by row")
    for k, error in enumerate(errors):
        if np.isfinite(error):
            y = bottom - (bottom - top) * error / most
            parts.append(
                f'<rect x="{left + (k + 0.12) * step:.1f}" y="{y:.1f}" width="{0.76 * step:.1f}" '
                f'height="{bottom - y:.1f}" fill="{OURS}"/>'
            )
    y = bottom - (bottom - top) * BAR / most
    return [
        *parts,
        f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{SCALE}" stroke-dasharray="5 4"/>',
    ]


def _frame(
    box: tuple[float, float, float, float],
    wide: tuple[float, float],
    high: tuple[float, float],
    up: str,
    along: str,
    *,
    numbered: bool = False,
) -> list[str]:
    left, top, right, bottom = box
    parts = [f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" fill="none" stroke="#bbb"/>']
    for value in _round_ticks(*high):
        y = bottom - (bottom - top) * (value - high[0]) / (high[1] - high[0])
        parts.append(f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eee"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value + 0.0:g}</text>')
    for value in _round_ticks(*wide) if numbered else ():
        x = left + (right - left) * (value - wide[0]) / (wide[1] - wide[0])
        parts.append(f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{value:g}</text>')
    parts.append(f'<text x="{left + 6}" y="{top + 15}" fill="#555">{up}</text>')
    parts.append(f'<text x="{(left + right) / 2}" y="{bottom + 32}" text-anchor="middle" fill="#555">{along}</text>')
    return parts


def _round_ticks(low: float, high: float) -> FloatArray:
    """About five round numbers within a range."""
    rough = (high - low) / 5.0
    size = 10.0 ** np.floor(np.log10(rough))
    step = size * min((1.0, 2.0, 5.0, 10.0), key=lambda k: abs(k * size - rough))
    return np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step + 0.0


def _line(
    box: tuple[float, float, float, float],
    x: FloatArray,
    y: FloatArray,
    wide: tuple[float, float],
    high: tuple[float, float],
    colour: str,
    width: float,
) -> str:
    left, top, right, bottom = box
    px = left + (right - left) * (x - wide[0]) / (wide[1] - wide[0])
    py = bottom - (bottom - top) * (np.clip(y, *high) - high[0]) / (high[1] - high[0])
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(px, py, strict=True))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-opacity="0.85"/>'


def _table(rows: Sequence[dict[str, object]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(value))}</td>" for value in row.values()) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
