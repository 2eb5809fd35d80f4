"""A robot's cameras in a process of their own: it reads where everything is, draws, and serves JPEGs to the clients.

Drawing in software takes longer than a picture may: then pictures are drawn smaller and enlarged, at the same rate.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thenar.errors import BadValue, MissingExtra, ThenarError
from thenar.pace import Pace
from thenar.signals import HandSettings, HandState, Request, TouchFrame
from thenar.sim.drawing.eyes import Eyes, model_bytes
from thenar.twin.world import World
from thenar.view.shared_memory import SharedRecords
from thenar.wire.codecs.unitree import teleimager
from thenar.wire.links.link_health import LinkHealth
from thenar.wire.rtps.network import interface_address

SHARES = (1.0, 0.75, 0.5, 0.375, 0.25)
"""Of the width and the height at which pictures are drawn, from the best on."""
START_S, RESTART_S, MAX_RESTARTS = 30.0, 0.5, 5
SEEN = np.dtype([("frames", "i8"), ("share", "f8"), ("rate_hz", "f8"), ("longest_gap_s", "f8"), ("ready", "?")])
NICE = 5  # physics goes first


@dataclass(frozen=True, kw_only=True)
class CameraOptions:
    """Which pictures are served, and where."""

    names: tuple[str, ...] = tuple(teleimager.PORTS)
    size_px: tuple[int, int] = (640, 480)
    fps: float = 30.0
    ports: Mapping[str, int] = field(default_factory=lambda: dict(teleimager.PORTS))
    config_port: int = teleimager.CONFIG_PORT

    def __post_init__(self) -> None:
        unknown = [name for name in self.names if name not in teleimager.PORTS]
        if unknown:
            raise BadValue("--cameras", ",".join(unknown), f"some of {', '.join(teleimager.PORTS)}, or none")
        if len(self.size_px) != 2 or not all(16 <= side <= 4096 for side in self.size_px):
            raise BadValue("size_px", self.size_px, "width and height from 16 to 4096")
        if not 0.0 < self.fps <= 500.0:
            raise BadValue("fps", self.fps, "pictures a second, up to 500")


class Cameras:
    """The process that draws, as a link of the twin: it is told where everything is, and started again if it dies."""

    wire = "cameras"

    def __init__(self, world: World, options: CameraOptions, *, interface: str = "lo"):
        """Start it and wait until it serves."""
        for package in ("zmq", "PIL"):  # reported here, not by a process that dies
            if importlib.util.find_spec(package) is None:
                raise MissingExtra("cameras", {"zmq": "pyzmq", "PIL": "pillow"}[package], "camera")
        host = interface_address(interface)
        self.where = ", ".join(f"{name} tcp://{host}:{options.ports[name]}" for name in options.names)
        self._world, self._pace = world, Pace(2.0 * options.fps)
        self._poses = SharedRecords(_pose_dtype(world.physics.data.qpos.size))
        self._seen = SharedRecords(SEEN)
        self._hello = pickle.dumps((model_bytes(world.physics), world.physics.data.qpos.size, host, options))
        self._failure, self._starts = "", 0
        self._stopping = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self.tell()
        self._thread = threading.Thread(target=self._keep_alive, name="cameras", daemon=True)
        self._thread.start()
        until_s = time.monotonic() + START_S
        while not self._report()["ready"] and not self._failure and time.monotonic() < until_s:
            time.sleep(0.02)
        if not self._report()["ready"]:
            self.close()
            why = self._failure or f"the cameras did not start within {START_S:.0f} s"
            raise ThenarError(f"{why}; to run without them: --cameras none")

    def tell(self) -> None:
        """Tell the process where everything is, when it is time; on the loop's thread."""
        if self._pace.is_due(self._world.time_s):
            record = self._poses.next()
            record["qpos"] = self._world.physics.data.qpos
            self._poses.publish()

    def receive(self) -> list[Request]:
        """Nothing: cameras ask for nothing."""
        return []

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Nothing: cameras see where everything is by themselves."""

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Nothing."""

    def health(self) -> LinkHealth:
        """How it is doing."""
        seen = self._report()
        share = float(seen["share"])
        smaller = f"pictures are drawn at {share:.0%} of their size, to stay in time" if 0.0 < share < 1.0 else ""
        return LinkHealth(
            wire=self.wire,
            where=f"{self.where} at {float(seen['rate_hz']):.0f} Hz",
            listeners=0,
            written=int(seen["frames"]),
            not_written=0,
            peers=(),
            refused={},
            warnings=(smaller,) if smaller else (),
            failed="" if self._child is not None and self._child.poll() is None else self._failure,
        )

    def report(self) -> dict[str, float]:
        """Pictures drawn, the share of their size, their rate and the longest gap between two."""
        seen = self._report()
        return {name: float(seen[name]) for name in ("frames", "share", "rate_hz", "longest_gap_s")}

    def close(self) -> None:
        """Stop it."""
        self._stopping.set()
        if self._child is not None:
            self._child.terminate()
        self._thread.join(5.0)
        for records in (self._poses, self._seen):
            records.close()

    def _report(self) -> Any:
        return self._seen.read()[1]

    def _keep_alive(self) -> None:
        while not self._stopping.is_set() and self._starts < MAX_RESTARTS:
            self._starts += 1
            fds = (self._poses.fd, self._seen.fd)
            command = [sys.executable, "-m", "thenar.twin.body.cameras", *map(str, fds)]
            # Threads of the renderer would take the other cores from the physics, and gain little.
            environment = {"LP_NUM_THREADS": "0", **os.environ}
            child = subprocess.Popen(
                command, pass_fds=fds, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
            )
            self._child = child
            if self._stopping.is_set():  # closed just now, when there was no such child yet
                child.terminate()
            assert child.stdin is not None
            assert child.stderr is not None
            try:
                child.stdin.write(self._hello)
                child.stdin.flush()  # it stays open: its end is how the process learns of ours
            except BrokenPipeError:
                pass
            said = child.stderr.read().decode(errors="replace").strip().splitlines()
            child.wait()
            if not self._stopping.is_set():
                self._failure = f"the process of the cameras has ended: {said[-1] if said else child.returncode}"
                self._stopping.wait(RESTART_S)


def _pose_dtype(size: int) -> np.dtype[np.void]:
    return np.dtype([("qpos", "f8", size)])


def _serve(pose_fd: int, seen_fd: int) -> None:
    """What the process does until its parent is gone."""
    from thenar.view.cameras.picture_server import PictureServer

    model, size, host, options = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(NICE)
    poses, seen = SharedRecords(_pose_dtype(size), pose_fd), SharedRecords(SEEN, seen_fd)
    described = teleimager.configuration(
        options.names, ports=dict(options.ports), size_px=options.size_px, fps=options.fps
    )
    eyes = Eyes(model, options.size_px)
    server = PictureServer(
        host,
        ports={name: options.ports[name] for name in options.names},
        config_port=options.config_port,
        configuration=teleimager.encode_configuration(described),
    )
    _draw_for_ever(eyes, server, poses, seen, options)


def _end_with_parent() -> None:
    while os.read(0, 1024):  # not by way of sys.stdin: an interpreter that ends cannot take it from a thread
        pass
    os._exit(0)


def _draw_for_ever(eyes: Eyes, server: Any, poses: SharedRecords, seen: SharedRecords, options: CameraOptions) -> None:
    period_s, level, busy_s, frames, longest_s = 1.0 / options.fps, 0, 0.0, 0, 0.0
    due_s = began_s = last_s = time.perf_counter()
    while True:
        now_s = time.perf_counter()
        if now_s < due_s:
            time.sleep(due_s - now_s)
        start_s = time.perf_counter()
        eyes.look(poses.read()[1]["qpos"])
        for name in options.names:
            server.publish(name, eyes.draw(name, drawn_size(options.size_px, level)), options.size_px)
        end_s = time.perf_counter()
        frames += 1
        longest_s, last_s = max(longest_s if frames > 2 else 0.0, start_s - last_s), start_s
        # A lasting lack of time makes pictures smaller, a lasting surplus larger again.
        busy_s += 0.2 * (end_s - start_s - busy_s)
        wanted = next_level(level, busy_s / period_s)
        if wanted != level:
            level, busy_s = wanted, 0.5 * period_s
        due_s = max(due_s + period_s, end_s - period_s)  # what was missed is not made up for
        record = seen.next()
        record["frames"], record["share"], record["ready"] = frames, SHARES[level], True
        record["rate_hz"], record["longest_gap_s"] = frames / max(end_s - began_s, 1e-9), longest_s
        seen.publish()


def next_level(level: int, load: float) -> int:
    """Which of `SHARES` to draw at next, from the share of a picture's time that drawing takes."""
    if load > 0.9 and level + 1 < len(SHARES):
        return level + 1
    # Larger pictures take as much longer as they have more pixels.
    if level and load * (SHARES[level - 1] / SHARES[level]) ** 2 < 0.6:
        return level - 1
    return level


def drawn_size(size_px: tuple[int, int], level: int) -> tuple[int, int]:
    """Width and height at which pictures are drawn."""
    width, height = (max(16, round(SHARES[level] * side)) for side in size_px)
    return width, height


if __name__ == "__main__":
    try:
        _serve(*map(int, sys.argv[1:3]))
    except ThenarError as error:  # its last line is what the parent tells
        sys.stderr.write(str(error))
        sys.stderr.flush()
        os._exit(1)
