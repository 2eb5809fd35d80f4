"""Files that are broken, nested without end, full of NaN or cannot be written: the file is named, nothing is lost."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from test_own_model import mapping, own_urdf

import thenar
from thenar import hands
from thenar.cli import main
from thenar.errors import BadFile, SimulationDiverged
from thenar.glove.files import read_log, write_log
from thenar.glove.make import make_log
from thenar.hands.own_model import read_own_model
from thenar.humanoid.control.robot_config import load_config
from thenar.humanoid.state import archive
from thenar.humanoid.state.robot_data import RobotData
from thenar.retarget.fit import load_map
from thenar.touch.calibrate import read_recording
from thenar.touch.calibrate.press_recording import write_recording
from thenar.touch.calibrate.synthetic import make_recording
from thenar.touch.sensor.calibration import load_calibration

REFLEX = hands.load("reflex")


def _glove(path: Path) -> None:
    write_log(path, make_log(("fist",), layout="manus25"))


def _presses(path: Path) -> None:
    write_recording(path, make_recording(REFLEX, "finger_1_tip", rate_hz=2.0))


def _snapshot(path: Path) -> None:
    archive.save_npz(RobotData().snapshot(), path)


ARCHIVES: dict[str, tuple[Callable[[Path], None], Callable[[Path], object]]] = {
    "glove": (_glove, read_log),
    "presses": (_presses, read_recording),
    "robot data": (_snapshot, archive.load_npz),
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_npz_file_that_ends_too_early_or_is_damaged_is_refused_by_name(kind: str, tmp_path: Path):
    write, read = ARCHIVES[kind]
    path = tmp_path / "whole.npz"
    write(path)
    read(path)  # the control
    whole, seeded, refused = path.read_bytes(), np.random.default_rng(1), 0
    broken = [whole[: int(part)] for part in np.linspace(0, len(whole) - 1, 25)]
    for place in seeded.integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[place] ^= int(seeded.integers(1, 256))
        broken.append(bytes(damaged))
    for body in broken:
        path.write_bytes(body)
        with suppress(BadFile):  # damage to a name or a date inside goes unseen
            read(path)
            refused -= 1
        refused += 1
    assert refused > 40
    with pytest.raises(BadFile, match=r"(?i)no such file"):
        read(tmp_path / "absent.npz")


DEEP = 20_000
NESTED: dict[str, tuple[str, Callable[[Path], object]]] = {
    "calibration.toml": ("a = " + "[" * DEEP, lambda path: load_calibration(path, REFLEX)),
    "mapping.toml": ("a = " + "[" * DEEP, read_own_model),
    "map.json": ("[" * DEEP, load_map),
    "body.yaml": ("[" * DEEP, load_config),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_file_that_is_nested_without_end_is_refused_by_name(name: str, tmp_path: Path):
    text, read = NESTED[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(BadFile, match=name):
        read(path)
    if path.suffix == ".toml":
        path.write_text("a = " + "9" * 5000)
        with pytest.raises(BadFile, match=name):
            read(path)


def test_every_verb_that_writes_a_file_says_when_it_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    blocked = tmp_path / "file"  # nothing can be inside a file, not even for root
    blocked.write_text("")
    glove = tmp_path / "glove.csv"
    main(["glove", "make", str(glove), "--gestures", "fist"])
    for words in (
        f"glove make {blocked}/a.csv --gestures fist",
        f"glove make {blocked}/a.npz --gestures fist",
        f"glove animate {glove} --out {blocked}/a.html",
        f"export reflex -o {blocked}/a.urdf",
        f"retarget {glove} --hand inspire_right -o {blocked}/a.npz",
        f"retarget {glove} --hand inspire_right -o {blocked}/a.csv",
        f"retarget fit {glove} --hand inspire_right -o {blocked}/a.json",
        f"drop --count 1 --seconds 0.1 --record {blocked}/a.csv --json",
        f"touch press --plot {blocked}/a.png --json",
    ):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(words.split())
        told = " ".join(capsys.readouterr().err.split())
        assert ended.value.code == 2, words
        assert "cannot be written" in told, (words, told)
    for write, _ in ARCHIVES.values():
        with pytest.raises(BadFile, match="cannot be written"):
            write(blocked / "a.npz")
    assert blocked.read_text() == ""


# A hand of one's own.

WRONG = {
    "place": ('xyz="0.05 -0.03 0.02"', 'xyz="nan -0.03 0.02"', "body_pos of turn_a is"),
    "turn": ('<origin xyz="0.05 -0.03', '<origin rpy="0 nan 0" xyz="0.05 -0.03', "body_quat of turn_a is"),
    "axis": ('axis xyz="0 -1 0"', 'axis xyz="nan -1 0"', "jnt_axis of base_a is"),
    "limit": ('lower="0.0" upper="3.1"', 'lower="nan" upper="3.1"', "jnt_range of base_a is"),
    "mass": ('mass value="0.03"', 'mass value="nan"', "mass and inertia"),
    "size": ('box size="0.03 0.01', 'box size="nan 0.01', "nan size"),
    "damaged mesh": ('<box size="0.03 0.01 0.01"/>', '<mesh filename="m.stl"/>', "stl_decoder"),
    "unknown mesh": ('<box size="0.03 0.01 0.01"/>', '<mesh filename="m.dae"/>', "no decoder"),
    "absent mesh": ('<box size="0.03 0.01 0.01"/>', '<mesh filename="absent.obj"/>', "opening file"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_model_with_nan_or_a_mesh_that_cannot_be_read_is_refused_by_name(
    what: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    right, wrong, says = WRONG[what]
    (tmp_path / "m.stl").write_bytes(bytes(range(256)))
    (tmp_path / "m.dae").write_text("<COLLADA/>")
    assert right in own_urdf()
    file = mapping(tmp_path, own_urdf().replace(right, wrong))
    with pytest.raises(BadFile, match=says) as refused:
        thenar.World(hands.load(str(file)))
    assert "mine.urdf" in str(refused.value)
    ends = {"thumb": ("upper_c", (0.03, 0.0, 0.0)), "index": ("upper_a", (0.03, 0.0, 0.0))}
    with pytest.raises(BadFile, match=r"mine\.urdf"):
        hands.from_file(tmp_path / "mine.urdf", ends)
    assert capfd.readouterr().err == ""
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()


def test_a_simulation_that_breaks_is_told_in_words_and_leaves_no_file_behind(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    world = thenar.World("reflex")
    world.data.qvel[:] = 1e12
    with pytest.raises(SimulationDiverged, match="velocities out of range") as broken:
        world.advance(0.05)
    assert "BADQ" not in str(broken.value)
    assert capfd.readouterr().err == ""
    assert list(tmp_path.iterdir()) == []
