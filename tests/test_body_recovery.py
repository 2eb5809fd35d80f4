"""A humanoid that falls gets up again: by its gantry, or by a reset."""

import math
import random

import numpy as np
import pytest

pytest.importorskip("pinocchio")

from thenar.humanoid.control.fsm import WholeBody
from thenar.twin.body.body_loop import BodyTwin
from thenar.twin.body.body_world import BodyWorld
from thenar.wire.clients.aurora_client import send_reset
from thenar.wire.clients.domain_survey import local_domains
from thenar.wire.links.aurora_link import AuroraNode


def standing() -> BodyTwin:
    twin = BodyTwin(BodyWorld())
    twin.controller.change(WholeBody.PdStand)
    twin.advance(0.5)
    return twin


def push_over(twin: BodyTwin, turn_rad: float) -> None:
    twin.body.push(350.0 * np.array([math.cos(turn_rad), math.sin(turn_rad), 0.0]))
    twin.advance(0.25)
    twin.body.push((0.0, 0.0, 0.0))
    twin.advance(1.5)
    assert twin.body.robot.base_data.pos_W[2] < 0.4


def test_a_robot_on_its_back_is_not_stable_whatever_its_state():
    twin = standing()
    push_over(twin, math.pi)
    assert twin.controller.whole_body == WholeBody.PdStand
    assert twin.report().stable_level == 0


def test_a_robot_that_fell_is_lifted_by_its_gantry_and_stands_again():
    twin = standing()
    push_over(twin, 0.3)
    twin.controller.change(WholeBody.SecurityProtection)
    twin.advance(0.1)
    lies = twin.body.robot.base_data.pos_W[:2].copy()
    twin.controller.change(WholeBody.JointStand)
    twin.advance(0.5)
    assert 0.1 < twin.body.robot.base_data.pos_W[2] < 0.7  # smoothly
    twin.advance(2.0)
    twin.controller.change(WholeBody.PdStand)  # too early: the gantry does not drop it
    assert twin.body.hangs
    twin.advance(2.0)
    assert not twin.body.hangs
    twin.advance(1.0)
    base = twin.body.robot.base_data
    assert np.abs(base.rpy[:2]).max() < 0.05
    assert base.pos_W[2] == pytest.approx(0.9951, abs=0.02)
    np.testing.assert_allclose(base.pos_W[:2], lies, atol=0.2)
    assert twin.report().stable_level > 100


def test_a_gantry_holds_a_robot_that_was_put_back_where_it_is_then():
    twin = BodyTwin(BodyWorld())
    twin.advance(0.1)
    hangs = twin.body.world.snapshot()
    place = twin.body.robot.base_data.pos_W.copy()
    twin.controller.change(WholeBody.PdStand)
    twin.advance(0.3)
    push_over(twin, 0.3)
    twin.controller.change(WholeBody.JointStand)
    twin.advance(0.2)  # on its way up, more than a metre away
    assert np.abs(twin.body.robot.base_data.pos_W - place).max() > 0.5
    twin.body.world.restore(hangs)
    twin.advance(0.5)
    np.testing.assert_allclose(twin.body.robot.base_data.pos_W, place, atol=0.01)


def test_a_twin_is_reset_over_the_network():
    domain = random.choice(sorted(set(range(20, 90)) - local_domains()))
    node = AuroraNode(domain=domain)
    twin = BodyTwin(BodyWorld(), link=node)
    twin.controller.change(WholeBody.PdStand)
    push_over(twin, 1.0)
    send_reset(domain=domain)
    twin.advance(0.01)
    assert twin.body.world.time_s < 0.02
    assert twin.body.robot.base_data.pos_W[2] == pytest.approx(0.9951, abs=0.01)
    assert (twin.controller.whole_body, twin.body.hangs) == (WholeBody.Default, True)
    node.close()
