"""The small parts of `RobotData`: joystick, state machine, hardware, joints, generalized state, base, contact.

Each is a value of one instant: ``stamp_s`` is when it was measured, in seconds of the twin's clock, and ``valid`` is
False until something was measured at all. The reference's names are kept, its spelling mistakes too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from thenar.arrays import FloatArray
from thenar.errors import UnknownName
from thenar.hands.rotations import matrix_from_quat_wxyz, rpy_from_matrix
from thenar.humanoid.control.command_board import ANYONE, CommandBoard
from thenar.humanoid.state.lazy import lazy


@dataclass(frozen=True, kw_only=True, eq=False)
class JoyStickData:
    """Input of the operator's joystick."""

    stamp_s: float = 0.0
    valid: bool = False
    liner_cmd: FloatArray = field(default_factory=lambda: np.zeros(3))
    """Velocity forwards, to the left [m/s] and turning to the left [rad/s]."""
    buttons: frozenset[str] = frozenset()
    """Buttons held down: A B X Y LB RB LT RT."""

    def __post_init__(self) -> None:
        """Make the array read-only, since everyone who reads the value shares it."""
        self.liner_cmd.setflags(write=False)


@dataclass(frozen=True, kw_only=True)
class FsmStateData:
    """State of the state machine, with the vendor's ids."""

    stamp_s: float = 0.0
    valid: bool = False
    whole_body: int = 0
    """0 Default ... 11 UpperBodyUserCmd, see `thenar.humanoid.control.fsm.WholeBody`."""
    upper_body: int = 0
    """0 Default, 1 Act, 2 Remote, 4 MoveCmd."""
    velocity_source: int = 0
    """0 joystick, 1 handheld, 2 navigation."""
    allow_upper_body_override: bool = False
    stable_level: int = 0
    """0 to 255, beyond 10 the robot stands; here it counts up while both feet carry it, upright and still."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RobotState:
    """The joints without the floating base, in the joint sequence."""

    stamp_s: float
    valid: bool
    q: FloatArray
    """Angles [rad]."""
    qd: FloatArray
    """Velocities [rad/s]."""
    qdd: FloatArray
    """Accelerations [rad/s^2]; NaN where they are not known."""
    qft: FloatArray
    """Torques of the drives [N m]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneralizedState:
    """The whole robot as one vector, floating base first."""

    stamp_s: float
    valid: bool
    q: FloatArray
    """Base position in the world [m], base orientation as x y z w, joint angles [rad]. Shape (nv + 1,)."""
    qd: FloatArray
    """Base velocity in base axes [m/s], angular velocity in base axes, joint velocities [rad/s]. Shape (nv,)."""
    tau: FloatArray
    """Six zeros, then the torques of the joints' drives [N m]. Shape (nv,)."""


class BaseData:
    """The floating base: where it is, how it moves. Accelerations are those of its origin, without gravity."""

    stamp_s: float
    valid: bool

    def __init__(self, *, stamp_s: float, valid: bool, q: FloatArray, qd: FloatArray, base_qdd: FloatArray | None):
        """From the generalized state; without accelerations those of the base are NaN.

        Args:
            stamp_s: When it was measured [s].
            valid: Whether it was measured.
            q: Generalized coordinates. Shape (nv + 1,).
            qd: Generalized velocities. Shape (nv,).
            base_qdd: Rates of the first six of ``qd``.
        """
        self.stamp_s, self.valid = stamp_s, valid
        self._q, self._qd, self._base_qdd = q, qd, base_qdd

    @lazy
    def quat_xyzw(self) -> FloatArray:
        """Orientation base to world, x y z w, w never negative."""
        quat = self._q[3:7].copy()
        return -quat if quat[3] < 0.0 else quat

    @lazy
    def quat_wxyz(self) -> FloatArray:
        """The same, w first."""
        return self.quat_xyzw[[3, 0, 1, 2]]

    @lazy
    def R(self) -> FloatArray:
        """Rotation base to world. Shape (3, 3)."""
        return matrix_from_quat_wxyz(self.quat_wxyz)

    @lazy
    def grav_proj(self) -> FloatArray:
        """Direction of gravity in base axes: ``R^T [0, 0, -1]``."""
        return -self.R[2]

    @lazy
    def rpy(self) -> FloatArray:
        """ZYX Euler angles as roll, pitch, yaw [rad]; straight up or down all the turn is put into yaw."""
        return np.array(rpy_from_matrix(self.R))

    @lazy
    def pos_W(self) -> FloatArray:
        """Position in the world [m]."""
        return self._q[:3].copy()

    @lazy
    def vel_B(self) -> FloatArray:
        """Velocity of the base's origin in base axes [m/s]."""
        return self._qd[:3].copy()

    @lazy
    def vel_W(self) -> FloatArray:
        """The same in world axes [m/s]."""
        return self.R @ self.vel_B

    @lazy
    def omega_B(self) -> FloatArray:
        """Angular velocity in base axes [rad/s]."""
        return self._qd[3:6].copy()

    @lazy
    def omega_W(self) -> FloatArray:
        """The same in world axes [rad/s]."""
        return self.R @ self.omega_B

    @lazy
    def acc_B(self) -> FloatArray:
        """Acceleration of the base's origin in base axes [m/s^2]: 0 for a robot that stands, not 9.81."""
        if self._base_qdd is None:
            return np.full(3, np.nan)
        return self._base_qdd[:3] + np.cross(self.omega_B, self.vel_B)

    @lazy
    def acc_W(self) -> FloatArray:
        """The same in world axes: the rate of `vel_W` [m/s^2]."""
        return self.R @ self.acc_B


@dataclass(frozen=True, kw_only=True, eq=False)
class ContactData:
    """Contact of the feet with the ground, left first."""

    stamp_s: float = 0.0
    valid: bool = False
    contact_force: FloatArray = field(default_factory=lambda: np.zeros((2, 6)))
    """Force [N], then torque about the foot's origin [N m], of the ground on the foot, in world axes. Shape (2, 6)."""
    contact_prob: FloatArray = field(default_factory=lambda: np.zeros(2))
    """Probability of contact, 0 to 1. Shape (2,)."""

    def __post_init__(self) -> None:
        """Make the arrays read-only, since everyone who reads the value shares them."""
        self.contact_force.setflags(write=False)
        self.contact_prob.setflags(write=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class FourierHardwareData:
    """The reference's ten functions, for one source of commands. They raise where the C++ returned false."""

    board: CommandBoard
    state: RobotState
    hand_pvc: Mapping[str, FloatArray] = field(default_factory=dict)
    """Position, velocity and current of each hand. Shapes (3, n)."""
    hands_stamp_s: float = 0.0
    """When the hands were read, which is less often than the joints [s]."""
    source: str = ANYONE
    """In whose name commands are given."""

    @property
    def stamp_s(self) -> float:
        """Time at which the joints were measured [s]."""
        return self.state.stamp_s

    @property
    def valid(self) -> bool:
        """Whether the joints were measured."""
        return self.state.valid

    def get_robot_state_fixed(self) -> RobotState:
        """State of the 29 joints, without the floating base."""
        return self.state

    def set_whole_body_pos_cmd(
        self, pos_cmd: ArrayLike, vel_cmd: ArrayLike | None = None, tau_ff: ArrayLike | None = None
    ) -> bool:
        """Command every joint [rad]."""
        return self.set_control_group_pos_cmd("whole_body", pos_cmd, vel_cmd, tau_ff)

    def set_control_group_pos_cmd(
        self, group_name: str, pos_cmd: ArrayLike, vel_cmd: ArrayLike | None = None, tau_ff: ArrayLike | None = None
    ) -> bool:
        """Command the joints of a group [rad], with velocities [rad/s] and torques [N m] beside if wanted."""
        self.board.command(self.source, group_name, pos_cmd, vel_cmd, tau_ff)
        return True

    def set_whole_body_pd_mode_pd(self, kp: ArrayLike, kd: ArrayLike) -> int:
        """Set the gains of every joint; 0 is success, as in the reference."""
        self.board.set_gains(self.source, "whole_body", kp, kd)
        return 0

    def set_control_group_pd_mode_pd(self, group_name: str, kp: ArrayLike, kd: ArrayLike) -> bool:
        """Set the gains of a group."""
        self.board.set_gains(self.source, group_name, kp, kd)
        return True

    def get_whole_body_pd_mode_pd(self) -> tuple[FloatArray, FloatArray]:
        """Gains of every joint: stiffness [N m/rad] and damping [N m s/rad]."""
        return self.board.gains("whole_body")

    def get_control_group_pd_mode_pd(self, group_name: str) -> tuple[FloatArray, FloatArray]:
        """Gains of a group."""
        return self.board.gains(group_name)

    def get_hand_name_list(self) -> list[str]:
        """Names of the hands that are there."""
        return list(self.board.hands)

    def set_hand_pvc(self, hand_name: str, pos_cmd: ArrayLike, vel_cmd: ArrayLike = (), cur_cmd: ArrayLike = ()) -> int:
        """Command a hand: positions [rad] in the vendor's range, velocities [rad/s], currents [A]; 0 is success."""
        self.board.command_hand(self.source, hand_name, pos_cmd, vel_cmd, cur_cmd)
        return 0

    def get_hand_pvc(self, hand_name: str) -> FloatArray:
        """Position, velocity and current of a hand. Shape (3, n)."""
        if hand_name not in self.hand_pvc:
            raise UnknownName("hand", hand_name, self.hand_pvc)
        return self.hand_pvc[hand_name].copy()
