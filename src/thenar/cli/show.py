"""What every verb shows with: tables, JSON, heat maps."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from thenar.display import shade
from thenar.errors import BadValue

if TYPE_CHECKING:
    from thenar.hands.spec import HandSpec
    from thenar.wire.codecs.inspire_counts import Readings

console = Console(markup=False, highlight=False)  # what is printed names files, and files may be named anything
DIM_COUNTS = 500  # nothing below is bright: what an untouched skin reads
FOLDED = 8  # characters below which a column of words is not read any more
SHORT = ("status", "error", "hz", "age_s")  # columns of words that are not broken


def print_table(title: str, rows: Sequence[dict[str, object]]) -> None:
    """Print rows as a table; the keys of the first row are its columns."""
    console.print(make_table(title, rows))


class Rows:
    """A table; where the terminal is too narrow for it, a line for each value, so that nothing is cut off."""

    def __init__(self, title: str, rows: Sequence[dict[str, object]]):
        """The keys of the first row are the columns."""
        self._title, self._rows = title, rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What there is room for."""
        if not self._rows:
            yield Text(f"{self._title}: nothing".removeprefix(": "), style="italic")
            return
        table = Table(title=self._title or None, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1))
        needed = 1
        for number, column in enumerate(self._rows[0]):
            numeric = all(isinstance(row[column], (int, float)) for row in self._rows)
            whole = number == 0 or numeric or column in SHORT
            width = max(len(text) for text in (column, *(cell(row[column]) for row in self._rows)))
            needed += 3 + (width if whole else min(width, FOLDED))
            justify = "right" if numeric else "left"
            table.add_column(Text(column), justify=justify, overflow="fold", no_wrap=whole)
        if needed <= options.max_width:
            for row in self._rows:
                table.add_row(*(Text(cell(value)) for value in row.values()))
            yield table
            return
        if self._title:
            yield Text(self._title, style="italic")
        for row in self._rows:
            first, *others = row.items()
            yield Text(cell(first[1]), style="bold", overflow="fold")
            yield from (Text(f"  {column} {cell(value)}", overflow="fold") for column, value in others)


def make_table(title: str, rows: Sequence[dict[str, object]]) -> Rows:
    """Rows as a table; the keys of the first row are its columns."""
    return Rows(title, rows)


def cell(value: object) -> str:
    """A value as it stands in a table."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(cell(part) for part in value)
    return str(value)


def print_json(value: object) -> None:
    """Print a value as JSON, in which what is not known, or is without end, is null: JSON has no such numbers."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def listed(text: str) -> tuple[str, ...]:
    """The parts of a list that is separated by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def check_ending(option: str, path: Path | None, *endings: str) -> None:
    """Refuse a name that asks for another kind of file, before any work is done."""
    if path is not None and path.suffix not in endings:
        raise BadValue(option, str(path), f"a name that ends in {' or '.join(endings)}")


def check_other(option: str, path: Path | None, source: Path) -> None:
    """Refuse to write over what is read."""
    if path is not None and path.resolve() == source.resolve():
        raise BadValue(option, str(path), "a file other than the one that is read")


def check_unused(options: Any, names: Sequence[str], wanted: str) -> None:
    """Refuse options that were given and would be ignored.

    Args:
        options: Of a verb.
        names: Fields that are not used now.
        wanted: What they are for.
    """
    usual = {
        one.name: one.default_factory() if callable(one.default_factory) else one.default for one in fields(options)
    }
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) != usual[name]]
    if given:
        raise BadValue("options", " ".join(given), wanted)


def quantity(option: str, text: str, unit: str, factor: float) -> float:
    """A number with its unit, in SI."""
    try:
        value = float(text.strip().removesuffix(unit))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadValue(option, text, f"a number of {unit}, such as 1.5{unit}")
    return value * factor


def heat_map(title: str, pressure_pa: NDArray[np.float64]) -> Table:
    """A pad as coloured cells, pressure in kilopascals."""
    table = Table(title=title, box=None, padding=0, show_header=False)
    top = max(float(pressure_pa.max()), 1e-9)
    for row in pressure_pa:
        cells = []
        for value in row:
            level = float(value) / top
            ink = "black" if level > 0.5 else "white"
            text = f"{value / 1e3:5.1f} " if value > 0.0 else "    . "
            cells.append(Text(text, style=f"{ink} on {color(level)}"))
        table.add_row(*cells)
    return table


def heat_picture(maps: list[NDArray[np.float64]]) -> NDArray[np.uint8]:
    """Pads side by side as coloured squares, all on one scale."""
    top = max(float(values.max()) for values in maps) or 1.0
    tiles = []
    for values in maps:
        squares = np.kron(shade(values / top), np.ones((28, 28, 1)))
        squares[::28] = squares[:, ::28] = 0.25  # lines between taxels
        tiles.append(np.pad(squares, ((14, 14), (14, 14), (0, 0)), constant_values=1.0))
    return np.round(255 * np.concatenate(tiles, axis=1)).astype(np.uint8)


def readings_table(hand: str, readings: Readings | NDArray[np.float32]) -> Rows:
    """What a hand reports in its own counts; only how far open it is, where the wire tells no more."""
    from thenar.signals import MotorError
    from thenar.signals.hand_signals import status_name
    from thenar.wire.codecs.inspire_counts import MOTORS, Readings

    if not isinstance(readings, Readings):
        return make_table(hand, [{"motor": name, "open": float(q)} for name, q in zip(MOTORS, readings, strict=True)])
    return make_table(
        hand,
        [
            {
                "motor": name,
                "angle": int(readings.angle[n]),
                "pos": int(readings.stroke[n]),
                "force_g": int(readings.force[n]),
                "mA": int(readings.current_ma[n]),
                "°C": int(readings.temperature_c[n]),
                "status": status_name(int(readings.status[n])).lower(),
                "error": (MotorError(int(readings.error[n])).name or str(readings.error[n])).lower(),
            }
            for n, name in enumerate(MOTORS)
        ],
    )


def plain_readings(readings: Readings | NDArray[np.float32]) -> dict[str, object]:
    """The same as plain values, for JSON."""
    if isinstance(readings, np.ndarray):
        return {"q": readings.tolist()}
    return {name: value.tolist() for name, value in vars(readings).items()}


def skin_picture(spec: HandSpec, taxel_counts: NDArray[np.int64]) -> Group:
    """Every pad of a hand as coloured cells, two taxels to a character, fingers side by side and the palm below."""
    pads, first = {}, 0
    for pad in spec.pads:
        pads[pad.name] = taxel_counts[first : first + pad.taxels].reshape(pad.rows, pad.cols)
        first += pad.taxels
    top = float(max(taxel_counts.max(), DIM_COUNTS))
    fingers = [name for name in ("little", "ring", "middle", "index", "thumb") if f"{name}_top" in pads]
    table = Table(box=None, padding=(0, 1), show_header=True)
    for finger in fingers:
        table.add_column(finger, justify="center")
    for part in ("tip", "top", "middle", "palm"):
        names = [f"{finger}_{part}" for finger in fingers]
        row = [_half_blocks(pads[name], top) if name in pads else Text() for name in names]
        if any(cell.plain for cell in row):
            table.add_row(*row)
            table.add_row(*(Text() for _ in fingers))
    strongest = max(pads, key=lambda name: pads[name].max())
    caption = Text(f"palm (8 x 14)   largest {int(taxel_counts.max())} counts on {strongest}", style="dim")
    return Group(table, *([_half_blocks(pads["palm"], top)] if "palm" in pads else []), caption)


def _half_blocks(counts: NDArray[np.int64], top: float) -> Text:
    """Two rows of taxels in one line of characters: the upper half block in one colour on the other."""
    values = counts / top
    if len(values) % 2:
        values = np.vstack([values, np.full((1, values.shape[1]), np.nan)])
    text = Text()
    for upper, lower in zip(values[::2], values[1::2], strict=True):
        for over, under in zip(upper, lower, strict=True):
            text.append("▀", style=color(over) + ("" if math.isnan(under) else f" on {color(under)}"))
        text.append("\n")
    text.right_crop(1)
    return text


def color(level: float) -> str:
    """The color of a level from 0 to 1, as rich writes it."""
    red, green, blue = (round(255 * part) for part in shade(level))
    return f"rgb({red},{green},{blue})"
