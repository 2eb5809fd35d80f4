"""Pads and taxels lie on the skin, where the sheet puts them."""

import numpy as np
import pytest

from tests.oracles import sheet_kinematics as sheet
from thenar import hands
from thenar.errors import UnknownName
from thenar.hands.charts import taxel_points
from thenar.hands.shapes import Box, Capsule

HANDS = ["inspire_right", "inspire_left"]


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


@pytest.mark.parametrize("hand", HANDS)
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
