"""The registers of the Inspire hands: where they stand, and Modbus clients that read and write them over TCP."""

import json
import os
import socket
import struct
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from patience import free_port, wait_for
from pymodbus.client import ModbusTcpClient

import thenar
from thenar import hands
from thenar.errors import BadFile, BadValue, ThenarError
from thenar.signals import HandSettings
from thenar.twin.live_twin import LiveTwin
from thenar.twin.serving import serve
from thenar.units import GRAM_FORCE_N
from thenar.wire.clients.modbus_client import ModbusHand
from thenar.wire.codecs import inspire_codec, inspire_counts
from thenar.wire.codecs.inspire_codec import TouchLayout
from thenar.wire.codecs.inspire_counts import Readings, Scale, Settings
from thenar.wire.codecs.registers import register_map
from thenar.wire.codecs.registers.modbus_pdu import Refusal
from thenar.wire.codecs.registers.register_map import Write
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.registers.hand_registers import HandRegisters
from thenar.wire.links.registers.modbus_link import ModbusServer
from thenar.wire.links.registry import LinkContext
from thenar.wire.wire_config import ModbusOptions, WireConfig

RIGHT = hands.load("inspire_right")
SCALE = Scale.of(RIGHT)
LAYOUT = TouchLayout.of(RIGHT)


@pytest.fixture
def port() -> int:
    """A port with free neighbours."""
    return free_port()


def six(value: int, kind: str = "i2") -> np.ndarray:
    return np.full(6, value, dtype=kind)


def read_words(memory: bytearray, address: int, count: int) -> list[int] | None:
    data = register_map.read_bytes(memory, address, 2 * count)
    return None if data is None else list(struct.unpack(f"<{count}H", data))


def write_words(memory: bytearray, address: int, words: list[int]) -> Write | None:
    return register_map.write_bytes(memory, SCALE, address, struct.pack(f"<{len(words)}H", *words))


def angles_of(twin: LiveTwin, hand: str) -> np.ndarray:
    scale = Scale.of(twin.world.hand(hand))
    return inspire_counts.readings(scale, twin.run_on_loop(lambda world: world.state(hand))).angle


def test_registers_are_bytes_and_a_word_starts_at_any_of_them():
    memory = register_map.new_memory()
    register_map.store(memory, "ERROR", np.array([1, 2, 3, 4, 5, 6]))
    assert read_words(memory, 1606, 3) == [0x0201, 0x0403, 0x0605]
    assert [word & 0xFF for n in range(6) for word in read_words(memory, 1606 + n, 1) or []] == [
        1,
        2,
        3,
        4,
        5,
        6,
    ]
    register_map.store(memory, "FORCE_ACT", np.array([-1, 0, 1, 2, 3, 4]))
    assert read_words(memory, 1582, 2) == [0xFFFF, 0]
    assert read_words(memory, register_map.MEMORY_BYTES - 1, 1) is None


def test_no_two_registers_share_a_byte():
    taken = np.zeros(register_map.MEMORY_BYTES, dtype=int)
    for register in register_map.REGISTERS.values():
        taken[register.bytes] += 1
    assert taken.max() == 1
    assert register_map.REGISTERS["TOUCH"].bytes == slice(3000, 5124)


def test_touch_registers_stand_where_the_manual_has_them():
    first, places = 3000, {}
    for (name, _), size in zip(inspire_codec.TOUCH_FIELDS, LAYOUT.sizes, strict=True):
        places[name] = first
        first += 2 * size
    assert [places[f"finger{n}_tip_touch"] for n in ("one", "two", "three", "four", "five")] == [
        3000,
        3370,
        3740,
        4110,
        4480,
    ]
    assert [places[f"finger{n}_top_touch"] for n in ("one", "two", "three", "four", "five")] == [
        3018,
        3388,
        3758,
        4128,
        4498,
    ]
    assert [places[f"finger{n}_palm_touch"] for n in ("one", "two", "three", "four", "five")] == [
        3210,
        3580,
        3950,
        4320,
        4708,
    ]
    assert places["fingerfive_middle_touch"] == 4690
    assert places["palm_touch"] == 4900


def test_a_write_commands_only_the_motors_it_names():
    memory = register_map.new_memory()
    write = write_words(memory, 1490, [250])
    assert write is not None
    assert write.command is not None
    assert np.isnan(write.command.target_rad).tolist() == [True, True, False, True, True, True]
    assert write.command.target_rad[2] == pytest.approx(0.75 * RIGHT.closed_rad[2] + 0.25 * RIGHT.open_rad[2])
    held = write_words(memory, 1486, [65535] * 6)
    assert held is not None
    assert held.command is not None
    assert np.isnan(held.command.target_rad).all()
    assert held.command.stop is not None
    assert held.command.stop.all()
    assert write.command.stop is None


def test_one_byte_registers_act_only_on_one():
    memory = register_map.new_memory()
    clear = write_words(memory, 1004, [1])
    assert clear is not None
    assert (clear.clear_errors, clear.save, clear.factory_reset, clear.command) == (True, False, False, None)
    save = write_words(memory, 1005, [1])
    assert save is not None
    assert (save.clear_errors, save.save, save.factory_reset) == (False, True, False)
    zero = write_words(memory, 1009, [1])
    assert zero is not None
    assert zero.zero_force
    nothing = write_words(memory, 1004, [0])
    assert nothing is not None
    assert not nothing.clear_errors


def test_readings_cannot_be_written():
    memory = register_map.new_memory()
    assert write_words(memory, 1582, [7, 7]) is None
    assert write_words(memory, 3000, [7]) is None
    assert register_map.load(memory, "FORCE_ACT").tolist() == [0] * 6


def test_registers_show_what_was_told_over_any_wire():
    memory = register_map.new_memory()
    told = HandSettings(
        target_rad=RIGHT.closed_rad,
        speed_rad_s=0.5 * RIGHT.top_speed_rad_s,
        force_limit_n=np.full(6, 300 * GRAM_FORCE_N),
        current_limit_a=np.full(6, 1.5),
        zeroing=True,
    )
    register_map.store_settings(memory, inspire_counts.settings(SCALE, told), zeroing=told.zeroing)
    assert register_map.load(memory, "ANGLE_SET").tolist() == [0] * 6
    assert register_map.load(memory, "POS_SET").tolist() == [2000] * 6
    assert register_map.load(memory, "SPEED_SET").tolist() == [500] * 6
    assert register_map.load(memory, "FORCE_SET").tolist() == [300] * 6
    assert register_map.load(memory, "CURRENT_LIMIT").tolist() == [1500] * 6
    assert register_map.load(memory, "GESTURE_FORCE_CLB").tolist() == [1]


def test_readings_and_settings_stand_at_the_vendors_addresses():
    # Ref: register table of the RH56DFTP.
    memory = register_map.new_memory()
    readings = Readings(
        stroke=six(1), angle=six(2), force=six(-3), current_ma=six(4),
        error=six(5, "u1"), status=six(6, "u1"), temperature_c=six(7, "u1"),
    )  # fmt: skip
    register_map.store_readings(memory, readings)
    settings = Settings(stroke=six(11), angle=six(12), force=six(13), speed=six(14), current_limit_ma=six(15))
    register_map.store_settings(memory, settings, zeroing=True)
    words = {1534: 1, 1546: 2, 1582: 0xFFFD, 1594: 4, 1606: 0x0505, 1612: 0x0606, 1618: 0x0707}
    words |= {1474: 11, 1486: 12, 1498: 13, 1522: 14, 1020: 15}
    for address, word in words.items():
        count = 3 if 1606 <= address <= 1618 else 6
        assert read_words(memory, address, count) == [word] * count, address
    assert memory[1009] == 1


def test_a_new_hand_has_the_factory_settings():
    memory = register_map.new_memory()
    assert read_words(memory, 1032, 12) == [1000] * 12
    assert memory[1000] == 1
    assert list(memory[1700:1704]) == [192, 168, 11, 210]


@pytest.mark.parametrize("address", [1004, 1005, 1006, 1009])
def test_only_a_one_sets_something_off(address: int):
    for value in (0, 1, 2, 255):
        write = write_words(register_map.new_memory(), address, [value])
        assert write is not None
        acts = write.clear_errors, write.save, write.factory_reset, write.zero_force
        assert acts == tuple(value == 1 and address == one for one in (1004, 1005, 1006, 1009))


def read(address: int, count: int) -> bytes:
    return struct.pack(">BHH", 3, address, count)


def write_one(address: int, value: int) -> bytes:
    return struct.pack(">BHH", 6, address, value)


def write_many(address: int, count: int, size: int, data: bytes) -> bytes:
    return struct.pack(">BHHB", 16, address, count, size) + data


# Ref: MODBUS Application Protocol Specification V1.1b3, the state diagrams of each function code: first the function
# code (01), then lengths and quantities (03), then addresses (02).
MALFORMED = [
    *((bytes([code]), 1) for code in range(128) if code not in (3, 6, 16)),
    *(
        (bytes([code]) + body, 1)
        for code in (1, 2, 4, 5, 15, 22, 23, 43)
        for body in (b"\0\0\0\1", b"\x0e\1\0", bytes(250))
    ),
    *((read(1546, count), 3) for count in (0, 126, 127, 2000, 0xFFFF)),
    *((read(1546, 6)[:size], 3) for size in range(1, 5)),
    (read(1546, 6) + b"\0", 3),
    (read(9000, 0), 3),
    *((read(address, count), 2) for address, count in ((8192, 1), (8191, 1), (8190, 2), (65535, 1), (7950, 125))),
    *((write_one(1486, 500)[:size], 3) for size in range(1, 5)),
    (write_one(1486, 500) + b"\0", 3),
    *((write_one(address, 1), 2) for address in (1546, 3000, 998, 8191, 65535)),
    *((write_many(1486, count, 2 * count & 0xFF, bytes(min(2 * count, 246))), 3) for count in (0, 124, 125, 0xFFFF)),
    *((write_many(1486, 6, size, bytes(12)), 3) for size in (0, 1, 6, 11, 13, 255)),
    *((write_many(1486, 6, 12, bytes(size)), 3) for size in (0, 11, 13, 14, 200)),
    *((write_many(1486, 6, 12, bytes(12))[:size], 3) for size in range(1, 6)),
    *((write_many(address, 2, 4, bytes(4)), 2) for address in (1546, 3000, 8190, 65535)),
]


@pytest.mark.parametrize(
    ("pdu", "code"), MALFORMED, ids=lambda value: value.hex()[:24] if isinstance(value, bytes) else ""
)
def test_a_malformed_request_gets_the_exception_of_the_standard_and_changes_nothing(pdu: bytes, code: int):
    inbox = Inbox()
    hand = HandRegisters(RIGHT, inbox, None, medium="Modbus")
    before, waiting = bytes(hand.memory), len(inbox)
    assert hand.answer(pdu) == bytes([pdu[0] | 0x80, code])
    assert bytes(hand.memory) == before
    assert len(inbox) == waiting
    assert sum(inbox.refused.values()) == 1


def test_what_the_standard_allows_is_answered():
    hand = HandRegisters(RIGHT, Inbox(), None, medium="Modbus")
    assert hand.answer(read(1032, 2)) == bytes.fromhex("03 04 03e8 03e8")
    assert hand.answer(read(3000, 125)) == bytes([3, 250]) + bytes(250)
    assert hand.answer(write_one(1486, 500)) == write_one(1486, 500)
    assert hand.answer(write_many(1486, 6, 12, struct.pack(">6H", *range(6)))) == struct.pack(">BHH", 16, 1486, 6)
    assert hand.answer(read(1486, 6)) == bytes([3, 12]) + struct.pack(">6H", *range(6))


def ask(client: socket.socket, requests: bytes, answers: int) -> list[tuple[int, bytes]]:
    """Transaction and PDU of each answer."""
    client.sendall(requests)
    found, line = [], b""
    while len(found) < answers:
        heard = client.recv(65536)
        assert heard, "hung up"
        line += heard
        while len(line) >= 7 and len(line) >= 6 + int.from_bytes(line[4:6]):
            transaction, _, length, _ = struct.unpack(">HHHB", line[:7])
            found.append((transaction, line[7 : 6 + length]))
            line = line[6 + length :]
    assert line == b""
    return found


def adu(transaction: int, pdu: bytes) -> bytes:
    return struct.pack(">HHHB", transaction, 0, len(pdu) + 1, 255) + pdu


def test_twenty_requests_in_one_segment_get_twenty_answers_in_order_and_every_write_is_done(port: int):
    pdus = [read(1032, 6), read(0, 0), write_one(1522, 700), read(1522, 1), bytes([43, 14, 1, 0])] * 4
    pdus[17] = write_many(1522, 6, 12, struct.pack(">6H", *range(100, 700, 100)))
    wanted = ["030c" + "03e8" * 6, "8303", "0605f202bc", "030202bc", "ab01"] * 4
    wanted[17], wanted[18] = "1005f20006", "03020064"
    options = ModbusOptions(port=port)
    with (
        serve("inspire_right", wires=("modbus",), scene="empty", modbus=options, profile="ideal") as twin,
        socket.create_connection(("127.0.0.1", port), timeout=10.0) as client,
    ):
        assert wait_for(lambda: twin.health().hands["inspire_right"].requests == 1)  # it wakes up
        requests = b"".join(adu(9000 + n, pdu) for n, pdu in enumerate(pdus))
        found = ask(client, requests, 20)
        assert found == [(9000 + n, bytes.fromhex(pdu)) for n, pdu in enumerate(wanted)]
        # Every write of a batch reaches the motors, in order: one finger each.
        assert wait_for(lambda: twin.health().hands["inspire_right"].requests == 5)
        batch = b"".join(adu(n, write_one(1486 + 2 * n, 500 + 50 * n)) for n in range(6))
        assert len(ask(client, batch, 6)) == 6
        assert wait_for(lambda: twin.health().hands["inspire_right"].requests == 11)
        assert wait_for(lambda: np.abs(angles_of(twin, "inspire_right") - np.arange(500, 800, 50)).max() < 10)
        # A request that comes in pieces, and one behind it.
        pieces = adu(1, read(1032, 1)) + adu(2, read(1032, 1))
        for byte in pieces[:-1]:
            client.sendall(bytes([byte]))
        assert ask(client, pieces[-1:], 2) == [(1, bytes.fromhex("030203e8")), (2, bytes.fromhex("030203e8"))]
        # Another protocol is passed over; a length that cannot be ends the talk.
        assert ask(client, struct.pack(">HHHB", 3, 7, 2, 1) + b"\3" + adu(4, read(1032, 1)), 1)[0][0] == 4
        client.sendall(struct.pack(">HHHB", 5, 0, 0, 1))
        assert client.recv(100) == b""
        assert any("impossible length" in why for why in twin.health().links[0].refused)


def test_two_hands_listen_at_two_addresses_on_one_port(port: int):
    both = ("inspire_left", "inspire_right")
    options = ModbusOptions(host=("127.0.0.2", "127.0.0.3"), port=port)
    with serve(both, wires=("modbus",), scene="empty", modbus=options, profile="ideal") as twin:
        with ModbusTcpClient("127.0.0.3", port=port) as right, ModbusTcpClient("127.0.0.2", port=port) as left:
            assert not right.write_registers(1486, [300] * 4).isError()
            assert wait_for(lambda: right.read_holding_registers(1546, count=1).registers[0] == 300)
            assert left.read_holding_registers(1546, count=1).registers == [1000]
        assert twin.health().links[0].where == f"127.0.0.2:{port}, 127.0.0.3:{port}"
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0
    with pytest.raises(BadValue, match="one address, or one for each of inspire_left, inspire_right"):
        serve(both, wires=("modbus",), modbus=ModbusOptions(host=("127.0.0.2",) * 3))


def test_clients_that_say_nothing_shut_nobody_out(port: int):
    with serve("inspire_right", wires=("modbus",), scene="empty", modbus=ModbusOptions(port=port)) as twin:
        with ModbusTcpClient("127.0.0.1", port=port) as honest:
            assert honest.read_holding_registers(1546, count=1).registers
            silent = [socket.create_connection(("127.0.0.1", port), timeout=5.0) for _ in range(200)]
            assert wait_for(lambda: any("hung up" in why for why in twin.health().links[0].refused))
            assert silent[0].recv(1) == b""
            assert twin.health().links[0].listeners <= 64
            assert honest.read_holding_registers(1546, count=1).registers  # whoever asks keeps its place
            with ModbusTcpClient("127.0.0.1", port=port) as late:
                assert late.read_holding_registers(1546, count=1).registers
        for one in silent:
            one.close()


def test_a_client_that_reads_no_answers_loses_its_socket_when_others_come(port: int):
    with ExitStack() as opened:
        config = WireConfig(modbus=ModbusOptions(port=port))
        server = ModbusServer(LinkContext(hands=[RIGHT], config=config, opened=opened))
        opened.callback(server.close)

        def client() -> socket.socket:
            return opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5.0))

        def flood(one: socket.socket) -> None:
            """Ask until nobody takes any more requests."""
            request, sent, last_s = adu(1, read(3000, 125)), 0, time.monotonic()
            one.setblocking(False)
            while time.monotonic() - last_s < 0.3:
                try:
                    sent += one.send((request * 1000)[sent % len(request) :])
                    last_s = time.monotonic()
                except BlockingIOError:
                    time.sleep(0.005)

        def is_gone(one: socket.socket) -> bool:
            try:
                return not one.send(b"\0")
            except BlockingIOError:
                return False
            except ConnectionError:
                return True

        deaf = [client() for _ in range(2)]
        for one in deaf:
            flood(one)
        assert not any(map(is_gone, deaf))
        honest = []
        for _ in range(64):  # each asks before the next one comes: who never asked would go first
            honest.append(client())
            assert ask(honest[-1], adu(1, read(1032, 1)), 1)
        assert wait_for(lambda: all(map(is_gone, deaf)))
        assert ask(honest[0], adu(2, read(1032, 1)), 1)


def test_minus_one_over_modbus_stops_a_finger_that_moves(port: int):
    options = ModbusOptions(port=port)
    with (
        serve("inspire_right", wires=("modbus",), scene="empty", modbus=options, profile="ideal") as twin,
        ModbusHand(RIGHT, host="127.0.0.1", port=port) as hand,
    ):
        hand.write("SPEED_SET", [200] * 6)
        hand.write("ANGLE_SET", [0] * 6)
        assert wait_for(lambda: bool(hand.read("ANGLE_ACT")[0] < 900))
        hand.write("ANGLE_SET", [-1])
        stopped = twin.world.time_s + 0.1
        assert wait_for(lambda: twin.world.time_s > stopped and bool(hand.read("STATUS")[0] == 2))
        place = hand.read("ANGLE_ACT")[0]
        assert 700 < place < 900
        assert wait_for(lambda: bool(hand.read("ANGLE_ACT")[1] == 0))  # its neighbour went on
        assert hand.read("ANGLE_ACT")[0] == place


def test_a_program_with_wrong_addresses_for_the_angles_is_told_the_right_one():
    # Ref: plusml-rh56dftp has ANGLE_SET(0) to ANGLE_SET(4) at 1464 to 1472.
    inbox = Inbox()
    hand = HandRegisters(RIGHT, inbox, None, medium="Modbus")
    assert hand.answer(write_one(1464, 500)) == bytes([0x86, 2])
    told = "register 1464 cannot be written; ANGLE_SET is at 1486: plusml-rh56dftp has it wrong"
    assert list(inbox.refused) == [told]


def test_reasons_for_refusal_do_not_grow_without_end(port: int):
    with serve("inspire_right", wires=("modbus",), scene="empty", modbus=ModbusOptions(port=port)) as twin:
        client = ModbusTcpClient("127.0.0.1", port=port)
        assert client.connect()
        for address in range(9000, 9200):
            assert client.read_holding_registers(address, count=1).isError()
        assert client.read_coils(0, count=1).isError()
        assert client.write_register(1487, 0).isError() is False  # half of two values: nobody moves
        client.close()
        refused = twin.health().links[0].refused
        assert len(refused) <= 65
        assert sum(refused.values()) >= 200
        assert angles_of(twin, "inspire_right").min() > 980
        targets = twin.run_on_loop(lambda world: world.settings("inspire_right").target_rad)
        np.testing.assert_allclose(targets, twin.world.hand("inspire_right").open_rad)


def test_modbus_clears_errors_saves_and_calibrates(port: int, tmp_path: Path):
    spec = thenar.hands.load("inspire_right")
    options = {
        "wires": ("modbus",),
        "scene": "empty",
        "modbus": ModbusOptions(port=port, flash=tmp_path),
        "profile": "ideal",
    }
    with serve("inspire_right", **options) as twin, ModbusHand(spec, host="127.0.0.1", port=port) as hand:
        twin.run_on_loop(lambda world: world.faults.inject("inspire_right", "index", "motor"))
        assert wait_for(lambda: hand.read("ERROR").tolist() == [0, 0, 0, 8, 0, 0])
        hand.write("CLEAR_ERROR", [1])
        assert wait_for(lambda: hand.read("ERROR").tolist() == [0] * 6)
        hand.write("DEFAULT_SPEED_SET", [321] * 6)
        hand.write("IP_PART", [192 + 256 * 168, 123 + 256 * 210])
        hand.write("SAVE", [1])
        hand.write("GESTURE_FORCE_CLB", [1])
        hand.write("ANGLE_SET", [500, -1, -1, -1, -1, -1])
        assert hand.read("ANGLE_SET")[0] == 500  # at once: nobody may read an old target back
        assert wait_for(lambda: hand.read("GESTURE_FORCE_CLB").tolist() == [0])
        assert wait_for(lambda: abs(int(hand.read("ANGLE_ACT")[0]) - 500) < 5)
        assert hand.read("STATUS")[0] in (1, 2)
        with pytest.raises(ThenarError, match="exception"):
            hand.write("FORCE_ACT", [1])
    with serve("inspire_right", **options), ModbusHand(spec, host="127.0.0.1", port=port) as hand:
        assert hand.read("DEFAULT_SPEED_SET").tolist() == [321] * 6
        assert wait_for(lambda: hand.read("SPEED_SET").tolist() == [321] * 6)  # a hand wakes up with its defaults
        assert hand.read("IP_PART").tolist() == [192, 168, 123, 210]
        hand.write("RESET_PARA", [1])
        assert hand.read("DEFAULT_SPEED_SET").tolist() == [1000] * 6
    (tmp_path / "inspire_right.json").write_text("{}")
    with pytest.raises(BadFile, match="HAND_ID"):
        serve("inspire_right", **options)


def step(angle: int, speed: int, wait_ms: int) -> list[int]:
    return [angle] * 6 + [speed] * 6 + [1000] * 6 + [wait_ms]


def store_action(hand: ModbusTcpClient, index: int, steps: list[list[int]]) -> None:
    """Word by word and in the order of public drivers for the RH56DFX."""
    hand.write_register(2320, index)
    hand.write_register(2002, len(steps))
    for number, values in enumerate(steps):
        for place, value in enumerate(values):
            hand.write_register(2016 + 38 * number + 2 * place, value)
    hand.write_register(2000, 0x90)
    hand.write_register(2001, 0xEB)
    assert not hand.write_register(2321, 1).isError()


def test_an_action_sequence_is_stored_played_step_by_step_and_outlives_a_restart(port: int, tmp_path: Path):
    options = ModbusOptions(port=port, flash=tmp_path)

    def twin_with_client() -> tuple[LiveTwin, ModbusTcpClient]:
        return (
            serve("inspire_right", wires=("modbus",), scene="empty", profile="ideal", modbus=options),
            ModbusTcpClient("127.0.0.1", port=port),
        )

    def angle() -> int:
        return hand.read_holding_registers(1546, count=1).registers[0]

    def running() -> bool:
        return hand.read_holding_registers(2322, count=1).registers[0] & 0xFF == 1

    twin, hand = twin_with_client()
    with twin, hand:
        store_action(hand, 4, [step(500, 1000, 800), step(900, 1000, 0)])
        hand.write_register(2320, 7)
        assert hand.read_holding_registers(2002, count=1).registers[0] & 0xFF == 0  # nothing is stored there
        hand.write_register(2322, 1)
        assert wait_for(lambda: any("sequence 7 is not whole" in why for why in twin.health().links[0].refused))
        assert angle() == 1000
    twin, hand = twin_with_client()
    with twin, hand:
        hand.write_register(2320, 4)
        assert hand.read_holding_registers(2016, count=2).registers == [500, 500]
        hand.write_register(2322, 1)
        assert wait_for(lambda: abs(angle() - 500) < 8)
        reached_s = twin.world.time_s
        assert running()
        assert wait_for(lambda: angle() > 520)
        assert twin.world.time_s - reached_s > 0.3  # it waited
        assert wait_for(lambda: abs(angle() - 900) < 8)
        assert wait_for(lambda: not running())
        # A client that moves the hand itself ends a sequence.
        hand.write_register(2322, 1)
        assert wait_for(lambda: abs(angle() - 500) < 8)
        hand.write_registers(1486, [300] * 6)
        assert wait_for(lambda: abs(angle() - 300) < 8)
        assert not running()


def test_what_two_links_to_one_hand_save_is_all_kept(tmp_path: Path):
    flash = tmp_path / "inspire_right.json"
    first, second = (HandRegisters(RIGHT, Inbox(), flash, medium=medium) for medium in ("Modbus", "RS-485"))
    block = b"\x90\xeb\1" + bytes(13) + struct.pack("<19h", *step(500, 1000, 0))
    for hand, index in ((first, 3), (second, 5)):
        assert hand.write(2320, bytes([index])) is None
        assert hand.write(2000, block) is None
        assert hand.write(2321, b"\1") is None
    first.write(1032, struct.pack("<6h", *[321] * 6))
    assert first.write(1005, b"\1") is None
    woken = HandRegisters(RIGHT, Inbox(), flash, medium="Modbus")
    assert register_map.load(woken.memory, "DEFAULT_SPEED_SET").tolist() == [321] * 6
    for index in (3, 5):
        woken.write(2320, bytes([index]))
        assert woken.read(2000, len(block)) == block


def test_a_power_on_with_a_damaged_file_makes_a_new_hand_and_says_so(tmp_path: Path):
    flash, inbox = tmp_path / "inspire_right.json", Inbox()
    hand = HandRegisters(RIGHT, inbox, flash, medium="Modbus")
    hand.write(1032, struct.pack("<6h", *[321] * 6))
    hand.hand_id = 7
    assert hand.write(1005, b"\1") is None
    saved = json.loads(flash.read_text())
    inbox.drain()
    for damaged in ("{", json.dumps(saved | {"IP_PART": [1]}), json.dumps(saved | {"ACTION_SEQ": {"1": "00"}})):
        flash.write_text(damaged)
        hand.power_on()
        assert register_map.load(hand.memory, "DEFAULT_SPEED_SET").tolist() == [1000] * 6
        assert hand.hand_id == 7
        (request,) = inbox.drain()
        assert request.sender == "power-on"
    assert inbox.refused.total() == 3
    assert "new hand's values" in next(iter(inbox.refused))
    flash.write_text(json.dumps(saved))
    hand.power_on()
    assert register_map.load(hand.memory, "DEFAULT_SPEED_SET").tolist() == [321] * 6


def test_saving_follows_no_link_and_reaches_the_disk_before_it_takes_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    victim, flash = tmp_path / "victim", tmp_path / "flash" / "inspire_right.json"
    victim.write_text("precious")
    flash.parent.mkdir()
    for name in ("inspire_right.new", "inspire_right.json.new", ".inspire_right.json"):  # names that could be guessed
        (flash.parent / name).symlink_to(victim)
    done: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (done.append("sync"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("rename"), replace(*names)))
    hand = HandRegisters(RIGHT, Inbox(), flash, medium="Modbus")
    assert hand.write(1005, b"\1") is None
    assert done == ["sync", "rename", "sync"]
    assert victim.read_text() == "precious"
    assert sorted(path.name for path in flash.parent.iterdir() if not path.is_symlink()) == [flash.name]
    # A link in place of the file itself is neither read nor written through.
    kept = flash.read_text()
    victim.write_text(kept)
    flash.unlink()
    flash.symlink_to(victim)
    with pytest.raises(BadFile, match="symbolic link"):
        HandRegisters(RIGHT, Inbox(), flash, medium="Modbus")
    assert hand.write(1005, b"\1") is Refusal.DEVICE_FAILURE
    assert victim.read_text() == kept


def test_a_word_over_a_one_byte_register_leaves_its_neighbor_alone():
    memory = register_map.new_memory()
    write_words(memory, 2002, [5])
    write_words(memory, 2001, [0xEB])
    assert memory[2002] == 5
    write_words(memory, 1700, [10, 256 * 7])  # the parts of an address are four bytes
    assert list(memory[1700:1704]) == [10, 0, 0, 7]
