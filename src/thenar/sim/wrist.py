"""Driven wrists: a servo of limited strength that carries a hand to a commanded pose of its root.

The wrist is a free body. A target moves towards the goal at a limited speed, smoothly also when goals come in steps; a
spring and a damper pull the body to the target with limited force and torque, and the hand's weight is carried
besides. A hand pushed into a table therefore presses with at most that force.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import mujoco
import numba as nb
import numpy as np
from numpy.typing import ArrayLike

from thenar.arrays import FloatArray, finite_vector, unit_quaternion
from thenar.errors import BadCommand, look_up
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.hands.spec import HandSpec
from thenar.sim.building import root_pose
from thenar.sim.journal import Journal, noted
from thenar.sim.scenes import Mount
from thenar.sim.world_config import WorldConfig

Record: TypeAlias = Any

SPEED_M_S, TURN_RAD_S = 0.5, 3.0
# How fast the target settles on a goal, critically damped. Goals sent at 50 Hz would else shake the hand at 50 Hz, and
# what it holds creeps then: the engine's contacts leave out the acceleration w^2 r of turning along, and slip at
# w^2 r / (500 1/s) to make up for it, however hard friction is.
SMOOTHING_RAD_S = 50.0
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
        ("target_m_s", np.float64, 3),
        ("target_rad_s", np.float64, 3),  # in the target's own frame
        ("goal_m", np.float64, 3),
        ("goal_quat", np.float64, 4),
    ]
)
"""One driven wrist; quaternions are wxyz."""


class Wrists:
    """Wrists of a world: where each hand's palm is, and where the driven ones are sent."""

    journal_prefix = "wrists."

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, config: WorldConfig, *, journal: Journal):
        """Find the hands; driven wrists get the damping that their servos need."""
        self._data, self._dt_s, self.journal = data, config.timestep_s, journal
        self._inputs = data.qpos, data.subtree_com, model.opt.gravity
        self._hands = config.specs
        self._roots = {name: model.body(f"{name}/{spec.root}").id for name, spec in self._hands.items()}
        driven = [name for name in self._hands if config.hand_mounts[name].driven]
        self._number = {name: number for number, name in enumerate(driven)}
        self._rest = np.zeros(len(driven), dtype=WRIST)
        for record, name in zip(self._rest, driven, strict=True):
            joint, body = model.joint(f"{name}/mount"), model.body(f"{name}/mount").id
            record["qpos"], record["dof"], record["body"] = joint.qposadr[0], joint.dofadr[0], body
            mass_kg = record["mass_kg"] = model.body_subtreemass[body]
            record["target_m"] = record["goal_m"] = model.body_pos[body]
            record["target_quat"] = record["goal_quat"] = model.body_quat[body]
            # Critical for the translations, and with what makes the springs implicit: stiffness times a step's length.
            stiffness, dof = STIFFNESS_PER_KG * mass_kg, record["dof"]
            model.dof_damping[dof : dof + 3] = 2.0 * math.sqrt(stiffness * mass_kg) + stiffness * self._dt_s
            model.dof_damping[dof + 3 : dof + 6] = DAMPING_NMS_RAD + STIFFNESS_NM_RAD * self._dt_s
        self.records = self._rest.copy()

    def is_driven(self, hand: str) -> bool:
        """Whether `move` moves this hand."""
        look_up(self._hands, hand, "hand in this world")
        return hand in self._number

    def pose(self, hand: str) -> tuple[FloatArray, FloatArray]:
        """Where a hand's palm frame is: position [m] and quat_wxyz in the world."""
        spec, root = look_up(self._hands, hand, "hand in this world"), self._roots[hand]
        if hand not in self._number:
            return _palm_pose(spec, self._data.xpos[root], self._data.xquat[root])
        pose = self._data.qpos[self.records["qpos"][self._number[hand]] :][:7]
        return _palm_pose(spec, pose[:3], pose[3:])

    @noted
    def move(self, hand: str, *, pos_m: ArrayLike | None = None, quat_wxyz: ArrayLike | None = None) -> None:
        """Send a driven wrist to a pose of the palm frame; it goes there at a limited speed.

        Args:
            hand: Name of a hand with a driven mount.
            pos_m: Centre of the palm in the world [m]; None keeps it.
            quat_wxyz: Orientation of the palm frame in the world, w first; None keeps it.
        """
        if not self.is_driven(hand):
            raise BadCommand(f"the wrist of {hand} is fixed; give it a Mount(driven=True) to move it")
        spec, record = self._hands[hand], self.records[self._number[hand]]
        palm_m, palm_quat = _palm_pose(spec, record["goal_m"], record["goal_quat"])
        pos = finite_vector("pos_m", palm_m if pos_m is None else pos_m)
        R_wp = _matrix_of(unit_quaternion("quat_wxyz", palm_quat if quat_wxyz is None else quat_wxyz))
        offset, R_pr = root_pose(spec, Mount())
        record["goal_m"], record["goal_quat"] = pos + R_wp @ offset, quat_wxyz_from_matrix(R_wp @ R_pr)

    def reset(self) -> None:
        """At rest where the mounts are."""
        self.records[:] = self._rest

    def copy_goals_from(self, other: Wrists) -> None:
        """Go where those wrists of another world with the same hands go that are driven there and here."""
        for hand in self._number.keys() & other._number.keys():
            for name in ("target_m", "target_quat", "target_m_s", "target_rad_s", "goal_m", "goal_quat"):
                self.records[name][self._number[hand]] = other.records[name][other._number[hand]]

    def step(self) -> None:
        """Write the forces on the wrists for the engine's next step."""
        hold_wrists(self.records, *self._inputs, self._dt_s, self._data.qfrc_applied)


def _palm_pose(spec: HandSpec, root_pos: FloatArray, root_quat: FloatArray) -> tuple[FloatArray, FloatArray]:
    offset, R_pr = root_pose(spec, Mount())  # the root in a palm frame at the origin
    R_wp = _matrix_of(root_quat) @ R_pr.T
    return root_pos - R_wp @ offset, quat_wxyz_from_matrix(R_wp)


def _matrix_of(quat_wxyz: FloatArray) -> FloatArray:
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, quat_wxyz)
    return R.reshape(3, 3)


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
        force = _limited(STIFFNESS_PER_KG * w.mass_kg * (w.target_m - p[:3]), FORCE_N)
        # In the body's frame, like the torque.
        torque = _limited(STIFFNESS_NM_RAD * _rotation_between(p[3:7], w.target_quat), TORQUE_NM)
        # The weight of the hand, at its centre of mass.
        x, y, z = subtree_com[w.body] - p[:3]
        weight = -w.mass_kg * gravity
        moment = np.array([y * weight[2] - z * weight[1], z * weight[0] - x * weight[2], x * weight[1] - y * weight[0]])
        qfrc_applied[w.dof : w.dof + 3] = force + weight
        qfrc_applied[w.dof + 3 : w.dof + 6] = torque + _turned_back(p[3:7], moment)


@nb.njit(cache=True)
def _size(vector: FloatArray) -> float:
    return math.sqrt((vector * vector).sum())


@nb.njit(cache=True)
def _limited(vector: FloatArray, most: float) -> FloatArray:
    size = _size(vector)
    return vector * (most / size) if size > most else vector


@nb.njit(cache=True)
def _approach(w: Record, dt_s: float) -> None:
    """Move the target towards the goal; position and orientation arrive together."""
    away_m, away_rad = w.goal_m - w.target_m, _rotation_between(w.target_quat, w.goal_quat)
    rate = SMOOTHING_RAD_S / 2.0
    rate /= max(1.0, rate * _size(away_m) / SPEED_M_S, rate * _size(away_rad) / TURN_RAD_S)
    share = 1.0 / (1.0 + 2.0 * SMOOTHING_RAD_S * dt_s)
    w.target_m_s[:] = share * w.target_m_s + (1.0 - share) * rate * away_m
    w.target_rad_s[:] = share * w.target_rad_s + (1.0 - share) * rate * away_rad
    w.target_m[:] += w.target_m_s * dt_s
    half = w.target_rad_s * (dt_s / 2.0)
    q = _product(w.target_quat, np.array([1.0, half[0], half[1], half[2]]))
    w.target_quat[:] = q / _size(q)


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
def _inverse(quat: FloatArray) -> FloatArray:
    return np.array([quat[0], -quat[1], -quat[2], -quat[3]])


@nb.njit(cache=True)
def _rotation_between(start: FloatArray, end: FloatArray) -> FloatArray:
    """Rotation vector from one orientation to another, in the frame of the first [rad]."""
    q = _product(_inverse(start), end)
    size = _size(q[1:])
    factor = 2.0 * math.atan2(size, abs(q[0])) / size if size > 1e-12 else 2.0
    return (-factor if q[0] < 0.0 else factor) * q[1:]  # the shorter way round


@nb.njit(cache=True)
def _turned_back(quat: FloatArray, vector: FloatArray) -> FloatArray:
    """A vector of the world in the frame of a body with this orientation."""
    turned = _product(_product(_inverse(quat), np.array([0.0, vector[0], vector[1], vector[2]])), quat)
    return turned[1:]
