"""What differs from world to world: factors drawn from a seed, and objects, motors and skins that have them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import mujoco
import numpy as np

from thenar.arrays import BoolArray, FloatArray
from thenar.errors import BadValue
from thenar.hands.spec import Actuator
from thenar.sim.props import Mesh, Prop
from thenar.touch.sensor.calibration import Calibration
from thenar.twin.scaled import scaled_actuator, scaled_prop, scaled_skin

STREAM = 20  # of random numbers
NOISES = 1 << 24  # numbers from which noise can go on


@dataclass(frozen=True, kw_only=True, eq=False)
class Factors:
    """Factors of every world; 1 leaves a value as it is. Shapes use w = worlds, o = all objects, m = motors."""

    mass: FloatArray
    """Of objects. Shape (w, o), like the next two."""
    friction: FloatArray
    size: FloatArray
    stiffness: FloatArray
    """Of motors. Shape (w, m), like the next three."""
    strength: FloatArray
    latency: FloatArray
    motor_noise: FloatArray
    skin_stiffness: FloatArray
    """Shape (w, 1), like the next two."""
    skin_gain: FloatArray
    skin_noise: FloatArray


_SPREAD_OF = {
    **{name: name for name in ("mass", "friction", "size")},
    **dict.fromkeys(("stiffness", "strength", "latency"), "motors"),
    **dict.fromkeys(("motor_noise", "skin_noise"), "noise"),
    **dict.fromkeys(("skin_stiffness", "skin_gain"), "skin"),
}


def no_factors(worlds: int, objects: int, motors: int) -> Factors:
    """Worlds that are all alike."""
    columns = {name: objects for name in ("mass", "friction", "size")}
    columns |= dict.fromkeys(("stiffness", "strength", "latency", "motor_noise"), motors)
    return Factors(**{field.name: np.ones((worlds, columns.get(field.name, 1))) for field in fields(Factors)})


def check_factors(given: Factors, wanted: Factors) -> None:
    """Refuse factors that are none, or not those of these worlds."""
    for field in fields(Factors):
        values, shape = np.asarray(getattr(given, field.name)), getattr(wanted, field.name).shape
        if values.shape != shape or not (np.isfinite(values) & (values > 0.0)).all():
            raise BadValue(f"factors.{field.name}", values.shape, f"numbers above 0 of shape {shape}")


def draw(now: Factors, spreads: Mapping[str, float], *, mask: BoolArray, seed: int, count: int) -> Factors:
    """Other factors for some worlds. A world's depend on its number, the seed and the count, not on other worlds.

    Args:
        now: Factors that stay where nothing is drawn.
        spreads: By name, as `Worlds.randomize` takes them.
        mask: Worlds that get others. Shape (w,).
        seed: Of the random numbers.
        count: How often was drawn before.
    """
    for name, spread in spreads.items():
        if not (isinstance(spread, (int, float)) and math.isfinite(spread) and spread >= 0.0):
            raise BadValue(name, spread, "a number not below 0: 0.3 draws factors from 1/1.3 to 1.3")
    made: dict[str, FloatArray] = {}
    for stream, field in enumerate(fields(Factors)):
        old, spread = getattr(now, field.name), spreads[_SPREAD_OF[field.name]]
        key = np.array([seed & 0xFFFFFFFF, STREAM + stream], dtype=np.uint64)
        random = np.random.Generator(np.random.Philox(key=key, counter=[0, count, 0, 0]))
        drawn = np.exp(random.uniform(-1.0, 1.0, old.shape) * math.log1p(spread))
        made[field.name] = np.where(mask[:, None] & (spread > 0.0), drawn, old)
    return Factors(**made)


def model_rows(model: mujoco.MjModel, names: Sequence[str], factors: Factors) -> dict[str, FloatArray]:
    """Fields of the model that objects' mass, size and friction change, with a row per world.

    Args:
        model: Of one world.
        names: Of all objects.
        factors: Of every world.
    """
    worlds = len(factors.mass)
    rows = {
        name: np.repeat(np.asarray(getattr(model, name))[None], worlds, axis=0)
        for name in ("body_mass", "body_inertia", "body_subtreemass", "body_invweight0", "dof_invweight0", "geom_size",
                     "geom_rbound", "geom_aabb", "geom_friction")
    }  # fmt: skip
    for k, name in enumerate(names):
        body = model.body(name).id
        mass, size = factors.mass[:, k, None], factors.size[:, k, None]
        turning = mass * size**2
        for geom in range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body]):
            rows["geom_friction"][:, geom, :1] *= factors.friction[:, k, None]
            rows["geom_rbound"][:, geom] *= size[:, 0]
            for field in ("geom_size", "geom_aabb"):
                rows[field][:, geom] *= size
        if not model.body_dofnum[body]:
            continue  # nailed to the world
        rows["body_mass"][:, body] *= mass[:, 0]
        rows["body_subtreemass"][:, body] *= mass[:, 0]
        rows["body_inertia"][:, body] *= turning
        rows["body_invweight0"][:, body] /= np.hstack([mass, turning])
        first = model.body_dofadr[body]
        rows["dof_invweight0"][:, first : first + 3] /= mass
        rows["dof_invweight0"][:, first + 3 : first + 6] /= turning
    rows["geom_aabb"] = rows["geom_aabb"].reshape(worlds, model.ngeom, 2, 3)
    return rows


def refuse_meshes(props: Sequence[Prop]) -> None:
    """Sizes are those of shapes with numbers."""
    meshes = [prop.name for prop in props if isinstance(prop, Mesh)]
    if meshes:
        raise BadValue("size", ", ".join(meshes), "0 where there are meshes: theirs is the same in every world")


def motor_rows(base: Any, drives: Any, factors: Factors) -> tuple[Any, Any]:
    """Records of `motors.Motor` and `motors.Drive` of every world. Shapes (w, m)."""
    worlds = len(factors.stiffness)
    motors, wires = (np.repeat(rows.reshape(1, -1), worlds, axis=0) for rows in (base, drives))
    for name in ("spring_n", "spring_cubic_n", "stiffness_nm_rad"):
        motors[name] *= factors.stiffness
    motors["torque_per_n"] *= factors.strength
    wires["latency_steps"] *= factors.latency
    for name in ("angle_noise_rad", "force_noise_n"):
        wires[name] *= factors.motor_noise
    return motors, wires


def own_prop(prop: Prop, factors: Factors, world: int, number: int) -> Prop:
    """An object of one world."""
    return scaled_prop(prop, **_own(factors, world, number, "mass", "friction", "size"))


def own_actuator(actuator: Actuator, factors: Factors, world: int, number: int) -> Actuator:
    """A motor of one world."""
    return scaled_actuator(actuator, **_own(factors, world, number, "stiffness", "strength", "latency", "motor_noise"))


def own_skin(calibration: Calibration, factors: Factors, world: int) -> Calibration:
    """The skin of one world."""
    return scaled_skin(calibration, **_own(factors, world, 0, "skin_stiffness", "skin_gain", "skin_noise"))


def _own(factors: Factors, world: int, number: int, *names: str) -> dict[str, float]:
    return {name: float(getattr(factors, name)[world, number]) for name in names}
