"""What the feet of a humanoid carry, estimated from its joints, beside the simulator's truth, where it is hardest."""

import copy
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

pytest.importorskip("pinocchio")

from thenar.humanoid.control.foot_contact import ContactEstimator, least_pushes
from thenar.humanoid.control.fsm import WholeBody
from thenar.humanoid.model.gr2 import GR2
from thenar.humanoid.state.parts import ContactData
from thenar.signals import BodyRequest, GroupCommand
from thenar.twin.body.body_loop import BodyTwin
from thenar.twin.body.body_world import BodyWorld

NOTHING = np.zeros(0)
KNEE = 3


@dataclass
class Watched:
    """A twin whose estimates are kept beside the truth."""

    twin: BodyTwin
    true: list[np.ndarray] = field(default_factory=list)
    estimated: list[ContactData] = field(default_factory=list)
    stops_nm: list[float] = field(default_factory=list)

    def advance(self, seconds: float, push_n=(0.0, 0.0, 0.0)) -> None:
        body = self.twin.body
        body.push(push_n)
        for _ in range(round(seconds / body.world.timestep_s)):
            self.true.append(body.foot_forces())
            self.stops_nm.append(float(np.abs(body.machine.stop_torques()[:12]).max()))
            self.twin.advance(body.world.timestep_s)
            self.estimated.append(body.robot.contact_data)

    def rms_percent(self, estimated: list[ContactData] | None = None) -> float:
        """Of the weight: difference between estimated and true force on a foot."""
        off = np.array([one.contact_force for one in estimated or self.estimated]) - np.array(self.true)
        weight_n = self.twin.body.robot.kindyn_data.m * 9.81
        return 100.0 * math.sqrt(np.square(np.linalg.norm(off[:, :, :3], axis=2)).mean()) / weight_n

    def right_percent(self) -> float:
        told = np.array([one.contact_prob for one in self.estimated]) > 0.5
        return 100.0 * float((told == (np.array(self.true)[:, :, 2] > 0.0)).mean())


def standing(**options) -> Watched:
    twin = BodyTwin(BodyWorld(**options))
    twin.controller.change(WholeBody.PdStand)
    twin.advance(0.5)
    return Watched(twin)


def legs(angles_rad) -> BodyRequest:
    angles = np.asarray(angles_rad)
    return BodyRequest(
        sender="a test",
        arrived_s=0.0,
        groups=tuple(
            GroupCommand(group=f"{side}_leg", position=angles, velocity=NOTHING, effort=NOTHING)
            for side in ("left", "right")
        ),
    )


def test_a_robot_dropped_onto_locked_knees_feels_the_ground_and_not_the_stops():
    body = BodyWorld()
    body.world.data.qpos[2] += 0.1
    watched = Watched(BodyTwin(body))
    twin = watched.twin
    twin.controller.change(WholeBody.JointStand)
    twin.advance(0.1)
    twin.controller.change(WholeBody.UserCmd)
    straight = GR2.default_q_rad[:6]
    straight[[0, KNEE, 4]] = 0.04, GR2.per_joint("lower_rad")[KNEE], 0.05
    twin.controller.submit(legs(straight))
    watched.advance(1.0)
    body.hang(False)
    blind = ContactEstimator(GR2)
    blind_estimates = []
    watched.true.clear()
    watched.estimated.clear()
    for _ in range(240):
        watched.advance(body.world.timestep_s)
        snapshot = copy.copy(body.robot.snapshot())
        snapshot.stop_tau = None
        blind_estimates.append(blind.step(snapshot))
    assert max(watched.stops_nm) > 30.0
    assert np.array(watched.true)[:, :, 2].max() > 2000.0
    assert watched.rms_percent() < 5.0
    assert watched.right_percent() >= 99.0
    # The control: an estimator that does not know of the stops takes their torque for a pull on the feet.
    assert watched.rms_percent(blind_estimates) > 50.0


@pytest.mark.parametrize(("turn_rad", "powered"), [(0.9, False), (2.6, False), (5.1, True)])
def test_a_robot_that_falls_and_lies_there_knows_what_its_feet_carry(turn_rad: float, powered: bool):
    watched = standing()
    push_n = np.array([math.cos(turn_rad), math.sin(turn_rad), 0.0]) * (350.0 if powered else 120.0)
    if not powered:
        watched.twin.controller.change(WholeBody.SecurityProtection)
    watched.advance(0.25, push_n)
    watched.advance(2.5)
    assert watched.twin.body.robot.base_data.pos_W[2] < 0.3
    assert max(watched.stops_nm) > 100.0
    assert watched.rms_percent() < 5.0
    assert watched.right_percent() >= 99.0


def test_hands_that_hit_the_legs_and_the_ground_are_not_taken_for_the_ground_under_the_feet():
    watched = standing(hands=("fourier_left", "fourier_right"))
    blind = ContactEstimator(GR2)
    blind_estimates = []
    for tick in range(400):
        watched.advance(watched.twin.body.world.timestep_s, (-10.2, 349.9, 0.0) if tick < 100 else (0.0, 0.0, 0.0))
        blind_estimates.append(blind.step(copy.copy(watched.twin.body.robot.snapshot())))
    assert watched.rms_percent() < 5.0
    assert watched.right_percent() >= 99.0
    assert watched.rms_percent(blind_estimates) > 7.0  # the control: it does not know that there are hands


def test_squats_and_pushes_that_nearly_topple_it():
    watched = standing()
    watched.twin.controller.submit(BodyRequest(sender="a test", arrived_s=0.0, stand_pose=(-0.2, 0.0, 0.0)))
    watched.advance(2.2)
    assert watched.twin.body.robot.base_data.pos_W[2] < 0.80
    for push_n in ((60.0, 0.0, 0.0), (0.0, 80.0, 0.0)):
        watched.advance(0.1, push_n)
        watched.advance(0.7)
    assert watched.rms_percent() < 5.0
    assert watched.right_percent() >= 99.0


def test_pushes_of_the_ground_go_up_and_do_not_slip():
    rng = np.random.default_rng(4)
    J = rng.standard_normal((12, 35))
    pushes = rng.standard_normal((4, 3)) * [0.3, 0.3, 0.0] + [0.0, 0.0, 2.0]
    found = least_pushes(J, pushes.ravel() @ J, start_n=np.zeros((4, 3)), friction=1.0, iterations=300)
    np.testing.assert_allclose(found, pushes, atol=0.02)
    pulled = least_pushes(J, -pushes.ravel() @ J, start_n=np.zeros((4, 3)), friction=1.0, iterations=300)
    assert pulled[:, 2].min() >= 0.0
    assert np.all(np.hypot(pulled[:, 0], pulled[:, 1]) <= pulled[:, 2] + 1e-9)
