"""What a joint may do in one frame: limits of speed, acceleration and tendons, and an end it can stop before."""

from types import SimpleNamespace

import numpy as np
import pytest

from thenar.retarget.kernel import bounds

STEP_S = 0.01
PLAIN = {name: getattr(one, "py_func", one) for name, one in vars(bounds).items() if callable(one)}


def reach(
    velocity: float = 0.0,
    *,
    angle: float = 0.0,
    speed: float = 2.0,
    acceleration: float = 1e6,
    speed_scale: float = 1.0,
    share: float = 0.2,
) -> tuple[float, float]:
    """Speeds [rad/s] of a joint between -1 and 1.5 rad that this frame allows."""
    hand = SimpleNamespace(
        variables=1,
        speed_rad_s=[speed],
        acceleration_rad_s2=[acceleration],
        lower_rad=[-1.0],
        upper_rad=[1.5],
    )
    tuning = SimpleNamespace(speed_scale=speed_scale, reversal_share=share)
    state = SimpleNamespace(angle_rad=[angle], velocity_rad_s=[velocity])
    lower, upper = np.zeros(1), np.zeros(1)
    PLAIN["frame_bounds"](hand, tuning, state, STEP_S, lower, upper)
    return (lower[0] - angle) / STEP_S, (upper[0] - angle) / STEP_S


def test_a_joint_goes_no_faster_than_its_motor_and_the_share_of_it_that_is_allowed():
    assert reach() == pytest.approx((-2.0, 2.0))
    assert reach(speed_scale=0.25) == pytest.approx((-0.5, 0.5))


def test_a_joint_gains_and_loses_no_more_speed_than_its_acceleration_gives_in_a_step():
    assert reach(acceleration=30.0) == pytest.approx((-0.3, 0.3))
    assert reach(0.5, acceleration=30.0) == pytest.approx((0.2, 0.8))
    assert reach(-0.5, acceleration=30.0, speed_scale=0.5) == pytest.approx((-0.65, -0.35))


@pytest.mark.parametrize(("velocity", "back"), [(0.1, 1.6), (0.2, 1.2), (0.4, 0.4), (0.5, 0.4), (1.9, 0.4)])
def test_a_joint_that_runs_turns_back_gently_and_the_faster_it_runs_the_more_so(velocity: float, back: float):
    assert reach(velocity) == pytest.approx((-back, 2.0))
    assert reach(-velocity) == pytest.approx((-2.0, back))


@pytest.mark.parametrize("end", [1.5, -1.0])
@pytest.mark.parametrize("begin", [-0.2, 0.03, 0.2004])
def test_a_joint_that_runs_as_fast_as_it_may_brakes_in_time_and_reaches_its_end(end: float, begin: float):
    angle, velocity, braking, fastest = begin, 0.0, [], 0.0
    for _ in range(400):
        slow, fast = reach(velocity, angle=angle, speed=9.0, acceleration=20.0)
        new = fast if end > 0.0 else slow
        braking.append(abs(velocity) - abs(new))
        angle, velocity, fastest = angle + new * STEP_S, new, max(fastest, abs(new))
    assert angle == pytest.approx(end, abs=1e-9)
    assert max(braking) <= 20.0 * STEP_S * (1.0 + 1e-6)
    # A step later than the ideal one: half the way to gain speed, half to lose it.
    ideal = np.sqrt(20.0 * abs(end - begin))
    assert 0.9 * ideal < fastest < ideal


def tendon(angle: list[float], weights: tuple[float, float] = (1.0, 2.0)) -> tuple[SimpleNamespace, SimpleNamespace]:
    """A hand of three joints, the first and the last of which one tendon couples, and the room of a solver."""
    hand = SimpleNamespace(
        tendons=1,
        row_variable=np.array([[0, 2]]),
        row_weight=np.array([weights]),
        row_lower_rad=[-0.5],
        row_upper_rad=[1.0],
    )
    room = SimpleNamespace(
        angle=np.array(angle), step_lower=[-0.1, -9.0, -0.1], step_upper=[0.2, 9.0, 0.1], row=np.full((4, 6), 7.0)
    )
    room.row_lower = np.full(4, 7.0)
    return hand, room


@pytest.mark.parametrize(
    ("angle", "weights", "row", "lower"),
    [
        ([0.2, 9.0, 0.3], (1.0, 2.0), [-1.0, 0.0, -2.0, 0.0], -0.2),
        ([0.4, 9.0, 0.4], (1.0, 2.0), [-1.0, 0.0, -2.0, 0.0], 0.0),  # past its end already: no further
        ([0.0, 9.0, -0.2], (1.0, 2.0), [1.0, 0.0, 2.0, 0.0], -0.1),
        ([0.2, 9.0, -0.3], (1.0, -2.0), [-1.0, 0.0, 2.0, 0.0], -0.2),
    ],
)
def test_a_tendon_that_can_reach_an_end_in_this_step_is_held_there(angle, weights, row, lower):
    hand, room = tendon(angle, weights)
    assert PLAIN["add_tendon_rows"](hand, room, 1, 3) == 2
    np.testing.assert_allclose(room.row[1], [*row, 7.0, 7.0])
    assert room.row_lower[1] == pytest.approx(lower)
    assert np.all(room.row[[0, 2, 3]] == 7.0)


def test_a_tendon_that_cannot_reach_an_end_is_left_out():
    for angle in ([0.1, 9.0, 0.2], [0.1, 9.0, -0.1]):
        hand, room = tendon(angle)
        assert PLAIN["add_tendon_rows"](hand, room, 0, 3) == 0


def test_a_step_ends_within_the_bounds_and_tells_how_far_it_went():
    hand, room = tendon([0.1, 0.1, 0.1])
    room.x, room.lower, room.upper = np.array([0.2, -0.5, 0.05]), np.full(3, -0.2), np.full(3, 0.25)
    assert PLAIN["take_step"](hand, room, 3) == pytest.approx(0.3)
    np.testing.assert_allclose(room.angle, [0.25, -0.2, 0.15])
    np.testing.assert_allclose(room.x, [0.15, 0.3, 0.05])


@pytest.mark.parametrize(("angle", "last"), [([0.4, 0.0, 0.4], 0.3), ([-0.4, 0.0, -0.4], -0.05)])
def test_the_last_joint_of_a_tendon_gives_way_at_its_end(angle: list[float], last: float):
    hand, room = tendon(angle)
    room.x, room.lower, room.upper = np.zeros(3), np.full(3, -1.0), np.full(3, 1.0)
    PLAIN["take_step"](hand, room, 3)
    np.testing.assert_allclose(room.angle, [angle[0], 0.0, last])
