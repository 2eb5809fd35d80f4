"""Worlds that differ, and what their sensors make of it, beside models and sensors that were built for one world."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import thenar
from thenar import hands
from thenar.batch.randomizing import (
    Factors,
    draw,
    model_rows,
    motor_rows,
    no_factors,
    own_actuator,
    own_prop,
    own_skin,
    refuse_meshes,
)
from thenar.errors import BadValue
from thenar.touch.sensor.calibration import IDEAL, MEASURED, Calibration, PadCalibration
from thenar.touch.sensor.force_sensor import Sensor
from thenar.touch.solver.pads import taxel_areas_m2

HAND = "inspire_right"
SPREADS = {"mass": 1.0, "friction": 0.5, "size": 0.2, "motors": 0.15, "skin": 0.2, "noise": 0.5}
PROPS = [
    thenar.Sphere(name="ball", pos_m=(0, 0, 0.1)),
    thenar.Box(name="box", pos_m=(0.2, 0, 0.1)),
    thenar.Capsule(name="rod", pos_m=(0.4, 0, 0.1)),
    thenar.Ellipsoid(name="egg", pos_m=(0.6, 0, 0.1)),
    thenar.Cylinder(name="post", pos_m=(0.8, 0, 0.1), fixed=True),
]


def drawn(worlds: int, objects: int = len(PROPS), motors: int = 6, *, count: int = 0) -> Factors:
    everyone = np.ones(worlds, dtype=bool)
    return draw(no_factors(worlds, objects, motors), SPREADS, mask=everyone, seed=3, count=count)


def test_objects_of_a_world_are_what_mujoco_compiles_for_it():
    factors = drawn(3)
    model = thenar.World(HAND, props=PROPS).model
    rows = model_rows(model, [prop.name for prop in PROPS], factors)
    for world in range(3):
        own = [own_prop(prop, factors, world, k) for k, prop in enumerate(PROPS)]
        wanted = thenar.World(HAND, props=own).model
        loose = [model.body(prop.name).id for prop in PROPS if not prop.fixed]
        for name, got in rows.items():
            want = np.asarray(getattr(wanted, name)).reshape(got[world].shape)
            every = slice(None) if not name.startswith("body") else loose  # the world's own mass is nobody's business
            np.testing.assert_allclose(got[world][every], want[every], rtol=2e-3, atol=1e-9, err_msg=name)
            usual = np.asarray(getattr(model, name)).reshape(want.shape)[every]
            assert (np.abs(want[every] - usual) > 0.01 * np.abs(usual)).any(), f"{name} should differ"


@pytest.mark.parametrize("name", [HAND, "shadow_right"])
def test_motors_of_a_world_are_those_of_a_hand_made_for_it(name: str):
    motors = pytest.importorskip("warp") and __import__("thenar.batch.motors", fromlist=["motors"])
    actuators = hands.load(name).actuators
    factors = drawn(2, motors=len(actuators))
    drives = motors.new_records(motors.Drive, len(actuators))
    drives["latency_steps"], drives["force_noise_n"] = 33.0, 0.1
    params, wires = motor_rows(motors.motor_records(actuators, 0.002), drives, factors)
    own = [own_actuator(actuator, factors, 1, k) for k, actuator in enumerate(actuators)]
    wanted = motors.motor_records(own, 0.002)
    for field in wanted.dtype.names:
        np.testing.assert_allclose(params[1][field], wanted[field], rtol=1e-5, err_msg=field)
    np.testing.assert_allclose(wires["latency_steps"], 33.0 * factors.latency, rtol=1e-6)
    np.testing.assert_allclose(wires["force_noise_n"], 0.1 * factors.motor_noise, rtol=1e-6)


def test_what_a_world_draws_depends_on_its_number_and_the_seed_alone():
    few, many, later = drawn(2), drawn(50), drawn(50, count=1)
    for field in fields(Factors):
        np.testing.assert_array_equal(getattr(few, field.name), getattr(many, field.name)[:2])
        assert not np.array_equal(getattr(many, field.name), getattr(later, field.name))
    assert many.mass.min() < 0.6
    assert many.mass.max() > 1.7
    assert 0.5 <= many.mass.min() < many.mass.max() <= 2.0
    some = np.arange(50) < 10
    half = draw(many, {**SPREADS, "mass": 0.0}, mask=some, seed=3, count=1)
    np.testing.assert_array_equal(half.mass, many.mass)
    np.testing.assert_array_equal(half.friction[10:], many.friction[10:])
    np.testing.assert_array_equal(half.friction[:10], later.friction[:10])
    with pytest.raises(BadValue, match="noise is -1"):
        draw(many, {**SPREADS, "noise": -1.0}, mask=some, seed=3, count=1)
    skin = own_skin(MEASURED, many, 7)
    assert skin.bare.young_pa == pytest.approx(MEASURED.bare.young_pa * many.skin_stiffness[7, 0])
    assert skin.bare.noise_counts == pytest.approx(4.0 * many.skin_noise[7, 0])


SKINS = {
    "plain": IDEAL,
    "creeps": replace(IDEAL, bare=PadCalibration(hysteresis=0.3, hysteresis_s=0.1, offset_counts=60.0)),
    "sticks": replace(IDEAL, bare=PadCalibration(play=0.4, play_width=0.3, lowest_counts=-50.0)),
    "bends": replace(IDEAL, bare=PadCalibration(ceiling=900.0, knee=3.0, drift=40.0, drift_s=0.2)),
    "saturates": Calibration(
        bare=PadCalibration(gain_counts_per_n=4000.0), pads={"index_top": PadCalibration(dead=((0, 3), (11, 7)))}
    ),
}


@pytest.mark.parametrize("kind", SKINS)
def test_counts_of_many_worlds_are_those_of_one(kind: str):
    wp = pytest.importorskip("warp")
    from thenar.batch.touch.taxel_counts import TaxelSensor

    hand, calibration = hands.load(HAND), SKINS[kind]
    rng = np.random.default_rng(1)
    sensors = [Sensor(hand, calibration, seed=0) for _ in range(2)]
    area_m2 = np.concatenate([taxel_areas_m2(hand, pad).ravel() for pad in hand.pads])
    with wp.ScopedDevice("cpu"):
        many = TaxelSensor(hand, calibration, 2, seed=0)
        counts = wp.zeros((2, hand.taxels), dtype=int)
        largest = 0
        for reading in range(6):
            force_n = rng.uniform(0.0, 1.5, (2, hand.taxels)) * rng.integers(0, 2, (2, hand.taxels))
            time_s = 0.02 * reading
            pressure = wp.array((force_n / area_m2).astype(np.float32))
            many.read(wp.full(2, time_s, dtype=float), pressure, counts)
            for world, sensor in enumerate(sensors):
                want = sensor.read(force_n[world], time_s)
                assert np.abs(counts.numpy()[world] - want).max() <= 1  # single precision, then rounding
                largest = max(largest, int(want.max()))
    assert largest > 500


def test_noise_and_spread_are_the_sensors_own_and_the_same_again():
    wp = pytest.importorskip("warp")
    from thenar.batch.touch.taxel_counts import TaxelSensor

    hand = hands.load(HAND)
    with wp.ScopedDevice("cpu"):
        nothing, now = wp.zeros((20, hand.taxels), dtype=float), wp.zeros(20, dtype=float)

        def readings(seed: int) -> np.ndarray:
            sensor, counts = TaxelSensor(hand, MEASURED, 20, seed=seed), wp.zeros((20, hand.taxels), dtype=int)
            sensor.scale(np.ones(20), np.linspace(0.5, 1.5, 20))
            made = []
            for _ in range(30):
                sensor.read(now, nothing, counts)
                made.append(counts.numpy().copy())
            return np.array(made)

        made = readings(4)
        np.testing.assert_array_equal(readings(4), made)
        assert not np.array_equal(readings(5), made)
    noise = made.std(axis=0, ddof=1).mean(axis=1)
    np.testing.assert_allclose(noise, 4.0 * np.linspace(0.5, 1.5, 20), rtol=0.05)
    offset = made.mean(axis=0)
    assert offset.mean() == pytest.approx(60.0, abs=0.5)
    assert offset.std() == pytest.approx(8.0, rel=0.05)
    apart = (made - offset).reshape(30, -1)
    assert abs(np.corrcoef(apart[0], apart[1])[0, 1] + 1 / 29) < 0.03  # what readings share is the mean they miss
    assert abs(np.corrcoef(made[0, 0], made[0, 1])[0, 1]) < 0.1, "worlds have noise of their own"


def test_skins_of_one_number_are_alike_and_keep_their_taxels_when_they_are_scaled():
    wp = pytest.importorskip("warp")
    from thenar.batch.touch.taxel_counts import TaxelSensor

    hand = hands.load(HAND)
    with wp.ScopedDevice("cpu"):
        nothing, now = wp.zeros((3, hand.taxels), dtype=float), wp.zeros(3, dtype=float)
        sensor, counts = TaxelSensor(hand, MEASURED, 3, seed=4), wp.zeros((3, hand.taxels), dtype=int)

        def resting() -> np.ndarray:
            sensor.scale(np.ones(3), np.zeros(3))  # without noise
            sensor.read(now, nothing, counts)
            return counts.numpy().copy()

        usual = resting()
        sensor.number_skins([7, 2**31 - 1, 7])
        own = resting()
        sensor.number_skins(np.arange(3))
        np.testing.assert_array_equal(resting(), usual)
    np.testing.assert_array_equal(own[0], own[2])
    for one, other in ((own[0], own[1]), (own[0], usual[0]), (usual[0], usual[1])):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.2


def test_what_the_device_cannot_do_is_refused_by_name(tmp_path: Path):
    pytest.importorskip("warp")
    from thenar.batch.touch.taxel_counts import taxel_records

    hand = hands.load(HAND)
    with pytest.raises(BadValue, match="cross-talk"):
        taxel_records(hand, replace(IDEAL, bare=PadCalibration(crosstalk=0.1)))
    (tmp_path / "cup.obj").touch()
    with pytest.raises(BadValue, match="size is 'cup'"):
        refuse_meshes([thenar.Mesh(name="cup", file=tmp_path / "cup.obj"), *PROPS])
