"""Many worlds at once: what is refused, and whether one of them is the world it should be."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

import thenar
from thenar import batch, hands
from thenar.batch.device import device_model, on_device, open_device
from thenar.errors import BadCommand, BadValue, MissingExtra
from thenar.signals import HandCommand

HAND = "inspire_right"
# 4 x 2 x 1 cm, its corner where the file begins: neither middle nor axes of its masses are the file's.
BRICK_OBJ = """\
v 0 0 0
v 0.04 0 0
v 0.04 0.02 0
v 0 0.02 0
v 0 0 0.01
v 0.04 0 0.01
v 0.04 0.02 0.01
v 0 0.02 0.01
f 1 4 3 2
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""
BALL = thenar.Sphere(name="ball", radius_m=0.0416, mass_kg=0.08, pos_m=(0.0, 0.03, 0.0446))


def test_without_its_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)
    with pytest.raises(MissingExtra, match=r"pip install 'thenar\[gpu\]'"):
        _ = batch.Worlds


@pytest.mark.parametrize("count", [0, -1, 2.5, "many"])
def test_a_count_that_is_none_is_refused(count: object):
    pytest.importorskip("mujoco_warp")
    with pytest.raises(BadValue, match="count is"):
        batch.Worlds(HAND, count=count)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "tpu"])
def test_a_device_that_is_not_there_is_refused_with_those_that_are(device: str):
    pytest.importorskip("mujoco_warp")
    with pytest.raises(BadValue, match="'cpu' or one of the GPUs found"):
        open_device(device)


def test_arrays_that_do_not_fit_are_refused_and_one_row_counts_for_all():
    wp = pytest.importorskip("warp")
    with pytest.raises(BadCommand, match=r"mask has shape \(3,\); wanted \(4,\)"):
        on_device("mask", np.ones(3, dtype=bool), (4,), wp.get_device("cpu"), dtype=bool)
    with pytest.raises(BadCommand, match="target_rad holds float64"):
        on_device("target_rad", wp.zeros((4, 6), dtype=wp.float64, device="cpu"), (4, 6), wp.get_device("cpu"))
    rows = on_device("target_rad", np.arange(6.0), (4, 6), wp.get_device("cpu"))
    np.testing.assert_array_equal(rows.numpy(), np.tile(np.arange(6.0), (4, 1)))


def test_a_hand_on_the_device_is_what_mujoco_warp_takes():
    mjw = pytest.importorskip("mujoco_warp")
    for name in (HAND, "shadow_right"):
        model = device_model(thenar.World(name, scene="table").model)
        assert mjw.put_model(model).nv == model.nv


@pytest.mark.soak
def test_a_grasp_in_many_worlds_is_the_grasp_of_one():
    pytest.importorskip("mujoco_warp")
    worlds = batch.Worlds(HAND, count=2, props=[BALL], device="cpu", profile="ideal")
    world = thenar.World(HAND, props=[BALL], profile="ideal")
    world.model.opt.impratio = worlds.model.opt.impratio
    closed_rad = np.array(hands.load(HAND).closed_rad) * (1, 1, 1, 1, 1, 0.9)
    worlds.command(closed_rad)
    world.command(HAND, HandCommand.to(closed_rad))
    for _ in range(5):
        worlds.advance(0.1)
        world.advance(0.1)
    state = worlds.state()
    assert np.abs(state.joint_rad.numpy() - world.state(HAND).joint_rad).max() < 1e-4
    np.testing.assert_allclose(state.force_n.numpy()[1], world.state(HAND).force_n, atol=0.01)
    assert not worlds.flags().numpy().any()
    one = worlds.one(1)
    one.model.opt.impratio = worlds.model.opt.impratio
    worlds.advance(0.1)
    one.advance(0.1)
    assert np.abs(worlds.state().joint_rad.numpy()[1] - one.state(HAND).joint_rad).max() < 1e-4
    worlds.reset(np.array([True, False]))
    assert np.abs(worlds.state().joint_rad.numpy()).max(axis=1) == pytest.approx([0.0, 1.4], abs=1.0)
    np.testing.assert_allclose(worlds.d.time.numpy(), [0.0, 0.6], atol=1e-4)


@pytest.mark.soak
def test_worlds_that_differ_are_felt_by_skins_that_differ_and_each_is_a_world_of_its_own():
    pytest.importorskip("mujoco_warp")
    worlds = batch.Worlds(HAND, count=3, props=[BALL], device="cpu", profile="ideal", seed=5)
    worlds.touch()
    worlds.randomize(mass=1.0, friction=0.5, size=0.05, motors=0.15, skin=0.2, noise=0.5)
    worlds.reset()
    closed_rad = np.array(hands.load(HAND).closed_rad) * (1, 1, 1, 1, 1, 0.9)
    worlds.command(closed_rad)
    worlds.advance(0.6)
    ones = [worlds.one(k) for k in range(3)]
    worlds.advance(0.2)
    angles = worlds.state().joint_rad.numpy()
    assert np.abs(angles[0] - angles[2]).max() > 1e-3, "worlds should differ"
    touch = worlds.touch()
    for k, one in enumerate(ones):
        one.model.opt.impratio = worlds.model.opt.impratio
        one.advance(0.2)
        assert np.abs(angles[k] - one.state(HAND).joint_rad).max() < 1e-3
        frame = one.touch(HAND)
        felt = touch.counts.numpy().astype(float)
        size, off = np.linalg.norm(frame.taxel_counts), np.linalg.norm(felt - frame.taxel_counts, axis=1)
        assert off[k] < 0.05 * size
        assert (np.delete(off, k) > 0.1 * size).all(), "no other world should feel the same"
        np.testing.assert_allclose(touch.pad_force_n.numpy()[k], frame.pad_force_n, rtol=0.05, atol=0.1)
    worlds.reset(np.array([True, False, False]))
    assert touch.pad_force_n.numpy().sum(axis=1)[0] == 0.0
    assert touch.pad_force_n.numpy().sum(axis=1)[1] > 5.0


@pytest.mark.soak
def test_a_skin_with_a_rate_and_a_latency_is_read_when_it_should_be():
    pytest.importorskip("mujoco_warp")
    worlds = batch.Worlds(HAND, count=1, props=[BALL], device="cpu", profile="measured")  # 50 Hz, 10 ms
    worlds.number_skins([3])
    worlds.touch()
    seen = []
    for _ in range(40):
        worlds.advance(0.002)
        seen.append(int(worlds.touch().counts.numpy().astype(np.int64).sum()))
    changed = [k + 1 for k in range(1, 40) if seen[k] != seen[k - 1]]
    assert changed == [15, 25, 35]  # the readings at 20, 40 and 60 ms, 10 ms later
    before = worlds.touch().counts.numpy().copy()
    worlds.pause_touch()
    worlds.advance(0.034)
    np.testing.assert_array_equal(worlds.touch().counts.numpy(), before)
    worlds.begin_touch()
    seen = [worlds.touch().counts.numpy().copy()]
    for _ in range(26):
        worlds.advance(0.002)
        seen.append(worlds.touch().counts.numpy().copy())
    assert [k for k in range(1, 27) if (seen[k] != seen[k - 1]).any()] == [5, 15, 25]  # of now, 20 and 40 ms later
    for number, alike in ((3, True), (0, False)):
        worlds.number_skins([number])
        worlds.begin_touch()
        worlds.advance(0.01)
        assert (np.corrcoef(worlds.touch().counts.numpy(), seen[25])[0, 1] > 0.6) == alike
    for bad in (np.array([0, 1]), np.array([-1]), np.array([0.5])):
        with pytest.raises(BadValue, match="1 whole numbers not below 0"):
            worlds.number_skins(bad)


@pytest.mark.soak
def test_what_is_dragged_and_pulled_is_so_in_the_world_of_its_own_and_meshes_turn_about_their_masses(tmp_path: Path):
    pytest.importorskip("mujoco_warp")
    (tmp_path / "brick.obj").write_text(BRICK_OBJ)
    brick = thenar.Mesh(name="brick", file=tmp_path / "brick.obj", mass_kg=0.05, pos_m=(0.3, 0.0, 0.3))
    worlds = batch.Worlds(HAND, count=3, props=[brick, BALL], device="cpu", profile="ideal")
    alone = worlds.one(0)
    for name in ("xipos", "ximat"):
        rows = getattr(worlds.d, name).numpy().reshape(3, *getattr(alone.data, name).shape)
        np.testing.assert_allclose(rows[1], getattr(alone.data, name), atol=1e-6, err_msg=name)
    to_m = np.tile([0.3, 0.1, 0.4], (3, 1))
    worlds.props.drag("brick", to_m)
    worlds.props.pull("ball", np.tile([0.5, 0.0, 2.0], (3, 1)), mask=np.array([False, True, False]))
    qvel = worlds.d.qvel.numpy()
    first = worlds.model.joint("brick").dofadr[0] + 3
    qvel[:, first : first + 3] = np.eye(3)
    worlds.d.qvel.assign(qvel)
    worlds.advance(0.1)
    ones = [worlds.one(k) for k in range(3)]
    worlds.advance(0.1)
    spin = worlds.d.qvel.numpy()[:, first : first + 3]
    np.testing.assert_allclose(spin, math.exp(-1.6) * np.eye(3), atol=0.01)
    pose = worlds.state().object_pose.numpy().reshape(3, 2, 7)
    for k, one in enumerate(ones):
        one.model.opt.impratio = worlds.model.opt.impratio
        one.advance(0.1)
        for name, row in zip(worlds.object_names, pose[k], strict=True):
            np.testing.assert_allclose(row, np.concatenate(one.props.pose(name)), atol=2e-4, err_msg=name)
    assert pose[1, worlds.object_names.index("ball"), 0] > BALL.pos_m[0] + 0.01
