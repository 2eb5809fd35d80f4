"""Fingers of a Shadow hand on published meshes that physics and planning do not use: mujoco_menagerie's.

They come with mujoco-mjx, of which only the model and its meshes are read, from the wheel; it is not installed.
Judged are the moving links of fingers and thumb, each by the convex hull of its mesh, against those of other fingers.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from thenar.retarget.kernel.targets import USUAL_FINGER_M, finger_length_m
from thenar.retarget.model.hand_model import HandModel
from thenar.signals import FINGERS
from thenar.twin.reports.retarget_measure import DEEP_MM, PINCH_MM, PINCH_OK_MM

PACKAGE = "mujoco-mjx==3.17.0"
INSIDE = "mujoco/mjx/test_data/shadow_hand/"
PREFIX = {"thumb": "rh_th", "index": "rh_ff", "middle": "rh_mf", "ring": "rh_rf", "little": "rh_lf"}
LINKS = ("proximal", "middle", "distal")
FAR_M = 0.2


@dataclass(frozen=True)
class OnMeshes:
    """What the meshes say of one motion."""

    deep: float
    """Share of frames in which fingers overlap by more than a millimetre."""
    deepest_mm: float
    closed: float
    """Share of pinches between 2 mm deep and 3 mm apart."""
    gap_mm: float
    """Median of their gaps."""


class MeshJudge:
    """Postures of a Shadow hand on its meshes."""

    def __init__(self, folder: Path):
        """Read the meshes, from the package in ``folder``, which is downloaded once."""
        model = folder / INSIDE / "right_hand.xml"
        if not model.exists():
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
            subprocess.run(command, check=True)
            with zipfile.ZipFile(next(folder.glob("mujoco_mjx-*.whl"))) as wheel:
                wheel.extractall(folder, [name for name in wheel.namelist() if name.startswith(INSIDE)])
        self._model = mujoco.MjModel.from_xml_path(str(model))
        self._data = mujoco.MjData(self._model)
        self._geom = {finger: [self._mesh_of(PREFIX[finger] + link) for link in LINKS] for finger in FINGERS}

    def _mesh_of(self, link: str) -> int:
        """The mesh that shows a link."""
        body = self._model.body(link)
        geoms = range(body.geomadr[0], body.geomadr[0] + body.geomnum[0])
        return next(g for g in geoms if self._model.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH)

    def judge(self, model: HandModel, nodes: np.ndarray, variable_rad: np.ndarray) -> OnMeshes:
        """Overlaps and pinches of a motion. Shapes (n, 21, 3) and (n, v)."""
        at = [self._model.joint(f"rh_{name}").qposadr[0] for name in model.hand.joint_names]
        usual = USUAL_FINGER_M / np.mean([finger_length_m(frame) for frame in nodes])
        tips = [finger.nodes[-1] for finger in model.fingers[1:]]
        gap_mm = 1e3 * usual * np.linalg.norm(nodes[:, tips] - nodes[:, 4:5], axis=2)
        deep_mm, gaps = np.zeros(len(nodes)), []
        for n, angles in enumerate(model.joint_rad(variable_rad)):
            self._data.qpos[at] = angles
            mujoco.mj_kinematics(self._model, self._data)
            deep_mm[n] = -min(0.0, 1e3 * self._nearest_m())
            for k, finger in enumerate(model.fingers[1:]):
                if gap_mm[n, k] < PINCH_MM:
                    gaps.append(1e3 * self._distance_m(self._geom["thumb"][-1], self._geom[finger.name][-1], FAR_M))
        closed = np.array([PINCH_OK_MM[0] < gap < PINCH_OK_MM[1] for gap in gaps])
        return OnMeshes(
            deep=float(np.mean(deep_mm > DEEP_MM)),
            deepest_mm=float(deep_mm.max()),
            closed=float(closed.mean()) if len(closed) else 1.0,
            gap_mm=float(np.median(gaps)) if gaps else float("nan"),
        )

    def _nearest_m(self) -> float:
        """Smallest distance of links of two fingers, as far as it matters [m]."""
        nearest = 1e-3
        for a, finger in enumerate(FINGERS):
            for other in FINGERS[a + 1 :]:
                for one in self._geom[finger]:
                    for two in self._geom[other]:
                        apart = np.linalg.norm(self._data.geom_xpos[one] - self._data.geom_xpos[two])
                        if apart < self._model.geom_rbound[one] + self._model.geom_rbound[two]:
                            nearest = min(nearest, self._distance_m(one, two, 1e-3))
        return nearest

    def _distance_m(self, one: int, two: int, most_m: float) -> float:
        return float(mujoco.mj_geomDistance(self._model, self._data, one, two, most_m, None))
