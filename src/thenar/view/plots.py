"""Time plots: what the motors of one hand did in the last seconds."""

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
COLOURS = ("#4dabf7", "#ffa94d", "#69db7c", "#ff8787", "#b197fc", "#66d9e8", "#ffd43b", "#f783ac")
QUANTITIES = (
    ("angle", "angle_rad", "deg", 180.0 / np.pi),
    ("force", "force_n", "N", 1.0),
    ("current", "current_a", "A", 1.0),
    ("temperature", "temperature_c", "°C", 1.0),
)
MIN_AXIS_RANGE = ((0.0, 90.0), (-0.5, 3.0), (0.0, 0.4), (20.0, 35.0))
"""What an axis shows at least, so that noise does not look like motion."""


class Plots:
    """Four charts of the hand that is chosen."""

    def __init__(self, gui: viser.GuiApi, hands: Sequence[HandSpec]):
        """Nothing has happened yet."""
        self._hands = {hand.name: hand for hand in hands}
        length = round(SPAN_S / SAMPLE_S)
        self._past: dict[str, deque[tuple[float, NDArray[np.float64]]]] = {
            name: deque(maxlen=length) for name in self._hands
        }
        self._next_s = -np.inf
        names = list(self._hands)
        self.chosen = gui.add_dropdown("Hand", names, initial_value=names[-1])
        self._gui = gui
        self._charts: list[viser.GuiUplotHandle] = []
        self._legend = gui.add_html("")
        self._folder = gui.add_folder(None)
        self._shown = ""
        self._lay_out()

    def remember(self, motion: NDArray[np.void]) -> bool:
        """Keep a sample when it is time for one; whether it was."""
        now_s = float(motion["time_s"])
        if now_s < self._next_s - 2 * SAMPLE_S:  # time was set back
            for past in self._past.values():
                past.clear()
            self._next_s = now_s
        if now_s < self._next_s:
            return False
        self._next_s = now_s + SAMPLE_S
        for name, past in self._past.items():
            own = motion[name]
            past.append(
                (now_s, np.stack([factor * own[field].astype(np.float64) for _, field, _, factor in QUANTITIES]))
            )
        return True

    def draw(self) -> None:
        """Bring the charts up to date."""
        if self.chosen.value != self._shown:
            self._lay_out()
        past = self._past[self._shown]
        if len(past) < 2:
            return
        x = np.array([at_s for at_s, _ in past])
        y = np.stack([values for _, values in past])
        for number, chart in enumerate(self._charts):
            bounds = [np.full(len(x), end) for end in MIN_AXIS_RANGE[number]]
            chart.data = (x, *[y[:, number, motor] for motor in range(y.shape[2])], *bounds)

    def _lay_out(self) -> None:
        """Charts for the motors of the chosen hand."""
        for chart in self._charts:
            chart.remove()
        self._shown = self.chosen.value
        motors = self._hands[self._shown].actuator_names
        colour = [COLOURS[k % len(COLOURS)] for k in range(len(motors))]
        self._legend.content = (
            '<div style="display:flex;flex-wrap:wrap;gap:2px 10px;font-size:0.78em;padding:2px 12px 6px">'
            + "".join(
                f'<span><b style="color:{c}">&#9644;</b> {name}</span>' for c, name in zip(colour, motors, strict=True)
            )
            + "</div>"
        )
        nothing = np.zeros(2)
        grid: Any = {"stroke": "rgba(140,150,170,0.14)", "width": 1}

        def axis(size: int) -> uplot.Axis:
            return uplot.Axis(stroke="#8b93a5", grid=grid, font="11px sans-serif", size=size)

        with self._folder:
            self._charts = [
                self._gui.add_uplot(
                    data=(nothing, *[nothing for _ in motors], nothing, nothing),
                    series=(
                        uplot.Series(label="s"),
                        *[
                            uplot.Series(label=name, stroke=c, width=1.6, points={"show": False})
                            for name, c in zip(motors, colour, strict=True)
                        ],
                        *[uplot.Series(stroke="rgba(0,0,0,0)", points={"show": False}) for _ in range(2)],
                    ),
                    title=f"{title} [{unit}]",
                    scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                    axes=(axis(26), axis(42)),
                    legend=uplot.Legend(show=False),
                    height=128,
                    padding=(4, 10, 0, 0),
                )
                for title, _, unit, _ in QUANTITIES
            ]
