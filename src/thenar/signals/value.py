"""What all signals have in common: they compare, pickle and print as plain values, whatever arrays they carry."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any, ClassVar

import numpy as np

MAX_PRINTED = 12  # entries of an array that is printed in full; of longer ones the shape is


class Value:
    """Base of frozen dataclasses with array fields.

    Two are equal when they are of one class and all fields are, NaN being equal to NaN. Only fields are pickled.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_equal(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        shown = (f"{field.name}={_short(getattr(self, field.name))}" for field in fields(self))
        return f"{type(self).__name__}({', '.join(shown)})"


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.names:
            return all(_equal(a[name], b[name]) for name in a.dtype.names)
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)) and type(a) is type(b):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b or (a != a and b != b))  # NaN


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        if value.size > MAX_PRINTED:
            return f"<{value.dtype.name if value.dtype.names is None else 'records'} {value.shape}>"
        return np.array2string(value, precision=4, suppress_small=True, separator=", ").replace("\n", "")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_short(part)}" for key, part in value.items()) + "}"
    return repr(value)
