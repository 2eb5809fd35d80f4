"""Rotations in the conventions of the house: ``R_ab`` turns b into a, quaternions are wxyz."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]


def matrix_from_rpy(rpy_rad: Sequence[float]) -> Matrix:
    """URDF's roll, pitch, yaw as a matrix: ``Rz(yaw) Ry(pitch) Rx(roll)``."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy_rad), np.sin(rpy_rad)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def matrix_about(axis: ArrayLike, angle_rad: float) -> Matrix:
    """Rotation by an angle about an axis of any length: that of a hinge."""
    x, y, z = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle_rad) * K + (1.0 - np.cos(angle_rad)) * K @ K


def rpy_from_matrix(R: Matrix) -> tuple[float, float, float]:
    """Roll, pitch, yaw of a matrix; at pitch +-90 degrees all the turn is put into yaw."""
    pitch = float(np.arcsin(np.clip(-R[2, 0], -1.0, 1.0)))
    if abs(R[2, 0]) > 1.0 - 1e-9:
        return 0.0, pitch, float(np.arctan2(-R[0, 1], R[1, 1]))
    return float(np.arctan2(R[2, 1], R[2, 2])), pitch, float(np.arctan2(R[1, 0], R[0, 0]))


def quat_wxyz_from_matrix(R: Matrix) -> NDArray[np.float64]:
    """Unit quaternion of a rotation matrix, w first and not negative."""
    trace = np.trace(R)
    # The largest of the four squares is the safe one to divide by.
    squares = np.array([trace, R[0, 0], R[1, 1], R[2, 2]])
    k = int(np.argmax(squares))
    if k == 0:
        quat = np.array([1 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        i, j, m = k - 1, k % 3, (k + 1) % 3
        quat = np.zeros(4)
        quat[0] = R[m, j] - R[j, m]
        quat[1 + i] = 1 + R[i, i] - R[j, j] - R[m, m]
        quat[1 + j] = R[j, i] + R[i, j]
        quat[1 + m] = R[m, i] + R[i, m]
    quat /= np.linalg.norm(quat)
    return -quat if quat[0] < 0 else quat


def matrix_from_quat_wxyz(quat_wxyz: NDArray[np.float64]) -> Matrix:
    """Rotation matrix of a quaternion, w first, of any size but 0."""
    w, x, y, z = (quat_wxyz / np.linalg.norm(quat_wxyz)).tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quat_wxyz_from_rpy(rpy_rad: Sequence[float]) -> NDArray[np.float64]:
    """Unit quaternion of roll, pitch, yaw."""
    return quat_wxyz_from_matrix(matrix_from_rpy(rpy_rad))


def rotation_vector(R: Matrix) -> NDArray[np.float64]:
    """Axis times angle of a rotation matrix [rad]."""
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    size = float(np.linalg.norm(axis))
    if size < 1e-9:
        # Nothing, or half a turn: of that only the quaternion still knows the axis.
        return 0.5 * axis if np.trace(R) > 0.0 else np.pi * quat_wxyz_from_matrix(R)[1:]
    return np.arctan2(size, np.trace(R) - 1.0) * axis / size
