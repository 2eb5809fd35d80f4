"""Kinematics and dynamics of one state of the robot, with the reference's names.

Everything is worked out by Pinocchio when it is first read, from the state this object holds, so what is read later
still belongs to the same instant. Conventions are in docs/robotdata.md: velocities and Jacobians are those of the
link's own origin, in world axes (``_W``) or relative to the base in base axes (``_B``), linear before angular.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from thenar.humanoid.model.body_spec import BodySpec, FloatArray
from thenar.humanoid.model.mujoco_model import Load
from thenar.humanoid.model.pinocchio_model import build_model, pin
from thenar.humanoid.state.lazy import lazy

ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
_jacobian, _jacobian_rate = pin.getFrameJacobian, pin.getFrameJacobianTimeVariation


class LinkData(NamedTuple):
    """Kinematics of one link. ``J @ qd`` is ``(v, w)`` and ``J @ qdd + Jd @ qd`` its rate."""

    placement: FloatArray
    """Homogeneous transform from the link to the frame it is told in. Shape (4, 4)."""
    J: FloatArray
    """Jacobian, linear rows first. Shape (6, nv)."""
    Jd: FloatArray
    """Time derivative of the Jacobian. Shape (6, nv)."""
    qd: FloatArray
    """Generalized velocity of the robot. Shape (nv,)."""

    @property
    def p(self) -> FloatArray:
        """Position [m]."""
        return self.placement[:3, 3]

    @property
    def R(self) -> FloatArray:
        """Rotation from the link to the frame it is told in. Shape (3, 3)."""
        return self.placement[:3, :3]

    @property
    def twist(self) -> FloatArray:
        """`v` and `w` together. Shape (6,)."""
        return self.J.dot(self.qd)

    @property
    def v(self) -> FloatArray:
        """Velocity of the link's origin [m/s]."""
        return self.twist[:3]

    @property
    def w(self) -> FloatArray:
        """Angular velocity [rad/s]."""
        return self.twist[3:]


_link = partial(tuple.__new__, LinkData)
"""A `LinkData` of four values, in half the time: every update makes several."""


class Pair(NamedTuple):
    """The left and the right one."""

    left: LinkData
    right: LinkData


@dataclass(frozen=True, kw_only=True, eq=False)
class JointLimitData:
    """Limits of each joint, in the joint sequence."""

    lower: FloatArray
    """[rad]."""
    upper: FloatArray
    """[rad]."""
    effort: FloatArray
    """[N m]."""
    velocity: FloatArray
    """[rad/s]."""


class Centroidal(NamedTuple):
    """What one pass over the robot's momentum gives, about the centre of mass in world axes."""

    Ag: FloatArray
    Agd: FloatArray
    hg: FloatArray
    Iw: FloatArray
    Pc: FloatArray


class Solver:
    """Pinocchio's model of a body and the memory it works in, shared by all states.

    What Pinocchio's functions return is ours to keep; attributes of its data are views that the next call overwrites.
    One call of it is one step for Python's threads; what takes several calls is done under a lock.
    """

    def __init__(self, body: BodySpec, *, armature: bool = True, loads: Iterable[Load] = ()):
        self.body = body
        self.model = build_model(body, armature=armature, loads=loads)
        self.mass_kg = float(pin.computeTotalMass(self.model))
        self.limits = JointLimitData(
            lower=body.per_joint("lower_rad"),
            upper=body.per_joint("upper_rad"),
            effort=body.per_joint("effort_nm"),
            velocity=body.per_joint("speed_rad_s"),
        )
        self._lock = threading.Lock()
        # Direct calls: at this size a frame of Python beside them would cost a tenth of their time.
        terms = self.model.createData()
        self.mass_matrix = partial(pin.crba, self.model, terms)
        self.inverse_mass_matrix = partial(pin.computeMinverse, self.model, terms)
        self.coriolis_matrix = partial(pin.computeCoriolisMatrix, self.model, terms)
        self.gravity = partial(pin.computeGeneralizedGravity, self.model, terms)
        self.nonlinear_effects = partial(pin.nonLinearEffects, self.model, terms)
        self._momentum = self.model.createData()
        self._world, self._based = (_Kinematics(self.model) for _ in range(2))
        self._frames: dict[str, tuple[int, ...]] = {}
        for role in ("feet", "hips", "hands", "base", "head", "torso"):
            names = getattr(body.roles, role)
            self._frames[role] = tuple(map(self.model.getFrameId, (names,) if isinstance(names, str) else names))

    def centroidal(self, q: FloatArray, qd: FloatArray) -> Centroidal:
        """Momentum and what goes with it."""
        data = self._momentum
        with self._lock:
            dAg = pin.dccrba(self.model, data, q, qd)
            return Centroidal(data.Ag.copy(), dAg, data.hg.vector.copy(), data.Ig.inertia, data.com[0].copy())

    def links(self, state: KindynData, role: str) -> tuple[LinkData, ...]:
        """The links of a role in the world."""
        kinematics = self._world
        with self._lock:
            if kinematics.state is not state:
                kinematics.take(state, state.q, state.qd)
            return kinematics.links(self._frames[role])

    def links_in_base(self, state: KindynData, role: str) -> tuple[LinkData, ...]:
        """The links of a role relative to the base, as if the base stood still at the origin."""
        with self._lock:
            if self._based.state is not state:
                q, qd = state.q.copy(), state.qd.copy()
                q[:7] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
                qd[:6] = 0.0
                self._based.take(state, q, qd)
            return self._based.links(self._frames[role], base_moves=False)


class _Kinematics:
    """Pinocchio's memory with the kinematics of one state in it."""

    def __init__(self, model: Any):
        self._model = model
        self._data = model.createData()
        self._places = [self._data.oMf[frame] for frame in range(model.nframes)]  # they follow the data
        self._qd = np.zeros(model.nv)
        self.state: KindynData | None = None

    def take(self, state: KindynData, q: FloatArray, qd: FloatArray) -> None:
        pin.computeJointJacobiansTimeVariation(self._model, self._data, q, qd)
        pin.updateFramePlacements(self._model, self._data)
        self.state, self._qd = state, qd

    def links(self, frames: tuple[int, ...], *, base_moves: bool = True) -> tuple[LinkData, ...]:
        model, data, places, qd = self._model, self._data, self._places, self._qd
        links = []
        for frame in frames:
            place = places[frame].homogeneous
            J = _jacobian(model, data, frame, ALIGNED)
            rate = _jacobian_rate(model, data, frame, ALIGNED)
            if not base_moves:
                J[:, :6] = rate[:, :6] = 0.0
            place.setflags(0)
            J.setflags(0)
            rate.setflags(0)
            links.append(_link((place, J, rate, qd)))
        return tuple(links)


class KindynData:
    """Kinematics and dynamics of one instant."""

    WORLD_LINKS = ("feet_W", "hips_W", "hands_W", "base_W", "head_W", "torso_W")
    BASE_LINKS = ("feet_B", "hips_B", "hands_B", "base_B", "head_B", "torso_B")
    TERMS = ("M", "Minv", "C", "g", "c", "Iw", "Pc", "Vc", "Wc", "hg", "Ag", "Agd")
    FIELDS = (*WORLD_LINKS, *BASE_LINKS, *TERMS)
    """What is worked out when it is read."""

    def __init__(self, solver: Solver, stamp_s: float, valid: bool, q: FloatArray, qd: FloatArray):
        """Keep the state; nothing is worked out yet."""
        self.stamp_s, self.valid, self.q, self.qd = stamp_s, valid, q, qd
        self._solver = solver

    @lazy
    def nv(self) -> int:
        """Degrees of freedom."""
        return self._solver.body.nv

    @lazy
    def m(self) -> float:
        """Total mass [kg]."""
        return self._solver.mass_kg

    @lazy
    def joint_limit(self) -> JointLimitData:
        """Limits of the joints."""
        return self._solver.limits

    @lazy
    def M(self) -> FloatArray:
        """Generalized mass matrix. Shape (nv, nv)."""
        return self._solver.mass_matrix(self.q)

    @lazy
    def Minv(self) -> FloatArray:
        """Its inverse. Shape (nv, nv)."""
        return self._solver.inverse_mass_matrix(self.q)

    @lazy
    def C(self) -> FloatArray:
        """Coriolis matrix: ``C @ qd`` is `c`, and the mass matrix changes by ``C + C^T``. Shape (nv, nv)."""
        return self._solver.coriolis_matrix(self.q, self.qd)

    @lazy
    def g(self) -> FloatArray:
        """Generalized gravity: the force that holds the robot still. Shape (nv,)."""
        return self._solver.gravity(self.q)

    @lazy
    def nle(self) -> FloatArray:
        """`c` and `g` together, cheaper than both. Shape (nv,)."""
        return self._solver.nonlinear_effects(self.q, self.qd)

    @lazy
    def c(self) -> FloatArray:
        """Coriolis and centrifugal forces, without gravity. Shape (nv,)."""
        return self.nle - self.g

    @lazy
    def _centroidal(self) -> Centroidal:
        return self._solver.centroidal(self.q, self.qd)

    @lazy
    def Ag(self) -> FloatArray:
        """Centroidal momentum matrix: ``Ag @ qd`` is `hg`. Shape (6, nv)."""
        return self._centroidal.Ag

    @lazy
    def Agd(self) -> FloatArray:
        """Its time derivative. Shape (6, nv)."""
        return self._centroidal.Agd

    @lazy
    def hg(self) -> FloatArray:
        """Centroidal momentum: linear [kg m/s], then angular about the centre of mass [kg m^2/s], in world axes."""
        return self._centroidal.hg

    @lazy
    def Iw(self) -> FloatArray:
        """Inertia of the whole robot about its centre of mass, in world axes [kg m^2]. Shape (3, 3)."""
        return self._centroidal.Iw

    @lazy
    def Pc(self) -> FloatArray:
        """Centre of mass in the world [m]."""
        return self._centroidal.Pc

    @lazy
    def Vc(self) -> FloatArray:
        """Velocity of the centre of mass in the world [m/s]."""
        return self.hg[:3] / self.m

    @lazy
    def Wc(self) -> FloatArray:
        """Average angular velocity: angular momentum over `Iw`, in world axes [rad/s]; no single body turns so."""
        return np.asarray(np.linalg.solve(self.Iw, self.hg[3:]), dtype=np.float64)

    @lazy
    def feet_W(self) -> Pair:
        """Feet in the world."""
        return Pair(*self._solver.links(self, "feet"))

    @lazy
    def hips_W(self) -> Pair:
        """Hips in the world."""
        return Pair(*self._solver.links(self, "hips"))

    @lazy
    def hands_W(self) -> Pair:
        """Hands in the world."""
        return Pair(*self._solver.links(self, "hands"))

    @lazy
    def base_W(self) -> LinkData:
        """Base in the world."""
        return self._solver.links(self, "base")[0]

    @lazy
    def head_W(self) -> LinkData:
        """Head in the world."""
        return self._solver.links(self, "head")[0]

    @lazy
    def torso_W(self) -> LinkData:
        """Torso in the world."""
        return self._solver.links(self, "torso")[0]

    @lazy
    def feet_B(self) -> Pair:
        """Feet relative to the base."""
        return Pair(*self._solver.links_in_base(self, "feet"))

    @lazy
    def hips_B(self) -> Pair:
        """Hips relative to the base."""
        return Pair(*self._solver.links_in_base(self, "hips"))

    @lazy
    def hands_B(self) -> Pair:
        """Hands relative to the base."""
        return Pair(*self._solver.links_in_base(self, "hands"))

    @lazy
    def base_B(self) -> LinkData:
        """Base relative to itself: at the origin, at rest."""
        return self._solver.links_in_base(self, "base")[0]

    @lazy
    def head_B(self) -> LinkData:
        """Head relative to the base."""
        return self._solver.links_in_base(self, "head")[0]

    @lazy
    def torso_B(self) -> LinkData:
        """Torso relative to the base."""
        return self._solver.links_in_base(self, "torso")[0]
