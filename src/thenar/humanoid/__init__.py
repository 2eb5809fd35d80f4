"""A robot's state in one struct, computed by Pinocchio, and the tasks that run on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thenar.humanoid.state.robot_data import RobotData as RobotData


def __getattr__(name: str) -> Any:
    if name == "RobotData":  # Pinocchio is only needed from here on
        from thenar.humanoid.state.robot_data import RobotData

        return RobotData
    raise AttributeError(f"module 'thenar.humanoid' has no attribute {name!r}")
