"""The hands of a Unitree G1, Dex3-1 and BrainCo Revo 2, against the makers' tables; motors that take a law."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

import thenar
from thenar import HandCommand, hands
from thenar.errors import BadCommand
from thenar.hands.spec import Servo
from thenar.signals import TorqueLaw
from thenar.twin.recording.recipe import from_text, to_text

TABLES = json.loads((Path(__file__).parent / "data" / "unitree_hands.json").read_text())
GRAVITY_M_S2 = 9.81


def rotation(axis: int, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[[i, i, j, j], [i, j, i, j]] = c, -s, s, c
    return R


def turn_about(axis: np.ndarray, angle: float) -> np.ndarray:
    K = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def table_poses(table: dict, driven: dict[str, float]) -> dict[str, np.ndarray]:
    """Pose of every link of a table, fixed ones too, from the angles of the joints that have a motor."""
    root = table["joints"][0][1]
    poses = {root: np.eye(4)}
    for name, parent, child, xyz, rpy, axis, *_, mimic in table["joints"]:
        step = np.eye(4)
        step[:3, :3] = rotation(2, rpy[2]) @ rotation(1, rpy[1]) @ rotation(0, rpy[0])
        step[:3, 3] = xyz
        if axis is not None:
            angle = driven[mimic[0]] * mimic[1] if mimic else driven[name]
            step[:3, :3] = step[:3, :3] @ turn_about(np.array(axis), angle)
        poses[child] = poses[parent] @ step
    return poses


def height_m(table: dict, driven: dict[str, float], up: np.ndarray) -> float:
    """Sum of mass times height [kg m]."""
    poses = table_poses(table, driven)
    return sum(mass * (poses[link][:3, 3] + poses[link][:3, :3] @ com) @ up for link, mass, com in table["links"])


def random_driven(table: dict, rng: np.random.Generator) -> dict[str, float]:
    return {row[0]: rng.uniform(row[6], row[7]) for row in table["joints"] if row[5] is not None and row[-1] is None}


def placed(hand: str, driven: dict[str, float]) -> tuple[mujoco.MjModel, mujoco.MjData]:
    spec = hands.load(hand)
    model = hands.build_spec(spec).compile()
    data = mujoco.MjData(model)
    by_joint = {actuator.drives: driven[actuator.drives] for actuator in spec.actuators}
    for name, angle in spec.joint_angles(np.array(list(by_joint.values()))).items():
        data.joint(name).qpos[0] = angle
    return model, data


@pytest.mark.parametrize("hand", TABLES)
def test_links_and_tips_are_where_the_makers_table_puts_them(hand: str):
    table, spec, rng = TABLES[hand], hands.load(hand), np.random.default_rng(4)
    worst_m = 0.0
    for _ in range(20):
        driven = random_driven(table, rng)
        model, data = placed(hand, driven)
        mujoco.mj_kinematics(model, data)
        poses = table_poses(table, driven)
        for link in spec.links:
            worst_m = max(worst_m, np.abs(data.body(link.name).xpos - poses[link.name][:3, 3]).max())
        for tip in spec.tips:
            name = "pinky" if tip.finger == "little" else tip.finger
            if table["tips"]:
                parent, place = table["tips"][name]
                wanted = poses[parent] @ [*place, 1.0]
            else:
                wanted = poses[f"{name}_tip"][:, 3]
            worst_m = max(worst_m, np.abs(data.site(f"{tip.finger}_tip").xpos - wanted[:3]).max())
    assert worst_m < 1e-4


@pytest.mark.parametrize("hand", TABLES)
def test_masses_limits_efforts_and_couplings_are_the_tables(hand: str):
    table, spec = TABLES[hand], hands.load(hand)
    assert spec.mass_kg == pytest.approx(table["total_mass_kg"], abs=5e-7)  # the sum is told to a milligram
    touch = {link.removesuffix("_touch"): mass for link, mass, _ in table["links"] if link.endswith("_touch")}
    for link, mass, _ in table["links"]:
        if not link.endswith("_touch"):
            piece = touch[link.partition("_")[0]] if touch and link.endswith("_distal") else 0.0
            assert spec.link(link).mass_kg == pytest.approx(mass + piece, abs=1e-12)
    laws = {coupling.joint: [coupling.driver, coupling.ratio] for coupling in spec.couplings}
    motors = {actuator.drives: actuator for actuator in spec.actuators}
    for name, *_, axis, lower, upper, effort, speed, mimic in table["joints"]:
        if axis is None:
            continue
        joint = spec.joint(name)
        assert (joint.lower_rad, joint.upper_rad) == pytest.approx((lower, upper))
        assert laws.get(name) == mimic
        if mimic is None:
            motor = motors[name].motor
            assert isinstance(motor, Servo)
            assert motor.effort_nm == effort
            assert motors[name].top_speed_rad_s == speed
            assert (motors[name].lower_rad, motors[name].upper_rad) == pytest.approx((lower, upper))


@pytest.mark.parametrize("hand", TABLES)
def test_holding_torques_are_those_of_the_tables_masses(hand: str):
    table, spec, rng = TABLES[hand], hands.load(hand), np.random.default_rng(5)
    worst_nm, largest_nm = 0.0, 0.0
    for up in np.eye(3):
        driven = random_driven(table, rng)
        model, data = placed(hand, driven)
        model.opt.gravity = -GRAVITY_M_S2 * up
        mujoco.mj_forward(model, data)
        share = {coupling.joint: coupling for coupling in spec.couplings}
        got = {name: float(data.joint(name).qfrc_bias[0]) for name in spec.joint_names}
        for name in driven:
            held = got[name] + sum(c.ratio * got[j] for j, c in share.items() if c.driver == name)
            ends = [height_m(table, driven | {name: driven[name] + d}, up) for d in (1e-5, -1e-5)]
            wanted = GRAVITY_M_S2 * (ends[0] - ends[1]) / 2e-5
            worst_nm, largest_nm = max(worst_nm, abs(held - wanted)), max(largest_nm, abs(wanted))
    assert worst_nm < 1e-4
    assert largest_nm > 0.01


def law_of(world: thenar.World, hand: str, *, kp: float, kd: float, dq: float = 0.0, tau: float = 0.0) -> TorqueLaw:
    full = [np.full(len(world.hand(hand).actuators), float(value)) for value in (kp, kd, dq, tau)]
    return TorqueLaw(stiffness_nm_rad=full[0], damping_nms_rad=full[1], velocity_rad_s=full[2], torque_nm=full[3])


def ask(target_rad: np.ndarray, law: TorqueLaw) -> HandCommand:
    none = np.full(len(target_rad), np.nan)
    return HandCommand(target_rad=target_rad, speed_rad_s=none, force_limit_n=none, law=law)


@pytest.mark.parametrize(("kp", "error_rad"), [(1.5, 0.2), (1.5, 0.6), (0.5, 0.6), (1.5, 1.2)])
def test_the_position_error_is_the_grip_of_a_dex3(kp: float, error_rad: float):
    """A finger against its end stop: the torque is what the law says, up to the motor's 1.4 N m."""
    world = thenar.World("dex3_left", profile="ideal")
    rest = world.hand("dex3_left").open_rad
    target = rest.copy()
    target[3] = -0.8
    world.command("dex3_left", ask(target, law_of(world, "dex3_left", kp=1.5, kd=0.1)))
    world.advance(1.0)
    at_rad = world.state("dex3_left").angle_rad[3]
    assert at_rad == pytest.approx(-0.8, abs=0.05)
    world.model.jnt_range[world.model.joint("dex3_left/middle_0").id] = at_rad - 1e-3, at_rad + 1e-3
    target[3] = at_rad - error_rad
    world.command("dex3_left", ask(target, law_of(world, "dex3_left", kp=kp, kd=0.1)))
    world.advance(0.5)
    assert -world.state("dex3_left").torque_nm[3] == pytest.approx(min(kp * error_rad, 1.4), abs=0.01)


def test_a_step_goes_as_the_law_integrated_finely_goes():
    """thumb_0 alone, against the same equation in steps of 10 us with a torque that is cut off at 2.45 N m."""
    world = thenar.World("dex3_left", profile="ideal")
    world.model.opt.gravity = 0.0, 0.0, 0.0
    start, dof = world.snapshot(), int(world.model.joint("dex3_left/thumb_0").dofadr[0])
    inertia = np.zeros((world.model.nv, world.model.nv))
    mujoco.mj_forward(world.model, world.data)
    mujoco.mj_fullM(world.model, world.data, inertia)
    kp, kd, goal = 1.5, 0.2, -0.9
    angle = speed = 0.0
    fine = []
    for n in range(30_000):
        torque = np.clip(kp * (goal - angle) - kd * speed, -2.45, 2.45)
        torque = 0.0 if torque * speed > 0.0 and abs(speed) >= 3.14 else torque
        speed += 1e-5 * torque / inertia[dof, dof]
        angle += 1e-5 * speed
        if n % 200 == 199:
            fine.append(angle)
    world.restore(start)
    target = world.hand("dex3_left").open_rad.copy()
    target[0] = goal
    world.command("dex3_left", ask(target, law_of(world, "dex3_left", kp=kp, kd=kd)))
    got = []
    for _ in range(150):
        world.advance(0.002)
        got.append(world.state("dex3_left").angle_rad[0])
    assert np.abs(np.array(got) - fine).max() < 0.03
    assert got[-1] == pytest.approx(fine[-1], abs=0.005)


def test_absurd_gains_shake_nothing_apart():
    world = thenar.World("dex3_right", profile="ideal")
    target = 0.5 * (world.hand("dex3_right").open_rad + world.hand("dex3_right").closed_rad)
    for kp, kd in ((1e6, 0.0), (0.0, 1e5), (1e6, 1e5)):
        world.command("dex3_right", ask(target, law_of(world, "dex3_right", kp=kp, kd=kd)))
        world.advance(0.3)
        state = world.state("dex3_right")
        assert np.all(np.abs(state.torque_nm) <= [2.45, *[1.4] * 6])
        assert np.abs(state.velocity_rad_s).max() < 15.0
    np.testing.assert_allclose(world.state("dex3_right").angle_rad, target, atol=0.02)


def test_a_plain_command_after_a_law_brings_the_motors_own_gains_back():
    world = thenar.World("dex3_left", profile="ideal")
    rest = world.hand("dex3_left").open_rad
    world.command("dex3_left", ask(rest, law_of(world, "dex3_left", kp=0.0, kd=0.05)))
    world.advance(0.5)
    assert abs(world.state("dex3_left").torque_nm[3]) < 0.01  # let go
    world.command("dex3_left", HandCommand.closing(0.3))
    world.advance(1.5)
    wanted = rest + 0.3 * (world.hand("dex3_left").closed_rad - rest)
    np.testing.assert_allclose(world.state("dex3_left").angle_rad, wanted, atol=0.06)


def test_laws_that_make_no_sense_or_come_to_the_wrong_hand_are_refused():
    world = thenar.World("dex3_left")
    law = law_of(world, "dex3_left", kp=1.0, kd=np.nan)
    with pytest.raises(BadCommand, match="damping_nms_rad of dex3_left"):
        world.command("dex3_left", ask(np.zeros(7), law))
    with pytest.raises(BadCommand, match="negative"):
        world.command("dex3_left", ask(np.zeros(7), law_of(world, "dex3_left", kp=-1.0, kd=0.1)))
    other = thenar.World("brainco_left")
    with pytest.raises(BadCommand, match="brainco_left take no law"):
        other.command("brainco_left", ask(np.zeros(6), law_of(other, "brainco_left", kp=1.0, kd=0.1)))


def test_the_fingers_of_a_dex1_slide_as_its_table_says():
    spec = hands.load("dex1_left")
    assert spec.mass_kg == pytest.approx(0.11 + 2 * (0.0084398 + 0.028354 + 0.004583), abs=1e-12)
    model = hands.build_spec(spec).compile()
    data = mujoco.MjData(model)
    for slide_m in (-0.02, 0.0, 0.0245):
        for name, place, way in (
            ("finger_1", (0.04055, 0.0593, 0.0152), -1),
            ("finger_2", (-0.04055, 0.0593, -0.0152), 1),
        ):
            data.joint(name).qpos[0] = slide_m
            mujoco.mj_kinematics(model, data)
            wanted = (place[0] + way * slide_m, *place[1:])
            np.testing.assert_allclose(data.body(name).xpos, wanted, atol=1e-9)
    np.testing.assert_allclose(spec.open_rad - spec.closed_rad, 5.4)


def test_a_command_with_a_law_is_recorded_as_it_is():
    world = thenar.World("dex3_left")
    command = ask(np.linspace(-0.5, 0.5, 7), law_of(world, "dex3_left", kp=1.5, kd=0.2, dq=0.1, tau=-0.3))
    assert from_text(to_text(command)) == command
