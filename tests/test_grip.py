"""What a hand holds stays held, and what Coulomb cannot hold slips."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from bench.grip import HAND, grip_force_n, hold_for
from thenar import Closing, World
from thenar.sim.props import Box, Capsule, Cylinder, Sphere
from thenar.sim.scenes import Mount

ACROSS = (0.0, math.pi / 2, 0.0)
BALL = Sphere(name="thing", radius_m=0.030, mass_kg=0.06, pos_m=(0.0, 0.04, 0.032))
BOTTLE = Cylinder(name="thing", radius_m=0.030, length_m=0.18, mass_kg=0.5, pos_m=(0.0, 0.04, 0.032), rpy_rad=ACROSS)


@pytest.mark.parametrize("thing", [BALL, BOTTLE], ids=["ball", "bottle"])
@pytest.mark.parametrize("hold", ["palm up", "palm down", "sideways, shaken"])
def test_a_held_object_stays_and_the_grip_keeps_its_force(thing, hold):
    creep_m, before_n, after_n = hold_for(15.0, thing, hold)
    assert before_n > 20.0
    assert creep_m < 0.02e-3
    assert after_n == pytest.approx(before_n, rel=0.03)


@pytest.mark.parametrize(("degrees", "stays"), [(37.5, True), (39.5, False)])
def test_a_box_on_a_slope_slides_only_beyond_the_angle_of_friction(degrees, stays):
    """The skin's friction is 0.8 by the object: 38.66 degrees."""
    world = World(HAND, scene="table", mounts={HAND: Mount(pos_m=(0.0, 0.3, 0.4))}, props=[
        Box(name="thing", size_m=(0.06, 0.06, 0.02), mass_kg=0.2, pos_m=(-0.3, -0.1, 0.0101), friction=0.8),
    ])  # fmt: skip
    world.advance(0.5)
    angle = math.radians(degrees)
    world.physics.model.opt.gravity[:] = 9.81 * np.array([-math.sin(angle), 0.0, -math.cos(angle)])
    began_m = world.props.pose("thing")[0]
    world.advance(3.0 if stays else 0.5)
    moved_m = float(np.linalg.norm(world.props.pose("thing")[0] - began_m))
    # From rest: g (sin - mu cos) t^2 / 2.
    expected_m = 0.0 if stays else 0.5 * 9.81 * (math.sin(angle) - 0.8 * math.cos(angle)) * 0.5**2
    assert moved_m == pytest.approx(expected_m, abs=0.1e-3 if stays else 0.1 * expected_m)


def test_what_is_too_slippery_for_the_force_slips():
    heavy = replace(BOTTLE, friction=0.01, mass_kg=1.0)
    world = World(HAND, props=[heavy], mounts={HAND: Mount(driven=True)})
    world.command(HAND, Closing(fraction=1.0))
    world.advance(2.5)
    assert 0.01 * grip_force_n(world, "thing") < 9.81  # friction cannot carry it
    world.physics.model.opt.gravity[:] = [9.81, 0.0, 0.0]  # along the bottle's axis
    began_m = world.props.pose("thing")[0]
    world.advance(1.0)
    assert np.linalg.norm(world.props.pose("thing")[0] - began_m) > 0.05


def test_hard_grasps_of_rods_beside_the_middle_do_not_diverge():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x, radius = rng.uniform(-0.05, 0.05), rng.uniform(0.006, 0.02)
        rod = Capsule(
            name="thing", radius_m=radius, length_m=0.25, mass_kg=0.5, pos_m=(x, 0.05, radius + 0.002), rpy_rad=ACROSS
        )
        world = World(HAND, props=[rod], mounts={HAND: Mount(driven=True)})
        world.command(HAND, Closing(fraction=1.0, speed=1.0, force_limit_n=29.0))
        world.advance(1.0)
        world.props.drag("thing", world.props.pose("thing")[0] + rng.uniform(-0.05, 0.05, 3))
        world.wrists.move(HAND, pos_m=rng.uniform(-0.05, 0.05, 3))
        world.advance(2.0)
        assert np.isfinite(world.physics.data.qpos).all()
