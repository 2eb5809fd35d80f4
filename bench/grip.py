"""Things held for a minute: what slides out of a hand, how far the rest creeps, whether the grip keeps its force."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco
import numpy as np

from thenar import Closing, World
from thenar.arrays import FloatArray
from thenar.hands.rotations import matrix_from_rpy, quat_wxyz_from_matrix
from thenar.sim.props import Box, Capsule, Cylinder, Ellipsoid, Mesh, Prop, Sphere
from thenar.sim.scenes import Mount

HAND = "inspire_right"
HOLDS: dict[str, tuple[tuple[float, float, float], bool]] = {
    "palm up": ((0.0, 0.0, 0.0), False),
    "palm down": ((0.0, math.pi, 0.0), False),
    "sideways": ((0.0, math.pi / 2, 0.0), False),
    "sideways, shaken": ((0.0, math.pi / 2, 0.0), True),
}
"""Roll, pitch and yaw of the palm [rad], and whether it is shaken up and down."""
SHAKE_M, SHAKE_HZ = 0.01, 2.0
CLOSE_S, TURN_S = 2.5, 2.0
SAMPLE_S = 0.02
LOST_M = 0.03  # from where it was when the time began


@dataclass(frozen=True, kw_only=True)
class Grip:
    """How one way of holding went, over all objects."""

    hold: str
    seconds: float
    grasped: int
    """Objects in the hand when the time began; the others fell while the hand closed or turned."""
    lost: int
    creep_worst_mm: float
    creep_median_mm: float
    force_change_worst_percent: float
    """Of the sum of normal forces between the beginning and the end, each a mean over one period of the shaking."""
    cpu_ms_per_s: float


def objects(folder: Path, *, seed: int = 0, count: int = 20) -> Iterator[Prop]:
    """Balls, cans, bottles, boxes, rods, eggs and meshes from 5 g to 1 kg that lie on a palm."""
    rng = np.random.default_rng(seed)
    across = (0.0, math.pi / 2, 0.0)
    for number in range(count):
        mass_kg = float(10.0 ** rng.uniform(math.log10(0.005), 0.0))
        size = float(rng.uniform(0.8, 1.2))
        x, y = rng.uniform(-0.01, 0.01), rng.uniform(0.035, 0.05)
        common = {"name": "thing", "mass_kg": mass_kg}
        match number % 7:
            case 0:
                r = 0.030 * size
                yield Sphere(radius_m=r, pos_m=(x, y, r + 0.002), **common)
            case 1:
                r = 0.024 * size
                yield Cylinder(radius_m=r, length_m=0.1, pos_m=(x, y, r + 0.002), rpy_rad=across, **common)
            case 2:
                r = 0.030 * size
                yield Cylinder(radius_m=r, length_m=0.19, pos_m=(x, y, r + 0.002), rpy_rad=across, **common)
            case 3:
                edges = (0.07 * size, 0.045, 0.04 * size)
                yield Box(size_m=edges, pos_m=(x, y, edges[2] / 2 + 0.002), **common)
            case 4:
                r = 0.016 * size
                yield Capsule(radius_m=r, length_m=0.14, pos_m=(x, y, r + 0.002), rpy_rad=across, **common)
            case 5:
                r = 0.023 * size
                yield Ellipsoid(radii_m=(r, r, 1.3 * r), pos_m=(x, y, 1.3 * r + 0.002), **common)
            case _:
                file = folder / f"prism_{number}.obj"
                _write_prism(file, sides=5 + number % 4)
                yield Mesh(file=file, scale=(size, size, size), pos_m=(x, y, 0.032), rpy_rad=across, **common)


def measure_grips(seconds: float = 60.0, *, seed: int = 0, count: int = 20) -> list[Grip]:
    """Hold every object in every way."""
    with TemporaryDirectory() as folder:
        things = list(objects(Path(folder), seed=seed, count=count))
        return [_over_all(hold, things, seconds) for hold in HOLDS]


def _over_all(hold: str, things: list[Prop], seconds: float) -> Grip:
    began_s = time.process_time()
    found = np.array([hold_for(seconds, thing, hold) for thing in things])
    cpu_s = time.process_time() - began_s
    found = found[found[:, 1] > 0.0]  # those that were in the hand
    kept = found[found[:, 0] < LOST_M]
    return Grip(
        hold=hold,
        seconds=seconds,
        grasped=len(found),
        lost=len(found) - len(kept),
        creep_worst_mm=1e3 * float(kept[:, 0].max(initial=0.0)),
        creep_median_mm=1e3 * float(np.median(kept[:, 0])) if len(kept) else 0.0,
        force_change_worst_percent=100.0 * float(np.abs(kept[:, 2] / kept[:, 1] - 1.0).max(initial=0.0)),
        cpu_ms_per_s=1e3 * cpu_s / (len(things) * (CLOSE_S + TURN_S + seconds)),
    )


def hold_for(seconds: float, thing: Prop, hold: str) -> tuple[float, float, float]:
    """How far an object moved in the palm [m], and the grip's normal force at the beginning and at the end [N]."""
    rpy_rad, shaken = HOLDS[hold]
    world = World(HAND, props=[thing], mounts={HAND: Mount(driven=True)})
    world.command(HAND, Closing(fraction=1.0))
    world.advance(CLOSE_S)
    world.wrists.move(HAND, quat_wxyz=quat_wxyz_from_matrix(matrix_from_rpy(rpy_rad)))
    world.advance(TURN_S)
    at_m, _ = world.wrists.pose(HAND)
    samples = round(seconds / SAMPLE_S)
    place_m, force_n = np.zeros((samples, 3)), np.zeros(samples)
    for sample in range(samples):
        if shaken:
            lift_m = SHAKE_M * math.sin(2.0 * math.pi * SHAKE_HZ * sample * SAMPLE_S)
            world.wrists.move(HAND, pos_m=at_m + np.array([0.0, 0.0, lift_m]))
        world.advance(SAMPLE_S)
        place_m[sample], force_n[sample] = _in_palm_m(world, thing.name), grip_force_n(world, thing.name)
    window = round(1.0 / SHAKE_HZ / SAMPLE_S)
    creep_m = float(np.linalg.norm(place_m[-window:].mean(axis=0) - place_m[:window].mean(axis=0)))
    return creep_m, float(force_n[:window].mean()), float(force_n[-window:].mean())


def grip_force_n(world: World, thing: str) -> float:
    """Sum of the normal forces between a hand and an object [N]."""
    contacts = world.contacts(HAND)
    return float(
        sum(n for n, partner in zip(contacts.normal_force_n, contacts.partner, strict=True) if partner == thing)
    )


def _in_palm_m(world: World, thing: str) -> FloatArray:
    at_m, quat = world.wrists.pose(HAND)
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, quat)
    return turn.reshape(3, 3).T @ (world.props.pose(thing)[0] - at_m)


def _write_prism(file: Path, *, sides: int) -> None:
    """A prism that narrows upwards, 50 mm high."""
    angle = 2.0 * math.pi * np.arange(sides) / sides
    rings = [(0.026, -0.025), (0.021, 0.025)]
    points = [(r * math.cos(a), r * math.sin(a), z) for r, z in rings for a in angle]
    faces = [(0, k + 1, k) for k in range(1, sides - 1)] + [
        (sides, sides + k, sides + k + 1) for k in range(1, sides - 1)
    ]
    for a in range(sides):
        b = (a + 1) % sides
        faces += [(a, b, sides + b), (a, sides + b, sides + a)]
    lines = [f"v {x} {y} {z}" for x, y, z in points] + ["f " + " ".join(str(k + 1) for k in face) for face in faces]
    file.write_text("\n".join(lines) + "\n")
