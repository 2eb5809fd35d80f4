"""Tasks of a humanoid: when they run, what they may claim, what becomes of those that fail, and the examples."""

import time

import mujoco
import numpy as np
import pytest
from standing_body import (  # noqa: F401
    _busy_machine_disables_no_task,
    _failing_tasks_are_disabled,
    group,
    request,
    upright,
)

from thenar.errors import BadCommand
from thenar.humanoid.control.controller import BodyController, StateTasks
from thenar.humanoid.control.fsm import UpperBody, WholeBody
from thenar.humanoid.control.task import ScheduledTask, Task
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.state.robot_data import RobotData
from thenar.humanoid.tasks.examples import SquatTask, WaveTask
from thenar.humanoid.tasks.hand_over_hand import HandOverHandTask
from thenar.humanoid.tasks.standing import JointStandTask, PdStandTask
from thenar.twin.body.body_loop import BodyTwin
from thenar.twin.body.body_world import BodyWorld
from thenar.twin.world import World


class Broken(Task):
    def execute(self, data: RobotData) -> None:
        raise ZeroDivisionError("a bug of the user's")


class Slow(Task):
    period_s = 0.0025

    def execute(self, data: RobotData) -> None:
        time.sleep(0.003)


class Unwilling(Task):
    def enter(self, data: RobotData) -> bool:
        return False


def user(*tasks: Task) -> dict[WholeBody, StateTasks]:
    return {WholeBody.UserController_A: StateTasks(tasks=tasks)}


@pytest.mark.usefixtures("_failing_tasks_are_disabled")
@pytest.mark.parametrize("task", [Broken(), Slow()])
def test_a_state_s_task_that_fails_ends_in_the_security_state(task: Task):
    body = BodyWorld()
    twin = BodyTwin(body, BodyController(body.robot, states=user(task)))
    twin.controller.timed = True
    twin.controller.change(WholeBody.JointStand)
    twin.advance(0.1)
    twin.controller.change(WholeBody.UserController_A)
    twin.advance(0.2)
    assert twin.controller.whole_body == WholeBody.SecurityProtection
    assert any("security" in reason for reason in body.robot.board.refused)


def test_a_task_that_does_not_want_to_leaves_the_state_as_it_was():
    body = BodyWorld()
    twin = BodyTwin(body, BodyController(body.robot, states=user(Unwilling())))
    twin.controller.change(WholeBody.JointStand)
    with pytest.raises(BadCommand, match="Unwilling refused to begin: its enter returned False; UserController_A is"):
        twin.controller.change(WholeBody.UserController_A)
    twin.advance(0.1)
    assert twin.controller.whole_body == WholeBody.JointStand


@pytest.mark.usefixtures("_failing_tasks_are_disabled")
@pytest.mark.parametrize(("task", "why"), [(Broken(), "a bug of the user's"), (Slow(), "of 2.5 ms")])
def test_a_fixed_task_that_fails_or_is_too_slow_is_disabled_and_the_loop_goes_on(task: Task, why: str, caplog):
    body = BodyWorld()
    twin = BodyTwin(body, BodyController(body.robot, fixed=(task,)))
    twin.controller.timed = True
    twin.controller.change(WholeBody.PdStand)
    twin.advance(0.5)
    assert twin.controller.whole_body == WholeBody.PdStand
    assert upright(twin)
    assert any(f"task {task.name} is disabled" in reason and why in reason for reason in body.robot.board.refused)
    assert len([record for record in caplog.records if task.name in record.getMessage()]) <= 3  # not 400 a second


class Diary(Task):
    """Notes what is called."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def init(self, data: RobotData) -> bool:
        self.calls.append("init")
        return True

    def enter(self, data: RobotData) -> bool:
        self.calls.append("enter")
        return True

    def execute(self, data: RobotData) -> None:
        self.calls.append("execute")

    def exit(self, data: RobotData) -> bool:
        self.calls.append("exit")
        return True


def test_every_task_is_prepared_once_entered_executed_and_left():
    fixed, mine, body = Diary(), Diary(), BodyWorld()
    twin = BodyTwin(body, BodyController(body.robot, states=user(mine), fixed=(fixed,)))
    step_s = body.world.timestep_s
    for state in (WholeBody.JointStand, WholeBody.UserController_A, WholeBody.JointStand, WholeBody.UserController_A):
        twin.controller.change(state)
        twin.advance(step_s)
    twin.stop()
    assert fixed.calls == ["init", "enter", *4 * ["execute"], "exit"]
    assert mine.calls == ["init", *2 * ["enter", "execute", "exit"]]
    kp, kd = body.robot.board.gains("whole_body")
    assert not kp.any()
    assert not kd.any()
    with pytest.raises(BadCommand, match="fixed task Unwilling refused to begin: its enter returned False"):
        BodyController(RobotData(), fixed=(Unwilling(),))


def test_tasks_run_at_their_periods():
    counts = []

    class Every(Task):
        def __init__(self, period_s: float):
            self.period_s = period_s
            counts.append(self)
            self.count = 0

        def execute(self, data: RobotData) -> None:
            self.count += 1

    body = BodyWorld()
    twin = BodyTwin(body, BodyController(body.robot, fixed=[Every(p) for p in (0.0025, 0.01, 0.02, 0.1)]))
    twin.advance(2.0)
    assert [task.count for task in counts] == [800, 200, 100, 20]


def test_a_task_goes_on_at_once_when_the_clock_is_set_back():
    task = Task()
    task.period_s = 0.01
    scheduled = ScheduledTask(task=task, data=RobotData())
    for now_s in (5.0, 5.005, 2.0, 2.005, 2.01):  # a simulation that diverged was put back
        scheduled.run(now_s, timed=False)
    assert scheduled.executions == 3


@pytest.mark.parametrize("task", [WaveTask, SquatTask])
def test_examples_run_and_the_robot_stays_on_its_feet(task: type[Task]):
    body = BodyWorld(hands=("fourier_left", "fourier_right"))
    tasks = (task(),) if task is SquatTask else (PdStandTask(), task())
    controller = BodyController(body.robot, states={WholeBody.UserController_A: StateTasks(tasks=tasks)})
    twin = BodyTwin(body, controller)
    controller.change(WholeBody.PdStand)
    twin.advance(1.0)
    controller.change(WholeBody.UserController_A)
    lowest, wrist = 1.0, []
    for _ in range(60):
        twin.advance(0.1)
        lowest = min(lowest, body.robot.base_data.pos_W[2])
        wrist.append(body.robot.kindyn_data.hands_B.right.p.copy())
    assert upright(twin)
    assert controller.whole_body == WholeBody.UserController_A
    assert not body.robot.board.refused
    if task is SquatTask:
        assert lowest < 0.9951 - 0.10
    else:
        assert np.ptp(np.array(wrist)[30:, 1]) > 0.15


def gripping(world: World, side: str) -> bool:
    """Whether fingers press on the staff, and something on its other side presses back."""
    contacts, staff, push = world.data.contact, world.model.body("staff").id, np.zeros(6)
    normals = []
    for index in range(world.data.ncon):
        bodies = world.model.geom_bodyid[contacts.geom[index]]
        other = bodies[0] if bodies[1] == staff else bodies[1]
        if staff in bodies and world.model.body(other).name.startswith(f"fourier_{side}"):
            mujoco.mj_contactForce(world.model, world.data, index, push)
            if push[0] > 0.1:
                normals.append(contacts.frame[index][:3] * (1.0 if bodies[1] == staff else -1.0))
    return len(normals) > 1 and float((np.array(normals) @ np.array(normals).T).min()) < -0.5


def test_a_staff_is_pulled_up_and_let_down_hand_over_hand():
    body = BodyWorld(hands=("fourier_left", "fourier_right"), scene="staff")
    tasks = StateTasks(tasks=(PdStandTask(), HandOverHandTask()))
    twin = BodyTwin(body, BodyController(body.robot, states={WholeBody.UserController_A: tasks}))
    twin.controller.change(WholeBody.PdStand)
    twin.advance(1.0)
    twin.controller.change(WholeBody.UserController_A)
    foot_m, alone = [], set()
    for _ in range(120):
        twin.advance(0.2)
        staff = body.world.data.body("staff")
        foot_m.append(staff.xpos[2] - 0.65 * staff.xmat[8])
        held = [side for side in ("left", "right") if gripping(body.world, side)]
        if foot_m[-1] > 0.1:  # off the ground, and it never falls
            assert held
            alone |= set(held) if len(held) == 1 else set()
    assert max(foot_m) > 0.3
    assert foot_m[-1] < 0.05
    assert alone == {"left", "right"}  # each has carried it without the other
    assert upright(twin)
    assert twin.controller.whole_body == WholeBody.UserController_A


def test_a_task_has_the_groups_it_claims_to_itself():
    body = BodyWorld()
    tasks = StateTasks(tasks=(PdStandTask(), WaveTask()))
    controller = BodyController(body.robot, states={WholeBody.UserController_A: tasks})
    twin = BodyTwin(body, controller)
    controller.change(WholeBody.PdStand)
    twin.advance(0.1)
    controller.change(WholeBody.UserController_A)
    twin.advance(0.1)
    owner = body.robot.board.owner
    assert owner["left_leg"] == "UserController_A"
    assert owner["right_manipulator"] == "UserController_A/WaveTask"
    told = []
    for _ in range(400):  # nobody else's command shines through between two of the task's
        twin.advance(body.world.timestep_s)
        told.append(body.robot.board.read().position_rad[GR2.group_slice("right_manipulator")])
    assert np.abs(np.diff(told, axis=0)).max() < 0.05
    controller.change(WholeBody.PdStand)
    assert owner["right_manipulator"] == "PdStand"


def test_joints_are_brought_to_the_default_pose_beside_a_task_that_has_the_arms():
    body = BodyWorld()
    controller = BodyController(body.robot, states=user(JointStandTask(), WaveTask()))
    twin = BodyTwin(body, controller)
    controller.change(WholeBody.UserCmd)
    bent = np.array([-0.5, 0.0, 0.0, 0.9, -0.4, 0.0])
    controller.submit(request(groups=(group("left_leg", bent),)))
    twin.advance(0.5)
    controller.change(WholeBody.UserController_A)
    twin.advance(2.2)
    assert not body.robot.board.refused
    told = body.robot.board.read().position_rad
    np.testing.assert_allclose(told[:6], GR2.default_q_rad[:6])
    assert told[GR2.index_of("right_shoulder_yaw_joint")] == pytest.approx(-1.5)


def test_a_task_that_balances_but_owns_nothing_does_nothing():
    body = BodyWorld()
    controller = BodyController(body.robot, states={WholeBody.UserCmd: StateTasks(tasks=(PdStandTask(),))})
    twin = BodyTwin(body, controller)
    controller.change(WholeBody.JointStand)
    twin.advance(0.1)
    controller.change(WholeBody.UserCmd)  # every joint is the client's
    before = body.robot.board.read().position_rad
    twin.advance(0.1)
    assert controller.whole_body == WholeBody.UserCmd
    assert not body.robot.board.refused
    np.testing.assert_array_equal(body.robot.board.read().position_rad, before)


@pytest.mark.parametrize(("doing", "shoulder_yaw"), [((PdStandTask, WaveTask), -1.5), ((JointStandTask,), 0.0)])
def test_arms_that_come_back_to_a_task_do_not_jump(doing: tuple[type[Task], ...], shoulder_yaw: float):
    body, at = BodyWorld(), GR2.group_slice("right_manipulator")
    tasks = StateTasks(tasks=[task() for task in doing], allow_upper_body_override=True)
    controller = BodyController(body.robot, states={WholeBody.UserController_A: tasks})
    twin = BodyTwin(body, controller)
    controller.change(WholeBody.PdStand)
    twin.advance(0.3)
    controller.change(WholeBody.UserController_A)
    twin.advance(0.3)
    controller.change_upper(UpperBody.Remote)
    away = [-0.6, -0.3, 0.0, -1.0, 0.0, 0.0, 0.0]
    controller.submit(request(groups=(group("right_manipulator", away),)))
    twin.advance(1.0)
    controller.change_upper(UpperBody.Default)
    told = [body.robot.board.read().position_rad[at]]
    for _ in range(900):
        twin.advance(body.world.timestep_s)
        told.append(body.robot.board.read().position_rad[at])
    assert np.abs(np.diff(told, axis=0)).max() < 0.08
    assert told[-1][2] == pytest.approx(shoulder_yaw, abs=1e-6)  # and it goes on


def test_a_body_that_is_reset_begins_anew_with_its_computer():
    def run(twin: BodyTwin) -> np.ndarray:
        twin.controller.change(WholeBody.PdStand)
        twin.advance(1.0)
        return twin.body.world.data.qpos.copy()

    diary, body = Diary(), BodyWorld()
    twin = BodyTwin(body, BodyController(body.robot, fixed=(diary,)))
    first = run(twin)
    twin.controller.submit(request(whole_body_state=int(WholeBody.PdStand)))
    twin.reset()
    assert twin.body.world.time_s == 0.0
    assert twin.controller.whole_body == WholeBody.Default
    assert twin.body.hangs
    assert diary.calls[-2:] == ["exit", "enter"]
    np.testing.assert_allclose(run(twin), first, atol=1e-9)
