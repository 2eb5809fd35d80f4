"""MuJoCo's own collision as the judge of a posture: does a hand run into itself, and how far apart are its tips."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from thenar.hands.build import build_spec
from thenar.hands.spec import HandSpec
from thenar.signals import FloatArray

FAR_M = 0.2
ANY_INERTIA_KGM2 = (1e-6, 1e-6, 1e-6, 0.0, 0.0, 0.0)  # nothing moves here, but a model must have one


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """Deepest overlap between two links of one hand."""

    depth_m: float
    """How deep, 0 where it does not [m]."""
    links: tuple[str, str] | None
    """The two links."""


def with_outlines(hand: HandSpec) -> HandSpec:
    """The hand as its motion is planned: outlines in place of skins where links have them, and no pads."""
    links = tuple(
        link if link.outline is None else replace(link, skin=link.outline, more_skin=(), inertia_kgm2=ANY_INERTIA_KGM2)
        for link in hand.links
    )
    return replace(hand, links=links, pads=(), variants={})


class CollisionChecker:
    """A hand without physics: postures in, overlaps and distances out."""

    def __init__(self, hand: HandSpec):
        """Build the hand's model, with outlines where links have them."""
        self._model = build_spec(with_outlines(hand)).compile()
        self._data = mujoco.MjData(self._model)
        self._qpos = np.array([self._model.joint(name).qposadr[0] for name in hand.joint_names])

    def pose(self, joint_rad: FloatArray) -> None:
        """Put every joint at its angle, in the order of the spec [rad]."""
        self._data.qpos[self._qpos] = joint_rad
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)  # collision reads the bodies' centres

    def overlap(self) -> Overlap:
        """Deepest contact of the posture."""
        mujoco.mj_collision(self._model, self._data)
        deepest, links = 0.0, None
        for contact in self._data.contact[: self._data.ncon]:
            if -contact.dist > deepest:
                deepest = -float(contact.dist)
                a, b = (self._model.body(self._model.geom_bodyid[geom]).name for geom in contact.geom)
                links = (a, b)
        return Overlap(depth_m=deepest, links=links)

    def distance(self, one: str, other: str) -> tuple[float, FloatArray, FloatArray]:
        """Signed distance of the skins of two links [m], and the nearest point of each in that link's own frame."""
        ends = np.zeros(6)
        geoms = [self._model.geom(f"{link}_skin").id for link in (one, other)]
        distance = mujoco.mj_geomDistance(self._model, self._data, *geoms, FAR_M, ends)
        points = []
        for link, end in ((one, ends[:3]), (other, ends[3:])):
            body = self._data.body(link)
            points.append(body.xmat.reshape(3, 3).T @ (end - body.xpos))
        return float(distance), points[0], points[1]
