"""Recordings to calibrate with: a known load on a known place, and what every taxel said.

As CSV, a row a reading::

    # hand: inspire_right
    # probe_mm: 1.5
    time_s,pad,u_mm,v_mm,force_n,index_tip.0.0,index_tip.0.1,...
    0.00,,,,0,41,39,...
    0.02,index_tip,0.0,2.07,0.13,55,41,...

``time_s`` counts from switching the hand on. ``pad``, ``u_mm`` and ``v_mm`` say where the load is, along rows and
columns from the pad's centre; they may be empty where nothing presses. ``probe_mm`` is the radius of the patch that
presses. ``# force_unit: g`` says that ``force_n`` is not in newtons (mN, g and kg are known), and ``# force_unit: N``
that it is, however odd that looks. ``NAME.ROW.COLUMN`` holds the counts of a taxel; a pad is there with all its taxels
or not at all. For barometers these are the driver's pressures with the offset removed, and ``# count_pa: 509`` may say
what a count is.

As NPZ: ``hand``, ``probe_m``, ``count_pa`` and ``force_unit`` (both may be left out), ``time_s``, ``pad`` (names),
``at_m`` (t, 2), ``force_n``, ``columns`` (names) and ``counts``, a row a reading.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar import hands
from thenar.arrays import FloatArray, read_npz
from thenar.errors import BadFile, BadValue, UnknownName, writing
from thenar.hands.spec import HandSpec

FIXED = ("time_s", "pad", "u_mm", "v_mm", "force_n")
NPZ_KEYS = ("hand", "probe_m", "time_s", "pad", "at_m", "force_n", "columns", "counts")
MIN_ROWS = 20
BYTE_ORDER_MARK = "\ufeff"  # spreadsheets put it before the first line
COUNT_PA = 509.0
"""What a count of the ReFlex driver is worth [Pa]: four steps of the chip's 10 bits at 25 degrees Celsius."""
FORCE_UNITS = {"N": 1.0, "mN": 1e-3, "g": 9.80665e-3, "kg": 9.80665}
"""What they are in newtons; grams and kilograms as weights on a scale."""
MAX_PROBE_M = 0.1
MAX_STEP_S = 5.0  # between readings: more are no seconds
BELOW_ZERO = -0.05  # of the largest force: more is no noise of a load cell


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """A probe that pressed here and there, and what the skin said meanwhile. Shapes use t = rows."""

    hand: str
    probe_m: float
    """Radius of the patch that presses [m]; 0: a point."""
    time_s: FloatArray
    """Since the hand was switched on [s], growing. Shape (t,)."""
    pad: NDArray[np.str_]
    """Pad that is pressed, empty where none is. Shape (t,)."""
    at_m: FloatArray
    """Where it is pressed, along rows and columns from the pad's centre [m]. Shape (t, 2)."""
    force_n: FloatArray
    """How hard [N]. Shape (t,)."""
    counts: dict[str, FloatArray]
    """What the taxels of each recorded pad said; of barometers in pascals. Shape (t, taxels)."""
    count_pa: float = 1.0
    """What a count of the file is worth [Pa], for barometers; 1 for taxels that count by themselves."""
    force_unit: str = ""
    """N: the file says what unit its forces have; empty: it does not, and they are taken for newtons."""

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.time_s)

    @property
    def step_s(self) -> FloatArray:
        """Time since the row before [s]; 0 in the first row."""
        return np.diff(self.time_s, prepend=self.time_s[0])

    def load_n(self, pad: str) -> FloatArray:
        """Force on one pad; 0 while another one is pressed [N]."""
        return np.where(self.pad == pad, self.force_n, 0.0)


def read_recording(path: Path, *, hand: str | None = None) -> Recording:
    """Read and check a recording (.csv or .npz); what is wrong is named with its row.

    Args:
        path: The file.
        hand: The hand, where the file does not tell.
    """
    _check_suffix(path)
    if path.suffix == ".npz":
        return _read_npz(path)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = RecordingRows(str(path), hand=hand)
            rows.feed(file)
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadFile(path, f"not a text file: {error}") from error
    return rows.recording()


def _check_suffix(path: Path) -> None:
    if path.suffix not in (".csv", ".npz"):
        raise BadFile(path, "a recording ends in .csv or .npz")


def _check_length(name: str, rows: int) -> None:
    if rows < MIN_ROWS:
        raise BadFile(name, f"{rows} readings; wanted at least {MIN_ROWS}")


class RecordingRows:
    """A CSV recording that may still be growing: lines in, a `Recording` of what has come so far out."""

    def __init__(self, name: str, *, hand: str | None = None):
        """Nothing has come yet; ``name`` is what errors call it."""
        self._name = name
        self._about, self._otherwise = dict[str, str](), hand
        self._columns: list[str] = []
        self._line = 0
        self._where: list[tuple[str, float, float]] = []
        self._numbers: list[list[float]] = []

    def __len__(self) -> int:
        """Number of readings so far."""
        return len(self._numbers)

    def feed(self, lines: Iterable[str]) -> None:
        """Take lines as they come; a wrong one is refused with its number."""
        for line in lines:
            self._line += 1
            text = line.strip().removeprefix(BYTE_ORDER_MARK)
            if not text:
                continue
            if text.startswith("#"):
                key, colon, value = text[1:].partition(":")
                if colon:
                    self._about.setdefault(key.strip(), value.strip())
            elif not self._columns:
                self._columns = [name.strip() for name in self._cells(text)]
                self._check_columns()
            else:
                self._take(self._cells(text))

    def _cells(self, text: str) -> list[str]:
        try:
            return next(csv.reader([text]))
        except csv.Error as error:
            raise self._refuse(str(error)) from error

    def recording(self, *, growing: bool = False) -> Recording:
        """What has come so far; while it is growing there may be no press yet."""
        _check_length(self._name, len(self._numbers))
        probe_m = 1e-3 * self._header_value("probe_mm", 0.0, "a radius in millimetres")
        count_pa = self._header_value("count_pa", COUNT_PA, "pascals above 0")
        table = np.array(self._numbers)
        raw = Recording(
            hand=self._hand.name,
            probe_m=probe_m,
            time_s=table[:, 0],
            pad=np.array([where[0] for where in self._where]),
            at_m=1e-3 * np.array([where[1:] for where in self._where]),
            force_n=table[:, 1],
            counts={},
            count_pa=count_pa,
            force_unit=self._about.get("force_unit", ""),
        )
        return _checked(self._name, raw, self._columns[len(FIXED) :], table[:, 2:], growing=growing)

    def _header_value(self, key: str, otherwise: float, wanted: str) -> float:
        """A number from the lines above the table."""
        value = _number(self._about.get(key, otherwise))
        if not 0.0 <= value < math.inf or (value == 0.0 and otherwise > 0.0):
            raise BadFile(self._name, f"'# {key}' is {self._about[key]!r}; wanted {wanted}")
        return value

    def _refuse(self, why: str) -> BadFile:
        return BadFile(self._name, f"line {self._line}: {why}")

    def _check_columns(self) -> None:
        name = self._about.get("hand", self._otherwise)
        if name is None:
            raise self._refuse("no '# hand: NAME' line before the names of the columns; add one, or give --hand")
        if tuple(self._columns[: len(FIXED)]) != FIXED:
            got = ",".join(self._columns[: len(FIXED)])
            raise self._refuse(f"columns begin with {got!r}; wanted {','.join(FIXED)!r} and then NAME.ROW.COLUMN")
        try:
            self._hand = hands.load(name)
            self._pads = recorded_pads(self._columns[len(FIXED) :], self._hand)
        except (BadValue, UnknownName) as error:
            raise self._refuse(str(error)) from error

    def _take(self, cells: list[str]) -> None:
        if len(cells) != len(self._columns):
            raise self._refuse(f"{len(cells)} cells; wanted {len(self._columns)}, one for each column")
        pad = cells[1].strip()
        if pad and pad not in self._pads:
            raise self._refuse(f"pad is {pad!r}; wanted one that is recorded ({', '.join(self._pads)}) or nothing")
        place = cells[2:4] if pad else [cell if cell.strip() else "0" for cell in cells[2:4]]
        columns, texts = [self._columns[0], *self._columns[2:]], [cells[0], *place, *cells[4:]]
        numbers = [_number(text) for text in texts]
        for column, text, value in zip(columns, texts, numbers, strict=True):
            if not math.isfinite(value):
                raise self._refuse(f"{column} is {text!r}; wanted a number")
        time_s, u_mm, v_mm, force_n, *counts = numbers
        if self._numbers and time_s <= self._numbers[-1][0]:
            raise self._refuse(f"time_s is {time_s:g} after {self._numbers[-1][0]:g}; wanted a time that grows")
        if force_n > 0.0 and not pad:
            raise self._refuse(f"force_n is {force_n:g} but pad is empty; wanted the pad that is pressed")
        self._where.append((pad, u_mm, v_mm))
        self._numbers.append([time_s, force_n, *counts])


def _number(text: str | float) -> float:
    """A number; NaN for what is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording as .csv or .npz."""
    _check_suffix(path)
    columns = [name for pad in recording.counts for name in taxel_columns(hands.load(recording.hand), pad)]
    counts = np.concatenate(list(recording.counts.values()), axis=1) / recording.count_pa
    with writing(path):
        if path.suffix == ".npz":
            entries: dict[str, Any] = {**vars(recording), "columns": columns, "counts": counts}
            np.savez_compressed(path, **entries)
            return
        with path.open("w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in _lines(recording, columns, counts))


def _lines(recording: Recording, columns: Sequence[str], counts: FloatArray) -> Iterator[str]:
    yield f"# hand: {recording.hand}"
    yield f"# probe_mm: {1e3 * recording.probe_m:g}"
    if recording.force_unit:
        yield f"# force_unit: {recording.force_unit}"
    if recording.count_pa != 1.0:
        yield f"# count_pa: {recording.count_pa:g}"
    yield ",".join([*FIXED, *columns])
    for row in range(len(recording)):
        u_mm, v_mm = 1e3 * recording.at_m[row]
        place = f"{recording.pad[row]},{u_mm:.3f},{v_mm:.3f}" if recording.pad[row] else ",,"
        said = ",".join(f"{value:g}" for value in counts[row])
        yield f"{recording.time_s[row]:.4f},{place},{recording.force_n[row]:.4f},{said}"


def taxel_columns(hand: HandSpec, pad: str) -> list[str]:
    """Names of a pad's columns."""
    spec = hand.pad(pad)
    return [f"{pad}.{row}.{col}" for row in range(spec.rows) for col in range(spec.cols)]


def recorded_pads(columns: Sequence[str], hand: HandSpec) -> list[str]:
    """Pads whose taxels the columns are; columns that are missing or strange are refused."""
    if not hand.pads:
        raise BadValue("hand", hand.name, "one with pads")
    pads = list(dict.fromkeys(column.partition(".")[0] for column in columns))
    if not pads:
        raise BadValue("columns of counts", "none", f"those of a pad, such as {hand.pads[0].name}.0.0")
    for pad in pads:
        if pad not in [own.name for own in hand.pads]:
            raise UnknownName(f"pad of {hand.name}", pad, [own.name for own in hand.pads])
        wanted = taxel_columns(hand, pad)
        got = [column for column in columns if column.partition(".")[0] == pad]
        if strange := [column for column in got if column not in wanted]:
            spec = hand.pad(pad)
            raise BadValue("column", strange[0], f"{pad}.ROW.COLUMN within {spec.rows} x {spec.cols}")
        if missing := [column for column in wanted if column not in got]:
            raise BadValue("columns", f"without {', '.join(missing[:3])}", f"all {len(wanted)} taxels of {pad}")
        if len(got) != len(wanted):
            raise BadValue("columns", f"{len(got)} of {pad}", "every taxel once")
    return pads


def _read_npz(path: Path) -> Recording:
    entries = read_npz(path)
    if missing := [name for name in NPZ_KEYS if name not in entries]:
        raise BadFile(path, f"no entry {missing[0]!r}; a recording has: {', '.join(NPZ_KEYS)}")
    rows = entries["time_s"].shape[0] if entries["time_s"].ndim == 1 else -1
    columns = [str(name) for name in entries["columns"].ravel()]
    shapes = {"pad": (rows,), "at_m": (rows, 2), "force_n": (rows,), "counts": (rows, len(columns))}
    for name, shape in shapes.items():
        if entries[name].shape != shape:
            raise BadFile(path, f"entry {name!r} has shape {entries[name].shape}; wanted {shape}, one row a reading")
    _check_length(str(path), rows)
    try:
        numbers = {
            name: np.asarray(entries[name], dtype=np.float64) for name in ("time_s", "at_m", "force_n", "counts")
        }
        probe_m, count_pa = float(entries["probe_m"]), float(entries.get("count_pa", COUNT_PA))
    except (TypeError, ValueError) as error:
        raise BadFile(path, f"an entry is no number: {error}") from error
    for name, values in numbers.items():
        wrong = ~np.isfinite(values.reshape(rows, -1)).all(axis=1)
        if wrong.any():
            raise BadFile(path, f"row {int(np.argmax(wrong))}: {name} holds what is not a number")
    late = np.flatnonzero(np.diff(numbers["time_s"]) <= 0.0)
    if len(late):
        raise BadFile(path, f"row {late[0] + 1}: time_s does not grow")
    raw = Recording(
        hand=str(entries["hand"]),
        probe_m=probe_m,
        pad=entries["pad"].astype(str),
        **{name: numbers[name] for name in ("time_s", "at_m", "force_n")},
        counts={},
        count_pa=count_pa,
        force_unit=str(entries.get("force_unit", "")),
    )
    return _checked(str(path), raw, columns, numbers["counts"])


def _checked(
    name: str, raw: Recording, columns: Sequence[str], counts: FloatArray, *, growing: bool = False
) -> Recording:
    """A recording with its counts by pad; what is wrong with it in either format is refused by its name."""
    if raw.force_unit and raw.force_unit not in FORCE_UNITS:
        raise BadFile(name, f"force_unit is {raw.force_unit!r}; wanted one of {', '.join(FORCE_UNITS)}")
    if not 0.0 <= raw.probe_m < MAX_PROBE_M:
        raise BadFile(name, f"the probe's radius is {raw.probe_m:g} m; wanted one below {MAX_PROBE_M:g} m, or 0")
    if not 0.0 < raw.count_pa < math.inf:
        raise BadFile(name, f"count_pa is {raw.count_pa:g}; wanted pascals above 0")
    pad, force_n = raw.pad, raw.force_n * FORCE_UNITS[raw.force_unit or "N"]
    step_s = float(np.median(np.diff(raw.time_s)))
    if step_s > MAX_STEP_S:
        raise BadFile(name, f"readings are {step_s:g} s apart; wanted time_s in seconds: these look like milliseconds")
    try:
        hand = hands.load(raw.hand)
        pads = recorded_pads(columns, hand)
    except (BadValue, UnknownName) as error:
        raise BadFile(name, str(error)) from error
    strange = np.flatnonzero(~np.isin(pad, ["", *pads]))
    if len(strange):
        raise BadFile(name, f"row {strange[0]}: pad is {pad[strange[0]]!r}; wanted one of {', '.join(pads)}")
    nowhere = np.flatnonzero((pad == "") & (force_n > 0.0))
    if len(nowhere):
        got = f"row {nowhere[0]}: force_n is {force_n[nowhere[0]]:g} but pad is empty"
        raise BadFile(name, f"{got}; wanted the pad that is pressed")
    top = float(force_n.max())
    if not growing and (force_n.min() < BELOW_ZERO * max(top, 0.0) or top <= 0.0):
        row = int(np.argmin(force_n))
        raise BadFile(
            name, f"row {row}: force_n is {force_n[row]:g} and the largest {top:g}; wanted a load cell that counts up"
        )
    for own in (hand.pad(one) for one in pads):
        reach = np.array([own.rows * own.row_pitch_m, own.cols * own.col_pitch_m])
        far = np.flatnonzero((pad == own.name) & (force_n > 0.0) & np.any(abs(raw.at_m) > reach, axis=1))
        if len(far):
            u_mm, v_mm = 1e3 * raw.at_m[far[0]]
            raise BadFile(
                name,
                f"row {far[0]}: pressed at {u_mm:g}, {v_mm:g} mm from the centre of {own.name}, which reaches "
                f"{500 * reach[0]:g}, {500 * reach[1]:g} mm; wanted a place on it or near its edge",
            )
    count_pa = raw.count_pa if any(own.sensor == "barometer" for own in hand.pads) else 1.0
    order = {column: number for number, column in enumerate(columns)}
    chosen = {one: [order[column] for column in taxel_columns(hand, one)] for one in pads}
    return replace(
        raw,
        force_n=np.maximum(force_n, 0.0),
        counts={one: count_pa * counts[:, own] for one, own in chosen.items()},
        count_pa=count_pa,
        force_unit="N" if raw.force_unit else "",
    )
