"""The robot's own computer: fixed tasks, the state machine and its tasks, requests from outside.

Everything runs in turn on the loop's thread, at each task's period; other threads only leave requests.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from thenar.errors import BadCommand, ThenarError
from thenar.humanoid.control.board import JointCommand
from thenar.humanoid.control.contact import ContactEstimator
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
from thenar.humanoid.control.requests import acts_of
from thenar.humanoid.control.task import Running, Task
from thenar.humanoid.model.body_spec import FloatArray
from thenar.humanoid.state.parts import FsmStateData
from thenar.humanoid.state.robot_data import RobotData
from thenar.humanoid.tasks.examples import ActTask
from thenar.humanoid.tasks.reach import MoveTask
from thenar.humanoid.tasks.standing import JointStandTask, PdStandTask, SecurityTask, release
from thenar.signals import BodyRequest

logger = logging.getLogger(__name__)

REQUESTS = 256  # that may wait; a flood beyond it loses the oldest
STEADY_M_S = 0.03  # of the centre of mass; slower is standing still


@dataclass(frozen=True, kw_only=True)
class StateTasks:
    """What runs in a whole-body state."""

    tasks: Sequence[Task]
    allow_upper_body_override: bool = False


@dataclass(frozen=True, kw_only=True)
class Watchdog:
    """What happens when a source falls silent while it is in command."""

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
            joystick: The operator; None for nobody.
            watchdogs: By source of commands.
        """
        self.robot = robot
        self.move = MoveTask()
        stand = StateTasks(tasks=(PdStandTask(),), allow_upper_body_override=True)
        self.states: dict[WholeBody, StateTasks] = {
            WholeBody.JointStand: StateTasks(tasks=(JointStandTask(),), allow_upper_body_override=True),
            WholeBody.PdStand: stand,
            WholeBody.UserCmd: StateTasks(tasks=()),
            WholeBody.UpperBodyUserCmd: StateTasks(tasks=(PdStandTask(),)),
            **(states or {}),
            # These two are always there to fall back on, whatever was configured.
            WholeBody.Default: StateTasks(tasks=()),
            WholeBody.SecurityProtection: StateTasks(tasks=(SecurityTask(),)),
        }
        self.watchdogs = {CLIENT: Watchdog(), **(watchdogs or {})}
        self.whole, self.upper, self.velocity_source = WholeBody.Default, UpperBody.Default, VelocitySource.Joystick
        self.stable_level = 0
        self.ticks = 0
        self._upper_tasks: dict[UpperBody, Task] = {UpperBody.Act: ActTask(), UpperBody.MoveCmd: self.move}
        self._fixed: list[Running] = []
        self._state: list[Running] = []
        self._beside: list[Running] = []
        self._estimator = ContactEstimator(robot.body)
        self._joystick = joystick
        self._pressed: frozenset[str] = frozenset()
        self._requests: deque[BodyRequest] = deque(maxlen=REQUESTS)
        self._velocity_until_s = 0.0
        self._ready: set[Task] = set()
        self._quiet: set[str] = set()
        self._fixed_tasks = tuple(fixed)
        self._begin()

    # From any thread.

    def ask(self, request: BodyRequest) -> None:
        """Leave a request for the next tick."""
        if len(self._requests) == REQUESTS:
            self.robot.board.refuse("more requests than can be looked at")
        self._requests.append(request)

    # From the loop.

    def tick(self) -> JointCommand:
        """One round, after the robot's state was updated: what the drives are told from now on."""
        robot, now_s = self.robot, self.robot.stamp_s
        robot.board.now_s = now_s
        self.ticks += 1
        self._estimate()
        self._listen(now_s)
        for request in [self._requests.popleft() for _ in range(len(self._requests))]:
            for act in acts_of(self, request):  # what is refused does not keep the rest from being done
                self._try(act)
        self._watch()
        for running in list(self._fixed):
            running.run(now_s)
            if running.hopeless:
                self._set_aside(running)
        for running in self._state:
            if not running.run(now_s) or running.hopeless:
                self._secure(f"task {running.task.name} of {self.whole.name}: {running.trouble}")
                break
        for running in self._beside:
            if not running.run(now_s) or running.hopeless:
                robot.board.refuse(f"task {running.task.name} of {self.upper.name}: {running.trouble}")
                self.change_upper(UpperBody.Default)
                break
        self._tell()
        return robot.board.read()

    def stop(self) -> JointCommand:
        """The end: every task ends and the drives lose their power."""
        for tasks in (self._beside, self._state, self._fixed):
            self._leave(tasks)
        self.whole, self.upper = WholeBody.Default, UpperBody.Default
        self._own()
        release(self.robot.seen_by(self.whole.name), np.zeros(len(self.robot.body.hinges)))
        self._tell()
        return self.robot.board.read()

    def restart(self) -> JointCommand:
        """Off and on again: in the state Default, with whatever time the robot's state has now."""
        self.stop()
        self._requests.clear()
        self._quiet.clear()
        self.velocity_source, self.stable_level, self._velocity_until_s = VelocitySource.Joystick, 0, 0.0
        self.robot.put(vel_cmd=np.zeros(3), stand_pose_cmd=np.zeros(3))
        self._begin()
        return self.robot.board.read()

    def change(self, wanted: int) -> None:
        """Go to a whole-body state; `BadCommand` if it cannot follow or its tasks refuse, and nothing changes."""
        state = check_change(self.whole, wanted, [s for s, tasks in self.states.items() if tasks.tasks])
        if state == self.whole:
            return
        before, self.whole = self.whole, state
        self._leave(self._state)
        self._own()
        entered = self._enter(self.states[state].tasks, state.name)
        if entered is None:
            self.whole = before
            self._own()
            again = self._enter(self.states[before].tasks, before.name)
            if again is None:
                self._secure(f"{state.name} refused to begin and {before.name} to go on")
            self._state = self._state if again is None else again
            raise BadCommand(f"a task of {state.name} refused to begin; the state is {self.whole.name}")
        self._state = entered
        if state == WholeBody.Default:
            release(self.robot.seen_by(state.name), np.zeros(len(self.robot.body.hinges)))
        elif state == WholeBody.UserCmd:
            self._hold_for_client(tuple(self.robot.body.groups))
        elif state == WholeBody.UpperBodyUserCmd:
            self._hold_for_client(UPPER_BODY_GROUPS)
        if self.upper != UpperBody.Default and not self.states[state].allow_upper_body_override:
            self.change_upper(UpperBody.Default)
        logger.info("%s -> %s", before.name, state.name)

    def change_upper(self, wanted: int) -> None:
        """Go to an upper-body state."""
        state = check_upper(wanted)
        if state == self.upper:
            return
        if state != UpperBody.Default and not self.states[self.whole].allow_upper_body_override:
            raise BadCommand(f"{self.whole.name} does not let the upper body be commanded beside it")
        self._leave(self._beside)
        self.upper = state
        self._own()
        task = self._upper_tasks.get(state)
        self._beside = (self._enter([task], state.name) or []) if task else []
        if state == UpperBody.Remote:
            self._hold_for_client(UPPER_BODY_GROUPS)

    def set_velocity_source(self, source: VelocitySource) -> None:
        """Listen to somebody else's velocities; what was asked for before no longer counts."""
        if source != self.velocity_source:
            self.velocity_source = source
            self.walk(np.zeros(3), 0.0)

    def walk(self, velocity: FloatArray, seconds: float) -> None:
        """Ask for a velocity for some time, then for none."""
        self.robot.put(vel_cmd=velocity)
        self._velocity_until_s = self.robot.stamp_s + seconds

    @property
    def operated(self) -> bool:
        """Whether there is a joystick and its velocities count."""
        return self._joystick is not None and self.velocity_source == VelocitySource.Joystick

    @property
    def follows_velocity(self) -> bool:
        """Whether a task that runs does something with velocities."""
        return any(running.task.follows_velocity for running in (*self._fixed, *self._state, *self._beside))

    @property
    def balances(self) -> bool:
        """Whether the legs balance by themselves in this state."""
        return any(isinstance(running.task, PdStandTask) for running in self._state)

    # The parts of a tick.

    def _estimate(self) -> None:
        now = self.robot.snapshot()
        contact = self._estimator.step(now)
        self.robot.put(contact_data=contact)
        steady = contact.contact_prob.min() > 0.5 and float(np.abs(now.kindyn_data.Vc).max()) < STEADY_M_S
        up = steady and self.balances
        self.stable_level = min(self.stable_level + 1, 120) if up else max(self.stable_level - 4, 0)

    def _listen(self, now_s: float) -> None:
        """The operator: buttons change states when they are pressed, the sticks give a velocity."""
        if self._joystick is not None:
            wish = self._joystick.read(now_s)
            self.robot.put(joystick=wish)
            if self.operated:
                self.robot.put(vel_cmd=wish.liner_cmd)
            if wish.buttons != self._pressed:
                self._pressed = wish.buttons
                if wish.buttons in BUTTONS:
                    self._try(partial(self.change, BUTTONS[wish.buttons]))
        if self._velocity_until_s and now_s >= self._velocity_until_s:
            self._velocity_until_s = 0.0
            self.robot.put(vel_cmd=np.zeros(3))

    def _watch(self) -> None:
        """A source in command that has fallen silent."""
        board = self.robot.board
        for source, watchdog in self.watchdogs.items():
            mine = [group for group, owner in board.owner.items() if owner == source and group not in HAND_GROUPS]
            age_s = board.age_s(source)
            if not mine or not np.isfinite(age_s):
                continue
            if age_s > watchdog.security_s and self.whole != WholeBody.SecurityProtection:
                self._secure(f"{source} has been silent for {age_s:.1f} s")
            elif age_s > watchdog.quiet_s and source not in self._quiet:
                for group in mine:
                    board.still(group)
                self._quiet.add(source)
            elif age_s <= watchdog.quiet_s:
                self._quiet.discard(source)

    def _set_aside(self, running: Running) -> None:
        """A fixed task that only fails or is always too slow would make every tick late: it is not run any more."""
        logger.error("task %s is set aside: %s", running.task.name, running.trouble)
        self.robot.board.refuse(f"task {running.task.name} is set aside: {running.trouble}")
        self._fixed.remove(running)
        self._leave([running])

    def _secure(self, why: str) -> None:
        logger.error("security: %s", why)
        self.robot.board.refuse(f"security: {why}")
        self.change(WholeBody.SecurityProtection)

    # States.

    def _begin(self) -> None:
        """Switched on: the fixed tasks run, and no other."""
        for task in self._fixed_tasks:
            entered = self._enter([task], task.name)
            if entered is None:
                raise BadCommand(f"the fixed task {task.name} refused to begin")
            self._fixed += entered
        self._own()
        self._tell()

    def _own(self) -> None:
        """Give every group to whom it belongs in this state; a task's claims do not outdo the upper body's state."""
        board, state = self.robot.board, self.states[self.whole]
        owner = owners(self.whole, self.upper, override=state.allow_upper_body_override, groups=tuple(board.owner))
        for task in state.tasks:
            source = _source_of(task, self.whole.name)
            owner.update({group: source for group in task.claims if owner.get(group) == self.whole.name})
        board.give(owner)

    def _hold_for_client(self, groups: Sequence[str]) -> None:
        """Groups that pass to a client are held where they are, until it says otherwise."""
        robot = self.robot.seen_by(CLIENT)
        limit, gains, q = robot.kindyn_data.joint_limit, robot.body.gains["user_cmd"], robot.hardware_data.state.q
        for group in groups:
            place = robot.body.group_slice(group)
            robot.board.set_gains(CLIENT, group, gains.kp_nm_rad[place], gains.kd_nms_rad[place])
            robot.board.command(CLIENT, group, np.clip(q[place], limit.lower[place], limit.upper[place]))

    def _enter(self, tasks: Sequence[Task], source: str) -> list[Running] | None:
        """Begin tasks; None if one of them does not want to."""
        entered: list[Running] = []
        for task in tasks:
            data = self.robot.seen_by(_source_of(task, source))
            try:
                ready = self._prepare(task, data) and task.enter(data)
            except Exception:
                logger.exception("task %s failed to begin", task.name)
                ready = False
            if not ready:
                self._leave(entered)
                return None
            entered.append(Running(task=task, data=data, period_s=task.period_s, due_s=self.robot.stamp_s))
        return entered

    def _prepare(self, task: Task, data: RobotData) -> bool:
        if task not in self._ready and task.init(data):
            self._ready.add(task)
        return task in self._ready

    def _leave(self, tasks: list[Running]) -> None:
        for running in tasks:
            try:
                if not running.task.exit(running.data):
                    logger.warning("task %s says it did not end", running.task.name)
            except Exception:
                logger.exception("task %s failed to end", running.task.name)
        tasks.clear()

    def _tell(self) -> None:
        self.robot.put(
            fsm_state=FsmStateData(
                stamp_s=self.robot.stamp_s,
                valid=True,
                whole_body=int(self.whole),
                upper_body=int(self.upper),
                velocity_source=int(self.velocity_source),
                allow_upper_body_override=self.states[self.whole].allow_upper_body_override,
                stable_level=self.stable_level,
            )
        )

    def _try(self, act: Callable[[], None]) -> None:
        """Do what was asked; a refusal is counted by its reason, and the loop goes on."""
        counted = self.robot.board.refused.total()
        try:
            act()
        except ThenarError as error:
            if self.robot.board.refused.total() == counted:  # the board counts its own
                self.robot.board.refuse(str(error))


def _source_of(task: Task, state: str) -> str:
    """In whose name a task commands: its state's, unless it has groups of its own."""
    return f"{state}/{task.name}" if task.claims and state in WholeBody.__members__ else state
