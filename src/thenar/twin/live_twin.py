"""The running twin: physics on a thread of its own, in step with the clock, fed by links and publishing to them."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import queue
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from thenar.errors import BadValue, SimulationDiverged, ThenarError, UnknownName, clean_text, count_reason
from thenar.signals import (
    HandCommand,
    HandSettings,
    HandState,
    Request,
    SceneRequest,
    SceneState,
    SolidContacts,
    TouchFrame,
)
from thenar.thread_priority import NICE, run_in_real_time, set_nice
from thenar.twin.faults.message_faults import MessageFaults
from thenar.twin.recording.recorder import FileRecorder
from thenar.twin.twin_health import HandHealth, Health, RecordingHealth
from thenar.twin.watchdog import Watchdog
from thenar.twin.world import World, warm_up_touch
from thenar.wire.links.link_health import LinkHealth

logger = logging.getLogger(__name__)

LATE_S = 0.005  # a tick that starts later than this counts as late
GIVE_UP_S = 0.25  # a loop this far behind lets the time go instead of racing after it
SWITCH_S = 2e-4  # how long another thread may keep the interpreter from the physics
STATUS_EVERY_S = 0.5
MAX_SENDERS = 64  # of a hand, kept for the last second's
REQUESTS_PER_TICK = 16  # of each link; what comes faster waits
SCENE_REQUESTS_PER_TICK = 2  # of each link: putting everything back costs more than a step
MAX_WAITING = 256  # requests of each link; a flood beyond it loses the oldest
LATENCIES = 4096  # of the newest commands, for the statistics

T = TypeVar("T")


class Link(Protocol):
    """Link of a twin to a protocol: requests in, readings out."""

    @property
    def wire(self) -> str:
        """Name of the protocol."""
        ...

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        ...

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Send the state of each hand."""
        ...

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Send the skin of each hand that has one; on a thread of its own."""
        ...

    def health(self) -> LinkHealth:
        """How it is doing; called from any thread."""
        ...

    def close(self) -> None:
        """Leave."""
        ...


@runtime_checkable
class SceneLink(Link, Protocol):
    """A link that also moves what is around the hands."""

    def receive_scene(self) -> list[SceneRequest]:
        """Requests about the surroundings since the last call."""
        ...

    def publish_scene(self, stamp_s: float, read: Callable[[], SceneState]) -> None:
        """Send where everything is; ``read`` tells."""
        ...


@dataclass(kw_only=True)
class _Commanded:
    """Commands that one hand has received: how many, from whom, when last."""

    requests: int = 0
    sender: str = ""
    at_s: float = -np.inf
    senders: dict[str, float] = field(default_factory=dict)


class LiveTwin:
    """A world that runs in real time. Start it, or use it in a ``with``."""

    def __init__(
        self,
        world: World,
        links: Sequence[Link] = (),
        *,
        state_hz: float = 100.0,
        touch_hz: float = 50.0,
        publish_status: Callable[[Health], None] | None = None,
        pre_step: Callable[[World], None] | None = None,
        active_link: str = "",
        record: Path | str = "",
    ):
        """Prepare; nothing runs yet.

        Args:
            world: What runs. While it does, reach it through `run_on_loop` only.
            links: Where requests come from and readings go to.
            state_hz: How often states are published.
            touch_hz: How often the skin is read and published; 0 for never.
            publish_status: Gets the twin's health twice a second, on a thread of its own.
            pre_step: Is called before every step, on the loop's thread: the computer of a robot that has the hands.
            active_link: The one wire whose requests act, see `set_active_link`; empty: all of them.
            record: File into which everything is recorded from the start on; empty: none.
        """
        top_hz = 1.0 / world.timestep_s
        for name, rate in (("state_hz", state_hz), ("touch_hz", touch_hz)):
            if not 0.0 <= rate <= top_hz:
                raise BadValue(name, rate, f"hertz from 0 to {top_hz:g}, one a step of the physics")
        self.world, self.links = world, tuple(links)
        self.monitored: tuple[Any, ...] = self.links
        """Whose health is part of its own."""
        self.state_hz, self.touch_hz = state_hz, touch_hz
        self._active_link = ""
        self._ignored: Counter[str] = Counter()
        self._messages = MessageFaults(self.links)
        self._pace, self._residual_steps = 1.0, 0.0
        self.set_active_link(active_link)
        self._skins = tuple(name for name in world.hand_names if world.hand(name).pads) if touch_hz else ()
        self._touch_queue: queue.Queue[tuple[World, SolidContacts, float, int]] = queue.Queue(maxsize=2)
        world.finish_readings = self._finish_readings
        self._calls: deque[tuple[Callable[[World], Any], Future[Any]]] = deque()
        self._waiting: list[deque[Request]] = [deque() for _ in self.links]
        """Requests that no tick had time for yet, of each link."""
        self._watchdog = Watchdog("physics", "touch")
        self._commanded = {name: _Commanded() for name in world.hand_names}
        self._latencies_s: deque[float] = deque(maxlen=LATENCIES)
        self._refused: Counter[str] = Counter()
        self._diverged: deque[str] = deque(maxlen=16)
        self._resets = 0
        self._scene_links = [link for link in self.links if isinstance(link, SceneLink)]
        self._waiting_scene: list[deque[SceneRequest]] = [deque() for _ in self._scene_links]
        self._ticks = self._late_ticks = self._states = self._touches = 0
        self._worst_late_s = self._skipped_s = self._ran_s = 0.0
        self._began_s = self._measured_s = 0.0
        self.due_s = 0.0
        """The moment of the clock on the wall that the world is at, by the plan."""
        self.give_up_s = GIVE_UP_S
        self._stopping = threading.Event()
        self._nice: int | None = None
        self._failure: BaseException | None = None
        self._failed_parts: dict[str, str] = {}
        """What went wrong last in parts that go on, by part."""
        self._pre_step, self._status_sink = pre_step, publish_status
        self._record_path = record
        self._recorder: FileRecorder | None = None
        self._thread = threading.Thread(target=self._run, name="physics", daemon=True)
        self._helpers = [
            threading.Thread(target=self._touch_loop, name="touch", daemon=True),
            threading.Thread(target=self._status_loop, name="health", daemon=True),
        ]

    def __enter__(self) -> Self:
        """Start."""
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def start(self) -> None:
        """Let it run."""
        warm_up(self.world)
        if self._record_path:
            self.start_recording(self._record_path)
        self._take_requests(switching_on=True)
        self._latencies_s.clear()
        if self._pre_step is not None:
            self._pre_step(self.world)
        self._publish_state()
        if self._skins:
            self._publish_touch(self._sample_skins(*self._touched_now()), self.world.time_s)
        self._nice = set_nice(min(NICE, os.getpriority(os.PRIO_PROCESS, 0)))
        # What has been loaded so far stays: the collector, which stops every thread, need not look at it again.
        gc.collect()
        gc.freeze()
        self._began_s = self._measured_s = time.perf_counter()
        for thread in (self._thread, *self._helpers):
            thread.start()

    def stop(self) -> None:
        """Stop the loop, then close the links. What went wrong in the loop is raised here."""
        self._stopping.set()
        for thread in (self._thread, *self._helpers):
            if thread.ident is not None:
                thread.join()
        gc.unfreeze()
        if self._nice is not None:
            set_nice(self._nice)
        failures = [self._failure] if self._failure is not None else []
        if self._recorder is not None:
            self.stop_recording()
        for link in self.links:
            try:
                link.close()
            except Exception as error:  # the others are closed all the same
                error.add_note(f"while the {link.wire} link was closed")
                failures.append(error)
        self._failure = None
        for other in failures[1:]:
            logger.error("and besides: %r %s", other, ", ".join(other.__notes__))
        if failures:
            raise failures[0]

    @property
    def running(self) -> bool:
        """True until it is stopped or fails."""
        return self._thread.is_alive()

    def run_on_loop(self, call: Callable[[World], T]) -> T:
        """Call a function with the world between two steps, and return its result."""
        if threading.current_thread() is self._thread or not self.running:
            return call(self.world)
        result: Future[T] = Future()
        self._calls.append((call, result))
        while True:
            try:
                return result.result(timeout=0.5)
            except TimeoutError:
                if result.done():  # just now, or it was a call that took too long for itself
                    return result.result()
                if not self.running:
                    raise ThenarError("the twin has stopped") from None

    def set_active_link(self, wire: str) -> None:
        """Let one wire command: requests of the others are counted and ignored. Empty: all of them command."""
        names = sorted({link.wire for link in self.links})
        if wire and wire not in names:
            raise UnknownName("wire", wire, names)
        self._active_link = wire

    def set_pace(self, pace: float) -> None:
        """Let simulated time pass slower than ours: 1 is real time, 0 is a pause."""
        if not 0.0 <= pace <= 1.0:
            raise BadValue("pace", pace, "a number from 0 (paused) to 1 (real time)")
        self._pace = pace

    def step(self) -> None:
        """One step of the physics, for a twin that is paused."""
        self.run_on_loop(lambda _: self._step_world())

    def reset(self) -> None:
        """Back to time 0, see `World.reset`."""
        self.run_on_loop(lambda world: world.reset())

    def swap_world(self, world: World) -> None:
        """Go on with another world that has the same hands; clients notice nothing but that things have moved."""
        if world.hand_names != self.world.hand_names or world.timestep_s != self.world.timestep_s:
            raise BadValue("world", world.hand_names, f"a world with {', '.join(self.world.hand_names)} and its step")
        for hand in self._skins:
            world.skin(hand)  # made here, not on the loop's time

        def swap(before: World) -> None:
            self._finish_readings()
            world.finish_readings = self._finish_readings
            world.journal.listeners, before.journal.listeners = before.journal.listeners, []
            world.journal.count = before.journal.count
            self.world = world
            world.journal.note("swap_world", {"world": world})

        self.run_on_loop(swap)

    def start_recording(self, path: Path | str) -> None:
        """Record everything from now on into an MCAP file, see `thenar.record`; a full disk does not stop the twin."""
        if self._recorder is not None:
            raise BadValue("recording", str(path), f"one at a time: {self._recorder.health().path} is being written")
        recorder = FileRecorder(self.world, path, touch=bool(self._skins))
        self.run_on_loop(lambda _: recorder.begin())
        self._recorder = recorder

    def stop_recording(self) -> RecordingHealth:
        """End the recording; how it went."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            raise ThenarError("nothing is being recorded: start_recording begins it")
        self.run_on_loop(lambda _: recorder.detach())
        recorder.finish()
        health = recorder.health()
        if health.failed:
            self._failed_parts["recording"] = f"{health.path} {health.failed}; {health.lost} messages were lost"
        return health

    def episode(self, task: str, *, success: bool | None = None) -> None:
        """Let a new episode of the recording begin, see `thenar.twin.recording.recorder.Recorder.episode`."""
        recorder = self._recorder
        if recorder is None:
            raise ThenarError("nothing is being recorded: start_recording begins it")
        self.run_on_loop(lambda _: recorder.episode(task, success=success))

    @property
    def page_url(self) -> str:
        """Address of its page for a browser, with the token; empty where there is no page."""
        return next((url for link in self.links if (url := getattr(link, "url", ""))), "")

    def health(self) -> Health:
        """How it is doing, from any thread."""
        recorder = self._recorder
        recording = recorder.health() if recorder is not None else None
        now_s = time.perf_counter()
        links = tuple(link.health() for link in self.monitored)
        wall_s = max(self._measured_s - self._began_s, 1e-9)
        latencies_s = list(self._latencies_s.copy()) or [0.0]  # a copy: the loop goes on adding to it
        median_s, p99_s = np.percentile(latencies_s, (50, 99))
        return Health(
            time_s=self.world.time_s,
            wall_s=wall_s,
            real_time_factor=self._ran_s / wall_s,
            pace=self._pace,
            ticks=self._ticks,
            late_ticks=self._late_ticks,
            worst_late_s=self._worst_late_s,
            skipped_s=self._skipped_s,
            state_hz=(self.state_hz, self._states / wall_s),
            touch_hz=(self.touch_hz if self._skins else 0.0, self._touches / wall_s),
            command_latency_s=(float(median_s), float(p99_s)),
            hands={
                name: HandHealth(
                    requests=hand.requests,
                    sender=hand.sender,
                    age_s=now_s - hand.at_s,
                    recent_senders=tuple(who for who, at_s in list(hand.senders.items()) if now_s - at_s < 1.0),
                )
                for name, hand in self._commanded.items()
            },
            links=links,
            active_link=self._active_link,
            ignored=dict(self._ignored),
            disconnected=self._messages.disconnected,
            refused=dict(self._refused),
            resets=self._resets,
            diverged=tuple(self._diverged),
            warnings=tuple(why for link in links for why in link.warnings),
            failed=(
                # Once it stops, threads end in good order.
                *(f"{link.wire}: {link.failed}" for link in links if link.failed and not self._stopping.is_set()),
                *(f"{part}: {why}" for part, why in self._failed_parts.items()),
                *([f"recording: {recording.path} {recording.failed}"] if recording and recording.failed else []),
            ),
            recording=recording,
            standing=self._watchdog.standing(links) if self.running else (),
        )

    def _status_loop(self) -> None:
        while not self._stopping.wait(STATUS_EVERY_S):
            try:
                health = self.health()
                self._watchdog.tell(health)
                if self._status_sink is not None:
                    self._status_sink(health)
            except Exception as error:  # told once, and tried again: the twin does not depend on it
                self._failed_parts["health"] = clean_text(repr(error))

    def _run(self) -> None:
        switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        try:
            self._loop()
        except BaseException as error:
            self._failure = self._failure or error
        finally:
            sys.setswitchinterval(switch_s)
            while self._calls:
                self._calls.popleft()[1].set_exception(ThenarError("the twin has stopped"))

    def _loop(self) -> None:
        tick_s = self.world.timestep_s
        self.due_s = next_state_s = next_touch_s = self._began_s
        keeps_up = False
        while not self._stopping.is_set():
            self._watchdog.turn("physics")
            wait_s = self.due_s - time.perf_counter()
            if wait_s > 0.0:
                if not keeps_up:
                    run_in_real_time(keeps_up := True)
                time.sleep(wait_s)
            late_s = time.perf_counter() - self.due_s
            if late_s > LATE_S:
                self._late_ticks += 1
                self._worst_late_s = max(self._worst_late_s, late_s)
            if late_s > self.give_up_s:
                run_in_real_time(keeps_up := False)  # others must not wait for who cannot keep up
                self._skipped_s += late_s
                self.due_s, next_state_s, next_touch_s = (
                    at_s + late_s for at_s in (self.due_s, next_state_s, next_touch_s)
                )
            self._take_requests()
            self._run_calls()
            self._residual_steps += self._pace
            if self._residual_steps > 1.0 - 1e-9:
                self._residual_steps -= 1.0
                self._step_world()
            self.due_s += tick_s
            self._ticks += 1
            self._ran_s += tick_s
            # A reading belongs to a moment of the plan, not to when the machine got round to it.
            if self.state_hz and self.due_s >= next_state_s + 1.0 / self.state_hz:
                next_state_s += 1.0 / self.state_hz
                self._publish_state()
                self._states += 1
            if self._skins and self.due_s >= next_touch_s + 1.0 / self.touch_hz:
                next_touch_s += 1.0 / self.touch_hz
                with contextlib.suppress(queue.Full):  # a skin that cannot keep up misses a reading
                    self._touch_queue.put_nowait(self._touched_now())
            self._measured_s = max(time.perf_counter(), self.due_s)

    def _step_world(self) -> None:
        """One step of the physics alone: skins are sampled by the touch thread."""
        if self._pre_step is not None:
            self._pre_step(self.world)
        try:
            self.world.physics.advance(self.world.timestep_s)
        except SimulationDiverged as error:
            self.world.reset_skins()
            self.world.journal.note("diverged", {})
            self._diverged.append(str(error))

    def _take_requests(self, *, switching_on: bool = False) -> None:
        """Do what was asked, as much of it as a tick has time for; the rest waits for the next.

        What hands do by themselves when they are switched on needs no command.
        """
        for link, waiting in zip(self.links, self._waiting, strict=True):
            for request in self._next(link.wire, waiting, link.receive(), REQUESTS_PER_TICK):
                if self._active_link not in ("", link.wire) and not switching_on:
                    self._ignored[link.wire] += 1
                    continue
                try:
                    self._apply(request)
                except ThenarError as error:
                    count_reason(self._refused, str(error))
        # No commands to hands: these act whichever link has the command.
        for link, waiting in zip(self._scene_links, self._waiting_scene, strict=True):
            for request in self._next(link.wire, waiting, link.receive_scene(), SCENE_REQUESTS_PER_TICK):
                try:
                    self._apply_scene(request)
                except ThenarError as error:
                    count_reason(self._refused, str(error))

    def _next(self, wire: str, waiting: deque[T], arrived: Iterable[T], most: int) -> Iterator[T]:
        """What a tick has time for of what waits on a wire, oldest first; of a flood the oldest are lost."""
        waiting.extend(arrived)
        for _ in range(len(waiting) - MAX_WAITING):
            waiting.popleft()
            count_reason(self._refused, f"{wire}: more requests than there is time for")
        for _ in range(min(len(waiting), most)):
            request = waiting.popleft()
            if self._messages.hears(wire):
                yield request

    def _apply(self, request: Request) -> None:
        world, hand = self.world, request.hand
        if request.clear_errors:
            world.clear_errors(hand)
        if request.zero_force:
            world.zero_force(hand)
        if request.current_limit_a is not None:
            world.set_current_limit(hand, request.current_limit_a.tolist())
        if request.command is not None:
            world.command(hand, request.command)
        now_s = time.perf_counter()
        self._latencies_s.append(now_s - request.arrived_s)
        who = self._commanded[hand]
        who.requests += 1
        who.sender, who.at_s = request.sender, now_s
        who.senders.pop(request.sender, None)  # so that the first one is always the one that was silent longest
        who.senders[request.sender] = now_s
        if len(who.senders) > MAX_SENDERS:
            del who.senders[next(iter(who.senders))]

    def _apply_scene(self, request: SceneRequest) -> None:
        if request.reset:
            (self.reset if request.reset == "all" else self.world.props.reset)()
            self._resets += 1
        self.world.place(objects=request.objects, wrists=request.wrists)

    def _run_calls(self) -> None:
        while self._calls:
            call, result = self._calls.popleft()
            try:
                result.set_result(call(self.world))
            except Exception as error:
                result.set_exception(error)

    def _publish_state(self) -> None:
        hands = self.world.read_hands()
        self._messages.update(self.world)
        for link in self.links:
            for told in self._messages.passed(link.wire, "state", hands, self.world.time_s):
                link.publish_state(self._messages.altered(link.wire, told))
        for link in self._scene_links:
            if link.wire not in self._messages.disconnected:
                states = {name: state for name, (state, _) in hands.items()}
                link.publish_scene(self.world.time_s, lambda states=states: self.world.scene_state(states))

    def _touch_loop(self) -> None:
        """Sample skins beside the physics, which goes on meanwhile."""
        try:
            while not self._stopping.is_set():
                self._watchdog.turn("touch")
                try:
                    world, contacts, at_s, after = self._touch_queue.get(timeout=0.2)
                except queue.Empty:
                    continue
                try:
                    frames = self._sample_skins(world, contacts, at_s, after)
                finally:
                    self._touch_queue.task_done()
                self._publish_touch(frames, at_s)
                self._touches += 1
        except BaseException as error:
            self._failure = self._failure or error
            self._stopping.set()

    def _touched_now(self) -> tuple[World, SolidContacts, float, int]:
        """What a reading of the skins needs to know of this instant."""
        world = self.world
        return world, world.physics.solid_contacts(), world.time_s, world.journal.count

    def _finish_readings(self) -> None:
        """Let the touch thread take the readings that are under way, before skins are changed."""
        touch = self._helpers[0]
        while self._touch_queue.unfinished_tasks and touch.is_alive() and touch is not threading.current_thread():
            time.sleep(1e-4)

    def _sample_skins(self, world: World, contacts: SolidContacts, at_s: float, after: int) -> dict[str, TouchFrame]:
        try:
            return {
                name: world.sample_skin(name, contacts, contacts.stamp_s, at_s=at_s, after=after)
                for name in self._skins
            }
        except ArithmeticError as error:  # one reading is lost, not the twin
            self._diverged.append(f"a reading of the skin at {contacts.stamp_s:.3f} s was left out: {error}")
            world.reset_skins()
            return {}

    def _publish_touch(self, frames: dict[str, TouchFrame], at_s: float) -> None:
        for link in self.links if frames else ():
            for told in self._messages.passed(link.wire, "touch", frames, at_s):
                link.publish_touch(told)


def warm_up(world: World) -> None:
    """Load the compiled code of everything a running twin does, so that nothing is late the first time it happens."""
    for hand in world.hand_names:
        world.command(hand, HandCommand.closing(np.nan))  # asks nothing
    world.advance(world.timestep_s)
    world.read_hands()
    skins = [hand for hand in world.hand_names if world.hand(hand).pads]
    if skins:
        warm_up_touch()
    for hand in skins:
        world.skin(hand)
        if any(pad.proximity_range_m for pad in world.hand(hand).pads):
            World(world.hand(hand), profile="ideal").touch(hand)
