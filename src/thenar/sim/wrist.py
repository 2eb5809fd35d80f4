"""Driven wrists: a servo of limited strength that carries a hand to a commanded pose of its root.

The wrist is a free body. A target moves towards the goal at a limited speed; a spring and a damper pull the body to the
target with limited force and torque, and the hand's weight is carried besides. A hand pushed into a table therefore
presses with at most that force.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numba as nb
import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Record: TypeAlias = Any

SPEED_M_S, TURN_RAD_S = 0.5, 3.0
FORCE_N, TORQUE_NM = 80.0, 8.0  # of a humanoid's arm; assumed
STIFFNESS_PER_KG = 1.0e4  # natural frequency 100 rad/s, whatever the hand weighs
STIFFNESS_NM_RAD, DAMPING_NMS_RAD = 200.0, 2.0

WRIST = np.dtype(
    [
        ("qpos", np.int64),
        ("dof", np.int64),
        ("body", np.int64),
        ("mass_kg", np.float64),
        ("target_m", np.float64, 3),
        ("target_quat", np.float64, 4),
        ("goal_m", np.float64, 3),
        ("goal_quat", np.float64, 4),
    ]
)
"""One driven wrist; quaternions are wxyz."""


def wrist_damping(mass_kg: float, dt_s: float) -> tuple[float, float]:
    """Damping of a wrist's three translations [N s/m] and three rotations [N m s/rad], for the engine to integrate.

    Critical for the translations, and with what makes the springs implicit: stiffness times the length of a step.
    """
    stiffness = STIFFNESS_PER_KG * mass_kg
    return 2.0 * math.sqrt(stiffness * mass_kg) + stiffness * dt_s, DAMPING_NMS_RAD + STIFFNESS_NM_RAD * dt_s


@nb.njit(cache=True)
def hold_wrists(
    wrists: Record,
    qpos: FloatArray,
    subtree_com: FloatArray,
    gravity: FloatArray,
    dt_s: float,
    qfrc_applied: FloatArray,
) -> None:
    """Move targets one step nearer to their goals and write the forces that pull the wrists to them."""
    for k in range(len(wrists)):
        w = wrists[k]
        _approach(w, dt_s)
        p = qpos[w.qpos :][:7]
        force, torque = np.empty(3), np.empty(3)
        stiffness = STIFFNESS_PER_KG * w.mass_kg
        size = 0.0
        for a in range(3):
            force[a] = stiffness * (w.target_m[a] - p[a])
            size += force[a] * force[a]
        _limit(force, math.sqrt(size), FORCE_N)
        turn = _rotation_between(p[3:7], w.target_quat)  # in the body's frame, like the torque
        size = 0.0
        for a in range(3):
            torque[a] = STIFFNESS_NM_RAD * turn[a]
            size += torque[a] * torque[a]
        _limit(torque, math.sqrt(size), TORQUE_NM)
        # The weight of the hand, at its centre of mass.
        arm, weight = np.empty(3), np.empty(3)
        for a in range(3):
            arm[a] = subtree_com[w.body, a] - p[a]
            weight[a] = -w.mass_kg * gravity[a]
        moment = np.array(
            [
                arm[1] * weight[2] - arm[2] * weight[1],
                arm[2] * weight[0] - arm[0] * weight[2],
                arm[0] * weight[1] - arm[1] * weight[0],
            ]
        )
        local = _turned_back(p[3:7], moment)
        for a in range(3):
            qfrc_applied[w.dof + a] = force[a] + weight[a]
            qfrc_applied[w.dof + 3 + a] = torque[a] + local[a]


@nb.njit(cache=True)
def _limit(vector: FloatArray, size: float, most: float) -> None:
    if size > most:
        for a in range(3):
            vector[a] *= most / size


@nb.njit(cache=True)
def _approach(w: Record, dt_s: float) -> None:
    """Move the target towards the goal; position and orientation arrive together."""
    far = math.sqrt(
        (w.goal_m[0] - w.target_m[0]) ** 2 + (w.goal_m[1] - w.target_m[1]) ** 2 + (w.goal_m[2] - w.target_m[2]) ** 2
    )
    turn = _rotation_between(w.target_quat, w.goal_quat)
    angle = math.sqrt(turn[0] ** 2 + turn[1] ** 2 + turn[2] ** 2)
    steps = max(far / (SPEED_M_S * dt_s), angle / (TURN_RAD_S * dt_s))
    if steps <= 1.0:
        for a in range(3):
            w.target_m[a] = w.goal_m[a]
        for a in range(4):
            w.target_quat[a] = w.goal_quat[a]
        return
    for a in range(3):
        w.target_m[a] += (w.goal_m[a] - w.target_m[a]) / steps
    half = angle / steps / 2.0
    s = math.sin(half) / angle if angle > 0.0 else 0.0
    q = _product(w.target_quat, np.array([math.cos(half), s * turn[0], s * turn[1], s * turn[2]]))
    norm = math.sqrt(q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
    for a in range(4):
        w.target_quat[a] = q[a] / norm


@nb.njit(cache=True)
def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.array(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )


@nb.njit(cache=True)
def _rotation_between(start: FloatArray, end: FloatArray) -> FloatArray:
    """Rotation vector from one orientation to another, in the frame of the first [rad]."""
    q = _product(np.array([start[0], -start[1], -start[2], -start[3]]), end)
    sign = -1.0 if q[0] < 0.0 else 1.0  # the shorter way round
    size = math.sqrt(q[1] ** 2 + q[2] ** 2 + q[3] ** 2)
    factor = sign * (2.0 * math.atan2(size, abs(q[0])) / size if size > 1e-12 else 2.0)
    return np.array([factor * q[1], factor * q[2], factor * q[3]])


@nb.njit(cache=True)
def _turned_back(quat: FloatArray, vector: FloatArray) -> FloatArray:
    """A vector of the world in the frame of a body with this orientation."""
    inverse = np.array([quat[0], -quat[1], -quat[2], -quat[3]])
    q = _product(_product(inverse, np.array([0.0, vector[0], vector[1], vector[2]])), quat)
    return np.array([q[1], q[2], q[3]])
