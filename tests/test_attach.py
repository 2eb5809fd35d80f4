"""A skin for any MuJoCo model: pads on its geoms, frames from its state, and what is refused."""

import math
import time

import mujoco
import numpy as np
import pytest

import thenar
from bench.skin import box_points, make_bench, mesh_on_mesh, mesh_presses, sphere_points, sum_error
from thenar.errors import BadFile, BadValue, UnknownName
from thenar.signals import SOLID, SolidKind
from thenar.sim.contacts import SolidReader, hull_faces
from thenar.touch.hand_touch import HandTouch
from thenar.touch.hertz import hertz_ellipse
from thenar.touch.sensor.calibration import Calibration, PadCalibration
from thenar.touch.sensor.presets import SENSORS
from thenar.touch.solver.collision import ray_entry
from thenar.touch.solver.influence import reduced_modulus_pa
from thenar.touch.solver.taxel_cloud import nearest_of, nearest_taxel, taxels_under
from thenar.touch.solver.touch_records import Faces

FINGER = """
<mujoco>
  <option timestep="0.001"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1" pos="0 0 -0.1"/>
    <body name="finger" pos="0 0 0.02">
      <geom name="capsule" type="capsule" size="0.008 0.02" euler="0 90 0"/>
      <geom name="ball" type="sphere" size="0.01" pos="0.06 0 0"/>
      <geom name="egg" type="ellipsoid" size="0.012 0.009 0.007" pos="0.12 0 0"/>
      <geom name="drum" type="cylinder" size="0.012 0.01" pos="0.18 0 0"/>
      <geom name="brick" type="box" size="0.015 0.012 0.006" pos="0.24 0 0"/>
      <geom name="seen" type="sphere" size="0.01" pos="0.3 0 0" contype="0" conaffinity="0"/>
    </body>
    {objects}
  </worldbody>
</mujoco>
"""
PLACES = {"capsule": 0.0, "ball": 0.06, "egg": 0.12, "drum": 0.18, "brick": 0.24}
WEIGHT_N = 0.02 * 9.81


def finger(*, objects: bool = True) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A body with a geom of every kind, and a ball of 20 g that comes down on each of them along a rail."""
    balls = [
        f"""<body name="on_{name}" pos="{x} 0 0.045"><joint type="slide" axis="0 0 1"/>
        <geom type="sphere" size="0.008" mass="0.02"/></body>"""
        for name, x in PLACES.items()
    ]
    model = mujoco.MjModel.from_xml_string(FINGER.format(objects="".join(balls) if objects else ""))
    return model, mujoco.MjData(model)


def grid(name: str, **changes) -> thenar.GridPad:
    given = {"geom": name, "rows": 8, "cols": 6, "size_m": (0.008, 0.006), "towards": (0.0, 0.0, 1.0)}
    return thenar.GridPad(**{"name": name, **given, **changes})


def test_five_lines_give_frames_from_any_model_and_every_kind_of_geom():
    model, data = finger()
    skin = thenar.touch.attach(model, [grid(name) for name in PLACES])
    mujoco.mj_step(model, data, 500)
    frame = skin(data)
    for name in PLACES:
        assert frame.force_n[name] == pytest.approx(WEIGHT_N, rel=1e-3)
        assert math.hypot(*frame.centre_of_pressure_m[name]) < 2e-5
        area = skin.area_m2(name)
        assert area.sum() == pytest.approx(48e-6, rel=0.05)
        assert (frame[name] * area).sum() == pytest.approx(WEIGHT_N, rel=0.01)
    assert sum_error(frame) < 1e-9


def test_taxels_by_points_feel_what_those_of_an_exact_chart_feel():
    """The same grid: by the charts of primitives, and as points laid along the surface of the same shape as a mesh."""
    half = np.array([0.012, 0.012, 0.012])
    frames = []
    for skin in ({"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [0.012, 0, 0]}, {"points": sphere_points() * half}):
        place = {"towards": (0.04, 0.02, 1.0), "row_axis": (1.0, 0.0, 0.0)}
        pad = grid("pad", geom="skin", rows=6, cols=6, size_m=(0.009, 0.009), **place)
        bench = make_bench(skin, {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [0.01, 0, 0]}, [pad])
        bench.press(np.array([0.0, 0.0, 0.022]), np.array([0.0, 0.0, 1.0]), 2.0, np.eye(3))
        frames.append(bench.skin(bench.data)["pad"])
    np.testing.assert_allclose(frames[1], frames[0], atol=0.03 * frames[0].max())


def test_a_point_of_a_cell_belongs_to_the_taxel_that_is_nearest_to_the_point():
    model, _ = finger(objects=False)
    laid = thenar.touch.attach(model, [grid("egg", rows=16, cols=12, size_m=(0.014, 0.010))])._touch.laid
    pad, cloud, rng = laid.pads[0], laid.cloud, np.random.default_rng(3)
    counts, taxels = set(), set()
    for size_m in [0.0002, 0.001, 0.004, 0.02] * 20:
        normal = rng.normal((0.0, 0.0, 2.0))
        normal /= np.linalg.norm(normal)
        long, short = (rng.uniform(0.2, 1.0) * size_m * np.cross(normal, rng.normal(size=3)) for _ in range(2))
        centre = (0.12, 0.0, 0.0) + np.array([0.012, 0.009, 0.007]) * normal
        count = taxels_under(pad, cloud, tuple(centre), tuple(long), tuple(short), tuple(normal))
        counts.add(count)
        for a, b in rng.uniform(-0.5, 0.5, (10, 2)) if count >= 0 else ():
            point = tuple(centre + a * long + b * short)
            expected = nearest_taxel(pad, cloud, point, tuple(normal))
            assert nearest_of(cloud.taxels, cloud.under, count, point) == expected
            taxels.add(expected)
    assert -1 in counts  # a cell as large as the pad has too many under it
    assert -1 in taxels  # beside the pad
    assert len(taxels) > 30


def test_a_covered_geom_feels_a_press_anywhere_and_its_areas_add_up():
    cover = thenar.CoverPad(name="all", geom="skin", spacing_m=0.002)
    bench = make_bench(
        {"points": sphere_points(1500) * 0.01}, {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [0.01, 0, 0]}, [cover]
    )
    area = bench.skin.area_m2("all")
    assert area.sum() == pytest.approx(4 * math.pi * 1e-4, rel=0.01)
    assert len(area) == pytest.approx(area.sum() / 4e-6, abs=2)
    assert area.min() > 0.4 * area.max()
    points, _ = bench.skin.taxels("all")
    for towards in np.random.default_rng(1).normal(size=(3, 3)):
        way = towards / np.linalg.norm(towards)
        bench.press(0.02 * way, way, 1.0, np.eye(3))
        frame = bench.skin(bench.data)
        assert frame.force_n["all"] == pytest.approx(1.0, rel=1e-3)
        assert frame.bare_skin_n == pytest.approx(0.0, abs=1e-9)
        pressed = points[frame["all"] > 0.1 * frame["all"].max()]
        assert np.all(np.linalg.norm(pressed - 0.01 * way, axis=1) < 0.004)


def test_taxels_come_from_a_table_and_from_a_group_of_faces(tmp_path):
    model, _ = finger(objects=False)
    table = tmp_path / "taxels.csv"
    table.write_text("x,y,z,nx,ny,nz\n" + "".join(f"{0.24 + 0.002 * k},0,0.006,0,0,1\n" for k in range(-2, 3)))
    mesh = tmp_path / "pads.obj"
    corners = "v 237 -3 6\nv 243 -3 6\nv 243 3 6\nv 237 3 6\n"
    mesh.write_text(corners + "g back\nf 1 2 3\ng tip\nf 1 2 3\nf 1 3 4\n")  # millimetres
    pads = [
        thenar.TaxelPad.read("table", "brick", table),
        thenar.TaxelPad.read("faces", "ball", mesh, group="tip", scale=1e-3),
    ]
    assert len(pads[1].points_m) == 2
    assert pads[1].area_m2 is not None
    assert pads[1].area_m2.sum() == pytest.approx(36e-6)
    skin = thenar.touch.attach(model, pads[:1])
    assert skin.taxels("table")[0][0, 0].tolist() == pytest.approx([0.236, 0.0, 0.006])
    with pytest.raises(BadValue, match="taxel 0 of pad 'faces'"):  # they are the brick's, not the ball's
        thenar.touch.attach(model, pads[1:])
    with pytest.raises(BadFile, match="pad 'faces' is not such a file: no group named 'top'; there are: back, tip"):
        thenar.TaxelPad.read("faces", "ball", mesh, group="top")


def test_faces_belong_to_their_object_and_to_their_material(tmp_path):
    mesh = tmp_path / "hand.obj"  # as modelling programs write it: the object, its vertices, a material, its faces
    mesh.write_text(
        "o Index Tip\nv 0 0 6\nv 2 0 6\nv 2 2 6\nusemtl Rubber\nf 1 2 3\nusemtl Steel\nf 1 3 2\n"
        "o Palm\nv 0 2 6\nusemtl Rubber\nf 1 3 4\nf 1 2 4\n"
    )
    taxels = {
        group: len(thenar.TaxelPad.read("pad", "brick", mesh, group=group, scale=1e-3).points_m)
        for group in ("Index Tip", "Palm", "Rubber", "Steel", None)
    }
    assert taxels == {"Index Tip": 2, "Palm": 2, "Rubber": 3, "Steel": 1, None: 4}


def test_places_that_were_given_stay_as_they_were_given():
    points = np.array([[0.24, 0.0, 0.0065], [0.242, 0.0, 0.0065]])  # half a millimetre above the brick
    given = points.copy()
    pad = thenar.TaxelPad(name="pad", geom="brick", points_m=points, normals=np.array([[0.0, 0.0, 1.0]] * 2))
    assert thenar.touch.attach(finger(objects=False)[0], [pad]).taxels("pad")[0][0, 0, 2] == pytest.approx(0.006)
    np.testing.assert_array_equal(points, given)


def test_a_tray_feels_every_one_of_many_objects():
    spec, across = mujoco.MjSpec(), np.linspace(-0.1, 0.1, 11)
    spec.worldbody.add_geom(name="tray", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.15, 0.15, 0.01])
    for x in across:
        for y in across:
            ball = spec.worldbody.add_body(pos=[x, y, 0.0149])
            ball.add_freejoint()
            ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.005, 0, 0], mass=0.01)
    model = spec.compile()
    data = mujoco.MjData(model)
    skin = thenar.touch.attach(model, [grid("tray", rows=10, cols=10, size_m=(0.29, 0.29))])
    for _ in range(2):  # and after it has forgotten them
        mujoco.mj_step(model, data, 200)
        frame = skin(data)
        force_n = np.zeros((data.ncon, 6))
        for number in range(data.ncon):
            mujoco.mj_contactForce(model, data, number, force_n[number])
        assert frame.contact_n == pytest.approx(force_n[:, 0].sum(), rel=1e-9)
        assert frame.contact_n == pytest.approx(121 * 0.01 * 9.81, rel=1e-3)
        assert len(skin.windows()) == 121
        skin.forget()


def test_hands_that_are_alike_have_scratch_memory_of_their_own():
    model, _ = finger(objects=False)
    skin = thenar.touch.attach(model, [thenar.CoverPad(name="egg", geom="egg", spacing_m=0.004)])
    spec = skin.spec
    one, other = (
        HandTouch(spec, Calibration(), skin_shapes={"egg": [0]}, bodies=np.zeros(1, dtype=np.int64)) for _ in range(2)
    )
    assert one.laid.cloud.taxels is other.laid.cloud.taxels
    assert not np.shares_memory(one.laid.cloud.under, other.laid.cloud.under)  # they may be solved at once


BAD_PADS = {
    "unknown geom": ([grid("a", geom="nail")], UnknownName, "geom of pad 'a' named 'nail'"),
    "only seen": ([grid("a", geom="seen")], BadValue, "geom of pad 'a'.*one that collides"),
    "no skin": ([grid("a", geom="floor")], BadValue, "geom of pad 'a'.*mesh"),
    "outside": ([grid("a", geom="brick", towards=None, centre_m=(0.24, 0, 0.02))], BadValue, "centre of pad 'a'"),
    "off its end": ([grid("a", geom="capsule", size_m=(0.2, 0.006))], BadValue, "size_m of pad 'a'"),
    "off its face": ([grid("a", geom="brick", size_m=(0.04, 0.006))], BadValue, "size_m of pad 'a'"),
    "round the ball": ([grid("a", geom="ball", size_m=(0.04, 0.006))], BadValue, "size_m of pad 'a'"),
    "no area": ([grid("a", geom="ball", size_m=(0.0, 0.006))], BadValue, "size_m of pad 'a'"),
    "no taxel": ([grid("a", geom="ball", rows=0)], BadValue, "rows and cols of pad 'a'"),
    "not a number": ([grid("a", geom="ball", towards=(math.nan, 0, 1))], BadValue, "towards of pad 'a'"),
    "no place": ([grid("a", geom="ball", towards=None)], BadValue, "place of pad 'a'"),
    "twice": ([grid("a", geom="ball"), grid("a", geom="egg")], BadValue, "a name of its own"),
    "overlap": (
        [grid("a", geom="brick"), grid("b", geom="brick", towards=None, centre_m=(0.2455, 0.002, 0.006))],
        BadValue,
        "place of pad 'a'.*beside pad 'b'",
    ),
    "half a taxel": ([grid("a", geom="ball", rows=4.5)], BadValue, "rows and cols of pad 'a' is .*whole numbers"),
    "one length": ([grid("a", geom="ball", size_m=0.01)], BadValue, "size_m of pad 'a'.*a length along rows and one"),
    "no geom": ([grid("a", geom=())], BadValue, "geom of pad 'a'.*the name or number of a geom"),
    "no such sensor": ([grid("a", sensor="camera")], BadValue, "sensor of pad 'a' is 'camera'; wanted force or baro"),
    "an area for two": (
        [
            thenar.TaxelPad(
                name="a",
                geom="brick",
                points_m=np.array([[0.24, 0.0, 0.006]]),
                normals=np.array([[0.0, 0.0, 1.0]]),
                area_m2=np.full((1, 2), 4e-6),
            )
        ],
        BadValue,
        r"area_m2 of pad 'a' is 'of shape \(1, 2\)'; wanted a number for each of the points, 1",
    ),
    "nowhere": (
        [
            thenar.TaxelPad(
                name="a", geom="brick", points_m=np.array([[0.24, 0.0, math.nan]]), normals=np.array([[0.0, 0.0, 1.0]])
            )
        ],
        BadValue,
        r"points_m of taxel 0 of pad 'a' is \[0.24, 0.0, nan\]; wanted finite numbers",
    ),
    "no angle": (
        [thenar.CoverPad(name="a", geom="egg", towards=(0.0, 0.0, 1.0), within_deg=0.0)],
        BadValue,
        "within_deg of pad 'a'",
    ),
    "too many": (
        [thenar.CoverPad(name="a", geom="egg", spacing_m=1e-4)],
        BadValue,
        "spacing_m of pad 'a' is 0.0001; wanted one that makes at most 20000 taxels; these would be 1",
    ),
    "in a cover": ([grid("a", geom="egg"), thenar.CoverPad(name="b", geom="egg")], BadValue, "beside pad 'b'"),
}


@pytest.mark.parametrize("what", BAD_PADS)
def test_a_bad_pad_is_refused_by_name(what: str):
    pads, error, says = BAD_PADS[what]
    model, _ = finger(objects=False)
    with pytest.raises(error, match=says):
        thenar.touch.attach(model, pads)


@pytest.mark.parametrize("content", [b"", b"solid but nothing", b"v 1 2 3\nf 1 2 9\n", b"\xff\xfe\x00"])
@pytest.mark.parametrize("kind", ["stl", "obj", "csv"])
def test_a_file_that_is_none_is_refused_with_the_pads_name(tmp_path, content: bytes, kind: str):
    path = tmp_path / f"pad.{kind}"
    path.write_bytes(content)
    with pytest.raises(BadFile, match="of pad 'tip'"):
        thenar.TaxelPad.read("tip", "geom", path)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_forces_of_contacts_are_the_engines_own(cone: str):
    """With either kind of friction cone, and with every number of directions that a contact can have."""
    boxes = "".join(
        f"""<body pos="{0.1 * k} 0 0.0095" euler="0 {3 * k} 0"><freejoint/>
        <geom type="box" size="0.02 0.015 0.01" condim="{dim}" friction="0.4 0.01 0.01"/></body>"""
        for k, dim in enumerate((1, 3, 4, 6))
    )
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option cone="{cone}" gravity="2 1 -9.81"/><worldbody>
        <geom type="plane" size="1 1 0.1" condim="1" friction="0.4 0.01 0.01"/>{boxes}</worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 20)
    got = SolidReader(model).read(data, stamp_s=0.0)
    assert sorted(set(data.contact.dim)) == [1, 3, 4, 6]
    for k in range(data.ncon):
        wanted = np.zeros(6)
        mujoco.mj_contactForce(model, data, k, wanted)
        frame = data.contact.frame[k].reshape(3, 3)
        np.testing.assert_allclose(got.force_n[k], wanted[:3] @ frame, atol=1e-9)
        assert np.linalg.norm(wanted[1:3]) <= got.slip_n[k] * (1 + 1e-6) + 1e-9


def test_lines_enter_hulls_where_they_enter_the_first_of_all_planes_that_face_them():
    rng = np.random.default_rng(2)
    for points in (sphere_points(2000) * 0.01, rng.normal(size=(30, 3)) * 0.01, box_points(7) * [0.01, 0.012, 0.005]):
        noisy = points + rng.normal(size=points.shape) * 1e-9
        model = make_bench({"points": noisy}, {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [0.01, 0, 0]}, []).model
        planes, beside = hull_faces(model, 0)
        faces = Faces(planes, np.cumsum([0, *map(len, beside)], dtype=np.int64), np.concatenate(beside))
        solid, seen, hits = np.zeros(1, dtype=SOLID)[0], np.full(1, -1), 0
        solid["kind"], solid["count"] = SolidKind.HULL, len(planes)
        for _ in range(400):
            way = rng.normal(size=3)
            way /= np.linalg.norm(way)
            start = rng.uniform(-0.012, 0.012, 3) - 0.05 * way
            toward, away = planes[:, :3] @ way, planes[:, 3] - planes[:, :3] @ start
            first = (away[toward < -1e-9] / toward[toward < -1e-9]).max()
            last = (away[toward > 1e-9] / toward[toward > 1e-9]).min()
            got = ray_entry(solid, faces, tuple(start), tuple(way), seen)
            assert (got < 1e8) == (first <= last)
            if got < 1e8:
                hits += 1
                assert got == pytest.approx(first, abs=1e-12)
        assert 50 < hits < 400


def test_meshed_eggs_are_pressed_as_hertz_says():
    errors, sums = mesh_presses(8, seed=41, models=1)
    assert np.median(errors) < 0.025
    assert errors.max() < 0.08
    assert sums.max() < 1e-9


def test_meshes_press_meshes_as_a_fine_grid_says():
    errors, sums = mesh_on_mesh(6, seed=43)
    assert len(errors) > 3
    assert np.median(errors) < 0.04
    assert errors.max() < 0.15
    assert sums.max() < 1e-9


def test_a_mesh_in_pieces_feels_what_the_whole_mesh_feels():
    """Cut through the middle of the patch: half of the force comes by either piece."""
    points = sphere_points(6000) * 0.012
    rim = sphere_points(20_000) * 0.012
    rim = rim[np.abs(rim[:, 0]) < 6e-5] * [0.0, 1.0, 1.0]
    pieces = [np.concatenate([points[points[:, 0] > 0], rim]), np.concatenate([points[points[:, 0] < 0], rim])]
    thing, frames = {"type": mujoco.mjtGeom.mjGEOM_ELLIPSOID, "size": [0.02, 0.012, 0.012]}, []
    for skin in ({"points": points}, {"pieces": pieces}):
        bench = make_bench(skin, thing, [grid("pad", geom="skin", size_m=(0.012, 0.009), row_axis=(1.0, 0.0, 0.0))])
        bench.press(np.array([0.0, 0.0, 0.024]), np.array([0.0, 0.0, 1.0]), 2.0, np.eye(3))
        frames.append(bench.skin(bench.data))
    assert frames[1].contact_n == pytest.approx(2.0, rel=1e-3)
    np.testing.assert_allclose(frames[1]["pad"], frames[0]["pad"], atol=0.05 * frames[0]["pad"].max())


def test_a_sensor_keeps_its_rate_and_a_put_back_state_starts_anew():
    model, data = finger()
    slow = thenar.calibrate.Calibration(rate_hz=50.0)
    skin = thenar.touch.attach(model, [grid(name) for name in PLACES], calibration=slow)
    stamps = set()
    for _ in range(100):
        mujoco.mj_step(model, data)
        stamps.add(skin(data).stamp_s)
    assert len(stamps) == 5
    mujoco.mj_resetData(model, data)
    mujoco.mj_step(model, data)
    assert skin(data).stamp_s == data.time


def test_a_sensor_that_is_put_back_reads_what_it_read_the_first_time():
    model, data = finger()
    skin = thenar.touch.attach(model, [grid("brick")], calibration="inspire")
    told = []
    for _ in range(2):
        mujoco.mj_resetData(model, data)
        for _ in range(100):
            frame = skin(data)
            told.append((frame.stamp_s, *frame.taxel_counts))
            mujoco.mj_step(model, data)
    assert told[:100] == told[100:]


def test_a_sensor_keeps_its_rate_in_steps_that_do_not_divide_its_period():
    model, data = finger(objects=False)
    model.opt.timestep = 0.002
    skin = thenar.touch.attach(model, [grid("brick")], calibration="paxini")
    stamps = set()
    for _ in range(1000):
        stamps.add(skin(data).stamp_s)
        mujoco.mj_step(model, data)
    assert len(stamps) == pytest.approx(2.0 * 91.0, abs=1.0)


def test_a_taxel_that_is_not_there_cannot_be_broken():
    skin = thenar.touch.attach(finger(objects=False)[0], [grid("brick")])
    for row, col in ((8, 0), (0, 6), (-1, 0), (0, -1)):
        with pytest.raises(BadValue, match=r"taxel of brick is .*; wanted a row below 8 and a column below 6"):
            skin.kill("brick", row, col)
    assert not skin.dead.any()
    for wrong in (lambda: skin.kill("tip", 0, 0), lambda: skin.area_m2("tip")):
        with pytest.raises(UnknownName, match="no pad named 'tip'; available: brick"):
            wrong()


@pytest.mark.parametrize("sensor", SENSORS)
def test_every_preset_reads_more_where_it_is_pressed(sensor: str):
    model, data = finger()
    kind = "barometer" if sensor == "takktile" else "force"
    skin = thenar.touch.attach(model, [grid("brick", sensor=kind)], calibration=sensor)
    model.opt.gravity[2] = -100.0  # a push of 2 N
    resting = skin(data).counts["brick"].astype(np.float64)
    for _ in range(10):  # what is read is delivered later
        mujoco.mj_step(model, data, 40)
        skin(data)
    more = skin(data).counts["brick"] - resting
    pressed = np.zeros_like(more, dtype=bool)
    pressed[2:6, 1:5] = True
    spread = 1.2 if sensor == "takktile" else 2.0  # dies under 5 mm of rubber feel their surroundings
    assert more[pressed].mean() > spread * np.abs(more[~pressed]).mean()


def test_an_unknown_preset_is_refused_with_those_there_are():
    with pytest.raises(UnknownName, match="no sensor named 'gelsight'; available: capacitive, fsr"):
        thenar.touch.attach(finger()[0], [grid("brick")], calibration="gelsight")


def test_a_preset_is_for_pads_of_its_own_kind():
    model, _ = finger(objects=False)
    with pytest.raises(BadValue, match="calibration of pad 'brick' is 'takktile'; wanted pads with sensor='barometer'"):
        thenar.touch.attach(model, [grid("brick")], calibration="takktile")
    with pytest.raises(BadValue, match="calibration of pad 'brick' is 'xela'; wanted pads with sensor='force'"):
        thenar.touch.attach(model, [grid("brick", sensor="barometer")], calibration="xela")


def test_a_barometer_right_under_the_surface_costs_no_more_than_others():
    model, data = finger()
    thin = Calibration(bare=PadCalibration(depth_m=1e-9))
    skin = thenar.touch.attach(model, [grid("brick", sensor="barometer")], calibration=thin)
    mujoco.mj_step(model, data, 500)
    frame = skin(data)  # and not for ever: cells are cut into pieces as wide as dies lie deep
    patch = hertz_ellipse(WEIGHT_N, 1 / 0.008, 1 / 0.008, reduced_modulus_pa(1e6))
    there_pa = patch.peak_pa * math.sqrt(1.0 - (0.5e-3 * math.sqrt(2.0) / patch.a_m) ** 2)  # four taxels meet below it
    assert frame.die_pressure_pa.max() - thin.ambient_pa == pytest.approx(there_pa, rel=0.03)


def test_a_calibration_that_does_not_fit_its_pad_is_refused():
    model, _ = finger(objects=False)
    for own, said in (
        (
            PadCalibration(gain_counts_per_n=((1.0, 2.0),)),
            r"gain of pad 'brick' is 'of shape \(1, 2\)'; wanted a number",
        ),
        (PadCalibration(dead=((8, 0),)), r"dead taxel of pad 'brick' is \(8, 0\); wanted one within 8 x 6"),
    ):
        with pytest.raises(BadValue, match=said):
            thenar.touch.attach(model, [grid("brick")], calibration=Calibration(pads={"brick": own}))


@pytest.mark.timing
def test_a_skin_that_nothing_touches_costs_next_to_nothing():
    model, data = finger()
    skin = thenar.touch.attach(model, [grid(name) for name in PLACES])
    mujoco.mj_forward(model, data)
    best = math.inf
    for _ in range(20):
        began = time.perf_counter()
        for _ in range(50):
            skin(data)
        best = min(best, (time.perf_counter() - began) / 50)
    assert best < 40e-6


def test_a_sensor_with_three_axes_says_shear_in_counts():
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.cone = 0.001, mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.worldbody.add_geom(name="skin", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.02, 0.02, 0.01])
    ball = spec.worldbody.add_body(pos=[0.0, 0.0, 0.018])
    ball.add_freejoint()
    ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.008, 0, 0], mass=1.0, condim=4, friction=[0.9, 0.01, 0])
    model = spec.compile()
    pad = thenar.GridPad(name="pad", geom="skin", rows=2, cols=2, size_m=(0.008, 0.008), towards=(0.0, 0.0, 1.0))
    data = mujoco.MjData(model)
    skins = {name: thenar.touch.attach(model, [pad], calibration=name) for name in ("paxini", "xela", "fsr")}
    data.xfrc_applied[1] = [4.0, 0.0, 0.0, 0.0, -4.0 * 0.008, 0.0]  # pulled along the rows, and kept from rolling
    for _ in range(60):
        mujoco.mj_step(model, data)
    frames = {name: skin(data) for name, skin in skins.items()}
    pulled = frames["paxini"].shear["pad"][..., 0].sum() * 16e-6
    assert abs(pulled) > 2.0
    for name, rest, gain in (("paxini", 0, 10.0), ("xela", 32_768, 2000.0)):
        counts = frames[name].shear_counts["pad"] - rest
        assert counts[..., 0].sum() == pytest.approx(gain * pulled, rel=0.15, abs=4)
        assert abs(counts[..., 1].sum()) < 0.2 * abs(counts[..., 0].sum())
    assert frames["fsr"].shear_counts == {}
