"""A trained network as a file of numbers, written where torch is and played where it is not."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

NORMALIZER_EPS = 0.01  # of rsl-rl
HISTORY = 3  # steps that a policy of a task sees: commands take more than one to act
ALIKE = {"observation": 1.0, "touch": 0.3, "goal": 3.0}  # factors that make all numbers about as large


def save_policy(path: Path, policy: Any) -> None:
    """Write layers of a network of rsl-rl, and mean and spread of what it sees."""
    found = {name: value.detach().cpu().numpy() for name, value in policy.state_dict().items()}
    layers = sorted({name.rpartition(".")[0] for name in found if name.startswith("mlp.")}, key=lambda n: int(n[4:]))
    made = {"mean": found["obs_normalizer._mean"].ravel(), "std": found["obs_normalizer._std"].ravel()}
    for number, layer in enumerate(layers):
        made |= {f"weight_{number}": found[f"{layer}.weight"], f"bias_{number}": found[f"{layer}.bias"]}
    np.savez_compressed(path, **{name: value.astype(np.float32) for name, value in made.items()})


def load_policy(path: Path) -> Callable[[np.ndarray], np.ndarray]:
    """The network of such a file: from what is seen to an action. One without touch sees only the first of it."""
    with np.load(path) as file:
        saved = dict(file)
    layers = [
        (saved[f"weight_{k}"], saved[f"bias_{k}"]) for k in range(sum(name.startswith("weight") for name in saved))
    ]

    def act(seen: np.ndarray) -> np.ndarray:
        values = (seen[..., : saved["mean"].size] - saved["mean"]) / (saved["std"] + NORMALIZER_EPS)
        for number, (weight, bias) in enumerate(layers):
            values = values @ weight.T + bias
            if number < len(layers) - 1:
                values = np.where(values > 0.0, values, np.expm1(np.minimum(values, 0.0)))
        return values

    return act


def task_row(seen: Mapping[str, np.ndarray]) -> np.ndarray:
    """An observation of a task, of one world or of many, as numbers in a row."""
    return np.concatenate([ALIKE[key] * values for key, values in seen.items()], axis=-1)
