"""Balance of a robot whose motors clients command directly: what its legs do while nobody commands them."""

from __future__ import annotations

from thenar.humanoid.control.command_board import JointCommand
from thenar.humanoid.control.foot_contact import ContactEstimator
from thenar.humanoid.control.low_level import UPPER_BODY
from thenar.humanoid.state.robot_data import RobotData
from thenar.humanoid.tasks.standing import PdStandTask

BALANCE, ELSEWHERE = "balance", "arms"


class IdleBalance:
    """Balance controller on the legs alone, while a client commands waist and arms."""

    def __init__(self, robot: RobotData, *, gains: str):
        """Begin with the next step.

        Args:
            robot: Whose state is read.
            gains: Which of its published gains keep the posture.
        """
        self._robot = robot.view_for(BALANCE)
        robot.board.set_owners({group: ELSEWHERE if group in UPPER_BODY else BALANCE for group in robot.body.groups})
        self._task = PdStandTask(gains=gains)
        self.restart()

    def restart(self) -> None:
        """Forget the past: the robot is somewhere else now."""
        self._estimator = ContactEstimator(self._robot.body, loads=self._robot.loads)
        self._balances = False

    def step(self, wanted: bool) -> JointCommand | None:
        """What the legs do until the next step, after the robot's state was updated; None where it is not wanted.

        Whenever it begins, it leads the legs from where they are to where they stand.
        """
        robot = self._robot
        robot.board.now_s = robot.stamp_s
        robot.put(contact_data=self._estimator.step(robot.snapshot()))
        if wanted and not self._balances:
            self._task.enter(robot)
        self._balances = wanted
        if not wanted:
            return None
        self._task.execute(robot)
        return robot.board.read()
