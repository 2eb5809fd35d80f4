"""Who goes first on this machine: a twin before other programs, where the system allows it, and its physics before all.

A nice value is a share of time: a program that wakes up may still wait for milliseconds until the one that runs has had
its turn, and Linux may count it only among the programs of one terminal (`sched_autogroup`). A thread in real time does
not wait.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NICE = -10
REAL_TIME_PRIORITY = 1  # the lowest: what the system itself runs in real time goes first


def set_nice(nice: int) -> int | None:
    """Ask the system to run this process before others, or as before; what it was, None without the right to.

    All its threads: one that holds the interpreter while others keep it waiting would hold up the physics. On Linux
    every thread has a priority of its own; elsewhere the process has one.
    """
    before = os.getpriority(os.PRIO_PROCESS, 0)
    tasks = Path("/proc/self/task")
    threads = [int(task.name) for task in tasks.iterdir()] if tasks.is_dir() else [0]
    try:
        for thread in threads:
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.setpriority(os.PRIO_PROCESS, thread, nice)
    except PermissionError:  # then the twin is late a little more often
        return None
    return before


def run_in_real_time(wanted: bool = True) -> None:
    """Let this thread run as soon as it wakes up, or as others do; nothing changes without the right to.

    What it starts does not inherit that. Whoever asks for it must be able to keep up: a thread that never waits leaves
    a core to nobody else, so it is not for a machine with one core.
    """
    if not hasattr(os, "sched_setscheduler") or len(os.sched_getaffinity(0)) < 2:  # only Linux has it
        return
    policy, priority = (os.SCHED_RR | os.SCHED_RESET_ON_FORK, REAL_TIME_PRIORITY) if wanted else (os.SCHED_OTHER, 0)
    with contextlib.suppress(OSError):  # containers refuse it in ways of their own
        os.sched_setscheduler(0, policy, os.sched_param(priority))
