"""Glove recordings: read, mended, refused, made and sent."""

import time
from pathlib import Path

import numpy as np
import pytest

from thenar.errors import BadFile, BadValue, UnknownName
from thenar.glove import quaternions
from thenar.glove.files import COLUMNS, read_log, write_log
from thenar.glove.glove_socket import GloveReceiver, GloveSender, decode_frame, encode_frame
from thenar.glove.log import repair_clock
from thenar.glove.make import GESTURES, make_log
from thenar.glove.palm import detect_side, frame_in_palm_axes
from thenar.hands.rotations import matrix_about
from thenar.signals import FINGER_NODES, GloveLayout, GloveSide
from thenar.wire.clients.manus_client import ManusListener
from thenar.wire.codecs.manus_codec import MANUS_GLOVE, ManusGlove, decode_glove, encode_glove
from thenar.wire.rtps import Participant, ros

LAYOUTS: tuple[GloveLayout, ...] = ("nodes21", "manus25")
SIDES: tuple[GloveSide, ...] = ("right", "left")
CALM = ("point", "pinch_index")
FIST = make_log(("fist",))[70]


def write(path: Path, layout: GloveLayout, side: GloveSide = "right") -> Path:
    log = make_log(CALM, layout=layout, side=side)
    file = path / ("glove.csv" if layout == "nodes21" else "glove.npz")
    write_log(file, log)
    return file


def changed_csv(folder: Path, row: int, column: str, value: str) -> Path:
    """A log with one cell replaced; the header is row 1."""
    path = write(folder, "nodes21")
    lines = path.read_text().splitlines()
    cells = lines[row - 1].split(",")
    cells[COLUMNS.index(column)] = value
    lines[row - 1] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("side", SIDES)
def test_a_written_recording_is_read_back(tmp_path: Path, layout: GloveLayout, side: GloveSide):
    made = make_log(CALM, layout=layout, side=side)
    read = read_log(write(tmp_path, layout, side))
    assert (read.side, read.layout, len(read)) == (side, layout, len(made))
    assert np.abs(read.position_m - made.position_m).max() < 3e-5
    assert np.abs(np.sum(read.quat_wxyz * made.quat_wxyz, axis=2)).min() > 0.9999
    assert read.finger_m.shape == (len(made), 21, 3)
    assert read[3].finger_m == pytest.approx(read.finger_m[3])


def test_bones_keep_their_length_through_both_formats(tmp_path: Path):
    for layout in LAYOUTS:
        bones = np.linalg.norm(np.diff(read_log(write(tmp_path, layout)).finger_m[:, 5:9], axis=1), axis=2)
        assert bones.std(axis=0).max() < 3e-5


@pytest.mark.parametrize("side", SIDES)
def test_the_side_is_seen_from_where_fingers_bend(side: GloveSide):
    assert detect_side(make_log(("fist",), side=side).finger_m) == side


def test_a_flat_hand_does_not_tell_its_side():
    flat = make_log(("spread",)).finger_m.copy()
    flat[:, :, 1] = 0.0
    assert detect_side(flat) is None


def test_a_clock_that_steps_back_is_mended_and_told_of():
    stamp_s, notes = repair_clock(np.array([10.0, 10.1, 10.2, 8.6, 8.7, 8.8]))
    assert np.allclose(np.diff(stamp_s), 0.1)
    assert "stepped back at frame 4" in notes[0]


def test_frames_with_one_stamp_share_the_time_to_the_next_and_nothing_is_stretched():
    given_s = np.repeat(5.0 + np.arange(60) / 60.0, 16)
    stamp_s, notes = repair_clock(given_s)
    assert np.allclose(np.diff(stamp_s), 1.0 / 960.0)
    assert stamp_s[-1] - stamp_s[0] == pytest.approx(1.0, abs=0.002)
    assert notes == ("900 frames have the stamp of the one before: spread evenly",)


@pytest.mark.parametrize(("factor", "unit"), [(1e3, "milliseconds"), (1e9, "nanoseconds")])
def test_stamps_that_are_not_seconds_are_refused_by_their_unit(tmp_path: Path, factor: float, unit: str):
    path = write(tmp_path, "nodes21")
    lines = [line.split(",", 1) for line in path.read_text().splitlines()]
    rows = [f"{float(stamp) * factor:.0f},{rest}" for stamp, rest in lines[1:]]
    path.write_text("\n".join([",".join(lines[0]), *rows]) + "\n")
    with pytest.raises(BadFile, match=f"these look like {unit}"):
        read_log(path)


def test_a_byte_order_mark_hides_no_column(tmp_path: Path):
    path = write(tmp_path, "nodes21")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read_log(path)) > 10


def test_a_missing_number_is_a_lost_frame(tmp_path: Path):
    whole = len(read_log(write(tmp_path, "nodes21")))
    log = read_log(changed_csv(tmp_path, 7, "p3_y", "nan"))
    assert len(log) == whole - 1
    assert log.notes == ("1 frames have numbers missing, the first in row 7: lost frames, left out",)


def test_frames_of_no_hand_are_left_out_and_told_of_and_many_of_them_are_refused(tmp_path: Path):
    whole = len(read_log(write(tmp_path, "nodes21")))
    lines = changed_csv(tmp_path, 9, "p1_x", "0.2").read_text().splitlines()
    path = changed_csv(tmp_path, 4, "p3_y", "nan")  # rows are counted as they stand in the file
    lines[3] = path.read_text().splitlines()[3]
    path.write_text("\n".join(lines) + "\n")
    log = read_log(path)
    assert len(log) == whole - 2
    assert log.notes[1].startswith("1 frames are of no hand, the first in row 9 (thumb is '2")
    path.write_text("\n".join([*lines[:4], *[lines[8]] * 9]) + "\n")
    with pytest.raises(BadFile, match=r"row 5: thumb is '2\d\d mm from the wrist'; wanted at most 170 mm"):
        read_log(path)
    far = lines[8].replace(",0.2,", ",0.7,", 1)
    path.write_text("\n".join([*lines[:8], far]) + "\n")
    with pytest.raises(BadFile, match=r"row 9: a node is 0\.7"):
        read_log(path)


def test_a_hand_held_still_keeps_its_frames(tmp_path: Path):
    path = write(tmp_path, "nodes21")
    lines = path.read_text().splitlines()
    still = [f"{0.02 * k:.6f}," + lines[20].split(",", 1)[1] for k in range(100)]
    path.write_text("\n".join([lines[0], *still]) + "\n")
    assert len(read_log(path)) == 100


def test_a_recording_that_says_the_wrong_side_is_contradicted(tmp_path: Path):
    log = make_log(("fist",), layout="manus25", side="left")
    path = tmp_path / "log.npz"
    write_log(path, log)
    held = dict(np.load(path))
    np.savez(path, **{**held, "chirality": "RIGHT"})
    with pytest.raises(BadFile, match="says it is a right hand, but the fingers bend as those of a left one"):
        read_log(path)
    assert "taken as right, as you said" in read_log(path, side="right").notes[0]


def test_frames_sent_twice_are_left_out(tmp_path: Path):
    path = write(tmp_path, "nodes21")
    lines = path.read_text().splitlines()
    twice = lines[20].split(",")
    twice[0] = f"{float(twice[0]) + 0.001:.6f}"
    lines.insert(21, ",".join(twice))
    path.write_text("\n".join(lines) + "\n")
    log = read_log(path)
    assert len(log) == len(lines) - 2
    assert log.notes == ("1 frames sent twice: left out",)


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("p3_y", "cat", "row 7: p3_y is 'cat'; expected a number"),
        ("o4_w", "0.5", "row 7: the quaternion of node 4 has length 0.5; expected 1"),
        ("p3_z", "28.7", "row 7: a node is 28.8 m from the wrist; expected metres"),
    ],
)
def test_a_bad_cell_is_refused_with_file_row_and_what_was_expected(tmp_path: Path, column: str, value: str, says: str):
    path = changed_csv(tmp_path, 7, column, value)
    with pytest.raises(BadFile) as error:
        read_log(path)
    assert str(path) in str(error.value)
    assert says in str(error.value)


def test_missing_columns_are_named(tmp_path: Path):
    path = tmp_path / "log.csv"
    path.write_text(",".join(name for name in COLUMNS if name != "p7_z") + "\n")
    with pytest.raises(BadFile, match=r"row 1: 1 of 148 columns are missing \(p7_z\)"):
        read_log(path)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("log.csv", "", "row 1: empty"),
        ("log.csv", ",".join(COLUMNS) + "\n", "row 2: the file ends"),
        ("log.csv", ",".join(COLUMNS) + "\n1,2,3\n", "row 2: 3 values; expected 148"),
        ("log.txt", "x", "ends in .csv"),
        ("log.npz", "x", "NPZ file"),
    ],
)
def test_a_file_that_is_no_log_is_refused(tmp_path: Path, name: str, text: str, says: str):
    (tmp_path / name).write_text(text)
    with pytest.raises(BadFile, match=says):
        read_log(tmp_path / name)
    with pytest.raises(BadFile, match="no such file"):
        read_log(tmp_path / "elsewhere.csv")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"data": np.zeros((5, 24, 7))}, r"data has the shape \(5, 24, 7\); expected \(frames, 25, 7\)"),
        ({"data": np.zeros((0, 25, 7))}, "data is empty"),
        ({"data": np.zeros((5, 25, 7))}, "row 0: the quaternion of node 0 has length 0"),
        ({"data": np.full((5, 25, 7), np.nan)}, "5 of 5 frames have numbers missing, the first in row 0"),
        ({"data": np.full((5, 25, 7), "x")}, "data and timestamps must be numbers"),
        ({"data": np.tile([0.0, 0, 0, 1, 0, 0, 0], (5, 25, 1))}, "palm is '0 to 0 mm from the wrist"),
        ({"data": np.zeros((5, 25, 7)), "timestamps": np.zeros(4)}, "timestamps has the shape"),
        ({"frames": np.zeros(3)}, "no array named data; it has: frames"),
    ],
)
def test_a_bad_archive_is_refused(tmp_path: Path, change: dict, says: str):
    np.savez(tmp_path / "log.npz", **change)
    with pytest.raises(BadFile, match=says):
        read_log(tmp_path / "log.npz")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", [np.inf, 1e30])
def test_a_log_of_numbers_that_no_hand_has_is_refused_without_a_complaint(number: float, tmp_path: Path):
    write_log(tmp_path / "log.npz", make_log(("fist",), layout="manus25"))
    with np.load(tmp_path / "log.npz") as file:
        held = dict(file)
    held["data"][3:] = number
    np.savez(tmp_path / "log.npz", **held)
    with pytest.raises(BadFile):
        read_log(tmp_path / "log.npz")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_pinch_brings_its_tips_together_and_no_other(layout: GloveLayout):
    for number, finger in enumerate(("index", "middle", "ring", "little"), start=1):
        nodes = make_log((f"pinch_{finger}",), layout=layout).finger_m
        gaps = np.linalg.norm(nodes[:, 8::4] - nodes[:, 4:5], axis=2).min(axis=0)
        assert gaps[number - 1] < 0.015
        assert np.delete(gaps, number - 1).min() > 0.015


def test_the_same_seed_makes_the_same_recording():
    assert np.array_equal(make_log(seed=3).position_m, make_log(seed=3).position_m)
    assert not np.array_equal(make_log(seed=3).position_m, make_log(seed=4).position_m)


def test_an_unknown_gesture_lists_the_ones_there_are():
    with pytest.raises(UnknownName, match=", ".join(sorted(GESTURES))):
        make_log(("juggle",))


def test_a_left_recording_is_the_mirror_image_of_a_right_one():
    assert np.allclose(make_log(side="left").position_m, make_log(side="right").position_m * [-1, 1, 1])


def test_frames_travel_over_a_socket_and_nonsense_is_counted():
    frame = make_log(CALM)[40]
    with GloveReceiver(port=0) as receiver:
        sender = GloveSender(port=receiver.port)
        sender.send(frame)
        got = receiver.wait(1.0)
        assert got is not None
        assert np.abs(got.position_m - frame.position_m).max() < 2e-6
        sender._socket.sendto(b"{}", ("127.0.0.1", receiver.port))
        assert receiver.wait(0.2) is None
        assert receiver.refused == {"side is 'None'; wanted left or right": 1}
        sender.close()


@pytest.mark.parametrize(
    ("part", "with_", "says"),
    [
        (b"right", b"both", "side"),
        (b"nodes21", b"manus25", "position_m"),
        (b"stamp_s", b"stump_s", "stamp_s"),
        (b"[[0.0", b"[[NaN", "position_m"),
        (b'"nodes21"', b"[]", "layout"),
        (b'"nodes21"', b"[" * 2000 + b"]" * 2000, "a JSON object"),
        (b'"stamp_s": ', b'"stamp_s": 1' + b"0" * 400, "stamp_s"),
        (b'"position_m": [[0.0', b'"position_m": [[1' + b"0" * 400, "position_m"),
        (b'"right"', b'"left"', "the fingers bend as those of a right hand do"),
    ],
)
def test_a_datagram_that_makes_no_sense_is_refused(part: bytes, with_: bytes, says: str):
    with pytest.raises(BadValue, match=says):
        decode_frame(encode_frame(make_log(("fist",))[70]).replace(part, with_, 1))


@pytest.mark.parametrize(
    ("factor", "says"),
    [(1e3, "these look like millimetres"), (0.0, "palm is '0 to 0 mm"), (0.3, "palm"), (5.0, "palm")],
)
def test_what_cannot_be_a_hand_is_refused(factor: float, says: str):
    with pytest.raises(BadValue, match=says):
        frame_in_palm_axes(0.0, "right", "nodes21", factor * FIST.position_m)


@pytest.mark.parametrize(
    ("node", "at_m", "says"),
    [
        (slice(1, 5), [0.3, 0.0, 0.0], "thumb is '3"),
        (slice(3, 5), [0.0, 0.2, 0.0], "fingers is '19 to 178 mm"),
        (slice(2, 3), [np.nan, 0.0, 0.0], "palm is 'nan"),
    ],
)
def test_a_thumb_that_no_hand_has_is_refused(node: slice, at_m: list[float], says: str):
    points = FIST.position_m.copy()
    points[node] += at_m
    with pytest.raises(BadValue, match=says):
        frame_in_palm_axes(0.0, "right", "nodes21", points)


@pytest.mark.parametrize("side", ["left", "right"])
def test_knuckles_may_bend_back_but_the_joints_after_them_tell_the_side(side: GloveSide):
    other: GloveSide = "left" if side == "right" else "right"
    for gesture in ("fist", "point", "pinch_index", "spread"):
        log = make_log((gesture,), side=side)
        bent = []
        for frame in log:
            points = frame.position_m.copy()
            R = matrix_about((1.0, 0.0, 0.0), -0.45)  # 26 degrees back, as people do: towards +y in palm axes
            for first in (5, 9, 13, 17):
                points[first : first + 4] = points[first] + (points[first : first + 4] - points[first]) @ R.T
            frame_in_palm_axes(0.0, side, "nodes21", points)
            try:
                frame_in_palm_axes(0.0, other, "nodes21", points)
            except BadValue:
                bent.append(True)
        assert len(bent) > 0.3 * len(log) or gesture == "spread"


def test_a_palm_without_width_is_refused_because_its_axes_are_not_known():
    points = FIST.position_m.copy()
    for first in (5, 13, 17):  # knuckles in one line with the wrist, fingers as they were
        points[first : first + 4] += (0.9 + 0.01 * first) * points[9] - points[first]
    with pytest.raises(BadValue, match="palm is '0 mm wide across the knuckles'; wanted at least 10 mm"):
        frame_in_palm_axes(0.0, "right", "nodes21", points)


def test_orientations_come_back_from_their_matrices_also_of_half_turns():
    quat_wxyz = np.concatenate([np.random.default_rng(0).normal(size=(60, 4)), np.eye(4), [[0.0, 1.0, 1.0, 0.0]]])
    quat_wxyz /= np.linalg.norm(quat_wxyz, axis=1, keepdims=True)
    again = quaternions.from_matrices(quaternions.matrices(quat_wxyz))
    assert again[:, 0].min() >= 0.0
    assert np.abs(np.abs(np.sum(again * quat_wxyz, axis=1)) - 1.0).max() < 1e-12


def test_a_receiver_with_a_clock_stamps_frames_as_they_are_read_and_tells_each_reason_once():
    told, now_s = list[str](), iter(np.arange(100.0, 200.0).tolist())
    with GloveReceiver(port=0, side="right", clock=lambda: next(now_s), on_refused=told.append) as receiver:
        sender = GloveSender(port=receiver.port)
        for frame in (FIST, make_log(("fist",), side="left")[70], make_log(("fist",), side="left")[71]):
            sender.send(frame)
        got = receiver.wait(1.0)
        sender.close()
    assert got is not None
    assert got.stamp_s == 100.0
    assert told == list(receiver.refused) == ["side is 'left'; wanted right, whose glove drives the hand"]
    assert sum(receiver.refused.values()) == 2


def test_deep_brackets_do_not_end_the_receiver():
    with pytest.raises(BadValue, match="a JSON object"):
        decode_frame(b"[" * 60000)


def test_openxr_s_26_joints_are_the_same_hand():
    points = np.zeros((26, 3))
    points[list(FINGER_NODES["openxr26"])] = FIST.position_m
    points[0] = 0.5 * FIST.position_m[9]  # the middle of the palm
    frame = frame_in_palm_axes(0.0, "right", "openxr26", points + np.array([0.3, 0.2, 0.1]))
    assert np.abs(frame.finger_m - FIST.position_m).max() < 1e-9


def test_frames_of_the_other_hand_are_refused_and_counted():
    with GloveReceiver(port=0, side="left") as receiver:
        sender = GloveSender(port=receiver.port)
        sender.send(FIST)
        assert receiver.wait(0.2) is None
        assert receiver.refused == {"side is 'right'; wanted left, whose glove drives the hand": 1}
        sender.close()


def test_a_port_that_is_taken_or_none_is_told():
    with GloveReceiver(port=0) as receiver, pytest.raises(BadValue, match="one that is free here"):
        GloveReceiver(port=receiver.port)
    with pytest.raises(BadValue, match="from 0 to 65535"):
        GloveReceiver(port=80000)


def test_all_that_is_wrong_with_real_logs_is_mended_at_once(tmp_path: Path):
    # As in a public log of a Manus glove: a clock step back, frames sent twice, a root quaternion that changes sign.
    path = write(tmp_path, "nodes21")
    regular = read_log(path)
    rows = [line.split(",") for line in path.read_text().splitlines()]
    first = COLUMNS.index("o0_x")
    for row in rows[60:]:
        row[first : first + 4] = [f"{-float(value):.5f}" for value in row[first : first + 4]]
    for row in rows[100:]:
        row[0] = f"{float(row[0]) - 1.621:.6f}"
    for at in (150, 120, 40):
        rows.insert(at, rows[at - 1])
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    log = read_log(path)
    assert (log.side, len(log)) == ("right", len(regular))
    assert np.all(np.diff(log.stamp_s) > 0.0)
    assert np.abs(log.position_m - regular.position_m).max() < 1e-12
    assert log.notes[0] == "3 frames sent twice: left out"
    assert "stepped back at frame 100 (1.604 s in all)" in log.notes[1]


def test_a_manus_glove_is_heard_on_ros_2_and_nonsense_is_counted():
    log = make_log(CALM, layout="manus25", side="left")
    sent = ManusGlove(glove_id=1, side="left", position_m=log.position_m[9], quat_wxyz=log.quat_wxyz[9])
    got = decode_glove(encode_glove(sent))
    assert np.array_equal(got.position_m, sent.position_m)
    assert np.array_equal(got.quat_wxyz, sent.quat_wxyz)
    with (
        Participant(78, interface="lo", peers=("127.0.0.1",), name="glove") as glove,
        ManusListener("left", domain=78) as listener,
    ):
        writer = glove.advertise(ros.topic_name("/manus_glove_1"), ros.message_type(MANUS_GLOVE))
        news, until_s = None, time.perf_counter() + 10.0
        while news is None and time.perf_counter() < until_s:
            writer.write(encode_glove(sent))
            news = listener.wait(0.05)
        assert news is not None
        frame = frame_in_palm_axes(0.0, "left", "manus25", news[0].position_m, news[0].quat_wxyz)
        assert np.abs(frame.finger_m - log.finger_m[9]).max() < 1e-6
        writer.write(encode_glove(sent)[:40])
        while not listener.refused and time.perf_counter() < until_s:
            time.sleep(0.02)
        assert listener.refused


def test_two_manus_gloves_on_one_domain_do_not_push_each_other_out(domain: int):
    left, right = (
        ManusGlove(glove_id=number, side=side, position_m=log.position_m[9], quat_wxyz=log.quat_wxyz[9])
        for number, side in enumerate(("left", "right"))
        for log in (make_log(CALM, layout="manus25", side=side),)
    )
    with Participant(domain, name="gloves") as gloves, ManusListener(None, domain=domain) as listener:
        writers = [
            gloves.advertise(ros.topic_name(f"/manus_glove_{number}"), ros.message_type(MANUS_GLOVE))
            for number in range(2)
        ]
        assert all(writer.wait_for_readers(5.0) for writer in writers)
        for _ in range(3):
            for writer, glove in zip(writers, (left, right), strict=True):
                writer.write(encode_glove(glove))
        time.sleep(0.3)
        heard = [listener.wait(0.0) for _ in range(3)]
    assert {one[0].side for one in heard[:2] if one is not None} == {"left", "right"}
    assert heard[2] is None
