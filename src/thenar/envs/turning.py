"""A task of turning: an object in the palm of a hand with many motors, about the vertical."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.envs.hand_env import LOST_M, HandEnv, Outcome
from thenar.envs.holding import OBJECT
from thenar.sim.props import Box, Prop


class RotateInHand(HandEnv):
    """Turn a cube that lies in the palm of a Shadow hand to a wanted angle about the vertical."""

    hand_name: ClassVar[str] = "shadow_right"
    task_description = "Turn the cube in the hand to the wanted angle."
    goal_varies = True
    WITHIN_RAD: ClassVar[float] = 0.1

    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """A cube on the palm."""
        cube = Box(name=OBJECT, size_m=(0.05, 0.05, 0.05), mass_kg=0.08, pos_m=(0.0, 0.03, 0.03))
        self.desired = rng.uniform(math.radians(10), math.radians(45), 1) * rng.choice([-1.0, 1.0])
        return [self.randomise.prop(cube, rng)]

    def begin(self, rng: np.random.Generator) -> bool:
        """The cube comes to rest."""
        self.settle(0.4)
        self._begin_rad, self._from_m = self._yaw_rad(), self.world.props.pose(OBJECT)[0]
        return True

    def _yaw_rad(self) -> float:
        w, x, y, z = self.world.props.pose(OBJECT)[1]
        return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))

    def outcome(self) -> Outcome:
        """Angle turned, and whether it is still in the hand."""
        turned = math.remainder(self._yaw_rad() - self._begin_rad, 2.0 * math.pi)
        away = float(np.linalg.norm(self.world.props.pose(OBJECT)[0] - self._from_m))
        achieved = np.array([turned])
        success = abs(turned - float(self.desired[0])) < self.WITHIN_RAD
        return Outcome(achieved=achieved, success=success, over=away > LOST_M, facts={"away_m": away})

    def reached(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        """Within a tenth of a radian."""
        return np.abs(achieved - desired)[:, 0] < self.WITHIN_RAD

    def dense_reward(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> FloatArray:
        """Nearer to the wanted angle."""
        error = np.abs(achieved - desired)[:, 0] / np.maximum(np.abs(desired[:, 0]), self.WITHIN_RAD)
        return np.maximum(1.0 - error, -1.0) - np.where(facts["away_m"] > LOST_M, 2.0, 0.0)
