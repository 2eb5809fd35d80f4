"""Tasks that go by touch alone: press with a force that follows a profile, and name what is in the hand unseen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.envs.grasp_tasks import OBJECT, THINGS
from thenar.envs.hand_env import STEP_S, HandEnv, Outcome, Truth
from thenar.sim.props import Box, Prop


class PressProfile(HandEnv):
    """Press with the index finger on a plate so that the force follows a profile."""

    task_description = "Press with the index finger, with the force that is wanted now."
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {"index": ("index",)}
    stroke_per_step = 0.02
    posture: ClassVar[Mapping[str, float]] = {"index": 0.35}
    things = (Box(name=OBJECT, size_m=(0.05, 0.04, 0.02), pos_m=(0.034, 0.03, 0.045), fixed=True),)
    goal_varies = True
    hint_size = 3
    STEPS: ClassVar[int] = 100
    WANTED_N: ClassVar[tuple[float, float]] = (1.0, 6.0)
    FIND_S: ClassVar[float] = 1.0

    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """A plate that is fixed under the finger, nearer or farther."""
        plate = self.things[0]
        if self.randomise.place_m:
            x, y, z = plate.pos_m
            nearer_m = rng.uniform(-0.01, 0.02)  # along the arc on which the pad of the fingertip meets it
            pos_m = (x, y + nearer_m, z - 0.003 + 0.7 * nearer_m + rng.uniform(-0.003, 0.003))
            plate = replace(plate, friction=self.randomise.prop(plate, rng).friction, pos_m=pos_m)
        profile_n = self._draw_profile(rng)
        self.episode |= {"profile_n": profile_n, "error_sum_n": np.zeros(()), "errors": np.zeros(())}
        self.desired = profile_n[:1]
        return [plate]

    def begin(self) -> Truth:
        """The finger stands over the plate."""
        self.settle(0.5)
        return super().begin()

    def _draw_profile(self, rng: np.random.Generator) -> FloatArray:
        """Holds, ramps and waves within the range. Shape (steps + 1,)."""
        low, high = self.WANTED_N
        time_s = STEP_S * np.arange(self.STEPS + 1)
        knots = np.arange(0.0, time_s[-1] + 1.0, 0.8)
        wanted = np.interp(time_s, knots, rng.uniform(low, high, knots.size))
        if rng.random() < 0.5:
            hz, phase = rng.uniform(0.3, 0.8), rng.uniform(0.0, 2.0 * math.pi)
            wanted = (low + high) / 2 + (high - low) / 2 * np.sin(2.0 * math.pi * hz * time_s + phase)
        return wanted

    def act(self) -> None:
        """The force that is wanted at the end of this step."""
        self.desired = self._wanted_n(1)

    def hints(self) -> FloatArray:
        """What will be wanted after one, two and four more steps [tens of newtons]."""
        return self._wanted_n(1, 2, 4) / 10.0

    def _wanted_n(self, *later: int) -> FloatArray:
        """What is wanted some steps later."""
        steps = np.minimum(self.steps[..., None] + np.array(later), self.STEPS)
        return np.take_along_axis(self.episode["profile_n"], steps, axis=-1)

    def outcome(self) -> Outcome:
        """Force on the plate."""
        achieved = np.asarray(sum(self.grip_n(OBJECT).values()), dtype=np.float64)[..., None]
        error_n = np.abs(achieved - self.desired)[..., 0]
        found = self.time_s > self.FIND_S
        self.episode["error_sum_n"] = self.episode["error_sum_n"] + np.where(found, error_n, 0.0)
        self.episode["errors"] = self.episode["errors"] + found
        mean_n = np.where(found, self.episode["error_sum_n"] / np.maximum(self.episode["errors"], 1.0), error_n)
        return Outcome(achieved=achieved, success=mean_n < 0.5, facts={"error_n": error_n, "mean_error_n": mean_n})

    def reached(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        """Within half a newton."""
        return np.abs(achieved - desired)[:, 0] < 0.5

    def dense_reward(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> FloatArray:
        """Near the wanted force."""
        return np.maximum(1.0 - np.abs(achieved - desired)[:, 0] / 2.0, -1.0)


class WhichObject(HandEnv):
    """Close the hand around something unseen, and say what it is: ball, can, box, rod or egg.

    Behind the motors' numbers an action has one for each kind; the largest is the answer.
    """

    task_description = "Find out by touch what lies in the hand."
    things = THINGS
    answers = len(THINGS)
    goal_size = len(THINGS)

    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """One of five things."""
        kind = int(rng.integers(len(THINGS)))
        self.desired = np.eye(len(THINGS))[kind]
        return [self.randomise.prop(THINGS[kind], rng)]

    def outcome(self) -> Outcome:
        """The answer of now, as shares."""
        share = np.exp(4.0 * np.clip(self.answer, -1.0, 1.0))
        kind = self.desired.argmax(axis=-1)
        success = (np.ptp(self.answer, axis=-1) > 0.0) & (self.answer.argmax(axis=-1) == kind)
        achieved = share / share.sum(axis=-1, keepdims=True)
        return Outcome(achieved=achieved, success=success, facts={"kind": kind.astype(np.float64)})

    def reached(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        """The right answer is the largest."""
        largest = achieved.argmax(axis=1) == desired.argmax(axis=1)
        return largest & (np.ptp(achieved, axis=1) > 0.0)

    def dense_reward(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> FloatArray:
        """Share of the right answer."""
        return np.sum(achieved * desired, axis=1)
