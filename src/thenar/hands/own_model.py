"""Mapping files: a URDF or MJCF of the user's own in place of a built-in hand.

The file names the hand whose motors, couplings and order of actuators it takes over::

    hand = "inspire_right"
    file = "my_inspire.urdf"        # relative to this file

    [joints]                         # name in the catalogue = name in your file
    index_1 = "R_index_proximal_joint"

    [links]                          # only links you want to call by the catalogue's name
    index_1 = "R_index_proximal"
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from thenar.errors import BadFile
from thenar.hands.spec import OwnModel

_KEYS = {"hand": str, "file": str, "name": str, "joints": dict, "links": dict}


@dataclass(frozen=True, kw_only=True)
class MappingFile:
    """What a mapping file says."""

    hand: str
    """Catalogue name of the hand it stands for."""
    name: str
    """Name of the result."""
    model: OwnModel


def read_own_model(path: Path) -> MappingFile:
    """Read and check a mapping file; nothing of the model itself is read yet."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadFile(path, f"not a TOML file: {error}") from error
    for key, value in entries.items():
        if key not in _KEYS:
            raise BadFile(path, f"unknown entry {key!r}; it takes: {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]):
            raise BadFile(path, f"entry {key!r} is {value!r}; wanted a {_KEYS[key].__name__}")
    for key in ("hand", "file", "joints"):
        if key not in entries:
            raise BadFile(path, f"entry {key!r} is missing")
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
    file = path.parent / entries["file"]
    if not file.is_file():
        raise BadFile(path, f"entry 'file' names {file}, which is not there")
    model = OwnModel(path=file, joints=entries["joints"], links=entries.get("links", {}))
    return MappingFile(hand=entries["hand"], name=name, model=model)
