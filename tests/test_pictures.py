"""What people see: pictures, films, and values printed in a terminal or a notebook."""

import dataclasses
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import thenar
from tests.posed_hand import draw_palm, posed_world
from thenar import hands
from thenar.display import shade
from thenar.errors import BadFile, BadValue, MissingExtra, UnknownName
from thenar.sim.drawing import render

ROOT = Path(__file__).resolve().parents[1]


def read_png(path: Path) -> np.ndarray:
    """An independent reader of the one kind of PNG we write, through zlib alone."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body = 8, b""
    size = (0, 0)
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        chunk = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + chunk) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        if kind == b"IHDR":
            size = struct.unpack(">II", chunk[:8])
        if kind == b"IDAT":
            body += chunk
        at += 12 + length
    lines = np.frombuffer(zlib.decompress(body), dtype=np.uint8).reshape(size[1], 1 + 3 * size[0])
    assert set(lines[:, 0]) == {2}
    return np.cumsum(lines[:, 1:].reshape(size[1], size[0], 3), axis=0, dtype=np.uint8)


def test_a_written_picture_reads_back_exactly(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (37, 53, 3), dtype=np.uint8)
    render.write_png(tmp_path / "a" / "noise.png", image)
    np.testing.assert_array_equal(read_png(tmp_path / "a" / "noise.png"), image)


@pytest.mark.parametrize("hand", hands.names())
@pytest.mark.parametrize("pose", ["open", "fist"])
def test_every_hand_fills_its_picture_and_nothing_interpenetrates(hand: str, pose: str, tmp_path):
    spec = hands.load(hand)
    world = posed_world(spec, pose)
    assert world.contacts(hand).depth_m.max(initial=0.0) < 1e-3
    image = draw_palm(world, spec, (320, 320)).astype(float)
    background = np.abs(image - image[:, :1]).max(axis=2) < 12.0  # the wall and the floor change only with height
    assert 0.05 < 1.0 - background.mean() < 0.9
    border = np.concatenate([background[:2].ravel(), background[:, -2:].ravel()])
    assert border.all(), "cut off at the top or the right"


@pytest.mark.parametrize("hand", hands.names())
def test_fist_is_closed_and_open_is_open(hand: str):
    spec = hands.load(hand)
    reach = {}
    for pose in ("open", "fist"):
        world = posed_world(spec, pose)
        palm, _ = world.wrists.pose(hand)
        tips = [world.data.site(f"{hand}/{tip.finger}_tip").xpos for tip in spec.tips]
        reach[pose] = np.mean([np.linalg.norm(tip - palm) for tip in tips])
    assert reach["fist"] < 0.8 * reach["open"]


@pytest.mark.parametrize("hand", hands.names())
def test_pinch_touches(hand: str):
    world = posed_world(hands.load(hand), "pinch")
    assert world.contacts(hand).normal_force_n.sum() > 0.1


def test_a_picture_that_cannot_be_written_names_the_file(tmp_path):
    image = np.zeros((2, 2, 3), dtype=np.uint8)
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(BadFile, match=r"folder\.png: cannot be written"):
        render.write_png(tmp_path / "folder.png", image)
    with pytest.raises(BadFile, match=r"must end in \.png"):
        render.write_png(tmp_path / "picture.jpg", image)


def test_an_unknown_pose_lists_the_poses():
    with pytest.raises(UnknownName, match=r"fist.*pinch"):
        posed_world(hands.load("inspire_right"), "victory")


@pytest.mark.parametrize("pose", ["0,0,0", "2", "-0.1", "nan"])
def test_impossible_fractions_are_refused(pose: str):
    with pytest.raises(BadValue, match="pose"):
        posed_world(hands.load("inspire_right"), pose)


def test_pictures_of_the_docs_are_small_enough_for_a_page():
    pictures = list((ROOT / "docs" / "pictures").glob("*.png"))
    assert len(pictures) >= 2 * len(hands.names())
    for path in pictures:
        assert path.stat().st_size < 200_000, path.name


@pytest.fixture(scope="module")
def ball_in_hand() -> thenar.World:
    ball = thenar.Sphere(name="ball", radius_m=0.03, mass_kg=0.3, pos_m=(0.0, 0.0, 0.0302))
    world = thenar.World("inspire_right", props=[ball])
    world.advance(0.3)
    return world


def test_skin_glows_where_it_is_pressed_and_nowhere_else(ball_in_hand):
    tiles = ball_in_hand.tiles()
    frame = ball_in_hand.touch("inspire_right")
    dark = np.abs(tiles.colour - shade(0.0)).max(axis=1) < 1e-9
    np.testing.assert_array_equal(dark, frame.taxel_pressure_pa == 0.0)
    brightest = tiles.pos_m[tiles.colour.sum(axis=1).argmax()]
    ball_m, _ = ball_in_hand.props.pose("ball")
    assert np.linalg.norm(brightest - ball_m) == pytest.approx(0.03, abs=2e-3)


def test_a_pressed_pad_is_brighter_in_the_picture(ball_in_hand):
    seen = ball_in_hand.show(size_px=(320, 240)).image.astype(int)
    camera = render.frame_world(ball_in_hand.physics, size_px=(320, 240))
    with render.Artist(ball_in_hand.physics, size_px=(320, 240)) as artist:
        tiles = ball_in_hand.tiles()
        unlit = dataclasses.replace(tiles, colour=np.broadcast_to(shade(0.0), tiles.colour.shape))
        dark = artist.draw(camera, unlit, glass=0.7).astype(int)
    changed = np.abs(seen - dark).sum(axis=2) > 60
    assert 5 < changed.sum() < 2000
    assert seen[changed].sum() > dark[changed].sum()


def test_looking_changes_nothing_that_follows():
    def run(looking: bool) -> tuple[np.ndarray, np.ndarray]:
        ball = thenar.Sphere(name="ball", radius_m=0.03, mass_kg=0.1, pos_m=(0.0, 0.0, 0.0302))
        world = thenar.World("inspire_right", props=[ball], seed=3)
        world.touch("inspire_right")
        for _ in range(3):
            world.advance(0.05)
            if looking:
                world.show(size_px=(64, 48))
        return world.state("inspire_right").force_n, world.touch("inspire_right").taxel_counts

    for seen, unseen in zip(run(looking=True), run(looking=False), strict=True):
        np.testing.assert_array_equal(seen, unseen)


def test_a_notebook_is_given_a_picture_and_a_film(ball_in_hand, tmp_path):
    shown = ball_in_hand.show(size_px=(64, 48))
    shown.save(tmp_path / "shown.png")
    assert shown._repr_png_() == (tmp_path / "shown.png").read_bytes()
    film = ball_in_hand.film(0.2, fps=10, size_px=(64, 48))
    assert len(film.frames) == 2
    assert film._repr_html_().startswith('<img src="data:image/gif;base64,R0lGODlh')  # GIF89a


def test_a_film_without_its_package_says_what_to_install(ball_in_hand, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "av", None)
    film = ball_in_hand.film(0.1, fps=10, size_px=(64, 48))
    with pytest.raises(MissingExtra, match=r"thenar\[film\]"):
        film.save(tmp_path / "film.gif")


def test_a_film_of_another_kind_is_refused(ball_in_hand, tmp_path):
    with pytest.raises(BadFile, match=r"\.gif or \.mp4"):
        ball_in_hand.film(0.1, fps=10, size_px=(64, 48)).save(tmp_path / "film.avi")


def test_a_printed_state_names_motors_and_units(ball_in_hand):
    state = ball_in_hand.state("inspire_right")
    text, page = repr(state), state._repr_html_()
    for word in ("thumb_rotation", "angle_rad", "force_n", "temperature_c", "POSITION_REACHED"):
        assert word in text
        assert word in page
    assert f"{state.angle_rad[0]:.3f}" in text


def test_a_printed_state_shows_no_invented_numbers():
    state = thenar.World("shadow_right").state("shadow_right")
    assert all(line.split()[5:7] == ["-", "-"] for line in repr(state).splitlines()[2:])


def test_a_printed_touch_frame_draws_the_pressed_pads(ball_in_hand):
    frame = ball_in_hand.touch("inspire_right")
    text = repr(frame)
    assert f"{frame.force_n['palm']:.2f} N" in text
    assert "17 pads" in text
    grid = text.splitlines()[2 : 2 + 8]
    lit = np.array([[row[2 * col : 2 * col + 2] != " ·" for col in range(14)] for row in grid])
    np.testing.assert_array_equal(lit, frame["palm"] > 0.0)
    assert frame._repr_html_().count("data:image/png") == 17


def test_a_touch_frame_of_an_idle_hand_prints():
    assert "0.00 N on 0 of 17 pads" in repr(thenar.World("inspire_left").touch("inspire_left"))
