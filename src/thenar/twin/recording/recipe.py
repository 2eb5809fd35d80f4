"""What a world was made of and where it stood, as text: a recording carries it, a replay builds the world from it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from thenar import hands
from thenar.errors import BadFile, BadValue
from thenar.hands.motors_file import motor_values
from thenar.hands.spec import HandSpec
from thenar.signals import Closing, HandCommand, TorqueLaw
from thenar.signals.fault_kinds import Fault
from thenar.sim import scenes
from thenar.sim.physics import Snapshot
from thenar.sim.props import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere
from thenar.sim.scenes import Mount, Scene
from thenar.touch.sensor.calibration import Calibration, PadCalibration
from thenar.touch.sensor.learned import LearnedPad
from thenar.twin.world import World

_CLASSES = {
    one.__name__: one
    for one in (
        *(Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere, Mount, Scene),
        *(Calibration, PadCalibration, LearnedPad, HandCommand, TorqueLaw, Closing, Snapshot, Fault),
    )
}
_KIND = "_kind"  # key that marks what is not plain JSON
_encode = json.JSONEncoder(separators=(",", ":")).encode


def to_text(value: Any) -> str:
    """Plain values, arrays and the dataclasses of a world as JSON, every number to its last bit."""
    return _encode(_plain(value))


def from_text(text: str) -> Any:
    """The value that `to_text` was given; lists come back as tuples."""
    try:
        return _made(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadValue("recorded value", text[:80], "what a recording of this version holds") from error


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):  # most of a command: asked first
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.ndarray):
        if value.dtype.names or value.size > 64:
            return {_KIND: "npy", "data": base64.b64encode(_npy(value)).decode()}
        return {_KIND: "array", "dtype": value.dtype.str, "shape": value.shape, "data": value.ravel().tolist()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value) and type(value).__name__ in _CLASSES:
        return {_KIND: type(value).__name__} | {name: _plain(getattr(value, name)) for name in _names(type(value))}
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    raise BadValue("value to record", type(value).__name__, "plain values, arrays, props, mounts, scenes and commands")


@lru_cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_made(part) for part in value)
    if not isinstance(value, dict):
        return value
    kind = value.get(_KIND)
    parts = {key: part for key, part in value.items() if key != _KIND}
    if kind == "npy":
        return np.load(io.BytesIO(base64.b64decode(parts["data"])), allow_pickle=False)
    if kind == "array":
        return np.array(parts["data"], dtype=parts["dtype"]).reshape(parts["shape"])
    made = {key: _made(part) for key, part in parts.items()}
    return made if kind is None else _CLASSES[kind](**made)


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def world_recipe(world: World) -> dict[str, Any]:
    """What a world is made of, or why that cannot be written down."""
    config = world.physics.config
    why_not = ""
    if config.robot is not None:
        why_not = "a robot holds the hands, and its computer is not part of the recording"
    names = [spec.name for spec in config.hands]
    own = [spec.name for spec in config.hands if not _is_known(spec)]
    if own:
        why_not = f"{', '.join(own)} is not a hand of the catalogue"
    meshes = [prop.file for prop in (*config.scene.props, *config.props) if isinstance(prop, Mesh)]
    name = scenes.name_of(config.scene)
    recipe: dict[str, Any] = {"hands": names, "seed": config.seed, "profile": config.profile}
    recipe |= {"timestep_s": config.timestep_s, "why_not": why_not}
    if not why_not:
        recipe |= {
            "scene": name if name in scenes.names() else config.scene,
            "props": config.props,
            "mounts": dict(config.mounts),
            "skin": {hand: world.calibration(hand) for hand in names if world.hand(hand).pads},
            "motors": {spec.name: motor_values(spec, hands.load(spec.name)) for spec in config.hands},
            "meshes": {str(file): _digest(Path(file)) for file in meshes},
        }
    return recipe


def build_world(recipe: dict[str, Any]) -> World:
    """A world by its recipe, at time 0."""
    if recipe["why_not"]:
        raise BadValue(
            "recording", recipe["why_not"], "one whose world can be built again; give replay a world= for it"
        )
    for file, digest in recipe["meshes"].items():
        if _digest(Path(file)) != digest:
            raise BadFile(file, "not the mesh that was recorded with: it has changed since")
    return World(
        recipe["hands"],
        motors=recipe.get("motors"),
        **{name: recipe[name] for name in ("seed", "profile", "timestep_s", "scene", "props", "mounts", "skin")},
    )


def _is_known(spec: HandSpec) -> bool:
    """Whether a hand is of the catalogue, but for what its motors are like."""
    if spec.name not in hands.names():
        return False
    usual = hands.load(spec.name)
    plain = tuple(replace(own, motor=base.motor) for own, base in zip(spec.actuators, usual.actuators, strict=False))
    return replace(spec, actuators=plain) == usual


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error


def state_digest(world: World) -> str:
    """A digest of everything that a world needs to go on; equal states have equal ones."""
    snapshot = world.snapshot()
    parts = [getattr(snapshot, name) for name in ("physics", "motors", "pending", "damping", "wrists")]
    text = b"".join(part.tobytes() for part in parts) + str((snapshot.steps, snapshot.commands)).encode()
    return hashlib.sha256(text).hexdigest()


def steps_at(time_s: float, timestep_s: float) -> int:
    """Number of the step at a time of the twin's clock."""
    if not math.isfinite(time_s):
        raise BadValue("time", time_s, "a finite number of seconds")
    return round(time_s / timestep_s)
