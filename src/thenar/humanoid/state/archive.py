"""Snapshots to plain arrays and back: a dict of names and values, or an ``.npz`` file that needs nothing but numpy."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadFile, BadValue
from thenar.humanoid.state.kindyn import JointLimitData, KindynData, LinkData, Pair
from thenar.humanoid.state.parts import BaseData, ContactData, FsmStateData, GeneralizedState, JoyStickData, RobotState
from thenar.humanoid.state.robot_data import Beside, RobotSnapshot

Arrays = dict[str, NDArray[Any]]

_PLAIN = {
    "joystick": (JoyStickData, ("stamp_s", "valid", "liner_cmd", "buttons")),
    "fsm_state": (
        FsmStateData,
        (
            "stamp_s",
            "valid",
            "whole_body",
            "upper_body",
            "velocity_source",
            "allow_upper_body_override",
            "stable_level",
        ),
    ),
    "robot_state": (RobotState, ("stamp_s", "valid", "q", "qd", "qdd", "qft")),
    "gener_state": (GeneralizedState, ("stamp_s", "valid", "q", "qd", "tau")),
    "contact_data": (ContactData, ("stamp_s", "valid", "contact_force", "contact_prob")),
}
_WHOLE = ("stamp_s", "valid", "vel_cmd", "stand_pose_cmd", "hands_stamp_s")
_BASE = ("stamp_s", "valid", *BaseData.FIELDS)
_LINK = ("p", "R", "v", "w", "J", "Jd")
_LIMITS = ("lower", "upper", "effort", "velocity")
_KINDYN = ("stamp_s", "valid", "nv", "m", "q", "qd", "nle", *KindynData.TERMS)


def to_dict(snapshot: RobotSnapshot) -> Arrays:
    """Every value of a snapshot by its dotted name, such as ``kindyn_data.feet_W.left.J``; everything is worked out."""
    values: dict[str, Any] = {name: getattr(snapshot, name) for name in _WHOLE}
    for part, (_, fields) in _PLAIN.items():
        values |= {f"{part}.{name}": getattr(getattr(snapshot, part), name) for name in fields}
    values["joystick.buttons"] = " ".join(sorted(snapshot.joystick.buttons))
    values |= {f"hand_pvc.{hand}": pvc for hand, pvc in snapshot.hand_pvc.items()}
    values |= {
        f"base_data.{name}": getattr(snapshot.base_data, name) for name in ("stamp_s", "valid", *BaseData.FIELDS)
    }
    kindyn = snapshot.kindyn_data
    values |= {f"kindyn_data.{name}": getattr(kindyn, name) for name in _KINDYN}
    values |= {f"kindyn_data.joint_limit.{name}": getattr(kindyn.joint_limit, name) for name in _LIMITS}
    for entry in (*KindynData.WORLD_LINKS, *KindynData.BASE_LINKS):
        links = getattr(kindyn, entry)
        for name, link in zip(("left", "right"), links, strict=True) if isinstance(links, Pair) else (("", links),):
            prefix = f"kindyn_data.{entry}.{name}." if name else f"kindyn_data.{entry}."
            values |= {prefix + part: getattr(link, part) for part in _LINK}
    return {name: np.array(value) for name, value in values.items()}


def from_dict(values: Mapping[str, NDArray[Any]]) -> RobotSnapshot:
    """The snapshot that `to_dict` was given; it needs no model."""
    try:
        return _snapshot(values)
    except KeyError as error:
        raise BadValue("values", f"{len(values)} values", f"every value of a snapshot; {error} is missing") from error


def save_npz(snapshot: RobotSnapshot, path: Path) -> None:
    """Write a snapshot to a file."""
    with path.open("wb") as file:
        np.savez_compressed(file, **to_dict(snapshot))  # type: ignore[arg-type]


def load_npz(path: Path) -> RobotSnapshot:
    """Read a snapshot from a file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return from_dict(dict(file))
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise BadFile(path, f"not a snapshot: {error}") from error


def _snapshot(values: Mapping[str, NDArray[Any]]) -> RobotSnapshot:
    parts: dict[str, Any] = {
        part: kind(**{name: _plain(values[f"{part}.{name}"]) for name in fields})
        for part, (kind, fields) in _PLAIN.items()
        if part != "joystick"
    }
    parts["joystick"] = JoyStickData(
        stamp_s=float(values["joystick.stamp_s"]),
        valid=bool(values["joystick.valid"]),
        liner_cmd=values["joystick.liner_cmd"],
        buttons=frozenset(str(values["joystick.buttons"]).split()),
    )
    prefix = "hand_pvc."
    parts["hand_pvc"] = {name.removeprefix(prefix): pvc for name, pvc in values.items() if name.startswith(prefix)}
    parts["base_data"] = _filled(BaseData, {name: _plain(values[f"base_data.{name}"]) for name in _BASE})
    parts["kindyn_data"] = _filled(KindynData, _kindyn(values))
    whole = {name: _plain(values[name]) for name in _WHOLE}
    beside = Beside(**{name: (parts | whole)[name] for name in Beside._fields})
    kept = {name: parts[name] for name in ("robot_state", "gener_state", "base_data", "kindyn_data")}
    return _filled(RobotSnapshot, {"stamp_s": whole["stamp_s"], "valid": whole["valid"], "beside": beside, **kept})


def _kindyn(values: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {name: _plain(values[f"kindyn_data.{name}"]) for name in _KINDYN}
    fields["joint_limit"] = JointLimitData(**{name: values[f"kindyn_data.joint_limit.{name}"] for name in _LIMITS})
    for entry in (*KindynData.WORLD_LINKS, *KindynData.BASE_LINKS):
        prefix = f"kindyn_data.{entry}."
        pair = f"{prefix}left.J" in values
        links = [_link(values, prefix + side) for side in (("left.", "right.") if pair else ("",))]
        fields[entry] = Pair(*links) if pair else links[0]
    return fields


def _link(values: Mapping[str, NDArray[Any]], prefix: str) -> LinkData:
    placement = np.eye(4)
    placement[:3, :3], placement[:3, 3] = values[f"{prefix}R"], values[f"{prefix}p"]
    return LinkData(placement, values[f"{prefix}J"], values[f"{prefix}Jd"], values["kindyn_data.qd"])


def _filled(kind: type, fields: dict[str, Any]) -> Any:
    """An instance whose attributes are known already, so that nothing is left to work out."""
    made = object.__new__(kind)
    made.__dict__.update(fields)
    return made


def _plain(value: NDArray[Any]) -> Any:
    return value.item() if value.ndim == 0 else value
