"""Train a policy with SAC of Stable-Baselines3, and judge it on seeds it has not seen, beside the scripted one.

    pip install 'thenar[gym]' stable-baselines3
    python train_policy.py PressProfile --touch pads --steps 20000 --out press_pads.json

The file gets the curve (steps of training, mean return of 10 episodes on seeds kept for it) and, at the end, every
return of 100 further held-out seeds of the learned and of the scripted policy.
"""

import argparse
import json
import time
from pathlib import Path

import gymnasium
import numpy as np
import torch
from gymnasium.wrappers import FlattenObservation, FrameStackObservation, TransformObservation
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback

from thenar import envs
from thenar.envs import baselines

CURVE_SEEDS, TEST_SEEDS = range(20_000, 20_010), range(30_000, 30_100)
STACKED = 3  # commands take more than a step to act


def make(task: str, touch: str) -> gymnasium.Env:
    """An environment whose observation is one row of numbers: the last few steps."""
    env = gymnasium.make(f"thenar/{task}-v0", touch=touch)
    alike = {"observation": 1.0, "touch": 0.3, "goal": 0.3}  # so that all numbers are about as large
    env = TransformObservation(env, lambda seen: {key: alike[key] * seen[key] for key in seen}, env.observation_space)
    return FlattenObservation(FrameStackObservation(FlattenObservation(env), STACKED))


def returns(model: SAC, env: gymnasium.Env, seeds: range) -> list[tuple[float, bool]]:
    """Return and success of one episode for each seed."""
    found = []
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, info = env.step(action)
            total, over = total + float(reward), terminated or truncated
        found.append((total, bool(info["is_success"] and not terminated)))
    return found


class Curve(BaseCallback):
    """Judges the policy every so many steps."""

    def __init__(self, env: gymnasium.Env, every: int):
        """Nothing yet."""
        super().__init__()
        self.env, self.every, self.points = env, every, []

    def _on_step(self) -> bool:
        if self.num_timesteps % self.every == 0:
            mean = float(np.mean([total for total, _ in returns(self.model, self.env, CURVE_SEEDS)]))
            self.points.append((self.num_timesteps, mean))
            print(f"{self.num_timesteps} steps: {mean:.1f}, {time.process_time():.0f} s of CPU", flush=True)
        return True


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("--touch", default="pads")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("curve.json"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    env, judge = make(given.task, given.touch), make(given.task, given.touch)
    model = SAC("MlpPolicy", env, seed=given.seed, policy_kwargs={"net_arch": [128, 128]}, learning_rate=5e-4,
                learning_starts=1000, batch_size=256, gamma=0.95, device="cpu")  # fmt: skip
    curve = Curve(judge, max(given.steps // 8, 1))
    model.learn(given.steps, callback=curve)
    task = getattr(envs, given.task)
    scripted = baselines.evaluate(task(touch=given.touch), baselines.SCRIPTED[task], TEST_SEEDS)
    result = {"curve": curve.points, "learned": returns(model, judge, TEST_SEEDS), "scripted": scripted.tolist()}
    given.out.write_text(json.dumps(result))
    for name in ("learned", "scripted"):
        print(name, np.mean(result[name], axis=0))
