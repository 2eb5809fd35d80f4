"""Files about a URDF or MJCF of the user's own: one that takes the place of a built-in hand, or a hand by itself.

With ``hand`` it names the hand whose motors, couplings and order of actuators it takes over::

    hand = "inspire_right"
    file = "my_inspire.urdf"        # relative to this file

    [joints]                         # name in the catalogue = name in your file
    index_1 = "R_index_proximal_joint"

    [links]                          # only links you want to call by the catalogue's name
    index_1 = "R_index_proximal"

With ``fingers`` it is a hand that the catalogue does not know, see `thenar.hands.from_file`::

    file = "my_hand.urdf"
    speed_rad_s = 3.0                # where the file does not say it

    [fingers]                        # finger of a person = link at its end
    thumb = "thumb_tip"
    index = { link = "index_distal", tip_m = [0.0, 0.0, 0.026] }
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thenar.errors import BadFile
from thenar.hands.spec import OwnModel

_KEYS = {"hand": str, "file": str, "name": str, "joints": dict, "links": dict}
_HAND_KEYS = {
    "file": str,
    "fingers": dict,
    "name": str,
    "side": str,
    "base": str,
    "speed_rad_s": (int, float, dict),
    "palm": list,
}


@dataclass(frozen=True, kw_only=True)
class MappingFile:
    """What a mapping file says."""

    hand: str
    """Catalogue name of the hand it stands for."""
    name: str
    """Name of the result."""
    model: OwnModel


@dataclass(frozen=True, kw_only=True)
class FingerFile:
    """What a file with a table of fingers says: the arguments of `from_file`."""

    path: Path
    fingers: dict[str, str | tuple[str, list[float]]]
    options: dict[str, Any]


def read_own_model(path: Path) -> MappingFile | FingerFile:
    """Read and check a file about a model; nothing of the model itself is read yet."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # of text, of TOML, or of what is nested without end
        raise BadFile(path, f"not a TOML file: {error}") from error
    keys = _HAND_KEYS if "fingers" in entries else _KEYS
    for key, value in entries.items():
        if key not in keys:
            raise BadFile(path, f"unknown entry {key!r}; it takes: {', '.join(keys)}")
        if not isinstance(value, keys[key]):
            wanted = "number or table" if isinstance(keys[key], tuple) else keys[key].__name__
            raise BadFile(path, f"entry {key!r} is {value!r}; wanted a {wanted}")
    for key in ("file",) if "fingers" in entries else ("hand", "file", "joints"):
        if key not in entries:
            raise BadFile(path, f"entry {key!r} is missing")
    if "fingers" in entries:
        return _finger_file(path, entries)
    for table in ("joints", "links"):
        names = list(entries.get(table, {}).values())
        for ours, theirs in entries.get(table, {}).items():
            if not isinstance(theirs, str):
                raise BadFile(path, f"[{table}] {ours} is {theirs!r}; wanted a name in your file")
            if names.count(theirs) > 1:
                raise BadFile(path, f"[{table}] maps {theirs!r} more than once")
    if entries["hand"].endswith(".toml"):
        raise BadFile(path, f"entry 'hand' is {entries['hand']!r}; wanted the name of a hand of the catalogue")
    name = entries.get("name", entries["hand"])
    if not name or "/" in name:
        raise BadFile(path, f"entry 'name' is {name!r}; wanted a name without '/'")
    model = OwnModel(path=_model_file(path, entries), joints=entries["joints"], links=entries.get("links", {}))
    return MappingFile(hand=entries["hand"], name=name, model=model)


def _finger_file(path: Path, entries: dict[str, Any]) -> FingerFile:
    fingers: dict[str, str | tuple[str, list[float]]] = {}
    for finger, end in entries["fingers"].items():
        match end:
            case str():
                fingers[finger] = end
            case {"link": str(link), "tip_m": [*tip_m]} if len(end) == 2 and _numbers(tip_m):
                fingers[finger] = (link, tip_m)
            case _:
                raise BadFile(
                    path, f'[fingers] {finger} is {end!r}; wanted "link" or {{ link = "link", tip_m = [x, y, z] }}'
                )
    options = {key: value for key, value in entries.items() if key not in ("file", "fingers")}
    if options.get("side", "left") not in ("left", "right", "none"):
        raise BadFile(path, f"entry 'side' is {options['side']!r}; wanted left, right or none")
    palm, speeds = options.get("palm"), options.get("speed_rad_s")
    if palm is not None and not (len(palm) == 2 and all(isinstance(d, list) and _numbers(d) for d in palm)):
        raise BadFile(path, f"entry 'palm' is {palm!r}; wanted two directions [x, y, z]")
    if isinstance(speeds, dict) and not all(isinstance(speed, int | float) for speed in speeds.values()):
        raise BadFile(path, f"entry 'speed_rad_s' is {speeds!r}; wanted a number for each joint")
    return FingerFile(path=_model_file(path, entries), fingers=fingers, options=options)


def _numbers(values: list) -> bool:
    return len(values) == 3 and all(isinstance(value, int | float) for value in values)


def _model_file(path: Path, entries: dict[str, Any]) -> Path:
    file = path.parent / entries["file"]
    if not os.path.isfile(file):  # unlike the path's own, False for what cannot be a name
        raise BadFile(path, f"entry 'file' names {file}, which is not there")
    return file
