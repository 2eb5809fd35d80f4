"""The task of rotating an object in the palm of a hand with many motors, about the vertical."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.envs.grasp_tasks import OBJECT
from thenar.envs.hand_env import LOST_M, HandEnv, Outcome, Truth
from thenar.sim.props import Box, Prop


class RotateInHand(HandEnv):
    """Turn a cube that lies in the palm of a Shadow hand to a wanted angle about the vertical."""

    hand_name: ClassVar[str] = "shadow_right"
    task_description = "Turn the cube in the hand to the wanted angle."
    goal_varies = True
    things = (Box(name=OBJECT, size_m=(0.05, 0.05, 0.05), mass_kg=0.08, pos_m=(0.0, 0.03, 0.03)),)
    WITHIN_RAD: ClassVar[float] = 0.1

    def draw_props(self, rng: np.random.Generator) -> list[Prop]:
        """A cube on the palm."""
        self.desired = rng.uniform(math.radians(10), math.radians(45), 1) * rng.choice([-1.0, 1.0])
        return [self.randomise.prop(self.things[0], rng)]

    def begin(self) -> Truth:
        """The cube comes to rest."""
        self.settle(0.4)
        self.episode |= {"begin_rad": self._yaw_rad(), "from_m": self.stage.place_m(OBJECT)}
        return super().begin()

    def _yaw_rad(self) -> FloatArray:
        w, x, y, z = np.moveaxis(self.stage.quat_wxyz(OBJECT), -1, 0)
        return np.asarray(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))

    def outcome(self) -> Outcome:
        """Angle turned, and whether it is still in the hand."""
        turned = (self._yaw_rad() - self.episode["begin_rad"] + math.pi) % (2.0 * math.pi) - math.pi
        away = np.linalg.norm(self.stage.place_m(OBJECT) - self.episode["from_m"], axis=-1)
        achieved = np.asarray(turned)[..., None]
        success = np.abs(achieved - self.desired)[..., 0] < self.WITHIN_RAD
        return Outcome(achieved=achieved, success=success, over=away > LOST_M, facts={"away_m": away})

    def reached(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        """Within a tenth of a radian."""
        return np.abs(achieved - desired)[:, 0] < self.WITHIN_RAD

    def dense_reward(self, achieved: FloatArray, desired: FloatArray, facts: Mapping[str, FloatArray]) -> FloatArray:
        """Nearer to the wanted angle."""
        error = np.abs(achieved - desired)[:, 0] / np.maximum(np.abs(desired[:, 0]), self.WITHIN_RAD)
        return np.maximum(1.0 - error, -1.0) - np.where(facts["away_m"] > LOST_M, 2.0, 0.0)
