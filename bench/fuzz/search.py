"""The search: right bytes made wrong again and again, what broke or took too long kept, the slowest bred on."""

from __future__ import annotations

import contextlib
import heapq
import random
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Self

from bench.fuzz.mutator import MAX_BYTES, mutate
from thenar.errors import ThenarError

HANG_S = 2.0
"""Of the processor: what takes longer is stopped and counts as a hang."""
TICK_S = 0.005
"""What one input may cost the physics [s of the processor]."""
BRED = 16  # slowest inputs that are bred on
SLOW_SHARE = 0.3  # of all inputs that are made from them
AGAIN = 4  # times that a slow one is tried again before it counts: the machine may have been slow
TOO_SLOW = "too slow"
HANGS = "does not come to an end"


@dataclass(frozen=True, kw_only=True, eq=False)
class Target:
    """A parser that reads from outside, with what is done with its result."""

    name: str
    read: Callable[[bytes], object]
    """May raise what is refused, and nothing else; a number it returns is what the physics spent on it [s]."""
    seeds: tuple[bytes, ...]
    """What it should read."""
    text: bool = False
    """Whether that is words and numbers rather than fields."""
    refusals: tuple[type[Exception], ...] = (ThenarError,)
    limit_s: float = 0.05
    """What one input may cost [s of the processor]."""
    max_bytes: int = MAX_BYTES


@dataclass(frozen=True, kw_only=True, eq=False)
class Finding:
    """Bytes that do harm."""

    target: str
    what: str
    data: bytes

    def __str__(self) -> str:
        """What it is, with the beginning of the bytes."""
        return f"{self.target}: {self.what} ({len(self.data)} bytes: {self.data[:48]!r})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """What a search found."""

    target: str
    inputs: int
    refused: int
    """By an exception; links count what they refuse themselves."""
    worst_ms: float
    """The slowest input, best of several tries [ms of the processor]."""
    worst_tick_ms: float
    """The one that cost the physics most [ms of the processor]."""
    findings: tuple[Finding, ...]
    slowest: bytes


class _Try(NamedTuple):
    cost_s: float
    tick_s: float
    refused: bool
    broken: str


class _Hang(BaseException):
    """Time is up."""


class _Watchdog:
    """Stops an input that is still being read a while later; its clock is set once, not for every input."""

    def __init__(self) -> None:
        self.inputs = self._seen = 0
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGVTALRM, self._look)
        signal.setitimer(signal.ITIMER_VIRTUAL, HANG_S, HANG_S)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, self._before)

    def _look(self, _signal: int, _frame: FrameType | None) -> None:
        if self.inputs % 2 and self.inputs == self._seen:  # odd: while one is being read
            raise _Hang
        self._seen = self.inputs


def _warnings_count() -> warnings.catch_warnings:
    """Numpy's complaints are findings: whoever sends bytes must not write to our stderr."""
    return warnings.catch_warnings(action="error", category=RuntimeWarning)


def search(
    target: Target, *, seconds: float = 60.0, inputs: int | None = None, seed: int = 0, until_found: bool = False
) -> Result:
    """Look for bytes that break a parser or cost it time, for so long or so many inputs; one finding of each kind."""
    luck = random.Random(f"{target.name} {seed}")
    slow: list[tuple[float, int, bytes]] = []  # a heap, the quickest of them first
    findings: dict[str, Finding] = {}
    made = refused = 0
    worst_s, worst_tick_s, slowest = 0.0, 0.0, b""
    first = list(target.seeds)  # as they are
    for data in target.seeds:  # what is compiled on first use is no input's fault
        with contextlib.suppress(Exception):
            target.read(data)
    end_s = time.monotonic() + seconds
    with _warnings_count(), _Watchdog() as dog:
        while (time.monotonic() < end_s) if inputs is None else (made < inputs):
            if first:
                data = first.pop()
            else:
                parent = luck.choice(slow)[2] if slow and luck.random() < SLOW_SHARE else luck.choice(target.seeds)
                data = mutate(luck, parent, target.seeds, text=target.text, most=target.max_bytes)
            made += 1
            cost_s, tick_s, was_refused, broken = _try(target, data, dog)
            refused += was_refused
            again = 0 if broken else AGAIN
            # As long as it is among the slowest: most were only unlucky.
            while again and (len(slow) < BRED or cost_s > slow[0][0] or tick_s > max(worst_tick_s, TICK_S)):
                more = _try(target, data, dog)
                cost_s, tick_s, again = min(cost_s, more.cost_s), min(tick_s, more.tick_s), again - 1
            if not broken and (len(slow) < BRED or cost_s > slow[0][0]):
                (heapq.heappush if len(slow) < BRED else heapq.heappushpop)(slow, (cost_s, made, data))
                if cost_s > worst_s:
                    worst_s, slowest = cost_s, data
            worst_tick_s = max(worst_tick_s, tick_s)
            if not broken and (cost_s > target.limit_s or tick_s > TICK_S):
                broken = f"{TOO_SLOW}: {1e3 * cost_s:.0f} ms, of the physics {1e3 * tick_s:.1f} ms"
            if broken and broken.partition(":")[0] not in findings:
                findings[broken.partition(":")[0]] = Finding(target=target.name, what=broken, data=data)
                if until_found:
                    break
    return Result(
        target=target.name,
        inputs=made,
        refused=refused,
        worst_ms=round(1e3 * worst_s, 2),
        worst_tick_ms=round(1e3 * worst_tick_s, 2),
        findings=tuple(findings.values()),
        slowest=slowest,
    )


def check(target: Target, data: bytes) -> str:
    """What is wrong with one input, such as one that was found before; empty when nothing is."""
    with _warnings_count(), _Watchdog() as dog:
        tried = [_try(target, data, dog) for _ in range(1 + AGAIN)]
    too_slow = min(one.cost_s for one in tried) > target.limit_s or min(one.tick_s for one in tried) > TICK_S
    return tried[0].broken or (TOO_SLOW if too_slow else "")


def shrink(target: Target, finding: Finding) -> Finding:
    """The same with all left out that is not needed for it."""
    kind, data = finding.what.partition(":")[0], finding.data
    size = len(data) // 2
    while size:
        at = 0
        while at < len(data):
            shorter = data[:at] + data[at + size :]
            if check(target, shorter).partition(":")[0] == kind:
                data = shorter
            else:
                at += size
        size //= 2
    return replace(finding, data=data)


def _try(target: Target, data: bytes, dog: _Watchdog) -> _Try:
    tick_s, refused, broken = 0.0, False, ""
    began_s = time.thread_time()
    try:
        dog.inputs += 1
        spent = target.read(data)
        tick_s = spent if isinstance(spent, float) else 0.0
    except target.refusals:
        refused = True
    except _Hang:
        broken = HANGS
    except Exception as error:
        broken = f"{type(error).__name__} in {_where(error)}: {error}"
    finally:
        dog.inputs += 1
    return _Try(time.thread_time() - began_s, tick_s, refused, broken)


def _where(error: Exception) -> str:
    """The last line of thenar's own that it came through: findings of the same line are the same."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "thenar" in Path(frame.filename).parts] or frames
    return f"{Path(own[-1].filename).name} line {own[-1].lineno}"
