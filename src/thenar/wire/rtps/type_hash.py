"""The hash by which ROS 2 (Iron and later) tells whether two programs mean the same type: ``RIHS01_`` and a SHA-256.

It is taken over a JSON text of the type's fields and of the types they refer to. Ref: REP 2011, rosidl.
"""

import hashlib
import json
import re
from collections.abc import Mapping

from thenar.errors import BadValue

Fields = Mapping[str, str]
"""Field name to kind, such as ``float64``, ``string[]``, ``float32[6]`` or ``std_msgs/msg/Header``."""

_NESTED, _ARRAY, _SEQUENCE = 1, 48, 144
_KINDS = {
    "int8": 2,
    "uint8": 3,
    "int16": 4,
    "uint16": 5,
    "int32": 6,
    "uint32": 7,
    "int64": 8,
    "uint64": 9,
    "float32": 10,
    "float64": 11,
    "bool": 15,
    "string": 17,
}
_KIND = re.compile(r"(?P<base>[\w/]+)(?P<many>\[(?P<count>\d*)\])?")


def type_hash(type_name: str, types: Mapping[str, Fields]) -> str:
    """Hash of a type.

    Args:
        type_name: Such as ``sensor_msgs/msg/JointState``.
        types: Fields of this type and of all that it refers to, by name.
    """
    described = {
        "type_description": _describe(type_name, types[type_name]),
        "referenced_type_descriptions": [_describe(name, types[name]) for name in sorted(_referred(type_name, types))],
    }
    text = json.dumps(described, separators=(", ", ": "))
    return "RIHS01_" + hashlib.sha256(text.encode()).hexdigest()


def _describe(type_name: str, fields: Fields) -> dict:
    return {
        "type_name": type_name,
        "fields": [{"name": name, "type": _field_type(kind)} for name, kind in fields.items()],
    }


def _field_type(kind: str) -> dict:
    base, many, count = _parts(kind)
    number = _KINDS.get(base, _NESTED) + ((_ARRAY if count else _SEQUENCE) if many else 0)
    return {
        "type_id": number,
        "capacity": count,
        "string_capacity": 0,
        "nested_type_name": "" if base in _KINDS else base,
    }


def _referred(type_name: str, types: Mapping[str, Fields]) -> set[str]:
    found: set[str] = set()
    for kind in types[type_name].values():
        base = _parts(kind)[0]
        if base not in _KINDS:
            found |= {base} | _referred(base, types)
    return found


def _parts(kind: str) -> tuple[str, bool, int]:
    match = _KIND.fullmatch(kind)
    if match is None or (match["base"] not in _KINDS and "/" not in match["base"]):
        raise BadValue("field", kind, f"one of {', '.join(_KINDS)} or package/msg/Name, [] or [6] behind it")
    return match["base"], match["many"] is not None, int(match["count"] or 0)
