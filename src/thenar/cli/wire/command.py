"""``thenar command``: move a hand over its own protocol."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro
from numpy.typing import NDArray

from thenar import hands
from thenar.cli.show import console, plain_readings, print_json, readings_table
from thenar.cli.wire.wires import ConnectionOptions, Wire
from thenar.errors import BadValue

if TYPE_CHECKING:
    from thenar.wire.codecs.inspire_counts import Readings

SETTLE_S = 4.0
FULL_STROKE_S = 0.8  # at speed 1000
JITTER = 0.012  # of the stroke: a hand at rest reads a few counts more or less
STILL_READINGS = 5  # in a row make a hand that has stopped; its own latency is shorter


@dataclass(frozen=True)
class Command:
    """Move a hand, a twin or a real one, and show what it says then.

    For example:

    thenar command inspire_right --close 0.8 --speed 500

    thenar command inspire_left --close 0,0,0,1,0.5,1 --force 300

    thenar command inspire_right --close 0 --wire modbus --modbus 127.0.0.1:6001
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """Hand to move."""
    close: str = ""
    """How far: 0 is open, 1 is closed; one number, or one for each of little, ring, middle, index, bend, rotation."""
    speed: int | None = None
    """0 to 1000; 1000 is the full stroke in 0.6 s."""
    force: int | None = None
    """Force in grams at which a finger stops."""
    wire: Wire = "inspire"
    """Protocol to speak."""
    connection: Annotated[ConnectionOptions, tyro.conf.arg(name="")] = field(default_factory=ConnectionOptions)
    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Send, wait, show."""
        from thenar.wire.clients.hand_connection import ENDS_MOTIONS, connect_inspire
        from thenar.wire.codecs import inspire_counts

        spec = hands.load(self.name)
        angle = _angles(self.close) if self.close else []
        speed = [_within("--speed", self.speed, 1000)] * 6 if self.speed is not None else []
        force = [_within("--force", self.force, 3000)] * 6 if self.force is not None else []
        if not (angle or speed or force):
            raise BadValue("command", self.name, "something to do: --close, --speed or --force")
        if (speed or force) and self.wire not in ENDS_MOTIONS:
            raise BadValue("--wire", self.wire, "inspire or modbus: these topics carry neither speed nor force")
        command, _ = inspire_counts.command(inspire_counts.Scale.of(spec), angle=angle, speed=speed, force=force)
        with connect_inspire((spec,), self.connection.place(self.wire)) as (hand,):
            hand.readings()  # a hand that says nothing is told of before it is moved
            hand.send(command)
            readings = hand.readings()
            until_s = time.perf_counter() + SETTLE_S + FULL_STROKE_S * 1000 / max(self.speed or 1000, 10)
            still = 0
            while angle and still < STILL_READINGS and time.perf_counter() < until_s:
                time.sleep(0.05)
                before, readings = _place(readings), hand.readings()
                resting = np.all(np.abs(_place(readings) - before) <= JITTER) and not _moving(readings)
                still = still + 1 if resting else 0
        if self.json:
            print_json(plain_readings(readings))
        else:
            console.print(readings_table(spec.name, readings))


def _place(readings: Readings | NDArray[np.float32]) -> NDArray[np.float64]:
    """How far open each motor is."""
    return np.asarray(readings if isinstance(readings, np.ndarray) else readings.angle / 1000.0, dtype=np.float64)


def _moving(readings: Readings | NDArray[np.float32]) -> bool:
    """What it says itself, where the wire tells: 0 is releasing, 1 is grasping."""
    return not isinstance(readings, np.ndarray) and bool(np.isin(readings.status, (0, 1)).any())


def _angles(text: str) -> list[int]:
    """Angle counts (1000 is open) from closing fractions."""
    try:
        parts = [float(part) for part in text.split(",")]
    except ValueError:
        parts = []
    if len(parts) not in (1, 6) or not all(0.0 <= part <= 1.0 for part in parts):
        raise BadValue("--close", text, "one number from 0 to 1, or six separated by commas")
    return [round(1000 * (1.0 - part)) for part in (parts * 6 if len(parts) == 1 else parts)]


def _within(option: str, value: int, top: int) -> int:
    if not 0 <= value <= top:
        raise BadValue(option, value, f"a whole number from 0 to {top}")
    return value
