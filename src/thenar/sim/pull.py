"""Dragging objects: a spring of limited strength between an object and the place it is wanted at."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

STIFFNESS_PER_KG = 30.0**2  # natural frequency 30 rad/s, critically damped
DAMPING_PER_KG = 60.0
SPIN_DAMPING = 8.0  # per second: a dragged object does not swing for long
FORCE_N, FORCE_PER_KG = 4.0, 40.0  # what a finger and thumb can do


class Pulls:
    """Objects that are being dragged. Empty is false."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData):
        """Nothing is dragged."""
        self._model, self._data = model, data
        self._wanted_m: dict[int, FloatArray] = {}

    def __bool__(self) -> bool:
        """Whether anything is dragged."""
        return bool(self._wanted_m)

    def pull(self, body: int, to_m: FloatArray | None) -> None:
        """Drag a free body to a place in the world [m], or let go of it."""
        self._data.xfrc_applied[body] = 0.0
        if to_m is None:
            self._wanted_m.pop(body, None)
        else:
            self._wanted_m[body] = np.array(to_m, dtype=np.float64)

    def let_go(self) -> None:
        """Of everything."""
        for body in list(self._wanted_m):
            self.pull(body, None)

    def apply(self) -> None:
        """Write the forces of this step; the object's weight is carried besides."""
        model, data = self._model, self._data
        for body, wanted_m in self._wanted_m.items():
            mass = float(model.body_mass[body])
            dof = model.body_dofadr[body]
            velocity, spin = data.qvel[dof : dof + 3], data.qvel[dof + 3 : dof + 6]
            force = mass * (STIFFNESS_PER_KG * (wanted_m - data.xipos[body]) - DAMPING_PER_KG * velocity)
            size, most = float(np.linalg.norm(force)), FORCE_N + FORCE_PER_KG * mass
            if size > most:
                force *= most / size
            data.xfrc_applied[body, :3] = force - mass * model.opt.gravity
            turn = data.ximat[body].reshape(3, 3) @ (model.body_inertia[body] * spin)
            data.xfrc_applied[body, 3:] = -SPIN_DAMPING * turn
