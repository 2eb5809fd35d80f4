"""A task: a controller or a helper that runs at its own period on the shared `RobotData`."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field

from thenar.humanoid.robot_data import RobotData

logger = logging.getLogger(__name__)

TOO_OFTEN = 5


class Task:
    """What the vendor's tasks are: ``init`` once, ``enter``, ``execute`` again and again, ``exit``.

    Each call gets the robot as this task sees it: what it commands is in its state's name.
    """

    period_s = 0.0025
    """Time between two executions [s], unless the configuration says otherwise."""

    @property
    def name(self) -> str:
        """Name in logs and configurations."""
        return type(self).__name__

    def init(self, data: RobotData) -> bool:
        """Prepare, once. False: it cannot run."""
        return True

    def enter(self, data: RobotData) -> bool:
        """Begin. False: it cannot, and the state is not entered."""
        return True

    def execute(self, data: RobotData) -> None:
        """Do the work of one period."""

    def exit(self, data: RobotData) -> bool:
        """End. False is logged; the state is left all the same."""
        return True


@dataclass(kw_only=True)
class Running:
    """A task on the schedule, and how it does."""

    task: Task
    data: RobotData
    period_s: float
    due_s: float = 0.0
    executions: int = 0
    failures: int = 0
    overruns: int = 0
    """Executions that took longer than the period."""
    overruns_in_a_row: int = 0
    longest_s: float = 0.0
    last_failure: str = field(default="")

    def run(self, now_s: float) -> bool:
        """Execute if it is time; False when the task raised."""
        if now_s < self.due_s - 1e-9:
            return True
        # In step with the plan, unless the clock jumped.
        late = now_s - self.due_s
        self.due_s = self.due_s + self.period_s if 0.0 <= late < self.period_s else now_s + self.period_s
        began_s = time.perf_counter()
        try:
            self.task.execute(self.data)
        except Exception as error:
            self.failures += 1
            self.last_failure = f"{type(error).__name__}: {error}"
            logger.exception("task %s failed", self.task.name)
            return False
        took_s = time.perf_counter() - began_s
        self.executions += 1
        self.longest_s = max(self.longest_s, took_s)
        self.overruns_in_a_row = self.overruns_in_a_row + 1 if took_s > self.period_s else 0
        if took_s > self.period_s:
            self.overruns += 1
            if self.overruns_in_a_row == TOO_OFTEN:  # once is the machine's doing
                logger.warning("task %s keeps taking longer than %g ms", self.task.name, 1e3 * self.period_s)
        return True
