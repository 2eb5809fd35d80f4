"""Cubes of random size, mass and pose that fall on an open hand one by one, and what its skin says of them."""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue, writing
from thenar.hands import load
from thenar.signals import TouchFrame
from thenar.sim.props import Box
from thenar.touch.sensor.calibration import profile_of
from thenar.twin.world import World
from thenar.wire.codecs.reflex_counts import pressure_counts, published_counts

CUBE = "cube"
EDGE_M = (0.015, 0.060)
DENSITY_KG_M3 = (400.0, 8000.0)  # from wood to steel
AROUND_M = (0.030, 0.130)  # from the palm's centre, across and along the fingers
HEIGHT_M = (0.10, 0.20)
# The sensors of a ReFlex hand, in the order of its driver.
SENSOR_ROWS = {"finger 1": slice(0, 9), "finger 2": slice(9, 18), "finger 3": slice(18, 27), "palm": slice(27, 38)}
SENSORS = tuple(
    f"{row.replace(' ', '_')}_{n + 1}" for row, part in SENSOR_ROWS.items() for n in range(part.stop - part.start)
)
IntArray = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Cube:
    """One cube as it is let go."""

    edge_m: float
    mass_kg: float
    pos_m: tuple[float, float, float]
    quat_wxyz: tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """Reading of the skin at one instant of one drop."""

    drop: int
    """Number of the drop, from 1 on; 0 before the first: nothing touches."""
    cube: Cube | None
    frame: TouchFrame


@dataclass(frozen=True, kw_only=True)
class DropSpeed:
    """How many drops went well, and how fast."""

    hand: str
    drops: int
    touched: int
    """Drops in which something met the skin."""
    simulated_s: float
    times_real_time: float
    """By the processor's clock: on a free core as by the wall's, and other programs do not change it much."""


def random_cube(rng: np.random.Generator) -> Cube:
    """A cube above the hand, any way up, of any stuff from wood to steel."""
    turn = rng.standard_normal(4)
    edge_m = float(rng.uniform(*EDGE_M))
    w, x, y, z = (float(part) for part in turn / np.linalg.norm(turn))
    return Cube(
        edge_m=edge_m,
        mass_kg=edge_m**3 * float(np.exp(rng.uniform(*np.log(DENSITY_KG_M3)))),
        pos_m=(
            float(rng.uniform(-AROUND_M[0], AROUND_M[0])),
            float(rng.uniform(-AROUND_M[1], AROUND_M[1])),
            float(rng.uniform(*HEIGHT_M)),
        ),
        quat_wxyz=(w, x, y, z),
    )


def drop_cubes(
    hand: str, *, count: int, seed: int = 0, seconds: float = 1.0, rate_hz: float | None = None
) -> Iterator[Reading]:
    """Let cubes fall on an open hand, palm up, and read its skin all the while.

    Every reading is checked: anything that is not a number raises, as a simulation that diverges does.

    Args:
        hand: Name of a hand with skin.
        count: How many cubes.
        seed: Of the cubes and of the sensors.
        seconds: Time for each cube [s], from letting go to being taken away.
        rate_hz: Readings a second; None: as often as the hand's own sensors are read.
    """
    if not isinstance(count, int) or count < 1:
        raise BadValue("count", count, "a whole number above 0")
    if seed < 0:
        raise BadValue("seed", seed, "a whole number from 0 on")
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise BadValue("seconds", seconds, "a number above 0")
    spec = load(hand)
    skin = profile_of(spec, "measured")
    if rate_hz is not None:
        if not 1.0 <= rate_hz <= 1000.0:
            raise BadValue("rate_hz", rate_hz, "hertz from 1 to 1000")
        skin = replace(skin, rate_hz=rate_hz)
    rng = np.random.default_rng(seed)
    step_s = min(0.002, 1.0 / skin.rate_hz)
    far = Box(name=CUBE, pos_m=(0.0, 2.0, 0.0))
    world = World(spec, props=[far], seed=seed, skin={hand: skin}, timestep_s=step_s)
    yield Reading(drop=0, cube=None, frame=_checked(world.touch(hand)))
    for drop in range(1, count + 1):
        cube = random_cube(rng)
        world.props.resize(CUBE, size_m=(cube.edge_m,) * 3, mass_kg=cube.mass_kg)
        world.props.move(CUBE, pos_m=cube.pos_m, quat_wxyz=cube.quat_wxyz)
        end_s = world.time_s + seconds
        while world.time_s < end_s - step_s / 2:
            world.advance(min(1.0 / skin.rate_hz, end_s - world.time_s))
            yield Reading(drop=drop, cube=cube, frame=_checked(world.touch(hand)))


def measure_drops(hand: str = "reflex", *, count: int = 500, seed: int = 0) -> DropSpeed:
    """Drop cubes as fast as it goes; one that breaks the simulation raises."""
    for _ in drop_cubes(hand, count=1):  # compiled code is loaded before the clock starts
        pass
    began_s, met, simulated_s = time.process_time(), set[int](), 0.0
    for reading in drop_cubes(hand, count=count, seed=seed):
        simulated_s = reading.frame.stamp_s
        if reading.frame.contact_n > 0.0:
            met.add(reading.drop)
    return DropSpeed(
        hand=hand,
        drops=count,
        touched=len(met),
        simulated_s=round(simulated_s, 1),
        times_real_time=round(simulated_s / (time.process_time() - began_s), 1),
    )


def _checked(frame: TouchFrame) -> TouchFrame:
    for name in ("taxel_pressure_pa", "die_pressure_pa", "die_temperature_c"):
        if not np.all(np.isfinite(getattr(frame, name))):
            raise ArithmeticError(f"{name} at {frame.stamp_s:.3f} s is not a number: {getattr(frame, name).tolist()}")
    return frame


@dataclass
class DropSummary:
    """Result of one drop on a ReFlex hand."""

    drop: int
    edge_mm: float
    mass_g: float
    strongest: str = "-"
    largest: int = 0
    lit: set[int] = field(default_factory=set)
    """Sensors that were in contact at some time."""

    @classmethod
    def of(cls, drop: int, cube: Cube) -> Self:
        """Before the first reading."""
        return cls(drop=drop, edge_mm=round(1e3 * cube.edge_m, 1), mass_g=round(1e3 * cube.mass_kg, 1))

    @property
    def sensors(self) -> int:
        """How many were in contact at some time."""
        return len(self.lit)

    def add(self, counts: IntArray, contact: NDArray[np.bool_]) -> None:
        """Take one reading in: counts above rest, and which sensors are in contact."""
        self.lit |= set(np.flatnonzero(contact).tolist())
        if counts.max() > self.largest:
            self.largest, self.strongest = int(counts.max()), SENSORS[int(counts.argmax())]

    def row(self) -> dict[str, object]:
        """As a row of a table."""
        return {name: getattr(self, name) for name in ("drop", "edge_mm", "mass_g", "sensors", "strongest", "largest")}


def counts_above_rest(readings: Iterable[Reading]) -> Iterator[tuple[Reading, IntArray]]:
    """Readings of a ReFlex hand with its driver's counts; the first one, with nothing touching, is taken for rest."""
    rest: IntArray | None = None
    for reading in readings:
        raw = published_counts(pressure_counts(reading.frame.die_pressure_pa, reading.frame.die_temperature_c))
        rest = raw if rest is None else rest
        yield reading, raw - rest


def check_writable(path: Path) -> None:
    """Refuse a file that `write_drops` could not write, before the drops."""
    if path.suffix not in (".npz", ".csv"):
        raise BadValue("record", str(path), "a file that ends in .npz or .csv")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()


def write_drops(path: Path, kept: Sequence[tuple[Reading, IntArray]]) -> None:
    """All readings, one row each; the first, drop 0, is the hand untouched. An .npz file has the dies' values too."""
    readings = [reading for reading, _ in kept]
    table = {
        "time_s": [reading.frame.stamp_s for reading in readings],
        "drop": [reading.drop for reading in readings],
        "edge_m": [math.nan if reading.cube is None else reading.cube.edge_m for reading in readings],
        "mass_kg": [math.nan if reading.cube is None else reading.cube.mass_kg for reading in readings],
    }
    values = np.array([counts for _, counts in kept])
    if path.suffix == ".npz":
        columns: dict[str, Any] = {name: np.array(column) for name, column in table.items()}
        for name in ("die_pressure_pa", "die_temperature_c"):
            columns[name] = np.array([getattr(reading.frame, name) for reading in readings])
        with writing(path):
            np.savez_compressed(path, sensors=np.array(SENSORS), reading=values, **columns)
        return
    with writing(path), path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow((*table, *SENSORS))
        for row, counts in zip(zip(*table.values(), strict=True), values, strict=True):
            writer.writerow((*(f"{value:.6g}" for value in row), *counts))
