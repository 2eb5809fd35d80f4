"""Every task in many worlds at once, on a GPU: what ``gymnasium.make_vec`` makes of it. Needs the extra ``gpu``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from thenar.arrays import BoolArray, FloatArray, IntArray
from thenar.envs.grasp_tasks import DelicateGrasp, HoldUnderPull, LeastForce, Pinch
from thenar.envs.hand_env import MAX_TRIES, HandEnv, NoEpisode, Observation, Outcome
from thenar.envs.many_stage import ManyStage
from thenar.envs.rotate_task import RotateInHand
from thenar.envs.touch_tasks import PressProfile, WhichObject
from thenar.errors import BadValue


class HandEnvs(VectorEnv[Any, Any, Any]):
    """A task in many worlds. World k of ``reset(seed=s)`` is the episode of one environment with the seed s + k.

    All worlds begin together, and each has another episode when their time is over. A world whose episode ends earlier
    begins it once more in the next step. Noise and latencies of the ``measured`` profile are drawn on the device, so
    they are not those of one environment.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 (as Gymnasium declares it)
    task_type: ClassVar[type[HandEnv]]

    def __init__(self, num_envs: int = 1, *, device: str | None = None, max_episode_steps: int = 100, **options: Any):
        """Build all worlds.

        Args:
            num_envs: How many.
            device: ``cuda:0``, ``cpu``...; None: the first GPU, or the CPU where there is none.
            max_episode_steps: Steps after which all worlds begin another episode.
            options: Those of the task, but for ``goal`` and ``render_mode``: these are for one world.
        """
        self.task = task = self.task_type(**options)
        """What happens, in all worlds at once."""
        if task.goal or task.render_mode:
            raise BadValue("options", options, "those of the task without goal and render_mode: they are for one world")
        self.num_envs, self._last = num_envs, max_episode_steps
        self.single_action_space, self.single_observation_space = task.action_space, task.observation_space
        self.action_space = batch_space(task.action_space, num_envs)
        self.observation_space = batch_space(task.observation_space, num_envs)
        feels = task.touch != "none"
        self._stage = task.stage = ManyStage(
            task.hand, task.things, task.mount, count=num_envs, profile=task.profile, device=device, feels=feels
        )
        self.worlds = self._stage.worlds
        """Where it happens."""
        self.achieved = np.zeros((num_envs, task.goal_size))
        """What worlds have come to, as `Outcome.achieved` has it: for a critic, who may know what a policy does not."""
        self._begun, self._kept = self.worlds.snapshot(), dict[str, NDArray[Any]]()
        self._random: list[np.random.Generator] = []
        self._steps, self._over = self._last, np.zeros(num_envs, dtype=bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | IntArray | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in every world.

        Args:
            seed: Of all that follows: one for each world, or that of the first, from which the others count on.
            options: Not used.
        """
        self._seed(seed)
        outcome = self._begin()
        self._steps, self._over = 0, np.zeros(self.num_envs, dtype=bool)
        return self._observe(outcome), self._info(outcome, ~self._over)

    def step(
        self, actions: NDArray[np.floating[Any]]
    ) -> tuple[Observation, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Move the targets, let 40 ms pass, and look; worlds whose episode was over begin one."""
        never, task = np.zeros(self.num_envs, dtype=bool), self.task
        if self._steps >= self._last:
            seen, info = self.reset()
            return seen, np.zeros(self.num_envs), never, never.copy(), info
        values, shape = np.asarray(actions, dtype=np.float64), (self.num_envs, task.action_size)
        if values.shape != shape or not np.isfinite(values).all():
            raise BadValue("actions", values.shape, f"finite numbers of shape {shape}")
        again = self._over
        outcome = task.play(values)
        self.achieved = outcome.achieved
        info = self._info(outcome, ~again)
        facts = {name: np.broadcast_to(values, self.num_envs) for name, values in outcome.facts.items()}
        rewards = (task.reached if task.reward == "sparse" else task.dense_reward)(
            outcome.achieved, task.desired, facts
        )
        rewards = np.where(again, 0.0, np.nan_to_num(rewards))
        self._restore(again)
        self._steps, self._over = self._steps + 1, outcome.over & ~again
        return self._observe(outcome), rewards, self._over.copy(), np.full_like(never, self._steps >= self._last), info

    def _seed(self, seed: int | Sequence[int | None] | IntArray | None) -> None:
        each = list(seed) if isinstance(seed, (Sequence, np.ndarray)) else [seed] * self.num_envs
        whole = all(one is None or isinstance(one, (int, np.integer)) for one in each)
        if not whole or len(each) != self.num_envs:
            raise BadValue("seed", seed, f"one number, or {self.num_envs} of them")
        if isinstance(seed, (int, np.integer)):
            each = [seed + k for k in range(self.num_envs)]
        seeds = [None if one is None else int(one) for one in each]
        known = self._random or [None] * self.num_envs
        self._random = [
            now if now is not None and one is None else np_random(one)[0] for one, now in zip(seeds, known, strict=True)
        ]

    def _begin(self) -> Outcome:
        """Draw episodes until all begin as they should; worlds that do wait for the others."""
        task, waits = self.task, np.zeros(self.num_envs, dtype=bool)
        for _ in range(MAX_TRIES):
            self._draw(~waits)
            task.start((self.num_envs,))
            task.send()
            begun = np.asarray(task.begin()) & ~task.broken() & ~waits
            self._stage.feel()
            if begun.all():
                break
            self._keep(begun)
            waits |= begun
            if waits.all():
                break
        else:
            raise NoEpisode(type(task).__name__)
        self._restore(waits)
        self._stage.advance(task.age_s)
        outcome = task.outcome()
        self.achieved = outcome.achieved
        self._keep(~np.zeros_like(waits))
        return outcome

    def _draw(self, where: BoolArray) -> None:
        """Other episodes for some worlds, drawn as those of one environment are; all worlds are reset."""
        task, rows = self.task, dict[str, FloatArray]()
        for world in np.flatnonzero(where).tolist():
            rng = self._random[world]
            (prop,) = task.draw_episode(rng)
            motors, noise = task.randomise.motor_factors(task.hand, rng), int(rng.integers(1 << 31))
            self._stage.draw(world, prop, motors, task.randomise.skin_factors(rng) if task.hand.pads else {}, noise)
            for name, value in task.episode.items():
                if name not in rows:
                    rows[name] = np.zeros((self.num_envs, *value.shape))
                rows[name][world] = value
        task.episode = rows
        self._stage.begin()

    def _keep(self, where: BoolArray) -> None:
        """Worlds are to begin again as they are now."""
        self.worlds.save(self._begun, where)
        self._kept = _chosen(where, self._rows(), self._kept or self._rows())

    def _restore(self, where: BoolArray) -> None:
        """Let worlds be at their beginning."""
        if not where.any():
            return
        self.worlds.restore(self._begun, where)
        task, rows = self.task, _chosen(where, self._kept, self._rows())
        task.target, task.steps, task.answer = rows.pop("target"), rows.pop("steps"), rows.pop("answer")
        self.achieved = rows.pop("achieved")
        task.episode = rows

    def _rows(self) -> dict[str, NDArray[Any]]:
        """What is remembered of every world."""
        task = self.task
        own = {"target": task.target, "steps": task.steps, "answer": task.answer, "achieved": self.achieved}
        return {**task.episode, **own}

    def _observe(self, outcome: Outcome) -> Observation:
        return {name: np.nan_to_num(values) for name, values in self.task.observe(outcome).items()}

    def _info(self, outcome: Outcome, valid: BoolArray) -> dict[str, Any]:
        """Facts, and by the same names behind an underscore of which worlds they are, as Gymnasium has it."""
        facts = {"is_success": outcome.success, "flags": self._stage.flags(), **outcome.facts}
        return {name: np.array(rows) for name, rows in facts.items()} | {f"_{name}": valid for name in facts}


def _chosen(
    where: BoolArray, values: dict[str, NDArray[Any]], others: dict[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Rows of the one where that is true, else of the other."""
    return {
        name: np.where(where.reshape(-1, *[1] * (rows.ndim - 1)), rows, others.get(name, rows))
        for name, rows in values.items()
    }


class ManyHoldUnderPull(HandEnvs):
    """`HoldUnderPull` in many worlds."""

    task_type = HoldUnderPull


class ManyDelicateGrasp(HandEnvs):
    """`DelicateGrasp` in many worlds."""

    task_type = DelicateGrasp


class ManyPinch(HandEnvs):
    """`Pinch` in many worlds."""

    task_type = Pinch


class ManyPressProfile(HandEnvs):
    """`PressProfile` in many worlds."""

    task_type = PressProfile


class ManyLeastForce(HandEnvs):
    """`LeastForce` in many worlds."""

    task_type = LeastForce


class ManyWhichObject(HandEnvs):
    """`WhichObject` in many worlds."""

    task_type = WhichObject


class ManyRotateInHand(HandEnvs):
    """`RotateInHand` in many worlds."""

    task_type = RotateInHand
