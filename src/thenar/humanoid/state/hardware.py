"""The hardware as the vendor's tasks see it: ten functions to read the joints and to command joints and hands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from thenar.errors import UnknownName
from thenar.humanoid.control.board import ANYONE, CommandBoard
from thenar.humanoid.model.body_spec import FloatArray
from thenar.humanoid.state.parts import RobotState


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
        """When the joints were measured [s]."""
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
