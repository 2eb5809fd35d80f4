"""Counters at their wrap, and a twin whose clock has run for weeks: nothing but the numbers changes."""

import itertools
import socket
import struct
from dataclasses import replace

import numpy as np
import pytest
from patience import free_port, wait_for

import thenar
from thenar import cdr
from thenar.pace import Pace
from thenar.signals import HandCommand
from thenar.twin.serving import serve
from thenar.wire.codecs import aurora_codec, dfx_codec, inspire_counts, reflex_counts, reflex_udp_codec, tienkung_codec
from thenar.wire.codecs.inspire_counts import Scale
from thenar.wire.codecs.tienkung_codec import FINGER_IDS, JointState
from thenar.wire.rtps import Participant, Sample
from thenar.wire.wire_config import ModbusOptions

HAND = "inspire_right"
WEEKS_S = 1.5e6
IN_2038_S = 2.0**31


def let_pass(world: thenar.World, seconds: float) -> None:
    """Let a world believe that this much time has passed."""
    world.restore(replace(world.snapshot(), steps=round(seconds / world.timestep_s)))


@pytest.mark.parametrize(
    ("stamp_s", "seconds", "nanoseconds"),
    [
        (0.0, 0, 0),
        (1.25, 1, 250_000_000),
        (0.9999999999, 1, 0),  # rounds up to the next second, not back to the last one
        (WEEKS_S + 0.5, 1_500_000, 500_000_000),
        (IN_2038_S - 0.5, 2**31 - 1, 500_000_000),
        (IN_2038_S + 0.5, -(2**31), 500_000_000),
        (2.0**32 + 3.0, 3, 0),
    ],
)
def test_a_stamp_of_ros_2_carries_over_and_starts_again_in_2038(stamp_s: float, seconds: int, nanoseconds: int):
    assert cdr.ros_time(stamp_s) == (seconds, nanoseconds)
    struct.pack("<iI", *cdr.ros_time(stamp_s))


def test_messages_with_stamps_can_be_made_after_2038():
    body = tienkung_codec.encode_joint_state(JointState(stamp_s=IN_2038_S + 1.0, name=FINGER_IDS, position=[0.5] * 6))
    assert tienkung_codec.decode_joint_state(body).stamp_s == IN_2038_S + 1.0
    header = dict(zip(("sec", "nanosec"), cdr.ros_time(IN_2038_S + 1.0), strict=True))
    assert aurora_codec.decode("ThenarReset", aurora_codec.encode("ThenarReset", {"header": header}))


def test_readings_lost_by_an_absent_hand_are_counted_modulo_32_bits():
    state = thenar.World(HAND).state(HAND)
    readings = {"right": inspire_counts.readings(Scale.of(thenar.hands.load(HAND)), state)}
    message = dfx_codec.encode_states(readings, lost=2**32 + 7)
    assert set(dfx_codec.decode_states(message)["left"]["lost"]) == {7}


@pytest.mark.parametrize("before", [2**31 - 3, 2**32 - 3, 2**40])
def test_samples_arrive_in_order_across_a_wrap_of_their_number(before: int, domain: int):
    got: list[Sample] = []
    with Participant(domain) as ours, Participant(domain) as theirs:
        writer = ours.advertise("topic", "type")
        writer.written = before
        writer.beats = itertools.count(2**31 - 3)  # of heartbeats
        reader = theirs.subscribe("topic", "type", got.append)
        reader._counts = itertools.count(2**31 - 3)  # of answers
        assert writer.wait_for_readers(5.0)
        assert reader.wait_for_writers(5.0)
        for number in range(8):
            writer.write(bytes([number]) * 20_000)
            assert wait_for(lambda number=number: len(got) == number + 1, 5.0)
        assert [sample.body[0] for sample in got] == list(range(8))
        assert [sample.identity.number for sample in got] == list(range(before + 1, before + 9))
        assert reader.lost == 0


def test_modbus_answers_carry_the_number_of_their_request_across_its_wrap():
    port = free_port()
    with (
        serve(HAND, wires=("modbus",), scene="empty", modbus=ModbusOptions(port=port)),
        socket.create_connection(("127.0.0.1", port), timeout=5.0) as line,
    ):
        for number in (65534, 65535, 0, 1):
            line.sendall(struct.pack(">HHHBBHH", number, 0, 6, 1, 3, 1546, 1))
            assert struct.unpack(">H", line.recv(64)[:2]) == (number,)


def test_the_clock_of_a_reflex_board_starts_again_after_71_minutes():
    world = thenar.World("reflex")
    let_pass(world, 2**32 / 1e6 + 1.0)
    state = world.state("reflex")
    packet = reflex_udp_codec.encode_state(reflex_counts.read_board(state, np.ones(4)))
    assert reflex_udp_codec.decode_state(packet).systime_us == pytest.approx(1e6, abs=2000)


@pytest.mark.parametrize("rate_hz", [25.0, 30.0, 40.0, 100.0])
def test_what_is_periodic_keeps_its_rate_after_weeks(rate_hz: float):
    due = {}
    for start_s in (0.0, WEEKS_S, 1e9):
        pace, now_s = Pace(rate_hz), start_s
        due[start_s] = 0
        for _ in range(5000):  # ten seconds
            now_s += 0.002
            due[start_s] += pace.is_due(now_s)
    assert due[0.0] == pytest.approx(10.0 * rate_hz, abs=1)
    assert due[WEEKS_S] == pytest.approx(due[0.0], abs=1)
    assert due[1e9] == pytest.approx(due[0.0], abs=1)


def test_a_hand_moves_and_feels_after_weeks_as_on_its_first_day():
    said = {}
    for start_s in (0.0, WEEKS_S):
        world = thenar.World(HAND, scene="in_hand", profile="ideal")
        let_pass(world, start_s)
        world.command(HAND, HandCommand.closing(0.6, speed=0.5))
        angles_rad, counts = [], []
        for _ in range(25):
            world.advance(0.04)
            angles_rad.append(world.state(HAND).angle_rad)
            counts.append(world.touch(HAND).taxel_counts.sum())
        assert world.state(HAND).stamp_s == pytest.approx(start_s + 1.0, abs=1e-6)
        said[start_s] = np.array(angles_rad), np.array(counts)
    np.testing.assert_allclose(said[0.0][0], said[WEEKS_S][0], atol=1e-6)
    np.testing.assert_allclose(said[0.0][1], said[WEEKS_S][1], rtol=0.01, atol=5)
    assert said[0.0][1].max() > 0
