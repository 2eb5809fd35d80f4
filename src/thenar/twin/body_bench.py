"""A humanoid in real time, measured: six tasks at the control rate, the network on, and how late it is."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from thenar.humanoid.controller import BodyController
from thenar.humanoid.fsm import WholeBody
from thenar.humanoid.robot_data import RobotData
from thenar.humanoid.task import Task
from thenar.twin.body import BodyTwin
from thenar.twin.body_world import BodyWorld
from thenar.twin.serve_body import LiveBody
from thenar.wire.link_aurora import AuroraNode


class ReadTask(Task):
    """Reads what a whole-body controller reads, at the control rate."""

    def execute(self, data: RobotData) -> None:
        """Mass matrix, nonlinear effects, feet and hands."""
        kindyn = data.kindyn_data
        self.seen = kindyn.M, kindyn.nle, kindyn.feet_W, kindyn.hands_B


@dataclass(frozen=True, kw_only=True)
class LiveBodyResult:
    """How a humanoid in real time did."""

    seconds: float
    ticks: int
    late_ticks: int
    """That began more than 5 ms late."""
    late_percent: float
    real_time_factor: float
    tick_us: float
    """Mean time of a tick: state, estimate, tasks, commands, reports and physics."""
    tasks: int
    stands: bool


def soak_body(seconds: float, *, domain: int = 123) -> LiveBodyResult:
    """Stand in real time with Fourier's hands, five tasks beside the balance, and reports on the network."""
    world = BodyWorld(hands=("fourier_left", "fourier_right"))
    controller = BodyController(world.robot, fixed=[ReadTask() for _ in range(5)])
    node = AuroraNode(domain=domain)
    body = BodyTwin(world, controller, link=node)
    controller.change(WholeBody.PdStand)
    began_s = time.perf_counter()
    body.advance(1.0)  # as fast as it can: what a tick costs
    tick_us = 1e6 * (time.perf_counter() - began_s) * world.world.timestep_s
    with LiveBody(body, node) as live:
        time.sleep(seconds)
        health = live.health()
    base = world.robot.base_data
    return LiveBodyResult(
        seconds=round(health.wall_s, 1),
        ticks=health.ticks,
        late_ticks=health.late_ticks,
        late_percent=round(100.0 * health.late_ticks / max(health.ticks, 1), 4),
        real_time_factor=round(health.real_time_factor, 5),
        tick_us=round(tick_us, 1),
        tasks=6,
        stands=bool(base.pos_W[2] > 0.9 and math.hypot(base.rpy[0], base.rpy[1]) < 0.1),
    )
