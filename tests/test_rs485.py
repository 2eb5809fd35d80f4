"""Inspire hands on a serial line: their own RS-485 frames and Modbus RTU, over a pseudo-terminal."""

import json
import os
import select
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from patience import wait_for
from pymodbus.framer import FramerRTU
from pymodbus.pdu import DecodePDU
from pymodbus.pdu.register_message import (
    ReadHoldingRegistersRequest,
    WriteMultipleRegistersRequest,
    WriteSingleRegisterRequest,
)

from thenar import hands
from thenar.errors import BadFile, BadValue
from thenar.twin.serving import serve
from thenar.wire.codecs.registers import register_map, rs485_frames
from thenar.wire.codecs.registers.modbus_pdu import crc
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.registers.hand_registers import HandRegisters
from thenar.wire.links.registers.rs485_link import SerialLine
from thenar.wire.wire_config import ModbusOptions, Rs485Options

LEFT, RIGHT = hands.load("inspire_left"), hands.load("inspire_right")

# Ref: the maker's manual: angles 100, 100, 100, 100, 2000, 0 are read and written.
READ_ANGLES = bytes.fromhex("EB 90 01 04 11 0A 06 0C 32")
ANGLES_READ = bytes.fromhex("90 EB 01 0F 11 0A 06 64 00 64 00 64 00 64 00 D0 07 00 00 98")
WRITE_ANGLES = bytes.fromhex("EB 90 01 0F 12 CE 05 64 00 64 00 64 00 64 00 D0 07 00 00 5C")
ANGLES_WRITTEN = bytes.fromhex("90 EB 01 04 12 CE 05 01 EB")


class Client:
    """A program that has opened a serial port."""

    def __init__(self, path: str | Path):
        self.port = os.open(path, os.O_RDWR | os.O_NOCTTY)

    def ask(self, frame: bytes, size: int, *, within_s: float = 5.0) -> bytes:
        """What comes back, once it is this long or the time is over."""
        os.write(self.port, frame)
        found, until_s = b"", time.perf_counter() + within_s
        while len(found) < size and select.select([self.port], [], [], max(until_s - time.perf_counter(), 0.0))[0]:
            found += os.read(self.port, 4096)
        return found

    def silent(self, frame: bytes) -> bool:
        return self.ask(frame, 1, within_s=0.15) == b""


@contextmanager
def line(*specs: hands.HandSpec, name: Path | None = None) -> Iterator[tuple[SerialLine, Client, Inbox]]:
    """A line with hands on it that nobody simulates."""
    inbox = Inbox()
    opened = SerialLine([HandRegisters(spec, inbox, None, medium="RS-485") for spec in specs], name, inbox)
    client = Client(opened.port.path)
    try:
        yield opened, client, inbox
    finally:
        os.close(client.port)
        opened.close()


def test_frames_of_the_hands_own_are_those_of_the_manual():
    data = struct.pack("<6h", 100, 100, 100, 100, 2000, 0)
    with line(RIGHT) as (opened, client, inbox):
        inbox.drain()
        register_map.store(opened.hands[0].memory, "ANGLE_ACT", np.array([100, 100, 100, 100, 2000, 0]))
        assert client.ask(READ_ANGLES, 20) == ANGLES_READ
        assert client.ask(WRITE_ANGLES, 9) == ANGLES_WRITTEN
        assert bytes(opened.hands[0].memory[1486:1498]) == data
        (request,) = inbox.drain()
        assert request.command is not None
        assert inbox.refused == {"counts out of range": 1}  # 2000 is a stroke's, not an angle's
        # Two in one go are answered one after the other, and one in pieces once it is whole.
        assert client.ask(READ_ANGLES + WRITE_ANGLES, 29) == ANGLES_READ + ANGLES_WRITTEN
        for byte in READ_ANGLES[:-1]:
            os.write(client.port, bytes([byte]))
        assert client.ask(READ_ANGLES[-1:], 20) == ANGLES_READ


def test_a_frame_that_is_wrong_or_for_another_hand_is_not_answered_and_the_next_one_is():
    with line(RIGHT) as (_, client, inbox):
        assert client.silent(rs485_frames.own_frame(b"\xeb\x90", 2, 0x11, 1546, b"\x0c"))  # no such hand
        for wrong in (
            READ_ANGLES[:-1] + b"\0",  # sum
            b"\x7f\x00" + READ_ANGLES[:5],  # noise, and a frame that ends early
            rs485_frames.own_frame(b"\xeb\x90", 1, 0x13, 1546, b"\x0c"),  # command
            rs485_frames.own_frame(b"\xeb\x90", 1, 0x11, 8190, b"\x0c"),  # beyond the memory
            rs485_frames.own_frame(b"\xeb\x90", 1, 0x11, 1546, b"\xfd"),  # more than a frame can carry
            rs485_frames.own_frame(b"\xeb\x90", 1, 0x12, 1546, b"\0\0"),  # a reading
        ):
            before = sum(inbox.refused.values())
            assert client.silent(wrong)
            assert sum(inbox.refused.values()) > before
        assert len(client.ask(READ_ANGLES, 20)) == 20
        assert len(client.ask(b"\x00\xff" + READ_ANGLES, 20)) == 20  # noise before it


@pytest.mark.parametrize("frame", [b"123456789", READ_ANGLES, bytes(256)])
def test_the_crc_is_that_of_the_library(frame: bytes):
    assert int.from_bytes(crc(frame), "big") == FramerRTU.compute_CRC(frame)


def test_modbus_rtu_is_answered_as_the_library_understands_it():
    framer = FramerRTU(DecodePDU(False))
    with line(RIGHT) as (opened, client, _):
        memory = opened.hands[0].memory
        register_map.store(memory, "FORCE_ACT", np.array([-1, 2, 300, -4000, 5, 6]))

        def ask(request: object, size: int) -> object:
            found = client.ask(framer.buildFrame(request), size)  # type: ignore[arg-type]
            used, answer = framer.handleFrame(found, 1, 0)
            assert used == len(found) == size
            return answer

        answer = ask(ReadHoldingRegistersRequest(address=1582, count=6, dev_id=1), 17)
        assert answer.registers == [65535, 2, 300, 61536, 5, 6]  # type: ignore[attr-defined]
        ask(WriteSingleRegisterRequest(address=1486, registers=[321], dev_id=1), 8)
        ask(WriteMultipleRegistersRequest(address=1488, registers=[5, 6], dev_id=1), 8)
        assert register_map.load(memory, "ANGLE_SET").tolist()[:3] == [321, 5, 6]
        refused = ask(ReadHoldingRegistersRequest(address=9000, count=1, dev_id=1), 5)
        assert (refused.function_code, refused.exception_code) == (0x83, 2)  # type: ignore[attr-defined]


def test_modbus_rtu_refuses_what_the_standard_refuses_and_a_broadcast_is_not_answered():
    with line(RIGHT) as (opened, client, inbox):

        def ask(unit: int, pdu: str, size: int) -> str:
            found = client.ask(rs485_frames.rtu_frame(unit, bytes.fromhex(pdu)), size)
            assert crc(found[:-2]) == found[-2:]
            return found[1:-2].hex()

        assert ask(1, "03 060a 0000", 5) == "8303"
        assert ask(1, "2b 0e 01 00", 5) == "ab01"  # a length that only silence can end
        assert ask(1, "10 05ce 0001 04 0000", 5) == "9003"  # says more bytes than it has
        assert client.silent(rs485_frames.rtu_frame(7, bytes.fromhex("03 060a 0001")))  # another hand
        inbox.drain()
        assert client.silent(rs485_frames.rtu_frame(0, bytes.fromhex("06 05ce 01f4")))  # for everybody
        assert len(inbox.drain()) == 1
        assert register_map.load(opened.hands[0].memory, "ANGLE_SET")[0] == 500
        before = bytes(opened.hands[0].memory)
        assert client.silent(bytes.fromhex("01 06 05ce 0000 0000"))  # a wrong sum
        assert bytes(opened.hands[0].memory) == before


def test_both_hands_on_one_line_are_told_apart_and_an_id_can_be_changed():
    with line(LEFT, RIGHT) as (opened, client, _):
        assert [(hand.scale.side, hand.hand_id) for hand in opened.hands] == [("right", 1), ("left", 2)]
        for number, hand in enumerate(opened.hands, start=1):
            register_map.store(hand.memory, "ANGLE_ACT", np.full(6, 100 * number))
        read = [rs485_frames.own_frame(b"\xeb\x90", number, 0x11, 1546, b"\x02") for number in (1, 2)]
        assert [client.ask(frame, 10)[7] for frame in read] == [100, 200]
        assert client.ask(rs485_frames.own_frame(b"\xeb\x90", 2, 0x12, 1000, b"\x09"), 9)[7] == 1
        assert client.silent(read[1])
        assert client.ask(rs485_frames.own_frame(b"\xeb\x90", 9, 0x11, 1546, b"\x02"), 10)[7] == 200


def test_a_program_drives_and_feels_the_twin_over_a_named_port_and_saves(tmp_path: Path):
    port = tmp_path / "ttyUSB0"
    port.symlink_to("/dev/pts/none")  # of a twin that was killed
    options = {"rs485": Rs485Options(ports=(str(port),)), "modbus": ModbusOptions(flash=tmp_path)}
    with serve("inspire_right", wires=("rs485",), scene="empty", profile="measured", **options) as twin:
        client = Client(port)

        def read(address: int, count: int) -> np.ndarray:
            frame = rs485_frames.own_frame(b"\xeb\x90", 1, 0x11, address, bytes([2 * count]))
            return np.frombuffer(client.ask(frame, 8 + 2 * count)[7:-1], "<i2")

        assert client.ask(WRITE_ANGLES, 9) == ANGLES_WRITTEN
        assert wait_for(lambda: bool(abs(read(1546, 6)[:4] - 100).max() < 15))
        assert 0 < read(4900, 112).min() <= read(4900, 112).max() < 4096  # the palm
        # SAVE is acknowledged, and its result comes a second later.
        save = client.ask(bytes.fromhex("EB 90 01 04 12 ED 03 01 08"), 18)
        assert save == bytes.fromhex("90 EB 01 04 12 ED 03 01 08 90 EB 01 04 11 ED 03 00 06")
        kept = json.loads((tmp_path / "inspire_right.json").read_text())
        assert (kept["HAND_ID"], kept["ACTION_SEQ"]) == ([1], {})
        health = twin.health()
        assert health.hands["inspire_right"].sender == "a client on RS-485"
        assert health.links[0].where == f"{port} (inspire_right 1)"
        os.close(client.port)
    assert not port.is_symlink()


def test_a_frame_that_is_too_short_to_ask_anything_ends_nothing():
    with line(RIGHT) as (serial, client, _):
        assert client.silent(bytes.fromhex("EB 90 00 00 00"))  # its sum is right
        assert serial.thread.is_alive()
        assert len(client.ask(READ_ANGLES, 20)) == 20


def test_noise_without_end_is_neither_kept_nor_looked_at_again_and_again():
    with line(RIGHT) as (serial, client, _):
        for noise in (bytes(4096), bytes.fromhex("EB 90 01 FF") * 1024, bytes.fromhex("EB 90") * 2048):
            began_s = time.thread_time()
            for _ in range(4):
                serial.take(noise)
            assert len(serial._line) <= rs485_frames.LONGEST
            assert time.thread_time() - began_s < 0.5
        serial.fall_silent()
        assert len(client.ask(READ_ANGLES, 20)) == 20


def test_a_client_that_reads_too_late_gets_whole_answers_only():
    """What it asked for when there was no more room is left out whole, and counted."""
    palm = rs485_frames.own_frame(rs485_frames.REQUEST, 1, rs485_frames.READ_COMMAND, 3000, b"\xfa")
    with line(RIGHT) as (serial, client, inbox):
        answer = client.ask(palm, 258)
        assert len(answer) == 258
        asked = 0
        while not inbox.refused:
            os.write(client.port, palm)
            asked += 1
            time.sleep(0.0005)
        found = client.ask(b"", 258 * asked, within_s=0.3)
        assert 0 < len(found) < 258 * asked
        assert found == answer * (len(found) // 258)
        assert client.ask(palm, 258) == answer
        assert serial.thread.is_alive()


def test_results_of_saving_are_kept_for_a_few_only():
    with line(RIGHT) as (serial, _, _):
        save = rs485_frames.own_frame(rs485_frames.REQUEST, 1, rs485_frames.WRITE_COMMAND, 1005, b"\1")
        for _ in range(40):
            serial.take(save)
        assert len(serial._results) == 16


def test_names_of_serial_ports_that_cannot_be_are_refused(tmp_path: Path):
    taken = tmp_path / "ttyUSB0"
    taken.write_text("something else")
    with pytest.raises(BadFile, match="cannot name a serial line"):
        serve("inspire_right", wires=("rs485",), scene="empty", rs485=Rs485Options(ports=(str(taken),)))
    assert taken.read_text() == "something else"
    with pytest.raises(BadValue, match="one name, or one for each of inspire_left, inspire_right"):
        serve(("inspire_left", "inspire_right"), wires=("rs485",), rs485=Rs485Options(ports=("a", "b", "c")))
