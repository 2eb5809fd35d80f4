"""The robot's own computer: fixed tasks, the state machine and its tasks, requests from outside.

Everything runs in turn on the loop's thread, at each task's period; other threads only leave requests.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from thenar.errors import BadCommand, BadValue, ThenarError
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.humanoid.contact import ContactEstimator
from thenar.humanoid.fsm import (
    BUTTONS,
    CLIENT,
    HAND_GROUPS,
    UPPER_BODY_GROUPS,
    UpperBody,
    VelocitySource,
    WholeBody,
    check_change,
    check_source,
    check_upper,
    owners,
)
from thenar.humanoid.hardware import JointCommand
from thenar.humanoid.joystick import LOWER, UPPER, Joystick
from thenar.humanoid.parts import FsmStateData
from thenar.humanoid.robot_data import RobotData
from thenar.humanoid.stand import POSE_LOWER, POSE_UPPER
from thenar.humanoid.task import Running, Task
from thenar.humanoid.tasks.examples import ActTask
from thenar.humanoid.tasks.move import MoveTask
from thenar.humanoid.tasks.standing import JointStandTask, PdStandTask, SecurityTask, release
from thenar.signals import BodyReport, BodyRequest, GroupCommand, GroupGains, GroupReport, MoveRequest

logger = logging.getLogger(__name__)

REQUESTS = 256  # that may wait; a flood beyond it loses the oldest
OVERRUNS_IN_A_ROW = 40  # of a state's task; then it is not in command of anything any more
STEADY_M_S = 0.03  # of the centre of mass; slower is standing still
LONGEST_VELOCITY_S = 60.0


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


@dataclass(kw_only=True)
class _State:
    """A state that is entered: its tasks on the schedule."""

    running: list[Running] = field(default_factory=list)


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
            WholeBody.Default: StateTasks(tasks=()),
            WholeBody.JointStand: StateTasks(tasks=(JointStandTask(),), allow_upper_body_override=True),
            WholeBody.PdStand: stand,
            WholeBody.SecurityProtection: StateTasks(tasks=(SecurityTask(),)),
            WholeBody.UserCmd: StateTasks(tasks=()),
            WholeBody.UpperBodyUserCmd: StateTasks(tasks=(PdStandTask(),)),
            **(states or {}),
        }
        self.watchdogs = {CLIENT: Watchdog(), **(watchdogs or {})}
        self.whole, self.upper, self.velocity_source = WholeBody.Default, UpperBody.Default, VelocitySource.Joystick
        self.stable_level = 0
        self.ticks = 0
        self._upper_tasks: dict[UpperBody, Task] = {UpperBody.Act: ActTask(), UpperBody.MoveCmd: self.move}
        self._fixed = [Running(task=task, data=robot.seen_by(task.name), period_s=task.period_s) for task in fixed]
        self._state, self._beside = _State(), _State()
        self._estimator = ContactEstimator(robot.body)
        self._joystick = joystick
        self._pressed: frozenset[str] = frozenset()
        self._requests: deque[BodyRequest] = deque(maxlen=REQUESTS)
        self._velocity_until_s = 0.0
        self._ready: set[Task] = set()
        self._quiet: set[str] = set()
        for running in self._fixed:
            self._prepare(running.task, running.data)
        self._own()
        self._tell()

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
            self._grant(request)
        self._watch()
        for running in self._fixed:
            running.run(now_s)
        for running in self._state.running:
            if not running.run(now_s) or running.overruns_in_a_row >= OVERRUNS_IN_A_ROW:
                self._secure(f"task {running.task.name} of {self.whole.name} failed or is too slow")
                break
        for running in self._beside.running:
            if not running.run(now_s):
                self.change_upper(UpperBody.Default)
                break
        self._tell()
        return robot.board.read()

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
            self._state = self._enter(self.states[before].tasks, before.name) or _State()
            raise BadCommand(f"a task of {state.name} refused to begin; the state stays {before.name}")
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
        self._beside = self._enter([task], state.name) or _State() if task else _State()
        if state == UpperBody.Remote:
            self._hold_for_client(UPPER_BODY_GROUPS)

    @property
    def balances(self) -> bool:
        """Whether the legs balance by themselves in this state."""
        return any(isinstance(running.task, PdStandTask) for running in self._state.running)

    def report(self, true_contact_n: np.ndarray | None = None) -> BodyReport:
        """What the robot tells the world."""
        robot = self.robot
        now, board = robot.snapshot(), robot.board
        state, base = now.robot_state, now.base_data
        groups = {}
        for group in robot.body.groups:
            place = robot.body.group_slice(group)
            kp, kd = board.gains(group)
            groups[group] = GroupReport(
                position=state.q[place],
                velocity=state.qd[place],
                effort=state.qft[place],
                moving=self.move.moving(group),
                kp_nm_rad=kp,
                kd_nms_rad=kd,
                powered=bool(kp.any() or kd.any()),
            )
        nothing = np.zeros(0)
        for hand, (position, velocity, current) in now.hand_pvc.items():
            groups[hand] = GroupReport(
                position=position,
                velocity=velocity,
                effort=np.nan_to_num(current),
                moving=bool(np.abs(velocity).max() > 0.05),
                kp_nm_rad=nothing,
                kd_nms_rad=nothing,
                powered=True,
            )
        hands = {}
        for group, link in zip(("left_manipulator", "right_manipulator"), now.kindyn_data.hands_B, strict=True):
            hands[group] = (
                np.concatenate([link.p, np.roll(quat_wxyz_from_matrix(link.R), -1)]),
                link.twist,
                np.zeros(6),
            )
        return BodyReport(
            stamp_s=now.stamp_s,
            whole_body_state=int(self.whole),
            upper_body_state=int(self.upper),
            velocity_source=int(self.velocity_source),
            allow_upper_body_override=self.states[self.whole].allow_upper_body_override,
            stable_level=self.stable_level,
            stand_pose=now.stand_pose_cmd,
            groups=groups,
            hands=hands,
            base={name: getattr(base, name) for name in base.FIELDS},
            contact_force=now.contact_data.contact_force,
            contact_prob=now.contact_data.contact_prob,
            true_contact_n=np.zeros(2) if true_contact_n is None else true_contact_n,
        )

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
            if self.velocity_source == VelocitySource.Joystick:
                self.robot.put(vel_cmd=wish.liner_cmd)
            if wish.buttons != self._pressed:
                self._pressed = wish.buttons
                if wish.buttons in BUTTONS:
                    self._try(partial(self.change, BUTTONS[wish.buttons]))
        if self._velocity_until_s and now_s >= self._velocity_until_s:
            self._velocity_until_s = 0.0
            self.robot.put(vel_cmd=np.zeros(3))

    def _grant(self, request: BodyRequest) -> None:
        """Do what is asked, one thing after the other; what is refused does not keep the rest from being done."""
        acts: list[Callable[[], None]] = []
        if request.whole_body_state is not None:
            acts.append(partial(self.change, request.whole_body_state))
        if request.upper_body_state is not None:
            acts.append(partial(self.change_upper, request.upper_body_state))
        if request.velocity_source is not None:
            acts.append(partial(self._set_source, request.velocity_source))
        if request.velocity is not None:
            acts.append(partial(self._set_velocity, *request.velocity))
        if request.stand_pose is not None:
            acts.append(partial(self._set_stand_pose, request.stand_pose))
        acts += [partial(self._command_group, command) for command in request.groups]
        acts += [partial(self._set_gains, gains) for gains in request.gains]
        if request.move is not None:
            acts.append(partial(self._begin_move, request.move))
        for act in acts:
            self._try(act)

    def _command_group(self, command: GroupCommand) -> None:
        board = self.robot.board
        if command.group in HAND_GROUPS:
            board.command_hand(CLIENT, command.group, command.position, command.velocity, command.effort)
            return
        velocity = command.velocity if command.velocity.size else None
        effort = command.effort if command.effort.size else None
        board.command(CLIENT, command.group, command.position, velocity, effort)

    def _set_source(self, wanted: int) -> None:
        self.velocity_source = check_source(wanted)

    def _set_velocity(self, vx: float, vy: float, yaw: float, duration_s: float) -> None:
        wanted = np.array([vx, vy, yaw])
        if self.velocity_source == VelocitySource.Joystick and self._joystick is not None:
            raise BadCommand("velocities come from the joystick; set the velocity source to 1 or 2 first")
        if not np.all(np.isfinite(wanted)) or not 0.0 < duration_s <= LONGEST_VELOCITY_S:
            raise BadCommand(f"velocity {wanted.tolist()} for {duration_s:g} s; wanted finite ones for up to 60 s")
        if np.any((wanted < LOWER) | (wanted > UPPER)):
            raise BadCommand(f"velocity {wanted.tolist()}; wanted {LOWER.tolist()} to {UPPER.tolist()}")
        self.robot.put(vel_cmd=wanted)
        self._velocity_until_s = self.robot.stamp_s + duration_s

    def _set_stand_pose(self, pose: tuple[float, float, float]) -> None:
        wanted = np.array(pose)
        lower, upper = np.array(POSE_LOWER), np.array(POSE_UPPER)
        if not np.all(np.isfinite(wanted)) or np.any((wanted < lower) | (wanted > upper)):
            raise BadCommand(f"stand pose {wanted.tolist()}; wanted {lower.tolist()} to {upper.tolist()}")
        self.robot.put(stand_pose_cmd=wanted)

    def _set_gains(self, gains: GroupGains) -> None:
        board = self.robot.board
        kp, kd = board.gains(gains.group)
        board.set_gains(
            CLIENT,
            gains.group,
            gains.kp_nm_rad if gains.kp_nm_rad.size else kp,
            gains.kd_nms_rad if gains.kd_nms_rad.size else kd,
        )

    def _begin_move(self, move: MoveRequest) -> None:
        if self.upper != UpperBody.MoveCmd:
            raise BadCommand(f"moves need the upper-body state MoveCmd; it is {self.upper.name}")
        if move.kind not in ("joints", "pose", "line"):
            raise BadValue("kind of move", move.kind, "joints, pose or line")
        self.move.ask(self.robot, move)

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

    def _secure(self, why: str) -> None:
        logger.error("security: %s", why)
        self.robot.board.refuse(f"security: {why}")
        self.change(WholeBody.SecurityProtection)

    # States.

    def _own(self) -> None:
        board, tasks = self.robot.board, self.states[self.whole]
        board.give(owners(self.whole, self.upper, override=tasks.allow_upper_body_override, groups=tuple(board.owner)))

    def _hold_for_client(self, groups: Sequence[str]) -> None:
        """Groups that pass to a client are held where they are, until it says otherwise."""
        robot = self.robot.seen_by(CLIENT)
        limit, gains, q = robot.kindyn_data.joint_limit, robot.body.gains["user_cmd"], robot.hardware_data.state.q
        for group in groups:
            place = robot.body.group_slice(group)
            robot.board.set_gains(CLIENT, group, gains.kp_nm_rad[place], gains.kd_nms_rad[place])
            robot.board.command(CLIENT, group, np.clip(q[place], limit.lower[place], limit.upper[place]))

    def _enter(self, tasks: Sequence[Task], source: str) -> _State | None:
        """Begin tasks; None if one of them does not want to."""
        state = _State()
        for task in tasks:
            data = self.robot.seen_by(source)
            try:
                ready = self._prepare(task, data) and task.enter(data)
            except Exception:
                logger.exception("task %s failed to begin", task.name)
                ready = False
            if not ready:
                self._leave(state)
                return None
            state.running.append(Running(task=task, data=data, period_s=task.period_s, due_s=self.robot.stamp_s))
        return state

    def _prepare(self, task: Task, data: RobotData) -> bool:
        if task not in self._ready and task.init(data):
            self._ready.add(task)
        return task in self._ready

    def _leave(self, state: _State) -> None:
        for running in state.running:
            try:
                if not running.task.exit(running.data):
                    logger.warning("task %s says it did not end", running.task.name)
            except Exception:
                logger.exception("task %s failed to end", running.task.name)
        state.running = []

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
