"""``thenar body``: run a humanoid, or print everything about one that runs."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import tyro
from rich.console import Group
from rich.live import Live
from rich.text import Text

from thenar.cli.run.g1_body import CAMERAS, run_g1
from thenar.cli.run.running import check_duration, end_of, show_until_stopped, stop_on_signals
from thenar.cli.run.serve import announce_page, shown_page
from thenar.cli.show import check_unused, console, listed, make_table, print_json
from thenar.errors import BadCommand
from thenar.twin.serve_config import PageOptions

if TYPE_CHECKING:
    from thenar.twin.body.body_watch import BodyWatch
    from thenar.twin.body.live_body import LiveBody

MAX_ROWS = 6  # of a matrix that is printed whole
STALE_S = 0.5  # a robot publishes a hundred times a second


@dataclass(frozen=True)
class _Options:
    """Options of both actions."""

    config: Path | None = None
    """YAML file in the vendor's shape; without one a GR-2 with its hands and four examples."""
    domain: int | None = None
    """DDS domain, in place of the configuration's (GR-2: 123, G1: 1)."""
    interface: str = "lo"
    """Network interface."""
    peers: str = ""
    """Addresses to look for clients at where multicast does not reach, separated by commas."""
    ros: bool = False
    """Spell names as ROS 2 does."""
    duration: float = 0.0
    """Seconds to run; 0 runs until Ctrl-C."""


@dataclass(frozen=True)
class BodyRun(_Options):
    """Run a humanoid: a GR-2 for fourier-aurora-client, or a G1 for xr_teleoperate and Unitree's SDKs."""

    robot: tyro.conf.Positional[Literal["gr2", "g1"]] = "gr2"
    """Which one. A G1 is on domain 1 unless another is named."""
    hands: tuple[str, ...] = ()
    """G1: a pair by its short name (inspire, inspire_dfx, dex3, dex1, brainco), or hands of the catalogue; rubber hands
    without."""
    scene: str = "flat"
    """G1: flat, pick_place_cylinder, pick_place_redblock or stack_rgyblock."""
    pelvis: Literal["fixed", "free"] = "fixed"
    """G1: fixed as in Unitree's simulator, or free: it stands in balance, and can fall."""
    cameras: tuple[str, ...] = CAMERAS
    """G1: pictures that are served, separated by commas; none for none."""
    joystick: Literal["none", "keyboard", "gamepad"] = "none"
    """Input of the operator: keys 0 to 9 are states, w s a d q e change the velocity."""
    state: int | None = None
    """Whole-body state to go to at the start."""
    view: bool = False
    """Show it in a browser."""
    page: Annotated[PageOptions, tyro.conf.arg(name="")] = field(default_factory=PageOptions)
    json: bool = False
    """Print the health as JSON when it ends, and nothing else."""

    def run(self) -> None:
        """Run it until told to stop."""
        from thenar.humanoid.control.fsm import USER_CONTROLLERS, WholeBody
        from thenar.humanoid.control.joystick import JOYSTICKS, unbuffered_keys
        from thenar.twin.body.live_body import serve_body

        check_duration(self.duration)
        if not self.view:
            check_unused(self.page, tuple(vars(self.page)), "a page: --view")
        stop = stop_on_signals()
        if self.robot == "g1":
            run_g1(self, stop)
            return
        check_unused(self, ("hands", "scene", "pelvis", "cameras"), "a G1; a GR-2 stands, and has a --config")
        twin = serve_body(
            self.config,
            interface=self.interface,
            peers=listed(self.peers),
            domain=self.domain,
            ros=self.ros,
            joystick=JOYSTICKS[self.joystick]() if self.joystick in JOYSTICKS else None,
            page=self.page if self.view else None,
        )
        page = shown_page(twin)
        if page is not None:
            announce_page(page, to_open=False, quiet=self.json)
        if self.state is not None:  # before any client sees another one
            try:
                if self.state in USER_CONTROLLERS:
                    twin.body.controller.change(WholeBody.JointStand)
                twin.body.controller.change(self.state)
            except BadCommand:
                twin.stop()
                raise
        with twin, unbuffered_keys(self.joystick == "keyboard"):
            show_until_stopped(twin, stop, lambda: _status(twin), duration_s=self.duration, quiet=self.json)
            health = asdict(twin.health())
        if self.json:
            print_json({name: health[name] for name in ("time_s", "real_time_factor", "ticks", "late_ticks")})


@dataclass(frozen=True)
class BodyPrint(_Options):
    """Print every field of RobotData of a humanoid that runs, a twin or a real robot, live."""

    part: str = ""
    """Part to print, such as base_data; all of them when left out."""
    json: bool = False
    """Print it once, as JSON."""

    def run(self) -> None:
        """Print until told to stop."""
        from thenar.twin.body.body_watch import BodyWatch, check_part

        check_duration(self.duration)
        check_part(self.part)
        stop, peers = stop_on_signals(), listed(self.peers)
        with BodyWatch(self.config, domain=self.domain, ros=self.ros, interface=self.interface, peers=peers) as watch:
            if self.json:
                print_json(watch.read(self.part))
                return
            until_s = end_of(self.duration)
            with Live(_fields(watch, self.part), console=console, auto_refresh=False) as live:
                while not stop.is_set() and time.perf_counter() < until_s and console.is_terminal:
                    stop.wait(0.25)
                    live.update(_fields(watch, self.part), refresh=True)


@dataclass(frozen=True)
class BodyReset(_Options):
    """Let a twin that runs begin anew: upright on its gantry, in the state Default. Its clients stay connected."""

    def run(self) -> None:
        """Send it."""
        from thenar.humanoid.control.robot_config import load_config
        from thenar.wire.clients.aurora_client import send_reset

        check_unused(self, ("duration",), "body run or body print: a reset is sent once")
        settings = load_config(self.config)
        send_reset(
            domain=settings.domain if self.domain is None else self.domain,
            namespace=settings.namespace,
            ros=self.ros,
            interface=self.interface,
            peers=listed(self.peers),
        )


@dataclass(frozen=True)
class Body:
    """Run a humanoid that its maker's programs connect to as to the robot; print everything about one, or reset it.

    For example:

    thenar body run

    thenar body run g1 --hands inspire --scene pick_place_cylinder --view

    thenar body run --view

    thenar body run --config robot.yaml --joystick keyboard

    thenar body print --part kindyn_data

    thenar body reset
    """

    action: Annotated[
        Annotated[BodyRun, tyro.conf.subcommand("run")]
        | Annotated[BodyPrint, tyro.conf.subcommand("print")]
        | Annotated[BodyReset, tyro.conf.subcommand("reset")],
        tyro.conf.arg(name=""),
    ]

    def run(self) -> None:
        """Run or print."""
        self.action.run()


def _fields(watch: BodyWatch, part: str) -> Group:
    rows: list[dict[str, object]] = [{"field": name, "value": _text(v)} for name, v in watch.read(part).items()]
    silent_s = watch.silent_s
    if silent_s < STALE_S:
        return Group(make_table("", rows), Text(f"last message {silent_s:.1f} s ago", style="dim"))
    return Group(make_table("", rows), Text(f"stale: silent for {silent_s:.1f} s", style="bold yellow"))


def _text(value: np.ndarray) -> str:
    if value.ndim == 0:
        return str(value.item())
    if value.ndim == 2 and max(value.shape) > MAX_ROWS:
        return f"{value.shape[0]} x {value.shape[1]}, norm {np.linalg.norm(value):.4g}"
    return np.array2string(value, precision=4, suppress_small=True, max_line_width=100)


def _status(twin: LiveBody) -> Group:
    """State of a running humanoid, redrawn twice a second."""
    health, robot, controller = twin.health(), twin.body.body.robot.snapshot(), twin.body.controller
    rows: list[dict[str, object]] = [
        {"what": "state", "value": f"{controller.whole_body.name}, upper body {controller.upper_body.name}"},
        {"what": "base", "value": f"{robot.base_data.pos_W.round(3)} m, {robot.base_data.rpy.round(3)} rad"},
        {"what": "force on feet", "value": f"{robot.contact_data.contact_force[:, 2].round(1)} N"},
        {"what": "stable level", "value": robot.fsm_state.stable_level},
    ]
    refused = controller.robot.board.refused
    if twin.node is not None:
        link = twin.node.health()
        peers = ", ".join(peer.who for peer in link.peers) or "nobody yet"
        rows.append({"what": link.where, "value": f"{link.listeners} listeners; {peers}"})
        refused = {**link.refused, **refused}
    head = Text(
        f"humanoid {health.time_s:8.1f} s   real-time factor {health.real_time_factor:.4f}   "
        f"late ticks {health.late_ticks} ({100.0 * health.late_ticks / max(health.ticks, 1):.3f} %)"
    )
    reasons = [Text(f"{count} x {why}", style="yellow") for why, count in list(refused.items())[-6:]]
    clamped = controller.robot.board.clamped
    reasons += [Text(f"{count} x {joint} clamped to its limit", style="dim") for joint, count in clamped.most_common(3)]
    return Group(head, make_table("", rows), *reasons, Text("Ctrl-C stops it", style="dim"))
