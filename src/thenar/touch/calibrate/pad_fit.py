"""Fit the parameters of a pad's sensor to a recording, by damped least squares (Levenberg-Marquardt).

What a taxel says is ``offset + drift (1 - exp(-t / drift_s)) + bend(gain h)`` with ``h = x + creep (past - x) + play
(stuck - x)`` and ``x`` its load plus a share of its neighbors'. Each taxel has seven numbers of its own; five are the
whole pad's. Shapes use t = rows, n = taxels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from thenar.arrays import BoolArray, FloatArray, IntArray
from thenar.touch.calibrate.presses import Presses
from thenar.touch.sensor.hysteresis import bend, creep_through, play_through

OWN = ("offset", "gain", "crosstalk", "hysteresis", "play", "drift", "bend")
SHARED = ("depth_m", "fade_s", "width_n", "drift_s", "knee")
NAMES = (*OWN, *SHARED)
GROUPS = {
    # what can be asked for: numbers of each taxel and of the pad
    "offset": ("offset",),
    "gain": ("gain",),
    "depth": ("depth_m",),
    "crosstalk": ("crosstalk",),
    "hysteresis": ("hysteresis", "play", "fade_s", "width_n"),
    "drift": ("drift", "drift_s"),
    "saturation": ("bend", "knee"),
}
OPTIONAL_GROUPS = ("depth", "crosstalk", "hysteresis", "drift", "saturation")
"""What may be left at its default."""

MAX_CELLS = 250_000  # of rows x taxels: more rows than that are thinned
MAX_STEPS = 60
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
        return load + self.crosstalk * presses.neighbor_load_n(load)

    def predict(self, presses: Presses, *, top_counts: float) -> FloatArray:
        """Counts in every row, not rounded. Shape (t, n)."""
        every = slice(None)
        return np.minimum(self.read(self.memory(presses, every), presses.time_s), top_counts)

    def memory(self, presses: Presses, rows: IntArray | slice) -> Memory:
        """Loads, and what the skin remembers of them, in some rows."""
        drive = self.drive_n(presses)
        ones = np.ones(drive.shape[1])
        past = creep_through(drive, presses.step_s, self.fade_s * ones)
        return Memory(drive[rows], past[rows], play_through(drive, self.width_n * ones)[rows])

    def read(self, m: Memory, time_s: FloatArray) -> FloatArray:
        """Counts, not cut off. Shape (rows, n)."""
        return self.at_rest(time_s) + bend(self.signal(m), self.bend, self.knee)

    def at_rest(self, time_s: FloatArray) -> FloatArray:
        """Counts without a load. Shape (rows, n)."""
        return self.offset + self.drift * (1.0 - np.exp(-time_s / self.drift_s))[:, None]

    def signal(self, m: Memory) -> FloatArray:
        """Counts that the loads are worth, before they come up against the ceiling. Shape (rows, n)."""
        return self.gain * (m.drive + self.hysteresis * (m.past - m.drive) + self.play * (m.stuck - m.drive))


class Memory(NamedTuple):
    """State of the sensor's hysteresis at every row. Shapes (rows, n)."""

    drive: FloatArray
    past: FloatArray
    stuck: FloatArray


class _Scale(NamedTuple):
    """Sizes of things in a recording."""

    pitch_m: float
    load_n: float
    counts: float
    lasts_s: float


def _scale(presses: Presses) -> _Scale:
    pitch_m = min(presses.pad.row_pitch_m, presses.pad.col_pitch_m)
    load = presses.taxel_load_n(0.5 * pitch_m)
    return _Scale(
        pitch_m=pitch_m,
        load_n=float(np.median(load.max(axis=0))) or float(load.max()) or 1.0,
        counts=float(np.median(np.ptp(presses.counts, axis=0))) or 1.0,
        lasts_s=float(presses.time_s[-1] - presses.time_s[0]),
    )


def fit_parameters(
    presses: Presses,
    *,
    rows: BoolArray | None = None,
    without: Collection[str] = (),
    top_counts: float = 4095.0,
    progress: Callable[[str], None] = lambda _: None,
) -> Fitted:
    """Fit a pad.

    Args:
        presses: The recording.
        rows: Rows to fit to; the others only pass by, for the memory. All if not given.
        without: Groups of numbers that are left out, of `OPTIONAL_GROUPS`.
        top_counts: Largest possible reading.
        progress: Called with every step and its root mean square error in counts.
    """
    scale, free = _scale(presses), _free_names(without)
    chosen = np.flatnonzero(presses.usable if rows is None else presses.usable & rows)
    chosen = chosen[:: max(1, int(np.ceil(len(chosen) * presses.pad.taxels / MAX_CELLS)))]
    counts = presses.counts[chosen]

    def tried(f: Fitted) -> tuple[float, Fitted, Memory, FloatArray]:
        memory = f.memory(presses, chosen)
        now = f.read(memory, presses.time_s[chosen])
        return float(np.mean(np.square(np.minimum(now, top_counts) - counts)[:, presses.live])), f, memory, now

    error, best, memory, now = tried(_start(presses, chosen, scale, free))
    damping = 1e-3
    for step in range(MAX_STEPS):
        slopes = _slopes(presses, chosen, best, memory, now, free, scale)
        slopes[(now > top_counts) | ~presses.live] = 0.0
        equations = _equations(slopes, np.minimum(now, top_counts) - counts, free)
        before = error
        while damping < 1e8:
            trial = tried(_step(best, equations, damping, free, scale))
            if trial[0] < error:
                error, best, memory, now = trial
                damping = max(damping / 5.0, 1e-9)
                break
            damping *= 4.0
        progress(f"step {step}, off by {error**0.5:.1f}")
        if before - error < ENOUGH * before:
            break
    return best


def slopes_of(presses: Presses, fitted: Fitted, rows: IntArray, without: Collection[str]) -> FloatArray:
    """Change of counts with every number of `NAMES`, in units of `_moved`. Shape (rows, n, names)."""
    memory = fitted.memory(presses, rows)
    now = fitted.read(memory, presses.time_s[rows])
    return _slopes(presses, rows, fitted, memory, now, _free_names(without), _scale(presses))


def _free_names(without: Collection[str]) -> set[str]:
    """Names of the numbers that are fitted."""
    return {name for group, names in GROUPS.items() if group not in without for name in names}


def _slopes(
    presses: Presses, rows: IntArray, f: Fitted, m: Memory, now: FloatArray, free: Collection[str], scale: _Scale
) -> FloatArray:
    slopes = np.zeros((*now.shape, len(NAMES)))
    time_s = presses.time_s[rows]
    rest, signal = f.at_rest(time_s), f.signal(m)
    bent = now - rest
    steepness = np.divide(bent, signal, out=np.ones_like(now), where=signal != 0.0) ** (f.knee + 1.0)  # of `bend`
    for k, name in enumerate(NAMES):
        if name not in free:
            continue
        by = np.full(now.shape[1], 1e-4) if name in OWN else np.array(1e-4)
        at_its_end = getattr(_moved(f, name, by, scale), name) == getattr(f, name)
        by = np.where(at_its_end, -by, by)
        other = _moved(f, name, by, scale)
        if name in ("offset", "drift", "drift_s"):
            change = other.at_rest(time_s) - rest
        elif name in ("bend", "knee"):
            change = bend(signal, other.bend, other.knee) - bent
        else:
            memory = other.memory(presses, rows) if name in ("crosstalk", "depth_m", "fade_s", "width_n") else m
            change = steepness * (other.signal(memory) - signal)
        slopes[:, :, k] = change / by
    return slopes


def _moved(f: Fitted, name: str, by: FloatArray, s: _Scale) -> Fitted:
    """The same with one number changed, in units that make a change of 1 a large one; kept within sense.

    Numbers of a taxel are added to, those of the pad grow by a power of e.
    """
    per_n = s.counts / s.load_n
    unit, low, high = {
        "offset": (s.counts, -np.inf, np.inf),
        "gain": (per_n, 1e-3 * per_n, np.inf),
        "crosstalk": (1.0, 0.0, 1.0),
        "hysteresis": (1.0, 0.0, 0.8),
        "play": (1.0, 0.0, 0.8),
        "drift": (s.counts, -np.inf, np.inf),
        "bend": (1.0 / s.counts, 1e-3 / s.counts, 20.0 / s.counts),
        "depth_m": (0.0, 0.02 * s.pitch_m, 10.0 * s.pitch_m),
        "fade_s": (0.0, 0.05, 120.0),
        "width_n": (0.0, 1e-3 * s.load_n, s.load_n),
        "drift_s": (0.0, 20.0, max(2.0 * s.lasts_s, 60.0)),
        "knee": (0.0, 1.5, 60.0),
    }[name]
    value = getattr(f, name)
    moved = np.clip(value + by * unit if name in OWN else value * np.exp(by), low, high)
    return replace(f, **{name: moved if name in OWN else float(moved)})


class _Equations(NamedTuple):
    """Normal equations of each taxel's own numbers (A), those of the pad (B) and what is wrong (r)."""

    AA: FloatArray
    AB: FloatArray
    BB: FloatArray
    Ar: FloatArray
    Br: FloatArray


def _columns(free: Collection[str]) -> tuple[list[int], list[int]]:
    """Which of `NAMES` are fitted: each taxel's own, and the pad's."""
    numbered = [(k, name) for k, name in enumerate(NAMES) if name in free]
    return [k for k, name in numbered if name in OWN], [k for k, name in numbered if name in SHARED]


def _equations(slopes: FloatArray, wrong: FloatArray, free: Collection[str]) -> _Equations:
    own, shared = _columns(free)
    A = slopes[:, :, own].transpose(1, 2, 0)  # (n, own, t)
    B = slopes[:, :, shared].transpose(1, 2, 0)
    r = wrong.T[:, :, None]
    return _Equations(
        AA=A @ A.transpose(0, 2, 1),
        AB=A @ B.transpose(0, 2, 1),
        BB=(B @ B.transpose(0, 2, 1)).sum(axis=0),
        Ar=(A @ r)[:, :, 0],
        Br=(B @ r)[:, :, 0].sum(axis=0),
    )


def _step(f: Fitted, equations: _Equations, damping: float, free: Collection[str], scale: _Scale) -> Fitted:
    """One damped step: the shared numbers first (what the taxels' own cannot explain), then each taxel's."""
    own, shared = _columns(free)
    AA, AB, BB, Ar, Br = equations
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
    for k, change in zip((*own, *shared), (*change_own.T, *np.clip(change_shared, -1.0, 1.0)), strict=True):
        f = _moved(f, NAMES[k], change, scale)
    return f


def _start(presses: Presses, rows: IntArray, scale: _Scale, free: Collection[str]) -> Fitted:
    """Where to begin: resting readings, and the depth at which one gain a taxel explains most."""
    ones = np.ones(presses.pad.taxels)
    counts = presses.counts[rows]
    resting = presses.load_n[rows] <= 0.02 * presses.load_n.max()
    offset = np.median(counts[resting], axis=0) if resting.any() else counts.min(axis=0)
    signal = counts - offset
    low = signal < 0.7 * signal.max(axis=0)  # below where it may bend
    least, depth_m, best_gain = np.inf, 0.0, ones
    for depth in (d * scale.pitch_m for d in (DEPTHS if "depth_m" in free else (0.02,))):
        load = presses.taxel_load_n(depth)[rows]
        square = np.sum(np.where(low, load * load, 0.0), axis=0)
        gain = np.sum(np.where(low, load * signal, 0.0), axis=0) / np.maximum(square, 1e-12)
        usual = float(np.median(gain[square > 1e-3 * square.max()]))
        gain = np.where((square > 1e-3 * square.max()) & (gain > 0.05 * usual), gain, usual)
        left = float(np.sum(np.where(low, np.square(signal - gain * load), 0.0)))
        if left < least:
            least, depth_m, best_gain = left, depth, gain
    return Fitted(
        depth_m=depth_m,
        fade_s=FADE_S,
        width_n=WIDTH * scale.load_n,
        drift_s=max(60.0, scale.lasts_s / 2.0),
        knee=KNEE,
        offset=offset,
        gain=np.maximum(best_gain, 1e-3 * scale.counts / scale.load_n),
        crosstalk=(0.02 if "crosstalk" in free else 0.0) * ones,
        hysteresis=(0.02 if "hysteresis" in free else 0.0) * ones,
        play=(0.05 if "play" in free else 0.0) * ones,
        drift=0.0 * ones,
        bend=(1.0 if "bend" in free else 0.0) / np.maximum(1.1 * signal.max(axis=0), 1.0),
    )
