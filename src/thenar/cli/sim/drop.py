"""``thenar drop``: cubes fall on an open hand, and its sensors are shown."""

from __future__ import annotations

import time
from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import tyro
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from thenar import hands
from thenar.cli.show import color, console, print_json, print_table
from thenar.errors import BadValue

if TYPE_CHECKING:
    from thenar.twin.drops import IntArray, Reading

FULL = {"pressure": 96.0, "contact": 1.0}
"""What fills a bar: the counts at which a sensor at rest saturates, or a contact."""
BARS = " ▁▂▃▄▅▆▇█"
HISTORY = 8  # lines that scroll


@dataclass(frozen=True)
class Drop:
    """Let cubes fall on the open ReFlex hand and watch its sensors.

    Size, mass and pose are drawn; the 38 sensors are read as the hand's driver reads them.

    For example:

    thenar drop reflex

    thenar drop reflex --sensor contact --count 30 --seed 4

    thenar drop reflex --count 500 --fast --record drops.npz
    """

    hand: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[HAND]")] = "reflex"
    """Hand to drop on: reflex."""
    sensor: Literal["contact", "pressure"] = "pressure"
    """What sensors report, as on the hardware: counts above rest, or 1 where they are above the threshold."""
    count: int = 10
    """How many cubes."""
    seed: int = 0
    """Of the cubes and of the sensors; the same seed gives the same readings."""
    seconds: float = 1.0
    """Simulated seconds for each cube."""
    rate: float = 40.0
    """Readings a second, 1 to 1000; the firmware's is 40."""
    threshold: int = 20
    """Counts above rest that mean contact; the driver's own is 20."""
    fast: bool = False
    """As fast as it goes, not in real time; always so where nobody watches."""
    record: Path | None = None
    """File for all that was read: .csv, or .npz with the pressures at the dies too."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Drop and show."""
        from thenar.twin.drops import SENSORS, DropSummary, check_writable, counts_above_rest, drop_cubes, write_drops

        spec = hands.load(self.hand)
        if not spec.pads or any(pad.sensor != "barometer" for pad in spec.pads):
            raise BadValue("HAND", self.hand, "a hand with barometers: reflex")
        if self.threshold < 0:
            raise BadValue("--threshold", self.threshold, "counts not below 0")
        if self.record is not None:
            check_writable(self.record)
        began_s = time.perf_counter()
        drops: list[DropSummary] = []
        kept: list[tuple[Reading, IntArray]] = []
        readings = drop_cubes(self.hand, count=self.count, seed=self.seed, seconds=self.seconds, rate_hz=self.rate)
        watched = console.is_terminal and not self.json
        with Live(console=console, refresh_per_second=20) if watched else nullcontext() as live:
            history: deque[Text] = deque(maxlen=HISTORY)
            for reading, counts in counts_above_rest(readings):
                contact = counts > self.threshold
                shown = contact.astype(np.int64) if self.sensor == "contact" else counts
                if self.record is not None:
                    kept.append((reading, shown))
                if reading.cube is None:
                    began_s = time.perf_counter()  # what came before was loading
                    continue
                if not drops or drops[-1].drop != reading.drop:
                    drops.append(DropSummary.of(reading.drop, reading.cube))
                drops[-1].add(counts, contact)
                if live is not None:
                    history.append(self._line(reading, shown))
                    live.update(Group(self._table(shown), self._bars(shown), Text(), *history))
                    if not self.fast:
                        time.sleep(max(0.0, began_s + reading.frame.stamp_s - time.perf_counter()))
        simulated_s = self.count * self.seconds
        speed = simulated_s / (time.perf_counter() - began_s)
        if self.record is not None:
            write_drops(self.record, kept)
        rows = [drop.row() for drop in drops]
        if self.json:
            about = {"hand": self.hand, "sensor": self.sensor, "simulated_s": simulated_s, "times_real_time": speed}
            print_json(about | {"drops": rows})
            return
        print_table("Cubes that fell: sensors in contact, and the strongest in counts above rest", rows)
        touched = sum(drop.sensors > 0 for drop in drops)
        summary = f"{self.count} drops, {touched} felt; {simulated_s:g} s simulated, {speed:.1f} times real time"
        console.print(summary)
        if self.record is not None:
            console.print(f"wrote {self.record}: {len(kept)} readings of {len(SENSORS)} sensors")

    def _table(self, values: IntArray) -> Table:
        from thenar.twin.drops import SENSOR_ROWS

        table = Table(box=None, padding=(0, 1))
        for column in ("", *(str(n + 1) for n in range(max(part.stop - part.start for part in SENSOR_ROWS.values())))):
            table.add_column(column, justify="right", min_width=3)
        for row, part in SENSOR_ROWS.items():
            table.add_row(row, *(Text(str(v), style=self._color(int(v))) for v in values[part]))
        return table

    def _bars(self, values: IntArray) -> Text:
        """Three lines of blocks: a bar for each sensor, in groups."""
        from thenar.twin.drops import SENSOR_ROWS

        levels = np.clip(values / FULL[self.sensor], 0.0, 1.0) * 3 * (len(BARS) - 1)
        text = Text()
        for line in (2, 1, 0):
            text.append("\n")
            for part in SENSOR_ROWS.values():
                for level, value in zip(levels[part], values[part], strict=True):
                    height = int(np.clip(np.round(level) - line * (len(BARS) - 1), 0, len(BARS) - 1))
                    text.append(BARS[height], style=self._color(int(value)))
                text.append("  ")
        text.append(
            "\n" + "  ".join(row.ljust(part.stop - part.start) for row, part in SENSOR_ROWS.items()), style="dim"
        )
        return text

    def _line(self, reading: Reading, values: IntArray) -> Text:
        from thenar.twin.drops import SENSOR_ROWS

        cube = reading.cube
        assert cube is not None
        text = Text(f"{reading.frame.stamp_s:7.2f} s  cube {reading.drop} ({1e3 * cube.edge_m:.0f} mm, ")
        text.append(f"{1e3 * cube.mass_kg:.0f} g)".ljust(8))
        for part in SENSOR_ROWS.values():
            for value in values[part]:
                level = round(float(np.clip(value / FULL[self.sensor], 0.0, 1.0)) * (len(BARS) - 1))
                text.append(BARS[level] if level else "·", style=self._color(int(value)))
            text.append(" ")
        return text

    def _color(self, value: int) -> str:
        level = value / FULL[self.sensor]
        return "dim" if level < 0.05 else color(0.25 + 0.75 * min(level, 1.0))
