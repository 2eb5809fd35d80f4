"""A G1 for MuJoCo written straight from the maker's table, and its motors' law by hand: an oracle without thenar."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

TABLE = json.loads((Path(__file__).parents[1] / "data" / "g1.json").read_text())
JOINTS = [motor["joint"] for motor in TABLE["motors"]]
EFFORT_NM = np.array([motor["effort_nm_urdf"] for motor in TABLE["motors"]])


def _text(numbers: Any) -> str:
    return " ".join(repr(float(number)) for number in numbers)


def model(*, timestep_s: float) -> Any:
    """The robot with its pelvis fixed, rubber hands on, nothing that collides."""
    links = {link["name"]: link for link in TABLE["links"]}
    root = ET.Element("mujoco")
    ET.SubElement(root, "compiler", angle="radian", eulerseq="XYZ", balanceinertia="true")
    ET.SubElement(root, "option", timestep=str(timestep_s), integrator="implicit", gravity="0 0 -9.81")
    bodies = {"pelvis": ET.SubElement(ET.SubElement(root, "worldbody"), "body", name="pelvis")}
    waiting = [*TABLE["motors"], *TABLE["fixed_frames"]]
    while waiting:
        joint = next(one for one in waiting if one["parent"] in bodies)
        waiting.remove(joint)
        place = {"pos": _text(joint["xyz_m"]), "euler": _text(joint["rpy_rad"])}
        body = bodies[joint["child"]] = ET.SubElement(
            bodies[joint["parent"]], "body", {"name": joint["child"], **place}
        )
        if "axis" in joint:
            limits = _text((joint["lower_rad"], joint["upper_rad"]))
            armature = str(joint["armature_kgm2"])
            ET.SubElement(
                body, "joint", name=joint["joint"], axis=_text(joint["axis"]), range=limits, armature=armature
            )
    for name, link in links.items():
        inertia = [link["inertia_kgm2"][key] for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")]
        mass = {"mass": repr(link["mass_kg"]), "pos": _text(link["com_m"]), "fullinertia": _text(inertia)}
        ET.SubElement(bodies[name], "inertial", mass)
    return mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))  # pyright: ignore[reportAttributeAccessIssue]


class PlainG1:
    """The robot and its motors: ``torque = tau + kp (q - angle) + kd (dq - velocity)``, within their strength."""

    def __init__(self, timestep_s: float = 2.5e-4):
        """At zero angles and rest."""
        self.model = model(timestep_s=timestep_s)
        self.data: Any = mujoco.MjData(self.model)
        self._qpos = np.array([self.model.joint(name).qposadr[0] for name in JOINTS])
        self._dof = np.array([self.model.joint(name).dofadr[0] for name in JOINTS])

    @property
    def q(self) -> np.ndarray:
        """Angles in the order of the motors [rad]."""
        return self.data.qpos[self._qpos].copy()

    @q.setter
    def q(self, angles: np.ndarray) -> None:
        self.data.qpos[self._qpos] = angles
        mujoco.mj_forward(self.model, self.data)

    def advance(self, seconds: float, q: Any, kp: Any, kd: Any, tau: Any = 0.0, dq: Any = 0.0) -> None:
        """Let time pass under one command."""
        for _ in range(round(seconds / self.model.opt.timestep)):
            angle, velocity = self.data.qpos[self._qpos], self.data.qvel[self._dof]
            torque = tau + kp * (q - angle) + kd * (dq - velocity)
            self.data.qfrc_applied[self._dof] = np.clip(torque, -EFFORT_NM, EFFORT_NM)
            mujoco.mj_step(self.model, self.data)
