"""Plots and tables of reports: SVG and HTML that need nothing else."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thenar.arrays import FloatArray

STYLE = (
    "body{font:15px system-ui;max-width:62em;margin:2em auto;padding:0 1em;color:#222}"
    "td,th{padding:.15em .9em;text-align:right;border-bottom:1px solid #ddd}"
    "td:first-child,th:first-child{text-align:left}"
)
READ, OURS, SCALE = "#555", "#0b62a4", "#d1495b"


class Panel(NamedTuple):
    """A rectangle of the plot with the ranges that its sides stand for."""

    left: float
    top: float
    right: float
    bottom: float
    wide: tuple[float, float]
    high: tuple[float, float]

    def x(self, value: Any) -> Any:
        """Across the page."""
        return self.left + (self.right - self.left) * (value - self.wide[0]) / (self.wide[1] - self.wide[0])

    def y(self, value: Any) -> Any:
        """Down the page."""
        return self.bottom - (self.bottom - self.top) * (value - self.high[0]) / (self.high[1] - self.high[0])

    def frame(self, up: str, along: str, *, numbered: bool = False) -> list[str]:
        """Border, ticks and captions."""
        width, height = self.right - self.left, self.bottom - self.top
        parts = [f'<rect x="{self.left}" y="{self.top}" width="{width}" height="{height}" fill="none" stroke="#bbb"/>']
        for value in _round_ticks(*self.high):
            parts.append(self.level(value, 'stroke="#eee"'))
            y = f"{self.y(value) + 4:.1f}"
            parts.append(f'<text x="{self.left - 6}" y="{y}" text-anchor="end">{value + 0.0:g}</text>')
        for value in _round_ticks(*self.wide) if numbered else ():
            x = f"{self.x(value):.1f}"
            parts.append(f'<text x="{x}" y="{self.bottom + 15}" text-anchor="middle">{value:g}</text>')
        parts.append(f'<text x="{self.left + 6}" y="{self.top + 15}" fill="#555">{up}</text>')
        middle = f'x="{(self.left + self.right) / 2}" y="{self.bottom + 32}" text-anchor="middle"'
        return [*parts, f'<text {middle} fill="#555">{along}</text>']

    def level(self, value: float, style: str) -> str:
        """A line across."""
        y = f"{self.y(value):.1f}"
        return f'<line x1="{self.left}" x2="{self.right}" y1="{y}" y2="{y}" {style}/>'

    def bar(self, number: int, value: float) -> str:
        """One bar of many."""
        y, width = self.y(value), 0.76 * (self.x(1.0) - self.left)
        place = f'x="{self.x(number + 0.12):.1f}" y="{y:.1f}" width="{width:.1f}" height="{self.bottom - y:.1f}"'
        return f'<rect {place} fill="{OURS}"/>'

    def line(self, x: FloatArray, y: FloatArray, color: str, width: float) -> str:
        """A line through points; what is beyond the panel is drawn at its edge."""
        points = zip(self.x(x), self.y(np.clip(y, *self.high)), strict=True)
        text = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        style = f'fill="none" stroke="{color}" stroke-width="{width}" stroke-opacity="0.85"'
        return f'<polyline points="{text}" {style}/>'


def _round_ticks(low: float, high: float) -> FloatArray:
    """About five round numbers within a range."""
    rough = (high - low) / 5.0
    size = 10.0 ** np.floor(np.log10(rough))
    step = size * min((1.0, 2.0, 5.0, 10.0), key=lambda k: abs(k * size - rough))
    return np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step + 0.0


def html_table(rows: Sequence[dict[str, object]]) -> str:
    """Rows as a table; the keys of the first row are its columns."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    cells = ("".join(f"<td>{html.escape(str(value))}</td>" for value in row.values()) for row in rows)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
