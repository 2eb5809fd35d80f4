"""A humanoid's state in one struct, computed by Pinocchio, and the tasks that run on it."""

from thenar.humanoid.control.controller import BodyController, StateTasks, Watchdog
from thenar.humanoid.control.fsm import UpperBody, VelocitySource, WholeBody
from thenar.humanoid.control.inverse_kinematics import solve_arm
from thenar.humanoid.control.joystick import Gamepad, Keyboard, Press, ScriptedJoystick
from thenar.humanoid.control.robot_config import BodyConfig, load_config
from thenar.humanoid.control.task import Task
from thenar.humanoid.model.g1 import G1
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.state.archive import from_dict, load_npz, save_npz, to_dict
from thenar.humanoid.state.robot_data import RobotData, RobotSnapshot
from thenar.humanoid.tasks.examples import ActTask, LeanTask, SquatTask, StandPoseTask, UpperBodyTask, WaveTask
from thenar.humanoid.tasks.hand_over_hand import HandOverHandTask
from thenar.humanoid.tasks.standing import JointStandTask, PdStandTask, SecurityTask

__all__ = [
    "G1", "GR2", "ActTask", "BodyConfig", "BodyController", "Gamepad", "HandOverHandTask", "JointStandTask", "Keyboard",
    "LeanTask", "PdStandTask", "Press", "RobotData", "RobotSnapshot", "ScriptedJoystick", "SecurityTask", "SquatTask",
    "StandPoseTask", "StateTasks", "Task", "UpperBody", "UpperBodyTask", "VelocitySource", "Watchdog", "WaveTask",
    "WholeBody", "from_dict", "load_config", "load_npz", "save_npz", "solve_arm", "to_dict",
]  # fmt: skip
