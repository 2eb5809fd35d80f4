"""Play a policy of train_many.py in one world at a time on the CPU, on seeds it has not seen, beside the script.

    python play_task.py Pinch pinch_pads.npz --touch pads
    python play_task.py Pinch pinch_none.npz --touch none

Trained on a card in single precision with softer friction; judged here in the world that everything else uses. Needs
no torch.
"""

import argparse
import json
from collections import deque
from pathlib import Path

import gymnasium
import numpy as np
from policy_file import HISTORY, load_policy, task_row

from thenar.envs import baselines

TEST_SEED = 40_000


def learned(path: Path):
    """The policy as `baselines.evaluate` wants it: made anew for every episode, because it remembers some steps."""
    act = load_policy(path)

    def begin(env: gymnasium.Env) -> baselines.Policy:
        rows = deque(maxlen=HISTORY)

        def policy(seen: baselines.Observation) -> np.ndarray:
            row = task_row(seen)
            rows.extend([row] * (1 if rows else HISTORY))  # at the beginning nothing was before
            return np.clip(act(np.concatenate(rows)), -1.0, 1.0).astype(np.float32)

        return policy

    return begin


def interval(values: np.ndarray) -> str:
    """Mean and 95 % interval."""
    return f"{values.mean():.3g} +- {1.96 * values.std(ddof=1) / np.sqrt(len(values)):.2g}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("policy", type=Path)
    parser.add_argument("--touch", default="pads")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    env = gymnasium.make(f"thenar/{given.task}-v0", touch=given.touch).unwrapped
    seeds, rows = range(TEST_SEED, TEST_SEED + given.episodes), {}
    for name, policy in {"learned": learned(given.policy), "scripted": baselines.SCRIPTED[type(env)]}.items():
        rows[name] = baselines.evaluate(env, policy, seeds)
        if not given.json:
            print(f"{name}: return {interval(rows[name][:, 0])}, success {interval(100 * rows[name][:, 1])} %")
    env.close()
    if given.json:
        print(json.dumps({name: found.round(3).tolist() for name, found in rows.items()}))
