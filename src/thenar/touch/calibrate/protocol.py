"""What to record with a real hand: a plan of presses on a pad. `checklist.py` sees how far a recording has come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.charts import taxel_grid
from thenar.hands.spec import Pad

REST_S = 20.0
WHOLE_S = 480.0
LEAST_TOUCHES = 6  # of a step: small pads are pressed more than once
SPREAD = 9  # places for slow work, spread over a pad


@dataclass(frozen=True, kw_only=True)
class Press:
    """One touch of the probe: where, and the force over time as corners of straight lines."""

    at_m: tuple[float, float]
    corners: tuple[tuple[float, float], ...]
    """Seconds since its start, and share of the full force."""

    @property
    def lasts_s(self) -> float:
        """How long it takes [s]."""
        return self.corners[-1][0]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to do."""

    name: str
    say: str
    presses: tuple[Press, ...] = ()
    until_s: float = 0.0
    """Then leave the skin alone until so long after switching on [s]."""


def plan(pad: Pad) -> tuple[Step, ...]:
    """Everything to record on one pad, in order."""
    centres, corners = middles(pad), between(pad)
    spread = [centres[k] for k in np.linspace(0, len(centres) - 1, min(SPREAD, len(centres))).round().astype(int)]
    times = max(1, -(-LEAST_TOUCHES // len(centres)))
    often = "" if times == 1 else f" {times} times each."
    slow = ((0.0, 0.0), (1.5, 1.0), (3.0, 1.0), (4.5, 0.0), (5.5, 0.0))
    half = ((0.0, 0.0), (0.7, 0.55), (1.0, 0.55), (1.6, 0.0), (2.2, 0.0))
    quick = ((0.0, 0.0), (0.25, 0.8), (0.4, 0.8), (0.6, 0.0), (1.5, 0.0))
    ladder = ((0.0, 0.0), (1.5, 1.0), (2.5, 0.4), (3.5, 0.9), (4.5, 0.2), (6.0, 0.7), (7.5, 0.0), (9.0, 0.0))
    hold = ((0.0, 0.0), (1.0, 0.7), (31.0, 0.7), (31.5, 0.0), (51.5, 0.0))
    return (
        Step(
            name="rest",
            say=f"Switch the hand on, touch nothing, and record for {REST_S:g} s.",
            until_s=REST_S,
        ),
        Step(
            name="each taxel",
            say=f"Press on the middle of each of the {len(centres)} taxels: up to full force in 1.5 s, hold for 1.5 s, "
            "off again in 1.5 s, 1 s of rest." + often,
            presses=tuple(Press(at_m=at, corners=slow) for at in centres * times),
        ),
        Step(
            name="between",
            say=f"Press to about half of full force at {len(corners)} places beside the middles, within 2 s.",
            presses=tuple(Press(at_m=at, corners=half) for at in corners),
        ),
        Step(
            name="again",
            say="Once more on the middle of each taxel, to about half of full force, within 2 s." + often,
            presses=tuple(Press(at_m=at, corners=half) for at in centres * times),
        ),
        Step(
            name="quick",
            say=f"At {len(spread)} taxels far apart: a quick press to 80 % within half a second.",
            presses=tuple(Press(at_m=at, corners=quick) for at in spread),
        ),
        Step(
            name="loops",
            say=f"At the same {len(spread)}: up to full, down to 40 %, up to 90 %, down to 20 %, up to 70 %, off."
            + often,
            presses=tuple(Press(at_m=at, corners=ladder) for at in spread * times),
        ),
        Step(
            name="hold",
            say="Twice, at different taxels where there are several: 70 % of full force for 30 s, then 20 s of rest.",
            presses=tuple(Press(at_m=at, corners=hold) for at in (spread[len(spread) // 2], spread[-1])),
        ),
        Step(
            name="last rest",
            say=f"Touch nothing until {WHOLE_S:g} s after switching on, {REST_S:g} s at least.",
            until_s=WHOLE_S,
        ),
    )


def follow(steps: tuple[Step, ...], *, rate_hz: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What a robot that follows the plan would do: time [s], places [m] and share of the full force, row by row."""
    time_s, times, shares, places = 0.0, [0.0], [0.0], [(0.0, 0.0)]
    for step in steps:
        for press in step.presses:
            times.append(time_s + 1e-6)
            shares.append(0.0)
            places.append(press.at_m)
            for at_s, share in press.corners[1:]:
                times.append(time_s + at_s)
                shares.append(share)
                places.append(press.at_m)
            time_s += press.lasts_s
        if step.until_s:
            time_s = max(time_s + (REST_S if step.presses == () and time_s > REST_S else 0.0), step.until_s)
            times.append(time_s)
            shares.append(0.0)
            places.append(places[-1])
    rows = np.arange(0.0, time_s, 1.0 / rate_hz)
    corner = np.searchsorted(times, rows, side="left").clip(0, len(times) - 1)
    return rows, np.array(places)[corner], np.interp(rows, times, shares)


def middles(pad: Pad) -> list[tuple[float, float]]:
    """Middles of all taxels [m], row by row."""
    u, v = (grid.ravel() for grid in taxel_grid(pad))
    return list(zip(u.tolist(), v.tolist(), strict=True))


def between(pad: Pad) -> list[tuple[float, float]]:
    """Places beside the middles of taxels [m], at most 24.

    Where taxels lie close together, the corners at which they meet. In a single row they lie far apart: the edges at
    which they meet, and places a quarter of the way there, where a buried sensor still feels what is not above it.
    """
    u = (np.arange(pad.rows - 1) - (pad.rows - 2) / 2) * pad.row_pitch_m
    v = (np.arange(pad.cols - 1) - (pad.cols - 2) / 2) * pad.col_pitch_m
    if pad.rows > 1 and pad.cols > 1:
        every = [(float(a), float(b)) for a in u for b in v]
        return [every[k] for k in np.linspace(0, len(every) - 1, min(24, len(every))).round().astype(int)]
    edges = [(float(a), 0.0) for a in u] + [(0.0, float(b)) for b in v]
    aside = 0.25 * min(pad.row_pitch_m, pad.col_pitch_m)
    quarters = [(u + aside * (-1) ** k, v) for k, (u, v) in enumerate(middles(pad))]
    across = [(u, v + aside) for u, v in middles(pad)]
    return [*edges, *quarters, *across][:24]


def wander(pad: Pad, *, seed: int, presses: int = 40) -> tuple[Step, ...]:
    """Presses unlike those of the plan: anywhere, at any speed, with holds and half-way turns, to test with."""
    draws = np.random.default_rng([seed, 21])
    half = 0.5 * np.array([(pad.rows - 0.6) * pad.row_pitch_m, (pad.cols - 0.6) * pad.col_pitch_m])
    made = []
    for _ in range(presses):
        at = draws.uniform(-half, half)
        corners, time_s = [(0.0, 0.0)], 0.0
        for share in draws.uniform(0.15, 0.95, draws.integers(1, 5)):
            time_s += float(draws.uniform(0.2, 2.5))
            corners.append((time_s, float(share)))
            if draws.random() < 0.4:
                time_s += float(draws.uniform(0.2, 4.0))
                corners.append((time_s, float(share)))
        time_s += float(draws.uniform(0.15, 2.0))
        corners.append((time_s, 0.0))
        corners.append((time_s + float(draws.uniform(0.3, 4.0)), 0.0))
        made.append(Press(at_m=(float(at[0]), float(at[1])), corners=tuple(corners)))
    return (Step(name="wander", say="", presses=tuple(made)),)
