"""How far a recording has come with the protocol: what is satisfied, and what to do next."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.spec import Pad
from thenar.touch.calibrate.press_recording import Recording
from thenar.touch.calibrate.presses import PRESSED, presses_on
from thenar.touch.calibrate.protocol import REST_S, Step, middles

NEAR = 0.2  # of a taxel: how close to a place a press counts as on it
GIVE = 0.8  # of a time that is asked for
FULL, HALF = 0.8, (0.3, 0.75)  # of the largest force: what counts as full, and as half
MIN_TEST = 0.2  # of the largest force, in presses to test with
QUICK_S = 0.8
TURN = 0.2  # of the largest force: less is no turn
STEADY = 0.12


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far one step has come."""

    step: str
    done: int
    of: int
    missing: str
    """What to do next for it; empty when it is satisfied."""

    @property
    def satisfied(self) -> bool:
        """True when nothing is missing."""
        return not self.missing


@dataclass(frozen=True, kw_only=True, eq=False)
class _Touch:
    """One press as it was recorded; force is a share of the largest."""

    at_m: FloatArray
    time_s: FloatArray
    force: FloatArray
    rest_s: float


def check(recording: Recording, pad: Pad, steps: tuple[Step, ...]) -> list[Progress]:
    """How far a recording has come with each step of a plan."""
    touches = _touches(recording, pad)
    return [_progress(step, recording, pad, touches) for step in steps]


def _touches(recording: Recording, pad: Pad) -> list[_Touch]:
    presses = presses_on(recording, pad)
    top = float(presses.load_n.max())
    found = []
    for number in range(presses.count if top > 0.0 else 0):
        rows = np.flatnonzero(presses.press == number)
        pressed = rows[presses.load_n[rows] > PRESSED * top]
        if not len(pressed):
            continue
        span = slice(max(pressed[0] - 1, rows[0]), pressed[-1] + 2)
        later = np.flatnonzero(presses.load_n[pressed[-1] + 1 :] > PRESSED * top)
        until = pressed[-1] + 1 + later[0] if len(later) else len(presses.time_s) - 1
        found.append(
            _Touch(
                at_m=recording.at_m[pressed[np.argmax(presses.load_n[pressed])]],
                time_s=presses.time_s[span],
                force=presses.load_n[span] / top,
                rest_s=float(presses.time_s[until] - presses.time_s[pressed[-1]]),
            )
        )
    return found


def _progress(step: Step, recording: Recording, pad: Pad, touches: list[_Touch]) -> Progress:
    if step.name in ("rest", "last rest"):
        return _rests(step, recording)
    suits = {
        "each taxel": lambda touch: touch.force.max() >= FULL and touch.force[-1] < 0.1,
        "between": lambda touch: touch.force.max() >= HALF[0],
        "again": lambda touch: HALF[0] <= touch.force.max() <= HALF[1],
        "elsewhere": lambda touch: touch.force.max() >= MIN_TEST,
        "elsewhere, late": lambda touch: touch.force.max() >= MIN_TEST,
        "quick": lambda touch: touch.force.max() >= 0.6 and _rise_s(touch) <= QUICK_S,
        "loops": lambda touch: _turns(touch.force) >= 3,
        "hold": lambda touch: _held_s(touch) >= GIVE * 30.0 and touch.rest_s >= GIVE * 20.0,
    }[step.name]
    good = [touch for touch in touches if suits(touch)]
    wanted = Counter(press.at_m for press in step.presses)
    done = {place: min(times, sum(_near(pad, touch, place) for touch in good)) for place, times in wanted.items()}
    left = [place for place, times in wanted.items() if done[place] < times]
    missing = f"next at {_where(pad, left[0])}: {step.instruction}" if left else ""
    return Progress(step=step.name, done=sum(done.values()), of=len(step.presses), missing=missing)


def _rests(step: Step, recording: Recording) -> Progress:
    """Of the rest that comes first, or of the last one."""
    time_s = recording.time_s
    pressed = time_s[recording.force_n > PRESSED * recording.force_n.max()]
    if step.name == "rest":
        passed = float((pressed[0] if len(pressed) else time_s[-1]) - time_s[0])
        short = step.instruction if passed < GIVE * REST_S else ""
        missing = "start within 30 s of switching on" if time_s[0] > 30.0 else short
    else:
        passed = float(time_s[-1])
        rest_s = passed - float(pressed[-1] if len(pressed) else time_s[0])
        enough = passed >= 0.98 * step.until_s and rest_s >= GIVE * REST_S
        missing = "" if enough else step.instruction
    whole = round(step.until_s)
    return Progress(step=step.name, done=min(round(passed), whole), of=whole, missing=missing)


def _near(pad: Pad, touch: _Touch, place: tuple[float, float]) -> bool:
    away = np.abs(touch.at_m - place) / [pad.row_pitch_m, pad.col_pitch_m]
    return bool(np.all(away <= NEAR))


def _where(pad: Pad, place: tuple[float, float]) -> str:
    """A place in words: a taxel's row and column, or between which."""
    away = [np.hypot(place[0] - u, place[1] - v) for u, v in middles(pad)]
    row, col = divmod(int(np.argmin(away)), pad.cols)
    name = f"taxel {row},{col}" if min(away) < 1e-6 else f"a place beside taxel {row},{col}"
    return f"{name} (u {1e3 * place[0]:.2f}, v {1e3 * place[1]:.2f} mm)"


def _rise_s(touch: _Touch) -> float:
    """Time from nothing to most of the peak [s]."""
    high = int(np.argmax(touch.force >= 0.9 * touch.force.max()))
    return float(touch.time_s[high] - touch.time_s[0])


def _turns(force: FloatArray) -> int:
    """How often the force turns round by more than a little before it ends."""
    turns, extreme, rising = 0, force[0], True
    for value in force:
        if (value > extreme) == rising:
            extreme = value
        elif abs(value - extreme) > TURN:
            turns, extreme, rising = turns + 1, value, not rising
    return turns


def _held_s(touch: _Touch) -> float:
    """Longest time near the force's median [s]."""
    level = float(np.median(touch.force))
    steady = np.abs(touch.force - level) < STEADY * max(level, 1e-9)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], steady.astype(int), [0]])))
    return max(
        (float(touch.time_s[b - 1] - touch.time_s[a]) for a, b in zip(edges[::2], edges[1::2], strict=True)),
        default=0.0,
    )
