"""Cameras of a robot, drawn in a process that has only the model and where its joints are."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import mujoco
import numpy as np
from mujoco.rendering.classic import gl_context
from numpy.typing import NDArray

from thenar.errors import NoRenderer
from thenar.sim.drawing.render import Image, choose_backend
from thenar.sim.physics import Physics

HIDDEN = 5  # a group of geoms that is not drawn
MAX_GEOMS = 2000
SLAB_M = (25.0, 25.0, 0.05)
"""Half edges of what is drawn for the ground."""


def model_bytes(physics: Physics) -> bytes:
    """The compiled model of a world, for another process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "world.mjb"
        mujoco.mj_saveModel(physics.model, os.fspath(path))
        return path.read_bytes()


class Eyes:
    """Draws what named cameras of a model see, as quickly as software can."""

    def __init__(self, model: bytes, size_px: tuple[int, int]):
        """Get ready to draw; what cannot be drawn here raises `NoRenderer`.

        Args:
            model: Of `model_bytes`.
            size_px: Width and height of the largest pictures.
        """
        choose_backend()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "world.mjb"
            path.write_bytes(model)
            self._model = mujoco.MjModel.from_binary_path(os.fspath(path))
        visual = self._model.vis
        # Every sample costs as much as the picture, every triangle counts, and all of the buffer is wiped each time.
        visual.quality.offsamples, visual.quality.numquads = 0, 1
        visual.quality.numslices, visual.quality.numstacks = 10, 5
        visual.global_.offwidth, visual.global_.offheight = size_px
        _lay_slabs(self._model)
        self._data = mujoco.MjData(self._model)
        self._groups = self._model.geom_group.copy()
        try:
            self._gl = gl_context.GLContext(*size_px)
            self._gl.make_current()
            self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100)
        except (ImportError, RuntimeError, AttributeError, TypeError, mujoco.FatalError) as error:
            raise NoRenderer(str(error)) from error
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._scene = mujoco.MjvScene(self._model, maxgeom=MAX_GEOMS)
        for flag in ("SHADOW", "REFLECTION", "HAZE"):
            self._scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = False
        self._option, self._perturb, self._camera = mujoco.MjvOption(), mujoco.MjvPerturb(), mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED

    def look(self, qpos: NDArray[np.float64]) -> None:
        """Put everything where it is now."""
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)

    def draw(self, camera: str, size_px: tuple[int, int]) -> Image:
        """What one camera sees, at most as large as said at the start. Shape (height, width, 3)."""
        index = self._camera.fixedcamid = self._model.camera(camera).id
        self._model.geom_group[:] = np.where(self._in_view(index, size_px), self._groups, HIDDEN)
        every = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, self._data, self._option, self._perturb, self._camera, every, self._scene)
        image, place = np.empty((size_px[1], size_px[0], 3), np.uint8), mujoco.MjrRect(0, 0, *size_px)
        mujoco.mjr_render(place, self._scene, self._context)
        mujoco.mjr_readPixels(image, None, place, self._context)
        return image[::-1]

    def _in_view(self, index: int, size_px: tuple[int, int]) -> NDArray[np.bool_]:
        """Which geoms may be in a camera's picture: balls around them against its four sides."""
        model, data = self._model, self._data
        away_m = (data.geom_xpos - data.cam_xpos[index]) @ data.cam_xmat[index].reshape(3, 3)
        slope = np.tan(0.5 * np.radians(model.cam_fovy[index])) * np.array([size_px[0] / size_px[1], 1.0])
        outside_m = np.abs(away_m[:, :2]) + away_m[:, 2:] * slope  # a camera looks along -z
        inside = np.all(outside_m <= model.geom_rbound[:, None] * np.hypot(1.0, slope), axis=1)
        return (model.geom_rbound == 0.0) | inside


def _lay_slabs(model: mujoco.MjModel) -> None:
    """Wide boxes in place of planes, their tops where the planes are: MuJoCo draws a plane as slowly as 50 meshes."""
    for geom in np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE):
        up = np.zeros(9)
        mujoco.mju_quat2Mat(up, model.geom_quat[geom])
        model.geom_type[geom], model.geom_size[geom] = mujoco.mjtGeom.mjGEOM_BOX, SLAB_M
        model.geom_pos[geom] -= SLAB_M[2] * up[2::3]
