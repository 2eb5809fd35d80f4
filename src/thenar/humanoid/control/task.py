"""Tasks: controllers and helpers that run at their own period on the shared `RobotData`."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from thenar.errors import BadCommand
from thenar.humanoid.state.robot_data import RobotData
from thenar.pace import next_due_s

logger = logging.getLogger(__name__)

LOGGED_FAILURES, MAX_FAILURES = 5, 40  # in a row: logged once more, and not run any more


class Task:
    """A task in the vendor's shape: ``init`` once, then ``enter``, ``execute`` again and again, ``exit``.

    Each call gets the robot as seen by this task: what it commands is in its state's name.
    """

    period_s = 0.0025
    """Time between two executions [s], unless the configuration says otherwise."""

    claims: tuple[str, ...] = ()
    """Control groups that nobody else commands while this task of a whole-body state runs."""

    follows_velocity: bool = False
    """Whether it uses ``vel_cmd``. Where no task does, velocities of clients are refused."""

    @property
    def name(self) -> str:
        """Name in logs and configurations."""
        return type(self).__name__

    def init(self, data: RobotData) -> bool | None:
        """Prepare, once. False: it cannot run; anything else, None too, is success."""
        return True

    def enter(self, data: RobotData) -> bool | None:
        """Begin. False: it cannot, and the state is not entered; raise `BadCommand` to say why."""
        return True

    def execute(self, data: RobotData) -> None:
        """Do the work of one period."""

    def exit(self, data: RobotData) -> bool | None:
        """End. False is logged; the state is left all the same."""
        return True


@dataclass(kw_only=True)
class ScheduledTask:
    """A task that has been entered, when it is due, and its failures."""

    task: Task
    data: RobotData
    due_s: float = 0.0
    executions: int = 0
    problem: str = ""
    """Reason of the last failure."""
    failures_in_a_row: int = 0
    """Executions one after the other that raised, or took longer than the period where that counts."""

    @property
    def failed_permanently(self) -> bool:
        """Whether it has failed for long; a single failure may be the machine's doing."""
        return self.failures_in_a_row >= MAX_FAILURES

    def run(self, now_s: float, *, timed: bool) -> bool:
        """Execute if it is due; False when the task raised. A command that is refused is no failure: it is counted.

        Args:
            now_s: Time of the robot's clock [s].
            timed: Whether an execution must fit into its period of the machine's time too.
        """
        period_s = self.task.period_s
        due_s = next_due_s(self.due_s, period_s, now_s, slack_s=1e-9)
        if due_s is None:
            return True
        self.due_s = due_s
        self.executions += 1
        began_s, refused = time.perf_counter(), self.data.board.refused.total()
        try:
            self.task.execute(self.data)
        except BadCommand as error:
            if self.data.board.refused.total() == refused:  # the board counts its own
                self.data.board.refuse(f"task {self.task.name}: {error}")
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}", error)
            return False
        took_s = time.perf_counter() - began_s
        if timed and took_s > period_s:
            self._fail(f"took {1e3 * took_s:.1f} ms of {1e3 * period_s:g} ms")
        else:
            self.failures_in_a_row = 0
        return True

    def exit(self) -> None:
        """End the task; what goes wrong is logged."""
        try:
            if self.task.exit(self.data) is False:
                logger.warning("task %s says it did not end", self.task.name)
        except Exception:
            logger.exception("task %s failed to end", self.task.name)

    def _fail(self, problem: str, error: Exception | None = None) -> None:
        """Count and log a failure, but not 400 times a second."""
        self.problem = problem
        self.failures_in_a_row += 1
        if (error is not None and self.failures_in_a_row == 1) or self.failures_in_a_row == LOGGED_FAILURES:
            logger.warning("task %s: %s", self.task.name, problem, exc_info=error)
