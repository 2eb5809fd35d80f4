"""Speed beside the bare engine, and endurance: the figures behind `make bench`."""

from __future__ import annotations

import time
from dataclasses import dataclass

import mujoco
import numpy as np

from thenar.errors import SimulationDiverged
from thenar.hands.rotations import quat_wxyz_from_rpy
from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand, HandState
from thenar.sim.props import Box, Capsule, Cylinder, Ellipsoid, Prop, Sphere
from thenar.twin.world import World

ROUNDS = 5
LOOK_EVERY_S = 0.05
CYCLE_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Speed:
    """How fast one world runs."""

    world: str
    steps_per_s: float
    real_time: float
    """Simulated seconds per second."""
    bare_per_s: float
    """Steps per second of the bare loop."""
    ratio: float
    """World.advance over a bare mj_step loop."""


@dataclass(frozen=True, kw_only=True)
class Soak:
    """What a long run of random commands did."""

    hand: str
    seconds: float
    contacts: int
    """Contacts seen, over all looks."""
    drift_deg: float
    """Largest error of a coupling or tendon limit [degrees]."""
    overlap_mm: float
    """Deepest overlap of the hand with anything [mm]."""
    diverged: int
    """How often the engine warned or a value was not a number."""


def four_objects(x_m: float = 0.15) -> list[Prop]:
    """A ball, a box, a cylinder and an egg above two palms at +-``x_m``."""
    return [
        Sphere(radius_m=0.03, pos_m=(x_m, 0.03, 0.06)),
        Box(size_m=(0.04, 0.04, 0.04), pos_m=(-x_m, 0.03, 0.06)),
        Cylinder(radius_m=0.02, length_m=0.08, pos_m=(x_m, 0.02, 0.14), rpy_rad=(0.0, np.pi / 2, 0.0)),
        Ellipsoid(pos_m=(-x_m, 0.05, 0.16)),
    ]


def measure_speed() -> list[Speed]:
    """Steps per second of typical worlds, each beside `mj_step` on the same compiled model."""
    worlds = {
        "two Inspire hands, four objects": World(["inspire_left", "inspire_right"], props=four_objects()),
        "one Inspire hand, one ball": World("inspire_right", props=[Sphere(pos_m=(0.0, 0.03, 0.05))]),
        "Shadow hand, one ball": World("shadow_right", props=[Sphere(pos_m=(0.0, 0.05, 0.06))]),
    }
    return [_speed(name, world) for name, world in worlds.items()]


def _speed(name: str, world: World, *, seconds: float = 2.0) -> Speed:
    for hand in world.hand_names:
        world.command(hand, HandCommand.closing(0.7, speed=0.5))
    world.advance(2.0)
    start = world.snapshot()
    steps = round(seconds / world.timestep_s)
    ours, bare = [], []
    for _ in range(ROUNDS):  # turn by turn, so that a busy machine hurts both alike
        world.restore(start)
        began = time.perf_counter()
        world.advance(seconds)
        ours.append(time.perf_counter() - began)
        world.restore(start)
        began = time.perf_counter()
        for _ in range(steps):
            mujoco.mj_step(world.model, world.data)
        bare.append(time.perf_counter() - began)
    ratio = float(np.median(np.array(bare) / np.array(ours)))
    fastest = min(ours)
    return Speed(
        world=name,
        steps_per_s=round(steps / fastest),
        real_time=round(seconds / fastest, 1),
        bare_per_s=round(steps / min(bare)),
        ratio=round(ratio, 3),
    )


def soak(hand: str, *, seconds: float, seed: int = 0) -> Soak:
    """Random commands with objects in the hand, watched for everything that must not happen.

    Every ten seconds the hand opens and the objects come back into it from above.
    """
    props: list[Prop] = [
        Sphere(name="ball", radius_m=0.026, mass_kg=0.06, pos_m=(0.0, 0.03, 0.05)),
        Box(name="block", size_m=(0.03, 0.03, 0.03), mass_kg=0.04, pos_m=(0.01, 0.06, 0.10)),
        Capsule(
            name="stick",
            radius_m=0.010,
            length_m=0.06,
            mass_kg=0.03,
            pos_m=(0.0, 0.04, 0.14),
            rpy_rad=(0.0, np.pi / 2, 0.0),
        ),
    ]
    world = World(hand, props=props, seed=seed)
    rng = np.random.default_rng(seed)
    drift_rad = overlap_m = 0.0
    contacts = diverged = 0
    for tick in range(round(seconds / LOOK_EVERY_S)):
        phase_s = (tick * LOOK_EVERY_S) % CYCLE_S
        if phase_s < LOOK_EVERY_S / 2:
            world.command(hand, HandCommand.closing(0.0, speed=1.0))
        if abs(phase_s - 2.0) < LOOK_EVERY_S / 2:
            _put_back(world, props)
        if phase_s > 2.0 and tick % 8 == 0:
            world.command(hand, _random_command(world.hand(hand), rng))
        try:
            world.advance(LOOK_EVERY_S)
        except SimulationDiverged:
            diverged += 1
            world.reset()
        state = world.state(hand)
        drift_rad = max(drift_rad, coupling_error_rad(world.hand(hand), state))
        touching = world.contacts(hand)
        contacts += len(touching)
        overlap_m = max(overlap_m, float(touching.depth_m.max(initial=0.0)))
    return Soak(
        hand=hand,
        seconds=seconds,
        contacts=contacts,
        drift_deg=round(float(np.degrees(drift_rad)), 4),
        overlap_mm=round(1e3 * overlap_m, 3),
        diverged=diverged,
    )


def _put_back(world: World, props: list[Prop]) -> None:
    """Free objects back to where they began, at rest."""
    for prop in props:
        world.props.move(prop.name, pos_m=prop.pos_m, quat_wxyz=tuple(quat_wxyz_from_rpy(prop.rpy_rad)))


def _random_command(spec: HandSpec, rng: np.random.Generator) -> HandCommand:
    """Any target, any speed, any force limit."""
    return HandCommand.to(
        rng.uniform([a.lower_rad for a in spec.actuators], [a.upper_rad for a in spec.actuators]),
        speed_rad_s=rng.uniform(0.05, 1.0) * spec.top_speed_rad_s,
        force_limit_n=float(rng.uniform(0.5, 30.0)),
    )


def coupling_error_rad(spec: HandSpec, state: HandState) -> float:
    """How far the worst coupled joint, or the worst tendon limit, is off [rad]."""
    angle = dict(zip(state.joint_names, state.joint_rad, strict=True))
    couplings = [abs(angle[c.joint] - c.ratio * angle[c.driver] - c.offset_rad) for c in spec.couplings]
    sums = [(t, sum(weight * angle[joint] for joint, weight in t.joints)) for t in spec.tendons]
    limits = [t.lower_rad - total for t, total in sums if t.lower_rad is not None]
    return max([0.0, *couplings, *limits])
