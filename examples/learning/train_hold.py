"""Train thousands of hands on one GPU to hold a marble at 1 N, with mjlab and PPO of rsl-rl, with touch or without.

    python train_hold.py --out hold_pads.npz                 # feels
    python train_hold.py --no-touch --out hold_none.npz      # does not

How to install mjlab beside thenar: docs/gpu.md. The file gets the policy (layers of a small network); one beside it, as
JSON, the curve of training and the errors on marbles and places that training has not seen.
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.rl import MjlabOnPolicyRunner, RslRlVecEnvWrapper
from policy_file import save_policy

from thenar.batch.mjlab import hold_task

JUDGED = 1024  # hands, with marbles that training has not seen
JUDGED_STEPS = round(1.0 / hold_task.STEP_S)  # the last second of an episode


def make(count: int, touch: bool, seed: int, device: str) -> RslRlVecEnvWrapper:
    """Hands with marbles, places and frictions of a seed."""
    cfg = hold_task.hold_env_cfg(touch=touch, num_envs=count)
    cfg.seed = seed
    return RslRlVecEnvWrapper(ManagerBasedRlEnv(cfg, device=device))


def judge(env: RslRlVecEnvWrapper, policy: torch.nn.Module) -> dict[str, list[float]]:
    """One episode of every world: its mean error in the last second [N], and whether the marble was kept."""
    seen, _ = env.reset()
    steps = int(env.max_episode_length) - 1
    error_n = torch.zeros(env.num_envs, device=env.device)
    kept = torch.ones(env.num_envs, dtype=torch.bool, device=env.device)
    with torch.inference_mode():
        for step in range(steps):
            seen, _, done, _ = env.step(policy(seen))
            kept &= done == 0
            if step >= steps - JUDGED_STEPS:
                error_n += hold_task.error_n(env.unwrapped) / JUDGED_STEPS
    error_n[~kept] = hold_task.WANTED_N  # dropped: nothing is felt
    return {"error_n": error_n.tolist(), "kept": kept.float().tolist()}


def seconds_per_step(env: RslRlVecEnvWrapper, policy: torch.nn.Module, steps: int) -> float:
    """Time that a step of all worlds takes [s]."""
    seen = env.get_observations()
    with torch.inference_mode():
        for step in range(steps + 5):
            if step == 5:
                synchronize(env)
                start = time.perf_counter()
            seen = env.step(policy(seen))[0]
        synchronize(env)
    return (time.perf_counter() - start) / steps


def synchronize(env: RslRlVecEnvWrapper) -> None:
    """Wait for the GPU."""
    if env.device.type == "cuda":
        torch.cuda.synchronize(env.device)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-touch", action="store_true")
    parser.add_argument("--count", type=int, default=4096)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600.0, help="of training, after which it ends")
    parser.add_argument("--every", type=int, default=10, help="iterations between two points of the curve")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--out", type=Path, default=Path("hold.npz"))
    given = parser.parse_args()
    touch = not given.no_touch
    begin = time.perf_counter()
    env = make(given.count, touch, given.seed, given.device)
    fresh = make(min(given.count, JUDGED), touch, given.seed + 10_000, given.device)
    cfg = hold_task.hold_rl_cfg()
    torch.manual_seed(given.seed)
    runner = MjlabOnPolicyRunner(env, asdict(cfg), None, given.device)
    built_s = time.perf_counter() - begin
    curve, learned_s = [], 0.0
    for first in range(0, given.iterations, given.every):
        start = time.perf_counter()
        runner.learn(given.every, init_at_random_ep_len=first == 0)  # so that episodes do not end together
        synchronize(env)
        learned_s += time.perf_counter() - start
        reward = float(runner.alg.storage.rewards.mean()) / hold_task.STEP_S
        found = judge(fresh, runner.get_inference_policy())
        steps = (first + given.every) * cfg.num_steps_per_env * given.count
        told = {name: float(np.mean(row)) for name, row in found.items()}
        point = {"steps": steps, "seconds": learned_s, "reward": reward, **told}
        curve.append(point)
        print(json.dumps(point), flush=True)
        save_policy(given.out, runner.get_inference_policy())
        if learned_s > given.seconds:
            break
    policy = runner.get_inference_policy()
    timing = {"built_s": built_s, "learned_s": learned_s, "steps_per_s": curve[-1]["steps"] / learned_s}
    timing["step_s"] = seconds_per_step(env, policy, 50)
    sensor = env.unwrapped.scene["touch"]
    sensor._run = lambda *_, **__: None  # the same without touch, to see what it takes
    timing["step_without_touch_s"] = seconds_per_step(env, policy, 50)
    found = judge(fresh, policy)
    told = {name: float(np.mean(row)) for name, row in found.items()}
    print(json.dumps({"touch": touch, **timing, "fresh": told}), flush=True)
    rows = {name: np.round(row, 4).tolist() for name, row in found.items()}
    report = {"touch": touch, "curve": curve, "timing": timing, "fresh": rows}
    given.out.with_suffix(".json").write_text(json.dumps(report))
