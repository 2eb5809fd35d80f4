"""Calibration of a hand's skin: what it is made of and how its sensor reads, kept in TOML files.

::

    gain_counts_per_n = 1000.0     # for every pad ...

    [pads.index_top]               # ... and other values for one pad
    gain_counts_per_n = 850.0
    dead = [[0, 3], [11, 7]]       # taxels that always read their offset

    [pads.index_tip]               # some values may be given for each taxel, row by row
    gain_counts_per_n = [[900, 950, 910], [880, 930, 905], [910, 900, 915]]

Everything has a default (the ``ideal`` or the ``measured`` profile), so a file holds only what was calibrated.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadFile, BadValue, UnknownName, writing
from thenar.hands.spec import Pad, SkinSpec
from thenar.touch.sensor.learned import LearnedPad, learned_from_table, learned_table

Profile = Literal["ideal", "measured"]
PerTaxel = float | tuple[tuple[float, ...], ...]
"""One number for all taxels of a pad, or rows of one number each."""


SENSOR_FIELDS = {
    "force": {
        "depth": "taxel_depth_m",
        "gain": "gain_counts_per_n",
        "offset": "offset_counts",
        "offset_spread": "offset_spread_counts",
        "noise": "noise_counts",
    },
    "barometer": {
        "depth": "depth_m",
        "gain": "die_gain",
        "offset": "die_offset_pa",
        "offset_spread": "die_offset_spread_pa",
        "noise": "die_noise_pa",
    },
}
"""What force taxels and barometers both have, each under a name with its own unit."""
COMMON_FIELDS = (
    *("gain_spread", "crosstalk", "hysteresis", "hysteresis_s", "play", "play_width"),
    *("ceiling", "knee", "drift", "drift_s", "dead"),
)
FITTED_FIELDS = {
    "force": (*SENSOR_FIELDS["force"].values(), "lowest_counts", "saturation_counts", *COMMON_FIELDS),
    "barometer": (*SENSOR_FIELDS["barometer"].values(), *COMMON_FIELDS),
}
"""What a fit finds or makes certain, and its file holds."""


@dataclass(frozen=True, kw_only=True)
class PadCalibration:
    """One pad's skin and sensor."""

    young_pa: float = 1.0e6
    """Young's modulus of the skin [Pa]. Assumed: soft silicone rubber."""
    thickness_m: float = math.inf
    """Thickness of the skin on the bone [m]; infinite: a half-space."""
    gain_counts_per_n: PerTaxel = 1000.0
    """Counts per newton on one taxel, as public simulators of this hand assume."""
    gain_spread: float = 0.0
    """Standard deviation of the gain from taxel to taxel, as a share of it."""
    offset_counts: PerTaxel = 0.0
    """Reading with nothing touching."""
    offset_spread_counts: float = 0.0
    """Standard deviation of that from taxel to taxel."""
    noise_counts: PerTaxel = 0.0
    """Standard deviation of every reading."""
    hysteresis: PerTaxel = 0.0
    """Share of a past load that is still read after it is gone."""
    hysteresis_s: float = 1.0
    """Time constant with which that fades [s]."""
    saturation_counts: float = 4095.0
    """Largest reading: 12 bits."""
    lowest_counts: float = 0.0
    """Smallest reading."""
    taxel_depth_m: float = 0.0
    """How deep force taxels lie under the skin's surface [m]; 0: each feels what presses on it and nothing else."""
    crosstalk: PerTaxel = 0.0
    """Share of the load of each taxel beside this one that it reads as well."""
    play: PerTaxel = 0.0
    """Share of the load that sticks: it follows only after a change of `play_width`."""
    play_width: float = 1.0
    """That change, in newtons on a taxel or pascals at a die."""
    ceiling: PerTaxel = math.inf
    """Where the signal ends (counts above the offset, or pascals of a die), if not where readings end."""
    knee: float = 6.0
    """How suddenly it ends there: 2 is gradual, 60 is at once."""
    drift: PerTaxel = 0.0
    """How far the resting reading moves after switching on (counts, or pascals of a die)."""
    drift_s: float = 300.0
    """Time constant with which it does [s]."""
    learned: LearnedPad | None = None
    """A learned model in place of gain, offset, cross-talk, hysteresis, play, ceiling and drift."""
    shear_counts_per_n: PerTaxel = 0.0
    """Counts per newton along rows and along columns of one taxel, of sensors with three axes; 0: it has no such."""
    shear_offset_counts: float = 0.0
    """What these read without shear."""
    shear_range_counts: float = 127.0
    """How far from that they can get, either way."""
    dead: tuple[tuple[int, int], ...] = ()
    """Row and column of taxels that do not respond."""
    depth_m: float = 0.005
    """How deep a barometer's die lies under the rubber's surface [m]; not public, 5 to 6 mm by makers of such skins."""
    die_gain: PerTaxel = 1.0
    """Pressure at a die per stress of the rubber around it; not public, 1 is a die that moves with the rubber."""
    die_offset_pa: PerTaxel = 0.0
    """Pressure the rubber puts on a die with nothing touching [Pa]."""
    die_offset_spread_pa: float = 0.0
    """Standard deviation of that from die to die [Pa]."""
    die_noise_pa: PerTaxel = 0.0
    """Standard deviation of every reading of a die [Pa]."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """A hand's whole skin."""

    rate_hz: float = math.inf
    """Readings per second; infinite: whenever somebody asks."""
    latency_s: float = 0.0
    """Age of a reading when it is delivered [s]; a skin without a rate is read at once."""
    ambient_pa: float = 101_325.0
    """Pressure of the air, for barometers [Pa]."""
    ambient_c: float = 25.0
    """Temperature of barometers at time 0 [degrees Celsius]."""
    warm_up_c: float = 0.0
    """How much warmer they get in the end [degrees Celsius]."""
    warm_up_s: float = 300.0
    """Time constant with which they warm up [s]."""
    bare: PadCalibration = field(default_factory=PadCalibration)
    """Skin beside the pads, and values of every pad that has none of its own."""
    pads: Mapping[str, PadCalibration] = field(default_factory=dict)
    """Pads with values of their own."""

    def pad(self, name: str) -> PadCalibration:
        """Calibration of one pad."""
        return self.pads.get(name, self.bare)

    def per_taxel(self, pads: Sequence[Pad], name: str) -> FloatArray:
        """A value for each taxel of these pads, one after the other. Shape (taxels,).

        ``name`` is a field of `PadCalibration`, or one of `SENSOR_FIELDS` for what is named after the kind of sensor.
        """
        values = [getattr(self.pad(pad.name), SENSOR_FIELDS[pad.sensor].get(name, name)) for pad in pads]
        for value, pad in zip(values, pads, strict=True):
            if np.shape(value) not in ((), (pad.rows, pad.cols)):
                got = f"of shape {np.shape(value)}"
                raise BadValue(f"{name} of pad {pad.name!r}", got, f"a number, or {pad.rows} rows of {pad.cols}")
        grids = [np.broadcast_to(value, (pad.rows, pad.cols)) for value, pad in zip(values, pads, strict=True)]
        return np.concatenate([np.zeros(0), *(grid.ravel() for grid in grids)])


IDEAL = Calibration()
# Ref: recordings of a real RH56DFTP show idle offsets, dead channels and a noise floor below about 80 counts; the
# figures themselves are not published, so these are assumed. No offset is so low that noise would be cut off at 0.
MEASURED = Calibration(
    rate_hz=50.0,
    latency_s=0.01,
    bare=PadCalibration(
        gain_spread=0.08, offset_counts=60.0, offset_spread_counts=8.0, noise_counts=4.0, hysteresis=0.03
    ),
)
PROFILES: dict[Profile, Calibration] = {"ideal": IDEAL, "measured": MEASURED}

# Ref: the ReFlex firmware polls every 25 ms and waits 3 ms for the conversion. Offsets shipped with the driver lie
# within about 28 kPa of each other; noise is below 0.01 N (Tenzer 2014), 190 Pa at 5 mm. A count falls by 0.41 a
# degree, so the shipped threshold of 20 suggests no more than some 10 degrees of warming. Gain spread, creep and
# warming themselves are not published: assumed.
BAROMETERS = Calibration(
    rate_hz=40.0,
    latency_s=0.003,
    warm_up_c=8.0,
    bare=PadCalibration(
        gain_spread=0.05, hysteresis=0.04, hysteresis_s=2.0, die_offset_spread_pa=5_000.0, die_noise_pa=60.0
    ),
)


def profile_of(hand: SkinSpec, profile: Profile) -> Calibration:
    """The skin that a hand has in a profile, before anybody calibrated it."""
    if profile == "measured" and any(pad.sensor == "barometer" for pad in hand.pads):
        return BAROMETERS
    return PROFILES[profile]


_PAD_FIELDS = {f.name: f for f in fields(PadCalibration)}
_HAND_FIELDS = {f.name for f in fields(Calibration)} - {"bare", "pads"}
_SHARES = {"gain_spread", "hysteresis", "crosstalk", "play"}
_MAY_BE_ZERO = {
    *_SHARES,
    *("offset_spread_counts", "noise_counts", "latency_s"),
    *("shear_counts_per_n", "shear_offset_counts"),
    *("die_offset_spread_pa", "die_noise_pa", "taxel_depth_m"),
}
_PER_TAXEL = {f.name for f in fields(PadCalibration) if f.type == "PerTaxel"}
_MAY_BE_INFINITE = {"thickness_m", "rate_hz", "ceiling"}
_MAY_BE_NEGATIVE = {"offset_counts", "lowest_counts", "drift", "die_offset_pa", "ambient_c", "warm_up_c"}


def load_calibration(path: Path, hand: SkinSpec, *, base: Calibration = IDEAL) -> Calibration:
    """Read and check a calibration file; a wrong entry is named with its line.

    Args:
        path: The TOML file.
        hand: The hand it is for; its pads are the names it may use.
        base: Values for everything the file does not say.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        entries = tomllib.loads(text)
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # of text, of TOML, or of what is nested without end
        raise BadFile(path, f"not a TOML file: {error}") from error
    for elsewhere in ("hand", "motors"):  # a file may hold the motors too, see `thenar.hands.motors_file`
        entries.pop(elsewhere, None)
    tables = entries.pop("pads", {})
    if not isinstance(tables, dict):
        raise BadFile(path, f"line {_line(text, 'pads')}: 'pads' must hold one table a pad")
    checked = _checked_entries(path, text, entries, {*_PAD_FIELDS, *_HAND_FIELDS}, hand, None)
    whole = {key: value for key, value in checked.items() if key in _HAND_FIELDS}
    common = {key: value for key, value in checked.items() if key not in _HAND_FIELDS}
    bare = replace(base.bare, **common)
    pads = {name: replace(own, **common) for name, own in base.pads.items()}
    names = [pad.name for pad in hand.pads]
    for name, table in tables.items():
        if name not in names:
            error = UnknownName("pad", name, names)
            raise BadFile(path, f"line {_line(text, 'pads.' + name)}: {error}")
        if not isinstance(table, dict):
            where = f"line {_line(text, name)}: pads.{name}"
            raise BadFile(path, f"{where} is {table!r}; wanted a table of its own, [pads.{_key(name)}]")
        own = _checked_entries(path, text, table, _PAD_FIELDS, hand, name)
        pads[name] = replace(pads.get(name, bare), **own)
    return replace(base, bare=bare, pads=pads, **whole)


def write_calibration(
    path: Path, hand: SkinSpec, pads: Mapping[str, PadCalibration], notes: Iterable[str] = ()
) -> None:
    """Write a file that holds what was fitted to these pads, and nothing else.

    Args:
        path: The TOML file.
        hand: The hand.
        pads: What was fitted, by name of the pad.
        notes: Lines of comment for its head.
    """
    lines = [f"# {note}" for note in notes]
    for name, own in pads.items():
        lines += ["", f"[pads.{_key(name)}]"]
        lines += [f"{key} = {_toml(getattr(own, key))}" for key in FITTED_FIELDS[hand.pad(name).sensor]]
        if own.learned is not None:
            lines += ["", f"[pads.{_key(name)}.learned]"]
            lines += [f"{key} = {_toml(value)}" for key, value in learned_table(own.learned).items()]
    with writing(path):
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _key(name: str) -> str:
    """A pad's name as TOML takes it in the name of a table."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _toml(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(part) for part in value)}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _checked_entries(
    path: Path, text: str, entries: dict[str, Any], known: Iterable[str], hand: SkinSpec, pad: str | None
) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for key, value in entries.items():
        where = f"line {_line(text, key, after=f'pads.{pad}' if pad else None)}: "
        name = f"{key!r} of {pad}" if pad else repr(key)
        if key not in known:
            raise BadFile(path, f"{where}unknown entry {name}; it takes: {', '.join(sorted(known))}")
        checked[key] = _checked(path, where + name, key, value, hand, pad)
    return checked


def _checked(path: Path, where: str, key: str, value: Any, hand: SkinSpec, pad: str | None) -> Any:
    if key in ("dead", "learned") and pad is None:
        table = "[pads.NAME]" if key == "dead" else "[pads.NAME.learned]"
        raise BadFile(path, f"{where} belongs into the table of a pad, as {table}")
    if pad is None:
        return _number(path, where, key, value)
    spec = hand.pad(pad)
    if key == "dead":
        cells = [tuple(cell) if isinstance(cell, list) else () for cell in value] if isinstance(value, list) else [()]
        inside = all(
            len(c) == 2 and all(type(x) is int for x in c) and 0 <= c[0] < spec.rows and 0 <= c[1] < spec.cols
            for c in cells
        )
        if not inside:
            raise BadFile(path, f"{where} is {value!r}; wanted [[row, column], ...] within {spec.rows} x {spec.cols}")
        return tuple(cells)
    if key == "learned":
        try:
            return learned_from_table(value, spec.taxels)
        except BadValue as error:
            raise BadFile(path, f"{where}: {error}") from error
    if isinstance(value, list) and key in _PER_TAXEL:
        rows = [row if isinstance(row, list) else [row] for row in value]
        if [len(row) for row in rows] != [spec.cols] * spec.rows:
            raise BadFile(path, f"{where} is {value!r}; wanted a number or {spec.rows} rows of {spec.cols}")
        return tuple(tuple(_number(path, where, key, one) for one in row) for row in rows)
    return _number(path, where, key, value)


def _number(path: Path, where: str, key: str, value: Any) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    number = number and (abs(value) <= sys.float_info.max or value in (math.inf, -math.inf))
    least = -math.inf if key in _MAY_BE_NEGATIVE else 0.0 if key in _MAY_BE_ZERO else math.ulp(0.0)
    most = 1.0 if key in _SHARES else math.inf
    if not number or not least <= value <= most or (math.isinf(value) and key not in _MAY_BE_INFINITE):
        bound = {-math.inf: "finite", 0.0: "not below 0"}.get(least, "above 0")
        bound += " and not above 1" if key in _SHARES else ""
        raise BadFile(path, f"{where} is {value!r}; wanted a number {bound}")
    return float(value)


def _line(text: str, key: str, *, after: str | None = None) -> int:
    """Number of the line on which an entry stands."""
    lines = text.splitlines()
    start = 0
    if after is not None:
        plain = str.maketrans("", "", ' "')  # however it is quoted
        table = f"[{after}]".translate(plain)
        start = next((n for n, line in enumerate(lines) if table in line.translate(plain)), 0)
    pattern = re.compile(rf"^\s*\[?([\w.]+\.)?\"?{re.escape(key)}\"?\s*(=|\])")
    return next((n for n in range(start, len(lines)) if pattern.match(lines[n])), 0) + 1
