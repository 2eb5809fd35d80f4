"""``python -m bench.soak``: a twin with every wire among honest and bad clients and faults, judged at the end."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tyro

from bench import crowd
from bench.crowd import DRIVEN, LEFT_ALONE, Places
from bench.live import BOTH, in_a_process
from thenar import Recording
from thenar.cli.show import print_json, print_table
from thenar.errors import BadValue
from thenar.twin.live_twin import LiveTwin
from thenar.twin.page.page_link import PageLink
from thenar.twin.serve_config import PageOptions
from thenar.twin.serving import serve
from thenar.twin.twin_health import Health
from thenar.wire.clients.domain_survey import local_domains
from thenar.wire.wire_config import ModbusOptions

WIRES = ("inspire", "dfx", "modbus", "rs485", "tienkung")
CROWD = 3
LIFE_S = (2.0, 12.0)  # of one in the crowd, before it is killed
SAMPLE_S = 1.0
LOG_EVERY_S = 60.0
FAULT_EVERY_S = 20.0
REPORTED_S = 20.0  # in which a fault must be seen
HELD_S = 2.5  # for which the network thread is made to stand
MOVED_RAD = 0.005


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the verdict."""

    what: str
    measured: str
    bar: str
    good: bool


@dataclass
class Watch:
    """What was seen of the twin's process, once a second."""

    # Arrays, which are small: what is kept here is part of what is weighed.
    at_s: array[float] = field(default_factory=lambda: array("d"))
    memory_mb: array[float] = field(default_factory=lambda: array("d"))
    descriptors: array[int] = field(default_factory=lambda: array("i"))
    threads: array[int] = field(default_factory=lambda: array("i"))
    moved_rad: float = 0.0
    """How far a joint of the hand that nobody moves has gone, without the noise of its sensors."""

    def look(self, twin: LiveTwin, rest_rad: np.ndarray) -> None:
        """Take note."""
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        self.at_s.append(time.monotonic())
        self.memory_mb.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
        self.descriptors.append(len(os.listdir("/proc/self/fd")))
        self.threads.append(threading.active_count())
        joint_rad = twin.run_on_loop(lambda world: world.state(LEFT_ALONE).joint_rad)
        self.moved_rad = max(self.moved_rad, float(np.abs(joint_rad - rest_rad).max()))

    def growth_mb_h(self, since_s: float) -> tuple[float, float]:
        """Slope of the memory from a time on, and its standard error [MB/h]."""
        at_s, memory_mb = np.array(self.at_s), np.array(self.memory_mb)
        late = at_s >= since_s
        hours, memory_mb = (at_s[late] - at_s[late][0]) / 3600.0, memory_mb[late]
        (slope, offset), sums = np.polyfit(hours, memory_mb, 1), np.sum((hours - hours.mean()) ** 2)
        spread = np.sqrt(np.mean((memory_mb - slope * hours - offset) ** 2) / max(sums, 1e-12))
        return float(slope), float(spread)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that is broken on purpose, and how one sees it."""

    name: str
    plant: Callable[[LiveTwin], None]
    seen: Callable[[LiveTwin, Health], object]
    mend: Callable[[LiveTwin], None] = lambda _: None


def _faults(page: PageLink, starts: list[int], held_s: list[float]) -> list[Fault]:
    def kill_page(_: LiveTwin) -> None:
        starts[:] = [page.process.starts]
        if page.process.pid is not None:
            os.kill(page.process.pid, 9)

    def hold_lock(twin: LiveTwin) -> None:
        lock = twin.links[0]._participant.lock  # pyright: ignore[reportAttributeAccessIssue]

        def hold() -> None:
            with lock:
                held_s.append(time.monotonic())
                time.sleep(HELD_S)

        threading.Thread(target=hold, daemon=True).start()

    def index_error(twin: LiveTwin) -> bool:
        return bool(twin.run_on_loop(lambda world: world.state(DRIVEN).error).any())

    return [
        Fault(
            name="a motor that no longer answers",
            plant=lambda twin: twin.run_on_loop(lambda world: world.faults.inject(DRIVEN, "index", "communication")),
            seen=lambda twin, _: index_error(twin),
            mend=lambda twin: (
                twin.run_on_loop(lambda world: (world.faults.repair(DRIVEN, "index"), world.clear_errors(DRIVEN)))
                and None
            ),
        ),
        Fault(name="a page that is killed", plant=kill_page, seen=lambda _twin, _: page.process.starts > starts[0]),
        Fault(
            name="a cable that is pulled",
            plant=lambda twin: twin.run_on_loop(lambda world: world.faults.inject("", "dfx", "disconnected")),
            seen=lambda _, health: "dfx" in health.disconnected,
            mend=lambda twin: twin.run_on_loop(lambda world: world.faults.repair("", "dfx")),
        ),
        Fault(name="a network thread that stands", plant=hold_lock, seen=lambda _, health: health.standing),
        Fault(
            name="a dead taxel",
            plant=lambda twin: twin.run_on_loop(lambda world: world.faults.inject(DRIVEN, "palm 1 1", "dead")),
            seen=lambda twin, _: twin.world.faults.broken_taxels(DRIVEN).any(),
            mend=lambda twin: twin.run_on_loop(lambda world: world.faults.repair(DRIVEN, "palm 1 1")),
        ),
    ]


class Planted(NamedTuple):
    """When something was broken, on the clock of `time.monotonic`."""

    name: str
    since_s: float
    until_s: float


def _meanwhile(at_s: float, planted: list[Planted]) -> str:
    """What was broken at a time."""
    found = (one.name for one in planted if one.since_s - 1.0 < at_s < one.until_s + 1.0)
    return "beside " + next(found, "no fault")


def _silent_s(since_s: float, until_s: float, held_s: list[float]) -> float:
    """How long nothing was heard, less the time in which the network thread was made to stand [s]."""
    return until_s - since_s - sum(max(0.0, min(until_s, at_s + HELD_S) - max(since_s, at_s)) for at_s in held_s)


@contextlib.contextmanager
def _teleoperation(where: Places) -> Iterator[subprocess.Popen[bytes]]:
    """The program that takes a glove's frames and moves the driven hand."""
    words = ["teleop", "live", "--hand", DRIVEN, "--wire", "inspire", "--port", str(where.glove_port), "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "thenar.cli", *words, "--domain", str(where.domain)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20.0)


@dataclass(frozen=True)
class Soak:
    """Run both Inspire hands with every wire among clients that come, go, die and send rubbish, with faults planted.

    One hand is moved by honest clients; nobody asks the other one to move. For example:

    python -m bench.soak --minutes 120
    """

    minutes: float = 10.0
    """How long."""
    log: Path | None = None
    """File that gets the verdict so far once a minute, a line of JSON each: a run that is cut off tells what it saw."""
    flood: int = 0
    """Source ports of a flood of 20,000 datagrams a second, in place of everything else; 0: none."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> int:
        """Soak and judge; 1 where a bar is missed."""
        if not 0.2 <= self.minutes < 1e5:
            raise BadValue("--minutes", self.minutes, "minutes from 0.2")
        rows = soak(self.minutes, self.log) if not self.flood else flood(self.minutes, self.flood)
        if self.json:
            print_json([vars(row) for row in rows])
        else:
            load = os.getloadavg()[0] / (os.cpu_count() or 1)
            title = f"{self.minutes:g} minutes; the machine's load is {load:.1f} a core"
            print_table(title, [{**vars(row), "good": "yes" if row.good else "NO"} for row in rows])
        return 0 if all(row.good for row in rows) else 1


@contextlib.contextmanager
def running_twin(folder: Path, record: Path | str = "") -> Iterator[tuple[LiveTwin, PageLink, Places]]:
    """A twin with every wire and a page, recorded where a file is named, and where it is reached."""
    luck = random.Random(os.getpid())
    domain, port = luck.choice(sorted(set(range(20, 100)) - local_domains())), luck.randrange(20_000, 30_000)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        glove_port = free.getsockname()[1]
    with serve(
        BOTH,
        wires=WIRES,
        scene="empty",
        domain=domain,
        modbus=ModbusOptions(port=port, flash=folder),
        view=True,
        page=PageOptions(port=0),
        record=record,
    ) as twin:
        page = next(link for link in twin.links if isinstance(link, PageLink))
        serial = next(link for link in twin.links if link.wire == "rs485").health().where.partition(" ")[0]
        yield twin, page, Places(domain=domain, modbus_port=port, serial=serial, page=page.url, glove_port=glove_port)


def soak(minutes: float, log: Path | None = None) -> list[Row]:
    """Run it, and what there is to say."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "soak.mcap"
        with running_twin(Path(folder), file) as running:
            rows = _soak(minutes, log, *running)
            lasted_s = running[0].world.time_s
        return [*rows, _recorded(file, lasted_s)]


def _recorded(file: Path, lasted_s: float) -> Row:
    """Whether what was recorded meanwhile is whole: a reading of the hand every hundredth of a second."""
    stamp_s = Recording(file).motors(DRIVEN).stamp_s
    gap_s, length_s = float(np.diff(stamp_s).max()), float(np.ptp(stamp_s))
    what = f"{length_s:.1f} of {lasted_s:.1f} s, longest gap {gap_s:.3f} s, {file.stat().st_size / 1e6:.0f} MB"
    return _row("recording", what, "all of it, no gap above 0.1 s", length_s > lasted_s - 0.5 and gap_s < 0.1)


def _soak(minutes: float, log: Path | None, twin: LiveTwin, page: PageLink, where: Places) -> list[Row]:
    watch, told, starts, planted = Watch(), dict[str, int](), [0], list[Planted]()
    held_s: list[float] = []
    time.sleep(2.0)
    rest_rad = twin.run_on_loop(lambda world: world.state(LEFT_ALONE).joint_rad).copy()
    asked = twin.health().hands[LEFT_ALONE].requests
    planned = _faults(page, starts, held_s)
    with contextlib.ExitStack() as honest:
        teleoperation = honest.enter_context(_teleoperation(where))
        heard = {
            work.__name__: honest.enter_context(in_a_process(work, where))
            for work in (crowd.drive, crowd.call, crowd.poll, crowd.wave)
        }
        before, began_s = twin.health(), time.monotonic()
        stop, killed = threading.Event(), [0]
        keeper = threading.Thread(target=_keep_a_crowd, args=(where, stop, killed))
        keeper.start()
        planter = threading.Thread(target=_plant, args=(twin, planned, stop, told, planted))
        planter.start()

        def verdict() -> list[Row]:
            now = twin.health()
            moved = now.hands[LEFT_ALONE].requests - asked
            return _verdict(watch, before, now, said, told, planned, planted, held_s, moved, killed[0])

        said: dict[str, dict[str, Any]] = {name: {} for name in heard}
        logged_s = began_s
        while time.monotonic() - began_s < 60.0 * minutes:
            watch.look(twin, rest_rad)
            time.sleep(SAMPLE_S)
            for name, pipe in heard.items():
                _hear(pipe, said[name])
            said["teleoperation"] = {"code": teleoperation.poll()}
            if log is not None and all(said.values()) and time.monotonic() - logged_s > LOG_EVERY_S:
                logged_s = time.monotonic()
                _write_line(log, logged_s - began_s, verdict())
        stop.set()
        keeper.join()
        planter.join()
    for name, pipe in heard.items():
        _hear(pipe, said[name])
    return verdict()


def _hear(pipe: Any, said: dict[str, Any]) -> None:
    """Take in what an honest client has counted since."""
    with contextlib.suppress(EOFError):  # it has ended
        while pipe.poll():
            said.update(pipe.recv())


def _write_line(log: Path, passed_s: float, rows: list[Row]) -> None:
    found = {row.what: row.measured if row.good else f"{row.measured} MISSED" for row in rows}
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"passed_s": round(passed_s), "load": os.getloadavg()[0], **found}) + "\n")


def _keep_a_crowd(where: Places, stop: threading.Event, killed: list[int]) -> None:
    """Let strangers come and be killed until told to stop."""
    spawn, luck = multiprocessing.get_context("spawn"), random.Random(1)
    crowd_now: list[tuple[Any, float]] = []
    while not stop.is_set():
        while len(crowd_now) < CROWD:
            process = spawn.Process(target=crowd.misbehave, args=(where, luck.randrange(1 << 30)), daemon=True)
            process.start()
            crowd_now.append((process, time.monotonic() + 3.0 + luck.uniform(*LIFE_S)))
        for process, until_s in crowd_now:
            if time.monotonic() > until_s:
                process.kill()
                process.join()
                process.close()
                killed[0] += 1
        crowd_now = [(process, until_s) for process, until_s in crowd_now if time.monotonic() <= until_s]
        stop.wait(0.5)
    for process, _ in crowd_now:
        process.kill()
        process.join()


def _plant(
    twin: LiveTwin, faults: list[Fault], stop: threading.Event, told: dict[str, int], planted: list[Planted]
) -> None:
    """Break one thing after another, and see whether it is reported."""
    while not stop.is_set():
        for fault in faults:
            if stop.wait(FAULT_EVERY_S / 2):
                return
            began_s = time.monotonic()
            fault.plant(twin)
            until_s = time.monotonic() + REPORTED_S
            seen = False
            while not seen and time.monotonic() < until_s:
                seen = bool(fault.seen(twin, twin.health()))
                time.sleep(0.1)
            told[fault.name] = min(told.get(fault.name, 1), int(seen))
            fault.mend(twin)
            planted.append(Planted(fault.name, began_s, time.monotonic()))


def _verdict(
    watch: Watch,
    before: Health,
    after: Health,
    said: dict[str, dict[str, Any]],
    told: dict[str, int],
    planned: list[Fault],
    planted: list[Planted],
    held_s: list[float],
    asked: int,
    killed: int,
) -> list[Row]:
    ticks, late = after.ticks - before.ticks, after.late_ticks - before.late_ticks
    factor = (after.real_time_factor * after.wall_s - before.real_time_factor * before.wall_s) / (
        after.wall_s - before.wall_s
    )
    warm_s = watch.at_s[0] + min(300.0, (watch.at_s[-1] - watch.at_s[0]) / 3.0)
    slope, spread = watch.growth_mb_h(warm_s)
    warm = next(n for n, at_s in enumerate(watch.at_s) if at_s >= warm_s)
    # Clients come, stay for seconds and go, and the crowd's pipes with them: the fewest of some minutes are what stays.
    looks = min(300, (len(watch.at_s) - warm) // 2)
    more_files = min(watch.descriptors[-looks:]) - min(watch.descriptors[warm : warm + looks])
    more_threads = min(watch.threads[-looks:]) - min(watch.threads[warm : warm + looks])
    calls, drove = said["call"], said["drive"]
    gap_s = max((_silent_s(since_s, until_s, held_s) for since_s, until_s in drove["gaps_s"]), default=0.0)
    meanwhile = Counter(_meanwhile(at_s, planted) for at_s in calls["unanswered_s"])
    unanswered = "".join(f"; {count} not, {what}" for what, count in meanwhile.items())
    errors = sum(link.refused.get(why, 0) for link in after.links for why in ("internal error", "a callback failed"))
    unseen = [fault.name for fault in planned if not told.get(fault.name, 1)]
    return [
        _row("real-time factor", f"{factor:.5f}", "1.000 +- 0.001 on a quiet machine", abs(factor - 1.0) <= 1e-3),
        _row("late ticks", f"{100.0 * late / ticks:.3f} %", "under 1 % on a quiet machine", late < 0.01 * ticks),
        _row("memory", f"{slope:+.1f} +- {spread:.1f} MB/h", "at most 1 MB/h beyond its error", slope < 1 + 3 * spread),
        _row("descriptors", f"{more_files:+d}", "none more", more_files <= 0),
        _row("threads", f"{more_threads:+d}", "none more", more_threads <= 0),
        _row(
            "calls answered once",
            f"{calls['answered_once']} of {calls['calls']}, more than once {calls['answered_more']}{unanswered}",
            "all, none twice",
            calls["answered_once"] == calls["calls"] and not calls["answered_more"],
        ),
        _row(
            "states",
            f"{drove['states']}, longest gap {gap_s:.2f} s, {len(held_s)} planted ones of {HELD_S:g} s left out",
            "no gap above 3 s",
            gap_s < 3.0 and drove["states"] > 0,
        ),
        _row("Modbus", f"{said['poll']['polls']}, failed {said['poll']['failed']}", "none", not said["poll"]["failed"]),
        _row(
            "teleoperation",
            "runs" if (code := said["teleoperation"]["code"]) is None else f"ended with code {code}",
            "runs",
            code is None,
        ),
        _row(
            "the hand that nobody asked",
            f"{asked} requests, moved {np.degrees(watch.moved_rad):.2f} degrees",
            f"0, below {np.degrees(MOVED_RAD):.1f}",
            not asked and watch.moved_rad < MOVED_RAD,
        ),
        _row("faults reported", f"{sum(told.values())} kinds of {len(told)}", ", ".join(unseen) or "all", not unseen),
        _row(
            "internal errors, diverged, failed",
            f"{errors}, {after.diverged}, {after.failed}",
            "none",
            not (errors or after.diverged or after.failed),
        ),
        _row("of the crowd", f"{killed} killed, {said['wave']['frames']} glove frames", "some", killed > 0),
    ]


def flood(minutes: float, ports: int) -> list[Row]:
    """A flood of 20,000 datagrams a second from so many source ports."""
    with tempfile.TemporaryDirectory() as folder, running_twin(Path(folder)) as (twin, _page, where):
        time.sleep(3.0)
        watch = Watch()
        rest_rad = twin.run_on_loop(lambda world: world.state(LEFT_ALONE).joint_rad).copy()
        watch.look(twin, rest_rad)
        with in_a_process(crowd.flood, where, ports, 20_000.0) as heard:
            time.sleep(4.0)  # until it has begun
            before = twin.health()
            time.sleep(60.0 * minutes)
            after = twin.health()
            watch.look(twin, rest_rad)
        sent = heard.recv()
    ticks, late = after.ticks - before.ticks, after.late_ticks - before.late_ticks
    factor = (after.real_time_factor * after.wall_s - before.real_time_factor * before.wall_s) / (
        after.wall_s - before.wall_s
    )
    refused = sum(sum(link.refused.values()) for link in after.links if link.wire == "inspire")
    grown_mb = watch.memory_mb[-1] - watch.memory_mb[0]
    rate_hz = sent["sent"] / sent["seconds"]
    return [
        _row("sent", f"{rate_hz:,.0f}/s from {ports} ports", "20,000/s", rate_hz > 19_000),
        _row("real-time factor", f"{factor:.5f}", "1.000 +- 0.001", abs(factor - 1.0) <= 1e-3),
        _row("late ticks", f"{100.0 * late / ticks:.3f} %", "under 1 %", late < 0.01 * ticks),
        _row("memory", f"{grown_mb:+.1f} MB", "under 20 MB", grown_mb < 20.0),
        _row("told in health", f"{refused:,} refused", "above 0", refused > 0),
        _row("moved", f"{np.degrees(watch.moved_rad):.2f} degrees", "0", watch.moved_rad < MOVED_RAD),
    ]


def _row(what: str, measured: str, bar: str, good: bool) -> Row:
    return Row(what=what, measured=measured, bar=bar, good=bool(good))


if __name__ == "__main__":
    sys.exit(tyro.cli(Soak, prog="python -m bench.soak").run())
