"""What a skin feels, in a recording and in a replay of it: everything, also what only some skins have."""

import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import thenar
from thenar.recordings.container import read_contents, write_contents
from thenar.recordings.ros_schema import find_layout
from thenar.signals import SolidContacts
from thenar.touch.hand_touch import HandTouch
from thenar.touch.sensor.calibration import profile_of


def test_what_proximity_sensors_saw_is_recorded_as_ros_ranges_and_replayed(tmp_path: Path):
    ball = thenar.Sphere(name="ball", radius_m=0.02, pos_m=(0.0, 0.03, 0.10))
    world, path, seen = thenar.World("brainco_right", props=[ball]), tmp_path / "near.mcap", []
    with thenar.record(world, path):
        world.touch("brainco_right")
        for _ in range(30):  # the ball falls past the fingertips, and fingers close on it
            world.command("brainco_right", thenar.HandCommand.closing(0.6))
            world.advance(0.02)
            seen.append(world.touch("brainco_right").pad_proximity_m)
    recording = thenar.Recording(path)
    columns = recording.touch("brainco_right")
    told = columns.pad_proximity_m
    assert told.shape == (len(columns.stamp_s), len(columns.layout))
    pads = world.hand("brainco_right").pads
    assert [not column.any() for column in np.isnan(told).T] == [pad.proximity_range_m > 0.0 for pad in pads]
    assert np.nanmin(told) < 0.01  # something came near
    rows = {row.tobytes() for row in told}
    assert all(frame.astype(np.float32).astype(np.float64).tobytes() in rows for frame in seen)
    again = thenar.replay(recording)
    assert again.differs_at == ""
    np.testing.assert_array_equal(again.touch("brainco_right").pad_proximity_m, told)
    assert thenar.replay(recording, touch=False).differs_at == ""
    mcap_ros2 = pytest.importorskip("mcap_ros2.reader")
    name = next(pad.name for pad in pads if pad.proximity_range_m > 0.0)
    found = [one.ros_msg for one in mcap_ros2.read_ros2_messages(path, topics=[f"/brainco_right/proximity/{name}"])]
    number = [pad.name for pad in pads].index(name)
    assert [one.range for one in found] == told[:, number].tolist()
    assert (found[0].radiation_type, found[0].max_range) == (1, pytest.approx(pads[number].proximity_range_m))


@pytest.fixture(scope="module")
def three_axes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[thenar.TouchFrame]]:
    """A hand whose sensors have three axes and which a ball is pulled out of; every frame of its skin."""
    usual = profile_of(thenar.hands.load("inspire_right"), "measured")
    skin = replace(usual, bare=replace(usual.bare, shear_counts_per_n=500.0))
    world = thenar.World("inspire_right", scene="in_hand", skin={"inspire_right": skin})
    path, frames = tmp_path_factory.mktemp("axes") / "axes.mcap", []
    with thenar.record(world, path):
        world.command("inspire_right", thenar.HandCommand.closing(0.5))
        for beat in range(30):
            if beat == 15:
                world.props.pull("ball", (0.0, 12.0, 0.0))
            world.advance(0.02)
            frames.append(world.touch("inspire_right"))
    return path, frames


def test_everything_that_a_skin_feels_is_recorded_and_replayed(three_axes: tuple[Path, list[thenar.TouchFrame]]):
    path, frames = three_axes
    told = thenar.Recording(path).touch("inspire_right")
    rows = {round(float(stamp_s), 6): row for row, stamp_s in enumerate(told.stamp_s)}
    carried = {field.name for field in fields(thenar.TouchFrame)} - {"stamp_s", "layout"}
    assert carried <= {field.name for field in fields(told)}
    for frame in frames:
        row = rows[round(frame.stamp_s, 6)]
        for name in carried - {"pad_proximity_m"}:  # of which this skin has none
            felt, column = np.asarray(getattr(frame, name)), getattr(told, name)
            np.testing.assert_array_equal(column[row], felt.astype(column.dtype), err_msg=name)
    assert np.nanmax(told.pad_slip) > 0.5
    assert np.ptp(told.taxel_shear_counts) > 100
    again = thenar.replay(path)
    assert again.differs_at == ""
    np.testing.assert_array_equal(again.touch("inspire_right").taxel_shear_counts, told.taxel_shear_counts)


def test_a_file_from_before_slip_and_shear_counts_were_written_is_read(
    three_axes: tuple[Path, list[thenar.TouchFrame]], tmp_path: Path
):
    contents = read_contents(three_axes[0])
    channel = contents.channels["/inspire_right/skin"]
    text, (first, *_) = channel.schema.text, channel.messages
    end = find_layout(channel.schema, first.payload).slots["pad_slip"].offset - 4  # of its length
    old = replace(channel.schema, text=text.replace("float32[] pad_slip\nint32[] shear_counts\n", ""))
    assert old.text != text
    cut = [message._replace(payload=message.payload[:end]) for message in channel.messages]
    contents.channels["/inspire_right/skin"] = replace(channel, schema=old, messages=cut)
    write_contents(contents, tmp_path / "old.mcap")
    new, told = (thenar.Recording(path).touch("inspire_right") for path in (three_axes[0], tmp_path / "old.mcap"))
    assert np.isnan(told.pad_slip).all()
    assert told.taxel_shear_counts.shape == (len(told.stamp_s), 0, 2)
    np.testing.assert_array_equal(told.taxel_counts, new.taxel_counts)
    np.testing.assert_array_equal(told.pad_centre_m, new.pad_centre_m)


def test_a_recording_that_begins_while_a_skin_is_read_is_replayed_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    solve = HandTouch.solve

    def long_solve(touch: HandTouch, contacts: SolidContacts) -> thenar.TouchFrame:
        time.sleep(0.015)  # most of the time there is a reading under way
        return solve(touch, contacts)

    monkeypatch.setattr(HandTouch, "solve", long_solve)
    paths = [tmp_path / f"{number}.mcap" for number in range(4)]
    with thenar.LiveTwin(thenar.World("inspire_right", scene="in_hand"), touch_hz=50.0) as twin:
        for number, path in enumerate(paths):
            twin.run_on_loop(lambda world: world.command("inspire_right", thenar.HandCommand.closing(0.9)))
            time.sleep(0.2 + 0.003 * number)
            twin.start_recording(path)
            for fault in ("dead", "stuck"):
                twin.run_on_loop(lambda world, fault=fault: world.faults.inject("inspire_right", "palm 3 7", fault))
                time.sleep(0.1)
            twin.reset()
            time.sleep(0.2)
            twin.stop_recording()
    monkeypatch.undo()
    for path in paths:
        recording = thenar.Recording(path)
        assert len(recording.touch("inspire_right").stamp_s) > 10
        assert thenar.replay(recording).differs_at == ""


def test_a_taxel_that_drifts_drifts_from_the_first_reading_after_a_snapshot_in_a_replay_too(tmp_path: Path):
    def drift() -> int:
        world.advance(1.0)
        return round(int(world.touch("inspire_right").counts["palm"][3, 7]), -1)

    world = thenar.World("inspire_right", profile="ideal")
    world.faults.inject("inspire_right", "palm 3 7", "drifting", 100.0)
    world.touch("inspire_right")
    assert [drift(), drift()] == [100, 200]
    earlier = world.snapshot()
    assert drift() == 300
    with thenar.record(world, tmp_path / "drift.mcap"):
        world.touch("inspire_right")
        assert drift() == 100
    assert thenar.replay(tmp_path / "drift.mcap").differs_at == ""
    world.restore(earlier)
    world.touch("inspire_right")
    assert drift() == 100
