"""Learn to press with a wanted force by search: the cross-entropy method on nine numbers, with numpy alone.

    pip install 'thenar[gym]'
    python press_by_search.py --out press.json        # about seven minutes of one core

The policy is linear in what a hand feels, what is wanted now and soon, and how far its target leads; search begins at
the scripted integrator. It is learned once with touch and once without, and both are judged beside the script on 100
seeds that neither has seen.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from thenar.envs import HandEnv, PressProfile, baselines
from thenar.envs.hand_env import Touch

TRAIN_SEED, TEST_SEEDS = 40_000, range(30_000, 30_100)
STEPS, CANDIDATES, ELITE, EPISODES = 100, 16, 4, 3
NAMES = ("approach", "bias", "missing", "change", "missing_motor", "change_motor", "soon", "later", "lead")
FROM = {"approach": 0.7, "missing": 1.5}
SPREAD = {"approach": 0.2, "bias": 0.1, "missing": 0.8, "missing_motor": 0.8}


class Linear:
    """A policy with these weights; it remembers the last forces."""

    def __init__(self, env: HandEnv, weights: np.ndarray):
        """At the beginning of an episode."""
        self.env, self.weights = env, dict(zip(NAMES, weights, strict=True))
        self.last: np.ndarray | None = None

    def __call__(self, observation: dict[str, np.ndarray]) -> np.ndarray:
        """The action."""
        felt, w = baselines.Felt(self.env, observation), self.weights
        forces = np.array([felt.force_n("index"), felt.pushed_n("index")]) / 10.0
        change = np.zeros(2) if self.last is None else forces - self.last
        self.last = forces
        if 10.0 * forces[0] < felt.least_n:
            return np.array([np.clip(w["approach"], -1.0, 1.0)], dtype=np.float32)
        soon, later, latest = observation["observation"][-3:]
        index = felt.names.index("index")
        action = (
            w["bias"]
            + w["missing"] * (soon - forces[0])
            + w["change"] * change[0]
            + w["missing_motor"] * (soon - forces[1])
            + w["change_motor"] * change[1]
            + w["soon"] * (later - soon)
            + w["later"] * (latest - later)
            + w["lead"] * (felt.target[index] - felt.angle[index])
        )
        return np.array([np.clip(action, -1.0, 1.0)], dtype=np.float32)


def judge(env: PressProfile, weights: np.ndarray, seeds: range) -> np.ndarray:
    """Return and success of one episode for each seed. Shape (seeds, 2)."""
    return baselines.evaluate(env, lambda one: Linear(one, weights), seeds, steps=STEPS)


def search(touch: Touch, generations: int) -> tuple[np.ndarray, list[float]]:
    """The best weights that the cross-entropy method finds, and the mean return of the elite in every generation."""
    env, rng = PressProfile(touch=touch), np.random.default_rng(0)
    mean = np.array([FROM.get(name, 0.0) for name in NAMES])
    spread = np.array([SPREAD.get(name, 0.5) for name in NAMES])
    if touch == "none":  # what motors report is all there is: one and the same force
        spread[[NAMES.index("missing_motor"), NAMES.index("change_motor")]] = 0.0
    curve = []
    for generation in range(generations):
        first = TRAIN_SEED + generation * EPISODES
        tried = mean + spread * rng.standard_normal((CANDIDATES, len(NAMES)))
        tried[0] = mean
        returns = np.array([judge(env, one, range(first, first + EPISODES))[:, 0].mean() for one in tried])
        best = tried[np.argsort(-returns)[:ELITE]]
        mean, spread = best.mean(axis=0), 0.2 * spread + 0.8 * best.std(axis=0)
        curve.append(float(np.sort(returns)[-ELITE:].mean()))
        print(f"{touch}, generation {generation + 1}: {curve[-1]:.1f}", flush=True)
    return mean, curve


def interval(values: np.ndarray) -> str:
    """Mean and 95 % interval."""
    return f"{values.mean():.1f} ± {1.96 * values.std(ddof=1) / np.sqrt(len(values)):.1f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path("press.json"))
    given = parser.parse_args()
    found: dict[str, dict] = {}
    kinds: tuple[Touch, ...] = ("pads", "none")
    for touch in kinds:
        weights, curve = search(touch, given.generations)
        env = PressProfile(touch=touch)
        learned = judge(env, weights, TEST_SEEDS)
        scripted = baselines.evaluate(env, baselines.SCRIPTED[PressProfile], TEST_SEEDS)
        found[touch] = {"weights": dict(zip(NAMES, weights.tolist(), strict=True)), "curve": curve}
        found[touch] |= {"learned": learned.tolist(), "scripted": scripted.tolist()}
        given.out.write_text(json.dumps(found))
        print(touch, "learned", interval(learned[:, 0]), f"{learned[:, 1].mean():.0%}", flush=True)
        print(touch, "scripted", interval(scripted[:, 0]), f"{scripted[:, 1].mean():.0%}", flush=True)
        print(touch, "learned more than scripted", interval(learned[:, 0] - scripted[:, 0]), flush=True)
    more = np.array(found["pads"]["learned"])[:, 0] - np.array(found["none"]["learned"])[:, 0]
    print("with touch more than without", interval(more))
