"""Points of any tracker by its name, what contradicts them, and datagrams that are not what they should be."""

import json
import random

import numpy as np
import pytest

import thenar
from thenar.errors import BadValue, ThenarError
from thenar.glove import glove_socket
from thenar.glove.glove_socket import decode_frame, encode_frame
from thenar.glove.make import make_log
from thenar.glove.number_rows import read_rows
from thenar.hands.rotations import matrix_about
from thenar.retarget.model.hand_model import build_model
from thenar.signals import FINGER_NODES, NODES, TRACKERS

LOG = list(make_log(("fist", "pinch_index")))
HAND = build_model(thenar.hands.load("inspire_right"))
TURN, AWAY_M = matrix_about((1.0, -0.4, 0.2), 2.2), np.array([0.3, 1.2, -0.1])


def tracked(tracker: str, finger_m: np.ndarray) -> np.ndarray:
    """21 nodes as a tracker has them, in its own order and axes; further joints lie half way to the root."""
    layout = TRACKERS[tracker]
    points = np.zeros((NODES[layout], 3))
    points[:] = 0.5 * finger_m[9]
    points[list(FINGER_NODES[layout])] = finger_m
    return points @ TURN.T + AWAY_M


@pytest.mark.parametrize("tracker", TRACKERS)
def test_every_tracker_gives_the_same_answers(tracker: str):
    ours, theirs = thenar.Retargeter(HAND), thenar.Retargeter(HAND)
    for frame in LOG[40:70]:
        answer = theirs(tracked(tracker, frame.finger_m), frame.stamp_s, side="right", layout=tracker)
        assert np.abs(answer.joint_rad - ours(frame).joint_rad).max() < 1e-6


def test_points_that_contradict_what_is_said_of_them_are_refused():
    retargeter, fist = thenar.Retargeter(HAND), tracked("mediapipe", LOG[70].finger_m)
    with pytest.raises(ThenarError, match="right: the fingers bend as those of a right hand do"):
        thenar.Retargeter("inspire_left")(fist, 0.0, side="left")
    with pytest.raises(BadValue, match="these look like millimetres"):
        retargeter(1e3 * fist, 0.0)
    with pytest.raises(BadValue, match=r"shape \(21, 3\)'; wanted \(26, 3\)"):
        retargeter(fist, 0.0, layout="quest")
    with pytest.raises(ThenarError, match=r"'kinect'.*mediapipe"):
        retargeter(fist, 0.0, layout="kinect")
    for frame in LOG[::10]:  # MANO has fingers in another order: taken for MediaPipe's it is no hand
        with pytest.raises(BadValue, match="smplx"):
            retargeter(tracked("mano", frame.finger_m), 0.0)


@pytest.mark.parametrize("space", ["", " ", "  "])
def test_rows_of_numbers_are_read_as_json_reads_them(space: str):
    rng = np.random.default_rng(1)
    values = (rng.normal(size=(21, 3)) * 10.0 ** rng.integers(-4, 4, (21, 3))).tolist()
    values[0] = [0, -0.0, 12345678901234567]
    values[1] = [1e5, -2.5e-7, 3e00]
    text = space + json.dumps(values, separators=("," + space, ":")) + ', "more": 1}'
    out = np.empty((27, 3))
    count, end = read_rows(np.frombuffer(text.encode(), np.uint8), 0, 3, out)
    assert count == 21
    assert text[end:] == ', "more": 1}'
    np.testing.assert_allclose(out[:21], values, rtol=1e-15)


def test_what_is_no_plain_row_of_numbers_is_left_to_json():
    for text in ("[[1, 2]]", "[[1, 2, 3, 4]]", "[[1, 2, 03]]", "[[1, 2, .5]]", "[[1, 2, NaN]]", "[[1, 2, 1.]]", "[]"):
        assert read_rows(np.frombuffer(text.encode(), np.uint8), 0, 3, np.empty((27, 3)))[0] == -1, text
    for text in (
        "[[1, 2, 1e]]",
        "[[1, 2, 1e400]]",
        "[[1, 2, 3]",
        "[[1, 2, 3],]",
        "[[1,, 2, 3]]",
        "[",
        "",
        "[[-, 1, 2]]",
    ):
        assert read_rows(np.frombuffer(text.encode(), np.uint8), 0, 3, np.empty((27, 3)))[0] == -1, text


def mutated(luck: random.Random, message: bytes) -> bytes:
    """A message with bytes flipped, dropped, doubled, cut, or numbers and words replaced."""
    data = bytearray(message)
    for _ in range(luck.choice((1, 1, 2, 8))):
        at = luck.randrange(len(data) or 1)
        match luck.randrange(7):
            case 0 if data:
                data[min(at, len(data) - 1)] = luck.randrange(256)
            case 1:
                del data[at : at + luck.choice((1, 2, 50))]
            case 2:
                data[at:at] = data[at : at + luck.choice((1, 3, 80))]
            case 3:
                data[at:at] = luck.choice(
                    (b"[", b"]", b"{", b'"', b",", b"-", b"e9", b"NaN", b"1e999", b"null", b"true")
                )
            case 4:
                words = (b"right", b"left", b"nodes21", b"position_m", b"stamp_s", b"0.0", b"[[", b"]]", b":")
                data = data.replace(
                    luck.choice(words), luck.choice((b'""', b"[]", b"position_m", b"1", b"-0", b" ")), 1
                )
            case 5:
                del data[at:]
            case _:
                data += bytes(luck.randrange(256) for _ in range(luck.randrange(20)))
    return bytes(data)


def verdict(message: bytes) -> object:
    """What becomes of a datagram: the frame's places, or why it is refused."""
    try:
        return decode_frame(message).position_m
    except BadValue as error:
        return str(error)


def test_mutated_datagrams_are_refused_or_right_and_reading_quickly_judges_as_json_does(monkeypatch):
    luck, messages = random.Random(5), [encode_frame(frame) for frame in LOG[60:64]]
    cases = [mutated(luck, luck.choice(messages)) for _ in range(3000)]
    quick = [verdict(case) for case in cases]
    monkeypatch.setattr(glove_socket, "_read_plainly", lambda message: None)
    plain = [verdict(case) for case in cases]
    taken = 0
    for case, one, other in zip(cases, quick, plain, strict=True):
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
            taken += 1
        else:
            assert isinstance(one, str), case
            # The same thing is wrong; of what was got, a whole number may read as a float.
            assert [one.partition("'")[0], one.rpartition("'")[2]] == [
                str(other).partition("'")[0],
                str(other).rpartition("'")[2],
            ], case
    assert 100 < taken < 2900  # some mutations are harmless, most are not
