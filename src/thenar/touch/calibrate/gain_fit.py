"""Fit the parameters of a pad's sensor to a recording, by damped least squares (Levenberg-Marquardt).

What a taxel says is ``offset + drift (1 - exp(-t / drift_s)) + bend(gain h)`` with ``h = x + creep (past - x) + play
(stuck - x)`` and ``x`` its load plus a share of its neighbours'. Each taxel has seven numbers of its own; five are the
whole pad's. Shapes use t = rows, n = taxels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np

from thenar.arrays import BoolArray, FloatArray, IntArray
from thenar.touch.calibrate.presses import Presses
from thenar.touch.sensor.memory import bend, creep_through, play_through

OWN = ("offset", "gain", "crosstalk", "hysteresis", "play", "drift", "bend")
SHARED = ("depth", "fade", "width", "drift_s", "knee")
GROUPS = {
    # what can be asked for: numbers of each taxel, numbers of the pad
    "offset": (("offset",), ()),
    "gain": (("gain",), ()),
    "depth": ((), ("depth",)),
    "crosstalk": (("crosstalk",), ()),
    "hysteresis": (("hysteresis", "play"), ("fade", "width")),
    "drift": (("drift",), ("drift_s",)),
    "saturation": (("bend",), ("knee",)),
}
MAY_BE_LEFT = ("depth", "crosstalk", "hysteresis", "drift", "saturation")

MOST_CELLS = 250_000  # of rows x taxels: more rows than that are thinned
MOST_STEPS = 60
ENOUGH = 5e-4  # of the squared error: a smaller step is the last
DEPTHS = (0.1, 0.25, 0.5, 0.8, 1.2, 2.0)  # of the pitch, to start from
FADE_S, WIDTH, KNEE = 2.0, 0.06, 6.0  # to start from; the width is a share of the largest load


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A pad's sensor; counts, newtons, metres and seconds. Arrays are (n,)."""

    depth_m: float
    fade_s: float
    width_n: float
    drift_s: float
    knee: float
    offset: FloatArray
    gain: FloatArray
    crosstalk: FloatArray
    hysteresis: FloatArray
    play: FloatArray
    drift: FloatArray
    bend: FloatArray
    """One over the ceiling of the signal [1/counts]; 0: none."""

    def drive_n(self, presses: Presses) -> FloatArray:
        """Load of each taxel with cross-talk [N]. Shape (t, n)."""
        load = presses.taxel_load_n(self.depth_m)
        return load + self.crosstalk * presses.neighbour_load_n(load)

    def predict(self, presses: Presses, *, top_counts: float) -> FloatArray:
        """Counts in every row, not rounded. Shape (t, n)."""
        model = _Model(presses, np.arange(len(presses.time_s)), scale=_Scale.of(presses))
        return np.minimum(model.read(self, model.memory(self)), top_counts)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Scale:
    """Sizes of things in a recording."""

    pitch_m: float
    load_n: float
    counts: float
    lasts_s: float

    @classmethod
    def of(cls, presses: Presses) -> _Scale:
        load = presses.taxel_load_n(0.5 * min(presses.pad.row_pitch_m, presses.pad.col_pitch_m))
        return cls(
            pitch_m=min(presses.pad.row_pitch_m, presses.pad.col_pitch_m),
            load_n=float(np.median(load.max(axis=0))) or float(load.max()) or 1.0,
            counts=float(np.median(np.ptp(presses.counts, axis=0))) or 1.0,
            lasts_s=float(presses.time_s[-1] - presses.time_s[0]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Memory:
    """What is needed of the past, in the rows that are fitted."""

    drive: FloatArray
    past: FloatArray
    stuck: FloatArray


class _Model:
    """The sensor over one recording."""

    def __init__(self, presses: Presses, rows: IntArray, *, scale: _Scale):
        self.presses, self.rows, self.scale = presses, rows, scale

    def memory(self, f: Fitted) -> _Memory:
        """Loads, and what the skin remembers of them."""
        load = self.presses.taxel_load_n(f.depth_m)
        drive = load + f.crosstalk * self.presses.neighbour_load_n(load)
        n = drive.shape[1]
        past = creep_through(drive, self.presses.step_s, np.full(n, f.fade_s))
        stuck = play_through(drive, np.full(n, f.width_n))
        return _Memory(
            drive=drive[self.rows],
            past=past[self.rows],
            stuck=stuck[self.rows],
        )

    def read(self, f: Fitted, m: _Memory) -> FloatArray:
        """Counts."""
        signal = f.gain * (m.drive + f.hysteresis * (m.past - m.drive) + f.play * (m.stuck - m.drive))
        warm = 1.0 - np.exp(-self.presses.time_s[self.rows] / f.drift_s)
        return f.offset + f.drift * warm[:, None] + bend(signal, f.bend, f.knee)

    def slopes(self, f: Fitted, m: _Memory, now: FloatArray, free: Collection[str]) -> FloatArray:
        """Change of counts with each number, in units of `_moved`. Shape (t, n, own + shared)."""
        slopes = np.zeros((*now.shape, len(OWN) + len(SHARED)))
        small = 1e-4
        for k, name in enumerate((*OWN, *SHARED)):
            if name not in free:
                continue
            by = small if name in SHARED else np.full(now.shape[1], small)
            at_its_end = _value(_moved(f, name, by, self.scale), name) == _value(f, name)
            by = np.where(at_its_end, -by, by) if name in OWN else -by if at_its_end else by
            other = _moved(f, name, by, self.scale)
            remembers = name in ("crosstalk", "depth", "fade", "width")
            slopes[:, :, k] = (self.read(other, self.memory(other) if remembers else m) - now) / by
        return slopes


def fit_pad(
    presses: Presses,
    *,
    rows: BoolArray | None = None,
    without: Collection[str] = (),
    top_counts: float = 4095.0,
    progress: Callable[[int, float], None] | None = None,
) -> Fitted:
    """Fit a pad.

    Args:
        presses: The recording.
        rows: Rows to fit to; the others only pass by, for the memory. All if not given.
        without: Groups of numbers that are left out, of `MAY_BE_LEFT`.
        top_counts: Largest possible reading.
        progress: Told of every step and its root mean square error in counts.
    """
    scale = _Scale.of(presses)
    chosen = np.flatnonzero(presses.usable if rows is None else presses.usable & rows)
    thin = max(1, int(np.ceil(len(chosen) * presses.pad.taxels / MOST_CELLS)))
    model = _Model(presses, chosen[::thin], scale=scale)
    free = free_names(without)
    best = _start(model, free)
    counts = presses.counts[model.rows]
    memory = model.memory(best)
    now = model.read(best, memory)
    error = float(np.mean(np.square(np.minimum(now, top_counts) - counts)))
    damping = 1e-3
    for step in range(MOST_STEPS):
        slopes = model.slopes(best, memory, now, free)
        wrong = np.minimum(now, top_counts) - counts
        slopes[now > top_counts] = 0.0
        before = error
        while damping < 1e8:
            trial = _step(best, slopes, wrong, damping, free, scale)
            trial_memory = model.memory(trial)
            trial_now = model.read(trial, trial_memory)
            trial_error = float(np.mean(np.square(np.minimum(trial_now, top_counts) - counts)))
            if trial_error < error:
                best, memory, now, error = trial, trial_memory, trial_now, trial_error
                damping = max(damping / 5.0, 1e-9)
                break
            damping *= 4.0
        if progress is not None:
            progress(step, error**0.5)
        if before - error < ENOUGH * before:
            break
    return best


def free_names(without: Collection[str]) -> set[str]:
    """Names of the numbers that are fitted."""
    return {name for group, parts in GROUPS.items() if group not in without for part in parts for name in part}


def slopes_of(presses: Presses, fitted: Fitted, rows: IntArray, without: Collection[str]) -> FloatArray:
    """Change of counts with every number, in units of `_moved`. Shape (rows, n, own + shared)."""
    model = _Model(presses, rows, scale=_Scale.of(presses))
    memory = model.memory(fitted)
    return model.slopes(fitted, memory, model.read(fitted, memory), free_names(without))


def _value(f: Fitted, name: str) -> FloatArray | float:
    return getattr(f, {"depth": "depth_m", "fade": "fade_s", "width": "width_n"}.get(name, name))


def _moved(f: Fitted, name: str, by: FloatArray | float, s: _Scale) -> Fitted:
    """The same with one number changed, in units that make a change of 1 a large one; kept within sense."""
    match name:
        case "offset":
            return replace(f, offset=f.offset + by * s.counts)
        case "gain":
            return replace(f, gain=np.maximum(f.gain + by * s.counts / s.load_n, 1e-3 * s.counts / s.load_n))
        case "crosstalk":
            return replace(f, crosstalk=np.clip(f.crosstalk + by, 0.0, 1.0))
        case "hysteresis":
            return replace(f, hysteresis=np.clip(f.hysteresis + by, 0.0, 0.8))
        case "play":
            return replace(f, play=np.clip(f.play + by, 0.0, 0.8))
        case "drift":
            return replace(f, drift=f.drift + by * s.counts)
        case "bend":
            return replace(f, bend=np.clip(f.bend + by / s.counts, 1e-3 / s.counts, 20.0 / s.counts))
        case "depth":
            return replace(f, depth_m=float(np.clip(f.depth_m * np.exp(by), 0.02 * s.pitch_m, 10.0 * s.pitch_m)))
        case "fade":
            return replace(f, fade_s=float(np.clip(f.fade_s * np.exp(by), 0.05, 120.0)))
        case "width":
            return replace(f, width_n=float(np.clip(f.width_n * np.exp(by), 1e-3 * s.load_n, s.load_n)))
        case "drift_s":
            longest = max(2.0 * s.lasts_s, 60.0)
            return replace(f, drift_s=float(np.clip(f.drift_s * np.exp(by), 20.0, longest)))
    return replace(f, knee=float(np.clip(f.knee * np.exp(by), 1.5, 60.0)))


def _step(
    f: Fitted, slopes: FloatArray, wrong: FloatArray, damping: float, free: Collection[str], scale: _Scale
) -> Fitted:
    """One damped step: the shared numbers first (what the taxels' own cannot explain), then each taxel's."""
    own = [k for k, name in enumerate(OWN) if name in free]
    shared = [len(OWN) + k for k, name in enumerate(SHARED) if name in free]
    A = slopes[:, :, own].transpose(1, 2, 0)  # (n, own, t)
    B = slopes[:, :, shared].transpose(1, 2, 0)
    r = wrong.T[:, :, None]
    AA, AB, BB = A @ A.transpose(0, 2, 1), A @ B.transpose(0, 2, 1), (B @ B.transpose(0, 2, 1)).sum(axis=0)
    Ar, Br = (A @ r)[:, :, 0], (B @ r)[:, :, 0].sum(axis=0)
    each = np.einsum("nkk->nk", AA)
    AA = AA + np.einsum("nk,kl->nkl", damping * (each + 1e-6 * each.max() + 1e-12), np.eye(len(own)))
    change_shared = np.zeros(len(shared))
    if shared:
        solved = np.linalg.solve(AA, np.concatenate([AB, Ar[:, :, None]], axis=2))
        BB = BB + damping * np.diag(np.diag(BB) + 1e-6 * np.diag(BB).max() + 1e-12)
        left = BB - np.einsum("nks,nkt->st", AB, solved[:, :, :-1])
        right = Br - np.einsum("nks,nk->s", AB, solved[:, :, -1])
        change_shared = -np.linalg.lstsq(left, right, rcond=None)[0]
    change_own = -np.linalg.solve(AA, (Ar + AB @ change_shared)[:, :, None])[:, :, 0]
    for k, index in enumerate(own):
        f = _moved(f, OWN[index], change_own[:, k], scale)
    for k, index in enumerate(shared):
        f = _moved(f, SHARED[index - len(OWN)], float(np.clip(change_shared[k], -1.0, 1.0)), scale)
    return f


def _start(model: _Model, free: Collection[str]) -> Fitted:
    """Where to begin: resting readings, and the depth at which one gain a taxel explains most."""
    presses, scale, rows = model.presses, model.scale, model.rows
    n = presses.pad.taxels
    counts = presses.counts[rows]
    resting = presses.load_n[rows] <= 0.02 * presses.load_n.max()
    offset = np.median(counts[resting], axis=0) if resting.any() else counts.min(axis=0)
    signal = counts - offset
    low = signal < 0.7 * signal.max(axis=0)  # below where it may bend
    best, least = None, np.inf
    for depth in (d * scale.pitch_m for d in (DEPTHS if "depth" in free else (0.02,))):
        load = presses.taxel_load_n(depth)[rows]
        square = np.sum(np.where(low, load * load, 0.0), axis=0)
        gain = np.sum(np.where(low, load * signal, 0.0), axis=0) / np.maximum(square, 1e-12)
        usual = float(np.median(gain[square > 1e-3 * square.max()]))
        gain = np.where((square > 1e-3 * square.max()) & (gain > 0.05 * usual), gain, usual)
        left = float(np.sum(np.where(low, np.square(signal - gain * load), 0.0)))
        if left < least:
            least, best = left, (depth, gain)
    assert best is not None
    return Fitted(
        depth_m=best[0],
        fade_s=FADE_S,
        width_n=WIDTH * scale.load_n,
        drift_s=max(60.0, scale.lasts_s / 2.0),
        knee=KNEE,
        offset=offset,
        gain=np.maximum(best[1], 1e-3 * scale.counts / scale.load_n),
        crosstalk=np.full(n, 0.02 if "crosstalk" in free else 0.0),
        hysteresis=np.full(n, 0.02 if "hysteresis" in free else 0.0),
        play=np.full(n, 0.05 if "play" in free else 0.0),
        drift=np.zeros(n),
        bend=(1.0 if "bend" in free else 0.0) / np.maximum(1.1 * signal.max(axis=0), 1.0),
    )
