"""A humanoid that stands, for the tests of its states, its tasks and who leads it."""

import sys
import time

import numpy as np
import pytest

pytest.importorskip("pinocchio")

from thenar.humanoid.control import task as task_module
from thenar.humanoid.control.fsm import WholeBody
from thenar.signals import BodyRequest, GroupCommand
from thenar.twin.body.body_loop import BodyTwin
from thenar.twin.body.body_world import BodyWorld

NOTHING = np.zeros(0)
PATIENCE = task_module.MAX_FAILURES


@pytest.fixture(autouse=True)
def _busy_machine_disables_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks that are late because other programs run are not what these tests are about."""
    monkeypatch.setattr(task_module, "MAX_FAILURES", sys.maxsize)


@pytest.fixture
def _failing_tasks_are_disabled(monkeypatch: pytest.MonkeyPatch, _busy_machine_disables_no_task: None) -> None:
    monkeypatch.setattr(task_module, "MAX_FAILURES", PATIENCE)


def request(**asked) -> BodyRequest:
    return BodyRequest(sender="a test", arrived_s=time.perf_counter(), **asked)


def group(name: str, position, velocity=NOTHING, effort=NOTHING) -> GroupCommand:
    return GroupCommand(
        group=name, position=np.asarray(position), velocity=np.asarray(velocity), effort=np.asarray(effort)
    )


def standing(**options) -> BodyTwin:
    twin = BodyTwin(BodyWorld(**options))
    twin.controller.change(WholeBody.PdStand)
    twin.advance(1.0)
    return twin


def upright(twin: BodyTwin) -> bool:
    twin.body.read()
    base = twin.body.robot.base_data
    return bool(base.pos_W[2] > 0.7 and np.abs(base.rpy[:2]).max() < 0.6)
