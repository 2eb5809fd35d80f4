"""Scenes of Unitree's simulator (unitree_sim_isaaclab) for a G1: where things stand, when a task is done, resets.

Places are those of that simulator's world, so that states and rewards of the two can be compared. Table tops are where
its objects come to rest. Its success tests are boxes in which an object's centre must be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import look_up
from thenar.sim.props import Box, Cylinder, Prop
from thenar.sim.scenes import GREEN, RED, YELLOW, Scene
from thenar.twin.body.body_world import Stand

Range = tuple[float, float]
GROUND_M = -0.04  # the feet of a robot whose pelvis is fixed at 0.76 m do not reach it
WOOD = (0.62, 0.52, 0.42)


@dataclass(frozen=True, kw_only=True)
class Zone:
    """A box in the world in which an object's centre is or is not [m]."""

    x: Range
    y: Range
    z: Range

    def holds(self, pos_m: FloatArray) -> bool:
        """Whether a point is in it."""
        return all(low <= at <= high for at, (low, high) in zip(pos_m, (self.x, self.y, self.z), strict=True))


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be done in a scene."""

    name: str
    """In Unitree's simulator, with ``{}`` for the hand."""
    objects: tuple[str, ...]
    """In the order in which they are to be brought to their goals."""
    goals: tuple[Zone, ...]
    rewards: tuple[float, ...]
    """When the first object is there, the first two, and so on."""
    area: Zone
    """An object that leaves it is put back."""
    noise_m: tuple[Range, Range]
    """How far objects are put from their places at a reset, in x and in y [m]."""

    def reward(self, places: Mapping[str, FloatArray]) -> float:
        """How well it goes: -1 where an object has left the area."""
        if self.left(places):
            return -1.0
        reward = 0.0
        for name, goal, worth in zip(self.objects, self.goals, self.rewards, strict=True):
            if not goal.holds(places[name]):
                break
            reward = worth
        return reward

    def left(self, places: Mapping[str, FloatArray]) -> bool:
        """Whether an object has left the area."""
        return not all(self.area.holds(places[name]) for name in self.objects)


@dataclass(frozen=True, kw_only=True)
class G1Scene:
    """Surroundings, where the pelvis stands in them, and what is to be done."""

    scene: Scene
    stand: Stand
    task: Task | None = None

    def for_hand(self, hand: str) -> Scene:
        """The surroundings, called as Unitree's simulator calls them with this hand."""
        return self.scene if self.task is None else replace(self.scene, name=self.task.name.format(hand))


def _table(x: Range, y: Range, top_m: float) -> Prop:
    size_m = (x[1] - x[0], y[1] - y[0], 0.05)
    centre_m = (sum(x) / 2, sum(y) / 2, top_m - 0.025)
    return Box(name="packing_table", size_m=size_m, pos_m=centre_m, friction=1.0, fixed=True, colour=WOOD)


def _block(name: str, edge_m: float, x: float, y: float, top_m: float, colour: tuple[float, float, float]) -> Prop:
    # Unitree's fall on the table from 0.84 m; friction is the one that slides.
    size_m, pos_m = (edge_m, edge_m, edge_m), (x, y, top_m + edge_m / 2 + 0.0005)
    return Box(name=name, size_m=size_m, mass_kg=1.0, pos_m=pos_m, friction=1.5, colour=colour)


CYLINDER_TOP_M, BLOCK_TOP_M = 0.665, 0.7925
BLOCK_STAND = Stand((-4.2, -3.7), 0.76, -math.pi / 2)
BLOCK_TABLE = _table((-5.2, -3.2), (-4.6, -3.86), BLOCK_TOP_M)
BLOCK_AREA = Zone(x=(-5.4, -2.9), y=(-5.05, -2.8), z=(0.5, math.inf))
SMALL: tuple[Range, Range] = ((-0.05, 0.05), (-0.05, 0.05))

SCENES = {
    "flat": G1Scene(
        scene=Scene(summary="Flat ground.", ground_m=0.0),
        stand=Stand((0.0, 0.0), 0.793, 0.0),
    ),
    "pick_place_cylinder": G1Scene(
        scene=Scene(
            summary="A cylinder stands on a table on the robot's left; it is to stand further right.",
            ground_m=GROUND_M,
            props=(
                _table((-0.5, 1.1), (0.18, 0.9), CYLINDER_TOP_M),
                Cylinder(
                    name="object",
                    radius_m=0.018,
                    length_m=0.35,
                    mass_kg=0.4,
                    pos_m=(-0.35, 0.40, 0.8405),
                    friction=1.5,
                    colour=RED,
                ),
            ),
        ),
        stand=Stand((-0.15, 0.0), 0.76, math.pi / 2),
        task=Task(
            name="Isaac-PickPlace-Cylinder-G129-{}-Joint",
            objects=("object",),
            goals=(Zone(x=(0.28, 0.96), y=(0.24, 0.57), z=(0.81, 0.90)),),
            rewards=(1.0,),
            area=Zone(x=(-0.42, 1.0), y=(0.2, 0.7), z=(0.5, math.inf)),
            noise_m=((-0.05, 0.05), (0.0, 0.05)),
        ),
    ),
    "pick_place_redblock": G1Scene(
        scene=Scene(
            summary="A red block on a table in front of the robot; it is to lie on a spot nearer to it.",
            ground_m=GROUND_M,
            props=(BLOCK_TABLE, _block("object", 0.06, -4.25, -4.03, BLOCK_TOP_M, RED)),
        ),
        stand=BLOCK_STAND,
        task=Task(
            name="Isaac-PickPlace-RedBlock-G129-{}-Joint",
            objects=("object",),
            goals=(Zone(x=(-4.2125, -4.1755), y=(-3.9606, -3.9121), z=(0.82, 0.825)),),
            rewards=(1.0,),
            area=BLOCK_AREA,
            noise_m=SMALL,
        ),
    ),
    "stack_rgyblock": G1Scene(
        scene=Scene(
            summary="A red, a yellow and a green block on a table; they are to be stacked in that order.",
            ground_m=GROUND_M,
            props=(
                BLOCK_TABLE,
                _block("red_block", 0.05, -4.1, -4.08, BLOCK_TOP_M, RED),
                _block("yellow_block", 0.05, -4.25, -4.05, BLOCK_TOP_M, YELLOW),
                _block("green_block", 0.05, -4.18, -4.12, BLOCK_TOP_M, GREEN),
            ),
        ),
        stand=BLOCK_STAND,
        task=Task(
            name="Isaac-Stack-RgyBlock-G129-{}-Joint",
            objects=("red_block", "yellow_block", "green_block"),
            goals=tuple(
                Zone(x=(-4.22, -4.16), y=(-3.98, -3.91), z=(0.815 + 0.05 * n, 0.83 + 0.05 * n)) for n in range(3)
            ),
            rewards=(0.3, 0.6, 1.0),
            area=BLOCK_AREA,
            noise_m=((-0.01, 0.01), (-0.01, 0.01)),
        ),
    ),
}
"""By name."""


def load_scene(name: str) -> G1Scene:
    """The scene of that name."""
    return look_up(SCENES, name, "scene")


def shifted(task: Task, starts: Mapping[str, FloatArray], rng: np.random.Generator) -> dict[str, FloatArray]:
    """Places for the objects at a reset: all of them moved by the same random step [m]."""
    step = np.array([*(rng.uniform(low, high) for low, high in task.noise_m), 0.0])
    return {name: starts[name] + step for name in task.objects}
