"""A hand that nobody foresaw: one file and one call, and everything that takes a hand takes it."""

import sys
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import thenar
from tests.posed_hand import draw_palm, posed_world
from tests.toys.pincer import HAND
from thenar import hands
from thenar.cli import main
from thenar.errors import BadFile, BadValue
from thenar.hands.export import FORMATS, Format, export_hand
from thenar.hands.spec import TaxelPoints

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hands, "_REGISTERED", {})
    hands.register(HAND)


def test_it_is_listed_and_loaded_by_name(capsys):
    assert hands.names()[-1] == "pincer"
    assert hands.load("pincer") is HAND
    main(["hands"])
    assert "pincer" in capsys.readouterr().out


def test_a_name_of_the_catalogue_stays_that_of_the_catalogue():
    with pytest.raises(BadValue, match="not in the catalogue"):
        hands.register(hands.load("reflex"))


def test_a_model_file_in_place_of_a_hand_is_told_what_it_needs(tmp_path: Path):
    with pytest.raises(BadValue, match="a TOML file that names this one and its fingers"):
        thenar.World("my_hand.urdf")
    with pytest.raises(BadFile, match="cannot be read"):
        hands.load(tmp_path / "my_hand.toml")


def test_it_moves_as_commanded_and_feels_what_it_holds():
    ball = thenar.Sphere(name="ball", radius_m=0.012, pos_m=(0.0, 0.0, 0.05), fixed=True)
    world = thenar.World("pincer", props=[ball], profile="ideal")
    world.command("pincer", thenar.HandCommand.closing(1.0))
    world.advance(1.0)
    held = world.touch("pincer")
    normal_n = [held[pad.name].sum() * pad.row_pitch_m * pad.col_pitch_m for pad in HAND.pads]
    assert min(normal_n) > 1.0
    assert normal_n[0] == pytest.approx(normal_n[1], rel=0.05)  # the hand and the ball are symmetric
    world.command("pincer", thenar.HandCommand.closing(0.0))
    world.advance(1.0)
    np.testing.assert_allclose(world.state("pincer").angle_rad, 0.0, atol=1e-3)


def test_it_is_drawn():
    image = draw_palm(posed_world(HAND, "fist"), HAND, (160, 160))
    assert image.std() > 5.0


@pytest.mark.parametrize("format", FORMATS)
def test_its_exported_model_has_its_joints_and_sensors(format: Format):
    text = export_hand(hands.load("pincer"), format=format)
    assert all(f'{joint}"' in text for joint in HAND.joint_names)  # in xacro behind the hand's name
    assert all(f"{pad.name}_sensor" in text for pad in HAND.pads)
    if format in ("urdf", "mjcf"):  # what MuJoCo reads
        assert mujoco.MjModel.from_xml_string(text).njnt == 2


def test_a_pad_of_taxels_anywhere_is_one_sensor_at_its_centre_too():
    count = HAND.pads[0].taxels
    points = TaxelPoints(
        points_m=np.tile(HAND.pads[0].centre_m, (count, 1)),
        normals=np.tile(HAND.pads[0].normal, (count, 1)),
        row_axes=np.tile(HAND.pads[0].row_axis, (count, 1)),
        half_m=np.full((count, 2), 0.001),
        reach_m=np.full(count, 0.002),
        area_m2=np.full(count, 4e-6),
    )
    assert count > 1
    anywhere = replace(HAND, pads=(replace(HAND.pads[0], chart="points", points=points), *HAND.pads[1:]))
    assert export_hand(anywhere, format="sdf") == export_hand(HAND, format="sdf")


def test_its_page_says_what_each_number_stands_on():
    from generate import hand_page

    page = hand_page(HAND)
    assert "| kinematics, limits | made up for the tests |" in page
    assert "| protocols | absent |" in page
