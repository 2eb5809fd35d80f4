"""Train any task of `thenar.envs` in thousands of worlds on one GPU with PPO of rsl-rl, and judge it on other seeds.

    pip install 'thenar[gpu,gym]' rsl-rl-lib==5.4.2
    python train_many.py RotateInHand --touch pads --out rotate_pads.npz
    python train_many.py RotateInHand --touch none --out rotate_none.npz

The file gets the policy, which play_task.py plays in one world on a CPU; one beside it, as JSON, the curve of training
and the return and success of every held-out seed.
"""

import argparse
import json
import time
from pathlib import Path

import gymnasium
import numpy as np
import torch
from policy_file import HISTORY, save_policy, task_row
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

import thenar.envs  # noqa: F401 (registers the tasks)

TEST_SEED, TRAIN_SEED = 30_000, 1_000_000
ROLLOUT = 20  # steps between two changes of the network


class Worlds(VecEnv):
    """A task in many worlds, as rsl-rl wants it: the policy sees the last few steps, the critic the outcome as well."""

    def __init__(self, task: str, count: int, *, touch: str, device: str, steps: int):
        """Build the worlds."""
        self.envs = gymnasium.make_vec(
            f"thenar/{task}-v0", num_envs=count, touch=touch, device=device, max_episode_steps=steps
        )
        self.num_envs, self.num_actions = count, self.envs.single_action_space.shape[0]
        self.max_episode_length, self.device, self.cfg = steps, torch.device(device), {}
        self.episode_length_buf = torch.zeros(count, dtype=torch.long, device=device)
        self.unwrapped = self

    def begin(self, seed: int | None = None) -> None:
        """Another episode in every world."""
        self.seen = np.repeat(task_row(self.envs.reset(seed=seed)[0])[:, None], HISTORY, axis=1)
        self.episode_length_buf[:] = 0

    def move(self, actions: torch.Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Act in every world: reward, whether its episode is over, whether its time is, whether the task is done."""
        seen, reward, over, late, info = self.envs.step(actions.clamp(-1.0, 1.0).cpu().numpy())
        self.seen = np.concatenate([self.seen[:, 1:], task_row(seen)[:, None]], axis=1)
        self.episode_length_buf += 1
        return reward, over, late, np.asarray(info["is_success"], dtype=bool)

    def get_observations(self) -> TensorDict:
        """What the policy and the critic see."""
        seen = self.seen.reshape(self.num_envs, -1)
        known = np.concatenate([seen, self.envs.unwrapped.achieved], axis=1)
        rows = {"actor": self._put(seen), "critic": self._put(np.nan_to_num(known))}
        return TensorDict(rows, batch_size=[self.num_envs])

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        """Act in every world."""
        reward, over, late, _ = self.move(actions)
        if late.all():
            self.begin()
        done, late = (torch.as_tensor(row, device=self.device) for row in (over | late, late & ~over))
        return self.get_observations(), self._put(reward), done.long(), {"time_outs": late}

    def _put(self, values: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(values, dtype=torch.float32, device=self.device)


def judge(worlds: Worlds, policy: torch.nn.Module) -> tuple[np.ndarray, np.ndarray]:
    """Return and success of one episode for each of as many held-out seeds as there are worlds."""
    worlds.begin(TEST_SEED)
    total, alive = np.zeros(worlds.num_envs), np.ones(worlds.num_envs, dtype=bool)
    with torch.inference_mode():
        for _ in range(worlds.max_episode_length):
            reward, over, _, done = worlds.move(policy(worlds.get_observations()))
            total += np.where(alive, reward, 0.0)
            alive &= ~over
    return total, done & alive


def settings() -> dict:
    """PPO, and networks of two layers."""
    net = {"class_name": "MLPModel", "hidden_dims": [256, 128], "activation": "elu", "obs_normalization": True}
    spread = {"class_name": "GaussianDistribution", "init_std": 0.5, "std_type": "scalar"}
    return {
        "num_steps_per_env": ROLLOUT,
        "save_interval": 10**9,
        "obs_groups": {"actor": ["actor"], "critic": ["critic"]},
        "actor": {**net, "distribution_cfg": spread},
        "critic": net,
        "algorithm": {
            "class_name": "PPO", "learning_rate": 1e-3, "schedule": "adaptive", "desired_kl": 0.01, "gamma": 0.97,
            "lam": 0.95, "entropy_coef": 0.0, "value_loss_coef": 1.0, "use_clipped_value_loss": True,
            "clip_param": 0.2, "max_grad_norm": 1.0, "num_learning_epochs": 5, "num_mini_batches": 4,
        },
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("--touch", default="pads")
    parser.add_argument("--count", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=100, help="of an episode")
    parser.add_argument("--seconds", type=float, default=300.0, help="of training, after which it ends")
    parser.add_argument("--every", type=int, default=25, help="iterations between two points of the curve")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--out", type=Path, default=Path("policy.npz"))
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    start = time.perf_counter()
    worlds = Worlds(given.task, given.count, touch=given.touch, device=given.device, steps=given.steps)
    worlds.begin(TRAIN_SEED * (given.seed + 1))
    runner = OnPolicyRunner(worlds, settings(), None, given.device)
    built_s, learned_s, curve, rounds = time.perf_counter() - start, 0.0, [], 0
    nothing = judge(worlds, lambda seen: torch.zeros(given.count, worlds.num_actions))
    while learned_s < given.seconds:
        worlds.begin(TRAIN_SEED * (given.seed + 1) + given.count * rounds)
        start = time.perf_counter()
        runner.learn(given.every)
        learned_s, rounds = learned_s + time.perf_counter() - start, rounds + given.every
        total, done = judge(worlds, runner.get_inference_policy())
        steps = rounds * given.count * ROLLOUT
        curve.append({"steps": steps, "seconds": learned_s, "return": total.mean(), "success": done.mean()})
        print(json.dumps(curve[-1]), flush=True)
        save_policy(given.out, runner.get_inference_policy())
        report = {"task": given.task, "touch": given.touch, "built_s": built_s, "curve": curve}
        report |= {"return": total.round(3).tolist(), "success": done.tolist(), "nothing": nothing[0].round(3).tolist()}
        given.out.with_suffix(".json").write_text(json.dumps(report))
