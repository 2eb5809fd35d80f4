"""The same physics written straightforwardly in numpy: what `RobotData` is measured and checked against.

Link by link from the tables, Jacobians from axes and lever arms, sums over links. It shares nothing with Pinocchio but
the specification of the body.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.rotations import matrix_from_quat_wxyz, matrix_from_rpy
from thenar.humanoid.model.body_spec import BodySpec, Hinge

GRAVITY_M_S2 = 9.81


class PlainBody:
    """A body, ready for `fields`."""

    def __init__(self, body: BodySpec, *, armature: bool = True):
        self.body = body
        index = {body.root: 0} | {joint.child: n for n, joint in enumerate(body.joints, start=1)}
        self.names = tuple(index)
        self._parent = [index[joint.parent] for joint in body.joints]
        self._offset = [(np.array(joint.pos_m), matrix_from_rpy(joint.rpy_rad)) for joint in body.joints]
        self._axis = [np.array(joint.axis) if isinstance(joint, Hinge) else None for joint in body.joints]
        places = iter(range(len(body.hinges)))
        self._place = [next(places) if isinstance(joint, Hinge) else -1 for joint in body.joints]
        self._carried_by = [0] * 6 + [link for link, place in enumerate(self._place, start=1) if place >= 0]
        # Which degrees of freedom move each link: the base always, and the joints on the way to it.
        moves = np.zeros((len(index), body.nv), dtype=bool)
        moves[:, :6] = True
        for link, parent in enumerate(self._parent, start=1):
            moves[link] |= moves[parent]
            if self._place[link - 1] >= 0:
                moves[link, 6 + self._place[link - 1]] = True
        self._moves = moves.astype(float)[:, :, None]
        self._mass, self._com, self._inertia = (
            np.zeros(len(index)),
            np.zeros((len(index), 3)),
            np.zeros((len(index), 3, 3)),
        )
        for link in body.links:
            assert link.com_m is not None
            assert link.inertia_kgm2 is not None
            xx, yy, zz, xy, xz, yz = link.inertia_kgm2
            self._mass[index[link.name]] = link.mass_kg
            self._com[index[link.name]] = link.com_m
            self._inertia[index[link.name]] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
        self._rotors = np.concatenate([np.zeros(6), body.per_joint("armature_kgm2") * armature])
        roles = body.roles
        self.links = [
            index[name] for name in (*roles.feet, *roles.hips, *roles.hands, roles.base, roles.head, roles.torso)
        ]

    def fields(self, q: FloatArray, qd: FloatArray) -> dict[str, FloatArray]:
        """Every field of `KindynData` at one state; links as stacks (9, ...) in the order of the roles."""
        R, p, w, axis, origin = self._kinematics(q, qd)
        com = p + np.einsum("lij,lj->li", R, self._com)
        inertia = R @ self._inertia @ R.transpose(0, 2, 1)
        Jv, Jw, Jvd, Jwd = self._jacobians(com, w, axis, origin, qd)
        m = self._mass
        turning = np.cross(w[:, None, :], inertia.transpose(0, 2, 1)).transpose(0, 2, 1)  # [w]x I
        weighted, spun = m[:, None, None] * Jv, np.einsum("lij,lnj->lni", inertia, Jw)
        M = np.einsum("lni,lki->nk", weighted, Jv) + np.einsum("lni,lki->nk", spun, Jw) + np.diag(self._rotors)
        push = np.einsum("lij,lnj->lni", inertia, Jwd) + np.einsum("lij,lnj->lni", turning, Jw)
        C = np.einsum("lni,lki->nk", weighted, Jvd) + np.einsum("lni,lki->nk", Jw, push)
        g = GRAVITY_M_S2 * weighted[:, :, 2].sum(axis=0)
        mass = m.sum()
        Pc = m @ com / mass
        linear = weighted.sum(axis=0)
        Vc = linear.T @ qd / mass
        arm, rate = com - Pc, np.einsum("lni,n->li", Jv, qd) - Vc
        angular = spun.sum(axis=0) + np.cross(arm[:, None, :], weighted).sum(axis=0)
        spin_rate = turning - inertia @ _skew(w)
        angular_rate = (
            np.einsum("lij,lnj->lni", spin_rate, Jw)
            + np.einsum("lij,lnj->lni", inertia, Jwd)
            + np.cross(rate[:, None, :], weighted)
            + np.cross(arm[:, None, :], m[:, None, None] * Jvd)
        ).sum(axis=0)
        Ag = np.concatenate([linear, angular], axis=1).T
        Agd = np.concatenate([np.einsum("l,lni->ni", m, Jvd), angular_rate], axis=1).T
        hg = Ag @ qd
        Iw = inertia.sum(axis=0) + np.einsum("l,lij->ij", m, -_skew(arm) @ _skew(arm))
        fields: dict[str, Any] = {
            "M": M,
            "Minv": np.linalg.inv(M),
            "C": C,
            "g": g,
            "c": C @ qd,
            "Iw": Iw,
            "Pc": Pc,
            "Vc": Vc,
        }
        fields |= {"Wc": np.linalg.solve(Iw, hg[3:]), "hg": hg, "Ag": Ag, "Agd": Agd}
        for frame, state in (("W", (q, qd)), ("B", _without_base(q, qd))):
            fields |= {f"{name}_{frame}": value for name, value in self._link_fields(*state, frame).items()}
        return fields

    def _link_fields(self, q: FloatArray, qd: FloatArray, frame: str) -> dict[str, Any]:
        R, p, w, axis, origin = self._kinematics(q, qd)
        Jv, Jw, Jvd, Jwd = (J[self.links] for J in self._jacobians(p, w, axis, origin, qd))
        J = np.concatenate([Jv, Jw], axis=2).transpose(0, 2, 1)
        Jd = np.concatenate([Jvd, Jwd], axis=2).transpose(0, 2, 1)
        if frame == "B":
            J[:, :, :6] = Jd[:, :, :6] = 0.0
        return {"p": p[self.links], "R": R[self.links], "twist": J @ qd, "J": J, "Jd": Jd}

    def _kinematics(self, q: FloatArray, qd: FloatArray):
        """Rotation, origin and angular velocity of every link; axis and origin of every degree of freedom."""
        links, nv = len(self.names), self.body.nv
        R, p, w = np.zeros((links, 3, 3)), np.zeros((links, 3)), np.zeros((links, 3))
        axis, origin = np.zeros((nv, 3)), np.zeros((nv, 3))
        R[0], p[0] = matrix_from_quat_wxyz(q[[6, 3, 4, 5]]), q[:3]
        w[0] = R[0] @ qd[3:6]
        axis[:3] = axis[3:6] = R[0].T
        origin[:6] = p[0]
        for link, (parent, (offset, turn)) in enumerate(zip(self._parent, self._offset, strict=True), start=1):
            p[link] = p[parent] + R[parent] @ offset
            R[link] = R[parent] @ turn
            w[link] = w[parent]
            place, about = self._place[link - 1], self._axis[link - 1]
            if about is None:
                continue
            axis[6 + place], origin[6 + place] = R[link] @ about, p[link]
            w[link] = w[link] + axis[6 + place] * qd[6 + place]
            angle = q[7 + place]
            K = _skew(about[None])[0]
            R[link] = R[link] @ (np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)
        return R, p, w, axis, origin

    def _jacobians(self, points: FloatArray, w: FloatArray, axis: FloatArray, origin: FloatArray, qd: FloatArray):
        """Linear and angular Jacobians of a point of each link, and their rates. Shapes (links, nv, 3)."""
        Jw = np.broadcast_to(axis, (len(points), *axis.shape)) * self._moves
        Jw[:, :3] = 0.0
        Jv = np.cross(axis, points[:, None, :] - origin) * self._moves
        Jv[:, :3] = axis[:3]
        velocity = np.einsum("lni,n->li", Jv, qd)
        # Axes turn, and their origins move, with the link they are fixed to: the base's, or a joint's child.
        own = self._carried_by
        axis_rate = np.cross(w[own], axis)
        Jv_origin = np.cross(axis, origin[:, None, :] - origin) * self._moves[own]
        Jv_origin[:, :3] = axis[:3]
        moved = np.einsum("oni,n->oi", Jv_origin, qd)
        Jwd = np.broadcast_to(axis_rate, Jw.shape) * self._moves
        Jwd[:, :3] = 0.0
        lever, lever_rate = points[:, None, :] - origin, velocity[:, None, :] - moved
        Jvd = (np.cross(axis_rate, lever) + np.cross(axis, lever_rate)) * self._moves
        Jvd[:, :3] = axis_rate[:3]
        return Jv, Jw, Jvd, Jwd


def _without_base(q: FloatArray, qd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same joints on a base that stands still at the origin."""
    return np.concatenate([np.zeros(6), [1.0], q[7:]]), np.concatenate([np.zeros(6), qd[6:]])


def _skew(v: FloatArray) -> FloatArray:
    zero = np.zeros(len(v))
    x, y, z = v.T
    return np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)
