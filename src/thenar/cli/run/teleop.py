"""``thenar teleop``: a glove drives a hand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

import numpy as np
import tyro
from rich.console import Group
from rich.live import Live
from rich.text import Text

from thenar import hands
from thenar.cli.data.retarget import Following
from thenar.cli.run.running import stop_on_signals
from thenar.cli.show import console, listed, make_table, print_json
from thenar.cli.wire.wires import HandLine, Reach, reach_hand
from thenar.errors import BadFile, BadValue

if TYPE_CHECKING:
    from thenar.hands.spec import HandSpec
    from thenar.retarget.retargeter import Retargeted
    from thenar.signals import FloatArray, GloveFrame

TICK_S = 0.01


@dataclass(frozen=True)
class Teleop:
    """Let a glove, recorded or live, drive a hand: a twin of its own, or one at the other end of a wire.

    For example:

    thenar teleop person.csv --hand inspire_right --wire none

    thenar teleop person.csv --hand inspire_right --wire inspire

    thenar teleop person.csv --hand shadow_right --ros2 --domain 0

    thenar teleop live --hand shadow_right --wire none --port 9763

    thenar teleop manus --hand inspire_left --wire inspire --domain 0
    """

    source: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LOG|live|manus")]
    """A recording, live (frames from a local socket, see docs/retarget.md) or manus (Manus' ROS 2 topic)."""
    hand: str = "inspire_right"
    """Hand to drive."""
    wire: Literal["inspire", "none"] = "none"
    """none drives a twin in this process; inspire drives a served twin or a real hand over DDS."""
    ros2: bool = False
    """Publish joint_states and the skeleton as hand_markers on the ROS 2 domain --domain."""
    port: int = 9763
    """UDP port of live frames, on this machine."""
    duration: float = 0.0
    """Seconds to run; 0 runs to the end of the recording, or until Ctrl-C."""
    following: Annotated[Following, tyro.conf.arg(name="")] = field(default_factory=Following)
    reach: Annotated[Reach, tyro.conf.arg(name="")] = field(default_factory=Reach)
    json: bool = False
    """Print a summary as JSON when it ends, and nothing else."""

    def run(self) -> None:
        """Drive until the end or Ctrl-C."""
        from thenar.retarget.retargeter import Retargeter

        spec = hands.load(self.hand)
        if self.duration < 0.0:
            raise BadValue("--duration", self.duration, "seconds, or 0")
        if self.wire == "inspire" and not self.hand.startswith("inspire"):
            raise BadValue("--wire", self.wire, f"none for {self.hand}: these topics are for Inspire hands")
        retargeter = Retargeter(spec, self.following.config())
        stop = stop_on_signals()
        count, late_s, where = 0, [], np.zeros(len(spec.actuators))
        said: list[str] = []  # what the hand was doing, in turn
        with self._glove(spec) as frames, self._driven(spec) as driven, self._told(spec) as tell:
            until_s = time.perf_counter() + self.duration if self.duration else float("inf")
            view = Live(console=console, auto_refresh=False) if not self.json else None
            if view:
                view.start()
            try:
                shown_s = 0.0
                for frame, arrived_s in frames(stop):
                    answer = retargeter(frame) if frame is not None else retargeter.tick(time.perf_counter())
                    driven.go(answer.command.target_rad)
                    tell(answer.joint_rad, None if frame is None else frame.finger_m)
                    if said[-1:] != [answer.following.value]:
                        said.append(answer.following.value)
                        if view:
                            view.console.print(f"{spec.name}: {answer.following.value}", highlight=False)
                    if frame is not None:
                        count += 1
                        late_s.append(time.perf_counter() - arrived_s)
                    now_s = time.perf_counter()
                    if view and now_s - shown_s > 0.1:
                        where = driven.where()
                        view.update(_status(spec, answer, where, count), refresh=True)
                        shown_s = now_s
                    if stop.is_set() or now_s > until_s:
                        break
                where = driven.where()
            finally:
                if view:
                    view.stop()
        took_ms = float(1e3 * np.median(late_s)) if late_s else None
        if self.json:
            print_json(
                {
                    "frames": count,
                    "frame_to_command_ms": took_ms,
                    "added_latency_s": retargeter.added_latency_s,
                    "following": said,
                    "angle_rad": where.tolist(),
                }
            )
        else:
            took = "" if took_ms is None else f"; {took_ms:.2f} ms from a frame to its command (median)"
            console.print(f"{count} frames{took}", highlight=False)

    @contextmanager
    def _glove(self, spec: HandSpec) -> Iterator[_Frames]:
        """The source: frames at their own time, None where the glove is silent."""
        if self.source == "live":
            from thenar.glove.glove_socket import GloveReceiver

            with GloveReceiver(port=self.port) as receiver:

                def live(stop: threading.Event) -> Iterator[tuple[GloveFrame | None, float]]:
                    while not stop.is_set():
                        frame, now_s = receiver.wait(TICK_S), time.perf_counter()
                        # By our clock, as the age of the last frame is.
                        yield None if frame is None else replace(frame, stamp_s=now_s), now_s

                yield live
            return
        if self.source == "manus":
            from thenar.glove.palm import frame_in_palm_axes
            from thenar.wire.clients.manus_client import ManusListener

            side = None if self.following.mirror or spec.side == "none" else spec.side
            peers = listed(self.reach.peers) or ("127.0.0.1",)
            with ManusListener(side, domain=self.reach.domain, interface=self.reach.interface, peers=peers) as listener:

                def heard(stop: threading.Event) -> Iterator[tuple[GloveFrame | None, float]]:
                    while not stop.is_set():
                        news = listener.wait(TICK_S)
                        if news is None:
                            yield None, time.perf_counter()
                        else:
                            glove, arrived_s = news
                            yield (
                                frame_in_palm_axes(arrived_s, glove.side, "manus25", glove.position_m, glove.quat_wxyz),
                                arrived_s,
                            )

                yield heard
            return
        from thenar.glove.files import read_log

        path = Path(self.source)
        log = read_log(path)
        if spec.side not in ("none", log.side) and not self.following.mirror:
            raise BadFile(path, f"a {log.side} hand's recording; expected {spec.side} for {spec.name}, or --mirror")

        def recorded(stop: threading.Event) -> Iterator[tuple[GloveFrame | None, float]]:
            start_s = time.perf_counter()
            for frame in log:
                due_s = start_s + frame.stamp_s - float(log.stamp_s[0])
                if stop.wait(max(0.0, due_s - time.perf_counter())):
                    return
                yield frame, time.perf_counter()

        yield recorded

    @contextmanager
    def _told(self, spec: HandSpec) -> Iterator[Callable[[FloatArray, FloatArray | None], None]]:
        """Who else is told of every frame."""
        if not self.ros2:
            yield lambda joint_rad, finger_m: None
            return
        from thenar.wire.clients.ros2_follower import FollowNode

        peers = listed(self.reach.peers) or ("127.0.0.1",)
        with FollowNode(spec, domain=self.reach.domain, interface=self.reach.interface, peers=peers) as node:
            yield node.publish

    @contextmanager
    def _driven(self, spec: HandSpec) -> Iterator[_Driven]:
        """The hand that is driven."""
        if self.wire == "none":
            yield _Twin(spec)
            return
        with reach_hand(spec, "inspire", self.reach) as line:
            line.readings()  # a hand that says nothing is told of before it is moved
            yield _Remote(spec, line)


class _Frames(Protocol):
    def __call__(self, stop: threading.Event) -> Iterator[tuple[GloveFrame | None, float]]: ...


class _Driven(Protocol):
    def go(self, target_rad: FloatArray) -> None: ...

    def where(self) -> FloatArray: ...


class _Twin:
    """A hand of our own; its time passes as ours does."""

    def __init__(self, spec: HandSpec):
        from thenar.twin.world import World

        self._world, self._name = World(spec), spec.name
        self._world.advance(0.01)  # what is not compiled yet is now, not at the first frame
        self._last_s = time.perf_counter()

    def go(self, target_rad: FloatArray) -> None:
        from thenar.signals import HandCommand

        self._world.command(self._name, HandCommand.to(target_rad))
        now_s = time.perf_counter()
        self._world.advance(min(now_s - self._last_s, 0.1))
        self._last_s = now_s

    def where(self) -> FloatArray:
        return self._world.state(self._name).angle_rad


class _Remote:
    """A hand at the other end of a wire."""

    def __init__(self, spec: HandSpec, line: HandLine):
        from thenar.wire.codecs.inspire_counts import Scale

        self._line, self._scale = line, Scale.of(spec)

    def go(self, target_rad: FloatArray) -> None:
        from thenar.wire.codecs.inspire_counts import angle_counts

        self._line.send(angle_counts(self._scale, target_rad), [], [])

    def where(self) -> FloatArray:
        from thenar.wire.codecs.inspire_counts import Readings, command

        told = self._line.readings()
        assert isinstance(told, Readings)
        return command(self._scale, angle=told.angle)[0].target_rad


def _status(spec: HandSpec, answer: Retargeted, where_rad: FloatArray, count: int) -> Group:
    rows = [
        {"motor": name, "wanted_deg": round(float(np.degrees(a)), 1), "is_deg": round(float(np.degrees(b)), 1)}
        for name, a, b in zip(spec.actuator_names, answer.command.target_rad, where_rad, strict=True)
    ]
    head = Text(f"{spec.name}: {answer.following.value}; {count} frames, the last {answer.age_s:.2f} s old")
    return Group(head, make_table("", rows), Text("Ctrl-C stops it", style="dim"))
