"""One of many worlds as a `World` of its own: made as it was randomized, and put where its arrays say that it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.batch.randomizing import Factors, own_actuator, own_prop, own_skin
from thenar.sim.physics import Snapshot
from thenar.sim.props import Prop
from thenar.sim.world_config import WorldConfig
from thenar.sim.world_props import STATE
from thenar.touch.sensor.calibration import profile_of
from thenar.twin.world import World


def make_world(
    config: WorldConfig, factors: Factors, props: Sequence[Prop], places: Mapping[str, FloatArray], number: int
) -> World:
    """A world of these hands and objects, as its factors make it, at time 0.

    Args:
        config: Of all worlds.
        factors: Of all worlds.
        props: All objects, those of the scene too.
        places: Where objects begin that were placed, by name [m]. Shapes (worlds, 3).
        number: Which of the worlds.
    """
    first, hands = 0, []
    for spec in config.specs.values():
        own = [own_actuator(one, factors, number, first + k) for k, one in enumerate(spec.actuators)]
        hands.append(replace(spec, actuators=tuple(own)))
        first += len(own)
    begin = {name: tuple(rows[number].tolist()) for name, rows in places.items()}
    placed = [replace(prop, pos_m=begin.get(prop.name, prop.pos_m)) for prop in props]
    skins = {spec.name: own_skin(profile_of(spec, config.profile), factors, number) for spec in hands if spec.pads}
    return World(
        hands,
        props=[own_prop(prop, factors, number, k) for k, prop in enumerate(placed)],
        scene=replace(config.scene, props=()),
        mounts=config.mounts, timestep_s=config.timestep_s, seed=config.seed, profile=config.profile, skin=skins,
    )  # fmt: skip


def put_world(world: World, row: Mapping[str, NDArray[Any]], *, now: int, dt_s: float) -> None:
    """Let a world be where a row of the arrays says that it is.

    Args:
        world: To put there.
        row: Of one world, by name: `mujoco_warp`'s data and dampings, ``motors``, ``pending`` and ``wrists``.
        now: Step of the clock by which commands are due.
        dt_s: A step [s].
    """
    rest, data = world.snapshot(), world.data
    data.qpos[:], data.qvel[:], data.ctrl[:] = row["qpos"], row["qvel"], row["ctrl"]
    physics = rest.physics.copy()
    mujoco.mj_getState(world.model, data, physics, STATE)
    steps = round(float(row["time"]) / dt_s)
    subtree_com, xipos, ximat = (
        row[name].astype(np.float64).reshape(world.model.nbody, -1) for name in ("subtree_com", "xipos", "ximat")
    )
    wrists = rest.wrists.copy()
    for name in row["wrists"].dtype.names or ():
        held = row["wrists"][name]
        wrists[name] = np.roll(held, 1, axis=1) if name.endswith("quat") else held
    pending = _pending(rest, row["motors"], row["pending"], later=steps - now, dt_s=dt_s)
    state = replace(
        rest, physics=physics, motors=_motors(rest, row["motors"], dt_s), pending=pending, wrists=wrists, steps=steps,
        damping=np.concatenate([row["dof_damping"], row["tendon_damping"]]), masses=(subtree_com, xipos, ximat),
    )  # fmt: skip
    world.restore(state)


def _motors(rest: Snapshot, mine: NDArray[np.void], dt_s: float) -> NDArray[np.void]:
    """Motors: what both sides name alike, and what the device counts in steps."""
    records = rest.motors.copy()
    for name in set(records.dtype.names or ()) & set(mine.dtype.names or ()):
        records[name][0] = mine[name]
    records["over_s"], records["still_s"] = mine["over_steps"] * dt_s, mine["still_steps"] * dt_s
    records["zeroing_s"], records["pending_first"] = mine["zeroing_steps"] * dt_s, 0
    return records


def _pending(
    rest: Snapshot, mine: NDArray[np.void], line: NDArray[np.void], *, later: int, dt_s: float
) -> NDArray[np.void]:
    """Commands under way, from rings of which each motor's begins where it stands; due by a clock so much later."""
    pending, slots = rest.pending.copy(), line.shape[1]
    for n in range(len(mine)):
        for k in range(mine["pending_count"][n]):
            entry = line[n, (mine["pending_first"][n] + k) % slots]
            due_s = (int(entry["due_step"]) + later - 0.5) * dt_s
            pending[0, n, k] = (due_s, entry["target_rad"], entry["speed_rad_s"], entry["limit_n"])
    return pending
