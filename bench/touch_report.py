"""What the bench measured as pages for the docs: tables in Markdown and a plot in SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from bench.touch import Accuracy, Cost

METHODS = (
    # field, name, colour
    ("ours_median", "thenar", "#0b62a4"),
    ("tactile_median", "MuJoCo tactile, scaled to the force", "#d1495b"),
    ("tactile_soft_median", "the same, soft contacts", "#edae49"),
    ("touch_grid_median", "MuJoCo touch_grid", "#3a7d44"),
    ("point_bin_median", "contact point's taxel", "#8e6c8a"),
    ("gaussian_median", "Gaussian in the middle", "#6c757d"),
)

WIDTH, LEFT, RIGHT, TOP = 840, 150, 60, 78
LANE, SPACE = 15, 16  # heights of a method's line and between presses
LOWEST, HIGHEST = 0.3, 1000.0  # percent


def write_touch_report(folder: Path, accuracy: Sequence[Accuracy], cost: Sequence[Cost]) -> list[Path]:
    """Write ``touch_accuracy.md``, ``touch_accuracy.svg`` and ``touch_cost.md``; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "touch_accuracy.md": accuracy_table(accuracy),
        "touch_accuracy.svg": accuracy_plot(accuracy),
        "touch_cost.md": cost_table(cost),
    }
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in pages]


def accuracy_table(rows: Sequence[Accuracy]) -> str:
    """Markdown: relative L2 difference to contact theory in percent, medians but for one column."""
    head = ["press", "presses", "thenar", "thenar, 99 %", *(name for _, name, _ in METHODS[1:])]
    body = [
        [
            row.press,
            str(row.count),
            *(f"{value:.1f}" for value in (row.ours_median, row.ours_p99)),
            *(f"{getattr(row, field):.0f}" for field, _, _ in METHODS[1:]),
        ]
        for row in rows
    ]
    return _table(head, body)


def short_rows(rows: Sequence[Accuracy]) -> list[dict[str, object]]:
    """The same for a terminal, which is narrow."""
    return [
        {
            "press": row.press,
            "ours": row.ours_median,
            "99 %": row.ours_p99,
            "tactile": row.tactile_median,
            "soft": row.tactile_soft_median,
            "grid": row.touch_grid_median,
            "point": row.point_bin_median,
            "Gauss": row.gaussian_median,
        }
        for row in rows
    ]


def cost_table(rows: Sequence[Cost]) -> str:
    """Markdown: time of a frame."""
    return _table(["world", "windows", "ms a frame"], [[r.what, str(r.windows), f"{r.us / 1e3:.2f}"] for r in rows])


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def accuracy_plot(rows: Sequence[Accuracy]) -> str:
    """SVG: a line per method and press on a logarithmic axis; the bar behind ours reaches to its 99 %."""
    block = len(METHODS) * LANE + SPACE
    bottom = TOP + len(rows) * block
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 46}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">',
        f'<rect width="{WIDTH}" height="{bottom + 46}" fill="#fff"/>',
        '<text x="12" y="22" font-size="15" font-weight="bold">Difference to contact theory, median of random presses'
        "</text>",
    ]
    for number, (_, name, colour) in enumerate(METHODS):
        x, y = 12 + (number % 3) * 270, 44 + (number // 3) * 18
        parts.append(
            f'<circle cx="{x + 5}" cy="{y - 4}" r="5" fill="{colour}"/><text x="{x + 16}" y="{y}">{name}</text>'
        )
    for tick in (0.3, 1, 3, 10, 30, 100, 300, 1000):
        x = _x(tick)
        parts.append(f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{tick:g} %</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{bottom + 38}" text-anchor="middle">'
        "relative L2 over the pad's taxels, less is better</text>"
    )
    for number, row in enumerate(rows):
        y = TOP + number * block + SPACE / 2
        parts.append(f'<text x="{LEFT - 12}" y="{y + block / 2 - 6}" text-anchor="end">{row.press}</text>')
        if number:
            parts.append(f'<line x1="12" x2="{WIDTH - 12}" y1="{y - SPACE / 2}" y2="{y - SPACE / 2}" stroke="#bbb"/>')
        for lane, (field, _, colour) in enumerate(METHODS):
            value, at = getattr(row, field), y + (lane + 0.5) * LANE
            end = _x(value)
            parts.append(f'<line x1="{LEFT}" x2="{end}" y1="{at}" y2="{at}" stroke="{colour}" stroke-opacity="0.35"/>')
            if field == "ours_median":
                end = _x(row.ours_p99)
                parts.append(
                    f'<line x1="{_x(value)}" x2="{end}" y1="{at}" y2="{at}" stroke="{colour}" stroke-width="3"/>'
                )
            parts.append(f'<circle cx="{_x(value)}" cy="{at}" r="5" fill="{colour}"/>')
            shown = f"{value:.1f} % (99 %: {row.ours_p99:.1f})" if field == "ours_median" else f"{value:.0f} %"
            parts.append(f'<text x="{end + 9}" y="{at + 4}" font-size="11">{shown}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _x(percent: float) -> float:
    share = math.log(min(max(percent, LOWEST), HIGHEST) / LOWEST) / math.log(HIGHEST / LOWEST)
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)
