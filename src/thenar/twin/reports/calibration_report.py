"""A report on a calibration: what is known and how well, as one HTML page or one SVG plot that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadValue, writing
from thenar.touch.calibrate.identifiability import TOLERANCE, USUAL_TOLERANCE
from thenar.touch.calibrate.procedure import PadResult
from thenar.touch.calibrate.score import Score, one_scale
from thenar.twin.reports.svg_panel import OURS, READ, SCALE, STYLE, Panel, html_table

WIDTH, HEIGHT = 960, 560
POINTS = 900
BAR = 3.0  # percent: what a calibration should reach


def score_rows(results: Sequence[PadResult]) -> list[dict[str, object]]:
    """Scores as rows of a table, in percent of full scale; low and high are the 95 % interval of the error."""
    return [score_row(result.pad.name, result.score, one_scale=result.scale_score.rms) for result in results]


def score_row(pad: str, score: Score, **more: float) -> dict[str, object]:
    """One score as a row of a table."""
    figures = {"error": score.rms, "low": score.low, "high": score.high, "p95": score.p95, **more}
    return {"pad": pad, **{name: round(value, 2) for name, value in figures.items()}, "presses": score.presses}


def notes(results: Sequence[PadResult]) -> list[str]:
    """What a calibration file says of its accuracy, a line a pad."""
    return [
        f"{r.pad.name}: {r.score.rms:.2f} % of full scale off in {r.score.presses} presses it had not seen "
        f"(95 %: {r.score.low:.2f} to {r.score.high:.2f}); 95 % of readings within {r.score.p95:.2f} %."
        + (f" Dead: {dead_taxels(r)}." if not r.presses.live.all() else "")
        for r in results
    ]


def dead_taxels(result: PadResult) -> str:
    """Taxels that were pressed and read nothing, by row and column."""
    return " ".join(f"{row},{col}" for row, col in result.calibration.dead)


def known_rows(result: PadResult) -> list[dict[str, object]]:
    """Every number that was fitted, with its range over the taxels and how well it is known."""
    f, unit = result.fitted, "Pa" if result.pad.sensor == "barometer" else "counts"
    per = "Pa/Pa" if result.pad.sensor == "barometer" else "counts/N"

    def span(values: FloatArray, form: str = "{:.3g}") -> str:
        values = values[result.presses.live]
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
    dead = (
        []
        if result.presses.live.all()
        else [{"what": "dead", "value": dead_taxels(result), "off_by_%": 0.0, "known": "yes"}]
    )
    return dead + [
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
        parts = [f"<h1>{html.escape(title)}</h1>", html_table(score_rows(results))]
        for result in results:
            parts += [f"<h2>{html.escape(result.pad.name)}</h2>", plot(result), html_table(known_rows(result))]
            parts += [f"<p>{html.escape(refusal)}</p>" for refusal in result.refusals]
        within = f"{100 * USUAL_TOLERANCE:g} % of full scale, of drift and offset {100 * TOLERANCE['drift']:g} %"
        parts.append(f"<p>Known: 95 % of the error it leaves in a reading is within {within}.</p>")
        text = (
            f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><style>{STYLE}</style>"
            + "".join(parts)
        )
    with writing(path):
        path.write_text(text, encoding="utf-8")


def plot(result: PadResult) -> str:
    """Unseen presses over time, one taxel's reading against its load, and the error of every taxel."""
    presses, pad, back = result.presses, result.pad, result.held_out & result.presses.usable
    load = presses.taxel_load_n(result.fitted.depth_m)
    scale = one_scale(presses, load, result.fitted.offset, ~result.held_out)
    taxel = int(np.argmax(np.sum(load[back], axis=0)))
    takes_part = np.array(
        [load[presses.press == n, taxel].max() > 0.2 * load[:, taxel].max() for n in range(presses.count)]
    )
    rows = np.flatnonzero(back & takes_part[presses.press])
    rows = rows[:: max(1, len(rows) // POINTS)]
    unit, counts, loads = (
        (1e-3, "kPa", "load at the die, kPa") if pad.sensor == "barometer" else (1.0, "counts", "load on the taxel, N")
    )
    lines = [
        ("one scale factor", SCALE, unit * scale[rows, taxel]),
        ("read", READ, unit * presses.counts[rows, taxel]),
        ("calibrated", OURS, unit * result.predicted[rows, taxel]),
    ]
    top = max(float(values.max()) for _, _, values in lines[1:]) * 1.12
    high = (min(0.0, *(float(values.min()) for _, _, values in lines)), top)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="12" y="22" font-size="15" font-weight="bold">{html.escape(pad.name)}: unseen presses, '
        f"{result.score.rms:.2f} % of full scale off ({result.score.low:.2f} to {result.score.high:.2f}); "
        f"one scale factor {result.scale_score.rms:.1f} %</text>",
    ]
    for number, (name, color, _) in enumerate(lines):
        x = 64 + 150 * number
        parts.append(f'<line x1="{x}" x2="{x + 22}" y1="40" y2="40" stroke="{color}" stroke-width="3"/>')
        parts.append(f'<text x="{x + 28}" y="44">{name}</text>')
    over_time = Panel(64, 58, WIDTH - 24, 258, (0.0, 1.0), high)
    row, col = divmod(taxel, pad.cols)
    parts += over_time.frame(f"taxel {row},{col}, {counts}", "unseen presses, one after the other")
    along = np.linspace(0.0, 1.0, len(rows))
    parts += [over_time.line(along, values, color, 1.6) for _, color, values in lines]
    x = unit * load[rows, taxel]
    over_load = Panel(64, 310, 430, HEIGHT - 46, (0.0, float(x.max()) * 1.03), high)
    parts += over_load.frame(counts, loads, numbered=True)
    each_press = np.split(np.arange(len(rows)), np.flatnonzero(np.diff(presses.press[rows])) + 1)
    parts += [over_load.line(x[part], values[part], color, 1.0) for _, color, values in lines for part in each_press]
    errors = result.score.taxel_rms
    most = max(1.2 * BAR, 1.1 * float(np.nanmax(errors, initial=0.0)))
    bars = Panel(540, 310, WIDTH - 24, HEIGHT - 46, (0.0, float(len(errors))), (0.0, most))
    parts += bars.frame("error, % of full scale", "taxels, row by row")
    parts += [bars.bar(k, float(error)) for k, error in enumerate(errors) if np.isfinite(error)]
    parts.append(bars.level(BAR, f'stroke="{SCALE}" stroke-dasharray="5 4"'))
    return "\n".join([*parts, "</svg>", ""])
