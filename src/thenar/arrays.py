"""Array types and the checks that every room shares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar.errors import BadFile, BadValue

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of a file; one that is no archive of plain arrays, or that ends too early, is refused."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: np.asarray(archive[name]) for name in archive.files}  # bytes, where one is no array
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror or error}") from error
    except Exception as error:  # of zip, of zlib, of a header that is Python, of memory: numpy passes them all on
        raise BadFile(path, f"not a whole NPZ file of plain arrays: {error}") from error


def finite_vector(field: str, value: ArrayLike, *, positive: bool = False) -> FloatArray:
    """Three finite numbers as a new array; anything else is refused by the name of its field. Shape (3,)."""
    vector = _numbers(value)
    if vector.shape != (3,) or not np.all(np.isfinite(vector)):
        raise BadValue(field, value, "three finite numbers")
    if positive and not np.all(vector > 0.0):
        raise BadValue(field, value, "three numbers above 0")
    return vector


def unit_quaternion(field: str, value: ArrayLike) -> FloatArray:
    """A quaternion of norm 1, w first, as a new array; one of another norm is refused. Shape (4,)."""
    quat = _numbers(value)
    with np.errstate(over="ignore"):  # what is far too long is refused all the same
        norm = np.linalg.norm(quat)
    if quat.shape != (4,) or not np.isfinite(norm) or abs(norm - 1.0) > 1e-3:
        raise BadValue(field, value, "four numbers of norm 1, w first")
    return quat / norm


def _numbers(value: ArrayLike) -> FloatArray:
    """A new array; empty where something is no number."""
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.zeros(0)


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cross product of two vectors; numpy's own takes ten times as long for one pair. Shape (3,)."""
    (ax, ay, az), (bx, by, bz) = a, b
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])
