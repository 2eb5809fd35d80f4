"""Tasks of feeling: press with a force that follows a profile, and tell what is in the hand without seeing it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.envs.hand_env import STEP_S, HandEnv, Outcome
from thenar.envs.holding import OBJECT, THINGS
from thenar.sim.props import Box, Prop


class PressProfile(HandEnv):
    """Press with the index finger on a plate so that the force follows a profile."""

    task_description = "Press with the index finger, with the force that is wanted now."
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {"index": ("index",)}
    stroke_per_step = 0.02
    posture: ClassVar[Mapping[str, float]] = {"index": 0.35}
    goal_varies = True
    hint_size = 3
    STEPS: ClassVar[int] = 100
    WANTED_N: ClassVar[tuple[float, float]] = (1.0, 6.0)
    FIND_S: ClassVar[float] = 1.0

    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """A plate that is fixed under the finger, nearer or farther."""
        plate = Box(name=OBJECT, size_m=(0.05, 0.04, 0.02), pos_m=(0.034, 0.03, 0.045), fixed=True)
        if self.randomise.place_m:
            x, y, z = plate.pos_m
            nearer_m = rng.uniform(-0.01, 0.02)  # along the arc on which the pad of the fingertip meets it
            pos_m = (x, y + nearer_m, z - 0.003 + 0.7 * nearer_m + rng.uniform(-0.003, 0.003))
            plate = replace(plate, friction=self.randomise.prop(plate, rng).friction, pos_m=pos_m)
        self._profile_n = self._draw_profile(rng)
        self.desired = self._profile_n[:1]
        self._errors: list[float] = []
        return [plate]

    def begin(self, rng: np.random.Generator) -> bool:
        """The finger stands over the plate."""
        self.settle(0.5)
        return True

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
        self.desired = self._profile_n[[min(self.steps + 1, self.STEPS)]]

    def hints(self) -> FloatArray:
        """What will be wanted after one, two and four more steps [tens of newtons]."""
        return self._profile_n[np.minimum(self.steps + np.array([1, 2, 4]), self.STEPS)] / 10.0

    def outcome(self) -> Outcome:
        """Force on the plate."""
        achieved = np.array([sum(self.grip_n(OBJECT).values())])
        error_n = abs(float(achieved[0] - self.desired[0]))
        if self.time_s > self.FIND_S:
            self._errors.append(error_n)
        mean_n = float(np.mean(self._errors)) if self._errors else error_n
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
    answers = len(THINGS)
    goal_size = len(THINGS)

    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """One of five things."""
        self._kind = int(rng.integers(len(THINGS)))
        self.answer = np.zeros(self.answers)
        self.desired = np.eye(len(THINGS))[self._kind]
        return [self.randomise.prop(THINGS[self._kind], rng)]

    def outcome(self) -> Outcome:
        """The answer of now, as shares."""
        share = np.exp(4.0 * np.clip(self.answer, -1.0, 1.0))
        success = bool(np.ptp(self.answer) > 0.0 and np.argmax(self.answer) == self._kind)
        return Outcome(achieved=share / share.sum(), success=success, facts={"kind": float(self._kind)})

    def reached(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        """The right answer is the largest."""
        largest = achieved.argmax(axis=1) == desired.argmax(axis=1)
        return largest & (np.ptp(achieved, axis=1) > 0.0)

    def dense_reward(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> FloatArray:
        """Share of the right answer."""
        return np.sum(achieved * desired, axis=1)
