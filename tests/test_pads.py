"""Pads and taxels lie on the skin, where the sheet puts them."""

import math
from collections import Counter

import numpy as np
import pytest

import thenar
from tests.oracles import sheet_kinematics as sheet
from thenar import hands
from thenar.errors import UnknownName
from thenar.hands.pad_charts import taxel_points
from thenar.hands.shapes import Box, Capsule
from thenar.sim.press import parse_indenter
from thenar.touch.lay_pads import check_overlaps
from thenar.touch.solver.pads import build_pads, taxel_areas_m2
from thenar.twin.reports.press_report import press_pad

HANDS = ["inspire_right", "inspire_left"]
SHADOWS = ["shadow_right", "shadow_left"]

# Sites of gymnasium-robotics' hand with 92 touch sensors, in the frames of their links [mm]: centre, and half edges of
# a box or the radius of a ball. Its thumb is turned against ours, and has its own x where ours has y.
SITES_MM = {
    "palm_b0": ((11, -5, 6), (33, 7, 19)),
    "palm_bl": ((-11, -5, 41), (11, 7, 16)),
    "palm_fr": ((33, -5, 73), (11, 7, 16)),
    "palm_b1": ((-32.5, -5, 14), (12, 7, 27)),
    "ffproximal_front_left_bottom": ((-5, -5, 6.25), (5, 5, 16.25)),
    "ffproximal_front_right_top": ((5, -5, 38.75), (5, 5, 16.25)),
    "lfproximal_back_left": ((-5, 5, 22.5), (5, 5, 32.5)),
    "mfproximal_tip": ((0, 0, 45), (11,)),
    "rfmiddle_back_right": ((4.51, 4.51, 12.5), (4.51, 4.51, 20.55)),
    "mftip_front_left": ((-4.51, -4.51, 12), (4.51, 4.51, 19.05)),
    "fftip_tip": ((0, 0, 24), (8,)),
    "thproximal_front_left": ((-7, -7, 19), (7, 7, 32)),
    "thmiddle_back_left": ((-6, 6, 16), (6, 6, 27)),
    "thmiddle_tip": ((0, 0, 32), (12,)),
    "thtip_front_right": ((5.6, -5.6, 13), (5.6, 5.6, 22.18)),
    "thtip_tip": ((0, 0, 26), (10,)),
}


def distance_to_skin(skin: Capsule | Box, points: np.ndarray) -> np.ndarray:
    """Signed distance of points to a capsule, or to a box from outside [m]."""
    if isinstance(skin, Capsule):
        start, end = np.array(skin.start_m), np.array(skin.end_m)
        along = end - start
        t = np.clip((points - start) @ along / (along @ along), 0.0, 1.0)
        return np.linalg.norm(points - start - t[..., None] * along, axis=-1) - skin.radius_m
    gap = np.abs(points - np.array(skin.centre_m)) - np.array(skin.half_m)
    return gap.max(axis=-1)


@pytest.mark.parametrize("hand", HANDS)
def test_there_are_17_pads_with_1062_taxels_under_the_agreed_names(hand: str):
    spec = hands.load(hand)
    assert {pad.name for pad in spec.pads} == set(sheet.PADS[hand])
    assert len(spec.pads) == 17
    assert spec.taxels == 1062


@pytest.mark.parametrize("hand", HANDS)
def test_pads_have_the_sheets_place_and_grid(hand: str):
    spec = hands.load(hand)
    for name, wanted in sheet.PADS[hand].items():
        pad = spec.pad(name)
        assert (pad.link, pad.rows, pad.cols) == (wanted.link, wanted.rows, wanted.cols)
        np.testing.assert_allclose(pad.centre_m, wanted.centre_m, atol=1e-4, err_msg=name)
        if wanted.pitch_m is not None:
            np.testing.assert_allclose((pad.row_pitch_m, pad.col_pitch_m), wanted.pitch_m, rtol=0.1)


@pytest.mark.parametrize("hand", [*HANDS, *SHADOWS])
def test_taxels_lie_on_the_skin_with_outward_normals(hand: str):
    spec = hands.load(hand)
    for pad in spec.pads:
        points, normals = taxel_points(spec, pad)
        skin = spec.link(pad.link).skin
        assert isinstance(skin, Capsule | Box)
        np.testing.assert_allclose(distance_to_skin(skin, points), 0.0, atol=1e-6, err_msg=pad.name)
        np.testing.assert_allclose(np.linalg.norm(normals, axis=-1), 1.0)
        step = 1e-5
        np.testing.assert_allclose(distance_to_skin(skin, points + step * normals), step, rtol=1e-2)


@pytest.mark.parametrize("hand", HANDS)
def test_neighbouring_taxels_are_a_pitch_apart_along_the_skin(hand: str):
    spec = hands.load(hand)
    for pad in spec.pads:
        points, _ = taxel_points(spec, pad)
        rows = np.linalg.norm(np.diff(points, axis=0), axis=-1)
        cols = np.linalg.norm(np.diff(points, axis=1), axis=-1)
        # A chord is shorter than its arc, by under one percent at these pitches and radii.
        np.testing.assert_allclose(rows, pad.row_pitch_m, rtol=0.02)
        np.testing.assert_allclose(cols, pad.col_pitch_m, rtol=0.02)


def test_row_one_of_a_finger_pad_is_nearest_to_the_fingertip():
    spec = hands.load("inspire_right")
    for finger in ("little", "ring", "middle", "index"):
        points, _ = taxel_points(spec, spec.pad(f"{finger}_top"))
        assert np.all(np.diff(points[:, 0, 1]) < 0.0)


def test_left_taxels_are_the_mirror_of_the_right_ones():
    right, left = hands.load("inspire_right"), hands.load("inspire_left")
    for name, reflect in (("palm", (-1, 1, 1)), ("index_top", (1, 1, -1)), ("thumb_tip", (-1, 1, 1))):
        points, normals = taxel_points(right, right.pad(name))
        mirror_points, mirror_normals = taxel_points(left, left.pad(name))
        np.testing.assert_allclose(mirror_points, points * reflect, atol=1e-9)
        np.testing.assert_allclose(mirror_normals, normals * reflect, atol=1e-9)


def test_unknown_pad_lists_the_pads():
    with pytest.raises(UnknownName, match="index_top"):
        hands.load("inspire_right").pad("index")


@pytest.mark.parametrize("hand", HANDS)
def test_rows_and_columns_grow_the_way_the_pad_says(hand: str):
    spec = hands.load(hand)
    for pad in spec.pads:
        points, _ = taxel_points(spec, pad)
        along, across = points[-1, 0] - points[0, 0], points[0, -1] - points[0, 0]
        columns = np.cross(pad.normal, pad.row_axis) * (-1.0 if hand == "inspire_left" else 1.0)
        assert along @ np.array(pad.row_axis) > 0.9 * np.linalg.norm(along), pad.name
        assert across @ columns > 0.9 * np.linalg.norm(across), pad.name


def test_regions_of_the_92_lie_within_gymnasium_robotics_own_sites():
    spec = hands.load("shadow_right", variant="touch_92")
    assert [len(spec.pads), spec.taxels] == [92, 92]
    assert [pad.name for pad in spec.pads[:2]] == ["palm_b0", "palm_bl"]
    fingers = Counter(pad.name[:2] for pad in spec.pads)
    assert fingers == {"pa": 8, "ff": 17, "mf": 17, "rf": 17, "lf": 18, "th": 15}
    for name, (centre_mm, size_mm) in SITES_MM.items():
        x, y, z = 1e3 * np.array(spec.pad(name).centre_m)
        away = np.subtract((y, -x, z) if name.startswith("th") else (x, y, z), centre_mm)
        off_mm = np.abs(away) - size_mm if len(size_mm) == 3 else np.linalg.norm(away) - size_mm[0]
        assert np.max(off_mm) < 0.01, name


@pytest.mark.parametrize("hand", SHADOWS)
@pytest.mark.parametrize("variant", [None, "touch_92"])
def test_no_two_pads_of_the_shadow_hand_claim_one_place(hand: str, variant: str | None):
    spec = hands.load(hand, variant=variant)
    infinite = {pad.name: math.inf for pad in spec.pads}
    check_overlaps(spec, build_pads(spec, modulus_pa=infinite, thickness_m=infinite))


def test_regions_of_a_finger_cover_all_of_it():
    spec = hands.load("shadow_left", variant="touch_92")
    skin = spec.link("mfproximal").skin
    assert isinstance(skin, Capsule)
    area = sum(taxel_areas_m2(spec, pad).sum() for pad in spec.pads if pad.link == "mfproximal")
    side, end = 2 * math.pi * skin.radius_m * skin.length_m, 2 * math.pi * skin.radius_m**2
    assert area == pytest.approx(side + end, rel=1e-9)


def test_a_fist_of_the_shadow_hand_is_felt_by_the_regions_that_meet():
    forces = []
    for side in ("left", "right"):
        spec = hands.load(f"shadow_{side}", variant="touch_92")
        world = thenar.World(spec, profile="ideal")
        world.command(spec.name, thenar.HandCommand.closing(0.9))
        world.advance(1.0)
        touch = world.touch(spec.name)
        assert touch.pad_force_n.sum() + touch.bare_skin_n == pytest.approx(touch.contact_n, rel=1e-9)
        assert touch.pad_force_n.sum() > 0.9 * touch.contact_n > 10.0
        forces.append(touch.pad_force_n)
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("pad", ["ff_tip", "th_pad"])
def test_a_ball_on_a_shadow_fingertip_is_felt_as_hertz_says(pad: str):
    felt = press_pad(hands.load("shadow_right"), pad, parse_indenter("sphere:10mm"), force_n=2.0, at_m=(3e-4, -5e-4))
    assert felt.relative_l2 < 0.05
