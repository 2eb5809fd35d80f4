"""A learned taxel: sums of rising ramps over what the skin remembers, with weights that are never below zero.

A taxel's load, several plays of it (hysteresis that does not depend on speed) and several creeps of it (memory that
fades) each go through a curve of straight pieces that only rise. Every part is monotone, so the whole is: more force
never reads less. Because the counts are linear in the weights, training is one convex problem with one answer.

Shapes use t = rows, n = taxels, s = remembered states (the load itself, plays, creeps), b = ramps, d = drifts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.hands.spec import Pad
from thenar.touch.sensor.hysteresis import creep_step, creep_through, play_step, play_through

AROUND = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedPad:
    """Learned response of one pad's taxels."""

    load_n: FloatArray
    """Largest load shown to each taxel [N]; knots and plays are shares of it. Shape (n,)."""
    knots: FloatArray
    """Where ramps begin and end. Shape (b + 1,)."""
    play: FloatArray
    """Widths of the plays."""
    fade_s: FloatArray
    """Time constants of the creeps [s]."""
    weights: FloatArray
    """Counts that each ramp adds, none below 0. Shape (n, s, b)."""
    leak_counts_per_n: FloatArray
    """What the loads of the eight taxels around add, none below 0. Shape (n, 8)."""
    offset_counts: FloatArray
    """Reading at rest when switched on. Shape (n,)."""
    drift_s: FloatArray
    """Time constants of drifts [s]. Shape (d,)."""
    drift_counts: FloatArray
    """How far each goes. Shape (n, d)."""

    def through(self, load_n: FloatArray, step_s: FloatArray) -> FloatArray:
        """What is remembered in every row of a recording, as shares of the largest load. Shape (t, n, s)."""
        share = load_n / self.load_n
        ones = np.ones(share.shape[1])
        plays = [play_through(share, width * ones) for width in self.play]
        creeps = [creep_through(share, step_s, fade_s * ones) for fade_s in self.fade_s]
        return np.stack([share, *plays, *creeps], axis=-1)

    def step(self, past: FloatArray, load_n: FloatArray, step_s: float) -> FloatArray:
        """What is remembered after one more reading. Shape (n, s)."""
        share = (load_n / self.load_n)[:, None]
        first_creep = 1 + len(self.play)
        plays = play_step(past[:, 1:first_creep], share, self.play)
        creeps = creep_step(past[:, first_creep:], share, step_s, self.fade_s)
        return np.concatenate([share, plays, creeps], axis=1)

    def read(self, states: FloatArray, around_n: FloatArray, time_s: FloatArray | float) -> FloatArray:
        """Counts, not yet rounded or cut off.

        Args:
            states: From `through` or `step`. Shape (..., n, s).
            around_n: From `around`. Shape (..., n, 8).
            time_s: Since switching on [s]. Shape (...).
        """
        counts = self.offset_counts + np.einsum("...nk,nk->...n", around_n, self.leak_counts_per_n)
        for state in range(states.shape[-1]):
            counts += np.einsum("...nb,nb->...n", ramps(states[..., state], self.knots), self.weights[:, state])
        return counts + warm_up(time_s, self.drift_s) @ self.drift_counts.T

    @property
    def states(self) -> int:
        """Number of things remembered."""
        return 1 + len(self.play) + len(self.fade_s)


def ramps(share: FloatArray, knots: FloatArray) -> FloatArray:
    """Rise from 0 to 1 between each two knots; the last one goes on rising. Shape (..., b)."""
    risen = np.maximum((share[..., None] - knots[:-1]) / np.diff(knots), 0.0)
    risen[..., :-1] = np.minimum(risen[..., :-1], 1.0)
    return risen


def warm_up(time_s: FloatArray | float, drift_s: FloatArray) -> FloatArray:
    """How far each drift has come, 0 to 1. Shape (..., d)."""
    return 1.0 - np.exp(-np.asarray(time_s)[..., None] / drift_s)


def around(pad: Pad, taxel_load_n: FloatArray) -> FloatArray:
    """Load of the eight taxels around each; 0 where there is none. Shape (..., n, 8)."""
    grid = taxel_load_n.reshape(*taxel_load_n.shape[:-1], pad.rows, pad.cols)
    wide = np.pad(grid, [(0, 0)] * (grid.ndim - 2) + [(1, 1), (1, 1)])
    moved = [wide[..., 1 + r : 1 + r + pad.rows, 1 + c : 1 + c + pad.cols] for r, c in AROUND]
    return np.stack([one.reshape(taxel_load_n.shape) for one in moved], axis=-1)


def learned_table(learned: LearnedPad) -> dict[str, Any]:
    """A learned pad as plain lists."""
    return {field.name: np.asarray(getattr(learned, field.name)).tolist() for field in fields(LearnedPad)}


def learned_from_table(table: Any, taxels: int) -> LearnedPad:
    """The learned pad that `learned_table` made a table of; what does not fit is refused."""
    names = [field.name for field in fields(LearnedPad)]
    if not isinstance(table, dict) or sorted(table) != sorted(names):
        raise BadValue(
            "learned", sorted(table) if isinstance(table, dict) else table, f"a table with {', '.join(names)}"
        )
    arrays: dict[str, FloatArray] = {}
    for name, value in table.items():
        try:
            arrays[name] = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise BadValue(name, type(value).__name__, "numbers, as many in each row") from None
        if not np.isfinite(arrays[name]).all():
            raise BadValue(name, "inf or nan", "finite numbers")
    for name in ("knots", "play", "fade_s", "drift_s"):
        if arrays[name].ndim != 1:
            raise BadValue(name, arrays[name].tolist(), "a list of numbers")
    if arrays["knots"].size < 2:
        raise BadValue("knots", arrays["knots"].tolist(), "two numbers or more")
    states, drifts = 1 + arrays["play"].size + arrays["fade_s"].size, arrays["drift_s"].size
    if not drifts and not arrays["drift_counts"].size:
        arrays["drift_counts"] = np.zeros((taxels, 0))
    shapes = {
        "load_n": (taxels,),
        "offset_counts": (taxels,),
        "weights": (taxels, states, arrays["knots"].size - 1),
        "leak_counts_per_n": (taxels, len(AROUND)),
        "drift_counts": (taxels, drifts),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise BadValue(name, f"of shape {arrays[name].shape}", f"shape {shape}")
    if np.any(np.diff(arrays["knots"]) <= 0.0):
        raise BadValue("knots", arrays["knots"].tolist(), "numbers that grow")
    for name in ("weights", "leak_counts_per_n"):
        if arrays[name].min() < 0.0:
            raise BadValue(name, float(arrays[name].min()), "no number below 0: more force must never read less")
    for name in ("load_n", "play", "fade_s", "drift_s"):
        if arrays[name].size and arrays[name].min() <= 0.0:
            raise BadValue(name, float(arrays[name].min()), "numbers above 0")
    return LearnedPad(**arrays)
