"""The ReFlex hand's board, driver, packets and ROS 2 face: golden bytes and real physics."""

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import thenar
from tests.oracles import idl_types
from thenar.cdr import BadMessage
from thenar.twin.world import World
from thenar.wire.codecs import reflex_codec, reflex_udp_codec
from thenar.wire.codecs import reflex_counts as counts
from thenar.wire.codecs.reflex_board import Board
from thenar.wire.codecs.reflex_codec import COMMANDS, TYPES, HandMessage
from thenar.wire.codecs.reflex_counts import BoardReading
from thenar.wire.codecs.reflex_udp_codec import Mode, Modes, Targets
from thenar.wire.links import reflex_driver
from thenar.wire.links.reflex_driver import Driver
from thenar.wire.rtps.type_hash import type_hash

types: Any = idl_types


# What the board says


def test_the_firmware_formula_for_all_256_values():
    # Ref: firmware: 510 - (p0 < 200 ? p0 + 255 : p0), with p0 the upper eight of ten bits.
    table = [255 - p0 for p0 in range(200)] + [510 - p0 for p0 in range(200, 256)]
    assert (table[0], table[95], table[199], table[200], table[255]) == (255, 160, 56, 310, 255)
    for low in range(4):
        assert counts.published_counts(np.arange(256) * 4 + low).tolist() == table


def test_the_barometer_is_that_of_the_data_sheet():
    # Ref: worked example of MPL115A2: 410 and 507 are 96.59 kPa.
    assert counts.die_pressure_pa(410, 507) == pytest.approx(96590.0, abs=10.0)
    assert counts.temperature_counts([25.0, 35.0]).tolist() == [472, 418]
    pressure_pa, die_c = np.meshgrid(np.linspace(60e3, 115e3, 40), np.linspace(0.0, 50.0, 7))
    raw = counts.pressure_counts(pressure_pa, die_c)
    back_pa = counts.die_pressure_pa(raw, counts.temperature_counts(die_c))
    np.testing.assert_allclose(back_pa, pressure_pa, atol=110.0)  # half a count of either


def test_rest_scale_saturation_and_drift_are_as_on_the_hardware():
    def published(pa: float, die_c: float = 25.0) -> int:
        return int(counts.published_counts(counts.pressure_counts(pa, die_c)))

    assert published(95e3) == 147
    assert published(101.3e3) in (159, 160)
    assert 9.9e3 < 20 * (10e3 / (published(111.3e3) - published(101.3e3))) < 10.6e3  # the threshold is 10.2 kPa
    assert 94 <= published(400e3) - published(101.3e3) <= 108
    assert published(101.3e3, 45.0) - published(101.3e3, 25.0) == pytest.approx(-0.41 * 20, abs=1.0)


def test_motors_and_encoders_convert_as_the_driver_does():
    # Ref: joint = inverted * (raw * scale / ratio - zero), scale = 4 * 2 pi / 4095.
    zero = 2048 * (4 * 2 * np.pi / 4095) / np.array([1.42, 1.42, 1.42, 1.5])
    raw = counts.motor_counts([1.0, 1.0, 0.5, 0.7])
    assert raw.tolist() == [2279, 1817, 2164, 1877]
    np.testing.assert_allclose(counts.joint_angle_rad(raw, zero), [1.0, 1.0, 0.5, 0.7], atol=0.0025)
    assert counts.speed_counts([1.0, 1.0, -1.0, 0.0]).tolist() == [119, 1024 + 119, 1024 + 119, 0]
    assert counts.load_counts([100.0, 100.0, -100.0, 2000.0]).tolist() == [1123, 100, 100, 1023]
    np.testing.assert_allclose(counts.signed_load([1123, 100, 100, 1023]), [100.0, 100.0, -100.0, 1023.0])
    # The third passes zero and starts again at the top.
    assert counts.encoder_counts([0.0, 1.0, 2.0]).tolist() == [15000, 11000 - 2607, (4000 - 5215) % 16383]


def reading(**changed) -> BoardReading:
    plain = {
        "systime_us": 0x01020304,
        "pressures": np.arange(38) + 0x100,
        "temperatures": np.arange(38) + 0x1A0,
        "encoders": np.array([0x3A98, 0x2AF8, 0x0FA0]),
        "errors": np.array([0, 0x20, 0, 1]),
        "angles": np.array([2048, 2049, 2050, 2051]),
        "speeds": np.array([1, 2, 1025, 0]),
        "loads": np.array([0, 1124, 5, 6]),
        "volts": np.full(4, 120),
        "temps": np.array([25, 26, 27, 28]),
    }
    return BoardReading(**(plain | changed))


GOLDEN_STATE = (
    "01000000 04030201 "  # magic byte and padding, then the time
    "0001010102010301040105010601070108010901 0a010b010c010d010e010f0110011101120113 01"
    "1401150116011701180119011a011b011c011d01 1e011f01200121012201230124012501"
    "a001a101a201a301a401a501a601a701a801a901 aa01ab01ac01ad01ae01af01b001b101b201b301"
    "b401b501b601b701b801b901ba01bb01bc01bd01 be01bf01c001c101c201c301c401c501"
    "983af82aa00f 00200001 0008010802080308 0100020001040000 0000640405000600 78787878 191a1b1c"
)


def test_a_state_packet_is_202_known_bytes():
    packet = reflex_udp_codec.encode_state(reading())
    assert len(packet) == 202
    assert packet.hex() == GOLDEN_STATE.replace(" ", "")
    back = reflex_udp_codec.decode_state(packet)
    assert reflex_udp_codec.encode_state(back) == packet
    for bad in (b"", packet[:-1], packet + b"\x00", b"\x02" + packet[1:]):
        with pytest.raises(BadMessage):
            reflex_udp_codec.decode_state(bad)


def test_command_packets_are_known_bytes():
    assert reflex_udp_codec.encode_command(Targets(raw=np.array([2048, 2000, 3000, 1]))).hex() == "02080007d00bb80001"
    modes = Modes(modes=(Mode.POSITION, Mode.POSITION, Mode.VELOCITY, Mode.IDLE))
    assert reflex_udp_codec.encode_command(modes).hex() == "0102020100"
    back = reflex_udp_codec.decode_command(bytes.fromhex("02080007d00bb80001"))
    assert isinstance(back, Targets)
    assert back.raw.tolist() == [2048, 2000, 3000, 1]
    for bad in ("", "01", "010202020f", "0202020202", "0108000800080008", "03" * 9, "02" * 10):
        with pytest.raises(BadMessage):
            reflex_udp_codec.decode_command(bytes.fromhex(bad))


def test_a_speed_of_none_is_top_speed_and_an_overload_is_the_motors_own_bit():
    np.testing.assert_allclose(counts.speed_rad_s([0, 1024, 1, 1025]) * counts.GEAR / 0.01194, [1023, 1023, 1, 1])
    state = World("reflex", profile="ideal").state("reflex")
    board = counts.read_board(replace(state, error=np.array([0, 1, 0, 4])), np.full(4, 2.0))
    assert board.errors.tolist() == [0, 0x20, 0, 0x20]  # Ref: Dynamixel: bit 5 is overload
    assert board.volts.tolist() == [120] * 4  # tenths


def test_fingers_2_and_3_are_swapped_in_the_packet():
    world = World("reflex", profile="ideal")
    die_pa = 101e3 + 1000.0 * np.arange(38)
    board = counts.read_board(world.state("reflex"), np.full(4, 2.0), die_pa, 25.0)
    published = counts.published_counts(counts.pressure_counts(die_pa, 25.0))
    np.testing.assert_array_equal(board.pressures[0:9], published[0:9])
    np.testing.assert_array_equal(board.pressures[18:27], published[9:18])
    np.testing.assert_array_equal(board.pressures[9:18], published[18:27])
    np.testing.assert_array_equal(board.pressures[27:], published[27:])
    _, message = reflex_driver.on_reading(Driver(offset=np.zeros((3, 9), dtype=np.int64)), board)
    np.testing.assert_array_equal(message.pressure.ravel(), published[:27])


# Messages


def hand_message() -> HandMessage:
    return HandMessage(
        proximal_rad=np.array([0.5, 1.0, -0.25]),
        distal_rad=np.array([0.0, 0.125, 2.0]),
        contact=np.eye(3, 9, dtype=bool),
        pressure=np.arange(27.0).reshape(3, 9) - 3.0,
        joint_rad=np.array([0.1, 0.2, 0.3, 0.4]),
        raw_angle=np.array([2048.0, 1.0, 2.0, 3.0]),
        velocity=np.array([1025.0, 0.0, 1.0, 2.0]),
        load=np.array([-1.5, 0.0, 350.0, 1.0]),
        voltage=np.full(4, 120.0),
        temperature=np.array([25, 26, -1, 28]),
        error=np.array([0, 0x20, 0xFF, 1]),
    )


def test_a_hand_message_is_what_the_sheet_and_another_encoder_say():
    message = hand_message()
    body = reflex_codec.encode_hand(message)
    first = struct.pack("<ff9?3x9f", 0.5, 0.0, True, *[False] * 8, *(float(n) - 3.0 for n in range(9)))
    assert body[:56] == first
    assert body[168:221] == struct.pack("<5diI5s", 0.1, 2048.0, 1025.0, -1.5, 120.0, 25, 5, b"0x00\x00")
    made = types.ReflexHand(
        finger=[
            types.ReflexFinger(
                proximal=message.proximal_rad[n],
                distal_approx=message.distal_rad[n],
                contact=message.contact[n].tolist(),
                pressure=message.pressure[n].tolist(),
            )
            for n in range(3)
        ],
        motor=[
            types.ReflexMotor(
                joint_angle=message.joint_rad[n],
                raw_angle=message.raw_angle[n],
                velocity=message.velocity[n],
                load=message.load[n],
                voltage=120.0,
                temperature=message.temperature[n].item(),
                error_state=f"0x{message.error[n]:02x}",
            )
            for n in range(4)
        ],
    )
    assert made.serialize()[4:][: len(body)] == body
    assert reflex_codec.encode_hand(reflex_codec.decode_hand(body)) == body


def test_commands_come_back_and_odd_ones_are_refused():
    for topic in COMMANDS:
        values = np.arange(8.0 if topic == "command" else 4.0)
        body = reflex_codec.encode_numbers(topic, values)
        np.testing.assert_array_equal(reflex_codec.decode_numbers(topic, body), values)
        for bad in (b"", body[:-1], body + bytes(8)):
            with pytest.raises(BadMessage):
                reflex_codec.decode_numbers(topic, bad)
    with pytest.raises(BadMessage):
        reflex_codec.decode_numbers("command_position", reflex_codec.encode_numbers("command_position", np.nan))
    assert len(reflex_codec.encode_numbers("raw_hand_command", 1)) == 8
    assert len(reflex_codec.encode_numbers("radian_hand_command", 1.0)) == 16
    assert reflex_codec.speeds_of(struct.pack("<4d", 1, 2, 3, np.inf)) is None
    assert reflex_codec.thresholds_of(struct.pack("<27H", *range(27)))[2, 8] == 26


def test_type_hashes_are_those_another_program_computes():
    definitions = {
        name: "".join(f"{kind.removeprefix('reflex_msgs/msg/')} {field}\n" for field, kind in fields.items())
        for name, fields in TYPES.items()
    }
    store = get_typestore(Stores.EMPTY)
    store.register(
        {k: kind for name, text in definitions.items() for k, kind in get_types_from_msg(text, name).items()}
    )
    assert {name: store.hash_rihs01(name) for name in definitions} == {name: type_hash(name, TYPES) for name in TYPES}


# What the driver does, without a network


def heard(driver: Driver, **changed) -> tuple[Driver, HandMessage]:
    """The driver after a reading of a hand at rest, with some of it changed."""
    resting = {
        "pressures": np.full(38, 160),
        "encoders": counts.ENCODER_AT_ZERO,
        "errors": np.zeros(4, dtype=np.int64),
        "angles": counts.MOTOR_AT_ZERO,
        "speeds": np.zeros(4, dtype=np.int64),
        "loads": np.zeros(4, dtype=np.int64),
    }
    return reflex_driver.on_reading(driver, reading(**(resting | changed)))


def four(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def test_a_position_command_takes_the_default_speed_and_stays_within_the_travel():
    driver = reflex_driver.set_speed(Driver(), four(1.0, 1.0, 1.0, 1.0))
    driver = reflex_driver.to_radians(driver, four(0.5, 0.5, 0.5, 0.5))
    assert driver.speed_rad_s.tolist() == [1.0] * 4
    driver = reflex_driver.to_pose(driver, four(-1.0, 1.0, 9.0, 9.0))
    assert driver.target_rad.tolist() == [0.0, 1.0, 3.6, 1.75]
    assert driver.speed_rad_s.tolist() == [3.0, 3.0, 3.0, 2.0]
    driver = reflex_driver.to_pose_at(driver, four(1, 1, 1, 1), four(-1.0, 2.0, 9.0, 0.0))
    assert driver.speed_rad_s.tolist() == [1.0, 2.0, 3.5, 0.0]


def test_a_velocity_at_or_below_zero_opens():
    driver = reflex_driver.at_velocity(Driver(), four(1.0, 0.0, -2.0, 0.5))
    assert driver.target_rad.tolist() == [3.6, 0.0, 0.0, 1.75]
    assert driver.speed_rad_s.tolist() == [1.0, 0.0, 2.0, 0.5]
    # A motor that is given no speed creeps by one count; none would mean top speed.
    np.testing.assert_allclose(counts.driven_speed_rad_s(driver.speed_rad_s)[1], 0.01194 / 1.42)


def test_loads_are_filtered_and_an_overloaded_motor_is_loosened():
    driver, _ = heard(reflex_driver.to_pose(Driver(), four(2.0, 2.0, 2.0, 0.0)))
    angles, loads = counts.motor_counts([1.0, 1.0, 1.0, 0.0]), counts.load_counts([600.0, 0.0, 300.0, 0.0])
    seen = []
    for _ in range(4):
        driver, message = heard(driver, angles=angles, loads=loads)
        seen.append((float(message.load[0]), float(driver.target_rad[0])))
    # 0.25 new + 0.75 old: 150, 262.5, 346.9, 410.2
    assert [round(load, 1) for load, _ in seen] == [150.0, 262.5, 346.9, 410.2]
    assert [target for _, target in seen[:3]] == [2.0] * 3
    assert seen[3][1] == pytest.approx(1.0 - 0.05, abs=0.003)
    assert driver.target_rad[1:].tolist() == [2.0, 2.0, 0.0]


def test_a_negative_load_loosens_too_and_never_below_zero():
    angles = counts.motor_counts([1.0, 0.0, 0.0, 0.0])
    driver, _ = heard(Driver(load=four(-1000.0, 0, 0, 0), target_rad=four(2.0, 2.0, 2.0, 1.0)), angles=angles)
    assert driver.target_rad[0] == pytest.approx(1.0 - 0.05, abs=0.003)
    assert driver.target_rad[1:].tolist() == [2.0, 2.0, 1.0]  # these are not loaded
    driver, _ = heard(Driver(load=four(-1000.0, 0, 0, 0), target_rad=four(2.0, 2.0, 2.0, 1.0)))
    assert driver.target_rad[0] == 0.0
    driver, _ = heard(Driver(load=four(0, 0, 0, 600.0)))
    assert np.isnan(driver.target_rad).tolist() == [True, True, True, False]  # others were not asked for anything


def pressed(finger: int, by: int) -> np.ndarray:
    cells = np.full(38, 160)
    cells[(0, 18, 9)[finger] + 4] += by
    return cells


def test_contact_is_above_the_threshold_and_each_cell_has_its_own():
    driver, _ = heard(Driver())
    assert heard(driver, pressures=pressed(1, 20))[1].contact.sum() == 0
    _, message = heard(driver, pressures=pressed(1, 21))
    assert np.argwhere(message.contact).tolist() == [[1, 4]]
    assert message.pressure[1, 4] == 21
    thresholds = np.full((3, 9), 20)
    thresholds[1, 4] = 60
    driver = replace(driver, threshold=thresholds)
    assert not np.any(heard(driver, pressures=pressed(1, 21))[1].contact)
    assert not np.any(heard(driver, pressures=pressed(1, -40))[1].contact)  # less than at rest is no contact


def test_calibrating_the_sensors_takes_the_next_reading_for_untouched():
    driver, _ = heard(Driver())
    driver = replace(driver, offset=None)
    driver, message = heard(driver, pressures=pressed(2, 50))
    assert not np.any(message.pressure)
    _, message = heard(driver)
    assert message.pressure[2, 4] == -50
    # What wrapped in the firmware wraps here: 310 down to 56 is a step of one.
    wrapped = np.full(38, 310)
    assert heard(driver, pressures=wrapped)[1].pressure[0, 0] == 150


def test_a_tactile_stop_holds_the_finger_that_touches_and_no_other():
    angles = counts.motor_counts([1.0, 1.0, 1.0, 0.5])
    driver, _ = heard(reflex_driver.to_pose(Driver(), four(2.0, 2.0, 2.0, 1.5)))
    touched, _ = heard(driver, angles=angles, pressures=pressed(1, 50))
    assert touched.target_rad.tolist() == [2.0, 2.0, 2.0, 1.5]
    driver = replace(driver, tactile_stops=True)
    driver, _ = heard(driver, angles=angles, pressures=pressed(1, 50))
    np.testing.assert_allclose(driver.target_rad, [2.0, 1.0, 2.0, 1.5], atol=0.003)
    # It may still open.
    opening = reflex_driver.to_pose(driver, four(0.0, 0.0, 0.0, 0.0))
    opening, _ = heard(opening, angles=angles, pressures=pressed(1, 50))
    assert opening.target_rad.tolist() == [0.0] * 4


def test_force_is_clamped_integrated_and_ends_with_the_next_command():
    driver, _ = heard(Driver(), angles=counts.motor_counts([1.0, 0.0, 0.0, 0.0]))
    start = driver.joint_rad[0]
    driver = reflex_driver.hold_load(replace(driver, tactile_stops=True), four(200.0, -5.0, 900.0, 900.0))
    assert driver.force_goal is not None
    assert driver.force_goal.tolist() == [200.0, 0.0, 350.0, 400.0]
    assert not driver.tactile_stops
    k = 16e-4 * 0.025
    driver, _ = heard(driver)
    assert driver.target_rad[0] == pytest.approx(start + k * 200.0, abs=1e-9)
    driver, _ = heard(driver)
    assert driver.target_rad[0] == pytest.approx(start + k * 200.0 + k * 400.0, abs=1e-9)
    driver = reflex_driver.to_pose(driver, four(0.5, 0.5, 0.5, 0.5))
    driver, _ = heard(driver)
    assert driver.target_rad.tolist() == [0.5] * 4


def test_released_motors_are_left_alone_until_commanded():
    driver, _ = heard(reflex_driver.release(reflex_driver.to_pose(Driver(), four(1, 1, 1, 1))))
    assert not driver.torque_on
    driver, _ = heard(driver, loads=counts.load_counts([1000.0] * 4))
    assert np.isnan(driver.target_rad).all()
    assert reflex_driver.to_raw(driver, four(2048, 2048, 2048, 2048)).torque_on


def test_distal_is_what_the_motor_wound_in_beyond_the_proximal_joint():
    angles = counts.motor_counts([1.0, 0.2, 1.0, 0.0])
    _, message = heard(Driver(), angles=angles, encoders=counts.encoder_counts([0.4, 0.5, 1.0]))
    np.testing.assert_allclose(message.distal_rad, [0.6, 0.0, 0.0], atol=0.003)


def test_an_encoder_that_passes_zero_goes_on_counting():
    driver = Driver()
    for angle in np.linspace(0.0, 3.0, 40):
        driver, message = heard(driver, encoders=counts.encoder_counts([angle] * 3))
        np.testing.assert_allclose(message.proximal_rad, angle, atol=5e-4)
    for angle in np.linspace(3.0, 0.0, 40):
        driver, message = heard(driver, encoders=counts.encoder_counts([angle] * 3))
        np.testing.assert_allclose(message.proximal_rad, angle, atol=5e-4)


def test_a_board_that_starts_anew_with_other_angles_is_read_right():
    driver = Driver()
    for systime_us, angle in ((5_000_000, 2.8), (5_025_000, 2.8), (0, 0.0), (25_000, 0.0), (10_000, 2.8)):
        driver, message = heard(driver, systime_us=systime_us, encoders=counts.encoder_counts([angle] * 3))
        np.testing.assert_allclose(message.proximal_rad, angle, atol=5e-4)


def test_zero_pose_takes_the_present_for_zero():
    driver, _ = heard(Driver(), angles=counts.motor_counts([0.3, 0.3, 0.3, 0.1]))
    driver = reflex_driver.zero_pose(driver)
    _, message = heard(driver, angles=counts.motor_counts([0.3, 0.3, 0.3, 0.1]))
    np.testing.assert_allclose(message.joint_rad, 0.0, atol=0.005)
    _, message = heard(driver, angles=counts.motor_counts([0.8, 0.8, 0.8, 0.6]))
    np.testing.assert_allclose(message.joint_rad, 0.5, atol=0.006)


# The driver on the twin's physics, without a network


def drive(world: World, driver: Driver, seconds: float) -> tuple[Driver, list[HandMessage]]:
    """Let the driver run on a world at the board's 40 Hz, in simulated time."""
    board = Board([world.hand("reflex")])
    messages = []
    for _ in range(round(40 * seconds)):
        world.advance(0.025)
        board.store_touch({"reflex": world.touch("reflex")})
        driver, message = reflex_driver.on_reading(driver, board.read(world.state("reflex")))
        messages.append(message)
        speed_rad_s = counts.driven_speed_rad_s(driver.speed_rad_s)
        world.command("reflex", board.command(driver.target_raw, speed_rad_s, driver.torque_on))
    return driver, messages


def blocked_finger() -> tuple[World, Driver]:
    """A hand whose finger 1 meets a fixed ball half way, and its driver."""
    ball = thenar.Sphere(name="ball", radius_m=0.03, pos_m=(0.026, 0.0854, 0.080), fixed=True)
    world = World("reflex", profile="ideal", props=[ball])
    driver, _ = drive(world, Driver(), 0.1)
    return world, driver


def test_a_hand_without_obstacles_goes_where_it_is_sent():
    world = World("reflex", profile="ideal")
    driver = reflex_driver.to_pose(Driver(), four(1.5, 1.2, 0.9, 0.6))
    _, messages = drive(world, driver, 3.0)
    np.testing.assert_allclose(messages[-1].joint_rad, [1.5, 1.2, 0.9, 0.6], atol=0.03)
    assert not np.any(messages[-1].contact)
    # 3 rad/s, as often as it is asked: half of the way takes a quarter of a second.
    way = np.array([message.joint_rad[0] for message in messages])
    assert 0.025 * int(np.argmax(way > 0.75)) == pytest.approx(0.25 + 0.025, abs=0.06)


def test_a_blocked_finger_is_loosened_and_its_tip_goes_on_closing():
    world, driver = blocked_finger()
    _, messages = drive(world, reflex_driver.to_pose(driver, four(3.0, 0.0, 0.0, 0.0)), 2.0)
    loads = np.array([message.load[0] for message in messages])
    assert loads.max() > 300.0
    assert np.abs(loads[-20:]).max() < 350.0  # it did not go on pushing
    last = messages[-1]
    assert last.joint_rad[0] < 2.0  # it was sent to 3
    assert last.distal_rad[0] > last.proximal_rad[0] > 0.2


def test_tactile_stops_end_a_grasp_at_the_first_touch():
    world, driver = blocked_finger()
    slow = reflex_driver.to_pose_at(driver, four(3.0, 0.0, 0.0, 0.0), four(0.5, 0.5, 0.5, 0.5))
    stopping, gently = drive(world, replace(slow, tactile_stops=True), 3.5)
    assert any(np.any(message.contact[0]) for message in gently)
    assert stopping.target_rad[0] < 3.0
    assert np.abs(np.array([message.load[0] for message in gently])).max() < 120.0
    world, driver = blocked_finger()
    slow = reflex_driver.to_pose_at(driver, four(3.0, 0.0, 0.0, 0.0), four(0.5, 0.5, 0.5, 0.5))
    _, pushing = drive(world, slow, 3.5)
    assert np.array([message.load[0] for message in pushing]).max() > 300.0


def test_force_control_settles_at_the_load_it_was_given():
    world, driver = blocked_finger()
    _, messages = drive(world, reflex_driver.hold_load(driver, four(150.0, 0.0, 0.0, 0.0)), 5.0)
    loads = np.array([message.load[0] for message in messages[-40:]])
    assert loads.mean() == pytest.approx(150.0, rel=0.1)


def test_calibrating_the_fingers_ends_where_each_has_moved():
    world = World("reflex", profile="ideal")
    driver, _ = drive(world, Driver(), 0.1)
    driver, _ = drive(world, reflex_driver.calibrate_fingers(driver), 3.0)
    assert driver.calibrating_since_us is None
    # It ended at most a step after 0.05 rad, and zero is 50 counts of slack before that.
    slack_rad = 50 * counts.ANGLE_RAD / 1.42
    zero_rad = counts.INVERTED * (driver.motor_zero_rad - counts.MOTOR_AT_ZERO * counts.ANGLE_RAD / counts.GEAR)
    assert np.all(zero_rad[:3] > 0.05 - slack_rad)
    assert zero_rad[3] == pytest.approx(0.0, abs=0.01)
    assert driver.target_rad.tolist() == [0.0] * 4
