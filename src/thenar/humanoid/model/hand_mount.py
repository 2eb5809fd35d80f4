"""Hands on a body's wrists: where they are mounted, what they weigh, and their motors in the vendor's own numbers."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.build import build_spec
from thenar.hands.rotations import matrix_from_quat_wxyz, matrix_from_rpy, quat_wxyz_from_matrix
from thenar.hands.spec import HandSpec
from thenar.humanoid.model.body_spec import BodySpec, HandRange, Load

# Ref: Fourier's hand tutorial, FDH-6: index, middle, ring, little, thumb bend, thumb rotation [rad].
FDH6_LOWER = (0.17, 0.17, 0.17, 0.17, 0.12, 0.0)
FDH6_UPPER = (1.78, 1.78, 1.78, 1.78, 1.28, 1.68)


def hand_mount(body: BodySpec, hand: HandSpec) -> tuple[str, FloatArray, FloatArray]:
    """Link a hand is mounted on, and position [m] and orientation (``quat_wxyz``) of the hand's root there.

    Where the maker does not say it, fingers point along the forearm and the palm faces the body.
    """
    link = body.roles.hands[0 if hand.side == "left" else 1]
    if hand.name in body.mounts:
        mount = body.mounts[hand.name]
        return link, np.array(mount.pos_m), quat_wxyz_from_matrix(matrix_from_rpy(mount.rpy_rad))
    inwards = -1.0 if hand.side == "left" else 1.0
    # Of the palm frame in the end of the arm: y towards the fingers, z out of the palm.
    y, z = np.array(body.fingers_along), np.array([0.0, inwards, 0.0])
    R_ep = np.stack([np.cross(y, z), y, z], axis=1)
    return link, body.flange_m * y, quat_wxyz_from_matrix(R_ep @ matrix_from_rpy(hand.palm.rpy_rad).T)


def hand_load(body: BodySpec, hand: HandSpec) -> Load:
    """Mass, centre and inertia of an open hand as one rigid piece on the wrist."""
    link, pos_m, quat_wxyz = hand_mount(body, hand)
    model = build_spec(hand).compile()
    data = mujoco.MjData(model)
    for joint, angle in hand.joint_angles(hand.open_rad).items():
        data.joint(joint).qpos[0] = angle
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    root = model.body(hand.root).id
    com = data.subtree_com[root]
    inertia = np.zeros((3, 3))
    for index in range(root, model.nbody):
        axes, arm = data.ximat[index].reshape(3, 3), data.xipos[index] - com
        inertia += axes @ np.diag(model.body_inertia[index]) @ axes.T
        inertia += model.body_mass[index] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    R = matrix_from_quat_wxyz(quat_wxyz)
    mass_kg = float(model.body_subtreemass[root])
    ends = _ends(model, data)
    ends[:, :3] = pos_m + ends[:, :3] @ R.T
    return Load(link=link, mass_kg=mass_kg, com_m=pos_m + R @ com, inertia_kgm2=R @ inertia @ R.T, ends_m=ends)


def _ends(model: mujoco.MjModel, data: mujoco.MjData) -> FloatArray:
    """Balls at the ends of capsules and the corners of everything else that touches, and their radii. Shape (n, 4)."""
    corners = np.stack(np.meshgrid(*[(-1.0, 1.0)] * 3), axis=-1).reshape(8, 3)
    found = []
    for geom in np.flatnonzero(model.geom_contype):
        radius_m, half_m = model.geom_size[geom, :2]
        local = model.geom_aabb[geom, :3] + model.geom_aabb[geom, 3:] * corners
        if is_capsule := model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE:
            local = np.array([[0.0, 0.0, -half_m], [0.0, 0.0, half_m]])
        places = data.geom_xpos[geom] + local @ data.geom_xmat[geom].reshape(3, 3).T
        found.append(np.column_stack([places, np.full(len(places), radius_m if is_capsule else 0.0)]))
    return np.concatenate(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class PvcScale:
    """Conversion between a hand's motor angles and the vendor's range.

    How the vendor's range maps to joint angles is not published. Taken here: the lower end is the open hand, the upper
    end the closed one, and it is linear between them.
    """

    hand: str
    """Name of the hand in the world."""
    range: HandRange
    start_rad: FloatArray
    """Motor angle at the lower end of the range: that of the open hand where closing moves it [rad]."""
    rad_per_unit: FloatArray
    """Motor angle for one of the vendor's radians; negative where closing lowers the angle."""

    @staticmethod
    def of(hand: HandSpec) -> PvcScale:
        """The published range of Fourier's hand; any other hand has its own strokes from 0 on.

        A motor that closing does not move, such as one that spreads fingers, has its own angles.
        """
        closes = hand.closed_rad != hand.open_rad
        least, most = (
            np.array([getattr(motor, end) for motor in hand.actuators]) for end in ("lower_rad", "upper_rad")
        )
        start_rad = np.where(closes, hand.open_rad, least)
        stroke_rad = np.where(closes, hand.closed_rad, most) - start_rad
        lower = np.where(closes, 0.0, least)
        upper = lower + np.abs(stroke_rad)
        if hand.maker == "Fourier":
            lower, upper = np.array(FDH6_LOWER), np.array(FDH6_UPPER)
        return PvcScale(
            hand=hand.name,
            range=HandRange(lower, upper),
            start_rad=start_rad,
            rad_per_unit=stroke_rad / (upper - lower),
        )

    def to_rad(self, position: FloatArray) -> FloatArray:
        """Motor angles [rad] of positions in the vendor's range."""
        return self.start_rad + (position - self.range.lower) * self.rad_per_unit

    def from_rad(self, angle_rad: FloatArray) -> FloatArray:
        """Positions in the vendor's range of motor angles [rad]."""
        return self.range.lower + (angle_rad - self.start_rad) / self.rad_per_unit
