"""`PressProfile` in many worlds at once, on a GPU: what ``gymnasium.make_vec`` makes of it. Needs the extra ``gpu``."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from thenar import batch
from thenar.arrays import FloatArray
from thenar.envs.feeling import PressProfile
from thenar.envs.hand_env import FORCE_LIMIT_N, LEASH, STEP_S, Observation
from thenar.envs.holding import OBJECT
from thenar.envs.randomise import NOTHING
from thenar.errors import BadValue

SETTLE_S = 0.5


class PressProfiles(VectorEnv[Any, Any, Any]):
    """Worlds in which an index finger presses on a plate. All episodes begin and end together.

    A skin is read 50 times a second by its own clock, where `PressProfile` reads it 10 ms before a step ends; goals of
    the goal form and pictures are for one world. Everything else is that task's.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 (as Gymnasium declares it)
    STEPS: ClassVar[int] = PressProfile.STEPS

    def __init__(self, num_envs: int = 1, *, device: str | None = None, max_episode_steps: int = STEPS, **options: Any):
        """Build all worlds.

        Args:
            num_envs: How many.
            device: ``cuda:0``, ``cpu``...; None: the first GPU, or the CPU where there is none.
            max_episode_steps: Steps of an episode.
            options: ``touch`` (not ``shear``), ``reward``, ``randomise`` and ``profile`` of `PressProfile`.
        """
        self._task = task = PressProfile(**options)
        if task.touch == "shear" or task.goal or task.render_mode:
            raise BadValue("options", options, "touch='taxels', 'pads' or 'none', without goal and render_mode")
        self.num_envs, self._last = num_envs, min(max_episode_steps, self.STEPS)
        self.single_action_space, self.single_observation_space = task.action_space, task.observation_space
        self.action_space = batch_space(task.action_space, num_envs)
        self.observation_space = batch_space(task.observation_space, num_envs)
        plate = PressProfile(randomise=NOTHING).draw_props(np.random.default_rng(0))
        self.worlds = batch.Worlds(task.hand, count=num_envs, props=plate, profile=task.profile, device=device)
        """Where it happens."""
        self.worlds.touch()
        self._over = False

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in every world.

        Args:
            seed: Of all that follows.
            options: Not used.
        """
        if isinstance(seed, list):
            raise BadValue("seed", seed, "one number for all worlds")
        super().reset(seed=seed)
        task, worlds, rng, spread = self._task, self.worlds, self.np_random, self._task.randomise
        drawn = [(task.draw_props(rng)[0].pos_m, task._profile_n) for _ in range(self.num_envs)]
        places_m, profiles_n = zip(*drawn, strict=True)
        self._profile_n = np.array(profiles_n)
        worlds.randomize(friction=spread.friction, motors=spread.motors, skin=spread.skin, noise=spread.noise)
        worlds.place(OBJECT, np.array(places_m))
        worlds.reset()
        self._target = np.tile(task._begin_at, (self.num_envs, 1))
        self._command()
        worlds.advance(SETTLE_S)
        self._steps, self._over = 0, False
        return self._observe(), {}

    def step(
        self, actions: NDArray[np.floating[Any]]
    ) -> tuple[Observation, FloatArray, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Move the targets, let 40 ms pass, and look; after the end of an episode the next one begins."""
        never = np.zeros(self.num_envs, dtype=bool)
        if self._over:
            seen, info = self.reset()
            return seen, np.zeros(self.num_envs), never, never, info
        values, task = np.asarray(actions, dtype=np.float64), self._task
        if values.shape != (self.num_envs, task.action_size) or not np.isfinite(values).all():
            raise BadValue("actions", values.shape, f"finite numbers of shape {(self.num_envs, task.action_size)}")
        moved = self._target + task.stroke_per_step * np.clip(values, -1.0, 1.0) @ task._spread.T
        self._target = np.clip(np.clip(moved, 0.0, 1.0), self._share - LEASH, self._share + LEASH)
        self._command()
        self.worlds.advance(STEP_S)
        self._steps += 1
        achieved, desired = self.worlds.grip_n(OBJECT).numpy()[:, None].astype(np.float64), self._desired()
        error_n = np.abs(achieved - desired)[:, 0]
        rewards = (task.reached if task.reward == "sparse" else task.dense_reward)(achieved, desired, {})
        self._over = self._steps >= self._last
        info = {"error_n": error_n, "is_success": error_n < 0.5}
        return self._observe(), rewards.astype(np.float64), never, np.full(self.num_envs, self._over), info

    def close_extras(self, **_: Any) -> None:
        """Nothing is left running."""

    def _desired(self) -> FloatArray:
        return self._profile_n[:, [min(self._steps, self.STEPS)]]

    def _command(self) -> None:
        task = self._task
        top = np.tile(task.hand.top_speed_rad_s, (self.num_envs, 1))
        limit = np.full_like(top, FORCE_LIMIT_N)
        target_rad = task._from_rad + self._target * task._stroke_rad
        self.worlds.command(target_rad, speed_rad_s=top, force_limit_n=limit)

    def _observe(self) -> Observation:
        task, state = self._task, self.worlds.state()
        self._share = (state.angle_rad.numpy() - task._from_rad) / task._stroke_rad
        speed, force_n = state.velocity_rad_s.numpy() / task._stroke_rad, np.nan_to_num(state.force_n.numpy())
        hints = self._profile_n[:, np.minimum(self._steps + np.array([1, 2, 4]), self.STEPS)] / 10.0
        found = {"observation": np.hstack([self._share, speed, force_n / 10.0, self._target, hints])}
        if task.touch != "none":
            felt = (self.worlds.touch().counts.numpy() - task._resting) / task._gain
            found["touch"] = np.add.reduceat(felt, task._pad_first, axis=1) if task.touch == "pads" else felt
        found["goal"] = self._desired()
        return {name: value.astype(np.float32) for name, value in found.items()}
