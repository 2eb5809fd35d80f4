"""What verbs that run until Ctrl-C share: the wish to stop, and a picture that is redrawn meanwhile."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Protocol

from rich.console import Group
from rich.live import Live

from thenar.cli.show import console
from thenar.errors import BadValue

REDRAWN_S, PRINTED_S = 0.5, 5.0  # on a terminal, and into a file
REPEATED_S = 1.0


class Running(Protocol):
    """What runs until it is stopped or fails."""

    @property
    def running(self) -> bool:
        """True while it does."""
        ...


def stop_on_signals() -> threading.Event:
    """Is set by Ctrl-C, or when the system wants the program to end; what was opened can then be closed in peace.

    A second time ends the program at once, for somebody who does not want to wait until it has loaded.
    """
    stop = threading.Event()

    def ask(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it
        signal.signal(signal.SIGHUP, lambda *_: stop.set())  # a terminal that is closed may say so twice
    return stop


def leave_on_signals() -> None:
    """Let a program that the system wants to end do so as with Ctrl-C: what it opened is closed, with a farewell."""
    asked_s = float("-inf")

    def leave(number: int, _: object) -> None:
        nonlocal asked_s
        since_s, asked_s = time.monotonic() - asked_s, time.monotonic()
        if since_s > REPEATED_S:  # a terminal that is closed says so twice; later, the first was swallowed
            sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, leave)


def end_of(duration_s: float) -> float:
    """When a run that begins now is over, by ``time.perf_counter``; one without a duration never is."""
    return time.perf_counter() + duration_s if duration_s else float("inf")


def check_duration(duration_s: float, option: str = "--duration") -> None:
    """Refuse what is no duration."""
    if not duration_s >= 0.0:
        raise BadValue(option, duration_s, "seconds, or 0 to run until Ctrl-C")


def show_until_stopped(
    twin: Running, stop: threading.Event, picture: Callable[[], Group], *, duration_s: float, quiet: bool
) -> None:
    """Wait for the end of what runs, a twin or a recording, and show how it is doing meanwhile."""
    until_s = end_of(duration_s)
    beat_s = REDRAWN_S if quiet or console.is_terminal else PRINTED_S
    with nullcontext() if quiet else Live(picture(), console=console, auto_refresh=False) as live:
        while twin.running and not stop.is_set() and time.perf_counter() < until_s:
            stop.wait(min(beat_s, max(0.0, until_s - time.perf_counter())))
            if live is not None:
                live.update(picture(), refresh=True)
