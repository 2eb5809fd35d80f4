"""Force of a window's cells in taxels, beside sums that are worked out in another way. Runs without compiling."""

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from thenar.hands.spec import TaxelPoints
from thenar.touch.solver import deposit as deposit_module
from thenar.touch.solver import pads as pads_module
from thenar.touch.solver import shear as shear_module
from thenar.touch.solver import taxel_cloud as cloud_module
from thenar.touch.solver import touch_records as records_module
from thenar.touch.solver.collision import MISS
from thenar.touch.solver.pads import CYLINDER_CHART, FACE_CHART, PAD, POINTS_CHART
from thenar.touch.solver.taxel_cloud import MAX_UNDER, TAXEL, Cloud, build_cloud
from thenar.touch.solver.touch_records import TaxelForces

MODULES: tuple[ModuleType, ...] = (deposit_module, pads_module, shear_module, cloud_module, records_module)
FIRST, LINK, ROWS, COLS, ROW_M, COL_M = 5, 2, 4, 3, 2e-3, 3e-3
NO_CLOUD = Cloud(np.zeros(0, TAXEL), np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(MAX_UNDER, np.int64))


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled functions as they were written."""
    for module in MODULES:
        for name, one in list(vars(module).items()):
            if hasattr(one, "py_func"):
                monkeypatch.setattr(module, name, one.py_func)


def flat_pad(**other: Any) -> Any:
    """A pad of 4 x 3 taxels in the plane z = 0 of its link, whose rows grow along x."""
    pad = np.zeros(1, PAD).view(np.recarray)
    values = {"link": LINK, "chart": FACE_CHART, "rows": ROWS, "cols": COLS, "row_pitch_m": ROW_M, "col_pitch_m": COL_M}
    values |= {"e_u": (1, 0, 0), "e_v": (0, 1, 0), "normal": (0, 0, 1), "first": FIRST}
    for name, value in (values | other).items():
        pad[name] = value
    return pad


def group_of(grid: int = 3, **other: Any) -> Any:
    """Contacts whose plane is that of the pad, with cells of 1.1 x 0.9 mm."""
    cells = grid * grid
    values = {
        "solved": True,
        "grid": grid,
        "cell_u": 1.1e-3,
        "cell_v": 0.9e-3,
        "link": LINK,
        "weight": 1.0,
        "force_n": 1.0,
    }
    values |= {
        "height": np.zeros(cells),
        "gap": np.zeros(cells),
        "shift": np.zeros((cells, 2)),
        "wide": np.ones((cells, 2)),
    }
    values |= {"origin": (0, 0, 0), "e1": (1, 0, 0), "e2": (0, 1, 0), "normal": (0, 0, 1), "friction": (0, 0, 0)}
    return SimpleNamespace(**(values | other))


def window_of(pressure: Any, **other: Any) -> Any:
    """A window with these pressures, about the contact point and without friction."""
    values = {"u_m": 0.0, "v_m": 0.0, "slipping": False, "pulls": 0, "rest": (0, 0, 0), "pull": [], "upto_pa": []}
    return SimpleNamespace(pressure=np.asarray(pressure, float), **(values | other))


def lay(group: Any, window: Any, pads: Any, cloud: Cloud = NO_CLOUD) -> tuple[TaxelForces, float]:
    """Lay a window into pads, in the frame of a link that stands in the world's axes."""
    count = int(max(pad.first + pad.rows * pad.cols for pad in pads))
    out = TaxelForces(*(np.zeros(shape) for shape in (count, count, (count, 2), (len(pads), 2), (len(pads), 2), 0)))
    local = deposit_module.link_frame(group, np.zeros(3), np.eye(3))
    skin: Any = SimpleNamespace(pads=pads, cloud=cloud)
    taken = deposit_module.deposit(group, window, local, skin, out)
    return out, taken


def covered(middle: float, side: float, count: int, pitch: float) -> np.ndarray:
    """Share of an interval that each of a row of taxels covers: differences of clipped ends."""
    ends = (np.arange(count + 1) - count / 2) * pitch
    return np.diff(np.clip(ends, middle - side / 2, middle + side / 2)) / side


@pytest.mark.parametrize("seed", range(4))
def test_cells_are_shared_by_the_area_that_taxels_cover(seed: int):
    random = np.random.default_rng(seed)
    shift, wide = random.uniform(-0.2, 0.2, (9, 2)), random.uniform(0.5, 1.5, (9, 2))
    group = group_of(shift=shift, wide=wide, weight=1.3, force_n=2.0, friction=(0.4, -0.6, 0.0))
    window = window_of(random.uniform(0.0, 2e5, 9), u_m=-3.3e-3, v_m=2.9e-3, rest=(0.2, -0.3, 0.0))
    out, taken = lay(group, window, flat_pad())
    load = np.zeros((ROWS, COLS))
    for k, pressure in enumerate(window.pressure):
        u = -3.3e-3 + (k // 3 - 1 + shift[k, 0]) * 1.1e-3
        v = 2.9e-3 + (k % 3 - 1 + shift[k, 1]) * 0.9e-3
        rows = covered(u, 1.1e-3 * wide[k, 0], ROWS, ROW_M)
        cols = covered(v, 0.9e-3 * wide[k, 1], COLS, COL_M)
        load += pressure * 1.1e-3 * 0.9e-3 * np.outer(rows, cols)
    whole = window.pressure.sum() * 1.1e-3 * 0.9e-3
    assert 0.05 * whole < load.sum() < 0.95 * whole  # some lies beside the pad
    assert taken == pytest.approx(1.3 / 2.0 * load.sum())
    assert out.load_n[:FIRST].sum() == 0.0
    np.testing.assert_allclose(out.load_n[FIRST:], 0.65 * load.ravel(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(out.normal_n[FIRST:], load.ravel(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(out.shear_n[FIRST:], np.outer(load.ravel(), (0.2, -0.3)), rtol=1e-9, atol=1e-12)


def test_moments_and_area_of_a_patch_within_a_pad_are_those_of_its_cells():
    random = np.random.default_rng(7)
    window = window_of(random.uniform(0.0, 2e5, 9), u_m=0.7e-3, v_m=-1.1e-3)
    out, taken = lay(group_of(), window, flat_pad())
    u, v = 0.7e-3 + (np.arange(9) // 3 - 1) * 1.1e-3, -1.1e-3 + (np.arange(9) % 3 - 1) * 0.9e-3
    force = window.pressure * 1.1e-3 * 0.9e-3
    assert taken == pytest.approx(force.sum())
    np.testing.assert_allclose(out.moment_nm[0], [force @ u, force @ v], rtol=1e-9)
    np.testing.assert_allclose(out.patch_m2[0], [9 * 1.1e-3 * 0.9e-3, 0.0], rtol=1e-9)


@pytest.mark.parametrize("missing", [(), (0, 15), (3, 12)])
def test_the_slanted_skin_has_more_area_than_its_window(missing: tuple[int, ...]):
    """Slopes go by the neighbours that have skin under them, on one side or on both."""
    i, j = np.arange(16) // 4, np.arange(16) % 4
    height = 1e-5 * (1.0 * i + 2.0 * j)  # a plane: every difference gives the same slopes
    gap = np.zeros(16)
    height[list(missing)], gap[list(missing)] = 1.0, MISS
    pressure = np.where(gap > 0.0, 0.0, 1e5)
    group = group_of(grid=4, height=height, gap=gap, shift=np.column_stack([0.1 * i, 0.05 * j]))
    out, taken = lay(group, window_of(pressure), flat_pad())
    stretch = np.sqrt(1.0 + (1e-5 / 1.1e-3 / 1.1) ** 2 + (2e-5 / 0.9e-3 / 1.05) ** 2)
    assert out.normal_n.sum() / taken == pytest.approx(stretch, rel=1e-9)
    assert out.patch_m2[0, 0] == pytest.approx((16 - len(missing)) * 1.1e-3 * 0.9e-3 * stretch, rel=1e-9)


def test_a_plane_of_contacts_is_seen_from_the_link():
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    place = np.array([0.1, -0.2, 0.3])
    local = {
        "origin": (1e-3, 2e-3, 0.0),
        "e1": (1, 0, 0),
        "e2": (0, 1, 0),
        "normal": (0, 0, 1),
        "friction": (0.5, 1.0, 2.0),
    }
    world = {name: turn @ np.array(value, float) for name, value in local.items()}
    world["origin"] += place
    frame = deposit_module.link_frame(group_of(3, force_n=4.0, weight=5.0, **world), place, turn)
    for name, value in local.items():
        seen = np.array(value) / 4.0 if name == "friction" else value
        np.testing.assert_allclose(getattr(frame, name), seen, atol=1e-12)
    assert frame.contact_n == 1.25


@pytest.mark.parametrize("angle", [0.0, 0.6, np.pi / 2, 2.2])
@pytest.mark.parametrize("turned", [False, True])
def test_a_long_cell_that_lies_askew_is_not_the_box_around_it(angle: float, *, turned: bool):
    e1, e2 = np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([-np.sin(angle), np.cos(angle), 0.0])
    long, thin = 6e-3, 0.6e-3
    cell_u, cell_v = (thin, long) if turned else (long, thin)
    group = group_of(grid=1, cell_u=cell_u, cell_v=cell_v, e1=e1, e2=e2)
    out, taken = lay(group, window_of([1.0 / (long * thin)], u_m=0.2e-3), flat_pad())
    a, b = np.meshgrid((np.arange(400) + 0.5) / 400 - 0.5, (np.arange(40) + 0.5) / 40 - 0.5)
    along, across = (e2, e1) if turned else (e1, e2)
    points = 0.2e-3 * e1 + a[..., None] * long * along + b[..., None] * thin * across
    rows, cols = np.floor(points[..., 0] / ROW_M + ROWS / 2), np.floor(points[..., 1] / COL_M + COLS / 2)
    true = np.zeros((ROWS, COLS))
    np.add.at(true, (rows.astype(int), cols.astype(int)), 1.0 / rows.size)
    assert taken == pytest.approx(1.0)
    assert np.abs(out.load_n[FIRST:].reshape(ROWS, COLS) - true).max() < 0.07  # the box about it is off by 0.15
    np.testing.assert_allclose(out.moment_nm[0], 0.2e-3 * e1[:2], atol=1e-12)


@pytest.mark.parametrize(("slipping", "pulls", "slips"), [(False, 1, 0.0), (True, 1, 1.0), (True, 2, 0.0)])
def test_a_contact_without_a_window_is_felt_at_its_point(slipping: bool, pulls: int, slips: float):
    group = group_of(solved=False, force_n=3.0, weight=3.0, origin=(1.5e-3, -2e-3, 0.0), friction=(0.3, 0.9, 0.0))
    out, taken = lay(group, window_of([], slipping=slipping, pulls=pulls), flat_pad())
    taxel = FIRST + 2 * COLS + 0
    assert taken == out.load_n[taxel] == pytest.approx(3.0)
    assert out.load_n.sum() == pytest.approx(3.0)
    np.testing.assert_allclose(out.shear_n[taxel], [0.3, 0.9])
    np.testing.assert_allclose(out.moment_nm[0], [3.0 * 1.5e-3, 3.0 * -2e-3])
    np.testing.assert_allclose(out.patch_m2[0], [1e-12, slips * 1e-12])


@pytest.mark.parametrize("across", [False, True])
def test_what_slips_of_a_cell_is_what_lies_below_the_pressure_of_the_sticking_rim(*, across: bool):
    """The square of pressure falls evenly from 11 to -1: 0.3 of a middle cell (7 to 3) lies below 4.2."""
    squares = np.array([[9.0], [5.0], [1.0]]) * np.ones((3, 3))
    pressure = np.sqrt(squares.T if across else squares).ravel()
    slipping = window_of(pressure, slipping=True, pulls=2, pull=np.zeros((2, 3)), upto_pa=[np.sqrt(4.2), 9.0])
    out, _ = lay(group_of(), slipping, flat_pad())
    area = 1.1e-3 * 0.9e-3
    np.testing.assert_allclose(out.patch_m2[0], [9 * area, 3.9 * area], rtol=1e-9)


def test_pads_of_other_links_and_pads_out_of_reach_take_nothing():
    pads = np.concatenate([flat_pad(link=1), flat_pad(first=20), flat_pad(first=40, centre_m=(0.0, 0.0, 2e-4))])
    beside = np.concatenate([flat_pad(first=60, centre_m=(8.1e-3, 0, 0)), flat_pad(first=80, centre_m=(0, 9.1e-3, 0))])
    window = window_of([1e5], u_m=3.9e-3, v_m=4.4e-3)
    out, taken = lay(group_of(grid=1), window, np.concatenate([pads, beside]).view(np.recarray))
    felt = [out.load_n[first : first + 12].sum() for first in (FIRST, 20, 40, 60, 80)]
    whole = 1e5 * 1.1e-3 * 0.9e-3
    rows, cols = (4.0 - 3.35) / 1.1, (4.5 - 3.95) / 0.9
    assert felt == pytest.approx([0.0, whole * rows * cols, 0.0, whole * 0.35 / 1.1 * cols, whole * rows * 0.25 / 0.9])
    assert taken == pytest.approx(sum(felt))


@pytest.mark.parametrize("degrees", [-20.0, 0.0, 25.0])
def test_round_a_cylinder_columns_go_by_the_arc_and_friction_along_the_skin(degrees: float):
    radius, angle = 8e-3, np.radians(degrees)
    pad = flat_pad(
        chart=CYLINDER_CHART,
        radius_m=radius,
        low_m=-0.01,
        high_m=0.01,
        cols=9,
        col_pitch_m=1e-3,
        centre_m=(0, 0, radius),
    )
    out_of_skin, round_it = np.array([0, np.sin(angle), np.cos(angle)]), np.array([0, np.cos(angle), -np.sin(angle)])
    cell = {"cell_u": 1e-3, "cell_v": 1e-3, "origin": radius * out_of_skin, "e1": (1, 0, 0), "e2": round_it}
    group = group_of(grid=1, normal=out_of_skin, **cell)
    window = window_of([1e6], u_m=1e-3, rest=0.1 * np.array([1.0, 0, 0]) + 0.4 * round_it)
    out, taken = lay(group, window, pad)
    assert taken == pytest.approx(1.0)
    np.testing.assert_allclose(out.moment_nm[0], [1e-3, radius * angle], atol=2e-8)
    np.testing.assert_allclose(out.shear_n.sum(axis=0), [0.1, 0.4], atol=1e-4)
    columns = out.load_n[FIRST:].reshape(ROWS, 9).sum(axis=0)
    np.testing.assert_allclose(columns, covered(radius * angle, 1e-3, 9, 1e-3), atol=2e-3)  # a chord for an arc


def given_points() -> tuple[Any, Cloud]:
    """Three taxels, 2 mm apart along x, with axes of their own."""
    pad = flat_pad(chart=POINTS_CHART, rows=3, cols=1, centre_m=(2e-3, 0, 0))
    points = TaxelPoints(
        points_m=np.array([[0.0, 0, 0], [2e-3, 0, 0], [4e-3, 0, 0]]),
        normals=np.tile([0.0, 0, 1], (3, 1)),
        row_axes=np.array([[1.0, 0, 0], [0, 1, 0], [1, 0, 0]]),
        half_m=np.full((3, 2), 1e-3),
        area_m2=np.full(3, 4e-6),
        reach_m=np.full(3, 1.5e-3),
    )
    cloud = build_cloud([(pad[0], points)])
    return pad, cloud._replace(taxels=cloud.taxels.view(np.recarray))


def test_a_cell_on_a_taxel_that_is_a_given_point_belongs_to_it_whole():
    pad, cloud = given_points()
    group = group_of(grid=1, cell_u=0.5e-3, cell_v=0.5e-3, weight=2.0, origin=(2.3e-3, 0.1e-3, 0.0))
    out, taken = lay(group, window_of([4e6], rest=(0.3, 0.7, 0.0)), pad, cloud)
    np.testing.assert_allclose(out.load_n[FIRST:], [0.0, 2.0, 0.0])
    np.testing.assert_allclose(out.normal_n[FIRST:], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(out.shear_n[FIRST + 1], [0.7, -0.3], atol=1e-12)  # its rows run along y
    np.testing.assert_allclose(out.moment_nm[0], [2.0 * 0.3e-3, 2.0 * 0.1e-3], atol=1e-12)
    assert taken == pytest.approx(2.0)


def test_a_taxel_that_is_a_given_point_feels_more_across_a_slanted_skin():
    pad, cloud = given_points()
    height = 1e-5 * np.array([0.0, 2.0, 1.0, 3.0])
    group = group_of(grid=2, cell_u=0.25e-3, cell_v=0.25e-3, height=height, origin=(2e-3, 0.0, 0.0))
    out, taken = lay(group, window_of([4e6] * 4), pad, cloud)
    stretch = np.sqrt(1.0 + (1e-5 / 0.25e-3) ** 2 + (2e-5 / 0.25e-3) ** 2)
    assert out.normal_n[FIRST + 1] == pytest.approx(stretch * taken, rel=1e-9)


def test_a_cell_between_taxels_that_are_given_points_is_shared_in_pieces():
    pad, cloud = given_points()
    group = group_of(grid=1, cell_u=1e-3, cell_v=0.2e-3, origin=(0.9e-3, 0.0, 0.0))  # 0.4 to 1.4 mm; they meet at 1
    out, taken = lay(group, window_of([5e6]), pad, cloud)
    np.testing.assert_allclose(out.load_n[FIRST:], [0.6, 0.4, 0.0])
    np.testing.assert_allclose(out.moment_nm[0], [-1.1e-3, 0.0], atol=1e-12)
    assert taken == pytest.approx(1.0)
    group.origin = (4.9e-3, 0.0, 0.0)  # 4.4 to 5.4 mm: the last taxel ends at 5
    assert lay(group, window_of([5e6]), pad, cloud)[1] == pytest.approx(0.6)
