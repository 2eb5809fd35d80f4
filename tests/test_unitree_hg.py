"""Unitree's messages of a G1: sizes, bytes and identifiers as another library has them, and the checksum."""

import time
from typing import Any

import numpy as np
import pytest

from tests.oracles import idl_types, unitree_idl
from thenar import cdr
from thenar.wire.codecs.unitree import unitree_hg as types

idl: Any = unitree_idl
RNG = np.random.default_rng(5)


def random_record(kind: np.dtype) -> np.ndarray:
    """Every field random, padding zero."""
    record = types.new_record(kind)
    fill(record)
    return record


def fill(record: np.ndarray) -> None:
    for name in record.dtype.names or ():
        part = record[name]
        if part.dtype.names:
            fill(part)
        elif part.dtype.kind == "f":
            record[name] = RNG.normal(size=part.shape)
        else:
            info = np.iinfo(part.dtype)
            record[name] = RNG.integers(
                info.min, info.max, size=part.shape, endpoint=True, dtype=part.dtype.newbyteorder("=")
            )


def plain(record: np.ndarray) -> Any:
    """A record as the constructors of the other library take it."""
    if record.dtype.names:
        if record.shape:
            return [plain(one) for one in record]
        return {name: plain(record[name]) for name in record.dtype.names}
    return record.tolist()


def their_imu(imu: np.ndarray) -> Any:
    return idl.IMUState(**plain(imu))


def golden_command() -> np.ndarray:
    command = types.new_record(types.LOW_CMD)
    command["mode_machine"] = 5
    motors = command["motor_cmd"][:29]
    motors["mode"], motors["q"], motors["kp"], motors["kd"] = 1, 0.01 * np.arange(29), 40.0, 1.0
    return command


def golden_state() -> np.ndarray:
    state = types.new_record(types.LOW_STATE)
    state["mode_machine"], state["tick"] = 5, 1
    state["imu_state"]["quaternion"] = (1.0, 0.0, 0.0, 0.0)
    state["motor_state"]["q"][15] = 0.5
    return state


@pytest.mark.parametrize(
    ("record", "crc"),
    [
        (types.new_record(types.LOW_CMD), 0xFE172F9F),
        (golden_command(), 0xCF09A33A),
        (types.new_record(types.LOW_STATE), 0xD64BB04A),
        (golden_state(), 0xF33B0444),
    ],
)
def test_checksum_has_the_golden_values(record: np.ndarray, crc: int):
    assert types.crc_of(record) == crc


@pytest.mark.parametrize(("kind", "size"), [(types.LOW_CMD, 1004), (types.LOW_STATE, 2092)])
def test_checksum_equals_the_one_computed_bit_by_bit(kind: np.dtype, size: int):
    record = random_record(kind)
    assert len(record.tobytes()) == size
    words = np.frombuffer(record.tobytes(), "<u4")[:-1].tolist()
    assert types.crc_of(record) == idl.crc_bit_by_bit(words)


def test_checksum_takes_microseconds():
    command = golden_command()
    best_s = min(_seconds(types.crc_of, command) for _ in range(200))
    assert best_s < 50e-6  # 5 at rest; bit by bit it is 2600


def _seconds(function: Any, *args: Any) -> float:
    start_s = time.perf_counter()
    function(*args)
    return time.perf_counter() - start_s


def test_command_of_a_body_has_the_bytes_of_another_library():
    command = random_record(types.LOW_CMD)
    command["crc"] = types.crc_of(command)
    fields = plain(command)
    motors = [idl.MotorCmd(**motor) for motor in fields.pop("motor_cmd")]
    theirs = idl.LowCmd(motor_cmd=motors, **fields).serialize()
    assert len(theirs) == 1004
    assert types.encode_low_cmd(command) == theirs
    assert types.decode_low_cmd(theirs).tobytes() == command.tobytes()
    assert types.crc_is_right(types.decode_low_cmd(theirs))


def test_state_of_a_body_has_the_bytes_of_another_library():
    state = random_record(types.LOW_STATE)
    state["crc"] = types.crc_of(state)
    fields = plain(state)
    motors = [idl.MotorState(**motor) for motor in fields.pop("motor_state")]
    fields.pop("imu_state")
    theirs = idl.LowState(motor_state=motors, imu_state=their_imu(state["imu_state"]), **fields).serialize()
    assert len(theirs) == 2092
    assert types.encode_low_state(state) == theirs
    assert types.decode_low_state(theirs).tobytes() == state.tobytes()


def test_imu_has_the_bytes_of_another_library():
    imu = random_record(types.IMU_STATE)
    assert types.encode_imu(imu) == their_imu(imu).serialize()
    assert len(types.encode_imu(imu)) == 58


def test_command_of_a_hand_has_the_bytes_of_another_library():
    seven = np.stack([random_record(types.MOTOR_CMD) for _ in range(7)])
    theirs = idl.HandCmd(motor_cmd=[idl.MotorCmd(**motor) for motor in plain(seven)], reserve=[0] * 4).serialize()
    assert len(theirs) == 220
    assert types.encode_hand_cmd(seven) == theirs
    assert (types.decode_hand_cmd(theirs) == seven).all()


def test_state_of_a_hand_has_the_bytes_of_another_library():
    motors = np.stack([random_record(types.MOTOR_STATE) for _ in range(7)])
    press = np.stack([random_record(types.PRESS_SENSOR) for _ in range(9)])
    imu = random_record(types.IMU_STATE)
    state = types.HandMessage(
        motor_state=motors,
        press_sensor_state=press,
        imu_state=imu,
        power_v=24.0,
        power_a=0.5,
        error=(1, 2),
        reserve=(3, 4),
    )
    theirs = idl.HandState(
        motor_state=[idl.MotorState(**motor) for motor in plain(motors)],
        press_sensor_state=[idl.PressSensorState(**module) for module in plain(press)],
        imu_state=their_imu(imu), power_v=24.0, power_a=0.5, system_v=0.0, device_v=0.0, error=[1, 2], reserve=[3, 4],
    ).serialize()  # fmt: skip
    assert len(theirs) == 1428
    assert types.encode_hand_state(state) == theirs
    back = types.decode_hand_state(theirs)
    assert (back.motor_state == motors).all()
    assert (back.press_sensor_state == press).all()
    assert back.imu_state == imu
    assert (back.power_v, back.power_a, back.error, back.reserve) == (24.0, 0.5, (1, 2), (3, 4))


@pytest.mark.parametrize("cut", [1, 500, 999])
def test_messages_cut_short_are_refused(cut: int):
    with pytest.raises(cdr.BadMessage):
        types.decode_low_cmd(types.encode_low_cmd(golden_command())[:-cut])


def test_what_a_peer_leaves_in_the_padding_does_not_count():
    message = bytearray(types.encode_low_cmd(golden_command()))
    message[4 + 3] = message[4 + 29] = 0xAA  # behind the modes of the first and the second motor
    assert types.crc_is_right(types.decode_low_cmd(bytes(message)))


def test_types_have_the_identifiers_of_the_vendor():
    assert idl_types.type_id(idl.MotorCmd) == "f24167572f769d42f23eccfe489465"
    assert idl_types.type_id(idl.MotorState) == "f26a803663d869893c216bf7b0f227"
    assert idl_types.type_id(idl.PressSensorState) == "f2cd531f52247f1d07b3820ff42b21"
    assert idl_types.type_id(idl.String) == "f2c3da80d638e91b9fad0a6b765cc2"
