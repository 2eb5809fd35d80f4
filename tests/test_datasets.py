"""Data sets for learning: LeRobot's and Unitree's, made out of recordings and acted out by a twin."""

import json
from pathlib import Path

import numpy as np
import pytest

import thenar
from thenar.errors import BadFile, BadValue
from thenar.recordings.lerobot import flat_names, read_lerobot
from thenar.recordings.resample import episodes_of, resample
from thenar.recordings.unitree import read_unitree
from thenar.twin.recording.convert import act_out, convert, in_radians, motor_columns

HANDS = ("inspire_left", "inspire_right")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sets") / "two.mcap"
    world = thenar.World(HANDS, scene="in_hand", seed=1)
    with thenar.record(world, path) as tape:
        for task, closed in (("close", 0.9), ("open a little", 0.3)):
            tape.episode(task)
            for hand in HANDS:
                world.command(hand, thenar.HandCommand.closing(closed, speed=1.0))
            world.advance(0.7)
    return path


def test_a_frame_has_what_was_newest_then_and_nothing_from_later(recorded: Path):
    rec = thenar.Recording(recorded)
    frames = resample(rec, rec.episodes[0], fps=30)
    motors = rec.motors("inspire_left")
    for row in (0, 7, 20):
        before = motors.stamp_s <= frames.time_s[row] + 1e-9
        np.testing.assert_array_equal(frames.state_rad[row, :6], motors.angle_rad[before][-1].astype(np.float32))
    assert np.diff(frames.time_s) == pytest.approx(1 / 30)
    assert frames.state_names[0] == "inspire_left.little"


def test_a_recording_without_episodes_is_one_with_the_task_that_is_given(recorded: Path):
    (whole,) = episodes_of(thenar.Recording(recorded), task="everything")
    assert (whole.task, whole.start_s) == ("everything", 0.0)
    assert whole.end_s == pytest.approx(1.4)


def test_a_lerobot_data_set_comes_back_bit_for_bit(recorded: Path, tmp_path: Path):
    frames = convert([recorded], tmp_path / "set", fps=30)
    back = read_lerobot(tmp_path / "set")
    assert [episode.task for episode in back] == ["close", "open a little"]
    for mine, its in zip(frames, back, strict=True):
        np.testing.assert_array_equal(its.state, mine.state_rad)
        np.testing.assert_array_equal(its.action, mine.action_rad)
        np.testing.assert_array_equal(its.tactile["right"], mine.tactile["inspire_right"])
    assert back[0].tactile["right"].max() > 0.0  # there is touch in it
    info = json.loads((tmp_path / "set/meta/info.json").read_text())
    assert info["features"]["observation.tactile.left"]["shape"] == [1062]
    assert info["features"]["observation.tactile.left"]["names"][0] == "little_tip.0.0"


def test_statistics_of_the_whole_are_those_of_all_frames(recorded: Path, tmp_path: Path):
    frames = convert([recorded], tmp_path / "set", fps=50)
    stats = json.loads((tmp_path / "set/meta/stats.json").read_text())["observation.state"]
    everything = np.concatenate([one.state_rad for one in frames]).astype(np.float64)
    np.testing.assert_allclose(stats["mean"], everything.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(stats["std"], everything.std(axis=0), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(stats["max"], everything.max(axis=0), rtol=1e-6)
    assert stats["count"] == [len(everything)]


def test_forces_stand_behind_the_angles_when_asked_for(recorded: Path, tmp_path: Path):
    convert([recorded], tmp_path / "set", fps=30, pad_forces=True)
    feature = json.loads((tmp_path / "set/meta/info.json").read_text())["features"]["observation.state"]
    assert feature["shape"] == [12 + 12 + 34]
    assert feature["names"][12] == "inspire_left.little.force_n"
    assert feature["names"][-1] == "inspire_right.palm.force_n"


def film_of(folder: Path, camera: str) -> np.ndarray:
    """Pictures of a camera in a LeRobot data set. Shape (T, height, width, 3)."""
    import av

    (film,) = (folder / f"videos/observation.images.{camera}").rglob("*.mp4")
    with av.open(film) as container:
        return np.array([picture.to_ndarray(format="rgb24") for picture in container.decode(video=0)], dtype=float)


def test_pictures_are_drawn_in_a_replay_one_for_every_frame_and_wrists_carry_cameras(recorded: Path, tmp_path: Path):
    cameras = {"front": None, "right_wrist": "right_wrist", "other": "left_wrist"}
    frames = convert([recorded], tmp_path / "set", fps=5, cameras=cameras, size_px=(64, 48))
    pictures = film_of(tmp_path / "set", "front")
    assert len(pictures) == sum(len(one.time_s) for one in frames)
    assert pictures[0].shape == (48, 64, 3)
    assert np.abs(pictures[0] - pictures[-1]).max() > 30.0  # the hands have moved
    held = {camera: film_of(tmp_path / "set", camera)[0, 20:28, 28:36].mean(axis=(0, 1)) for camera in cameras}
    assert held["right_wrist"][0] > held["right_wrist"][2] + 60.0  # a yellow ball
    assert held["other"][2] > held["other"][0] + 60.0  # a blue can
    with pytest.raises(BadValue, match="camera top is 'third_wrist'; wanted a wrist of the recording: left_wrist"):
        convert([recorded], tmp_path / "more", cameras={"top": "third_wrist"})


def test_unitree_episodes_have_touch_and_come_back(recorded: Path, tmp_path: Path):
    frames = convert(
        [recorded], tmp_path / "task", fps=30, format="unitree", cameras={"color_0": None}, size_px=(64, 48)
    )
    back = read_unitree(tmp_path / "task")
    assert [episode.task for episode in back] == ["close", "open a little"]
    assert back[0].tactiles["left"].shape == (len(frames[0].time_s), 1062)
    spec = thenar.hands.load("inspire_right")
    opened = 1.0 - (frames[0].state_rad[:, 6] - spec.open_rad[0]) / (spec.closed_rad[0] - spec.open_rad[0])
    np.testing.assert_allclose(back[0].states["right"][:, 0], opened, atol=1e-6)
    assert back[0].actions["right"][-1, 0] == pytest.approx(0.1, abs=1e-6)
    (first, *_) = sorted((tmp_path / "task/episode_0000/colors").iterdir())
    assert first.read_bytes()[:2] == b"\xff\xd8"  # a JPEG


def test_an_episode_whose_writer_was_killed_is_mended(recorded: Path, tmp_path: Path):
    convert([recorded], tmp_path / "task", fps=30, format="unitree")
    path = tmp_path / "task/episode_0000/data.json"
    whole = read_unitree(tmp_path / "task")[0]
    text = path.read_text()
    path.write_text(text[: len(text) * 2 // 3])
    cut = read_unitree(tmp_path / "task")[0]
    assert "whole frames were kept" in cut.mended
    assert 5 < len(cut.states["left"]) < len(whole.states["left"])
    np.testing.assert_array_equal(cut.states["left"], whole.states["left"][: len(cut.states["left"])])


def test_a_twin_acts_a_data_set_out(recorded: Path, tmp_path: Path):
    frames = convert([recorded], tmp_path / "set", fps=50)
    assert act_out(tmp_path / "set", tmp_path / "again.mcap", seed=1) == 2
    again = thenar.Recording(tmp_path / "again.mcap")
    assert [episode.task for episode in again.episodes] == ["close", "open a little"]
    mine = resample(again, again.episodes[0], fps=50)
    rows = min(len(mine.time_s), len(frames[0].time_s))
    np.testing.assert_allclose(mine.action_rad[5:rows], frames[0].action_rad[5:rows], atol=1e-5)
    assert np.abs(mine.state_rad[rows - 1] - frames[0].state_rad[rows - 1]).max() < 0.1


def test_unitree_episodes_are_acted_out_too(recorded: Path, tmp_path: Path):
    convert([recorded], tmp_path / "task", fps=30, format="unitree")
    assert act_out(tmp_path / "task", tmp_path / "again.mcap", hands=["inspire_right"]) == 2
    commands = thenar.Recording(tmp_path / "again.mcap").commands("inspire_right")
    spec = thenar.hands.load("inspire_right")
    closed = (commands.position_rad[18] - spec.open_rad) / (spec.closed_rad - spec.open_rad)
    assert closed == pytest.approx(0.9, abs=1e-5)


def test_episodes_of_another_hand_are_not_acted_out_as_an_inspire_hand_s(recorded: Path, tmp_path: Path):
    convert([recorded], tmp_path / "task", fps=30, format="unitree")
    for path in sorted((tmp_path / "task").glob("*/data.json")):
        body = json.loads(path.read_text())
        body["info"]["joint_names"]["right_ee"] = [f"right_hand_{name}_joint" for name in ("thumb_0", "index_0")]
        path.write_text(json.dumps(body))
    with pytest.raises(BadFile, match="its right hand has right_hand_thumb_0_joint"):
        act_out(tmp_path / "task", tmp_path / "again.mcap", hands=["inspire_right"])
    for path in sorted((tmp_path / "task").glob("*/data.json")):
        body = json.loads(path.read_text())
        body["info"]["joint_names"]["right_ee"] = []  # as some files have them
        for item in body["data"]:
            item["actions"]["right_ee"]["qpos"].append(0.5)
        path.write_text(json.dumps(body))
    with pytest.raises(BadFile, match="its right hand has 7 motors"):
        act_out(tmp_path / "task", tmp_path / "again.mcap", hands=["inspire_right"])


def test_motors_of_an_episode_are_found_by_name_whatever_their_order(recorded: Path, tmp_path: Path):
    convert([recorded], tmp_path / "task", fps=30, format="unitree")
    for path in sorted((tmp_path / "task").glob("*/data.json")):
        body = json.loads(path.read_text())
        body["info"]["joint_names"]["right_ee"].reverse()
        for item in body["data"]:
            item["actions"]["right_ee"]["qpos"] = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
        path.write_text(json.dumps(body))
    act_out(tmp_path / "task", tmp_path / "again.mcap", hands=["inspire_right"])
    spec = thenar.hands.load("inspire_right")
    sent = thenar.Recording(tmp_path / "again.mcap").commands("inspire_right").position_rad[0]
    opened = 1.0 - (sent - spec.open_rad) / (spec.closed_rad - spec.open_rad)
    by_name = dict(zip(spec.actuator_names, opened.round(3).tolist(), strict=True))
    assert by_name["little"] == 0.4
    assert by_name["thumb_rotation"] == 0.9


@pytest.mark.parametrize(
    "names",
    [
        [["kRightHandPinky", "kRightHandRing", "kRightHandMiddle", "kRightHandIndex"], ["kRightHandThumbBend"]],
        {"motors": ["right_little", "right_ring", "right_middle", "right_index", "right_thumb_bend"]},
    ],
)
def test_motors_are_found_by_the_names_that_others_use(names: object):
    flat = ("left_arm_0", *flat_names(names), "right_thumb_rotation")
    assert motor_columns(flat, thenar.hands.load("inspire_right")) == [1, 2, 3, 4, 5, 6]
    assert motor_columns(flat, thenar.hands.load("inspire_left")) is None


def test_numbers_whose_meaning_nobody_told_are_not_guessed():
    spec = thenar.hands.load("inspire_right")
    with pytest.raises(BadValue, match="closed"):
        in_radians(np.zeros((1, 6)), spec, None)
    np.testing.assert_allclose(in_radians(np.ones((1, 6)), spec, "open")[0], spec.open_rad)
    np.testing.assert_allclose(in_radians(np.ones((1, 6)), spec, "closed")[0], spec.closed_rad)


def test_nothing_is_written_over_and_what_is_no_data_set_is_refused(recorded: Path, tmp_path: Path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("keep me")
    for format in ("lerobot", "unitree"):
        with pytest.raises(BadFile, match="not empty"):
            convert([recorded], tmp_path / "full", format=format)
        with pytest.raises(BadFile, match="a file; a data set goes into a new folder"):
            convert([recorded], tmp_path / "full/mine.txt", format=format)
    with pytest.raises(BadFile, match="no episode_NNNN"):
        act_out(tmp_path / "full", tmp_path / "a.mcap")
    with pytest.raises(BadValue, match="frames a second"):
        convert([recorded], tmp_path / "new", fps=0)
