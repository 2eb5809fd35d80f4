"""The robot's control computer: fixed tasks, the state machine and its tasks, requests of clients.

Everything runs in turn on the loop's thread, at each task's period; other threads only submit requests.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadCommand, ThenarError, UnknownName
from thenar.humanoid.control.command_board import JointCommand
from thenar.humanoid.control.foot_contact import ContactEstimator
from thenar.humanoid.control.fsm import (
    BUTTONS,
    CLIENT,
    HAND_GROUPS,
    UPPER_BODY_GROUPS,
    UpperBody,
    VelocitySource,
    WholeBody,
    check_change,
    check_upper,
    owners,
)
from thenar.humanoid.control.joystick import Joystick
from thenar.humanoid.control.requests import actions_of
from thenar.humanoid.control.task import ScheduledTask, Task
from thenar.humanoid.state.parts import FsmStateData
from thenar.humanoid.state.robot_data import RobotData
from thenar.humanoid.tasks.examples import ActTask
from thenar.humanoid.tasks.move import MoveTask
from thenar.humanoid.tasks.standing import (
    JointStandTask,
    PdStandTask,
    SecurityTask,
    carried_share,
    is_upright,
    release,
    within_limits,
)
from thenar.signals import BodyRequest

logger = logging.getLogger(__name__)

MAX_REQUESTS = 256  # that may wait; a flood beyond it loses the oldest
STEADY_M_S = 0.03  # of the centre of mass; slower is standing still
MIN_CARRIED = 0.8  # of the weight; a robot stands whose feet carry it


@dataclass(frozen=True, kw_only=True)
class StateTasks:
    """Tasks of a whole-body state."""

    tasks: Sequence[Task]
    allow_upper_body_override: bool = False


@dataclass(frozen=True, kw_only=True)
class Watchdog:
    """Reaction to a source in command that falls silent."""

    quiet_s: float = 0.5
    """Silence after which its velocities and torques are taken back: joints hold their last position [s]."""
    security_s: float = np.inf
    """Silence after which the robot goes into its security state [s]."""


class BodyController:
    """Turns a robot's state into commands for its drives, one tick at a time."""

    def __init__(
        self,
        robot: RobotData,
        *,
        states: Mapping[WholeBody, StateTasks] | None = None,
        fixed: Sequence[Task] = (),
        joystick: Joystick | None = None,
        watchdogs: Mapping[str, Watchdog] | None = None,
    ):
        """In the state Default: no power.

        Args:
            robot: Shared by all tasks.
            states: Tasks of states beyond those that every robot has, or in their place.
            fixed: Tasks that run in every state, before those of the state.
            joystick: The operator's; None for none.
            watchdogs: By source of commands.
        """
        self.robot = robot
        self.timed = False
        """Whether tasks must keep up with the machine's clock; simulated as fast as possible, none is ever late."""
        self.move = MoveTask()
        self.states: dict[WholeBody, StateTasks] = {
            WholeBody.JointStand: StateTasks(tasks=(JointStandTask(),)),
            WholeBody.PdStand: StateTasks(tasks=(PdStandTask(),), allow_upper_body_override=True),
            WholeBody.UserCmd: StateTasks(tasks=()),
            WholeBody.UpperBodyUserCmd: StateTasks(tasks=(PdStandTask(),)),
            **(states or {}),
            # These two are always there to fall back on, whatever was configured.
            WholeBody.Default: StateTasks(tasks=()),
            WholeBody.SecurityProtection: StateTasks(tasks=(SecurityTask(),)),
        }
        for task in (*fixed, *(task for state in self.states.values() for task in state.tasks)):
            for group in task.claims:
                if group not in robot.board.owner and group not in HAND_GROUPS:
                    raise UnknownName(f"control group (claimed by {task.name})", group, robot.board.owner)
        self.watchdogs = {CLIENT: Watchdog(), **(watchdogs or {})}
        self.whole_body, self.upper_body = WholeBody.Default, UpperBody.Default
        self.velocity_source = VelocitySource.Joystick
        self.stable_level = 0
        self._tasks_of_upper: dict[UpperBody, Task] = {UpperBody.Act: ActTask(), UpperBody.MoveCmd: self.move}
        self._fixed_tasks = tuple(fixed)
        self._fixed: list[ScheduledTask] = []
        self._whole: list[ScheduledTask] = []
        self._upper: list[ScheduledTask] = []
        self._initialized: set[Task] = set()
        self._estimator = ContactEstimator(robot.body, loads=robot.loads)
        self._joystick = joystick
        self._pressed: frozenset[str] = frozenset()
        self._requests: deque[BodyRequest] = deque(maxlen=MAX_REQUESTS)
        self._velocity_until_s = 0.0
        self._silent: set[str] = set()
        self._problem = ""
        self._start()

    # From any thread.

    def submit(self, request: BodyRequest) -> None:
        """Leave a request for the next tick."""
        if len(self._requests) == MAX_REQUESTS:
            self.robot.board.refuse("more requests than can be looked at")
        self._requests.append(request)

    # From the loop.

    def tick(self) -> JointCommand:
        """One round, after the robot's state was updated: the command of the drives from now on."""
        robot, now_s = self.robot, self.robot.stamp_s
        robot.board.now_s = now_s
        self._estimate_contact()
        self._read_joystick(now_s)
        for request in [self._requests.popleft() for _ in range(len(self._requests))]:
            for action in actions_of(self, request):  # what is refused does not keep the rest from being done
                self._attempt(action)
        self._check_watchdogs()
        for scheduled in list(self._fixed):
            scheduled.run(now_s, timed=self.timed)
            if scheduled.failed_permanently:
                self._disable(scheduled)
        for scheduled in self._whole:
            if not scheduled.run(now_s, timed=self.timed) or scheduled.failed_permanently:
                self._secure(f"task {scheduled.task.name} of {self.whole_body.name}: {scheduled.problem}")
                break
        for scheduled in self._upper:
            if not scheduled.run(now_s, timed=self.timed) or scheduled.failed_permanently:
                robot.board.refuse(f"task {scheduled.task.name} of {self.upper_body.name}: {scheduled.problem}")
                self.change_upper(UpperBody.Default)
                break
        self._publish_state()
        return robot.board.read()

    def stop(self) -> JointCommand:
        """End every task; the drives lose their power."""
        for tasks in (self._upper, self._whole, self._fixed):
            self._exit(tasks)
        self.whole_body, self.upper_body = WholeBody.Default, UpperBody.Default
        self._assign_groups()
        release(self.robot.view_for(self.whole_body.name))
        self._publish_state()
        return self.robot.board.read()

    def restart(self) -> JointCommand:
        """Off and on again: in the state Default, with whatever time the robot's state has now."""
        self.stop()
        self._requests.clear()
        self._silent.clear()
        self.velocity_source, self.stable_level, self._velocity_until_s = VelocitySource.Joystick, 0, 0.0
        self.robot.put(vel_cmd=np.zeros(3), stand_pose_cmd=np.zeros(3))
        self._start()
        return self.robot.board.read()

    def change(self, wanted: int) -> None:
        """Go to a whole-body state; `BadCommand` if it cannot follow or its tasks refuse, and nothing changes."""
        before = self.whole_body
        state = check_change(before, wanted, [s for s, tasks in self.states.items() if tasks.tasks])
        if state == before:
            return
        if not self._switch(state):
            why = self._problem
            if not self._switch(before):
                self._secure(f"{state.name} refused to begin and {before.name} to go on")
            raise BadCommand(f"{why}; {state.name} is not entered, the state is {self.whole_body.name}")
        if state == WholeBody.Default:
            release(self.robot.view_for(state.name))
        elif state == WholeBody.UserCmd:
            self._hold_for_client(tuple(self.robot.body.groups))
        elif state == WholeBody.UpperBodyUserCmd:
            self._hold_for_client(UPPER_BODY_GROUPS)
        if self.upper_body != UpperBody.Default and not self.states[state].allow_upper_body_override:
            self.change_upper(UpperBody.Default)
        logger.info("%s -> %s", before.name, state.name)

    def change_upper(self, wanted: int) -> None:
        """Go to an upper-body state."""
        state = check_upper(wanted)
        if state == self.upper_body:
            return
        if state != UpperBody.Default and not self.states[self.whole_body].allow_upper_body_override:
            raise BadCommand(f"{self.whole_body.name} does not let the upper body be commanded beside it")
        self._exit(self._upper)
        self.upper_body = state
        self._assign_groups()
        task = self._tasks_of_upper.get(state)
        self._upper = (self._enter([task], state.name) or []) if task else []
        if state == UpperBody.Remote:
            self._hold_for_client(UPPER_BODY_GROUPS)

    def set_velocity_source(self, source: VelocitySource) -> None:
        """Take velocities from another source; those of the last one no longer count."""
        if source != self.velocity_source:
            self.velocity_source = source
            self.set_velocity(np.zeros(3), 0.0)

    def set_velocity(self, velocity: FloatArray, duration_s: float) -> None:
        """Command a walking velocity for some time, then none."""
        self.robot.put(vel_cmd=velocity)
        self._velocity_until_s = self.robot.stamp_s + duration_s

    @property
    def joystick_in_command(self) -> bool:
        """Whether there is a joystick and its velocities count."""
        return self._joystick is not None and self.velocity_source == VelocitySource.Joystick

    @property
    def follows_velocity(self) -> bool:
        """Whether a task that runs uses velocities."""
        return any(scheduled.task.follows_velocity for scheduled in (*self._fixed, *self._whole, *self._upper))

    @property
    def balances(self) -> bool:
        """Whether the legs balance by themselves in this state."""
        return any(isinstance(scheduled.task, PdStandTask) for scheduled in self._whole)

    def lends(self, group: str) -> bool:
        """Whether a client's command takes a group from the state's own task, until the state changes."""
        free = self.states[self.whole_body].allow_upper_body_override and self.upper_body == UpperBody.Default
        return free and group in UPPER_BODY_GROUPS and self.robot.board.owner[group] == self.whole_body.name

    # The parts of a tick.

    def _estimate_contact(self) -> None:
        now = self.robot.snapshot()
        contact = self._estimator.step(now)
        self.robot.put(contact_data=contact)
        steady = contact.contact_prob.min() > 0.5 and float(np.abs(now.kindyn_data.Vc).max()) < STEADY_M_S
        now = self.robot.snapshot()
        up = steady and self.balances and is_upright(now) and carried_share(now) > MIN_CARRIED
        self.stable_level = min(self.stable_level + 1, 120) if up else max(self.stable_level - 4, 0)

    def _read_joystick(self, now_s: float) -> None:
        """Buttons change states when they are pressed, the sticks command a velocity."""
        if self._joystick is not None:
            joystick = self._joystick.read(now_s)
            self.robot.put(joystick=joystick, vel_cmd=joystick.liner_cmd if self.joystick_in_command else None)
            pressed = joystick.buttons - self._pressed  # letting go of one of three asks for nothing
            self._pressed = joystick.buttons
            if pressed and joystick.buttons in BUTTONS:
                self._attempt(partial(self.change, BUTTONS[joystick.buttons]))
        if self._velocity_until_s and now_s >= self._velocity_until_s:
            self._velocity_until_s = 0.0
            self.robot.put(vel_cmd=np.zeros(3))

    def _check_watchdogs(self) -> None:
        board = self.robot.board
        for source, watchdog in self.watchdogs.items():
            groups = [group for group, owner in board.owner.items() if owner == source and group not in HAND_GROUPS]
            age_s = board.age_s(source)
            if not groups or not np.isfinite(age_s):
                continue
            if age_s > watchdog.security_s and self.whole_body != WholeBody.SecurityProtection:
                self._secure(f"{source} has been silent for {age_s:.1f} s")
            elif age_s > watchdog.quiet_s and source not in self._silent:
                for group in groups:
                    board.hold_position(group)
                self._silent.add(source)
            elif age_s <= watchdog.quiet_s:
                self._silent.discard(source)

    def _disable(self, scheduled: ScheduledTask) -> None:
        """A fixed task that only fails or is always too slow would make every tick late: it is not run any more."""
        reason = f"task {scheduled.task.name} is disabled: {scheduled.problem}"
        self.robot.board.refuse(reason)
        self._fixed.remove(scheduled)
        scheduled.exit()

    def _secure(self, reason: str) -> None:
        self.robot.board.refuse(f"security: {reason}")
        self.change(WholeBody.SecurityProtection)

    # States.

    def _start(self) -> None:
        """Begin the fixed tasks, and no other."""
        for task in self._fixed_tasks:
            entered = self._enter([task], task.name)
            if entered is None:
                raise BadCommand(f"fixed {self._problem}")
            self._fixed += entered
        self._assign_groups()
        self._publish_state()

    def _switch(self, state: WholeBody) -> bool:
        """End the tasks of the whole-body state and begin those of another; False if one of them refuses."""
        self._exit(self._whole)
        self.whole_body = state
        self._assign_groups()
        entered = self._enter(self.states[state].tasks, state.name)
        self._whole = entered or []
        return entered is not None

    def _assign_groups(self) -> None:
        """Give every group to its owner in this state; a task's claims do not outdo the upper body's state."""
        board, state, name = self.robot.board, self.states[self.whole_body], self.whole_body.name
        override = state.allow_upper_body_override
        owner = owners(self.whole_body, self.upper_body, override=override, groups=tuple(board.owner))
        for task in state.tasks:
            owner.update({group: _source_of(task, name) for group in task.claims if owner.get(group) == name})
        board.set_owners(owner)

    def _hold_for_client(self, groups: Sequence[str]) -> None:
        """Groups that pass to a client are held where they are, until it commands otherwise."""
        robot, board = self.robot, self.robot.board
        q = within_limits(robot, robot.hardware_data.state.q)
        for group in groups:
            board.set_gains(CLIENT, group, *robot.body.group_gains("user_cmd", group))
            board.command(CLIENT, group, q[robot.body.group_slice(group)])

    def _enter(self, tasks: Sequence[Task], source: str) -> list[ScheduledTask] | None:
        """Begin tasks; None if one of them refuses."""
        entered: list[ScheduledTask] = []
        for task in tasks:
            data = self.robot.view_for(_source_of(task, source))
            try:
                if task not in self._initialized and task.init(data) is not False:
                    self._initialized.add(task)
                refused = "init" if task not in self._initialized else "enter" if task.enter(data) is False else ""
                self._problem = f"task {task.name} refused to begin: its {refused} returned False"
            except Exception as error:
                if not isinstance(error, BadCommand):
                    logger.exception("task %s failed to begin", task.name)
                refused, self._problem = "raised", f"task {task.name} refused to begin: {error}"
            if refused:
                self._exit(entered)
                return None
            entered.append(ScheduledTask(task=task, data=data, due_s=self.robot.stamp_s))
        return entered

    def _exit(self, tasks: list[ScheduledTask]) -> None:
        for scheduled in tasks:
            scheduled.exit()
        tasks.clear()

    def _publish_state(self) -> None:
        self.robot.put(
            fsm_state=FsmStateData(
                stamp_s=self.robot.stamp_s,
                valid=True,
                whole_body=int(self.whole_body),
                upper_body=int(self.upper_body),
                velocity_source=int(self.velocity_source),
                allow_upper_body_override=self.states[self.whole_body].allow_upper_body_override,
                stable_level=self.stable_level,
            )
        )

    def _attempt(self, action: Callable[[], None]) -> None:
        """Do what was requested; a refusal is counted by its reason, and the loop goes on."""
        counted = self.robot.board.refused.total()
        try:
            action()
        except ThenarError as error:
            if self.robot.board.refused.total() == counted:  # the board counts its own
                self.robot.board.refuse(str(error))


def _source_of(task: Task, state: str) -> str:
    """In whose name a task commands: its state's, unless it has groups of its own."""
    return f"{state}/{task.name}" if task.claims and state in WholeBody.__members__ else state
