"""``thenar body``: run a humanoid, or print everything about one that runs."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import tyro
from rich.console import Group
from rich.live import Live
from rich.text import Text

from thenar.cli.run.running import check_duration, end_of, show_until_stopped, stop_on_signals
from thenar.cli.run.serve import announce_page, guarded, shown_page
from thenar.cli.show import console, listed, make_table, print_json
from thenar.errors import BadCommand, BadValue
from thenar.twin.serve_config import PageOptions

if TYPE_CHECKING:
    from thenar.twin.body.serve_body import LiveBody

ROWS_OF_A_MATRIX = 6  # more are told by their size
STALE_S = 0.5  # a robot speaks a hundred times a second


@dataclass(frozen=True)
class Body:
    """Run a humanoid that fourier-aurora-client connects to as to the robot, or print everything about one that runs.

    For example:

    thenar body run

    thenar body run --view

    thenar body run --config robot.yaml --joystick keyboard

    thenar body print --part kindyn_data
    """

    action: tyro.conf.Positional[Literal["run", "print"]]
    """What to do."""
    config: Path | None = None
    """YAML file in the vendor's shape; without one a GR-2 with its hands and four examples."""
    domain: int | None = None
    """DDS domain, in place of the configuration's (123)."""
    interface: str = "lo"
    """Network interface."""
    peers: str = ""
    """Addresses to look for clients at where multicast does not reach, separated by commas."""
    ros: bool = False
    """Spell names as ROS 2 does."""
    joystick: Literal["none", "keyboard", "gamepad"] = "none"
    """Who operates it: keys 0 to 9 ask for states, w s a d q e for velocities."""
    state: int | None = None
    """Whole-body state to go to at the start."""
    view: bool = False
    """run: show it in a browser."""
    host: str = "127.0.0.1"
    """Address of the page. Anything but this machine gets a token that visitors must know."""
    port: int = 8080
    """Port of the page; 0 takes one that is free."""
    token: str = ""
    """Token of the page, in place of one made up."""
    duration: float = 0.0
    """Seconds to run; 0 runs until Ctrl-C."""
    part: str = ""
    """Part to print, such as base_data; all of them when left out."""
    json: bool = False
    """print: once, as JSON. run: the health as JSON when it ends, and nothing else."""

    def run(self) -> None:
        """Run or print."""
        check_duration(self.duration)
        stop = stop_on_signals()
        if self.action == "run":
            self._run(stop)
        else:
            self._print(stop)

    def _run(self, stop: threading.Event) -> None:
        from thenar.humanoid.control.joystick import Gamepad, Keyboard
        from thenar.twin.body.serve_body import serve_body

        makers = {"keyboard": Keyboard, "gamepad": Gamepad}
        operator = makers[self.joystick]() if self.joystick in makers else None
        twin = serve_body(
            self.config,
            interface=self.interface,
            peers=listed(self.peers),
            domain=self.domain,
            ros=self.ros,
            joystick=operator,
            page=guarded(PageOptions(host=self.host, port=self.port, token=self.token)) if self.view else None,
        )
        page = shown_page(twin)
        if page is not None:
            announce_page(page.url, to_open=False, quiet=self.json)
        if self.state is not None:  # before anybody hears of another one
            try:
                twin.body.controller.change(self.state)
            except BadCommand:
                twin.stop()
                raise
        with twin, _keys_at_once(self.joystick == "keyboard"):
            show_until_stopped(twin, stop, lambda: _status(twin), duration_s=self.duration, quiet=self.json)
            health = asdict(twin.health())
        if self.json:
            print_json({name: health[name] for name in ("time_s", "real_time_factor", "ticks", "late_ticks")})

    def _print(self, stop: threading.Event) -> None:
        from thenar import hands
        from thenar.humanoid.control.robot_config import load_config
        from thenar.humanoid.model.gr2 import GR2
        from thenar.humanoid.model.mujoco_model import hand_load
        from thenar.humanoid.state.robot_data import PARTS, RobotData
        from thenar.twin.body.watch_body import follow
        from thenar.wire.clients.aurora_client import AuroraListener

        parts = {*PARTS, "hand_pvc", "robot_state"}
        if self.part and self.part not in parts:
            raise BadValue("--part", self.part, f"one of {', '.join(sorted(parts))}")
        config = load_config(self.config)
        robot = RobotData(loads=[hand_load(GR2, hands.load(name)) for name in config.hands])
        listener = AuroraListener(
            domain=config.domain if self.domain is None else self.domain,
            namespace=config.namespace,
            ros=self.ros,
            interface=self.interface,
            peers=listed(self.peers),
        )
        with listener:
            snapshot = follow(robot, listener.messages())
            if self.json:
                print_json({name: _plain(value) for name, value in _values(snapshot, self.part).items()})
                return
            until_s = end_of(self.duration)
            with Live(_fields(snapshot, self.part, listener.silent_s), console=console, auto_refresh=False) as live:
                while not stop.is_set() and time.perf_counter() < until_s and console.is_terminal:
                    stop.wait(0.25)
                    now = follow(robot, listener.messages())
                    live.update(_fields(now, self.part, listener.silent_s), refresh=True)


def _values(snapshot, part: str) -> dict[str, np.ndarray]:
    from thenar.humanoid.state.archive import to_dict

    return {name: value for name, value in to_dict(snapshot).items() if not part or name.partition(".")[0] == part}


def _plain(value: np.ndarray) -> object:
    """For JSON, which has no word for what is not known."""
    if value.dtype == np.float64 and np.isnan(value).any():
        return np.where(np.isnan(value), np.array(None), value.astype(object)).tolist()
    return value.tolist()


def _fields(snapshot, part: str, silent_s: float) -> Group:
    rows: list[dict[str, object]] = [
        {"field": name, "value": _short(value)} for name, value in _values(snapshot, part).items()
    ]
    age = Text(f"heard {silent_s:.1f} s ago" if silent_s < STALE_S else f"stale: silent for {silent_s:.1f} s")
    age.stylize("dim" if silent_s < STALE_S else "bold yellow")
    return Group(make_table("", rows), age)


def _short(value: np.ndarray) -> str:
    if value.ndim == 0:
        return str(value.item())
    if value.ndim == 2 and max(value.shape) > ROWS_OF_A_MATRIX:
        return f"{value.shape[0]} x {value.shape[1]}, norm {np.linalg.norm(value):.4g}"
    return np.array2string(value, precision=4, suppress_small=True, max_line_width=100)


def _status(twin: LiveBody) -> Group:
    """The whole picture, redrawn twice a second."""
    from thenar.humanoid.control.fsm import UpperBody, WholeBody

    health, robot = twin.health(), twin.body.body.robot.snapshot()
    late = 100.0 * health.late_ticks / max(health.ticks, 1)
    state = robot.fsm_state
    rows: list[dict[str, object]] = [
        {
            "what": "state",
            "value": f"{WholeBody(state.whole_body).name}, upper body {UpperBody(state.upper_body).name}",
        },
        {"what": "base", "value": f"{robot.base_data.pos_W.round(3)} m, {robot.base_data.rpy.round(3)} rad"},
        {"what": "force on feet", "value": f"{robot.contact_data.contact_force[:, 2].round(1)} N"},
        {"what": "stable level", "value": state.stable_level},
    ]
    link = twin.node.health() if twin.node else None
    if link is not None:
        peers = ", ".join(peer.who for peer in link.peers) or "nobody yet"
        rows.append({"what": link.where, "value": f"{link.listeners} listeners; {peers}"})
    refused = {**(link.refused if link else {}), **twin.body.body.robot.board.refused}
    head = Text(
        f"humanoid {health.time_s:8.1f} s   real-time factor {health.real_time_factor:.4f}   "
        f"late ticks {health.late_ticks} ({late:.3f} %)"
    )
    reasons = [Text(f"{count} x {why}", style="yellow") for why, count in list(refused.items())[-6:]]
    return Group(head, make_table("", rows), *reasons, Text("Ctrl-C stops it", style="dim"))


@contextlib.contextmanager
def _keys_at_once(wanted: bool) -> Iterator[None]:
    """Let the terminal pass keys on as they are pressed."""
    if not wanted or not os.isatty(sys.stdin.fileno()):
        yield
        return
    import termios

    before = termios.tcgetattr(sys.stdin)
    now = termios.tcgetattr(sys.stdin)
    now[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, now)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
