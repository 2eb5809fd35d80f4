"""``thenar teleop``: a glove drives a hand."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import tyro
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from thenar import hands
from thenar.cli.data.retarget import Following, choose_map, read_own_side
from thenar.cli.run.running import check_duration, end_of, stop_on_signals
from thenar.cli.show import console, listed, make_table, print_json
from thenar.cli.wire.wires import ConnectionOptions
from thenar.errors import BadValue, HandLost

if TYPE_CHECKING:
    from thenar.hands.spec import HandSpec
    from thenar.retarget.model.hand_model import HandModel
    from thenar.signals import FloatArray, GloveFrame
    from thenar.twin.teleoperation import Sink, TeleopStep, TwinSink, WireSink

REDRAWN_S = 0.1


@dataclass(frozen=True)
class Teleop:
    """Let gloves, recorded or live, drive a hand or both: twins of its own, or hands at the other end of a wire.

    For example:

    thenar teleop person.csv --hand inspire_right --wire none

    thenar teleop person.csv --hand inspire_right --wire inspire

    thenar teleop live --hand inspire_left,inspire_right --wire dfx

    thenar teleop person.csv --hand shadow_right --ros2 --domain 0

    thenar teleop live --hand shadow_right --wire none --port 9763 --host 0.0.0.0

    thenar teleop manus --hand inspire_left --wire tienkung --domain 0
    """

    source: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LOG|live|manus")]
    """A recording (LEFT,RIGHT for two hands, in their order), live (frames from a socket, see docs/retarget.md) or
    manus (Manus' ROS 2 topics)."""
    hand: str = "inspire_right"
    """Hand to drive, or a left and a right one with a comma between them."""
    wire: Literal["inspire", "dfx", "modbus", "tienkung", "none"] = "none"
    """none drives a twin in this process; the others drive served twins or real hands."""
    ros2: bool = False
    """Publish joint_states, the skeleton as hand_markers and its frame on the ROS 2 domain --domain."""
    port: int = 9763
    """UDP port of live frames."""
    host: str = "127.0.0.1"
    """Address at which live frames are heard; 0.0.0.0 hears other machines too."""
    map: str = ""
    """Map that thenar retarget fit wrote, or factors by hand: 1.5, or 1.7,1.4,1.55 along thumb, back and fingers."""
    duration: float = 0.0
    """Seconds to run; 0 runs to the end of the recording, or until Ctrl-C."""
    following: Annotated[Following, tyro.conf.arg(name="")] = field(default_factory=Following)
    connection: Annotated[ConnectionOptions, tyro.conf.arg(name="")] = field(default_factory=ConnectionOptions)
    json: bool = False
    """Print a summary as JSON when it ends, and nothing else."""

    def run(self) -> None:
        """Drive until the end or Ctrl-C."""
        from thenar.retarget.model.hand_model import build_model
        from thenar.retarget.retargeter import Retargeter
        from thenar.twin.teleoperation import DrivenHand, drive
        from thenar.wire.codecs.inspire_counts import is_inspire

        specs = [hands.load(name) for name in listed(self.hand)]
        if not specs or len(specs) > 2 or (len(specs) == 2 and {spec.side for spec in specs} != {"left", "right"}):
            raise BadValue("--hand", self.hand, "one hand, or a left and a right one: inspire_left,inspire_right")
        check_duration(self.duration)
        if self.wire != "none" and not all(map(is_inspire, specs)):
            raise BadValue("--wire", self.wire, f"none for {self.hand}: these topics are for Inspire hands")
        models, config = [build_model(spec) for spec in specs], self.following.config()
        retargeters = [Retargeter(model, config, linear_map=choose_map(self.map, model)) for model in models]
        stop, shown = stop_on_signals(), {spec.name: _Shown() for spec in specs}
        with ExitStack() as opened:
            frames = opened.enter_context(closing(self._frames(specs, stop)))
            sinks = self._sinks(specs, opened)
            others = self._ros2_sinks(models, opened)
            driven = [
                DrivenHand(retargeter=one, sinks=(sink, *more), measured_rad=sink.angle_rad(), regain=sink.angle_rad)
                for one, sink, more in zip(retargeters, sinks, others, strict=True)
            ]
            view = opened.enter_context(nullcontext() if self.json else Live(console=console, auto_refresh=False))
            until_s, drawn_s = end_of(self.duration), 0.0
            for step in drive(frames, driven):
                one, now_s = shown[step.hand], time.perf_counter()
                following = "lost" if step.lost else step.answer.following.value
                one.step = step
                if step.frame is not None:
                    one.latencies_s.append(step.latency_s)
                if one.reported[-1:] != [following]:
                    one.reported.append(following)
                    if view:
                        view.console.print(f"{step.hand}: {following}{step.lost and ', ' + step.lost}")
                if view and now_s - drawn_s > REDRAWN_S:
                    parts = [
                        _status(spec, last, _measure(sink, last), len(shown[spec.name].latencies_s))
                        for spec, sink in zip(specs, sinks, strict=True)
                        if (last := shown[spec.name].step) is not None
                    ]
                    view.update(Group(*parts, Text("Ctrl-C stops it", style="dim")), refresh=True)
                    drawn_s = now_s
                if stop.is_set() or now_s > until_s:
                    break
            angles = [_measure(sink, shown[spec.name].step) for spec, sink in zip(specs, sinks, strict=True)]
        told = {
            name: one.summary(retargeters[0].added_latency_s) | {"angle_rad": angle_rad}
            for (name, one), angle_rad in zip(shown.items(), angles, strict=True)
        }
        if self.json:
            print_json(told if len(told) > 1 else next(iter(told.values())))
            return
        for name, one in told.items():
            median_ms = one["frame_to_command_ms"]
            took = "" if median_ms is None else f"; {median_ms:.2f} ms from a frame to its command (median)"
            console.print(f"{name}: {one['frames']} frames{took}")

    def _frames(self, specs: list[HandSpec], stop: threading.Event) -> Generator[GloveFrame | None]:
        from thenar.twin.teleoperation import glove_side, manus_frames, recorded_frames, socket_frames

        side = glove_side(specs[0], mirror=self.following.mirror) if len(specs) == 1 else None
        if self.source == "live":
            return socket_frames(stop, host=self.host, port=self.port, side=side, on_refused=self._report_refused)
        if self.source == "manus":
            return manus_frames(stop, side, **self._domain(), on_refused=self._report_refused)
        paths = listed(self.source)
        if len(paths) != len(specs):
            raise BadValue("LOG", self.source, f"{len(specs)} recordings, with a comma between them, or live or manus")
        mirror = self.following.mirror
        logs = [read_own_side(Path(path), spec, mirror=mirror) for path, spec in zip(paths, specs, strict=True)]
        return recorded_frames(logs, stop)

    def _sinks(self, specs: list[HandSpec], opened: ExitStack) -> list[TwinSink] | list[WireSink]:
        """The hands that are driven."""
        from thenar.twin.teleoperation import TwinSink, WireSink
        from thenar.twin.world import World
        from thenar.wire.clients.hand_connection import connect_inspire

        if self.wire == "none":
            world = World(specs)
            return [TwinSink(spec, world) for spec in specs]
        lines = opened.enter_context(connect_inspire(specs, self.connection.place(self.wire)))
        return [WireSink(spec, line) for spec, line in zip(specs, lines, strict=True)]

    def _ros2_sinks(self, models: list[HandModel], opened: ExitStack) -> list[tuple[Sink, ...]]:
        """Who else is sent every frame."""
        if not self.ros2:
            return [()] * len(models)
        from thenar.wire.clients.ros2_follower import FollowNode

        def sink(model: HandModel) -> Sink:
            glove = {"glove_m": model.palm_m, "glove_R": model.R_palm, "namespaced": len(models) > 1}
            node = opened.enter_context(FollowNode(model.hand, **glove, **self._domain()))
            return lambda answer, frame: node.publish(answer.joint_rad, frame and frame.finger_m)

        return [(sink(model),) for model in models]

    def _report_refused(self, reason: str) -> None:
        told = Console(stderr=True) if self.json else console
        told.print(Text("frames are refused:", style="yellow"), Text(reason))

    def _domain(self) -> dict:
        peers = listed(self.connection.peers) or ("127.0.0.1",)
        return {"domain": self.connection.domain, "interface": self.connection.interface, "peers": peers}


@dataclass
class _Shown:
    """What was seen of a hand on its way."""

    latencies_s: list[float] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)
    """What the hand was doing, in turn."""
    step: TeleopStep | None = None

    def summary(self, added_latency_s: float) -> dict:
        return {
            "frames": len(self.latencies_s),
            "frame_to_command_ms": float(1e3 * np.median(self.latencies_s)) if self.latencies_s else None,
            "added_latency_s": added_latency_s,
            "following": self.reported,
        }


def _measure(sink: TwinSink | WireSink, last: TeleopStep | None) -> FloatArray | None:
    """Where the motors are [rad]; None of a hand that does not answer."""
    if last is not None and last.lost:
        return None
    try:
        return sink.angle_rad()
    except HandLost:
        return None


def _status(spec: HandSpec, step: TeleopStep, angle_rad: FloatArray | None, frames: int) -> Group:
    is_rad = np.full(len(spec.actuator_names), np.nan) if angle_rad is None else angle_rad
    rows = [
        {"motor": name, "target_deg": round(float(np.degrees(a)), 1), "is_deg": round(float(np.degrees(b)), 1)}
        for name, a, b in zip(spec.actuator_names, step.answer.command.target_rad, is_rad, strict=True)
    ]
    doing = "lost" if step.lost else step.answer.following.value
    head = Text(f"{spec.name}: {doing}; {frames} frames, the last {step.answer.age_s:.2f} s old")
    return Group(head, make_table("", rows))
