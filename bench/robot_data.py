"""What an update costs, beside Pinocchio's bare calls and a straightforward implementation, all in one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.oracles.plain_body import PlainBody
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.model.pinocchio_model import pin
from thenar.humanoid.state.kindyn import ALIGNED, KindynData, LinkData, Pair
from thenar.humanoid.state.robot_data import RobotData

SUBSET_LINKS = (*GR2.roles.feet, GR2.roles.torso)
ROUNDS = 150


@dataclass(frozen=True, kw_only=True)
class UpdateCost:
    """Time of one update, the fastest of several rounds."""

    what: str
    us: float
    bare_us: float
    """Pinocchio's calls for the same fields, nothing kept."""
    over_bare: float
    plain_us: float | None = None
    """A straightforward implementation in numpy."""
    over_plain: float | None = None


def measure_updates() -> list[UpdateCost]:
    """Full and subset updates of a GR-2 in motion."""
    rng = np.random.default_rng(0)
    q = RobotData().gener_state.q.copy()
    q[7:] = rng.uniform(GR2.per_joint("lower_rad"), GR2.per_joint("upper_rad"))
    qd = rng.normal(size=GR2.nv)
    full, subset, plain = RobotData(eager="all"), RobotData(), PlainBody(GR2)
    names = [name for pair in (GR2.roles.feet, GR2.roles.hips, GR2.roles.hands) for name in pair]
    names += [GR2.roles.base, GR2.roles.head, GR2.roles.torso]
    # Rounds of all take turns, so that a busy moment of the machine does not favour one of them.
    full_us, bare_full_us, subset_us, bare_subset_us, plain_us = _fastest_us(
        lambda: _read(full, q, qd),
        _bare_full(full, names, q, qd),
        lambda: _read_subset(subset, q, qd),
        _bare_subset(full, q, qd),
        lambda: plain.fields(q, qd),
        calls=(10, 10, 20, 20, 1),
    )
    return [
        UpdateCost(
            what="every field, 18 links",
            us=round(full_us, 1),
            bare_us=round(bare_full_us, 1),
            over_bare=round(full_us / bare_full_us, 2),
            plain_us=round(plain_us, 1),
            over_plain=round(full_us / plain_us, 3),
        ),
        UpdateCost(
            what="M, nonlinear effects, 3 links",
            us=round(subset_us, 1),
            bare_us=round(bare_subset_us, 1),
            over_bare=round(subset_us / bare_subset_us, 2),
        ),
    ]


def _read_subset(robot: RobotData, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, ...]:
    """Update, then read what a small controller reads."""
    kindyn = robot.update(0.0, q=q, qd=qd).kindyn_data
    left, right = kindyn.feet_W
    return kindyn.M, kindyn.nle, left.twist, right.twist, kindyn.torso_W.twist


def _read(robot: RobotData, q: np.ndarray, qd: np.ndarray) -> None:
    """Update, then read everything; of links the twist too, which waits until it is read."""
    kindyn = robot.update(0.0, q=q, qd=qd).kindyn_data
    for name in KindynData.FIELDS:
        value = getattr(kindyn, name)
        if isinstance(value, Pair):
            _ = value.left.twist, value.right.twist
        elif isinstance(value, LinkData):
            _ = value.twist


def _bare_full(robot: RobotData, names: list[str], q: np.ndarray, qd: np.ndarray) -> Callable[[], None]:
    model = robot.solver.model
    terms, world, based = (model.createData() for _ in range(3))
    frames = [model.getFrameId(name) for name in names]

    def calls() -> None:
        pin.crba(model, terms, q)
        pin.computeMinverse(model, terms, q)
        pin.computeCoriolisMatrix(model, terms, q, qd)
        pin.computeGeneralizedGravity(model, terms, q)
        pin.nonLinearEffects(model, terms, q, qd)
        pin.dccrba(model, terms, q, qd)
        for data in (world, based):
            _bare_links(model, data, frames, q, qd)

    return calls


def _bare_subset(robot: RobotData, q: np.ndarray, qd: np.ndarray) -> Callable[[], None]:
    model = robot.solver.model
    terms, world = model.createData(), model.createData()
    frames = [model.getFrameId(name) for name in SUBSET_LINKS]

    def calls() -> None:
        pin.crba(model, terms, q)
        pin.nonLinearEffects(model, terms, q, qd)
        _bare_links(model, world, frames, q, qd)

    return calls


def _bare_links(model, data, frames: list[int], q: np.ndarray, qd: np.ndarray) -> None:
    pin.computeJointJacobiansTimeVariation(model, data, q, qd)
    pin.updateFramePlacements(model, data)
    for frame in frames:
        _ = data.oMf[frame]
        pin.getFrameVelocity(model, data, frame, ALIGNED)
        pin.getFrameJacobian(model, data, frame, ALIGNED)
        pin.getFrameJacobianTimeVariation(model, data, frame, ALIGNED)


def _fastest_us(*works: Callable[[], object], calls: tuple[int, ...]) -> list[float]:
    """Time of each work, the fastest of its rounds; ``calls`` is how often a round does it."""
    best = [np.inf] * len(works)
    for _ in range(ROUNDS):
        for number, (work, count) in enumerate(zip(works, calls, strict=True)):
            began_s = time.perf_counter()
            for _ in range(count):
                work()
            best[number] = min(best[number], (time.perf_counter() - began_s) / count)
    return [1e6 * seconds for seconds in best]
