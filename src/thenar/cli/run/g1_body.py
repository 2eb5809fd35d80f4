"""``thenar body run g1``: a Unitree G1 on the network, and how it is doing."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from thenar.cli.run.running import show_until_stopped
from thenar.cli.run.serve import announce_page, shown_page
from thenar.cli.show import check_unused, console, listed, make_table, print_json

if TYPE_CHECKING:
    from thenar.cli.run.body import BodyRun
    from thenar.twin.body.g1_twin import LiveG1

CAMERAS = ("head", "left_wrist", "right_wrist")


def run_g1(options: BodyRun, stop: threading.Event) -> None:
    """Run a G1 until told to stop."""
    from thenar.twin.body.cameras import CameraOptions
    from thenar.twin.body.g1_twin import G1Config, serve_g1

    check_unused(options, ("config", "state", "joystick", "ros"), "a GR-2; a G1 has --hands, --scene, --cameras")
    config = G1Config(
        hands=options.hands,
        scene=options.scene,
        pelvis=options.pelvis,
        cameras=None if options.cameras == ("none",) else CameraOptions(names=options.cameras),
        domain=1 if options.domain is None else options.domain,
        interface=options.interface,
        peers=listed(options.peers),
    )
    if not options.json:
        console.print("loading; the very first start compiles for about a minute", style="dim")
    twin = serve_g1(config, page=options.page if options.view else None)
    page = shown_page(twin)
    if page is not None:
        announce_page(page, to_open=False, quiet=options.json)
    with twin:
        show_until_stopped(twin, stop, lambda: _status(twin), duration_s=options.duration, quiet=options.json)
        health = asdict(twin.health())
    if options.json:
        print_json({name: health[name] for name in ("time_s", "real_time_factor", "ticks", "late_ticks", "links")})


def _status(twin: LiveG1) -> Group:
    """State of a running G1, redrawn twice a second."""
    health, robot = twin.health(), twin.robot
    rows: list[dict[str, object]] = [
        {"what": "motors driven by", "value": robot.low_level.driver},
        {"what": "scene", "value": f"{robot.body.world.physics.config.scene.name or 'flat'}, reward {robot.reward:g}"},
    ]
    if robot.balance is not None:
        base = robot.body.robot.base_data
        rows.insert(1, {"what": "pelvis", "value": f"{base.pos_W.round(3)} m, {base.rpy.round(3)} rad"})
    for link in health.links:
        peers = ", ".join(sorted({peer.who for peer in link.peers})) or "nobody yet"
        rows.append({"what": link.where, "value": f"{link.listeners} listeners; {peers}"})
    head = Text(
        f"G1 {health.time_s:8.1f} s   real-time factor {health.real_time_factor:.4f}   "
        f"late ticks {health.late_ticks} ({100.0 * health.late_ticks / max(health.ticks, 1):.3f} %)"
    )
    refused = [(why, count) for link in health.links for why, count in link.refused.items()]
    told = [Text(f"{count} x {why}", style="yellow") for why, count in refused[-6:]]
    told += [Text(why, style="bold red") for why in health.failed]
    clamped = robot.low_level.clamped.most_common(3)
    told += [Text(f"{count} x {joint} clamped to its limit", style="dim") for joint, count in clamped]
    return Group(head, make_table("", rows), *told, Text("Ctrl-C stops it", style="dim"))
