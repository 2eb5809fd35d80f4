"""Kinematics and dynamics of one state of the robot, with the reference's names.

Everything is computed by Pinocchio when it is first read, from the state this object holds, so what is read later
still belongs to the same instant. Conventions are in docs/robotdata.md: velocities and Jacobians are those of the
link's own origin, in world axes (``_W``) or relative to the base in base axes (``_B``), linear before angular.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from thenar.arrays import FloatArray
from thenar.humanoid.model.body_spec import BodySpec, Load
from thenar.humanoid.model.pinocchio_model import build_model, pin
from thenar.humanoid.state.lazy import lazy

ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
_jacobian, _jacobian_rate = pin.getFrameJacobian, pin.getFrameJacobianTimeVariation


class LinkData(NamedTuple):
    """Kinematics of one link. ``J @ qd`` is ``(v, w)`` and ``J @ qdd + Jd @ qd`` its rate."""

    placement: FloatArray
    """Homogeneous transform from the link to the world, or to the base. Shape (4, 4)."""
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
        """Rotation from the link to the world, or to the base. Shape (3, 3)."""
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

    def __post_init__(self) -> None:
        """Make the arrays read-only, since all states share them."""
        for array in vars(self).values():
            array.setflags(write=False)


class Centroidal(NamedTuple):
    """Centroidal momentum and inertia, about the centre of mass in world axes."""

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
        self._kinematics = {in_base: _Kinematics(self.model, in_base=in_base) for in_base in (False, True)}
        self._frames: dict[str, tuple[int, ...]] = {}
        for role, names in asdict(body.roles).items():
            self._frames[role] = tuple(map(self.model.getFrameId, (names,) if isinstance(names, str) else names))
        self._frames["colliding"] = tuple(map(self.model.getFrameId, body.touching))

    def centroidal(self, q: FloatArray, qd: FloatArray) -> Centroidal:
        """Centroidal momentum and what one pass over the robot gives with it."""
        data = self._momentum
        with self._lock:
            dAg = pin.dccrba(self.model, data, q, qd)
            return Centroidal(data.Ag.copy(), dAg, data.hg.vector.copy(), data.Ig.inertia, data.com[0].copy())

    def links(self, state: KindynData, role: str, in_base: bool) -> tuple[LinkData, ...]:
        """The links of a role in the world, or relative to the base as if it stood still at the origin."""
        with self._lock:
            return self._kinematics[in_base].links(state, self._frames[role])

    def placements(self, state: KindynData, role: str) -> FloatArray:
        """Homogeneous transforms from the links of a role to the world, much quicker than `links`. Shape (n, 4, 4)."""
        with self._lock:
            return self._kinematics[False].placements(state, self._frames[role])


class _Kinematics:
    """Pinocchio's memory with the kinematics of one state in it."""

    def __init__(self, model: Any, *, in_base: bool):
        self._model, self._in_base = model, in_base
        self._data = model.createData()
        self._placements = [self._data.oMf[frame] for frame in range(model.nframes)]  # they follow the data
        self._state: KindynData | None = None
        self._qd = np.zeros(model.nv)

    def links(self, state: KindynData, frames: tuple[int, ...]) -> tuple[LinkData, ...]:
        if self._state is not state:
            self._take(state)
        model, data, placements, qd = self._model, self._data, self._placements, self._qd
        links = []
        for frame in frames:
            placement = placements[frame].homogeneous
            J = _jacobian(model, data, frame, ALIGNED)
            Jd = _jacobian_rate(model, data, frame, ALIGNED)
            if self._in_base:
                J[:, :6] = Jd[:, :6] = 0.0
            placement.setflags(0)
            J.setflags(0)
            Jd.setflags(0)
            links.append(_link((placement, J, Jd, qd)))
        return tuple(links)

    def placements(self, state: KindynData, frames: tuple[int, ...]) -> FloatArray:
        if self._state is not state:
            self._take(state)
        return np.array([self._placements[frame].homogeneous for frame in frames])

    def _take(self, state: KindynData) -> None:
        q, qd = state.q, state.qd
        if self._in_base:
            q, qd = q.copy(), qd.copy()
            q[:7] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
            qd[:6] = 0.0
            qd.setflags(write=False)
        pin.computeJointJacobiansTimeVariation(self._model, self._data, q, qd)
        pin.updateFramePlacements(self._model, self._data)
        self._state, self._qd = state, qd


def _pair_of(role: str, *, in_base: bool = False) -> lazy[Pair]:
    return lazy(lambda kindyn: Pair(*kindyn._solver.links(kindyn, role, in_base)))


def _link_of(role: str, *, in_base: bool = False) -> lazy[LinkData]:
    return lazy(lambda kindyn: kindyn._solver.links(kindyn, role, in_base)[0])


def _momentum(name: str) -> lazy[FloatArray]:
    return lazy(lambda kindyn: getattr(kindyn._centroidal, name))


class KindynData:
    """Kinematics and dynamics of one instant, computed when they are read."""

    stamp_s: float
    valid: bool
    q: FloatArray
    """Generalized coordinates. Shape (nv + 1,)."""
    qd: FloatArray
    """Generalized velocities. Shape (nv,)."""

    def __init__(self, solver: Solver, stamp_s: float, valid: bool, q: FloatArray, qd: FloatArray):
        """Keep the state; nothing is computed yet."""
        self.stamp_s, self.valid, self.q, self.qd = stamp_s, valid, q, qd
        self._solver = solver

    # Links in the world.
    feet_W = _pair_of("feet")
    hips_W = _pair_of("hips")
    hands_W = _pair_of("hands")
    base_W = _link_of("base")
    head_W = _link_of("head")
    torso_W = _link_of("torso")
    # Links relative to the base; the base itself is at the origin, at rest.
    feet_B = _pair_of("feet", in_base=True)
    hips_B = _pair_of("hips", in_base=True)
    hands_B = _pair_of("hands", in_base=True)
    base_B = _link_of("base", in_base=True)
    head_B = _link_of("head", in_base=True)
    torso_B = _link_of("torso", in_base=True)

    def colliding_links(self) -> tuple[LinkData, ...]:
        """Links that can touch something, in the world, in the order of `BodySpec.touching`."""
        return self._solver.links(self, "colliding", False)

    def colliding_placements(self) -> FloatArray:
        """Where they are, as `LinkData.placement`. Shape (n, 4, 4)."""
        return self._solver.placements(self, "colliding")

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
    def nle(self) -> FloatArray:
        """`c` and `g` together, cheaper than both. Shape (nv,)."""
        return self._solver.nonlinear_effects(self.q, self.qd)

    @lazy
    def _centroidal(self) -> Centroidal:
        return self._solver.centroidal(self.q, self.qd)

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
    def c(self) -> FloatArray:
        """Coriolis and centrifugal forces, without gravity. Shape (nv,)."""
        return self.nle - self.g

    Ag = _momentum("Ag")
    """Centroidal momentum matrix: ``Ag @ qd`` is `hg`. Shape (6, nv)."""
    Agd = _momentum("Agd")
    """Its time derivative. Shape (6, nv)."""
    hg = _momentum("hg")
    """Centroidal momentum: linear [kg m/s], then angular about the centre of mass [kg m^2/s], in world axes."""
    Iw = _momentum("Iw")
    """Inertia of the whole robot about its centre of mass, in world axes [kg m^2]. Shape (3, 3)."""
    Pc = _momentum("Pc")
    """Centre of mass in the world [m]."""

    @lazy
    def Vc(self) -> FloatArray:
        """Velocity of the centre of mass in the world [m/s]."""
        return self.hg[:3] / self.m

    @lazy
    def Wc(self) -> FloatArray:
        """Average angular velocity: angular momentum over `Iw`, in world axes [rad/s]; no single body turns so."""
        return np.asarray(np.linalg.solve(self.Iw, self.hg[3:]), dtype=np.float64)

    FIELDS = tuple(
        name
        for name, value in vars().items()
        if isinstance(value, lazy) and name not in ("nv", "m", "joint_limit", "nle", "_centroidal")
    )
    """The reference's members that depend on the state."""
