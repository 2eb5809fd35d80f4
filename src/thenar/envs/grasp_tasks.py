"""Tasks of grasping: holding under a pull, an egg that breaks, between two fingers, with the least force."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.envs.hand_env import LOST_M, HandEnv, Outcome, Truth
from thenar.sim.props import Box, Capsule, Cylinder, Ellipsoid, Prop, Sphere
from thenar.sim.scenes import Mount

OBJECT = "object"
ACROSS = (0.0, math.pi / 2, 0.0)
THINGS: tuple[Prop, ...] = (
    Sphere(name=OBJECT, radius_m=0.030, pos_m=(0.0, 0.04, 0.033)),
    Cylinder(name=OBJECT, radius_m=0.024, length_m=0.1, pos_m=(0.0, 0.042, 0.027), rpy_rad=ACROSS),
    Box(name=OBJECT, size_m=(0.07, 0.045, 0.04), pos_m=(0.0, 0.042, 0.025)),
    Capsule(name=OBJECT, radius_m=0.018, length_m=0.1, pos_m=(0.0, 0.042, 0.022), rpy_rad=ACROSS),
    Ellipsoid(name=OBJECT, radii_m=(0.035, 0.025, 0.025), pos_m=(0.0, 0.042, 0.028)),
)
"""A ball, a can, a box, a rod and an egg, as they lie on an open palm."""
FINGERS = ("little", "ring", "middle", "index")
NOWHERE_M = np.full(3, np.nan)


class HoldUnderPull(HandEnv):
    """Grasp what lies in the palm, and hold it while something pulls at it in an unknown direction."""

    task_description = "Hold the object while it is pulled."
    things = THINGS
    goal_size = 3
    PULL_AT_S: ClassVar[float] = 1.6
    RISE_S: ClassVar[float] = 1.2
    KEPT_M: ClassVar[float] = 0.02
    PULL_N: ClassVar[tuple[float, float]] = (10.0, 60.0)

    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """One of five things."""
        thing = self.randomise.prop(self.things[int(rng.integers(len(self.things)))], rng)
        lean, around = rng.uniform(0.0, math.radians(60.0)), rng.uniform(0.0, 2.0 * math.pi)
        way = (math.sin(lean) * math.cos(around), math.sin(lean) * math.sin(around), math.cos(lean))
        self.episode |= {"pull_n": rng.uniform(*self.PULL_N) * np.array(way), "from_m": NOWHERE_M}
        return [thing]

    def act(self) -> None:
        """The pull rises to its full force."""
        pulled = self.time_s >= self.PULL_AT_S
        if np.any(pulled):
            self.remember("from_m", pulled, self.stage.in_palm_m(OBJECT))
            share = np.clip((self.time_s - self.PULL_AT_S) / self.RISE_S, 0.0, 1.0)
            self.stage.pull(OBJECT, share[..., None] * self.episode["pull_n"])

    def outcome(self) -> Outcome:
        """How far it was pulled away."""
        moved = self.stage.in_palm_m(OBJECT) - self.episode["from_m"]
        pulled = ~np.isnan(self.episode["from_m"][..., 0])
        moved = np.where(pulled[..., None], moved, 0.0)
        away = np.linalg.norm(moved, axis=-1)
        facts = {"grip_n": sum(self.grip_n(OBJECT).values()), "pulled": pulled.astype(np.float64)}
        return Outcome(achieved=moved, success=(away < self.KEPT_M) & pulled, over=away > LOST_M, facts=facts)

    def reached(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        """Pulled at, and still in place."""
        return (np.linalg.norm(achieved - desired, axis=1) < self.KEPT_M) & (facts["pulled"] > 0.0)

    def dense_reward(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> FloatArray:
        """A grip before the pull, no motion during it, no more force than that takes."""
        away = np.linalg.norm(achieved - desired, axis=1) / self.KEPT_M
        gripped = 0.2 * np.minimum(facts["grip_n"] / 10.0, 1.0)
        effort = 0.2 * np.minimum(facts["grip_n"] / 100.0, 1.0)
        return np.where(facts["pulled"] > 0.0, np.maximum(1.0 - away, -1.0), gripped) - effort


class DelicateGrasp(HandEnv):
    """Grasp an egg and turn the hand over with it; a force beyond the ceiling breaks it."""

    task_description = "Pick up the egg without breaking it."
    things = (Ellipsoid(name=OBJECT, radii_m=(0.029, 0.022, 0.022), mass_kg=0.06, pos_m=(0.0, 0.042, 0.025)),)
    goal_size = 2
    mount = Mount(driven=True)
    posture: ClassVar[Mapping[str, float]] = dict.fromkeys(FINGERS, 0.45) | {"thumb_rotation": 0.7}
    TURN_AT_S: ClassVar[float] = 1.8
    TURN_S: ClassVar[float] = 1.2
    CEILING_N: ClassVar[float] = 10.0
    KEPT_M: ClassVar[float] = 0.03

    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """An egg that lies across the palm."""
        self.episode |= {"peak_n": np.zeros(()), "from_m": NOWHERE_M}
        self.desired = np.array([0.0, self.CEILING_N])
        return [self.randomise.prop(self.things[0], rng)]

    def begin(self) -> Truth:
        """Fingers stand over it."""
        self.settle(0.6)
        return super().begin()

    def act(self) -> None:
        """The wrist turns the palm down."""
        turning = self.time_s >= self.TURN_AT_S
        if np.any(turning):
            self.remember("from_m", turning, self.stage.in_palm_m(OBJECT))
            turn = math.pi * np.clip((self.time_s - self.TURN_AT_S) / self.TURN_S, 0.0, 1.0)
            none = np.zeros_like(turn)
            self.stage.turn_palm(np.stack([np.cos(turn / 2), none, np.sin(turn / 2), none], axis=-1))

    def outcome(self) -> Outcome:
        """How far it has gone in the palm, and the strongest force on it so far."""
        forces = self.grip_n(OBJECT)
        peak_n = self.episode["peak_n"] = np.asarray(reduce(np.maximum, forces.values(), self.episode["peak_n"]))
        away = np.linalg.norm(self.stage.in_palm_m(OBJECT) - self.episode["from_m"], axis=-1)
        away = np.where(np.isnan(self.episode["from_m"][..., 0]), 0.0, away)
        turned = self.time_s >= self.TURN_AT_S + self.TURN_S
        facts = {"grip_n": sum(forces.values()), "turned": turned.astype(np.float64)}
        broken = peak_n > self.CEILING_N
        success = turned & ~broken & (away < self.KEPT_M)
        achieved = np.stack([away, peak_n], axis=-1)
        return Outcome(achieved=achieved, success=success, over=broken | (away > LOST_M), facts=facts)

    def reached(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        """Turned over, in place and whole."""
        whole = achieved[:, 1] <= desired[:, 1]
        return whole & (np.abs(achieved[:, 0] - desired[:, 0]) < self.KEPT_M) & (facts["turned"] > 0.0)

    def dense_reward(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> FloatArray:
        """Some grip, no motion, and force far below the ceiling."""
        away = np.abs(achieved[:, 0] - desired[:, 0]) / self.KEPT_M
        gripped = 0.3 * np.minimum(facts["grip_n"] / 4.0, 1.0)
        broken = achieved[:, 1] > desired[:, 1]
        return np.maximum(1.0 - away, -1.0) * np.where(facts["turned"] > 0.0, 1.0, 0.2) + gripped - 5.0 * broken


class Pinch(HandEnv):
    """Take a small thing that is held out between index finger and thumb, and pinch it with a wanted force."""

    task_description = "Pinch the small object with the wanted force."
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {"index": ("index",), "thumb": ("thumb_bend",)}
    stroke_per_step = 0.02
    posture: ClassVar[Mapping[str, float]] = {"index": 0.35, "thumb_bend": 0.25, "thumb_rotation": 1.0}
    goal_varies = True
    RELEASE_AT_S: ClassVar[float] = 1.6
    WANTED_N: ClassVar[tuple[float, float]] = (1.5, 5.0)
    AT_M: ClassVar[tuple[float, float, float]] = (0.0335, 0.043, 0.058)
    things = (
        Sphere(name=OBJECT, radius_m=0.011, mass_kg=0.02, pos_m=AT_M),
        Box(name=OBJECT, size_m=(0.02, 0.02, 0.02), mass_kg=0.02, pos_m=AT_M),
    )

    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """A marble or a die."""
        self.desired = rng.uniform(*self.WANTED_N, 1)
        thing = self.randomise.prop(self.things[int(rng.integers(len(self.things)))], rng)
        self.episode["held_at_m"] = np.array(thing.pos_m)
        return [thing]

    def begin(self) -> Truth:
        """Index and thumb stand at both sides of it."""
        self.stage.drag(OBJECT, self.episode["held_at_m"])
        self.settle(0.6)
        return super().begin()

    def act(self) -> None:
        """What holds it lets go."""
        self.stage.release(self.time_s >= self.RELEASE_AT_S)

    def outcome(self) -> Outcome:
        """The force between the two, and whether it is still there."""
        forces = self.grip_n(OBJECT)
        index_n, thumb_n = (
            np.asarray(sum(n for link, n in forces.items() if link.startswith(side))) for side in ("index", "thumb")
        )
        away = np.linalg.norm(self.stage.place_m(OBJECT) - self.episode["held_at_m"], axis=-1)
        alone = self.time_s > self.RELEASE_AT_S
        achieved = np.minimum(index_n, thumb_n)[..., None].astype(np.float64)
        near = np.abs(achieved - self.desired)[..., 0] < 0.25 * self.desired[..., 0]
        facts = {"away_m": away, "alone": alone.astype(np.float64)}
        return Outcome(achieved=achieved, success=alone & near, over=away > 0.06, facts=facts)

    def reached(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        """Held by nothing else, within a quarter of the wanted force."""
        return (np.abs(achieved - desired)[:, 0] < 0.25 * desired[:, 0]) & (facts["alone"] > 0.0)

    def dense_reward(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> FloatArray:
        """Near the wanted force."""
        error = np.abs(achieved - desired)[:, 0] / desired[:, 0]
        return np.maximum(1.0 - error, -1.0) - np.where(facts["away_m"] > 0.06, 2.0, 0.0)


class LeastForce(HandEnv):
    """Fingers press an upright cylinder to the palm: loosen them as far as weight and friction allow, both unknown."""

    task_description = "Hold the cylinder with the least force without letting it slip."
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {"fingers": FINGERS}
    stroke_per_step = 0.01
    goal_size = 2
    CYLINDER: ClassVar[Cylinder] = Cylinder(
        name=OBJECT, radius_m=0.025, length_m=0.14, mass_kg=0.3, pos_m=(0.0, 0.0, 0.0)
    )
    things = (CYLINDER,)
    # Fingers level, the palm looks sideways at what stands before it, 2 mm away.
    mount = Mount(pos_m=(0.027, -0.042, 0.0), rpy_rad=(0.0, -math.pi / 2, 0.0))
    SLIP_M: ClassVar[float] = 0.008
    DROPPED_M: ClassVar[float] = 0.03
    NEAR: ClassVar[float] = 0.4
    FIRM_N: ClassVar[float] = 25.0

    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """A cylinder that stands in front of the palm."""
        usual = self.CYLINDER
        thing = self.randomise.prop(usual, rng)
        x, y, z = thing.pos_m
        thing = replace(thing, pos_m=(x + usual.radius_m - thing.radius_m, y, z))
        needed_n = np.array(thing.mass_kg * 9.81 / thing.friction)
        self.episode |= {"held_at_m": np.array(thing.pos_m), "needed_n": needed_n, "from_m": NOWHERE_M}
        return [thing]

    def begin(self) -> Truth:
        """Grasp it firmly, then leave it to the hand."""
        self.stage.drag(OBJECT, self.episode["held_at_m"])
        self.settle(0.32, dict.fromkeys(FINGERS, self.NEAR))  # as long as the slowest finger takes
        share = np.full(self.steps.shape, self.NEAR)
        for _ in range(49):
            forces = self.grip_n(OBJECT)
            palm_n = np.asarray(forces.get("base", 0.0))
            if self.wait_where(np.minimum(palm_n, sum(forces.values()) / 2) > self.FIRM_N):
                break
            share = np.minimum(share + np.where(palm_n > 0.0, 0.01, 0.02), 1.0)
            self.settle(0.06, dict.fromkeys(FINGERS, share))
        self.go_on()
        self.stage.release(where=True)
        self.settle(0.1)
        self.episode["from_m"] = self.stage.place_m(OBJECT)
        return np.asarray(sum(self.grip_n(OBJECT).values()) > self.FIRM_N)

    def outcome(self) -> Outcome:
        """Force of the grip over weight by friction, and how far it has slipped."""
        grip_n, needed_n = sum(self.grip_n(OBJECT).values()), self.episode["needed_n"]
        slip_m = np.linalg.norm(self.stage.place_m(OBJECT) - self.episode["from_m"], axis=-1)
        achieved = np.stack([grip_n / needed_n, slip_m], axis=-1)
        success = (achieved[..., 0] < 3.0) & (slip_m < self.SLIP_M)
        facts = {"grip_n": grip_n, "needed_n": needed_n}
        return Outcome(achieved=achieved, success=success, over=slip_m > self.DROPPED_M, facts=facts)

    def reached(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        """Less than three times what is needed, and not slipped."""
        return (achieved[:, 0] - desired[:, 0] < 3.0) & (achieved[:, 1] - desired[:, 1] < self.SLIP_M)

    def dense_reward(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> FloatArray:
        """Little force, no slip."""
        force, slip_m = achieved[:, 0] - desired[:, 0], achieved[:, 1] - desired[:, 1]
        slipped = np.minimum(slip_m / self.SLIP_M, 2.0) + 20.0 * (slip_m > self.DROPPED_M)
        return 1.0 / np.maximum(force, 1.0) - slipped
