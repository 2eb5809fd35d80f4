"""The motors against what was measured on real hands, and every status and error they can report."""

import numpy as np
import pytest

import thenar
from thenar import hands
from thenar.errors import BadCommand
from thenar.hands.spec import Servo
from thenar.signals import HandCommand, MotorError, MotorStatus
from thenar.sim import motor_model
from thenar.units import GRAM_FORCE_N

INSPIRE = ["inspire_right", "inspire_dfx_right"]
DT_S = 0.002
FIELDS = ("target_rad", "speed_rad_s", "force_limit_n")

# Peak force [g] of the middle finger on a rigid contact, mean of 20 trials on a real RH56DFX.
# Ref: correlllab/rh56_controller, arXiv 2603.08988.
SPEEDS = (1000, 750, 500, 250, 100, 50, 25)
LIMITS = (100, 250, 500, 750, 1000)
MEASURED_PEAK_G = np.array(
    [
        [1695, 1688, 1681, 1724, 1701],
        [1659, 1661, 1666, 1692, 1700],
        [827, 1162, 1486, 1467, 1504],
        [575, 1047, 1073, 1419, 1458],
        [210, 599, 1054, 1184, 1369],
        [156, 339, 792, 1141, 1308],
        [143, 298, 549, 879, 1234],
    ]
)


def only(motor: int, value: float, motors: int = 6) -> np.ndarray:
    values = np.full(motors, np.nan)
    values[motor] = value
    return values


def watch(world: thenar.World, hand: str, seconds: float, every_s: float = DT_S) -> list[thenar.HandState]:
    states = []
    for _ in range(round(seconds / every_s)):
        world.advance(every_s)
        states.append(world.state(hand))
    return states


class Bench:
    """Motors of a hand on a bench, their joints held where we want them: no physics engine."""

    def __init__(self, hand: str, *, batch: int = 1):
        self.actuators = hands.load(hand).actuators
        self.params = motor_model.motor_params(self.actuators)
        self.state, self.pending = motor_model.motor_state(self.actuators, batch=batch)
        self.now_s = 0.0

    def send(self, target_rad: float, *, limit_n: float = np.nan, speed_rad_s: float = np.nan) -> None:
        shape = self.state.shape
        target, speed, limit = (np.full(shape, value) for value in (target_rad, speed_rad_s, limit_n))
        motor_model.push_command(self.state, self.pending, target, speed, limit, np.full(shape, self.now_s))

    def step(self, angle_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """One step; torque and damping of every motor."""
        torque_nm, damping_nms_rad = np.empty(self.state.shape), np.empty(self.state.shape)
        held_rad = np.array(angle_rad)  # a copy: the angle may be a field of the state
        motor_model.step_motors(
            self.params, self.state, self.pending, held_rad, self.now_s, DT_S, torque_nm, damping_nms_rad
        )
        return torque_nm, damping_nms_rad

    def run(self, seconds: float, *, angle_rad: np.ndarray | None = None) -> np.ndarray:
        """Total current after every step [A]; joints follow the screw unless ``angle_rad`` holds them."""
        totals = []
        for _ in range(round(seconds / DT_S)):
            angle = self.state["screw_rad"] if angle_rad is None else angle_rad
            self.step(angle)
            self.now_s += DT_S
            totals.append(self.state["current_a"].sum())
        return np.array(totals)


@pytest.mark.parametrize(
    ("hand", "speed", "wanted_s"),
    [
        ("inspire_right", 1.0, 0.6),
        ("inspire_right", 0.5, 1.2),
        ("inspire_right", 0.25, 2.4),
        ("inspire_dfx_right", 1.0, 0.8),
        ("inspire_dfx_right", 0.5, 1.6),
        ("inspire_dfx_right", 0.25, 3.2),
    ],
)
@pytest.mark.parametrize("motor", range(4))
def test_full_stroke_takes_the_makers_time(hand: str, speed: float, wanted_s: float, motor: int):
    world = thenar.World(hand)
    spec = world.hand(hand)
    world.command(hand, HandCommand.closing(only(motor, 1.0), speed=speed))
    angle, at = [], []
    while world.time_s < wanted_s + 0.4:
        world.advance(DT_S)
        angle.append(world.data.qpos[world.model.joint(f"{hand}/{spec.actuators[motor].drives}").qposadr[0]])
        at.append(world.time_s)
    share = np.array(angle) / spec.closed_rad[motor]
    began, ended = at[int(np.argmax(share > 0.002))], at[int(np.argmax(share > 0.995))]
    assert ended - began == pytest.approx(wanted_s, rel=0.05)


def test_first_motion_comes_66_ms_after_the_command():
    latencies = []
    for seed in range(15):
        world = thenar.World("inspire_right", seed=seed)
        world.advance(0.1)
        rest = world.data.qpos.copy()
        sent = world.time_s
        world.command("inspire_right", HandCommand.closing(0.5))
        while np.abs(world.data.qpos - rest).max() < 0.002:
            world.advance(DT_S)
        latencies.append(world.time_s - sent)
    assert np.median(latencies) == pytest.approx(0.066, abs=0.005)
    assert np.ptp(latencies) > 0.001  # it varies, as on the real hand


def test_ideal_profile_moves_at_once_and_reads_without_noise():
    world = thenar.World("inspire_right", profile="ideal")
    world.command("inspire_right", HandCommand.closing(0.5))
    world.advance(0.01)
    state = world.state("inspire_right")
    assert np.all(state.angle_rad > 0.0)
    assert state.angle_rad[0] == state.joint_rad[0]


@pytest.mark.parametrize("hand", INSPIRE)
def test_force_stop_overshoots_as_measured_on_a_real_hand(hand: str, blocked_middle):
    world = blocked_middle(hand)
    world.command(hand, HandCommand.closing(only(2, 0.5)))
    world.advance(1.5)  # on its way to the ball, which it meets a little later at every speed
    start = world.snapshot()
    peaks_g = np.zeros((len(SPEEDS), len(LIMITS)))
    for i, speed in enumerate(SPEEDS):
        for j, limit in enumerate(LIMITS):
            world.restore(start)
            command = HandCommand.closing(only(2, 1.0), speed=speed / 1000, force_limit_n=limit * GRAM_FORCE_N)
            world.command(hand, command)
            peak = 0.0
            while world.state(hand).status[2] != MotorStatus.FORCE_REACHED:
                world.advance(0.004)
                peak = max(peak, world.state(hand).force_n[2])
                assert world.time_s < 60.0
            for state in watch(world, hand, 0.03):
                peak = max(peak, state.force_n[2])
            peaks_g[i, j] = peak / GRAM_FORCE_N
    error = np.abs(peaks_g - MEASURED_PEAK_G) / MEASURED_PEAK_G
    assert np.median(error) < 0.15
    assert error.max() < 0.40


def test_ideal_profile_stops_at_the_force_it_was_told(blocked_middle):
    world = blocked_middle("inspire_right", profile="ideal")
    world.command("inspire_right", HandCommand.closing(only(2, 1.0), speed=0.1, force_limit_n=4.0))
    peak = max(state.force_n[2] for state in watch(world, "inspire_right", 6.0))
    assert peak == pytest.approx(4.0, rel=0.15)


def test_reported_force_on_an_ideal_hand_is_the_force_at_the_fingertip(blocked_middle):
    world = blocked_middle("inspire_right", profile="ideal")
    world.command("inspire_right", HandCommand.closing(only(2, 1.0), speed=0.1, force_limit_n=6.0))
    world.advance(8.0)
    contact_n = world.contacts("inspire_right").normal_force_n.sum()
    # The lever is that of mid stroke and of the tip pad; the contact is near both.
    assert world.state("inspire_right").force_n[2] == pytest.approx(contact_n, rel=0.15)


def test_a_stopped_finger_restarts_on_a_new_target_but_not_on_a_new_limit(blocked_middle):
    hand = "inspire_right"
    world = blocked_middle(hand)
    world.command(hand, HandCommand.closing(only(2, 1.0), speed=0.05, force_limit_n=1.0))
    world.advance(12.0)
    assert world.state(hand).status[2] == MotorStatus.FORCE_REACHED
    held_n = world.state(hand).force_n[2]
    world.command(hand, HandCommand.to(np.full(6, np.nan), force_limit_n=8.0))
    world.advance(2.0)
    assert world.state(hand).status[2] == MotorStatus.FORCE_REACHED
    assert world.state(hand).force_n[2] == pytest.approx(held_n, abs=0.4)
    world.command(hand, HandCommand.closing(only(2, 1.0)))
    world.advance(6.0)
    assert world.state(hand).force_n[2] > 2.0 * held_n


@pytest.mark.parametrize("rate_hz", [10, 100])
def test_a_client_that_streams_its_target_keeps_the_force_limit(rate_hz: int, blocked_middle):
    hand = "inspire_right"
    world = blocked_middle(hand)
    peaks = []
    for stream in (False, True):
        world.reset()
        command = HandCommand.closing(only(2, 1.0), speed=0.025, force_limit_n=250 * GRAM_FORCE_N)
        world.command(hand, command)
        peak = 0.0
        for _ in range(30 * rate_hz):
            if stream:
                world.command(hand, command)
            world.advance(1 / rate_hz)
            peak = max(peak, world.state(hand).force_n[2])
        assert world.state(hand).status[2] == MotorStatus.FORCE_REACHED
        peaks.append(peak)
    assert peaks[1] == pytest.approx(peaks[0], rel=0.15)


def test_a_lead_screw_holds_against_a_push_without_power():
    hand = "inspire_right"
    world = thenar.World(hand, profile="ideal")
    world.command(hand, HandCommand.closing(0.5))
    world.advance(1.0)
    before = world.state(hand)
    tip = world.model.body(f"{hand}/index_2").id
    world.data.xfrc_applied[tip, :3] = (0.0, 0.0, -5.0)  # 5 N, opening the finger
    world.advance(2.0)
    pushed = world.state(hand)
    assert pushed.current_a[3] == before.current_a[3]
    assert abs(pushed.angle_rad[3] - before.angle_rad[3]) < 0.15  # the linkage gives a little
    world.data.xfrc_applied[:] = 0.0
    world.advance(1.0)
    assert world.state(hand).angle_rad[3] == pytest.approx(before.angle_rad[3], abs=1e-3)


def test_status_tells_releasing_grasping_and_position_reached():
    hand = "inspire_right"
    world = thenar.World(hand)
    assert set(world.state(hand).status) == {MotorStatus.POSITION_REACHED}
    world.command(hand, HandCommand.closing(only(0, 0.8)))
    world.advance(0.3)
    assert world.state(hand).status[0] == MotorStatus.GRASPING
    world.advance(1.0)
    assert world.state(hand).status[0] == MotorStatus.POSITION_REACHED
    world.command(hand, HandCommand.closing(only(0, 0.0)))
    world.advance(0.3)
    assert world.state(hand).status[0] == MotorStatus.RELEASING


@pytest.mark.parametrize("hand", [*INSPIRE, "fourier_right"])
def test_a_finger_that_is_told_to_stop_ends_its_motion_where_it_is(hand: str):
    world = thenar.World(hand, profile="ideal")
    motors = len(world.state(hand).angle_rad)
    only_first = np.arange(motors) == 0
    world.command(hand, HandCommand.closing(1.0, speed=0.5))
    world.advance(0.3)
    before_rad = world.state(hand).angle_rad[0]
    world.command(hand, HandCommand(**dict.fromkeys(FIELDS, np.full(motors, np.nan)), stop=only_first))
    world.advance(4.0)
    state, spec = world.state(hand), hands.load(hand)
    assert abs(state.angle_rad[0] - before_rad) < 0.05 * abs(spec.closed_rad[0] - spec.open_rad[0])
    assert state.status[0] == MotorStatus.POSITION_REACHED
    assert abs(state.angle_rad[2] - spec.closed_rad[2]) < 0.1  # the others went on
    world.command(hand, HandCommand.closing(only(0, 0.0, motors)))
    world.advance(2.0)
    assert world.state(hand).angle_rad[0] == pytest.approx(spec.open_rad[0], abs=0.02)


def test_a_screw_that_is_told_to_stop_brakes_and_never_turns_back():
    bench = Bench("inspire_right")
    bench.send(1.4)
    bench.run(0.2)
    bench.send(motor_model.STOP)
    places = []
    for _ in range(50):
        bench.run(DT_S)
        places.append(bench.state["screw_rad"][0, 0])
    assert np.all(np.diff(places) >= 0.0)
    braking_rad = bench.params["top_speed_rad_s"][0] * 0.010 / 2  # 10 ms from top speed to rest
    assert places[-1] - places[0] <= 1.1 * braking_rad
    assert np.ptp(places[-40:]) == 0.0


def test_a_stop_leaves_a_finger_that_stopped_on_force_alone(blocked_middle):
    hand = "inspire_right"
    world = blocked_middle(hand)
    world.command(hand, HandCommand.closing(only(2, 1.0), speed=0.1, force_limit_n=2.0))
    world.advance(8.0)
    held_n = world.state(hand).force_n[2]
    world.command(hand, HandCommand(**dict.fromkeys(FIELDS, np.full(6, np.nan)), stop=np.ones(6, dtype=bool)))
    world.advance(1.0)
    assert world.state(hand).status[2] == MotorStatus.FORCE_REACHED
    assert world.state(hand).force_n[2] == pytest.approx(held_n, abs=0.3)


@pytest.mark.parametrize("stop", [np.ones(5, dtype=bool), np.ones(6)])
def test_a_stop_that_does_not_fit_the_hand_is_refused(stop: np.ndarray):
    world = thenar.World("inspire_right")
    with pytest.raises(BadCommand, match="wanted 6 times True or False"):
        world.command("inspire_right", HandCommand(**dict.fromkeys(FIELDS, np.full(6, np.nan)), stop=stop))


@pytest.mark.parametrize("closing", [0.0, 1.0])
def test_a_finger_at_speed_0_says_that_it_stands(closing: float):
    hand = "inspire_right"
    world = thenar.World(hand)
    world.command(hand, HandCommand.closing(0.5))
    world.advance(1.0)
    world.command(hand, HandCommand.closing(closing, speed=0.2))
    world.advance(0.3)
    assert set(world.state(hand).status) == {MotorStatus.GRASPING if closing else MotorStatus.RELEASING}
    world.command(hand, HandCommand.to(np.full(6, np.nan), speed_rad_s=0.0))
    world.advance(0.2)
    assert set(world.state(hand).status) == {MotorStatus.POSITION_REACHED}
    world.command(hand, HandCommand.to(np.full(6, np.nan), speed_rad_s=0.5))
    world.advance(0.2)
    assert set(world.state(hand).status) == {MotorStatus.GRASPING if closing else MotorStatus.RELEASING}


def test_a_finger_closes_by_its_own_stiffness_whichever_way_its_angle_goes():
    hand = "fourier_right"  # all its motors but that of the thumb's bend close downwards
    motors = Bench(hand)
    closing = np.array([np.sign(one.closed_rad - one.open_rad) for one in motors.actuators])
    ahead_rad = 1e-3 * closing
    torque_nm, _ = motors.step(motors.state["screw_rad"] - ahead_rad)
    np.testing.assert_allclose(torque_nm[0], motors.params["stiffness_nm_rad"] * ahead_rad)
    assert np.all(motors.state["force_n"] > 0.0)  # it grasps
    world = thenar.World(hand)
    for fraction, status in ((1.0, MotorStatus.GRASPING), (0.0, MotorStatus.RELEASING)):
        world.command(hand, HandCommand.closing(fraction))
        world.advance(0.1)
        assert set(world.state(hand).status) == {status}


def test_a_loaded_index_finger_reports_the_grams_of_the_published_fit():
    # Ref: correlllab/rh56_controller: N = 0.007478 counts - 0.414.
    bench = Bench("inspire_dfx_right")
    bench.run(DT_S)
    assert bench.state["reported_n"][0, 3] == 0.0  # nothing touches
    loads_n = []
    for behind_rad in np.linspace(0.0, 0.2, 60):  # the joint is held behind its screw
        bench.run(DT_S, angle_rad=bench.state["screw_rad"] - behind_rad)
        load_n = bench.state["torque_nm"][0, 3] / bench.actuators[3].motor.lever_m
        grams = bench.state["reported_n"][0, 3] / GRAM_FORCE_N
        if load_n > 0.414:
            assert grams == pytest.approx((load_n + 0.414) / 0.007478, abs=1.0)
        loads_n.append(load_n)
    assert min(loads_n) == 0.0
    assert max(loads_n) > 7.0


def test_a_jammed_finger_stalls_and_clear_error_frees_it():
    hand = "inspire_right"
    world = thenar.World(hand, profile="ideal")
    world.faults.inject(hand, "index", "jam")
    world.command(hand, HandCommand.closing(only(3, 0.5)))
    world.advance(2.0)
    state = world.state(hand)
    assert state.status[3] == MotorStatus.STALLED
    assert state.error[3] == MotorError.STALL
    world.faults.repair(hand, "index")
    world.advance(1.0)
    assert world.state(hand).status[3] == MotorStatus.STALLED  # the error stays until it is cleared
    world.clear_errors(hand)
    world.advance(0.1)
    assert world.state(hand).error[3] == MotorError.NONE
    assert world.state(hand).status[3] == MotorStatus.GRASPING


def blocked_from_opening() -> tuple[Bench, np.ndarray]:
    """Motors asked to open while their joints are held at 0.3 rad."""
    motors = Bench("inspire_right")
    motors.state["screw_rad"] = motors.state["target_rad"] = 0.3
    motors.send(0.0)
    return motors, np.full(motors.state.shape, 0.3)


def test_opening_against_an_obstacle_stalls_because_only_grasping_stops_on_force():
    motors, held = blocked_from_opening()
    motors.run(3.0, angle_rad=held)
    assert set(motors.state["status"].ravel()) == {MotorStatus.STALLED}
    assert set(motors.state["error"].ravel()) == {MotorError.STALL}
    assert np.all(motors.state["force_n"] < 0.0)


def test_current_protection_stops_a_grip_that_draws_too_much(blocked_middle):
    hand = "inspire_right"
    world = blocked_middle(hand)
    world.set_current_limit(hand, 0.3)
    world.command(hand, HandCommand.closing(only(2, 1.0), speed=0.3, force_limit_n=25.0))
    world.advance(3.0)
    state = world.state(hand)
    assert state.status[2] == MotorStatus.CURRENT_PROTECTION
    assert state.error[2] == MotorError.OVER_CURRENT
    world.command(hand, HandCommand.closing(only(2, 0.0)))
    world.advance(1.0)
    assert world.state(hand).status[2] == MotorStatus.CURRENT_PROTECTION  # it waits for clear-error
    world.clear_errors(hand)
    world.advance(2.5)
    assert world.state(hand).status[2] == MotorStatus.POSITION_REACHED


@pytest.mark.parametrize(("fault", "error"), [("motor", MotorError.MOTOR), ("communication", MotorError.COMMUNICATION)])
def test_a_broken_motor_reports_a_fault_and_stands_still(fault: str, error: MotorError):
    hand = "inspire_right"
    world = thenar.World(hand)
    world.faults.inject(hand, "ring", fault)
    world.command(hand, HandCommand.closing(0.3))
    world.advance(1.0)
    state = world.state(hand)
    assert state.status[1] == MotorStatus.FAULT
    assert state.error[1] == error
    assert abs(state.angle_rad[1]) < 0.02
    assert state.angle_rad[0] > 0.3  # the others go on
    world.clear_errors(hand)
    world.advance(1.0)
    assert world.state(hand).angle_rad[1] > 0.3


def test_whole_hand_draws_the_manuals_current_idle_free_and_gripping():
    motors = Bench("inspire_right")
    assert motors.run(0.2).mean() == pytest.approx(0.2, rel=0.15)
    motors.send(10.0)  # clamped to the end of the stroke
    assert motors.run(0.5).mean() == pytest.approx(1.2, rel=0.15)
    grip = Bench("inspire_right")
    grip.send(10.0, limit_n=3000 * GRAM_FORCE_N)
    gripping = grip.run(3.0, angle_rad=np.zeros(grip.state.shape))
    assert gripping.max() == pytest.approx(4.5, rel=0.15)
    assert gripping[-1] == pytest.approx(0.2, rel=0.15)  # the screws hold without power


def test_free_motion_of_the_simulated_hand_draws_the_manuals_current():
    hand = "inspire_right"
    world = thenar.World(hand)
    world.advance(0.1)
    assert world.state(hand).current_a.sum() == pytest.approx(0.2, rel=0.15)
    world.command(hand, HandCommand.closing([0.9, 0.9, 0.9, 0.9, 0.6, 0.0], speed=1.0))
    world.advance(0.1)
    moving = [state.current_a.sum() for state in watch(world, hand, 0.2)]
    moving_motors = 5
    assert np.mean(moving) == pytest.approx(0.2 + moving_motors / 6, rel=0.15)


def test_stalled_motors_heat_up_trip_and_only_cooling_helps():
    motors, held = blocked_from_opening()
    before_c = motors.state["temperature_c"].max()
    temperature_c = []
    while not np.all(motors.state["error"] & MotorError.OVER_TEMPERATURE):
        # A stubborn client: clear the stall and try again.
        motors.state = motor_model.clear_errors(motors.state)
        motors.run(0.6, angle_rad=held)
        temperature_c.append(motors.state["temperature_c"].max())
        assert motors.now_s < 240.0
    assert np.all(np.diff(temperature_c[:-1]) > 0.0)
    assert temperature_c[-1] > before_c + 40.0
    assert set(motors.state["status"].ravel()) == {MotorStatus.FAULT}
    cleared = motor_model.clear_errors(motors.state)
    assert set(cleared["error"].ravel()) == {MotorError.OVER_TEMPERATURE}
    motors.run(60.0, angle_rad=held)
    assert not np.any(motors.state["error"] & MotorError.OVER_TEMPERATURE)
    assert motors.state["temperature_c"].max() < 60.0


def test_nan_holds_target_speed_and_limit():
    hand = "inspire_right"
    world = thenar.World(hand, profile="ideal")
    world.command(hand, HandCommand.closing(0.4, speed=0.5, force_limit_n=5.0))
    world.advance(2.0)
    before = world.state(hand).angle_rad
    world.command(hand, HandCommand.to(np.full(6, np.nan)))
    world.advance(1.0)
    np.testing.assert_allclose(world.state(hand).angle_rad, before, atol=2e-3)
    world.command(hand, HandCommand.closing(0.9))  # speed is NaN: still half the top speed
    world.advance(0.2)
    moved = world.state(hand).angle_rad - before
    np.testing.assert_allclose(moved[:4], 0.2 * 0.5 * world.hand(hand).top_speed_rad_s[:4], rtol=0.15)


def test_commands_take_effect_in_the_order_they_were_sent_even_at_1_khz():
    hand = "inspire_right"
    world = thenar.World(hand, timestep_s=0.001)
    for k in range(300):
        world.command(hand, HandCommand.closing(only(0, 0.5 * k / 299)))
        world.advance(0.001)
    world.advance(1.0)
    assert world.state(hand).angle_rad[0] == pytest.approx(0.5 * 1.4381, abs=0.02)


def test_a_later_command_never_overtakes_one_that_is_under_way():
    motors = Bench("inspire_right")
    shape, none = motors.state.shape, np.full(motors.state.shape, np.nan)
    for target_rad, due_s in ((1.0, 0.5), (0.2, 0.1)):
        motor_model.push_command(
            motors.state, motors.pending, np.full(shape, target_rad), none, none, np.full(shape, due_s)
        )
    assert motors.pending["due_s"][..., :2].min() == 0.5
    motors.run(0.3)
    assert motors.state["target_rad"].max() == 0.0


def test_a_full_line_passes_on_what_the_newest_command_leaves_open_motor_by_motor():
    motors = Bench("inspire_right", batch=2)
    shape = motors.state.shape
    due_s = np.full(shape, 9.0)
    for number in range(motor_model.PENDING_COMMANDS):
        filled = np.full(shape, float(number))
        motor_model.push_command(motors.state, motors.pending, filled, filled, filled, due_s)
    luck = np.random.default_rng(3)
    newest = luck.uniform(100.0, 200.0, (3, *shape))
    newest[luck.random(newest.shape) < 0.5] = np.nan
    target, speed, limit = newest
    motor_model.push_command(motors.state, motors.pending, target, speed, limit, due_s)
    last = motors.pending[..., -1]
    for name, asked in zip(("target_rad", "speed_rad_s", "limit_n"), newest, strict=True):
        np.testing.assert_array_equal(last[name], np.where(np.isnan(asked), motor_model.PENDING_COMMANDS - 1.0, asked))
    assert motors.state["pending_count"].tolist() == np.full(shape, motor_model.PENDING_COMMANDS).tolist()


def test_the_zero_of_a_force_is_that_at_the_end_of_the_time_it_takes():
    motors = Bench("inspire_right")
    motors.state["zeroing_s"] = 0.1
    zero_n = motors.state["zero_n"].copy()
    motors.run(0.05, angle_rad=motors.state["screw_rad"] - 0.05)
    np.testing.assert_array_equal(motors.state["zero_n"], zero_n)
    motors.run(0.1, angle_rad=motors.state["screw_rad"] - 0.01)
    np.testing.assert_array_equal(motors.state["zero_n"], motors.state["force_n"])
    assert not motors.state["zeroing_s"].any()


def test_a_motor_that_obeys_a_law_gives_neither_torque_nor_damping_while_it_is_broken():
    motors = Bench("dex3_right")
    motors.state["error"] = int(MotorError.COMMUNICATION)
    motors.state["stiffness_nm_rad"], motors.state["damping_nms_rad"] = 1.5, 0.2
    angle_rad = motors.state["screw_rad"] - 0.3
    motors.state["angle_rad"] = angle_rad
    torque_nm, damping_nms_rad = motors.step(angle_rad)
    assert not torque_nm.any()
    assert not damping_nms_rad.any()


def test_a_law_with_little_damping_ends_at_its_own_free_speed():
    """The law asks for more than the motor can give: a line from that torque to nothing where the law asks for none."""
    motors = Bench("dex3_right")
    stiffness, damping = 2.0, 0.4
    motors.state["stiffness_nm_rad"], motors.state["damping_nms_rad"] = stiffness, damping
    motors.state["limit_n"] = 0.1 / motors.params["torque_per_n"]
    angle_rad = motors.state["screw_rad"] - 0.5
    motors.state["angle_rad"] = angle_rad
    torque_nm, slope = motors.step(angle_rad)
    free_rad_s = stiffness * 0.5 / (damping + stiffness * DT_S)
    assert free_rad_s < motors.params["top_speed_rad_s"].min()
    np.testing.assert_allclose(torque_nm, 0.1, rtol=1e-9)
    np.testing.assert_allclose(torque_nm / slope, np.full(slope.shape, free_rad_s), rtol=1e-9)


def test_a_batch_of_hands_moves_like_one_hand():
    one, many = Bench("inspire_right"), Bench("inspire_right", batch=7)
    for motors in (one, many):
        motors.send(1.0, limit_n=5.0)
        motors.run(0.3)
    for b in range(7):
        assert many.state[b].tobytes() == one.state[0].tobytes()


@pytest.mark.parametrize("hand", ["shadow_right", "fourier_left", "reflex"])
def test_servos_keep_to_their_speed_and_effort(hand: str):
    world = thenar.World(hand)
    spec = world.hand(hand)
    top = np.array([actuator.top_speed_rad_s for actuator in spec.actuators])
    effort = np.array([a.motor.effort_nm for a in spec.actuators if isinstance(a.motor, Servo)])
    world.command(hand, HandCommand.closing(0.8, speed=1.0))
    screw = world.physics.motors.records[0]["screw_rad"].copy()
    for _ in range(500):
        world.advance(DT_S)
        moved = np.abs(world.physics.motors.records[0]["screw_rad"] - screw) / DT_S
        assert np.all(moved <= top * (1 + 1e-9))
        screw = world.physics.motors.records[0]["screw_rad"].copy()
        assert np.all(np.abs(world.state(hand).torque_nm) <= effort * (1 + 1e-9))
    assert np.all(np.isnan(world.state(hand).current_a))  # not known is NaN, not zero


def test_shadow_tendon_bends_the_middle_joint_before_the_distal_one(angles):
    hand = "shadow_right"
    world = thenar.World(hand)
    names = world.hand(hand).actuator_names
    target = np.full(20, np.nan)
    target[names.index("FFJ0")] = 1.2
    world.command(hand, HandCommand.to(target))
    world.advance(3.0)
    angle = angles(world.state(hand))
    assert angle["FFJ2"] + angle["FFJ1"] == pytest.approx(1.2, abs=0.1)
    assert angle["FFJ2"] > 5.0 * angle["FFJ1"]


def test_reflex_fingers_one_and_two_swivel_against_each_other(angles):
    world = thenar.World("reflex")
    world.command("reflex", HandCommand.to([0.0, 0.0, 0.0, 0.8]))
    world.advance(2.0)
    angle = angles(world.state("reflex"))
    assert angle["preshape_1"] == pytest.approx(0.8, abs=0.03)
    assert angle["preshape_2"] == pytest.approx(-angle["preshape_1"], abs=1e-3)
