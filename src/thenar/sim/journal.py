"""Journal of a world: every call that changes it from outside, passed to listeners, so that a replay can repeat it."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from thenar.signals import TouchFrame
from thenar.sim.motor_bank import MotorReading

P = ParamSpec("P")
R = TypeVar("R")


class Listener(Protocol):
    """Listener to a world's journal: every change, and every reading taken of it."""

    next_s: float
    """When it wants to read the world next, by the twin's clock [s]; infinite where somebody else does."""

    def changed(self, call: str, arguments: Mapping[str, Any]) -> None:
        """The world was changed by this call, such as ``props.move``."""
        ...

    def read_state(self, reading: MotorReading | None = None) -> None:
        """The hands are read at this instant; somebody may have taken the reading already."""
        ...

    def read_touch(self, hand: str, frame: TouchFrame, *, at_s: float, after: int) -> None:
        """A skin was read, from the contacts of ``at_s``, when ``after`` changes had been made; on any thread."""
        ...


class Journal:
    """The changes of one world."""

    def __init__(self) -> None:
        """Nobody listens."""
        self.listeners: list[Listener] = []
        self.count = 0
        """Changes so far, while anybody listened."""
        self.within = False
        """True during a change, whose own steps are not told."""

    @property
    def next_s(self) -> float:
        """When a listener wants to read the world next [s]."""
        return min((listener.next_s for listener in self.listeners), default=math.inf)

    def note(self, call: str, arguments: Mapping[str, Any]) -> None:
        """Tell a change that was made."""
        self.count += 1
        for listener in self.listeners:
            listener.changed(call, arguments)

    def read_touch(self, hand: str, frame: TouchFrame, *, at_s: float, after: int) -> None:
        """Tell a reading of a skin."""
        for listener in self.listeners:
            listener.read_touch(hand, frame, at_s=at_s, after=after)

    def read_state(self, reading: MotorReading) -> None:
        """Tell a reading of the hands."""
        for listener in self.listeners:
            listener.read_state(reading)


class Journaled(Protocol):
    """Something whose methods change a world."""

    journal_prefix: str

    @property
    def journal(self) -> Journal:
        """Of its world."""
        ...


J = TypeVar("J", bound=Journaled)
_NOTED: set[Callable[..., Any]] = set()


def noted(method: Callable[Concatenate[J, P], R]) -> Callable[Concatenate[J, P], R]:
    """A method that changes a world: the world's journal is told of it once it is done."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def call(self: J, /, *args: P.args, **kwargs: P.kwargs) -> R:
        journal = self.journal
        if journal.within or not journal.listeners:
            return method(self, *args, **kwargs)
        journal.within = True
        try:
            result = method(self, *args, **kwargs)
        finally:
            journal.within = False
        arguments = dict(list(signature.bind(self, *args, **kwargs).arguments.items())[1:])
        journal.note(self.journal_prefix + method.__name__, arguments)
        return result

    _NOTED.add(call)
    return call


def find_noted(world: object, call: str) -> Callable[..., Any] | None:
    """The method of a world that a journal calls so, such as ``props.move``; None for anything else."""
    part, _, name = call.rpartition(".")
    owner = getattr(world, part, None) if part else world
    return getattr(owner, name) if getattr(type(owner), name, None) in _NOTED else None
