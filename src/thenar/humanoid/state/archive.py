"""Snapshots as plain arrays and back: a dict of names and values, or an ``.npz`` file that needs nothing but numpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import read_npz
from thenar.errors import BadFile, BadValue, writing
from thenar.humanoid.state.kindyn import JointLimitData, KindynData, LinkData, Pair
from thenar.humanoid.state.lazy import member_names
from thenar.humanoid.state.parts import BaseData, ContactData, FsmStateData, GeneralizedState, JoyStickData, RobotState
from thenar.humanoid.state.robot_data import RobotSnapshot

Arrays = dict[str, NDArray[Any]]

_KINDS: dict[str, type] = {
    "": RobotSnapshot,
    "joystick": JoyStickData,
    "fsm_state": FsmStateData,
    "robot_state": RobotState,
    "gener_state": GeneralizedState,
    "contact_data": ContactData,
    "base_data": BaseData,
    "kindyn_data": KindynData,
    "kindyn_data.joint_limit": JointLimitData,
}
"""Class of each part, by its dotted name; links are told by their Jacobian."""
_LINK = ("p", "R", "v", "w", "J", "Jd")


def to_dict(snapshot: RobotSnapshot) -> Arrays:
    """Every value of a snapshot by its dotted name, such as ``kindyn_data.feet_W.left.J``; all fields are computed."""
    return _flat(snapshot, "")


def from_dict(values: Mapping[str, NDArray[Any]]) -> RobotSnapshot:
    """The snapshot that `to_dict` was given; it needs no model."""
    tree: dict[str, Any] = {"hand_pvc": {}}
    for name, value in values.items():
        *path, last = name.split(".")
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
        branch[last] = value
    try:
        return _build(tree, "", tree["kindyn_data"]["qd"])
    except KeyError as error:
        raise BadValue("values", f"{len(values)} values", f"every value of a snapshot; {error} is missing") from error


def save_npz(snapshot: RobotSnapshot, path: Path) -> None:
    """Write a snapshot to a file."""
    with writing(path), path.open("wb") as file:
        np.savez_compressed(file, **to_dict(snapshot))  # type: ignore[arg-type]


def load_npz(path: Path) -> RobotSnapshot:
    """Read a snapshot from a file."""
    values = read_npz(path)
    try:
        return from_dict(values)
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise BadFile(path, f"not a snapshot: {error}") from error


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else member_names(kind)


def _flat(value: Any, name: str) -> Arrays:
    if isinstance(value, Mapping):
        members = value
    elif isinstance(value, Pair):
        members = value._asdict()
    elif isinstance(value, LinkData):
        members = {part: getattr(value, part) for part in _LINK}
    elif type(value) in _KINDS.values():
        members = {part: getattr(value, part) for part in _names(type(value))}
    else:
        return {name: np.array(" ".join(sorted(value)) if isinstance(value, frozenset) else value)}
    parts = (_flat(member, f"{name}.{part}" if name else part) for part, member in members.items())
    return {leaf: array for part in parts for leaf, array in part.items()}


def _build(tree: Any, name: str, qd: NDArray[Any]) -> Any:
    """The value of a branch of the tree; ``qd`` are the generalized velocities, which every link refers to."""
    if name == "joystick.buttons":
        return frozenset(str(tree).split())
    if not isinstance(tree, dict):
        return tree.item() if tree.ndim == 0 else tree
    if "J" in tree:
        placement = np.eye(4)
        placement[:3, :3], placement[:3, 3] = tree["R"], tree["p"]
        return LinkData(placement, tree["J"], tree["Jd"], qd)
    if "left" in tree:
        return Pair(*(_build(tree[side], "", qd) for side in Pair._fields))
    kind = _KINDS.get(name)
    if kind is None:
        return tree
    members = {part: _build(tree[part], f"{name}.{part}" if name else part, qd) for part in _names(kind)}
    if is_dataclass(kind):
        return kind(**members)
    built = object.__new__(kind)  # its members are known already, so that nothing is left to compute
    built.__dict__.update(members)
    return built
