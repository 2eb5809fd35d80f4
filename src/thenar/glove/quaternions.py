"""Quaternions over many frames at once, w first."""

from __future__ import annotations

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
    # The quaternion is the dominant eigenvector of this matrix, whichever of its entries is small.
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    K = np.empty((*R.shape[:-2], 4, 4))
    K[..., 0, 0] = 1 + xx + yy + zz
    for i, j, k in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
        K[..., i, i] = 1 + 2 * R[..., i - 1, i - 1] - (xx + yy + zz)
        K[..., 0, i] = K[..., i, 0] = R[..., k - 1, j - 1] - R[..., j - 1, k - 1]
        K[..., i, j] = K[..., j, i] = R[..., i - 1, j - 1] + R[..., j - 1, i - 1]
    # Its columns are multiples of the quaternion: the longest is the safe one.
    best = np.argmax(np.sum(K * K, axis=-2), axis=-1)
    quat = np.take_along_axis(K, best[..., None, None], axis=-1)[..., 0]
    quat = quat / np.linalg.norm(quat, axis=-1, keepdims=True)
    return np.where(quat[..., :1] < 0.0, -quat, quat)


def product(a_wxyz: FloatArray, b_wxyz: FloatArray) -> FloatArray:
    """The rotation b followed by a. Shape (..., 4)."""
    aw, ax, ay, az = np.moveaxis(a_wxyz, -1, 0)
    bw, bx, by, bz = np.moveaxis(b_wxyz, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )
