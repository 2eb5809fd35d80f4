"""Quaternions over many frames at once, w first."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from thenar.signals import FloatArray


def matrices(quat_wxyz: FloatArray) -> FloatArray:
    """Rotation matrices of unit quaternions. Shape (..., 3, 3)."""
    w, x, y, z = np.moveaxis(quat_wxyz, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrices(R: FloatArray) -> FloatArray:
    """Unit quaternions of rotation matrices, w not negative. Shape (..., 4)."""
    quat_wxyz = np.empty((*R.shape[:-2], 4))
    for one, filled in zip(np.ascontiguousarray(R).reshape(-1, 3, 3), quat_wxyz.reshape(-1, 4), strict=True):
        fill_quat(one, filled)
    return quat_wxyz


def product(a_wxyz: FloatArray, b_wxyz: FloatArray) -> FloatArray:
    """The rotation b followed by a. Shape (..., 4)."""
    return np.stack(times.py_func(np.moveaxis(a_wxyz, -1, 0), np.moveaxis(b_wxyz, -1, 0)), axis=-1)


@nb.njit(cache=True)
def times(a, b):
    """The four parts of the rotation b followed by a, from the four of each."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@nb.njit(cache=True)
def fill_quat(R: FloatArray, quat_wxyz: FloatArray) -> None:
    """`from_matrices` of one matrix."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    best, most = 0, trace  # the largest of the four is the safe one to divide by
    for k in range(3):
        if R[k, k] > most:
            best, most = k + 1, R[k, k]
    if best == 0:
        quat_wxyz[0] = 1.0 + trace
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            quat_wxyz[1 + a] = R[c, b] - R[b, c]
    else:
        i, j, k = best - 1, best % 3, (best + 1) % 3
        quat_wxyz[0] = R[k, j] - R[j, k]
        quat_wxyz[1 + i] = 1.0 + R[i, i] - R[j, j] - R[k, k]
        quat_wxyz[1 + j] = R[j, i] + R[i, j]
        quat_wxyz[1 + k] = R[k, i] + R[i, k]
    square = 0.0
    for a in range(4):
        square += quat_wxyz[a] * quat_wxyz[a]
    size = math.sqrt(square) if quat_wxyz[0] >= 0.0 else -math.sqrt(square)
    for a in range(4):
        quat_wxyz[a] /= size
