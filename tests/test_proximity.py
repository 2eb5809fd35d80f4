"""Proximity: how far the nearest thing in front of a pad is, beside the engine's own distances."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import thenar
from bench.skin import sphere_points
from thenar.errors import BadValue
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.sim.contacts import touchable

RANGE_M = 0.03
FACE_M = (0.012, 0.008)
KINDS = ("sphere", "capsule", "cylinder", "box", "ellipsoid", "mesh")


def bench(kind: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A finger with a flat pad on top, a plate as large as that pad, and one thing that is put anywhere."""
    spec = mujoco.MjSpec()
    finger = spec.worldbody.add_body(name="finger")
    finger.add_geom(name="finger", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.01, 0.01, 0.005])
    plate = {"contype": 0, "conaffinity": 0}
    half = [FACE_M[0] / 2, FACE_M[1] / 2, 1e-6]
    finger.add_geom(name="plate", type=mujoco.mjtGeom.mjGEOM_BOX, size=half, pos=[0, 0, 0.005], **plate)
    thing = spec.worldbody.add_body(name="thing", mocap=True)
    if kind == "mesh":
        vertices = (sphere_points(200) * [0.011, 0.007, 0.005]).ravel().tolist()
        spec.add_mesh(name="egg", uservert=vertices)
        thing.add_geom(name="thing", type=mujoco.mjtGeom.mjGEOM_MESH, meshname="egg")
    else:
        what = getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}")
        thing.add_geom(name="thing", type=what, size=[0.006, 0.009, 0.004])
    model = spec.compile()
    return model, mujoco.MjData(model)


def pad(**changes) -> thenar.GridPad:
    given = {"rows": 6, "cols": 4, "size_m": FACE_M, "towards": (0.0, 0.0, 1.0), "row_axis": (1.0, 0.0, 0.0)}
    return thenar.GridPad(**{"name": "pad", "geom": "finger", "proximity_range_m": RANGE_M, **given, **changes})


def put(model: mujoco.MjModel, data: mujoco.MjData, pos_m, R=None) -> None:
    data.mocap_pos[0] = pos_m
    data.mocap_quat[0] = quat_wxyz_from_matrix(np.eye(3) if R is None else R)
    mujoco.mj_forward(model, data)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pad_tells_how_far_a_thing_is_as_the_engine_measures_it(kind):
    model, data = bench(kind)
    skin, rng = thenar.touch.attach(model, [pad()]), np.random.default_rng(7)
    plate, thing, ends = model.geom("plate").id, model.geom("thing").id, np.zeros(6)
    off_m, straight_m = [], []
    while len(off_m) < 40:
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        put(model, data, rng.uniform([-0.02, -0.02, 0.012], [0.02, 0.02, 0.035]), R * np.sign(np.linalg.det(R)))
        away = mujoco.mj_geomDistance(model, data, plate, thing, 1.0, ends)
        if 1e-4 < away < RANGE_M and ends[5] - ends[2] > away * np.cos(np.radians(55.0)):  # not beside the pad
            off_m.append(abs(skin(data).proximity_m["pad"] - away))
            ahead = mujoco.mj_ray(model, data, [0, 0, 0.0051], [0, 0, 1.0], None, 1, -1, np.zeros(1, dtype=np.int32))
            straight_m.append(abs((RANGE_M if ahead < 0.0 else ahead) - away))
    assert np.median(off_m) < 2e-5
    assert max(off_m) < 5e-4
    assert np.median(straight_m) > 1e-3  # one line out of the pad's middle does not tell


def test_what_touches_is_at_0_what_is_far_at_the_range_and_what_is_behind_is_not_seen():
    model, data = bench("sphere")
    skin = thenar.touch.attach(model, [pad()])
    told = {}
    places = {"touches": 0.0109, "close": 0.013, "far": 0.045, "behind": -0.013}
    for name, z in places.items():
        put(model, data, (0.0, 0.0, z))
        told[name] = skin(data).proximity_m["pad"]
    assert told == {
        "touches": 0.0,
        "close": pytest.approx(0.002, rel=1e-3),
        "far": RANGE_M,
        "behind": RANGE_M,
    }


def test_pads_without_such_a_sensor_tell_nothing():
    model, data = bench("sphere")
    put(model, data, (0.0, 0.0, 0.013))
    assert thenar.touch.attach(model, [pad(proximity_range_m=0.0)])(data).proximity_m == {}
    beside = thenar.GridPad(name="end", geom="finger", rows=2, cols=2, size_m=(0.004, 0.004), towards=(1.0, 0.0, 0.0))
    frame = thenar.touch.attach(model, [pad(), beside])(data)
    assert list(frame.proximity_m) == ["pad"]
    assert np.isnan(frame.pad_proximity_m[1])
    with pytest.raises(BadValue, match="proximity_range_m of pad 'pad'"):
        thenar.touch.attach(model, [pad(proximity_range_m=-0.01)])


def test_a_reading_keeps_the_rate_of_the_sensor():
    model, data = bench("sphere")
    skin = thenar.touch.attach(model, [pad()], calibration="paxini")  # 91 Hz
    told = []
    for step in range(100):
        data.time = 1e-3 * step
        put(model, data, (0.0, 0.0, 0.03 - 1e-4 * step))
        told.append(skin(data).proximity_m["pad"])
    assert len(set(told)) == 10
    assert told == sorted(told, reverse=True)


def test_a_hand_of_a_world_feels_what_comes_near_and_not_its_own_knuckles():
    hand = thenar.hands.load("brainco_right")
    plain = replace(hand, pads=tuple(replace(one, proximity_range_m=0.0) for one in hand.pads))
    world = thenar.World(hand, props=[thenar.Sphere(name="ball", radius_m=0.01, fixed=True)], profile="ideal")
    assert set(world.touch(hand.name).proximity_m.values()) == {0.02}
    index = next(one for one in hand.pads if one.name.startswith("index"))
    body = world.data.body(f"{hand.name}/{index.link}")
    R, place = body.xmat.reshape(3, 3), np.asarray(index.centre_m) + 0.015 * np.asarray(index.normal)
    ball = world.model.body("ball").id
    world.model.body_pos[ball] = body.xpos + R @ place
    mujoco.mj_forward(world.model, world.data)
    near = world.touch(hand.name).proximity_m
    assert near.pop(index.name) == pytest.approx(0.005, rel=0.02)
    assert min(near.values()) > 0.01
    assert thenar.World(plain, profile="ideal").touch(plain.name).proximity_m == {}


def test_what_a_geom_can_touch_is_what_the_engine_lets_touch_it():
    """Balls in one place: chains, a weld, a pair of bodies that is excluded, masks, and a pair of geoms by name."""
    model = mujoco.MjModel.from_xml_string("""
    <mujoco>
      <default><geom type="sphere" size="0.1" mass="1"/></default>
      <worldbody>
        <geom name="floor"/>
        <body name="a"><freejoint/><geom name="a"/>
          <body><geom name="welded"/>
            <body name="b"><joint/><geom name="b"/><body name="c"><joint/><geom name="c"/></body></body>
          </body>
        </body>
        <body name="d"><freejoint/><geom name="d"/><geom name="quiet" contype="0" conaffinity="0"/></body>
        <body name="e"><freejoint/><geom name="e" contype="2" conaffinity="0"/></body>
        <body name="f"><freejoint/><geom name="f" contype="4" conaffinity="2"/></body>
      </worldbody>
      <contact><exclude body1="d" body2="c"/><pair geom1="quiet" geom2="f"/></contact>
    </mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    touching = {frozenset(map(int, pair)) for pair in data.contact.geom}
    told = {frozenset((geom, int(other))) for geom in range(model.ngeom) for other in touchable(model, geom)}
    assert told == touching
    assert len(touching) > 8
