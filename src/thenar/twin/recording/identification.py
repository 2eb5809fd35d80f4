"""Motors from recordings: what was told and read of a hand, fitted, as rows, a file and a page."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thenar.errors import BadFile, BadValue, UnknownName, writing
from thenar.hands import with_variant
from thenar.hands.motors_file import write_motors
from thenar.hands.spec import HandSpec, LeadScrew
from thenar.recordings.recording import Recording
from thenar.sim.identify.force_scale import fit_force_scale
from thenar.sim.identify.motor_identity import MotorIdentity, identify_hand
from thenar.sim.identify.moves import Track, make_track
from thenar.sim.identify.readings_fit import Estimate
from thenar.twin.recording.coupling_law import CouplingVerdict, fit_coupling
from thenar.units import GRAM_FORCE_N

UNITS = {
    "_s": ("ms", 1e3), "_n": ("N", 1.0), "_a": ("mA", 1e3), "_per_n": ("mA/N", 1e3), "_per_a2": ("C/A2", 1.0),
    "_per_reported": ("N/N", 1.0),
}  # fmt: skip


def tracks_of(recordings: Sequence[Recording], hand: HandSpec) -> list[list[Track]]:
    """Tracks of each motor of a hand, one for each recording."""
    if not all(isinstance(actuator.motor, LeadScrew) for actuator in hand.actuators):
        raise BadValue("hand", hand.name, "a hand with lead screws, such as inspire_right; no other is identified yet")
    tracks: list[list[Track]] = [[] for _ in hand.actuators]
    for recording in recordings:
        motors = recording.motors(hand.name)
        if not recording.has_commands(hand.name) or not len(motors.stamp_s):
            wanted = f"one with states of {hand.name} and commands to it; thenar identify protocol gives them"
            raise BadValue("recording", recording.name, wanted)
        commands, first = recording.commands(hand.name), motors.stamp_s[0]
        for n, actuator in enumerate(hand.actuators):
            at, to = motors.names.index(actuator.name), commands.names.index(actuator.name)
            later = commands.stamp_s >= first
            tracks[n].append(
                make_track(
                    actuator,
                    stamp_s=motors.stamp_s,
                    angle_rad=motors.angle_rad[:, at],
                    force_n=motors.force_n[:, at],
                    current_a=motors.current_a[:, at],
                    temperature_c=motors.temperature_c[:, at],
                    command_s=commands.stamp_s[later],
                    target_rad=commands.position_rad[later, to],
                    speed_rad_s=commands.velocity_rad_s[later, to],
                    limit_n=commands.effort[later, to],
                )
            )
    return tracks


@dataclass(frozen=True, kw_only=True, eq=False)
class Weighed:
    """A recording of a finger that pressed on a scale, and what the scale showed each time it stood."""

    recording: Recording
    motor: str
    shown_n: tuple[float, ...]


def read_weighed(path: Path) -> list[Weighed]:
    """What somebody noted: tables ``[[weighed]]`` with ``recording`` (beside this file), ``motor`` and ``grams``."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("weighed")
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadFile(path, f"not a TOML file: {error}") from error
    if not isinstance(tables, list) or not tables:
        raise BadFile(path, "it has no [[weighed]]; wanted recording, motor and grams")
    found = []
    for table in tables:
        told: Any = table if isinstance(table, dict) else {}
        names, grams = (told.get("recording"), told.get("motor")), told.get("grams")
        numbers = isinstance(grams, list) and all(type(one) in (int, float) and 0 <= one < 1e5 for one in grams)
        if not numbers or not all(isinstance(name, str) for name in names):
            raise BadFile(path, f"{table} is no weighed recording; wanted recording, motor and grams = [120, 250, 410]")
        shown_n = tuple(GRAM_FORCE_N * one for one in grams)
        found.append(Weighed(recording=Recording(path.parent / str(names[0])), motor=str(names[1]), shown_n=shown_n))
    return found


class Identity(NamedTuple):
    """What recordings tell of a hand."""

    motors: list[MotorIdentity]
    coupling: CouplingVerdict


def identify(recordings: Sequence[Recording], hand: HandSpec, weighed: Sequence[Weighed] = ()) -> Identity:
    """What recordings tell of a hand; what a scale showed tells its newtons besides."""
    motors, coupling = identify_tracks(tracks_of(recordings, hand), hand)
    for one in weighed:
        if one.motor not in hand.actuator_names:
            raise UnknownName(f"motor of {hand.name}", one.motor, hand.actuator_names)
        number = hand.actuator_names.index(one.motor)
        track = tracks_of([one.recording], hand)[number][0]
        motors[number] = with_scale(motors[number], fit_force_scale(hand, one.motor, track, one.shown_n))
    return Identity(motors, coupling)


def identify_tracks(tracks: Sequence[Sequence[Track]], hand: HandSpec) -> Identity:
    """The law of coupling first: what a finger weighs hangs on it, and so do the zeros of its sensor."""
    coupling = fit_coupling(tracks, hand)
    coupled = with_variant(hand, coupling.fit[0]) if coupling.fit else hand
    return Identity(identify_hand(tracks, coupled), coupling)


def with_scale(motor: MotorIdentity, scale: Estimate) -> MotorIdentity:
    """The same motor with its real newtons for one that it reports."""
    refused = {name: why for name, why in motor.refused.items() if name != "newton_per_reported"}
    return replace(motor, values=motor.values | {"newton_per_reported": scale}, refused=refused)


def values_of(motors: Sequence[MotorIdentity]) -> dict[str, dict[str, float]]:
    """What was found, as a world takes it."""
    found = {motor.name: {name: one.value for name, one in possible(motor).items()} for motor in motors}
    return {name: values for name, values in found.items() if values}


def write_identity(
    path: Path, hand: HandSpec, motors: Sequence[MotorIdentity], source: str, coupling: CouplingVerdict | None = None
) -> None:
    """The file that `World` and ``thenar serve`` read: what is known, and what is not as comments."""
    values = {
        motor.name: {name: (one.value, one.low, one.high) for name, one in possible(motor).items()} for motor in motors
    }
    notes = [f"Motors of {hand.name}, from {source}. Left as the catalogue has them, because nothing tells:"]
    notes += [f"  {motor.name}: {', '.join(motor.refused)}" for motor in motors if motor.refused]
    notes += [] if coupling is None else [str(coupling)]
    write_motors(path, hand.name, {name: table for name, table in values.items() if table}, notes)


def possible(motor: MotorIdentity) -> dict[str, Estimate]:
    """Values that a motor can have: only a zero may be below 0."""
    least = {name: -np.inf if name == "force_zero_n" else 0.0 for name in motor.values}
    return {
        name: replace(one, value=max(one.value, least[name]), low=max(one.low, least[name]))
        for name, one in motor.values.items()
    }


def rows_of(hand: HandSpec, motors: Sequence[MotorIdentity]) -> list[dict[str, object]]:
    """A row a value: what the catalogue has, what was found, and its interval."""
    rows: list[dict[str, object]] = []
    for motor, actuator in zip(motors, hand.actuators, strict=True):
        for name, one in motor.values.items():
            unit, scale = unit_of(name)
            rows.append(
                {
                    "motor": motor.name,
                    "value": name,
                    "unit": unit,
                    "catalogue": f"{getattr(actuator.motor, name) * scale:.4g}",
                    "found": f"{one.value * scale:.4g}",
                    "95 %": f"{one.low * scale:.4g} to {one.high * scale:.4g}",
                }
            )
    return rows


def unit_of(name: str) -> tuple[str, float]:
    """Unit in which people read a value, and its scale."""
    return next((unit for ending, unit in reversed(UNITS.items()) if name.endswith(ending)), ("of the stroke", 1.0))


def write_report(
    path: Path, hand: HandSpec, motors: Sequence[MotorIdentity], source: str, coupling: CouplingVerdict | None = None
) -> None:
    """A page with the values, what is not known, the overshoot of stops and one plot a motor."""
    rows = rows_of(hand, motors)
    head = "".join(f"<th>{escape(key)}</th>" for key in rows[0]) if rows else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row.values()) + "</tr>" for row in rows
    )
    unknown = "".join(
        f"<li>{escape(motor.name)}, {escape(name)}: {escape(why)}</li>"
        for motor in motors
        for name, why in motor.refused.items()
    )
    stops = "".join(
        f"<tr><td>{escape(motor.name)}</td><td>{speed:.2f}</td><td>{limit:.2f}</td><td>{count}</td><td>{peak:.2f}</td></tr>"
        for motor in motors
        for speed, limit, count, peak in _overshoot(motor)
    )
    plots = "".join(f"<h3>{escape(motor.name)}</h3>{_plot(motor)}" for motor in motors if motor.fit is not None)
    with writing(path):
        path.write_text(
            f"<!doctype html><meta charset=utf-8><title>Motors of {escape(hand.name)}</title>"
            "<style>body{font:14px sans-serif;margin:2em;max-width:60em}td,th{padding:2px 10px;text-align:right}"
            "table{border-collapse:collapse}tr:nth-child(even){background:#f3f3f3}</style>"
            f"<h1>Motors of {escape(hand.name)}</h1><p>{escape(source)}</p>"
            f"<p>{escape(str(coupling or ''))}</p><table><tr>{head}</tr>{body}</table>"
            f"<h2>What it cannot tell</h2><ul>{unknown or '<li>nothing that was looked for</li>'}</ul>"
            "<h2>Overshoot</h2><table>"
            "<tr><th>motor</th><th>speed</th><th>limit, N</th><th>stops</th><th>peak, N</th></tr>"
            f"{stops}</table><h2>What is left</h2><p>Screw by its commands less screw by its readings, in thousandths "
            f"of the stroke, all moves one after the other.</p>{plots}",
            encoding="utf-8",
        )


def _overshoot(motor: MotorIdentity) -> list[tuple[float, float, int, float]]:
    """Speed, limit, how many stops and their mean peak."""
    kinds = sorted({(round(stop.speed, 2), round(stop.limit_n, 2)) for stop in motor.stops})
    found = []
    for speed, limit in kinds:
        peaks = [s.peak_n for s in motor.stops if (round(s.speed, 2), round(s.limit_n, 2)) == (speed, limit)]
        found.append((speed, limit, len(peaks), float(np.mean(peaks))))
    return found


def _plot(motor: MotorIdentity, width: int = 860, height: int = 90) -> str:
    assert motor.fit is not None
    left = np.concatenate(motor.fit.residual)
    step = max(1, len(left) // (2 * width))
    x = np.linspace(0.0, width, len(left[::step]))
    y = height / 2 - np.clip(left[::step] / 0.02, -1.0, 1.0) * height / 2
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<rect width="{width}" height="{height}" fill="#fafafa"/>'
        f'<polyline points="{points}" fill="none" stroke="#36c" stroke-width="0.7"/></svg>'
    )
