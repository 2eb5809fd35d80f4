"""Learn to name what lies in the hand, by touch: logistic regression on closed hands, with numpy alone.

    pip install 'thenar[gym]'
    python name_objects.py --train 400 --out names.json        # about four minutes of one core

The hand closes and then answers. Three namers learn from the same hands: from the motors alone, from these and the
force on every pad, and from these and where on every pad it lies. They are judged on 200 seeds they have not seen,
beside the scripted policy, which compares where fingers stop.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from thenar.envs import WhichObject, baselines

TRAIN_SEEDS, TEST_SEEDS = range(10_000, 20_000), range(30_000, 30_200)
CLOSING_STEPS = 40
FELT_N = 0.3  # less than this on a taxel may be noise
KINDS = ("ball", "can", "box", "rod", "egg")


def close_on(seeds: range) -> dict[str, np.ndarray]:
    """Motors and taxels of a hand that has closed on what the seed gave it, and what that was."""
    env = WhichObject(touch="taxels")
    rows: dict[str, list] = {"motors": [], "taxels": [], "kind": []}
    close = np.concatenate([np.ones(len(env.hand.actuators)), np.zeros(env.answers)]).astype(np.float32)
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        for _ in range(CLOSING_STEPS):
            observation, _, _, _, info = env.step(close)
        rows["motors"].append(observation["observation"])
        rows["taxels"].append(observation["touch"])
        rows["kind"].append(int(info["kind"]))
    return {name: np.array(values) for name, values in rows.items()}


def features(seen: dict[str, np.ndarray], touch: str) -> np.ndarray:
    """Numbers to learn from: of motors; with ``pads`` force on each; with ``taxels`` also where on the pad it lies."""
    parts = [seen["motors"]]
    pads = WhichObject(touch="taxels").hand.pads
    first = np.cumsum([0, *(pad.taxels for pad in pads[:-1])])
    pressed = np.maximum(seen["taxels"] - FELT_N, 0.0)
    sums = np.add.reduceat(pressed, first, axis=1)
    if touch != "none":
        parts.append(np.log1p(sums))
    if touch == "taxels":
        row = np.concatenate([np.repeat(np.linspace(-1, 1, pad.rows), pad.cols) for pad in pads])
        col = np.concatenate([np.tile(np.linspace(-1, 1, pad.cols), pad.rows) for pad in pads])
        for place in (row, col, row * row, col * col, row * col):
            parts.append(np.add.reduceat(pressed * place, first, axis=1) / (sums + FELT_N))
    return np.concatenate(parts, axis=1)


class Namer:
    """Softmax regression with a little shrinkage."""

    def __init__(self, rows: np.ndarray, kind: np.ndarray, *, shrink: float = 1.0, steps: int = 300):
        """Learn from rows of features and what the things were."""
        self.mean, self.spread = rows.mean(axis=0), rows.std(axis=0) + 1e-6
        inputs, wanted = self._inputs(rows), np.eye(len(KINDS))[kind]
        self.weights = np.zeros((inputs.shape[1], len(KINDS)))
        first, second = np.zeros_like(self.weights), np.zeros_like(self.weights)
        for step in range(1, steps + 1):  # Adam
            slope = (inputs.T @ (self.shares(rows) - wanted) + shrink * self.weights) / len(rows)
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            self.weights -= 0.05 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)

    def _inputs(self, rows: np.ndarray) -> np.ndarray:
        return np.column_stack([(rows - self.mean) / self.spread, np.ones(len(rows))])

    def shares(self, rows: np.ndarray) -> np.ndarray:
        """How likely each kind is. Shape (rows, kinds)."""
        logits = self._inputs(rows) @ self.weights
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def right(self, rows: np.ndarray, kind: np.ndarray) -> np.ndarray:
        """1 where the answer is right, else 0."""
        return (self.shares(rows).argmax(axis=1) == kind).astype(float)


def scripted_right(seen: dict[str, np.ndarray]) -> np.ndarray:
    """1 where the scripted policy is right, which sees what the motors say."""
    env = WhichObject(touch="none")
    env.reset(seed=0)
    act = baselines.SCRIPTED[WhichObject](env)
    motors = len(env.hand.actuators)
    answers = [act({"observation": row})[motors:].argmax() for row in seen["motors"]]
    return (np.array(answers) == seen["kind"]).astype(float)


def interval(values: np.ndarray) -> str:
    """Mean and 95 % interval, in percent."""
    return f"{100 * values.mean():.1f} ± {196 * values.std(ddof=1) / np.sqrt(len(values)):.1f} %"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=int, default=400)
    parser.add_argument("--out", type=Path, default=Path("names.json"))
    given = parser.parse_args()
    train, test = close_on(TRAIN_SEEDS[: given.train]), close_on(TEST_SEEDS)
    found = {"scripted": scripted_right(test).tolist()}
    print("scripted", interval(np.array(found["scripted"])))
    for touch in ("none", "pads", "taxels"):
        for count in sorted({50, 100, 200, given.train}):
            part = {name: values[:count] for name, values in train.items()}
            right = Namer(features(part, touch), part["kind"]).right(features(test, touch), test["kind"])
            found[f"{touch}, {count}"] = right.tolist()
            print(f"{touch}, {count} hands to learn from:", interval(right), flush=True)
    best = {touch: np.array(found[f"{touch}, {given.train}"]) for touch in ("none", "pads", "taxels")}
    print("pads more than none", interval(best["pads"] - best["none"]))
    print("taxels more than none", interval(best["taxels"] - best["none"]))
    print("taxels more than scripted", interval(best["taxels"] - np.array(found["scripted"])))
    given.out.write_text(json.dumps(found))
