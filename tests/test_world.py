"""Worlds: forces that add up, the same run twice, and clear words for what cannot be done."""

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest

import thenar
from bench import speed
from tests.posed_hand import posed_world
from thenar import hands
from thenar.errors import BadCommand, BadFile, BadValue, SimulationDiverged, UnknownName
from thenar.signals import HandCommand, MotorStatus, SolidContacts, TouchFrame
from thenar.sim import scenes
from thenar.touch.sampled_skin import SampledSkin
from thenar.twin.recording.recipe import from_text, to_text

GRAVITY = 9.81


def test_an_object_at_rest_pushes_on_the_hand_with_its_weight():
    plate = thenar.Box(mass_kg=0.1, size_m=(0.04, 0.03, 0.02), pos_m=(0.0, 0.0, 0.0105))
    world = thenar.World("inspire_right", props=[plate])
    world.advance(1.0)
    touching = world.contacts("inspire_right")
    np.testing.assert_allclose(touching.force_n.sum(axis=0), [0.0, 0.0, -0.1 * GRAVITY], atol=1e-6)
    assert set(touching.body) == {"inspire_right/base"}
    assert set(touching.partner) == {"box"}
    np.testing.assert_allclose(touching.normal, np.tile([0.0, 0.0, 1.0], (len(touching), 1)), atol=1e-9)


def test_what_lies_in_the_hands_of_the_default_scene_is_felt_before_and_after_a_grip():
    world = thenar.World(["inspire_left", "inspire_right"], scene="in_hand")
    for closing in (None, 0.75):
        if closing is not None:
            for hand in world.hand_names:
                world.command(hand, HandCommand.closing([closing] * 5 + [1.0], speed=0.3, force_limit_n=3.0))
            world.advance(4.0)
        world.advance(1.0)
        felt = {hand: world.touch(hand).pad_force_n.sum() for hand in world.hand_names}
        pushed = {hand: world.contacts(hand).normal_force_n.sum() for hand in world.hand_names}
        assert min(felt.values()) > 0.5
        assert closing or all(felt[hand] > 0.95 * pushed[hand] for hand in world.hand_names)


@pytest.mark.parametrize("kind", ["box", "sphere", "mesh"])
def test_normal_points_out_of_the_finger_whichever_geom_comes_first(kind: str, tmp_path):
    mesh = tmp_path / "cube.obj"
    mesh.write_text(CUBE_OBJ)
    common = {"mass_kg": 0.2, "name": "thing", "pos_m": (-0.011, 0.075, 0.03)}
    props = {
        "box": thenar.Box(size_m=(0.02, 0.02, 0.02), **common),
        "sphere": thenar.Sphere(radius_m=0.01, **common),
        "mesh": thenar.Mesh(file=mesh, scale=(0.02, 0.02, 0.02), **common),
    }
    world = thenar.World("inspire_right", props=[props[kind]])
    seen = 0
    for _ in range(200):
        world.advance(0.002)
        touching = world.contacts("inspire_right")
        for k, body in enumerate(touching.body):
            assert touching.partner[k] == "thing"
            if body.endswith(("_1", "_2")):  # a capsule: outwards is away from its axis
                skin = world.data.geom(f"{body}_skin")
                axis = skin.xmat.reshape(3, 3)[:, 2]
                arm = touching.position_m[k] - skin.xpos
                half = world.model.geom(f"{body}_skin").size[1]
                outwards = arm - np.clip(arm @ axis, -half, half) * axis
                assert touching.normal[k] @ outwards > 0.9 * np.linalg.norm(outwards)
                seen += 1
        slip = np.linalg.norm(touching.tangent_force_n, axis=1)
        assert np.all(touching.normal_force_n >= 0.0)
        assert np.all(slip <= touching.friction * touching.normal_force_n + 1e-6)
    assert seen > 0, "the thing never touched a finger"


def test_engine_really_tells_both_orders_of_geoms():
    """The test above means something: a mesh comes after a capsule, a sphere before it."""
    orders = {}
    for prop in (thenar.Sphere(name="s", radius_m=0.01), thenar.Box(name="b", size_m=(0.02, 0.02, 0.02))):
        prop = dataclasses.replace(prop, pos_m=(-0.011, 0.075, 0.03))
        world = thenar.World("inspire_right", props=[prop])
        world.advance(0.3)
        firsts = {world.model.geom(contact.geom1).name == prop.name for contact in world.data.contact}
        orders[prop.name] = firsts
    assert orders["s"] != orders["b"]


def test_contacts_of_all_hands_add_up_to_the_contacts_of_the_world():
    world = thenar.World(["inspire_left", "inspire_right"], mounts=FACING, props=[BETWEEN])
    for hand in world.hand_names:
        world.command(hand, HandCommand.closing(0.5, speed=0.5))
    world.advance(1.0)
    assert len(world.contacts())
    total = sum(world.contacts(hand).force_n.sum(axis=0) for hand in world.hand_names)
    of_all = world.contacts()
    hands_only = of_all.where(
        ["/" in body and "/" not in partner for body, partner in zip(of_all.body, of_all.partner, strict=True)]
    )
    np.testing.assert_allclose(hands_only.force_n.sum(axis=0), total, atol=1e-9)


def test_ground_carries_the_weight_of_what_lies_on_it():
    ball = thenar.Sphere(radius_m=0.02, mass_kg=0.3, pos_m=(0.4, 0.0, -0.279))
    world = thenar.World("inspire_right", props=[ball])
    world.advance(1.0)
    on_ball = world.contacts().where([body == "sphere" for body in world.contacts().body])
    assert set(on_ball.partner) == {"ground"}
    np.testing.assert_allclose(on_ball.force_n.sum(axis=0), [0, 0, 0.3 * GRAVITY], atol=1e-3)


def run_trace(seed: int) -> bytes:
    world = thenar.World("inspire_right", scene="palm_drop", seed=seed)
    rng = np.random.default_rng(5)
    trace = []
    for _ in range(40):
        world.command("inspire_right", HandCommand.closing(rng.uniform(0, 1, 6), speed=rng.uniform(0.1, 1)))
        world.advance(0.05)
        state = world.state("inspire_right")
        trace += [state.angle_rad, state.force_n, state.current_a, state.temperature_c, world.data.qpos]
        trace.append(world.contacts().force_n)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in trace)


def test_same_seed_and_commands_give_the_same_bytes():
    assert run_trace(7) == run_trace(7)


def test_another_seed_gives_other_noise():
    assert run_trace(7) != run_trace(8)


def test_reading_does_not_change_what_follows():
    read, unread = (thenar.World("inspire_right", scene="palm_drop", seed=3) for _ in range(2))
    for world in (read, unread):
        world.command("inspire_right", HandCommand.closing(0.7))
    for _ in range(100):
        read.advance(0.01)
        read.state("inspire_right")
        read.contacts()
        unread.advance(0.01)
    assert read.data.qpos.tobytes() == unread.data.qpos.tobytes()
    assert read.state("inspire_right").force_n.tobytes() == unread.state("inspire_right").force_n.tobytes()


def test_a_restored_world_goes_on_bit_for_bit():
    world = thenar.World("inspire_right", scene="palm_drop", seed=11)
    world.command("inspire_right", HandCommand.closing(0.6))
    world.advance(0.33)
    saved = world.snapshot()

    def go_on() -> bytes:
        world.command("inspire_right", HandCommand.closing(0.9, speed=0.4))
        world.advance(0.7)
        return world.data.qpos.tobytes() + world.state("inspire_right").force_n.tobytes()

    first = go_on()
    world.advance(1.0)
    world.restore(saved)
    assert go_on() == first


def test_what_is_dragged_and_dark_in_a_snapshot_is_so_again_bit_for_bit_also_as_text():
    hand = "inspire_right"
    world, untouched = (thenar.World(hand, scene="table", seed=2) for _ in range(2))
    for one in (world, untouched):
        one.command(hand, HandCommand.closing(0.4))
        one.wrists.move(hand, pos_m=(0.1, 0.0, 0.15))  # what its servo goes by is a step old, of the dragged too
        one.advance(0.2)
    before = world.snapshot()
    world.faults.inject("", "", "brownout", 0.3)
    world.props.drag("ball", (0.0, 0.1, 0.2))
    world.advance(0.1)
    during = world.snapshot()

    def go_on(world: thenar.World) -> bytes:
        world.command(hand, HandCommand.closing(0.0))
        world.advance(0.3)
        world.command(hand, HandCommand.closing(0.8))
        world.advance(0.3)
        return world.data.qpos.tobytes() + world.physics.motors.records.tobytes()

    awake = go_on(world)
    world.props.release()
    world.restore(from_text(to_text(during)))
    assert go_on(world) == awake
    world.restore(before)
    assert go_on(world) == go_on(untouched)
    world.restore(during)
    untouched.copy_state_from(world)
    go_on(untouched)
    assert untouched.state(hand).angle_rad[0] > world.state(hand).angle_rad[0] + 0.2, "its power has returned"
    world.restore(dataclasses.replace(before, masses=None))  # as older recordings have it
    assert world.props.dragging
    assert world.faults.dark


def test_a_reset_right_after_a_reading_by_another_thread_takes_nothing_from_it(monkeypatch: pytest.MonkeyPatch):
    sample = SampledSkin.sample

    def reset_after(skin: SampledSkin, contacts: SolidContacts | None, now_s: float) -> tuple[TouchFrame, TouchFrame]:
        read = sample(skin, contacts, now_s)
        skin.forget()
        return read

    monkeypatch.setattr(SampledSkin, "sample", reset_after)
    world = thenar.World("inspire_right", scene="empty")
    assert world.touch("inspire_right").contact_n == 0.0


def test_reset_is_a_fresh_world():
    fresh, used = (thenar.World("reflex", scene="palm_drop") for _ in range(2))
    used.command("reflex", HandCommand.closing(0.5))
    used.advance(1.0)
    used.reset()
    for world in (fresh, used):
        world.advance(0.4)
    assert fresh.data.qpos.tobytes() == used.data.qpos.tobytes()
    assert used.time_s == pytest.approx(0.4)


@pytest.mark.parametrize("other", ["inspire_right", "inspire_left"])
def test_snapshot_of_another_world_is_refused(other: str):
    mine = "reflex" if other == "inspire_right" else "inspire_right"  # the second pair has arrays of equal size
    with pytest.raises(BadValue, match="a snapshot of this world"):
        thenar.World(mine).restore(thenar.World(other).snapshot())


def test_contacts_after_a_restore_do_not_depend_on_what_came_before():
    world = thenar.World("inspire_right", scene="palm_drop", seed=2)
    world.command("inspire_right", HandCommand.closing(0.8))
    world.advance(1.0)
    saved = world.snapshot()
    world.restore(saved)
    first = world.contacts().force_n
    world.command("inspire_right", HandCommand.closing(0.0))
    world.advance(1.0)
    world.restore(saved)
    np.testing.assert_array_equal(world.contacts().force_n, first)


def test_many_short_advances_are_as_long_as_one():
    world = thenar.World("reflex")
    for _ in range(60):
        world.advance(1 / 60)
    assert world.time_s == pytest.approx(1.0, abs=0.001)
    for _ in range(100):
        world.advance(0.0005)
    assert world.time_s == pytest.approx(1.05, abs=0.001)


def test_a_pinch_is_told_from_the_side_of_both_fingers():
    world = posed_world(hands.load("inspire_right"), "pinch")
    touching = world.contacts("inspire_right")
    assert set(touching.body) == set(touching.partner) == {"inspire_right/index_2", "inspire_right/thumb_4"}
    np.testing.assert_allclose(touching.force_n.sum(axis=0), 0.0, atol=1e-12)
    assert len(world.contacts()) == len(touching) / 2


@pytest.mark.parametrize("friction", [0.05, 0.4])
def test_an_object_slides_off_a_slope_steeper_than_its_own_friction(friction: float):
    slope = 0.2  # rad; tan is 0.203
    lying = (slope, 0.0, 0.0)
    block = thenar.Box(
        size_m=(0.02, 0.02, 0.01), pos_m=(0.0, 0.0, 0.0066), rpy_rad=(slope, 0.0, 0.0), friction=friction
    )
    mount = thenar.Mount(rpy_rad=lying)
    world = thenar.World("inspire_right", props=[block], mounts={"inspire_right": mount})
    world.advance(0.5)
    moved = np.linalg.norm(world.props.pose("box")[0] - np.array(block.pos_m))
    assert (moved > 0.02) == (friction < math.tan(slope))


def test_turning_a_driven_wrist_many_times_does_not_move_it():
    world = thenar.World("inspire_right", mounts={"inspire_right": thenar.Mount(driven=True)})
    before, _ = world.wrists.pose("inspire_right")
    for _ in range(100):
        world.wrists.move("inspire_right", quat_wxyz=(1.0, 0.0, 0.0, 0.0))
        world.advance(0.02)
    np.testing.assert_allclose(world.wrists.pose("inspire_right")[0], before, atol=2e-3)


def test_two_hands_of_one_side_in_a_scene_need_mounts():
    with pytest.raises(BadValue, match="mounts="):
        thenar.World(["inspire_right", "fourier_right"], scene="table")


def test_an_object_can_be_placed_and_is_read_where_it_was_put():
    world = thenar.World("reflex", scene="palm_drop")
    world.props.move("cube_1", pos_m=(0.3, 0.2, 0.5))
    np.testing.assert_array_equal(world.props.pose("cube_1")[0], (0.3, 0.2, 0.5))
    with pytest.raises(BadValue, match="not fixed"):
        thenar.World("reflex", props=[thenar.Sphere(fixed=True)]).props.move("sphere", pos_m=(0, 0, 0))


def test_a_dragged_mesh_stops_turning_about_each_of_its_edges(tmp_path):
    (tmp_path / "brick.obj").write_text(CUBE_OBJ)  # the engine lays the axes of its inertia along other edges
    brick = thenar.Mesh(file=tmp_path / "brick.obj", scale=(0.04, 0.02, 0.01), mass_kg=0.05, pos_m=(0.0, 0.0, 1.0))
    world = thenar.World("reflex", props=[brick])
    for axis in range(3):
        world.reset()
        world.props.drag("mesh", brick.pos_m)
        world.data.qvel[world.model.joint("mesh").dofadr[0] + 3 + axis] = 1.0
        world.advance(0.2)
        np.testing.assert_allclose(world.props.velocity("mesh")[3:], math.exp(-1.6) * np.eye(3)[axis], atol=0.01)


def test_dragging_compiles_nothing_while_a_world_runs():
    program = """
import thenar
from thenar.sim.world_props import _drag
world = thenar.World("reflex", props=[thenar.Sphere()])
known = list(_drag.signatures)
world.props.drag("sphere", (0.0, 0.0, 0.2))
world.advance(0.01)
assert _drag.signatures == known, _drag.signatures
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("hand", hands.names())
def test_coupling_holds_under_5_n_on_every_fingertip(hand: str):
    world = thenar.World(hand)
    spec = world.hand(hand)
    world.command(hand, HandCommand.closing(0.4))
    world.advance(2.0)
    start = world.snapshot()
    worst_rad = 0.0
    for tip in spec.tips:
        body, site = (
            world.model.body(f"{hand}/{tip.link}").id,
            world.model.site(f"{hand}/{tip.finger}_tip").id,
        )
        for direction in (*np.eye(3), *-np.eye(3)):
            world.restore(start)
            for _ in range(200):  # the force stays at the tip while the finger gives way
                arm = world.data.site_xpos[site] - world.data.xipos[body]
                world.data.xfrc_applied[body] = [*(5.0 * direction), *np.cross(arm, 5.0 * direction)]
                world.advance(0.002)
            world.data.xfrc_applied[:] = 0.0
            worst_rad = max(worst_rad, speed.coupling_error_rad(spec, world.state(hand)))
    assert math.degrees(worst_rad) < 0.5


@pytest.mark.parametrize("hand", hands.names())
def test_a_minute_of_random_commands_breaks_nothing(hand: str):
    report = speed.soak(hand, seconds=60.0, seed=1)
    assert report.diverged == 0
    assert report.drift_deg < (0.6 if hand.startswith("shadow") else 0.02)
    assert report.contacts > 100 or hand.startswith("dex1")  # a gripper's fingers meet only when it is shut
    # A finger is 13 to 20 mm thick: this is far from passing through one.
    assert report.overlap_mm < 4.0


def test_an_object_dropped_on_a_finger_does_not_fall_through_it():
    stick = thenar.Capsule(
        radius_m=0.006, length_m=0.12, mass_kg=0.05, pos_m=(0.0, 0.08, 0.3), rpy_rad=(0.0, math.pi / 2, 0.0)
    )
    world = thenar.World("inspire_right", props=[stick])
    deepest = 0.0
    for _ in range(400):
        world.advance(0.002)
        deepest = max(deepest, world.contacts("inspire_right").depth_m.max(initial=0.0))
    assert 0.0 < deepest < 0.004


def test_two_hands_are_commanded_apart():
    world = thenar.World(["inspire_left", "inspire_right"])
    world.command("inspire_left", HandCommand.closing([1.0, 1.0, 1.0, 1.0, 0.0, 0.0]))
    world.advance(1.5)
    assert world.state("inspire_left").angle_rad[0] > 1.4
    assert abs(world.state("inspire_right").angle_rad[0]) < 0.05
    assert world.state("inspire_left").status[0] == MotorStatus.POSITION_REACHED


def test_a_driven_wrist_goes_where_it_is_sent_and_carries_the_hand():
    world = thenar.World("inspire_right", mounts={"inspire_right": thenar.Mount(pos_m=(0, 0, 0.2), driven=True)})
    turn = (math.cos(math.pi / 4), math.sin(math.pi / 4), 0.0, 0.0)
    world.wrists.move("inspire_right", pos_m=(0.1, 0.05, 0.3), quat_wxyz=turn)
    world.advance(0.1)
    part_way, _ = world.wrists.pose("inspire_right")
    assert 0.0 < part_way[0] < 0.09  # at a limited speed
    world.advance(2.0)
    pos, quat = world.wrists.pose("inspire_right")
    np.testing.assert_allclose(pos, (0.1, 0.05, 0.3), atol=1e-3)
    np.testing.assert_allclose(np.abs(quat), np.abs(turn), atol=5e-3)


def test_goals_that_come_as_a_staircase_do_not_shake_the_hand():
    world = thenar.World("inspire_right", mounts={"inspire_right": thenar.Mount(driven=True)})
    dof = world.model.joint("inspire_right/mount").dofadr[0]
    turning_rad_s = []
    for k in range(100):  # up and down at 2 Hz by 10 mm, in steps of 20 ms
        world.wrists.move("inspire_right", pos_m=(0.0, 0.0, 0.01 * math.sin(2.0 * math.pi * 2.0 * 0.02 * k)))
        for _ in range(10):
            world.advance(0.002)
            turning_rad_s.append(world.data.qvel[dof + 3 : dof + 6].copy())
    assert np.sqrt(np.mean(np.square(turning_rad_s[250:]), axis=0)).max() < 0.02  # 0.07 if the target jumps


def test_a_driven_wrist_presses_on_a_table_with_limited_force():
    world = thenar.World("inspire_right", scene="table")
    world.command("inspire_right", HandCommand.closing(0.7))
    for prop in world.props.names:
        world.props.move(prop, pos_m=(0.0, 0.0, -0.5))
    world.wrists.move("inspire_right", pos_m=(0.16, 0.02, -0.3))
    world.advance(3.0)
    pressing = world.contacts("inspire_right").force_n.sum(axis=0)
    assert 60.0 < pressing[2] < 100.0
    assert world.wrists.pose("inspire_right")[0][2] > 0.0
    kept = np.array([0.16, 0.02, 0.2])
    world.wrists.move("inspire_right", pos_m=kept)
    kept[:] = 9.0  # the caller's array is the caller's
    world.advance(3.0)
    np.testing.assert_allclose(world.wrists.pose("inspire_right")[0], (0.16, 0.02, 0.2), atol=2e-3)


def test_the_solver_converges_in_a_crowded_world():
    """From 60 degrees of freedom on the engine would switch to sparse matrices and stop short."""
    crowd = [thenar.Sphere(radius_m=0.01, pos_m=(1.0 + 0.1 * k, 0.0, -0.28)) for k in range(9)]
    sticks = [
        thenar.Capsule(
            radius_m=0.004,
            length_m=0.08,
            mass_kg=0.02,
            pos_m=(0.0, 0.03 + 0.02 * k, 0.03 + 0.02 * k),
            rpy_rad=(0, 1.57, 0),
        )
        for k in range(3)
    ]
    world = thenar.World("inspire_dfx_right", props=[*sticks, *crowd])
    assert world.model.nv >= 60
    for target in (1.0, 0.2, 0.8, 0.0) * 2:
        world.command("inspire_dfx_right", HandCommand.closing(target))
        for _ in range(100):
            world.advance(0.005)
            assert world.data.solver_niter.max() < world.model.opt.iterations


def test_a_fixed_wrist_says_how_to_make_it_movable():
    with pytest.raises(BadCommand, match="driven=True"):
        thenar.World("inspire_right").wrists.move("inspire_right", pos_m=(0, 0, 1))


@pytest.mark.parametrize("scene", scenes.names())
@pytest.mark.parametrize("hand", ["inspire_right", "shadow_left", "reflex"])
def test_every_scene_starts_calm_with_every_kind_of_hand(scene: str, hand: str):
    world = thenar.World(hand, scene=scene)
    overlap = world.contacts(hand).depth_m.max(initial=0.0)
    assert overlap < 1e-3
    world.advance(0.5)
    assert np.all(np.abs(world.state(hand).joint_velocity_rad_s) < 5.0)


def test_objects_on_the_table_stay_on_it():
    world = thenar.World(["inspire_left", "inspire_right"], scene="table")
    world.advance(2.0)
    for prop in world.props.names:
        assert 0.0 < world.props.pose(prop)[0][2] < 0.08, prop


def test_palm_up_hand_catches_falling_cubes():
    world = thenar.World("inspire_right", scene="palm_drop")
    world.command("inspire_right", HandCommand.closing(0.35, speed=1.0))
    world.advance(2.0)
    heights = [world.props.pose(prop)[0][2] for prop in world.props.names]
    assert max(heights) > 0.0, "no cube stayed in the hand"


@pytest.mark.parametrize("bad", [math.inf, -math.inf])
def test_an_infinite_target_is_refused_and_changes_nothing(bad: float):
    world = thenar.World("inspire_right")
    before = world.snapshot()
    with pytest.raises(BadCommand, match="infinite"):
        world.command("inspire_right", HandCommand.to([0.1, 0.1, bad, 0.1, 0.1, 0.1]))
    after = world.snapshot()
    assert before.motors.tobytes() == after.motors.tobytes()
    assert before.pending.tobytes() == after.pending.tobytes()
    assert before.commands == after.commands


def test_a_command_of_the_wrong_length_says_both_lengths():
    world = thenar.World("inspire_right")
    with pytest.raises(BadCommand, match=r"target_rad has 5 values; inspire_right has 6 actuators"):
        world.command("inspire_right", HandCommand.to(np.zeros(5)))
    with pytest.raises(BadCommand, match=r"7 values.*6 actuators"):
        world.command("inspire_right", HandCommand.closing(np.zeros(7)))


def test_negative_speed_or_force_is_refused():
    world = thenar.World("inspire_right")
    with pytest.raises(BadCommand, match="speed_rad_s of inspire_right has a negative value"):
        world.command("inspire_right", HandCommand.to(np.zeros(6), speed_rad_s=-1.0))
    with pytest.raises(BadCommand, match="force_limit_n"):
        world.command("inspire_right", HandCommand.to(np.zeros(6), force_limit_n=-1.0))


def test_closing_by_more_than_all_is_refused():
    with pytest.raises(BadValue, match="from 0 to 1"):
        thenar.World("inspire_right").command("inspire_right", HandCommand.closing(1.5))


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: thenar.Sphere(radius_m=-0.01), "Sphere.radius_m"),
        (lambda: thenar.Sphere(mass_kg=-1.0), "Sphere.mass_kg"),
        (lambda: thenar.Box(size_m=(0.1, 0.0, 0.1)), "Box.size_m"),
        (lambda: thenar.Cylinder(length_m=math.nan), "Cylinder.length_m"),
        (lambda: thenar.Capsule(friction=-0.1), "Capsule.friction"),
        (lambda: thenar.Ellipsoid(pos_m=(0.0, math.inf, 0.0)), "Ellipsoid.pos_m"),
        (lambda: thenar.Mount(pos_m=(math.nan, 0.0, 0.0)), "Mount.pos_m"),
        (lambda: thenar.World([]), "hands"),
        (lambda: thenar.World("reflex", props=[thenar.Sphere(name="a/b")]), "name of a prop"),
    ],
)
def test_an_impossible_object_is_refused_by_the_name_of_its_field(make, field: str):
    with pytest.raises(BadValue, match=field):
        make()


def test_a_mesh_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadFile, match=r"missing\.obj: no such mesh file"):
        thenar.Mesh(file=tmp_path / "missing.obj")


def test_an_unreadable_mesh_is_named(tmp_path):
    junk = tmp_path / "junk.obj"
    junk.write_text("this is not a mesh\n")
    with pytest.raises(BadFile, match=r"junk\.obj"):
        thenar.World("inspire_right", props=[thenar.Mesh(file=junk)])


def test_a_mesh_with_a_hole_or_without_volume_is_refused_by_name(tmp_path):
    holed = tmp_path / "holed.obj"
    holed.write_text(CUBE_OBJ.replace("f 1 4 3 2\n", ""))
    with pytest.raises(BadFile, match=r"holed\.obj: has holes: 4 edges"):
        thenar.World("inspire_right", props=[thenar.Mesh(file=holed)])
    flat = tmp_path / "flat.obj"
    flat.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\nf 3 2 1\nf 3 4 2\n")
    with pytest.raises(BadFile, match=r"flat\.obj"):
        thenar.World("inspire_right", props=[thenar.Mesh(file=flat)])


def test_unknown_scene_hand_and_prop_list_what_there_is():
    with pytest.raises(UnknownName, match=r"no scene named 'kitchen'; available: .*table"):
        thenar.World("inspire_right", scene="kitchen")
    world = thenar.World("inspire_right", scene="palm_drop")
    with pytest.raises(UnknownName, match="inspire_right"):
        world.state("inspire_left")
    with pytest.raises(UnknownName, match="cube_1"):
        world.props.pose("cube")


def test_the_same_hand_twice_is_refused():
    with pytest.raises(BadValue, match="every hand once"):
        thenar.World(["inspire_right", "inspire_right"])


def test_two_props_of_one_name_are_refused_but_unnamed_ones_are_numbered():
    with pytest.raises(BadValue, match="a name not used yet"):
        thenar.World("reflex", props=[thenar.Sphere(name="a"), thenar.Sphere(name="a")])
    world = thenar.World("reflex", props=[thenar.Sphere(pos_m=(k * 0.1, 0, 0.5)) for k in range(3)])
    assert world.props.names == ("sphere", "sphere_2", "sphere_3")


def test_time_that_runs_backwards_is_refused():
    with pytest.raises(BadValue, match="seconds"):
        thenar.World("reflex").advance(-0.1)


def test_a_broken_simulation_is_reported_and_the_world_put_back():
    world = thenar.World("inspire_right", props=[thenar.Sphere()])
    world.advance(0.1)
    before = world.data.qpos.copy()
    world.data.qfrc_applied[0] = math.nan
    with pytest.raises(SimulationDiverged, match=r"back at t = 0\.1000 s"):
        world.advance(0.1)
    world.data.qfrc_applied[0] = 0.0
    np.testing.assert_array_equal(world.data.qpos, before)
    world.advance(0.1)
    assert np.all(np.isfinite(world.data.qpos))


CUBE_OBJ = """\
v -0.5 -0.5 -0.5
v 0.5 -0.5 -0.5
v 0.5 0.5 -0.5
v -0.5 0.5 -0.5
v -0.5 -0.5 0.5
v 0.5 -0.5 0.5
v 0.5 0.5 0.5
v -0.5 0.5 0.5
f 1 4 3 2
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""
FACING = {
    "inspire_left": thenar.Mount(pos_m=(-0.045, 0.0, 0.0), rpy_rad=(0.0, math.pi / 2, 0.0)),
    "inspire_right": thenar.Mount(pos_m=(0.045, 0.0, 0.0), rpy_rad=(0.0, -math.pi / 2, 0.0)),
}
BETWEEN = thenar.Sphere(radius_m=0.04, mass_kg=0.2, pos_m=(0.0, 0.02, 0.0))


def test_the_normal_forces_on_an_object_are_those_of_its_contacts():
    world = thenar.World("inspire_right", scene="in_hand")
    world.command("inspire_right", thenar.HandCommand.closing(0.9))
    world.advance(1.5)
    contacts = world.contacts("inspire_right")
    for thing in (*world.props.names, "inspire_right/thumb_4"):  # a finger may press on the hand itself
        expected: dict[str, float] = {}
        for body, partner, force_n in zip(contacts.body, contacts.partner, contacts.normal_force_n, strict=True):
            if partner == thing:
                expected[body] = expected.get(body, 0.0) + float(force_n)
        assert world.physics.normal_forces_n("inspire_right", thing) == expected
    pressed = [world.physics.normal_forces_n("inspire_right", thing) for thing in world.props.names]
    assert max(len(by_body) for by_body in pressed) > 1
