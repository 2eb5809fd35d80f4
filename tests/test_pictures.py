"""Pictures: they show the hand, fit on a page, and say what is missing when they cannot be drawn."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from thenar import hands
from thenar.errors import BadFile, BadValue, UnknownName
from thenar.sim import picture

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
    picture.write_png(tmp_path / "a" / "noise.png", image)
    np.testing.assert_array_equal(read_png(tmp_path / "a" / "noise.png"), image)


@pytest.mark.parametrize("hand", hands.names())
@pytest.mark.parametrize("pose", ["open", "fist"])
def test_every_hand_fills_its_picture_and_nothing_interpenetrates(hand: str, pose: str, tmp_path):
    spec = hands.load(hand)
    world = picture.posed_world(spec, pose)
    assert world.contacts(hand).depth_m.max(initial=0.0) < 1e-3
    image = picture.draw_posed(world, spec, view="palm", size_px=(320, 320)).astype(float)
    background = np.abs(image - image[:, :1]).max(axis=2) < 12.0  # the wall and the floor change only with height
    assert 0.05 < 1.0 - background.mean() < 0.9
    border = np.concatenate([background[:2].ravel(), background[:, -2:].ravel()])
    assert border.all(), "cut off at the top or the right"


@pytest.mark.parametrize("hand", hands.names())
def test_fist_is_closed_and_open_is_open(hand: str):
    spec = hands.load(hand)
    reach = {}
    for pose in ("open", "fist"):
        world = picture.posed_world(spec, pose)
        palm, _ = world.wrist(hand)
        tips = [world.data.site(f"{hand}/{tip.finger}_tip").xpos for tip in spec.tips]
        reach[pose] = np.mean([np.linalg.norm(tip - palm) for tip in tips])
    assert reach["fist"] < 0.8 * reach["open"]


@pytest.mark.parametrize("hand", hands.names())
def test_pinch_touches(hand: str):
    world = picture.posed_world(hands.load(hand), "pinch")
    assert world.contacts(hand).normal_force_n.sum() > 0.1


def test_a_picture_that_cannot_be_written_names_the_file(tmp_path):
    image = np.zeros((2, 2, 3), dtype=np.uint8)
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(BadFile, match=r"folder\.png: cannot be written"):
        picture.write_png(tmp_path / "folder.png", image)
    with pytest.raises(BadFile, match=r"must end in \.png"):
        picture.write_png(tmp_path / "picture.jpg", image)


def test_an_unknown_pose_lists_the_poses():
    with pytest.raises(UnknownName, match=r"fist.*pinch"):
        picture.posed_world(hands.load("inspire_right"), "victory")


@pytest.mark.parametrize("pose", ["0,0,0", "2", "-0.1", "nan"])
def test_impossible_fractions_are_refused(pose: str):
    with pytest.raises(BadValue, match="pose"):
        picture.posed_world(hands.load("inspire_right"), pose)


def test_pictures_of_the_docs_are_small_enough_for_a_page():
    pictures = list((ROOT / "docs" / "pictures").glob("*.png"))
    assert len(pictures) >= 2 * len(hands.names())
    for path in pictures:
        assert path.stat().st_size < 200_000, path.name
