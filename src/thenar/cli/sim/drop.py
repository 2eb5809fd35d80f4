"""``thenar drop``: cubes fall on an open hand, and its sensors tell."""

from __future__ import annotations

import csv
import time
from collections import deque
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import tyro
from numpy.typing import NDArray
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from thenar import hands
from thenar.cli.show import console, print_json, print_table, shade
from thenar.errors import BadFile, BadValue

if TYPE_CHECKING:
    from thenar.twin.drops import Cube, Reading

FINGER_CELLS, PALM_CELLS = 9, 11
ROWS = {
    **{f"finger {n + 1}": slice(FINGER_CELLS * n, FINGER_CELLS * (n + 1)) for n in range(3)},
    "palm": slice(3 * FINGER_CELLS, 3 * FINGER_CELLS + PALM_CELLS),
}
SENSORS = tuple(f"{row.replace(' ', '_')}_{n + 1}" for row, part in ROWS.items() for n in range(part.stop - part.start))
FULL = {"pressure": 96.0, "contact": 1.0}
"""What fills a bar: the counts at which a sensor at rest saturates, or a contact."""
BARS = " ▁▂▃▄▅▆▇█"
HISTORY = 8  # lines that scroll

IntArray = NDArray[np.int64]


@dataclass
class Tally:
    """What one drop came to."""

    drop: int
    edge_mm: float
    mass_g: float
    sensors: int = 0
    """How many were lit at some time."""
    strongest: str = "-"
    largest: int = 0
    lit: set[int] = field(default_factory=set, repr=False)

    def take(self, values: IntArray, contact: NDArray[np.bool_]) -> None:
        """Count one reading in."""
        self.lit |= set(np.flatnonzero(contact).tolist())
        self.sensors = len(self.lit)
        if values.max() > self.largest:
            self.largest, self.strongest = int(values.max()), SENSORS[int(values.argmax())]


@dataclass(frozen=True)
class Drop:
    """Let cubes of random size, mass and pose fall on the open ReFlex hand and watch its 38 sensors as its driver does.

    For example:

    thenar drop reflex

    thenar drop reflex --sensor contact --count 30 --seed 4

    thenar drop reflex --count 500 --fast --record drops.npz
    """

    hand: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="HAND")] = "reflex"
    """Hand to drop on: reflex."""
    sensor: Literal["contact", "pressure"] = "pressure"
    """What sensors say, as on the hardware: counts above rest, or 1 where they are above the threshold."""
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
        spec = hands.load(self.hand)
        if not spec.pads or any(pad.sensor != "barometer" for pad in spec.pads):
            raise BadValue("HAND", self.hand, "a hand with barometers: reflex")
        if self.record is not None and self.record.suffix not in (".npz", ".csv"):
            raise BadValue("--record", str(self.record), "a file that ends in .npz or .csv")
        if self.threshold < 0:
            raise BadValue("--threshold", self.threshold, "counts not below 0")
        if self.record is not None:
            _make_room(self.record)
        began_s = time.perf_counter()
        tallies: list[Tally] = []
        kept: list[tuple[Reading, IntArray]] = []
        watched = console.is_terminal and not self.json
        with Live(console=console, refresh_per_second=20) if watched else nullcontext() as live:
            history: deque[Text] = deque(maxlen=HISTORY)
            for reading, values, contact in self._readings():
                said = contact.astype(np.int64) if self.sensor == "contact" else values
                if self.record is not None:
                    kept.append((reading, said))
                if reading.cube is None:
                    began_s = time.perf_counter()  # what came before was loading
                    continue
                if not tallies or tallies[-1].drop != reading.drop:
                    tallies.append(_tally(reading.drop, reading.cube))
                tallies[-1].take(values, contact)
                if live is not None:
                    history.append(self._line(reading, said))
                    live.update(Group(self._table(said), self._bars(said), Text(), *history))
                    if not self.fast:
                        time.sleep(max(0.0, began_s + reading.frame.stamp_s - time.perf_counter()))
        wall_s = time.perf_counter() - began_s
        simulated_s = self.count * self.seconds
        if self.record is not None:
            _write(self.record, kept)
        rows: list[dict[str, object]] = [
            {name: value for name, value in asdict(tally).items() if name != "lit"} for tally in tallies
        ]
        if self.json:
            print_json(
                {
                    "hand": self.hand,
                    "sensor": self.sensor,
                    "simulated_s": simulated_s,
                    "times_real_time": simulated_s / wall_s,
                    "drops": rows,
                }
            )
            return
        print_table("Cubes that fell: sensors in contact, and the strongest in counts above rest", rows)
        touched = sum(tally.sensors > 0 for tally in tallies)
        console.print(
            f"{self.count} drops, {touched} felt; {simulated_s:g} s simulated, "
            f"{simulated_s / wall_s:.1f} times real time",
            highlight=False,
        )
        if self.record is not None:
            console.print(f"wrote {self.record}: {len(kept)} readings of {len(SENSORS)} sensors")

    def _readings(self) -> Iterator[tuple[Reading, IntArray, NDArray[np.bool_]]]:
        """Readings with counts above rest and contacts; the first one, with nothing touching, is taken for rest."""
        from thenar.twin.drops import drop_cubes
        from thenar.wire.codecs.reflex_counts import pressure_counts, published_counts

        rest: IntArray | None = None
        drops = drop_cubes(self.hand, count=self.count, seed=self.seed, seconds=self.seconds, rate_hz=self.rate)
        for reading in drops:
            frame = reading.frame
            raw = published_counts(pressure_counts(frame.die_pressure_pa, frame.die_temperature_c))
            rest = raw if rest is None else rest
            yield reading, raw - rest, raw - rest > self.threshold

    def _table(self, values: IntArray) -> Table:
        table = Table(box=None, padding=(0, 1))
        for column in ("", *(str(n + 1) for n in range(PALM_CELLS))):
            table.add_column(column, justify="right", min_width=3)
        for row, part in ROWS.items():
            table.add_row(row, *(Text(str(v), style=self._colour(int(v))) for v in values[part]))
        return table

    def _bars(self, values: IntArray) -> Text:
        """Three lines of blocks: a bar for each sensor, in groups."""
        levels = np.clip(values / FULL[self.sensor], 0.0, 1.0) * 3 * (len(BARS) - 1)
        text = Text()
        for line in (2, 1, 0):
            text.append("\n")
            for part in ROWS.values():
                for level, value in zip(levels[part], values[part], strict=True):
                    height = int(np.clip(np.round(level) - line * (len(BARS) - 1), 0, len(BARS) - 1))
                    text.append(BARS[height], style=self._colour(int(value)))
                text.append("  ")
        text.append("\n" + "  ".join(row.ljust(part.stop - part.start) for row, part in ROWS.items()), style="dim")
        return text

    def _line(self, reading: Reading, values: IntArray) -> Text:
        cube = reading.cube
        assert cube is not None
        text = Text(f"{reading.frame.stamp_s:7.2f} s  cube {reading.drop} ({1e3 * cube.edge_m:.0f} mm, ")
        text.append(f"{1e3 * cube.mass_kg:.0f} g)".ljust(8))
        for part in ROWS.values():
            for value in values[part]:
                level = round(float(np.clip(value / FULL[self.sensor], 0.0, 1.0)) * (len(BARS) - 1))
                text.append(BARS[level] if level else "·", style=self._colour(int(value)))
            text.append(" ")
        return text

    def _colour(self, value: int) -> str:
        level = value / FULL[self.sensor]
        if level < 0.05:
            return "dim"
        red, green, blue = (round(255 * part) for part in shade(0.25 + 0.75 * min(level, 1.0)))
        return f"rgb({red},{green},{blue})"


def _tally(drop: int, cube: Cube) -> Tally:
    return Tally(drop=drop, edge_mm=round(1e3 * cube.edge_m, 1), mass_g=round(1e3 * cube.mass_kg, 1))


def _make_room(path: Path) -> None:
    """A file that cannot be written is told before the drops, not after them."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        raise BadFile(path, f"cannot be written: {error.strerror}") from error


def _write(path: Path, kept: list[tuple[Reading, IntArray]]) -> None:
    """All readings, one row each; the first, drop 0, is the hand untouched."""
    times = np.array([reading.frame.stamp_s for reading, _ in kept])
    drops = np.array([reading.drop for reading, _ in kept])
    cubes = [reading.cube for reading, _ in kept]
    edges = np.array([np.nan if cube is None else cube.edge_m for cube in cubes])
    masses = np.array([np.nan if cube is None else cube.mass_kg for cube in cubes])
    values = np.array([said for _, said in kept])
    if path.suffix == ".npz":
        np.savez_compressed(
            path,
            time_s=times,
            drop=drops,
            edge_m=edges,
            mass_kg=masses,
            sensors=np.array(SENSORS),
            reading=values,
            die_pressure_pa=np.array([reading.frame.die_pressure_pa for reading, _ in kept]),
            die_temperature_c=np.array([reading.frame.die_temperature_c for reading, _ in kept]),
        )
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("time_s", "drop", "edge_m", "mass_kg", *SENSORS))
        for n in range(len(kept)):
            writer.writerow((f"{times[n]:.6g}", drops[n], f"{edges[n]:.6g}", f"{masses[n]:.6g}", *values[n]))
