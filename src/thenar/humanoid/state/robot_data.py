"""`RobotData`: one state for every controller, with the vendor's names and one consistent instant per update."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from thenar.arrays import FloatArray
from thenar.errors import BadValue, UnknownName
from thenar.humanoid.control.command_board import ANYONE, CommandBoard
from thenar.humanoid.model.body_spec import BodySpec, HandRange, Load
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.state.kindyn import KindynData, Solver
from thenar.humanoid.state.lazy import lazy
from thenar.humanoid.state.parts import (
    BaseData,
    ContactData,
    FourierHardwareData,
    FsmStateData,
    GeneralizedState,
    JoyStickData,
    RobotState,
)

AuxData = dict[str, Any]
"""Members of a snapshot that do not come with the robot's motion but at times of their own, by name."""
PARTS = ("joystick", "fsm_state", "hardware_data", "gener_state", "kindyn_data", "base_data", "contact_data")
"""Parts of `RobotData` that have a stamp of their own."""


class RobotSnapshot:
    """Everything about one instant. It never changes, whatever the robot does meanwhile; its arrays are read-only."""

    stamp_s: float
    valid: bool
    kindyn_data: KindynData
    joystick: JoyStickData
    fsm_state: FsmStateData
    contact_data: ContactData
    vel_cmd: FloatArray
    """Commanded walking velocity: forwards, to the left [m/s], turning to the left [rad/s]."""
    stand_pose_cmd: FloatArray
    """Commanded stand pose: height against the default [m], pitch forwards and yaw to the left [rad]."""
    hand_pvc: Mapping[str, FloatArray]
    """Position, velocity and current of each hand. Shapes (3, n)."""
    hands_stamp_s: float
    """When the hands were read [s]."""

    def __init__(
        self,
        solver: Solver,
        stamp_s: float,
        valid: bool,
        q: FloatArray,
        qd: FloatArray,
        tau: FloatArray | None,
        qdd: FloatArray | None,
        aux: AuxData,
        stop_tau: FloatArray | None = None,
    ):
        """Keep the state; what follows from it is computed when it is read."""
        self.stamp_s, self.valid = stamp_s, valid
        self.stop_tau = stop_tau
        self._aux = aux
        self.kindyn_data = KindynData(solver, stamp_s, valid, q, qd)
        self._q, self._qd, self._joint_tau, self._qdd = q, qd, tau, qdd

    @lazy
    def _tau(self) -> FloatArray:
        joints = np.zeros(self._qd.size - 6) if self._joint_tau is None else self._joint_tau
        return np.concatenate([np.zeros(6), joints])

    @lazy
    def robot_state(self) -> RobotState:
        """The joints alone."""
        qdd = np.full(self._q.size - 7, np.nan) if self._qdd is None else self._qdd[6:]
        q, qd, tau = self._q[7:], self._qd[6:], self._tau[6:]
        return RobotState(stamp_s=self.stamp_s, valid=self.valid, q=q, qd=qd, qdd=qdd, qft=tau)

    @lazy
    def gener_state(self) -> GeneralizedState:
        """The whole robot as one vector."""
        return GeneralizedState(stamp_s=self.stamp_s, valid=self.valid, q=self._q, qd=self._qd, tau=self._tau)

    @lazy
    def base_data(self) -> BaseData:
        """The floating base."""
        base_qdd = None if self._qdd is None else self._qdd[:6]
        return BaseData(stamp_s=self.stamp_s, valid=self.valid, q=self._q, qd=self._qd, base_qdd=base_qdd)

    def replace(self, changes: AuxData) -> RobotSnapshot:
        """The same instant with other auxiliary data; what was computed already is kept."""
        other = object.__new__(RobotSnapshot)
        other.__dict__.update(self.__dict__, _aux=self._aux | changes)
        return other

    def __getattr__(self, name: str) -> Any:
        """Auxiliary data; every update hands it on whole, which copying it into members would slow down."""
        aux = self.__dict__.get("_aux", {})
        if name not in aux:
            raise AttributeError(f"a RobotSnapshot has no {name!r}")
        return aux[name]


class RobotData:
    """A robot's state, updated as a whole and read by name; a GR-2 in its default standing pose until then.

    >>> data = RobotData()
    >>> data.kindyn_data.M.shape
    (35, 35)
    """

    def __init__(
        self,
        body: BodySpec = GR2,
        *,
        armature: bool = True,
        loads: Iterable[Load] = (),
        hands: Mapping[str, HandRange] | None = None,
        eager: Collection[str] | Literal["all"] = (),
    ):
        """Ready to read.

        Args:
            body: The robot.
            armature: Whether the inertia of the motors' rotors is part of the mass matrix.
            loads: Rigid pieces on its links, such as hands.
            hands: Hands by the vendor's names.
            eager: Fields of `KindynData` that every update computes at once; the others wait until they are read.
        """
        self.body, self.loads = body, tuple(loads)
        self.solver = Solver(body, armature=armature, loads=self.loads)
        self._eager = KindynData.FIELDS if eager == "all" else tuple(eager)
        for name in self._eager:
            if name not in (*KindynData.FIELDS, "nle"):
                raise UnknownName("field of KindynData", name, (*KindynData.FIELDS, "nle"))
        self.board = CommandBoard(body, hands or {})
        self.source = ANYONE
        """In whose name commands through `hardware_data` are given."""
        self._writing = threading.Lock()
        self._default_q = np.concatenate([np.zeros(6), [1.0], body.default_q_rad])
        self._default_q[2] = -min(foot.p[2] for foot in self.default_kindyn().feet_W) - body.sole_m
        still = _vector("vel_cmd", np.zeros(3), 3)
        aux = AuxData(
            joystick=JoyStickData(),
            fsm_state=FsmStateData(),
            contact_data=ContactData(),
            vel_cmd=still,
            stand_pose_cmd=still,
            hand_pvc={},
            hands_stamp_s=0.0,
        )
        q, qd = _state(self._default_q, np.zeros(body.nv), body.nv)
        self._shared = _Shared(RobotSnapshot(self.solver, 0.0, False, q, qd, None, None, aux), aux)

    # Reading: every property belongs to the newest snapshot.

    @property
    def stamp_s(self) -> float:
        """When the newest state was measured [s]."""
        return self._shared.now.stamp_s

    @property
    def joystick(self) -> JoyStickData:
        """Joystick control input (reference: ``joyStick``)."""
        return self._shared.now.joystick

    @property
    def fsm_state(self) -> FsmStateData:
        """State machine (reference: ``fsmState``)."""
        return self._shared.now.fsm_state

    @property
    def hardware_data(self) -> FourierHardwareData:
        """Joints, commands and hands (reference: ``hardwareData``)."""
        now = self._shared.now
        return FourierHardwareData(
            board=self.board,
            state=now.robot_state,
            hand_pvc=now.hand_pvc,
            hands_stamp_s=now.hands_stamp_s,
            source=self.source,
        )

    @property
    def gener_state(self) -> GeneralizedState:
        """Generalized state (reference: ``generState``)."""
        return self._shared.now.gener_state

    @property
    def kindyn_data(self) -> KindynData:
        """Kinematics and dynamics (reference: ``kindynData``)."""
        return self._shared.now.kindyn_data

    @property
    def base_data(self) -> BaseData:
        """The floating base (reference: ``baseData``)."""
        return self._shared.now.base_data

    @property
    def contact_data(self) -> ContactData:
        """Contact of the feet (reference: ``contactData``)."""
        return self._shared.now.contact_data

    @property
    def vel_cmd(self) -> FloatArray:
        """Commanded walking velocity: forwards, to the left [m/s], turning to the left [rad/s]."""
        return self._shared.now.vel_cmd

    @property
    def stand_pose_cmd(self) -> FloatArray:
        """Commanded stand pose: height against the default [m], pitch forwards and yaw to the left [rad]."""
        return self._shared.now.stand_pose_cmd

    def snapshot(self) -> RobotSnapshot:
        """Everything of the newest instant, to keep. Any thread may ask."""
        return self._shared.now

    def age_s(self, part: str, now_s: float | None = None) -> float:
        """How old a part is [s]: against the newest update, or against a time of the twin's clock."""
        if part not in PARTS:
            raise UnknownName("part of RobotData", part, PARTS)
        now = self._shared.now
        stamp_s = now.robot_state.stamp_s if part == "hardware_data" else getattr(now, part).stamp_s
        return (now.stamp_s if now_s is None else now_s) - stamp_s

    def kindyn_at(self, q: FloatArray) -> KindynData:
        """Kinematics and dynamics at rest in other generalized coordinates. Shape (nv + 1,)."""
        return KindynData(self.solver, 0.0, False, q, np.zeros(self.body.nv))

    def default_kindyn(self) -> KindynData:
        """Kinematics and dynamics of the default standing pose, at rest."""
        return self.kindyn_at(self._default_q.copy())

    def view_for(self, source: str) -> RobotData:
        """The same robot for one source of commands, in whose name everything commanded through it is."""
        view = object.__new__(RobotData)
        view.__dict__.update(self.__dict__)
        view.source = source
        return view

    # Writing: one call, one new snapshot.

    def update(
        self,
        stamp_s: float,
        *,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike | None = None,
        qdd: ArrayLike | None = None,
        stop_tau: ArrayLike | None = None,
        hand_pvc: Mapping[str, FloatArray] | None = None,
    ) -> RobotSnapshot:
        """Take a new state of the whole robot; whatever is read from now on belongs to it.

        Args:
            stamp_s: When it was measured, in seconds of the twin's clock.
            q: Generalized coordinates, see `GeneralizedState`. Shape (nv + 1,).
            qd: Generalized velocities. Shape (nv,).
            tau: Torques of the drives [N m]. Shape (nv - 6,); zeros when left out.
            qdd: Rates of ``qd``, NaN where they are not known. Shape (nv,).
            stop_tau: Torques of the joints' end stops, where they are known [N m]. Shape (nv - 6,).
            hand_pvc: Position, velocity and current of each hand. Shapes (3, n).
        """
        nv = self.body.nv
        q_, qd_ = _state(q, qd, nv)
        qdd_ = None if qdd is None else _vector("qdd", qdd, nv, finite=False)
        tau_ = None if tau is None else _vector("tau", tau, nv - 6)
        stop_tau_ = None if stop_tau is None else _vector("stop_tau", stop_tau, nv - 6)
        x, y, z, w = q_[3:7].tolist()
        norm = math.sqrt(x * x + y * y + z * z + w * w)
        if not 0.99 < norm < 1.01:
            raise BadValue("quaternion of q", [x, y, z, w], "four numbers of norm 1, w last")
        if abs(norm - 1.0) > 1e-12:
            q_ = q_.copy()
            q_[3:7] /= norm
            q_.setflags(write=False)
        with self._writing:
            shared = self._shared
            if hand_pvc is not None:
                for pvc in hand_pvc.values():
                    pvc.setflags(write=False)
                shared.aux = shared.aux | {"hand_pvc": hand_pvc, "hands_stamp_s": stamp_s}
            snapshot = RobotSnapshot(self.solver, stamp_s, True, q_, qd_, tau_, qdd_, shared.aux, stop_tau_)
            kindyn = snapshot.kindyn_data
            for name in self._eager:
                getattr(kindyn, name)
            shared.now = snapshot
        return snapshot

    def put(
        self,
        *,
        joystick: JoyStickData | None = None,
        fsm_state: FsmStateData | None = None,
        contact_data: ContactData | None = None,
        vel_cmd: ArrayLike | None = None,
        stand_pose_cmd: ArrayLike | None = None,
    ) -> None:
        """Replace parts that do not come with the robot's state; the others stay as they are."""
        parts = {"joystick": joystick, "fsm_state": fsm_state, "contact_data": contact_data}
        changes: AuxData = {name: part for name, part in parts.items() if part is not None}
        for name, values in (("vel_cmd", vel_cmd), ("stand_pose_cmd", stand_pose_cmd)):
            if values is not None:
                changes[name] = _vector(name, values, 3)
        with self._writing:
            shared = self._shared
            shared.aux = shared.aux | changes
            shared.now = shared.now.replace(changes)


@dataclass
class _Shared:
    """The newest state, common to all views of one robot. Replacing it is one assignment, so readers need no lock."""

    now: RobotSnapshot
    aux: AuxData


def _state(q: ArrayLike, qd: ArrayLike, nv: int) -> tuple[FloatArray, FloatArray]:
    """Copies of both, in one array that is checked once, since every update does it."""
    if isinstance(q, np.ndarray) and q.shape == (nv + 1,) and isinstance(qd, np.ndarray) and qd.shape == (nv,):
        both = np.concatenate((q, qd), dtype=np.float64)
        if math.isfinite(both.dot(both)):
            both.setflags(0)  # pyright: ignore[reportCallIssue]  # write=False takes twice as long
            return both[: nv + 1], both[nv + 1 :]
    return _vector("q", q, nv + 1), _vector("qd", qd, nv)


def _vector(name: str, values: ArrayLike, size: int, finite: bool = True) -> FloatArray:
    """A copy that is ours, of the right length, finite, and read-only from now on."""
    array = np.array(values, np.float64)
    if array.shape != (size,):
        got = f"{array.size} values" if array.ndim == 1 else f"an array of shape {array.shape}"
        raise BadValue(name, got, f"{size} values")
    if finite and not math.isfinite(array.dot(array)):
        raise BadValue(name, array.tolist(), "finite numbers")
    array.setflags(write=False)
    return array
