"""Time plots of one hand's motors: angle, force, current and temperature of the last seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray
from viser import uplot

from thenar.hands.spec import HandSpec

SPAN_S = 12.0
SAMPLE_S = 0.08
COLORS = ("#4dabf7", "#ffa94d", "#69db7c", "#ff8787", "#b197fc", "#66d9e8", "#ffd43b", "#f783ac")
# Title, field of the motion record, factor from SI, and the range that an axis shows at least: noise is no motion.
QUANTITIES = (
    ("angle [deg]", "angle_rad", 180.0 / np.pi, (0.0, 90.0)),
    ("force [N]", "force_n", 1.0, (-0.5, 3.0)),
    ("current [A]", "current_a", 1.0, (0.0, 0.4)),
    ("temperature [°C]", "temperature_c", 1.0, (20.0, 35.0)),
)
HIDDEN: Any = {"show": False}
GRID: Any = {"stroke": "rgba(140,150,170,0.14)", "width": 1}


class Plots:
    """Four charts of the hand that is chosen."""

    def __init__(self, gui: viser.GuiApi, hands: Sequence[HandSpec]):
        """Empty charts in the current container."""
        self._gui = gui
        self._motors = {hand.name: hand.actuator_names for hand in hands}
        length = round(SPAN_S / SAMPLE_S)
        self._samples: dict[str, deque[tuple[float, NDArray]]] = {name: deque(maxlen=length) for name in self._motors}
        self._next_s = -np.inf
        self._chosen = gui.add_dropdown("Hand", list(self._motors), initial_value=hands[-1].name)
        self._charts: list[viser.GuiUplotHandle] = []
        self._legend = gui.add_html("")
        self._folder = gui.add_folder(None)
        self._lay_out()

    def add_sample(self, motion: NDArray[np.void]) -> bool:
        """Keep a sample of every hand when one is due; whether it was."""
        now_s = float(motion["time_s"])
        if now_s < self._next_s - 2 * SAMPLE_S:  # time was set back
            for samples in self._samples.values():
                samples.clear()
            self._next_s = now_s
        if now_s < self._next_s:
            return False
        self._next_s = now_s + SAMPLE_S
        for name, samples in self._samples.items():
            samples.append((now_s, np.stack([factor * motion[name][field] for _, field, factor, _ in QUANTITIES])))
        return True

    def draw(self) -> None:
        """Bring the charts up to date."""
        if self._chosen.value != self._shown and self._chosen.value in self._motors:  # it takes what a visitor sends
            self._lay_out()
        samples = self._samples[self._shown]
        if len(samples) < 2:
            return
        x = np.array([at_s for at_s, _ in samples])
        y = np.stack([values for _, values in samples]).astype(np.float64)  # (time, quantity, motor)
        for chart, values, (*_, bounds) in zip(self._charts, y.transpose(1, 2, 0), QUANTITIES, strict=True):
            chart.data = (x, *values, *[np.full(len(x), end) for end in bounds])

    def _lay_out(self) -> None:
        """Charts for the motors of the chosen hand."""
        for chart in self._charts:
            chart.remove()
        self._shown = self._chosen.value
        series = {name: COLORS[k % len(COLORS)] for k, name in enumerate(self._motors[self._shown])}
        self._legend.content = (
            '<div style="display:flex;flex-wrap:wrap;gap:2px 10px;font-size:0.78em;padding:2px 12px 6px">'
            + "".join(f'<span><b style="color:{color}">&#9644;</b> {name}</span>' for name, color in series.items())
            + "</div>"
        )
        lines = [uplot.Series(label=name, stroke=c, width=1.6, points=HIDDEN) for name, c in series.items()]
        bounds = [uplot.Series(stroke="rgba(0,0,0,0)", points=HIDDEN)] * 2
        axes = [uplot.Axis(stroke="#8b93a5", grid=GRID, font="11px sans-serif", size=size) for size in (26, 42)]
        with self._folder:
            self._charts = [
                self._gui.add_uplot(
                    data=(np.zeros(2),) * (1 + len(lines) + len(bounds)),
                    series=(uplot.Series(label="s"), *lines, *bounds),
                    title=title,
                    scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                    axes=tuple(axes),
                    legend=uplot.Legend(show=False),
                    height=128,
                    padding=(4, 10, 0, 0),
                )
                for title, *_ in QUANTITIES
            ]
