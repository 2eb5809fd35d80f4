"""The page measured: how often it is updated, what it costs, and whether the twin keeps time meanwhile."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from bench.live import BOTH, in_a_process
from thenar.signals import HandCommand
from thenar.twin.page.page_link import PageLink
from thenar.twin.serve_config import PageOptions
from thenar.twin.serving import serve
from thenar.wire.wire_config import ModbusOptions

TURN_S = 3.0  # both hands close on what lies in them, and open again


@dataclass(frozen=True, kw_only=True)
class PageResult:
    """A page open in another process while both hands grasp."""

    seconds: float
    updates_hz: float
    """That reached the visitor."""
    real_time_factor: float
    late_percent: float
    """Ticks that began more than 5 ms late."""
    page_cores: float
    """Processor time of the page's process, per second."""


def measure_page(seconds: float) -> PageResult:
    """Serve both hands with touch, plots and a page, and let a visitor look at it."""
    port = random.randrange(20000, 30000)
    with serve(
        BOTH, wires=["modbus"], modbus=ModbusOptions(port=port), scene="in_hand", view=True, page=PageOptions(port=0)
    ) as twin:
        page = next(link for link in twin.links if isinstance(link, PageLink))
        with in_a_process(_visit, page.url) as heard:
            heard.recv()  # the page has come
            before, used_s, began_s = twin.health(), _cpu_s(page.process.pid), time.perf_counter()
            share = 0.8
            while time.perf_counter() - began_s < seconds:
                for hand in BOTH:
                    command = HandCommand.closing(share, speed=0.5)
                    twin.run_on_loop(lambda world, hand=hand, command=command: world.command(hand, command))
                time.sleep(min(TURN_S, seconds))
                share = 0.8 - share
            took_s = time.perf_counter() - began_s
            health, cpu_s = twin.health(), _cpu_s(page.process.pid) - used_s
        updates_hz = heard.recv()
    return PageResult(
        seconds=round(took_s, 1),
        updates_hz=round(updates_hz, 1),
        real_time_factor=round((health.time_s - before.time_s) / (health.wall_s - before.wall_s), 5),
        late_percent=round(100.0 * (health.late_ticks - before.late_ticks) / (health.ticks - before.ticks), 4),
        page_cores=round(cpu_s / took_s, 3),
    )


def _visit(url: str, stop: Event, answer: Any) -> None:
    from tests.oracles.visitor import Visitor

    visitor = Visitor(url)
    while visitor.messages < 20 and not stop.is_set():
        time.sleep(0.05)
    answer.send(None)
    messages, began_s = visitor.messages, time.perf_counter()
    stop.wait()
    answer.send((visitor.messages - messages) / (time.perf_counter() - began_s))
    visitor.close()


def _cpu_s(pid: int | None) -> float:
    """Processor time a process has used so far [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
