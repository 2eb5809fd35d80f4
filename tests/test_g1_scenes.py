"""Unitree's scenes around a G1: where things come to rest, rewards, areas, resets, and that they can be felt."""

import numpy as np
import pytest

from thenar.humanoid.model.g1 import G1
from thenar.twin.body.body_world import BodyWorld
from thenar.twin.body.g1_scenes import SCENES, G1Scene, load_scene, shifted
from thenar.twin.body.g1_twin import TIMESTEP_S, G1Robot

TASKS = [name for name, scene in SCENES.items() if scene.task]


def robot_in(scene: G1Scene) -> G1Robot:
    body = BodyWorld(G1, scene=scene.for_hand("Dex3"), fixed_at=scene.stand, timestep_s=TIMESTEP_S)
    return G1Robot(body, scene)


def advance(robot: G1Robot, seconds: float) -> None:
    for _ in range(round(seconds / TIMESTEP_S)):
        robot.tick()
        robot.body.advance(TIMESTEP_S)
        robot.publish()


@pytest.mark.parametrize("name", TASKS)
def test_objects_rest_and_the_robot_holds_still_among_them(name: str):
    robot = robot_in(load_scene(name))
    task, world = robot.scene.task, robot.body.world
    assert task is not None
    starts = {one: world.props.pose(one)[0] for one in task.objects}
    advance(robot, 0.3)
    for one, start in starts.items():
        np.testing.assert_allclose(world.props.pose(one)[0], start, atol=1e-3)
    np.testing.assert_allclose(robot.readings().position_rad, 0.0, atol=1e-3)
    assert robot.reward == 0.0
    assert world.scene_state().scene == task.name.format("Dex3")


def test_the_cylinder_is_rewarded_where_it_is_to_stand_and_put_back_when_it_leaves():
    robot = robot_in(load_scene("pick_place_cylinder"))
    world = robot.body.world
    world.place(objects={"object": (np.array([0.5, 0.4, 0.8405]), None)})
    advance(robot, 0.25)
    assert robot.reward == 1.0
    world.place(objects={"object": (np.array([0.5, 0.95, 0.7]), None)})
    advance(robot, 0.15)
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
    assert (steps[:, 1].min(), steps[:, 1].max()) >= (0.0, 0.04)
    assert steps[:, 1].max() <= 0.05
    assert not steps[:, 2].any()


def test_the_block_lies_where_its_success_is_measured():
    scene = load_scene("pick_place_redblock")
    assert scene.task is not None
    block = next(prop for prop in scene.scene.props if prop.name == "object")
    low, high = scene.task.goals[0].z
    assert low < block.pos_m[2] - 0.0005 < high
