"""Unitree's scenes around a G1: where things come to rest, rewards, areas, resets, and that they can be felt."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thenar.twin.body.g1_scenes import SCENES, load_scene, shifted
from thenar.twin.body.g1_twin import G1Config, G1Robot, build_g1

TASKS = [name for name, scene in SCENES.items() if scene.task]


def robot_in(scene: str) -> G1Robot:
    return build_g1(G1Config(scene=scene, hands=("dex3",)))


@pytest.mark.parametrize("name", TASKS)
def test_objects_rest_and_the_robot_holds_still_among_them(name: str):
    robot = robot_in(name)
    task, world = robot.scene.task, robot.body.world
    assert task is not None
    starts = {one: world.props.pose(one)[0] for one in task.objects}
    robot.advance(0.3)
    for one, start in starts.items():
        np.testing.assert_allclose(world.props.pose(one)[0], start, atol=1e-3)
    np.testing.assert_allclose(robot.readings().position_rad, 0.0, atol=1e-3)
    assert robot.reward == 0.0
    assert world.scene_state().scene == task.name.format("Dex3")


def test_the_cylinder_is_rewarded_where_it_is_to_stand_and_put_back_when_it_leaves():
    robot = robot_in("pick_place_cylinder")
    world = robot.body.world
    world.place(objects={"object": (np.array([0.5, 0.4, 0.8405]), None)})
    robot.advance(0.25)
    assert robot.reward == 1.0
    world.place(objects={"object": (np.array([0.5, 0.95, 0.7]), None)})
    robot.advance(0.15)
    x, y, _ = world.props.pose("object")[0]
    assert abs(x + 0.35) <= 0.051
    assert 0.399 <= y <= 0.451


def test_blocks_are_rewarded_one_after_the_other():
    task = load_scene("stack_rgyblock").task
    assert task is not None
    away, spot = np.array([-4.3, -4.1, 0.82]), np.array([-4.19, -3.95, 0.8175])
    up = np.array([0.0, 0.0, 0.05])
    assert task.reward({"red_block": spot, "yellow_block": away, "green_block": away}) == 0.3
    assert task.reward({"red_block": spot, "yellow_block": spot + up, "green_block": away}) == 0.6
    assert task.reward({"red_block": spot, "yellow_block": spot + up, "green_block": spot + 2 * up}) == 1.0
    assert task.reward({"red_block": away, "yellow_block": spot + up, "green_block": away}) == 0.0
    fallen = np.array([-4.3, -4.1, 0.1])
    assert task.reward({"red_block": spot, "yellow_block": fallen, "green_block": away}) == -1.0


def test_a_reset_puts_objects_within_the_simulators_noise():
    task = load_scene("pick_place_cylinder").task
    assert task is not None
    rng, start = np.random.default_rng(1), {"object": np.array([-0.35, 0.40, 0.84])}
    steps = np.array([shifted(task, start, rng)["object"] - start["object"] for _ in range(200)])
    assert np.abs(steps[:, 0]).max() <= 0.05
    assert (steps[:, 0].min(), steps[:, 0].max()) == pytest.approx((-0.05, 0.05), abs=0.01)
    assert steps[:, 1].min() >= 0.0
    assert 0.04 <= steps[:, 1].max() <= 0.05
    assert not steps[:, 2].any()


def test_the_block_lies_where_its_success_is_measured():
    scene = load_scene("pick_place_redblock")
    assert scene.task is not None
    block = next(prop for prop in scene.scene.props if prop.name == "object")
    low, high = scene.task.goals[0].z
    assert low < block.pos_m[2] - 0.0005 < high


@pytest.fixture(scope="module")
def grasping() -> tuple[G1Robot, Any]:
    """A G1 in the scene of the example that grasps by touch, and that program."""
    path = Path(__file__).parents[1] / "examples" / "16_g1_grasps_by_touch.py"
    spec = importlib.util.spec_from_file_location("grasps_by_touch", path)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return build_g1(G1Config(hands=("inspire",), scene="pick_place_cylinder")), program


def test_a_hand_that_feels_nothing_lifts_nothing(grasping: tuple[G1Robot, Any], monkeypatch: pytest.MonkeyPatch):
    robot, program = grasping
    robot.reset()
    nothing = robot.body.world.touch(program.HAND)
    monkeypatch.setattr(robot.body.world, "touch", lambda _hand: nothing)
    felt_n, rise_m = program.pick(robot)
    assert felt_n == 0.0
    assert rise_m < 0.01


def test_without_friction_the_cylinder_stays_on_the_table(grasping: tuple[G1Robot, Any]):
    robot, program = grasping
    robot.reset()
    friction = robot.body.world.model.geom_friction
    before = friction.copy()
    friction[:] = 1e-6
    try:
        assert program.pick(robot)[1] < 0.01
    finally:
        friction[:] = before
