"""Retargeting as it is used: what a call and a live frame cost, and how teleoperation begins on a closed hand.

    python -m bench.retarget_live [LOG ...] [--hands shadow_right,inspire_right]

Times are of the processor, on one core. A call is the whole public one, from an array of points; a live frame is timed
from its datagram to its command. The closed hand is a served twin.
"""

from __future__ import annotations

import argparse
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.live import _free_domain
from thenar import hands
from thenar.errors import BadValue
from thenar.glove.files import read_log
from thenar.glove.glove_socket import GloveReceiver, encode_frame
from thenar.glove.log import GloveLog
from thenar.glove.make import make_log
from thenar.glove.palm import frame_in_palm_axes
from thenar.hands.spec import HandSpec
from thenar.retarget.batch import time_steps
from thenar.retarget.config import RetargetConfig
from thenar.retarget.model.hand_model import build_model
from thenar.retarget.retargeter import Following, Retargeter
from thenar.signals import FloatArray, GloveFrame, HandCommand
from thenar.twin.reports.retarget_measure import time_frames_us
from thenar.twin.serving import serve
from thenar.twin.teleoperation import WireSink, teleoperate
from thenar.wire.clients.hand_connection import connect_inspire
from thenar.wire.clients.listener import Place

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
PASSES, LIVE_FRAMES, PAUSE_S, SILENT_S, TICK_S, CLOSES_S = 3, 300, 0.005, 3.0, 0.01, 4.0


def time_calls_us(spec: HandSpec, log: GloveLog) -> FloatArray:
    """CPU time of each public call [us], the least of three passes. Shape (n,)."""
    passes = []
    for _ in range(PASSES):
        retargeter, took = Retargeter(spec), []
        for points, stamp_s in zip(log.position_m, log.stamp_s.tolist(), strict=True):
            start_ns = time.thread_time_ns()
            retargeter(points, stamp_s, side=log.side)
            took.append(1e-3 * (time.thread_time_ns() - start_ns))
        passes.append(took)
    return np.min(passes, axis=0)


def time_live_us(spec: HandSpec, log: GloveLog, *, pause_s: float = 0.0) -> FloatArray:
    """CPU time of each live frame [us], from its datagram to its command, the least of three passes. Shape (n,).

    With a pause the processor does other things before each frame, as it does between those of a glove.
    """
    passes = []
    for _ in range(PASSES):
        with GloveReceiver(port=0) as receiver, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            messages, took = [encode_frame(frame) for frame in log], []
            heard = iter(lambda: receiver.wait(TICK_S), "never")
            steps = teleoperate(heard, Retargeter(spec), lambda answer, _: None)
            for message in messages:
                time.sleep(pause_s)
                sender.sendto(message, ("127.0.0.1", receiver.port))
                start_ns = time.thread_time_ns()
                step = next(steps)
                took.append(1e-3 * (time.thread_time_ns() - start_ns))
                assert step.frame is not None
        passes.append(took)
    return np.min(passes, axis=0)


@dataclass(frozen=True, kw_only=True)
class Start:
    """How teleoperation began on a closed hand."""

    sent_before: int
    """Commands before the first frame."""
    moved_before_rad: float
    """How far any motor moved then, from the first half of the silence to the second."""
    speed: float
    """Fastest that a target went in the first second with frames, as a multiple of the motor's speed."""
    went_rad: float
    """How far the farthest target went in that second: it does open."""


def start_on_a_closed_hand(hand: str, *, measured: bool = True) -> Start:
    """Serve a hand, close it, and begin with a glove that is silent at first and then shows an open hand.

    Without ``measured`` teleoperation is not told where the hand is: it must come out badly.
    """
    spec, domain = hands.load(hand), _free_domain()
    log, sent, when_s = make_log(("spread",)), list[FloatArray](), list[float]()
    served = serve(hand, wires=("inspire",), scene="empty", domain=domain)
    with served as twin, connect_inspire([spec], Place(domain=domain)) as (connection,):
        sink = WireSink(spec, connection)
        closed_rad = 0.5 * (spec.open_rad + spec.closed_rad)
        connection.send(HandCommand.to(closed_rad))
        time.sleep(CLOSES_S)
        start_rad, stood = sink.angle_rad(), list[FloatArray]()

        def frames() -> Iterator[GloveFrame | None]:
            end_s = time.perf_counter() + SILENT_S
            while time.perf_counter() < end_s:
                time.sleep(TICK_S)
                stood.append(twin.run_on_loop(lambda world: world.state(hand).angle_rad))
                yield None
            for frame, step_s in zip(log, time_steps(log.stamp_s), strict=True):
                time.sleep(step_s)
                yield replace(frame, stamp_s=time.perf_counter())

        sent_before = 0
        for step in teleoperate(frames(), Retargeter(spec), sink, measured_rad=start_rad if measured else None):
            if step.answer.following is Following.WAITING:
                continue
            if step.frame is None:
                sent_before += 1
                continue
            sent.append(step.answer.command.target_rad)
            when_s.append(step.answer.stamp_s)
            if when_s[-1] > when_s[0] + 1.0:
                break
    halves = np.array(stood)[: len(stood) // 2], np.array(stood)[len(stood) // 2 :]  # readings are noisy, means are not
    # A hand is first asked to go on from where it was, so much as a frame's time allows.
    steps_rad, steps_s = np.abs(np.diff([start_rad, *sent], axis=0)), np.diff(when_s, prepend=when_s[0] - 1.0 / 60.0)
    return Start(
        sent_before=sent_before,
        moved_before_rad=float(np.abs(halves[1].mean(axis=0) - halves[0].mean(axis=0)).max()),
        speed=float((steps_rad / steps_s[:, None] / spec.top_speed_rad_s).max()),
        went_rad=float(np.abs(sent[-1] - start_rad).max()),
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--hands", default="shadow_right,inspire_right")
    options = parser.parse_args()
    logs = {path.name: read_log(path) for path in options.logs}
    if not logs:
        logs = {"made, 21 nodes": make_log(), "made, 25 nodes": make_log(layout="manus25")}
        logs |= {path.name: read_log(path) for path in sorted(SHARED.glob("manus*")) if path.suffix in (".csv", ".npz")}
    for name, log in logs.items():
        taken = np.array([_is_taken(points, log) for points in log.position_m])
        logs[name] = _only(log, taken)
        sys.stdout.write(f"{name}: {np.count_nonzero(~taken)} of {len(taken)} frames would be refused live\n")
    for hand in options.hands.split(","):
        spec = hands.load(hand)
        for name, log in logs.items():
            solver_us = time_frames_us(build_model(spec), RetargetConfig(), log.finger_m, time_steps(log.stamp_s))
            took = {
                "solver": solver_us,
                "call": time_calls_us(spec, log),
                "live frame": time_live_us(spec, log),
                "live frame after a pause": time_live_us(
                    spec, _only(log, np.arange(len(log)) < LIVE_FRAMES), pause_s=PAUSE_S
                ),
            }
            told = ", ".join(f"{what} {_median_and_99(us)}" for what, us in took.items())
            sys.stdout.write(f"{hand}, {name}, CPU us median / 99 %: {told}\n")
    for measured in (True, False):
        start = start_on_a_closed_hand("inspire_right", measured=measured)
        sys.stdout.write(f"start on a closed served hand, {'told' if measured else 'not told'} where it is: {start}\n")


def _only(log: GloveLog, kept: NDArray[np.bool_]) -> GloveLog:
    return replace(log, stamp_s=log.stamp_s[kept], position_m=log.position_m[kept], quat_wxyz=log.quat_wxyz[kept])


def _is_taken(points: FloatArray, log: GloveLog) -> bool:
    """Whether a live frame is taken for a hand of its side; one that is refused costs less."""
    try:
        frame_in_palm_axes(0.0, log.side, log.layout, points)
    except BadValue:
        return False
    return True


def _median_and_99(us: Sequence[float] | FloatArray) -> str:
    return f"{np.median(us):.0f} / {np.percentile(us, 99):.0f}"


if __name__ == "__main__":
    main()
