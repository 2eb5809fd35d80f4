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
from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from thenar import hands
from thenar.cli.data.retarget import Following, read_own_side
from thenar.cli.run.running import check_duration, end_of, stop_on_signals
from thenar.cli.show import console, listed, make_table, print_json
from thenar.cli.wire.wires import ConnectionOptions, connect
from thenar.errors import BadValue

if TYPE_CHECKING:
    from thenar.hands.spec import HandSpec
    from thenar.signals import FloatArray, GloveFrame
    from thenar.twin.teleoperation import Sink, TeleopStep, TwinSink, WireSink

REDRAWN_S = 0.1


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
    """UDP port of live frames."""
    host: str = "127.0.0.1"
    """Address at which live frames are heard; 0.0.0.0 hears other machines too."""
    duration: float = 0.0
    """Seconds to run; 0 runs to the end of the recording, or until Ctrl-C."""
    following: Annotated[Following, tyro.conf.arg(name="")] = field(default_factory=Following)
    connection: Annotated[ConnectionOptions, tyro.conf.arg(name="")] = field(default_factory=ConnectionOptions)
    json: bool = False
    """Print a summary as JSON when it ends, and nothing else."""

    def run(self) -> None:
        """Drive until the end or Ctrl-C."""
        from thenar.retarget.retargeter import Retargeter
        from thenar.twin.teleoperation import teleoperate

        spec = hands.load(self.hand)
        check_duration(self.duration)
        if self.wire == "inspire" and not self.hand.startswith("inspire"):
            raise BadValue("--wire", self.wire, f"none for {self.hand}: these topics are for Inspire hands")
        retargeter = Retargeter(spec, self.following.config())
        stop, latencies_s = stop_on_signals(), []
        reported: list[str] = []  # what the hand was doing, in turn
        with ExitStack() as opened:
            frames = opened.enter_context(closing(self._frames(spec, stop)))
            sink, *others = self._sinks(spec, opened)
            view = opened.enter_context(nullcontext() if self.json else Live(console=console, auto_refresh=False))
            until_s, drawn_s = end_of(self.duration), 0.0
            for step in teleoperate(frames, retargeter, sink, *others, measured_rad=sink.angle_rad()):
                following, now_s = step.answer.following.value, time.perf_counter()
                if step.frame is not None:
                    latencies_s.append(step.latency_s)
                if reported[-1:] != [following]:
                    reported.append(following)
                    if view:
                        view.console.print(f"{spec.name}: {following}", highlight=False)
                if view and now_s - drawn_s > REDRAWN_S:
                    view.update(_status(spec, step, sink.angle_rad(), len(latencies_s)), refresh=True)
                    drawn_s = now_s
                if stop.is_set() or now_s > until_s:
                    break
            angle_rad = sink.angle_rad()
        latency_ms = float(1e3 * np.median(latencies_s)) if latencies_s else None
        if self.json:
            print_json(
                {
                    "frames": len(latencies_s),
                    "frame_to_command_ms": latency_ms,
                    "added_latency_s": retargeter.added_latency_s,
                    "following": reported,
                    "angle_rad": angle_rad.tolist(),
                }
            )
        else:
            took = "" if latency_ms is None else f"; {latency_ms:.2f} ms from a frame to its command (median)"
            console.print(f"{len(latencies_s)} frames{took}", highlight=False)

    def _frames(self, spec: HandSpec, stop: threading.Event) -> Generator[GloveFrame | None]:
        from thenar.twin.teleoperation import manus_frames, recorded_frames, socket_frames

        side = None if self.following.mirror or spec.side == "none" else spec.side
        if self.source == "live":
            return socket_frames(stop, host=self.host, port=self.port, side=side, on_refused=_report_refused)
        if self.source == "manus":
            return manus_frames(stop, side, **self._domain())
        return recorded_frames(read_own_side(Path(self.source), spec, mirror=self.following.mirror), stop)

    def _sinks(self, spec: HandSpec, opened: ExitStack) -> tuple[TwinSink | WireSink, *tuple[Sink, ...]]:
        """The hand that is driven, and who else is sent every frame."""
        from thenar.twin.teleoperation import TwinSink, WireSink

        others: list[Sink] = []
        if self.ros2:
            from thenar.wire.clients.ros2_follower import FollowNode

            node = opened.enter_context(FollowNode(spec, **self._domain()))
            others.append(lambda answer, frame: node.publish(answer.joint_rad, frame and frame.finger_m))
        if self.wire == "none":
            return (TwinSink(spec), *others)
        return (WireSink(spec, opened.enter_context(connect(spec, "inspire", self.connection))), *others)

    def _domain(self) -> dict:
        peers = listed(self.connection.peers) or ("127.0.0.1",)
        return {"domain": self.connection.domain, "interface": self.connection.interface, "peers": peers}


def _report_refused(reason: str) -> None:
    console.print(f"[yellow]frames are refused:[/] {escape(reason)}", highlight=False)


def _status(spec: HandSpec, step: TeleopStep, angle_rad: FloatArray, frames: int) -> Group:
    rows = [
        {"motor": name, "target_deg": round(float(np.degrees(a)), 1), "is_deg": round(float(np.degrees(b)), 1)}
        for name, a, b in zip(spec.actuator_names, step.answer.command.target_rad, angle_rad, strict=True)
    ]
    head = Text(f"{spec.name}: {step.answer.following.value}; {frames} frames, the last {step.answer.age_s:.2f} s old")
    return Group(head, make_table("", rows), Text("Ctrl-C stops it", style="dim"))
