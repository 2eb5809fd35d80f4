"""A humanoid measured: a minute on its feet with pushes, and in real time with six tasks and the network on."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.robot_data import UpdateCost
from thenar.humanoid.control.controller import BodyController
from thenar.humanoid.control.fsm import WholeBody
from thenar.humanoid.control.task import Task
from thenar.humanoid.state.robot_data import RobotData
from thenar.twin.body.body_loop import BodyTwin
from thenar.twin.body.body_world import BodyWorld
from thenar.twin.body.g1_twin import G1Config, G1Robot, build_g1
from thenar.twin.body.live_body import LiveBody
from thenar.wire.links.aurora_link import AuroraNode

PUSHES_N = {10.0: (-50.0, 0.0, 0.0), 20.0: (50.0, 0.0, 0.0), 30.0: (0.0, -50.0, 0.0), 40.0: (0.0, 50.0, 0.0)}
"""From the front, the back, the left and the right, by the time they begin [s]."""
PUSH_S = 0.1


@dataclass(frozen=True, kw_only=True)
class StandResult:
    """How a humanoid stood that was pushed; shares are of its weight, or of all samples."""

    seconds: float
    stands: bool
    rest_true_percent: float
    """Largest difference between the ground's true force and the weight, at rest."""
    rest_estimated_percent: float
    """The same of the estimated force."""
    force_rms_percent: float
    """RMS over the whole time of the difference between estimated and true force on a foot."""
    contact_right_percent: float
    """Samples in which the probability of contact said what was true."""


def standing_gr2() -> BodyTwin:
    """A GR-2 in balance."""
    twin = BodyTwin(BodyWorld())
    twin.controller.change(WholeBody.PdStand)
    return twin


def standing_g1(hands: tuple[str, ...] = ()) -> G1Robot:
    """A G1 in balance."""
    return build_g1(G1Config(pelvis="free", hands=hands))


def measure_stand(seconds: float = 60.0, twin: BodyTwin | G1Robot | None = None) -> StandResult:
    """Stand on two feet, pushed at the torso with 50 N for 0.1 s from four sides; a GR-2 unless another is given."""
    twin = twin or standing_gr2()
    world = twin.body
    robot, step_s = world.robot, world.world.timestep_s
    twin.advance(1.0)
    samples, began_s = round(seconds / step_s), world.world.time_s
    true, estimated, told = np.zeros((samples, 2, 6)), np.zeros((samples, 2, 6)), np.zeros((samples, 2))
    at_s = began_s + step_s * np.arange(samples)
    for sample, now_s in enumerate(at_s):
        pushing = [force for start_s, force in PUSHES_N.items() if start_s <= now_s < start_s + PUSH_S]
        world.push(pushing[0] if pushing else (0.0, 0.0, 0.0))
        true[sample] = world.foot_forces()
        twin.advance(step_s)
        estimated[sample], told[sample] = robot.contact_data.contact_force, robot.contact_data.contact_prob
    weight_n = robot.kindyn_data.m * 9.81
    rest = np.any([(start_s + 5.0 < at_s) & (at_s < start_s + 10.0) for start_s in PUSHES_N], axis=0)
    off = np.linalg.norm((estimated - true)[:, :, :3], axis=2)
    at_rest = [100.0 * np.abs(force[rest, :, 2].sum(axis=1) / weight_n - 1.0).max() for force in (true, estimated)]
    return StandResult(
        seconds=seconds,
        stands=_stands(robot),
        rest_true_percent=round(float(at_rest[0]), 3),
        rest_estimated_percent=round(float(at_rest[1]), 3),
        force_rms_percent=round(100.0 * float(np.sqrt((off**2).mean())) / weight_n, 3),
        contact_right_percent=round(100.0 * float(((told > 0.5) == (true[:, :, 2] > 0.0)).mean()), 3),
    )


def withstands(twin: BodyTwin | G1Robot, impulse_ns: tuple[float, float, float]) -> bool:
    """Whether a robot that stands still stands two seconds after a push at the torso of 0.1 s [N s]."""
    twin.body.push(np.array(impulse_ns) / PUSH_S)
    twin.advance(PUSH_S)
    twin.body.push((0.0, 0.0, 0.0))
    twin.advance(2.0)
    return _stands(twin.body.robot)


def push_limit_ns(twin: BodyTwin | G1Robot, direction: tuple[float, float, float]) -> float:
    """The largest impulse of whole newton seconds from one side that a robot withstands, up to 40 [N s]."""
    low, high = 0, 40
    while high - low > 1:
        middle = (low + high) // 2
        twin.reset()
        twin.advance(0.3)
        x, y, z = (middle * part for part in direction)
        low, high = (middle, high) if withstands(twin, (x, y, z)) else (low, middle)
    return float(low)


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
    tick_cpu_us: float
    """The same, without the time in which the machine did something else."""
    tasks: int
    stands: bool


def soak_body(seconds: float, *, domain: int = 123) -> LiveBodyResult:
    """Stand in real time with Fourier's hands, five tasks beside the balance, and reports on the network."""
    world = BodyWorld(hands=("fourier_left", "fourier_right"))
    controller = BodyController(world.robot, fixed=[ReadTask() for _ in range(5)])
    node = AuroraNode(domain=domain)
    body = BodyTwin(world, controller, link=node)
    controller.change(WholeBody.PdStand)
    body.advance(0.1)  # what is compiled is loaded
    began_s, cpu_s = time.perf_counter(), time.thread_time()
    body.advance(1.0)  # as fast as it can: what a tick costs
    tick_us = 1e6 * (time.perf_counter() - began_s) * world.world.timestep_s
    tick_cpu_us = 1e6 * (time.thread_time() - cpu_s) * world.world.timestep_s
    with LiveBody(body, node) as live:
        time.sleep(seconds)
        health = live.health()
    return LiveBodyResult(
        seconds=round(health.wall_s, 1),
        ticks=health.ticks,
        late_ticks=health.late_ticks,
        late_percent=round(100.0 * health.late_ticks / max(health.ticks, 1), 4),
        real_time_factor=round(health.real_time_factor, 5),
        tick_us=round(tick_us, 1),
        tick_cpu_us=round(tick_cpu_us, 1),
        tasks=6,
        stands=_stands(world.robot),
    )


def _stands(robot: RobotData) -> bool:
    base, default_m = robot.base_data, robot.default_kindyn().q[2]
    return bool(base.pos_W[2] > 0.9 * default_m and math.hypot(base.rpy[0], base.rpy[1]) < 0.1)


def write_body_report(
    folder: Path, updates: Sequence[UpdateCost], stand: StandResult, live: Sequence[LiveBodyResult]
) -> Path:
    """Write ``robotdata.md``: every figure beside what it must keep to; returns its path."""
    full, subset = updates
    rows = [
        (f"full update, {full.what}", f"{full.over_bare:g} x Pinocchio's bare calls", "2.5 x"),
        ("the same", f"{full.over_plain:g} x straightforward numpy", "0.25 x"),
        (f"subset update: {subset.what}", f"{subset.over_bare:g} x Pinocchio's bare calls", "1.5 x"),
        (f"{stand.seconds:g} s on its feet, 50 N for 0.1 s from four sides", _yes(stand.stands), "stands"),
        ("true force on the feet at rest against the weight", f"{stand.rest_true_percent:g} %", "1 %"),
        ("estimated force on the feet at rest against the weight", f"{stand.rest_estimated_percent:g} %", "1 %"),
        ("estimated against true force on a foot, RMS", f"{stand.force_rms_percent:g} % of the weight", "5 %"),
        ("probability of contact right", f"{stand.contact_right_percent:g} %", "99 %"),
    ]
    for result in live:
        what = f"400 Hz, {result.tasks} tasks, hands, network, {result.seconds:g} s: late ticks"
        rows.append((what, f"{result.late_percent:g} %", "0.1 %"))
        rows.append(("mean CPU time of such a tick", f"{result.tick_cpu_us / 1e3:.2f} ms", "2.5 ms"))
    table = ["| what | measured | bar |", "| --- | --- | --- |", *("| " + " | ".join(row) + " |" for row in rows)]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "robotdata.md"
    path.write_text("\n".join(table) + "\n", encoding="utf-8")
    return path


def _yes(stands: bool) -> str:
    return "stands" if stands else "fell"
