"""Motors of many worlds on Warp's CPU backend beside the numba model of one world."""

import numpy as np
import pytest

import thenar
from thenar import hands
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.sim import motor_model
from thenar.sim.building import root_pose
from thenar.sim.scenes import Mount

wp = pytest.importorskip("warp", reason="the extra gpu is not installed")
from thenar.batch import motors, wrist_servos  # noqa: E402

WORLDS, DT_S, LATENCY_STEPS = 24, 0.002, 33


class Bench:
    """Motors of one hand in many worlds, in both models, each joint following its screw up to a wall."""

    def __init__(self, hand: str):
        self.actuators = hands.load(hand).actuators
        self.params = motor_model.motor_params(self.actuators)
        self.state, self.pending = motor_model.motor_state(self.actuators, batch=WORLDS)
        n = len(self.actuators)
        drives = motors.new_records(motors.Drive, n)
        drives["qpos"], drives["dof"], drives["ctrl"] = np.arange(n)[:, None], np.arange(n)[:, None], np.arange(n)
        drives["weight"][:, 0], drives["tendon"], drives["latency_steps"] = 1.0, -1, LATENCY_STEPS
        self.drives = wp.array(drives[None], dtype=motors.Drive, device="cpu")
        self.device_params = wp.array(
            motors.motor_records(self.actuators, DT_S)[None], dtype=motors.Motor, device="cpu"
        )
        rest = np.tile(motors.rest_records(self.actuators), (WORLDS, 1))
        self.device_state = wp.array(rest, dtype=motors.MotorState, device="cpu")
        slots = motors.pending_slots(LATENCY_STEPS * DT_S, DT_S)
        self.device_pending = wp.zeros((WORLDS, n, slots), dtype=motors.Pending, device="cpu")
        self.step = wp.zeros(1, dtype=int, device="cpu")
        self.torque, self.damping, self.qpos = (wp.zeros((WORLDS, n), dtype=float, device="cpu") for _ in range(3))
        self.tendon = wp.zeros((WORLDS, 1), dtype=float, device="cpu")
        self.now = 0

    def command(self, target, speed, limit) -> None:
        due_s = (self.now + LATENCY_STEPS) * DT_S - 1e-9
        motor_model.push_command(self.state, self.pending, target, speed, limit, np.full(target.shape, due_s))
        arrays = [wp.array(np.asarray(a, dtype=np.float32), device="cpu") for a in (target, speed, limit)]
        wp.launch(
            motors.send_commands,
            dim=target.shape,
            inputs=[*arrays, self.drives, self.step, 0, self.device_state, self.device_pending],
            device="cpu",
        )

    def advance(self, angle_rad) -> np.ndarray:
        """One step of both; returns the torque of the numba model."""
        torque, damping = np.empty_like(angle_rad), np.empty_like(angle_rad)
        motor_model.step_motors(
            self.params, self.state, self.pending, angle_rad, self.now * DT_S, DT_S, torque, damping
        )
        self.qpos.assign(angle_rad.astype(np.float32))
        inputs = [self.device_params, self.drives, self.step, DT_S, self.qpos, self.device_state, self.device_pending]
        wp.launch(
            motors.step_motors,
            dim=angle_rad.shape,
            inputs=[*inputs, self.torque, self.damping, self.tendon],
            device="cpu",
        )
        self.now += 1
        self.step.fill_(self.now)
        return torque


@pytest.mark.parametrize("hand", ["inspire_right", "shadow_right", "reflex", "dex3_right"])
def test_motors_follow_the_numba_model_over_six_seconds_of_random_commands(hand: str):
    bench, rng = Bench(hand), np.random.default_rng(7)
    lower, upper, closing = (bench.params[name] for name in ("lower_rad", "upper_rad", "closing"))
    shape = bench.state.shape
    wall = lower + (upper - lower) * rng.uniform(0.2, 0.9, shape)  # something in the way
    angle = bench.state["screw_rad"].copy()
    flags, torques, worst_rad = [], [], 0.0
    target = speed = limit = angle
    for k in range(3000):
        if k % 150 == 0:
            target = lower + (upper - lower) * rng.uniform(0.0, 1.0, shape)
            speed = bench.params["top_speed_rad_s"] * rng.uniform(0.2, 1.0, shape)
            limit = bench.params["force_max_n"] * rng.uniform(0.1, 0.9, shape)
            target[rng.uniform(size=shape) < 0.1] = np.nan  # hold
            target[rng.uniform(size=shape) < 0.1] = np.inf  # stop
        if k % 10 == 0:
            bench.command(target, speed, limit)
        torque = bench.advance(angle)
        if k % 10 == 9:
            device = bench.device_state.numpy()
            flags.append(device["force_stopped"] == bench.state["force_stopped"])
            torques.append(np.abs(bench.torque.numpy() - torque) < 1e-3 * np.abs(torque).max())
            worst_rad = max(worst_rad, np.abs(device["screw_rad"] - bench.state["screw_rad"]).max())
        screw = bench.state["screw_rad"]
        angle = np.where(closing > 0, np.minimum(screw, wall + 0.02), np.maximum(screw, wall - 0.02))
    assert np.mean(flags) >= 0.999
    assert np.mean(torques) >= 0.99
    assert worst_rad <= 2e-3
    device = bench.device_state.numpy()
    for name in ("status", "error"):
        assert np.mean(device[name] == bench.state[name]) >= 0.999
    if hand == "inspire_right":
        assert bench.state["force_stopped"].any(), "nothing stopped on force: the comparison says little"
        np.testing.assert_allclose(device["temperature_c"], bench.state["temperature_c"], atol=0.05)
        np.testing.assert_allclose(device["current_a"], bench.state["current_a"], rtol=1e-2, atol=1e-3)


def test_a_jammed_motor_stalls_and_a_hot_one_switches_off_as_on_the_cpu():
    bench = Bench("inspire_right")
    device = bench.device_state.numpy()
    device["jammed"][0], bench.state["jammed"][0] = 1, True
    device["temperature_c"][1] = bench.state["temperature_c"][1] = bench.params["trip_c"] + 1.0
    device["current_limit_a"][2] = bench.state["current_limit_a"][2] = 0.05
    bench.device_state.assign(device)
    closed, keep = np.tile(bench.params["upper_rad"], (WORLDS, 1)), np.full(bench.state.shape, np.nan)
    bench.command(closed, keep, keep)
    for _ in range(400):
        bench.advance(bench.state["screw_rad"].copy())
    device = bench.device_state.numpy()
    np.testing.assert_array_equal(device["error"], bench.state["error"])
    np.testing.assert_array_equal(device["status"], bench.state["status"])
    assert len(set(device["error"][:4, 0])) == 4, "stalled, hot, over its current and well should differ"


def test_a_driven_wrist_is_pulled_as_on_the_cpu():
    mount = Mount(driven=True, pos_m=(0.0, 0.0, 0.1))
    world = thenar.World("inspire_right", mounts={"inspire_right": mount})
    world.advance(0.01)
    records = world.wrists.records
    device = motors.new_records(wrist_servos.Wrist, 1)
    for name in ("qpos", "dof", "body", "mass_kg"):
        device[name] = records[name]
    offset, R_pr = root_pose(world.hand("inspire_right"), Mount())
    device["root_m"], device["root_quat"] = offset, np.roll(quat_wxyz_from_matrix(R_pr), -1)
    wrists = wp.array(device, dtype=wrist_servos.Wrist, device="cpu")
    state = wp.array(wrist_servos.rest_records(records)[None], dtype=wrist_servos.WristState, device="cpu")
    goal_m, goal_quat = (0.05, -0.1, 0.3), (0.8, 0.6, 0.0, 0.0)
    world.wrists.move("inspire_right", pos_m=goal_m, quat_wxyz=goal_quat)
    goal = [wp.array(np.array([[row]], dtype=np.float32), device="cpu") for row in (goal_m, goal_quat)]
    wp.launch(wrist_servos.send_wrists, dim=(1, 1), inputs=[*goal, wrists, state], device="cpu")
    for _ in range(100):
        qpos, com = (
            wp.array(array[None].astype(np.float32), device="cpu")
            for array in (world.data.qpos, world.data.subtree_com)
        )
        force = wp.zeros((1, world.model.nv), dtype=float, device="cpu")
        inputs = [wrists, wp.vec3(*world.model.opt.gravity), 0.002, qpos, com.view(wp.vec3)]
        wp.launch(wrist_servos.hold_wrists, dim=(1, 1), inputs=[*inputs, state, force], device="cpu")
        world.advance(0.002)  # writes the same forces before its step
        np.testing.assert_allclose(force.numpy()[0], world.data.qfrc_applied, atol=2e-2)
    assert np.abs(world.data.qfrc_applied).max() > 5.0
