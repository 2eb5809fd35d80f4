"""A task: a controller or a helper that runs at its own period on the shared `RobotData`."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from thenar.humanoid.state.robot_data import RobotData

logger = logging.getLogger(__name__)

OFTEN, HOPELESS = 5, 40  # troubles in a row that are told, and after which it is not run any more


class Task:
    """What the vendor's tasks are: ``init`` once, ``enter``, ``execute`` again and again, ``exit``.

    Each call gets the robot as this task sees it: what it commands is in its state's name.
    """

    period_s = 0.0025
    """Time between two executions [s], unless the configuration says otherwise."""

    claims: tuple[str, ...] = ()
    """Control groups that nobody else commands while this task of a whole-body state runs."""

    follows_velocity: bool = False
    """Whether it does something with ``vel_cmd``. Where no task does, velocities from outside are refused."""

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
    trouble: str = ""
    """What went wrong last."""
    troubles_in_a_row: int = 0
    """Executions one after the other that raised or took longer than the period."""

    @property
    def hopeless(self) -> bool:
        """Whether it has been in trouble for long; once is the machine's doing."""
        return self.troubles_in_a_row >= HOPELESS

    def run(self, now_s: float) -> bool:
        """Execute if it is time; False when the task raised."""
        # In step with the plan, unless the clock jumped, forwards or back.
        if 1e-9 < self.due_s - now_s <= self.period_s + 1e-9:
            return True
        late = now_s - self.due_s
        self.due_s = self.due_s + self.period_s if 0.0 <= late < self.period_s else now_s + self.period_s
        self.executions += 1
        began_s = time.perf_counter()
        try:
            self.task.execute(self.data)
        except Exception as error:
            self._note(f"{type(error).__name__}: {error}", error)
            return False
        took_s = time.perf_counter() - began_s
        if took_s > self.period_s:
            self._note(f"took {1e3 * took_s:.1f} ms of {1e3 * self.period_s:g} ms")
        else:
            self.troubles_in_a_row = 0
        return True

    def _note(self, trouble: str, error: Exception | None = None) -> None:
        """Log it, but not 400 times a second."""
        self.trouble = trouble
        self.troubles_in_a_row += 1
        if (error is not None and self.troubles_in_a_row == 1) or self.troubles_in_a_row == OFTEN:
            logger.warning("task %s: %s", self.task.name, trouble, exc_info=error)
