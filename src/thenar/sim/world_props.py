"""Objects of a running world: where they are, moving, resizing and dragging them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import mujoco
import numba as nb
import numpy as np
from numpy.typing import ArrayLike

from thenar.arrays import FloatArray, finite_vector, unit_quaternion
from thenar.errors import BadValue, UnknownName
from thenar.hands.rotations import matrix_from_quat_wxyz
from thenar.sim.journal import Journal, noted

# A dragged object hangs on a spring of limited strength.
STIFFNESS_PER_KG = 30.0**2  # natural frequency 30 rad/s, critically damped
DAMPING_PER_KG = 60.0
SPIN_DAMPING = 8.0  # per second: a dragged object does not swing for long
FORCE_N, FORCE_PER_KG = 4.0, 40.0  # what a finger and thumb can do

STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class Dragged(NamedTuple):
    """A dragged object: where it is wanted [m], and the engine's own memory of it."""

    to_m: FloatArray
    wrench: FloatArray
    at_m: FloatArray
    velocity: FloatArray
    R_wi: FloatArray
    R_ib: FloatArray
    """From the body's frame to that of its inertia, which of a mesh is another."""
    inertia: FloatArray
    mass_kg: FloatArray


class WorldProps:
    """Objects of a world, by name."""

    journal_prefix = "props."

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        names: Sequence[str],
        *,
        journal: Journal,
        on_resize: Callable[[], None],
    ):
        """Nothing is dragged; ``on_resize`` is called whenever a shape has changed."""
        self._model, self._data, self._on_resize, self.journal = model, data, on_resize, journal
        self._gravity = model.opt.gravity
        self.names = tuple(names)
        """Names of all objects, those of the scene first."""
        self._dragged: dict[int, Dragged] = {}
        zeros = np.zeros(6)
        _drag(zeros, zeros, zeros, zeros, zeros, 1.0, zeros)  # compiled now, not while a live twin's clock runs

    def pose(self, prop: str) -> tuple[FloatArray, FloatArray]:
        """Position [m] and quat_wxyz of an object in the world."""
        at = self._qpos(prop)
        if at is not None:
            pose = self._data.qpos[at : at + 7].copy()
            return pose[:3], pose[3:]
        body = self._model.body(prop).id
        return self._data.xpos[body].copy(), self._data.xquat[body].copy()

    def is_free(self, prop: str) -> bool:
        """Whether an object can move."""
        return self._qpos(prop) is not None

    @noted
    def move(self, prop: str, *, pos_m: ArrayLike, quat_wxyz: ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> None:
        """Put a free object somewhere, at rest."""
        at, dof = self._free_qpos(prop), self._model.joint(prop).dofadr[0]
        pose = [*finite_vector("pos_m", pos_m), *unit_quaternion("quat_wxyz", quat_wxyz)]
        self._data.qpos[at : at + 7], self._data.qvel[dof : dof + 6] = pose, 0.0

    def velocity(self, prop: str) -> FloatArray:
        """Velocity [m/s] and, in its own frame, angular velocity [rad/s] of an object; zeros for a fixed one."""
        if not self.is_free(prop):
            return np.zeros(6)
        dof = self._model.joint(prop).dofadr[0]
        return self._data.qvel[dof : dof + 6].copy()

    @noted
    def reset(self) -> None:
        """Put every free object back where it began, at rest, and release what is dragged."""
        self.release()
        for prop in filter(self.is_free, self.names):
            start = self._model.qpos0[self._free_qpos(prop) :][:7]
            self.move(prop, pos_m=start[:3], quat_wxyz=start[3:])

    @noted
    def resize(self, prop: str, *, size_m: ArrayLike, mass_kg: float) -> None:
        """Give a box other edges [m] and another mass [kg], where it is; far quicker than another world."""
        self._check(prop)
        model, data = self._model, self._data
        body = model.body(prop)
        geom = int(body.geomadr[0])
        if model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_BOX:
            raise BadValue("prop", prop, "a box")
        size = finite_vector("size_m", size_m, positive=True)
        if not (isinstance(mass_kg, (int, float)) and math.isfinite(mass_kg) and mass_kg > 0.0):
            raise BadValue("mass_kg", mass_kg, "a number above 0")
        model.geom_size[geom] = size / 2
        model.geom_rbound[geom] = np.linalg.norm(size / 2)
        model.geom_aabb[geom, 3:] = size / 2
        model.body_mass[body.id] = mass_kg
        model.body_inertia[body.id] = mass_kg / 12.0 * ((size**2).sum() - size**2)
        # What the engine derives from masses is found in the model's first posture; then back to where we are.
        state = np.empty(mujoco.mj_stateSize(model, STATE))
        mujoco.mj_getState(model, data, state, STATE)
        mujoco.mj_setConst(model, data)
        mujoco.mj_setState(model, data, state, STATE)
        mujoco.mj_forward(model, data)
        self._on_resize()

    @noted
    def drag(self, prop: str, to_m: ArrayLike | None) -> None:
        """Drag a free object towards a place, as a hand that holds it would, until told otherwise.

        Args:
            prop: Name of the object.
            to_m: Where its centre is wanted [m]; None releases it.
        """
        self._free_qpos(prop)
        body = self._model.body(prop).id
        wanted_m = None if to_m is None else finite_vector("to_m", to_m)
        self._dragged.pop(body, None)
        self._data.xfrc_applied[body] = 0.0
        if wanted_m is not None:
            self._dragged[body] = self._views(body, wanted_m)

    @noted
    def pull(self, prop: str, force_n: ArrayLike) -> None:
        """Pull at the middle of a free object with a steady force in the world [N], until told otherwise; 0 ends it."""
        self._free_qpos(prop)
        body, wanted_n = self._model.body(prop).id, finite_vector("force_n", force_n)
        self._dragged.pop(body, None)
        self._data.xfrc_applied[body, :3] = wanted_n
        self._data.xfrc_applied[body, 3:] = 0.0

    @property
    def dragging(self) -> bool:
        """Whether anything is dragged."""
        return bool(self._dragged)

    @property
    def dragged_to_m(self) -> tuple[tuple[str, FloatArray], ...]:
        """What is dragged, and where to [m]."""
        return tuple((self._model.body(body).name, one.to_m) for body, one in self._dragged.items())

    def drag_again(self, dragged_to_m: Iterable[tuple[str, FloatArray]]) -> None:
        """Drag these and nothing else; forces on objects stay what they are until the next step."""
        bodies = [(self._model.body(name).id, to_m) for name, to_m in dragged_to_m]
        self._dragged = {body: self._views(body, to_m) for body, to_m in bodies}

    @noted
    def release(self) -> None:
        """Release whatever is dragged."""
        self._data.xfrc_applied[list(self._dragged)] = 0.0
        self._dragged.clear()

    def step(self) -> None:
        """Write the forces on dragged objects for the engine's next step; their weight is carried besides."""
        for one in self._dragged.values():
            # Multiplied as numpy does, which no loop of ours does to the last bit: recordings are replayed as before.
            turn = one.R_wi @ (one.inertia * (one.R_ib @ one.velocity[3:]))
            _drag(one.wrench, one.to_m, one.at_m, one.velocity, turn, float(one.mass_kg[0]), self._gravity)

    def _views(self, body: int, to_m: FloatArray) -> Dragged:
        model, data = self._model, self._data
        dof = model.body_dofadr[body]
        return Dragged(
            to_m=to_m,
            wrench=data.xfrc_applied[body],
            at_m=data.xipos[body],
            velocity=data.qvel[dof : dof + 6],
            R_wi=data.ximat[body].reshape(3, 3),
            R_ib=matrix_from_quat_wxyz(model.body_iquat[body]).T,
            inertia=model.body_inertia[body],
            mass_kg=model.body_mass[body : body + 1],
        )

    def _check(self, prop: str) -> None:
        if prop not in self.names:
            raise UnknownName("prop", prop, self.names)

    def _qpos(self, prop: str) -> int | None:
        """Where the pose of a free object stands in qpos; None for a fixed one."""
        self._check(prop)
        first = self._model.body(prop).jntadr[0]
        return None if first < 0 else int(self._model.jnt_qposadr[first])

    def _free_qpos(self, prop: str) -> int:
        at = self._qpos(prop)
        if at is None:
            raise BadValue("prop", prop, "an object that is not fixed")
        return at


@nb.njit(cache=True)
def _drag(
    wrench: FloatArray,
    wanted_m: FloatArray,
    at_m: FloatArray,
    velocity: FloatArray,
    turn: FloatArray,
    mass_kg: float,
    gravity: FloatArray,
) -> None:
    """Force and torque on a dragged object: a damped spring of limited strength, its weight, and a damped spin."""
    force, square = np.empty(3), 0.0
    for k in range(3):
        force[k] = mass_kg * (STIFFNESS_PER_KG * (wanted_m[k] - at_m[k]) - DAMPING_PER_KG * velocity[k])
        square += force[k] * force[k]
    share = min(1.0, (FORCE_N + FORCE_PER_KG * mass_kg) / max(math.sqrt(square), 1e-12))
    for k in range(3):
        wrench[k] = force[k] * share - mass_kg * gravity[k]
        wrench[3 + k] = -SPIN_DAMPING * turn[k]
