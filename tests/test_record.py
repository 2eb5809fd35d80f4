"""Recordings: what is written, who can read it, what is left of it when its writer dies, and doing it again."""

import os
import signal
import struct
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import wait_for
from peer_env import peer_python, quiet_environment

import thenar
from thenar.cdr import BadMessage
from thenar.cli import main
from thenar.errors import BadFile, BadValue, ThenarError, UnknownName
from thenar.recordings import container
from thenar.recordings.chunks import Bundle, ChunkedFile, Draft, Entry, Kind, Sheet
from thenar.recordings.container import RecordingWriter, read_contents, recover, write_contents
from thenar.recordings.ros_messages import ACTIONS, JOINT_STATE, TEXT, HandMessages, encode_text
from thenar.recordings.ros_schema import Schema, find_layout, write
from thenar.twin.recording.recipe import from_text, to_text

HANDS = ("inspire_left", "inspire_right")


@pytest.fixture(scope="module")
def grip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hands that close, are disturbed, broken and reset, in two episodes."""
    path = tmp_path_factory.mktemp("record") / "grip.mcap"
    world = thenar.World(HANDS, scene="in_hand", seed=3)
    rng = np.random.default_rng(0)
    world.advance(0.1)  # a recording may begin at any time
    with thenar.record(world, path) as tape:
        tape.episode("close on things")
        for beat in range(6):
            for hand in HANDS:
                world.command(hand, thenar.HandCommand.closing(rng.uniform(0.0, 1.0, 6), speed=0.7))
            if beat == 2:
                world.faults.inject("inspire_right", "palm 3 7", "dead")
                world.faults.inject("inspire_left", "index", "jam")
                world.props.drag(world.props.names[0], (0.1, 0.05, 0.2))
            if beat == 4:
                tape.episode("again from the start", success=True)
                world.reset()
            world.advance(0.3)
            world.touch("inspire_right")
    return path


def test_columns_have_every_reading_in_its_own_shape(grip: Path):
    rec = thenar.Recording(grip)
    motors, touch = rec.motors("inspire_right"), rec.touch("inspire_right")
    assert rec.hands == HANDS
    assert motors.angle_rad.shape == (len(motors.stamp_s), 6)
    assert motors.names[0] == "little"
    assert touch["palm"].shape == (len(touch.stamp_s), 8, 14)
    assert touch.taxel_counts.shape == (len(touch.stamp_s), 1062)
    assert touch.taxel_counts.min() >= 0
    assert np.all(np.diff(motors.stamp_s) > 0)  # though the world was reset on the way
    assert 1.0 / np.median(np.diff(motors.stamp_s)) == pytest.approx(100.0)
    assert 1.0 / np.median(np.diff(touch.stamp_s)) == pytest.approx(50.0)
    assert rec.joints("inspire_left").position_rad.shape[1] == 12
    assert rec.commands("inspire_left").position_rad.shape == (6, 6)
    assert rec.poses("ball").pos_m.shape[1] == 3
    assert rec.description("inspire_left").startswith("<?xml")


def test_columns_are_what_the_world_said(tmp_path: Path):
    world = thenar.World("inspire_right", scene="in_hand", profile="ideal")
    with thenar.record(world, tmp_path / "a.mcap"):
        world.command("inspire_right", thenar.HandCommand.closing(0.6, speed=1.0))
        world.advance(0.5)
        state, frame = world.state("inspire_right"), world.touch("inspire_right")
    rec = thenar.Recording(tmp_path / "a.mcap")
    motors, touch = rec.motors("inspire_right"), rec.touch("inspire_right")
    assert motors.stamp_s[-1] == pytest.approx(0.5)
    np.testing.assert_array_equal(motors.angle_rad[-1], state.angle_rad)
    np.testing.assert_array_equal(motors.status[-1], state.status)
    assert frame.contact_n > 0.1
    np.testing.assert_array_equal(touch.taxel_pressure_pa[-1], frame.taxel_pressure_pa.astype(np.float32))
    np.testing.assert_array_equal(touch.pad_force_n[-1], frame.pad_force_n)
    pos_m, _ = world.props.pose("ball")
    np.testing.assert_allclose(rec.poses("ball").pos_m[-1], pos_m, atol=2e-3)


@pytest.mark.parametrize("hand", ["inspire_right", "reflex"])
def test_what_is_worked_out_after_many_readings_is_what_the_hand_said_at_each(hand: str):
    world = thenar.World(hand, seed=4)
    motors = world.physics.motors
    readings, said = [], []
    stop = np.arange(len(world.hand(hand).actuators)) == 1
    held = thenar.HandCommand.closing(0.4, speed=0.3).in_radians(
        open_rad=world.hand(hand).open_rad,
        closed_rad=world.hand(hand).closed_rad,
        top_speed_rad_s=world.hand(hand).top_speed_rad_s,
    )
    for command in (thenar.HandCommand.closing(0.8), replace(held, stop=stop), thenar.HandCommand.closing(0.1)):
        world.command(hand, command)
        for _ in range(3):  # the first while the command is still on its way
            readings.append(world.physics.read_motors())
            said.append((world.state(hand), world.settings(hand)))
            world.advance(0.07)
    columns = motors.motor_columns(hand, readings) | motors.joint_columns(hand, readings)
    for name, column in columns.items():
        wanted = [getattr(state if hasattr(state, name) else settings, name) for state, settings in said]
        np.testing.assert_array_equal(column, wanted, err_msg=name)
    assert len({tuple(row) for row in columns["target_rad"]}) > 2
    assert np.ptp(columns["angle_rad"], axis=0).max() > 0.1


def test_a_slice_holds_what_lies_between_two_times_and_episodes_have_their_tasks(grip: Path):
    rec = thenar.Recording(grip)
    first, second = rec.episodes
    assert (first.task, second.task) == ("close on things", "again from the start")
    assert (first.success, second.success) == (True, None)
    assert first.start_s == pytest.approx(0.1)
    assert first.end_s == pytest.approx(1.3) == second.start_s
    part = rec.slice(first.start_s, first.end_s).motors("inspire_left")
    assert part.stamp_s[0] == pytest.approx(0.1)
    assert part.stamp_s[-1] < 1.3
    with pytest.raises(BadValue, match="more than start_s"):
        rec.slice(2.0, 1.0)


def test_a_replay_gives_the_same_bytes(grip: Path):
    again = thenar.replay(grip)
    assert again.differs_at == ""
    rec = thenar.Recording(grip)
    assert again.end == rec.end
    np.testing.assert_array_equal(again.touch("inspire_left").taxel_counts, rec.touch("inspire_left").taxel_counts)


def test_a_replay_in_another_world_says_where_it_first_differs(grip: Path):
    other = thenar.World(HANDS, scene="in_hand", seed=4)  # another latency of every command
    again = thenar.replay(grip, world=other)
    assert "differs first at" in again.differs_at


def test_a_replay_refuses_a_world_with_other_hands(grip: Path):
    with pytest.raises(BadValue, match="a world with inspire_left, inspire_right"):
        thenar.replay(grip, world=thenar.World("inspire_left"))


@pytest.mark.parametrize(
    "action",
    [
        {"time_s": 0.1, "call": "show", "arguments": {}},
        {"time_s": 0.1, "call": "journal.note", "arguments": {"call": "x", "arguments": {}}},
        {"time_s": 0.1, "call": "props.__init__", "arguments": {}},
        {"time_s": 0.1, "call": "props.move", "arguments": {"pickle": "x"}},
        {"call": "reset"},
        [],
    ],
)
def test_a_recording_can_ask_for_nothing_but_changes_of_a_world(grip: Path, tmp_path: Path, action: object):
    contents = read_contents(grip)
    messages = contents.channels[ACTIONS].messages
    messages[1] = messages[1]._replace(payload=encode_text(to_text(action)))
    write_contents(contents, tmp_path / "bad.mcap")
    with pytest.raises(
        ThenarError, match=r"a change that a recording can hold|arguments of that change|not what thenar"
    ):
        thenar.replay(tmp_path / "bad.mcap")


def test_names_that_are_not_there_are_refused_with_those_that_are(grip: Path):
    rec = thenar.Recording(grip)
    with pytest.raises(UnknownName, match="inspire_left, inspire_right"):
        rec.touch("shadow_right")
    with pytest.raises(UnknownName, match="palm"):
        rec.touch("inspire_left")["elbow"]
    with pytest.raises(UnknownName, match="ball"):
        rec.poses("elephant")


def test_mcap_ros2_reads_the_same_numbers(grip: Path):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    rec = thenar.Recording(grip)
    counts: dict[str, int] = {}
    with grip.open("rb") as file:
        messages = list(make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages())
    for _, channel, _, ros in messages:
        name = channel.topic
        at = counts[name] = counts.get(name, 0) + 1
        if name == "/inspire_left/touch" and at == 20:
            assert [sensor.name for sensor in ros.sensors] == list(rec.touch("inspire_left"))
            palm = rec.touch("inspire_left")["palm"][at - 1]
            np.testing.assert_array_equal(np.float32(ros.sensors[-1].values), palm.ravel())
        if name == "/inspire_left/motors" and at == 20:
            np.testing.assert_array_equal(ros.force_n, rec.motors("inspire_left").force_n[at - 1])
        if name == "/tf" and at == 3:
            ball = next(one for one in ros.transforms if one.child_frame_id == "ball").transform.translation
            np.testing.assert_array_equal([ball.x, ball.y, ball.z], rec.poses("ball").pos_m[at - 1])
    assert counts == {topic.topic: topic.messages for topic in rec.topics}


def test_rosbags_opens_the_file_and_reads_joint_states(grip: Path):
    from rosbags.highlevel import AnyReader

    with AnyReader([grip]) as bag:
        chosen = [one for one in bag.connections if one.topic == "/inspire_right/joint_states"]
        (connection, _, payload), *_ = bag.messages(connections=chosen)
        ros: Any = bag.deserialize(payload, connection.msgtype)
    joints = thenar.Recording(grip).joints("inspire_right")
    assert tuple(ros.name) == joints.names
    np.testing.assert_array_equal(ros.position, joints.position_rad[0])


def test_pymcaps_doctor_finds_no_fault_in_the_file_and_one_in_a_wrong_one(grip: Path, tmp_path: Path):
    doctor = peer_python("pymcap").with_name("pymcap-cli")
    wrong = bytearray(grip.read_bytes())
    wrong[len(wrong) // 2] ^= 0xFF
    (tmp_path / "wrong.mcap").write_bytes(wrong)
    environment = quiet_environment()
    sound, unsound = (
        subprocess.run([doctor, "doctor", str(path)], env=environment, capture_output=True, text=True, check=False)
        for path in (grip, tmp_path / "wrong.mcap")
    )
    assert sound.returncode == 0, sound.stdout + sound.stderr
    # It warns of times: a simulated world is ahead of the clock on the wall.
    assert ": 0 errors" in sound.stdout.replace("\n", " ")
    assert unsound.returncode != 0


KILLED = """
import os, signal, sys, time, thenar
world = thenar.World("inspire_right", scene="in_hand")
tape = thenar.record(world, sys.argv[1], touch=False)
began_s = time.perf_counter()
while True:
    world.advance(0.02)
    time.sleep(max(0.0, world.time_s - (time.perf_counter() - began_s)))
    print(world.time_s, flush=True)
"""


def test_messages_that_were_packed_together_are_found_by_the_index(tmp_path: Path):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    hand = thenar.hands.load("inspire_right")
    world = thenar.World(hand)
    world.command(hand.name, thenar.HandCommand.closing(0.5))
    made, positions = HandMessages(hand), []
    writer = RecordingWriter(tmp_path / "mixed.mcap")
    for number in range(1, 40):
        world.advance(0.01)
        joints = made.joint_states(number * 10**9 + 5, world.state(hand.name))
        positions.append(world.state(hand.name).joint_rad.tolist())
        writer.put(
            Entry("/joints", JOINT_STATE, Draft(number, number + 1, number + 2, joints)),
            Entry("/text", TEXT, Draft(number, number, number, encode_text("x" * number))),
        )
    assert writer.close().messages == 78
    with (tmp_path / "mixed.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        found = list(reader.iter_decoded_messages(topics=["/joints"], starting_at=10, ending_before=20))
        summary = reader.get_summary()
        text = [one.data for *_, one in reader.iter_decoded_messages(topics=["/text"])]
    assert [(message.log_time, message.publish_time, message.sequence) for _, _, message, _ in found] == [
        (number, number + 1, number + 2) for number in range(10, 20)
    ]
    assert [(one.header.stamp.sec, one.header.stamp.nanosec) for *_, one in found] == [(n, 5) for n in range(10, 20)]
    assert [list(one.position) for *_, one in found] == positions[9:19]
    assert text == ["x" * number for number in range(1, 40)]
    assert summary is not None
    assert summary.statistics is not None
    assert summary.statistics.message_count == 78


def test_messages_of_a_topic_that_come_from_two_makers_keep_their_order(tmp_path: Path):
    from mcap.reader import make_reader

    def pack(rows: np.ndarray, words: tuple[str, ...]) -> None:
        rows[:] = [np.frombuffer(encode_text(word), np.uint8) for word in words]

    makers = [Sheet(*(Kind(topic, TEXT, pack, len(encode_text("0"))) for topic in ("/a", "/b"))) for _ in range(2)]
    writer = RecordingWriter(tmp_path / "two.mcap")
    writer.put(*(Bundle(makers[k // 3 % 2], k, k, k, (str(k),)) for k in range(9)))  # left at once, for one chunk
    assert writer.close().messages == 18
    with (tmp_path / "two.mcap").open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    assert summary.statistics is not None
    assert summary.statistics.message_count == 18
    for channel in read_contents(tmp_path / "two.mcap").channels.values():
        assert [message.payload for message in channel.messages] == [encode_text(str(k)) for k in range(9)]


def test_a_file_that_ended_before_its_first_reading_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    world = thenar.World("inspire_right")
    with thenar.record(world, tmp_path / "whole.mcap", touch=False):
        world.advance(0.1)
    contents = read_contents(tmp_path / "whole.mcap")
    for number, kept in enumerate([(ACTIONS,), ()]):
        left = {name: channel for name, channel in contents.channels.items() if name in kept}
        file = tmp_path / f"{number}.mcap"
        write_contents(replace(contents, channels=left), file)
        main(["recording", str(file)])
        told = "".join(capsys.readouterr().out.split())  # a long path is broken into lines anywhere
        assert f"{file.name}:0.0sofinspire_right" in told
        assert thenar.Recording(file).episodes == []


def test_a_killed_writer_leaves_all_but_half_a_second(tmp_path: Path):
    path = tmp_path / "killed.mcap"
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        last_s = 0.0
        while last_s < 1.5:
            last_s = float(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
    rec = thenar.Recording(path)
    assert "killed" in rec.damage
    assert last_s - rec.motors("inspire_right").stamp_s[-1] < 0.5
    whole = tmp_path / "whole.mcap"
    assert recover(path, whole) == sum(topic.messages for topic in rec.topics)
    mended = thenar.Recording(whole)
    assert mended.damage == ""
    np.testing.assert_array_equal(mended.motors("inspire_right").angle_rad, rec.motors("inspire_right").angle_rad)


@pytest.mark.parametrize("kept", [0.3, 0.62, 0.97])
def test_a_file_cut_anywhere_is_read_as_far_as_it_goes(grip: Path, tmp_path: Path, kept: float):
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(grip.read_bytes()[: int(kept * grip.stat().st_size)])
    rec = thenar.Recording(cut)
    assert rec.damage
    whole = thenar.Recording(grip).motors("inspire_left").angle_rad
    part = rec.motors("inspire_left").angle_rad
    assert 0 < len(part) <= len(whole)
    np.testing.assert_array_equal(part, whole[: len(part)])


def test_a_wrong_byte_is_noticed_wherever_it_is(grip: Path, tmp_path: Path):
    whole, path = grip.read_bytes(), tmp_path / "bent.mcap"
    unseen = []
    for place in np.linspace(0, len(whole) - 1, 80).astype(int):
        bent = bytearray(whole)
        bent[place] ^= 0x55
        path.write_bytes(bytes(bent))
        with suppress(BadFile):  # it no longer begins as a file of ours does
            if not thenar.Recording(path).damage:
                unseen.append(place)
    assert unseen == []
    assert thenar.Recording(grip).damage == ""


def _record_starts(whole: bytes) -> dict[int, list[int]]:
    """Where records of each kind of an MCAP file begin."""
    starts: dict[int, list[int]] = {}
    at = 8
    while at < len(whole) - 8:
        kind, size = struct.unpack_from("<BQ", whole, at)
        starts.setdefault(kind, []).append(at)
        at += 9 + size
    return starts


def test_a_wrong_byte_in_an_index_or_in_the_summary_is_told_and_costs_nothing(grip: Path, tmp_path: Path, capsys):
    whole, path = grip.read_bytes(), tmp_path / "bent.mcap"
    starts = _record_starts(whole)
    for kind, words in ((7, "between its chunks"), (8, "summary"), (11, "summary")):  # indexes, and statistics
        bent = bytearray(whole)
        bent[starts[kind][-1] + 20] ^= 0x01
        path.write_bytes(bytes(bent))
        rec = thenar.Recording(path)
        assert words in rec.damage
        assert [topic.messages for topic in rec.topics] == [topic.messages for topic in thenar.Recording(grip).topics]
    main(["recording", str(path)])
    assert "the file is damaged: its summary" in " ".join(capsys.readouterr().out.split())
    assert recover(path, tmp_path / "mended.mcap") > 0
    assert thenar.Recording(tmp_path / "mended.mcap").damage == ""


def test_an_hour_of_recording_keeps_half_a_megabyte_of_where_its_chunks_are(tmp_path: Path):
    from mcap.reader import make_reader

    luck, chunks, hour = np.random.default_rng(3), 2000, 4 * 3600
    path = tmp_path / "long.mcap"
    with path.open("wb") as file:
        chunked = ChunkedFile(file)
        chunked.begin("test", {})
        for k in range(chunks):
            at_ns = 250_000_000 * k + int(luck.integers(20_000_000))
            drafts = [Draft(at_ns, at_ns, 0, luck.bytes(12)) for _ in range(luck.integers(1, 3))]
            chunked.add_chunk({f"/topic{n}": (TEXT, drafts) for n in range(10)})
        kept = len(chunked._noted) + len(chunked._notes.copy().flush())
        chunked.finish()
    assert 0 < kept * hour / chunks < 0.5e6
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    assert [len(index.message_index_offsets) for index in summary.chunk_indexes] == [10] * chunks
    assert read_contents(path).damage == ""


@pytest.mark.parametrize("number", [0, 2, 4])
def test_a_damaged_chunk_costs_its_own_messages_and_no_others(tmp_path: Path, number: int):
    path = tmp_path / "bent.mcap"
    with path.open("wb") as file:
        chunked = ChunkedFile(file)
        chunked.begin("test", {})
        for k in range(5):
            drafts = [Draft(10 * k + j, 10 * k + j, 0, encode_text(f"{k} {j}")) for j in range(10)]
            chunked.add_chunk({"/words": (TEXT, drafts)})
        chunked.finish()
    bent = bytearray(path.read_bytes())
    bent[_record_starts(bytes(bent))[6][number] + 60] ^= 0x55
    path.write_bytes(bytes(bent))
    contents = read_contents(path)
    assert "1 of 5 chunks of messages cannot be read" in contents.damage
    left = [message.log_ns for message in contents.channels["/words"].messages]
    assert left == [10 * k + j for k in range(5) if k != number for j in range(10)]


def test_a_recording_that_lacks_a_change_of_the_world_is_not_replayed(grip: Path, tmp_path: Path):
    contents = read_contents(grip)
    del contents.channels[ACTIONS].messages[2]
    write_contents(contents, tmp_path / "less.mcap")
    with pytest.raises(BadFile, match="changes of the world are missing"):
        thenar.replay(tmp_path / "less.mcap")


@pytest.mark.parametrize("body", [b"", b"not a recording", os.urandom(4096)])
def test_what_is_no_recording_is_refused(tmp_path: Path, body: bytes):
    path = tmp_path / "no.mcap"
    path.write_bytes(body)
    with pytest.raises(BadFile, match="not an MCAP file"):
        thenar.Recording(path)


def test_an_mcap_file_of_others_is_refused_by_what_it_lacks(tmp_path: Path):
    writer = RecordingWriter(tmp_path / "theirs.mcap")
    writer.put(Entry("/chatter", TEXT, Draft(1, 1, 0, encode_text("hello"))))
    writer.close()
    with pytest.raises(BadFile, match="not one that thenar has written"):
        thenar.Recording(tmp_path / "theirs.mcap")


def test_a_full_disk_stops_the_recording_and_not_the_world(tmp_path: Path):
    path = tmp_path / "full.mcap"
    path.symlink_to("/dev/full")
    world = thenar.World("inspire_right", profile="ideal")
    tape = thenar.record(world, path)
    deadline_s = time.monotonic() + 10.0
    while not tape.health().failed and time.monotonic() < deadline_s:
        world.advance(0.1)
        time.sleep(0.01)
    assert "No space left" in tape.health().failed
    world.advance(0.5)
    assert tape.health().lost > 0
    with pytest.raises(ThenarError, match=r"No space left on device; [1-9][0-9]* messages were lost"):
        tape.close()


@pytest.mark.parametrize(("name", "why"), [("no/such/folder/a.mcap", "cannot be written"), ("a.bag", "ends in .mcap")])
def test_a_file_that_cannot_be_made_is_refused_before_anything_runs(tmp_path: Path, name: str, why: str):
    world = thenar.World("inspire_right")
    with pytest.raises(ThenarError, match=why):
        thenar.record(world, tmp_path / name)
    assert world.journal.listeners == []


def test_a_disk_that_is_too_slow_loses_messages_and_counts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(container, "MAX_WAITING_BYTES", 1000)
    writer = RecordingWriter(tmp_path / "slow.mcap")
    for number in range(200):
        writer.put(Entry("/text", TEXT, Draft(number, number, number, encode_text("x" * 100))))
    health = writer.close()
    assert health.lost > 0
    assert health.lost + health.messages == 200
    assert len(read_contents(tmp_path / "slow.mcap").channels["/text"].messages) == health.messages


def test_a_running_twin_is_recorded_and_replays_the_same(tmp_path: Path):
    path = tmp_path / "live.mcap"
    world = thenar.World(HANDS, scene="in_hand", seed=5)
    with thenar.LiveTwin(world, record=path) as twin:
        for beat, closed in enumerate((0.8, 0.2, 0.9)):
            command = thenar.HandCommand.closing(closed, speed=1.0)
            twin.run_on_loop(lambda world, command=command: world.command("inspire_right", command))
            if beat == 1:
                twin.episode("after a reset")
                twin.reset()
            assert wait_for(lambda until_s=twin.world.time_s + 0.3: twin.world.time_s > until_s)
        health = twin.health()
    assert health.recording is not None
    assert health.recording.lost == 0
    rec = thenar.Recording(path)
    assert rec.damage == ""
    assert [episode.task for episode in rec.episodes] == ["after a reset"]
    assert len(rec.touch("inspire_right").stamp_s) > 10
    assert thenar.replay(rec).differs_at == ""


def test_another_scene_in_the_middle_is_recorded_and_replayed_too(tmp_path: Path):
    path = tmp_path / "scenes.mcap"
    world = thenar.World("inspire_right", scene="in_hand")
    with thenar.LiveTwin(world, record=path) as twin:
        assert wait_for(lambda: twin.world.time_s > 0.2)
        other = world.rebuild(scene="table")
        twin.swap_world(other)
        assert wait_for(lambda: other.time_s > 0.2)
    rec = thenar.Recording(path)
    assert {"ball", "egg", "marker"} <= set(rec.bodies)
    assert rec.poses("egg").stamp_s[0] > 0.2
    assert len(rec.poses("ball").stamp_s) > len(rec.poses("egg").stamp_s)  # both scenes have a ball
    assert thenar.replay(rec).differs_at == ""


def test_a_running_twin_goes_on_when_its_recording_fails(tmp_path: Path):
    path = tmp_path / "full.mcap"
    path.symlink_to("/dev/full")
    with thenar.LiveTwin(thenar.World("inspire_right"), record=path) as twin:
        assert wait_for(lambda: any("No space left" in why for why in twin.health().failed))
        until_s = twin.world.time_s + 0.2
        assert wait_for(lambda: twin.world.time_s > until_s)
        with pytest.raises(BadValue, match="one at a time"):
            twin.start_recording(tmp_path / "b.mcap")
        assert twin.stop_recording().lost > 0
        twin.start_recording(tmp_path / "b.mcap")  # on another disk
        assert wait_for(lambda: (health := twin.health().recording) is not None and health.messages > 10)
    assert thenar.Recording(tmp_path / "b.mcap").damage == ""


SCHEMA = Schema(
    name="a/msg/B",
    text="b/C[] parts  # several\nuint8 X=3\nfloat64[3] fixed\nint16[<=4] few\nstring<=8 word\nbool on\n"
    "================\nMSG: b/C\nstring name\nfloat32[] values\nint64 whole\n",
)


def test_a_layout_finds_every_number_of_a_message():
    value = {
        "parts": [{"name": "one", "values": [1.5, 2.5], "whole": -7}, {"name": "seven", "values": [], "whole": 2**40}],
        "fixed": [1.0, 2.0, 3.0], "few": [4, 5], "word": "hi", "on": True,
    }  # fmt: skip
    payload = write(SCHEMA, value)
    layout = find_layout(SCHEMA, payload)
    rows = layout.rows([payload, payload])
    assert layout.column(rows, "parts.0.values").tolist() == [[1.5, 2.5]] * 2
    assert layout.column(rows, "parts.1.whole").tolist() == [2**40] * 2
    assert layout.column(rows, "fixed").tolist() == [[1.0, 2.0, 3.0]] * 2
    assert layout.column(rows, "on").tolist() == [1, 1]
    assert layout.texts == {"parts.0.name": "one", "parts.1.name": "seven", "word": "hi"}
    again = np.empty_like(rows)
    layout.fill(again, {path: layout.column(rows, path) for path in layout.slots})
    assert again.tobytes() == payload + payload
    with pytest.raises(BadMessage, match="differ in length"):
        layout.rows([payload, payload + b"\0"])
    with pytest.raises(BadMessage, match="differ in their names"):
        layout.rows([payload, payload.replace(b"seven", b"eight")])


def test_values_come_back_from_text_to_the_last_bit():
    value = {
        "command": thenar.HandCommand.to([0.1, np.nan, 1 / 3]),
        "ball": thenar.Sphere(radius_m=0.1 + 0.2, name="ball"),
        "many": np.random.default_rng(1).standard_normal(500),
        "few": np.array([[1, 2], [3, 4]]),
        "nothing": None,
    }
    back = from_text(to_text(value))
    assert back["command"] == value["command"]
    assert back["ball"] == value["ball"]
    np.testing.assert_array_equal(back["many"], value["many"])
    np.testing.assert_array_equal(back["few"], value["few"])
    assert back["nothing"] is None
    with pytest.raises(BadValue, match="value to record"):
        to_text(object())
