"""What the motors of one hand are like, as a file: ``thenar identify`` writes it, a world reads it.

A table a motor with fields of `LeadScrew`; what a table leaves out stays as the catalogue has it. The same file may
hold the skin's calibration, and intervals, which only people read.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from thenar.errors import BadFile, BadValue, UnknownName, writing
from thenar.hands.spec import HandSpec, LeadScrew

MotorValues = Mapping[str, Mapping[str, float]]
"""Values of fields by motor and field."""

INTERVAL = "interval"
FIELDS = frozenset(field.name for field in fields(LeadScrew)) - {"source"}
POSITIVE = frozenset(
    {"full_stroke_s", "stop_s", "stiffness_n", "stall_n", "lever_m", "newton_per_reported", "cooling_s"}
)
SIGNED = frozenset({"force_zero_n"})
MOST = 1e9
"""No value of a motor is as large; neither is what is no number."""


def read_motors(path: Path | str, hand: HandSpec) -> MotorValues:
    """Values of a file, checked against a hand."""
    try:
        entries = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadFile(path, f"not a TOML file: {error}") from error
    made_for = entries.get("hand", hand.name)
    if made_for != hand.name:
        raise BadFile(path, f"it is of {made_for}; wanted the motors of {hand.name}")
    tables = entries.get("motors")
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise BadFile(path, "it has no motors; wanted tables such as [motors.index], which thenar identify writes")
    values = {name: {key: one for key, one in table.items() if key != INTERVAL} for name, table in tables.items()}
    try:
        with_motors(hand, values)
    except (BadValue, UnknownName) as error:
        raise BadFile(path, str(error)) from error
    return values


def with_motors(hand: HandSpec, motors: MotorValues) -> HandSpec:
    """The hand with these motors; what does not fit it is refused."""
    for name in motors:
        if name not in hand.actuator_names:
            raise UnknownName(f"motor of {hand.name}", name, hand.actuator_names)
    actuators = []
    for actuator in hand.actuators:
        own = motors.get(actuator.name, {})
        if own and not isinstance(actuator.motor, LeadScrew):
            raise BadValue("motors of", hand.name, "a hand with lead screws, such as inspire_right")
        for key, value in own.items():
            if key not in FIELDS:
                raise UnknownName(f"entry of the motor {actuator.name}", key, FIELDS)
            _check(f"{key} of {actuator.name}", key, value)
        motor = replace(actuator.motor, **own) if own else actuator.motor
        if isinstance(motor, LeadScrew) and not motor.full_stroke_s > motor.stop_s:
            raise BadValue(
                f"full_stroke_s of {actuator.name}", motor.full_stroke_s, f"more than stop_s, {motor.stop_s}"
            )
        actuators.append(replace(actuator, motor=motor))
    return replace(hand, actuators=tuple(actuators))


def motor_values(hand: HandSpec, base: HandSpec) -> MotorValues:
    """What the motors of a hand have that those of another do not."""
    return {
        own.name: differing
        for own, usual in zip(hand.actuators, base.actuators, strict=True)
        if isinstance(own.motor, LeadScrew) and isinstance(usual.motor, LeadScrew)
        if (differing := {f: getattr(own.motor, f) for f in FIELDS if getattr(own.motor, f) != getattr(usual.motor, f)})
    }


def write_motors(
    path: Path,
    hand: str,
    values: Mapping[str, Mapping[str, tuple[float, float, float]]],
    notes: Iterable[str] = (),
) -> None:
    """Write a file.

    Args:
        path: The TOML file.
        hand: Name of the hand.
        values: Value and both ends of its interval, by motor and field.
        notes: Lines of comment for its head.
    """
    lines = [*(f"# {note}" for note in notes), "", f"hand = {_quoted(hand)}"]
    for name, table in values.items():
        motor = name if re.fullmatch("[A-Za-z0-9_-]+", name) else _quoted(name)
        lines += ["", f"[motors.{motor}]", *(f"{key} = {value:.6g}" for key, (value, _, _) in table.items())]
        lines += ["", f"[motors.{motor}.{INTERVAL}]  # 95 %"]
        lines += [f"{key} = [{low:.6g}, {high:.6g}]" for key, (_, low, high) in table.items()]
    with writing(path):
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _quoted(name: str) -> str:
    """A name of any letters as TOML has it; its strings are those of JSON."""
    return json.dumps(name, ensure_ascii=False)


def _check(what: str, key: str, value: Any) -> None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and -MOST < value < MOST
    if not good or (key not in SIGNED and value < 0.0) or (key in POSITIVE and value <= 0.0):
        wanted = "a number" if key in SIGNED else "a number above 0" if key in POSITIVE else "a number not below 0"
        raise BadValue(what, value, wanted)
