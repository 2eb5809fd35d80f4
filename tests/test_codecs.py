"""Messages of the Inspire hands: golden bytes and hashes of the vendor's types, semantics, bad input."""

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.oracles import idl_types, unitree_idl
from thenar import cdr, hands
from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.signals import HandState
from thenar.units import GRAM_FORCE_N
from thenar.wire.codecs import dfx_codec, inspire_codec, inspire_counts, reflex_counts, sim_codec, tienkung_codec
from thenar.wire.codecs.inspire_codec import Ctrl, Mode, TouchLayout
from thenar.wire.codecs.inspire_counts import Readings, Scale
from thenar.wire.links.registry import known_topics
from thenar.wire.links.type_ids import TYPE_IDS

idl: Any = idl_types  # the library makes the classes; type checkers cannot follow
RIGHT = hands.load("inspire_right")
SCALE = Scale.of(RIGHT)
LAYOUT = TouchLayout.of(RIGHT)

CTRL_BYTES = bytes.fromhex(
    "00010000 06000000 010001000100010001000100 06000000 020002000200020002000200"
    "06000000 030003000300030003000300 06000000 040004000400040004000400 01"
)
STATE_BYTES = bytes.fromhex(
    "00010000 06000000" + "0100" * 6 + "06000000" + "0200" * 6 + "06000000" + "0300" * 6 + "06000000" + "0400" * 6
    + "06000000 000000000000 0000 06000000 020202020202 0000 06000000 1e1e1e1e1e1e"
)  # fmt: skip


FINGER_TAXELS = (("tip", 9), ("top", 96), ("palm", 80))


def six(value: int, kind: str = "i2") -> np.ndarray:
    return np.full(6, value, dtype=kind)


def state_of(spec: HandSpec, **changed: np.ndarray) -> HandState:
    n = len(spec.actuators)
    fields = {
        "angle_rad": spec.open_rad.copy(),
        "velocity_rad_s": np.zeros(n),
        "force_n": np.zeros(n),
        "torque_nm": np.zeros(n),
        "current_a": np.full(n, 0.033),
        "temperature_c": np.full(n, 25.4),
        "status": np.full(n, 2),
        "error": np.zeros(n, dtype=np.int64),
    } | changed
    return HandState(
        stamp_s=0.0,
        actuator_names=spec.actuator_names,
        joint_names=spec.joint_names,
        joint_rad=np.zeros(len(spec.joint_names)),
        joint_velocity_rad_s=np.zeros(len(spec.joint_names)),
        **fields,
    )


@pytest.mark.parametrize(
    ("kind", "minimal", "complete"),
    [
        (idl.InspireCtrl, "cdebe39d589e3a4a99628d1d8461", "e8abe96a1e7c7a59b4bc9d322528"),
        (idl.InspireState, "44ab3491681bfb533bfc43d75c33", "edb080ff3591f63eff236703d22c"),
        (idl.InspireTouch, "bd867de3f7999aa71e2dd91f6d3c", "4a4b52a5812d49d194c8616e430f"),
    ],
)
def test_types_have_the_hashes_of_the_vendor(kind: Any, minimal: str, complete: str):
    kind.__idl__.populate()
    info = kind.__idl__.get_type_info().serialize().hex()
    assert "f1" + minimal in info
    assert "f2" + complete in info
    assert kind.__idl__.get_type_id().serialize()[4:].hex() == "f2" + complete


def test_known_types_have_the_names_and_identifiers_that_cyclonedds_computes():
    kinds = [idl.InspireCtrl, idl.InspireState, idl.InspireTouch, idl.MotorCmds, idl.MotorStates, idl.JointState]
    kinds += [idl.ReflexHand, *idl.REFLEX_COMMANDS.values(), *unitree_idl.KINDS]
    computed = {kind.__idl__.idl_transformed_typename: idl.type_id(kind) for kind in kinds}
    assert computed == {name: ids[0] for name, ids in TYPE_IDS.items()}
    # Texts are judged by what they say: any program's String will do.
    body = {kind.__idl__.idl_transformed_typename for kind in unitree_idl.BODY_KINDS}
    assert set(TYPE_IDS) == (set(known_topics().values()) - {sim_codec.STRING}) | body


def test_ctrl_is_the_golden_bytes_both_ways():
    ctrl = Ctrl(stroke=[1] * 6, angle=[2] * 6, force=[3] * 6, speed=[4] * 6, mode=1)
    assert inspire_codec.encode_ctrl(ctrl) == CTRL_BYTES
    back = inspire_codec.decode_ctrl(CTRL_BYTES)
    assert [list(np.asarray(g)) for g in (back.stroke, back.angle, back.force, back.speed)] == [
        [n] * 6 for n in (1, 2, 3, 4)
    ]
    assert back.mode == 1


def test_state_is_the_golden_bytes_both_ways():
    readings = Readings(
        stroke=six(1), angle=six(2), force=six(3), current_ma=six(4),
        error=six(0, "u1"), status=six(2, "u1"), temperature_c=six(30, "u1"),
    )  # fmt: skip
    assert inspire_codec.encode_state(readings) == STATE_BYTES
    back = inspire_codec.decode_state(STATE_BYTES)
    for name, values in vars(readings).items():
        np.testing.assert_array_equal(getattr(back, name), values)


def test_touch_has_2208_bytes_and_equals_the_library_encoder():
    taxels = np.arange(1062) - 300
    message = inspire_codec.encode_touch(LAYOUT, taxels)
    assert len(message) == 2208
    in_order = inspire_codec.touch_words(LAYOUT, taxels).tolist()
    fields, first = {}, 0
    for (name, _), size in zip(inspire_codec.TOUCH_FIELDS, LAYOUT.sizes, strict=True):
        fields[name] = in_order[first : first + size]
        first += size
    assert idl.InspireTouch(**fields).serialize() == message
    np.testing.assert_array_equal(inspire_codec.decode_touch(LAYOUT, message), taxels)


def test_topics_and_types_are_the_vendors_words():
    # Ref: inspire_hand_sdk and unitree_sdk2.
    states = {
        f"rt/inspire_hand/{kind}/{s}": f"inspire::inspire_hand_{kind}" for kind in ("state", "touch") for s in "lr"
    }
    assert states == inspire_codec.STATES
    assert inspire_codec.topic("ctrl", "left") == "rt/inspire_hand/ctrl/l"
    assert inspire_codec.topic("touch", "right") == "rt/inspire_hand/touch/r"
    assert dfx_codec.COMMANDS == {"rt/inspire/cmd": "unitree_go::msg::dds_::MotorCmds_"}
    assert dfx_codec.STATES == {"rt/inspire/state": "unitree_go::msg::dds_::MotorStates_"}


def test_touch_begins_with_the_little_finger_and_ends_with_thumb_and_palm():
    # Ref: register table of the RH56DFTP: from 3000 on little, ring, middle, index (tip 9, top 96, palm 80), thumb
    # (9, 96, 9, 96), palm 112.
    pads = [pad for pad in RIGHT.pads for _ in range(pad.rows * pad.cols)]
    in_order = [pads[taxel].name for taxel in LAYOUT.taxels]
    parts = [(f"{finger}_{part}", n) for finger in ("little", "ring", "middle", "index") for part, n in FINGER_TAXELS]
    parts += [("thumb_tip", 9), ("thumb_top", 96), ("thumb_middle", 9), ("thumb_palm", 96), ("palm", 112)]
    assert in_order == [name for name, count in parts for _ in range(count)]


def test_ctrl_of_every_length_equals_the_library_encoder():
    for length in range(7):
        values = list(range(-1, length - 1))
        message = inspire_codec.encode_ctrl(Ctrl(angle=values, speed=values[: length // 2], mode=9))
        theirs = idl.InspireCtrl(pos_set=[], angle_set=values, force_set=[], speed_set=values[: length // 2], mode=9)
        assert message == theirs.serialize()
        assert np.asarray(inspire_codec.decode_ctrl(message).angle).tolist() == values


def test_big_endian_and_xcdr2_headers_are_read():
    big = struct.pack(">4sIIhIIb", b"\x00\x00\x00\x00", 0, 1, 500, 0, 0, 1)[:4]
    big += struct.pack(">IIh2xIIb", 0, 1, 500, 0, 0, 1)
    assert np.asarray(inspire_codec.decode_ctrl(big).angle).tolist() == [500]
    assert inspire_codec.decode_ctrl(b"\x00\x07\x00\x00" + CTRL_BYTES[4:]).mode == 1


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"", "header missing"),
        (b"\x00\x03\x00\x00" + CTRL_BYTES[4:], "wanted plain CDR"),
        (CTRL_BYTES[:4] + struct.pack("<I7h", 7, *range(7)) + CTRL_BYTES[20:], "7 elements"),
        (CTRL_BYTES[:-1], "mode needs"),
        (CTRL_BYTES[:40], "the message has 36"),
        (CTRL_BYTES + bytes(8), "too many"),
        (CTRL_BYTES[:4] + b"\xff\xff\xff\xff" + CTRL_BYTES[8:], "4294967295 elements"),
    ],
)
def test_bytes_that_are_no_ctrl_are_refused(message: bytes, why: str):
    with pytest.raises(cdr.BadMessage, match=why):
        inspire_codec.decode_ctrl(message)


def test_only_flagged_groups_act():
    ctrl = Ctrl(angle=[0] * 6, stroke=[0] * 6, force=[0] * 6, speed=[0] * 6, mode=Mode.ANGLE)
    command, wrong = inspire_codec.command_of(SCALE, ctrl)
    assert command is not None
    np.testing.assert_allclose(command.target_rad, RIGHT.closed_rad)
    assert np.isnan(command.speed_rad_s).all()
    assert np.isnan(command.force_limit_n).all()
    assert wrong == 0


# Ref: inspire_hand_sdk: bit 0 angle, bit 1 position, bit 2 force, bit 3 speed; the driver writes flagged groups only.
MODE_BITS = ((1, Mode.ANGLE), (2, Mode.STROKE), (4, Mode.FORCE), (8, Mode.SPEED))


def ctrl_bytes(mode: int) -> bytes:
    """Position 1500, angle 600, force 700 and speed 800 for the little finger, and a mode, without our encoder."""
    return b"\0\1\0\0" + struct.pack("<Ih2xIh2xIh2xIhb", 1, 1500, 1, 600, 1, 700, 1, 800, mode)


def test_each_bit_of_the_mode_is_the_vendors_byte():
    for byte, bit in MODE_BITS:
        ctrl = Ctrl(stroke=[1500], angle=[600], force=[700], speed=[800], mode=bit)
        assert inspire_codec.encode_ctrl(ctrl) == ctrl_bytes(byte)
    for mode in range(16):
        chosen = sum(bit for byte, bit in MODE_BITS if mode & byte)
        ctrl = Ctrl(stroke=[1500], angle=[600], force=[700], speed=[800], mode=chosen)
        assert inspire_codec.encode_ctrl(ctrl) == ctrl_bytes(mode)


@pytest.mark.parametrize("mode", range(1, 16))
def test_a_mode_byte_makes_exactly_its_groups_act(mode: int):
    command, wrong = inspire_codec.command_of(SCALE, inspire_codec.decode_ctrl(ctrl_bytes(mode)))
    assert command is not None
    assert wrong == 0
    closed = 0.75 if mode & 2 else 0.4 if mode & 1 else np.nan  # the driver writes the position behind the angle
    little = RIGHT.actuator_names.index("little")
    stroke_rad = RIGHT.closed_rad[little] - RIGHT.open_rad[little]
    np.testing.assert_allclose(command.target_rad[little], RIGHT.open_rad[little] + closed * stroke_rad)
    np.testing.assert_allclose(command.force_limit_n[little], 700 * GRAM_FORCE_N if mode & 4 else np.nan)
    np.testing.assert_allclose(command.speed_rad_s[little], 0.8 * RIGHT.top_speed_rad_s[little] if mode & 8 else np.nan)


@pytest.mark.parametrize(
    "ctrl",
    [Ctrl(angle=[0] * 6, mode=0), Ctrl(mode=15), Ctrl(angle=[0] * 6, mode=Mode.SPEED), Ctrl(speed=[5] * 6, mode=16)],
)
def test_a_message_that_asks_nothing_does_nothing(ctrl: Ctrl):
    assert inspire_codec.command_of(SCALE, ctrl) == (None, 0)


def test_minus_one_stops_a_motor_and_missing_counts_leave_it_alone():
    command, wrong = inspire_codec.command_of(SCALE, Ctrl(angle=[1000, -1, 500], mode=1))
    assert command is not None
    assert np.isnan(command.target_rad).tolist() == [False, True, False, True, True, True]
    assert command.stop is not None
    assert command.stop.tolist() == [False, True, False, False, False, False]
    assert wrong == 0
    for ctrl in (Ctrl(angle=[1000] * 6, mode=1), Ctrl(force=[-1] * 6, speed=[-1] * 6, mode=12)):
        assert inspire_codec.command_of(SCALE, ctrl)[0].stop is None  # type: ignore[union-attr]


def test_counts_out_of_range_are_clamped_or_held_and_counted():
    command, wrong = inspire_codec.command_of(SCALE, Ctrl(angle=[2000, -2, -32000, 1001, 0, 1000], mode=1))
    assert command is not None
    assert wrong == 4
    assert np.isnan(command.target_rad).tolist() == [False, True, True, False, False, False]
    np.testing.assert_allclose(command.target_rad[[0, 3]], RIGHT.open_rad[[0, 3]])


def test_stroke_runs_against_angle_and_is_written_last():
    closing, _ = inspire_codec.command_of(SCALE, Ctrl(stroke=[2000, -1, -1, -1, -1, -1], mode=Mode.STROKE))
    both, _ = inspire_codec.command_of(
        SCALE, Ctrl(angle=[1000, 1000, 500, 500, 500, 500], stroke=[2000, -1], mode=Mode.ANGLE | Mode.STROKE)
    )
    assert closing is not None
    assert both is not None
    assert closing.target_rad[0] == pytest.approx(RIGHT.closed_rad[0])
    np.testing.assert_allclose(both.target_rad[:2], [RIGHT.closed_rad[0], RIGHT.open_rad[1]])


def test_force_and_speed_are_grams_and_thousandths():
    command, _ = inspire_codec.command_of(SCALE, Ctrl(force=[500] * 6, speed=[250] * 6, mode=Mode.FORCE | Mode.SPEED))
    assert command is not None
    np.testing.assert_allclose(command.force_limit_n, 500 * GRAM_FORCE_N)
    np.testing.assert_allclose(command.speed_rad_s, 0.25 * RIGHT.top_speed_rad_s)
    dfx = Scale.of(hands.load("inspire_dfx_left"))
    assert (SCALE.force_top, dfx.force_top) == (3000, 1000)


@pytest.mark.parametrize("name", ["inspire_left", "inspire_right", "inspire_dfx_left", "inspire_dfx_right"])
def test_angles_come_back_as_they_were_sent(name: str):
    spec = hands.load(name)
    scale = Scale.of(spec)
    sent = [0, 1, 333, 500, 999, 1000]
    command, _ = inspire_counts.command(scale, angle=sent)
    readings = inspire_counts.readings(scale, state_of(spec, angle_rad=command.target_rad))
    assert readings.angle.tolist() == sent
    assert readings.stroke.tolist() == [2000 - 2 * angle for angle in sent]
    assert inspire_counts.angle_counts(scale, command.target_rad) == sent


def test_an_open_hand_need_not_stand_at_zero():
    scale = replace(Scale.of(RIGHT), open_rad=np.full(6, 0.2), closed_rad=np.full(6, 1.2))
    assert inspire_counts.angle_counts(scale, np.array([0.2, 0.45, 0.7, 0.95, 1.2, 2.0])) == [1000, 750, 500, 250, 0, 0]


def test_speeds_and_limits_come_back_as_they_were_sent_and_none_where_a_motor_is_told_none():
    scale = Scale.of(hands.load("inspire_left"))
    speed, force = [0, 1, 500, 999, 1000, 250], [0, 1, 300, 999, 1000, 450]
    command, _ = inspire_counts.command(scale, speed=speed, force=force)
    assert inspire_counts.limit_counts(scale, command) == (speed, force)
    assert inspire_counts.limit_counts(scale, inspire_counts.command(scale, speed=speed[:5])[0]) == ([], [])


def test_readings_are_clipped_to_what_the_registers_hold():
    spec = RIGHT
    readings = inspire_counts.readings(
        SCALE,
        state_of(
            spec,
            angle_rad=spec.open_rad - 0.1,
            force_n=np.full(6, 1e3),
            current_a=np.full(6, 9.0),
            temperature_c=np.full(6, 300.0),
        ),
    )
    assert set(readings.angle) == {1000}
    assert set(readings.stroke) == {0}
    assert set(readings.force) == {4000}
    assert set(readings.current_ma) == {2000}
    assert set(readings.temperature_c) == {100}


def test_a_hand_of_another_maker_is_refused():
    with pytest.raises(BadValue, match="Inspire"):
        Scale.of(hands.load("shadow_right"))
    with pytest.raises(BadValue, match="skin"):
        TouchLayout.of(hands.load("inspire_dfx_right"))


def test_the_palm_goes_column_by_column_from_the_bottom_row():
    frame = np.zeros(1062, dtype=np.int64)
    first = sum(pad.taxels for pad in RIGHT.pads[: [p.name for p in RIGHT.pads].index("palm")])
    palm = frame[first : first + 112].reshape(8, 14)
    palm[:] = np.arange(112).reshape(8, 14)
    words = inspire_codec.touch_words(LAYOUT, frame)[-112:]
    for row in range(8):
        for col in range(14):
            assert words[col * 8 + (7 - row)] == palm[row, col]


def test_the_thumb_has_a_middle_pad_between_top_and_palm():
    frame = np.zeros(1062, dtype=np.int64)
    first = 0
    for pad in RIGHT.pads:
        if pad.name == "thumb_middle":
            frame[first : first + 9] = 1000 + np.arange(9)
        first += pad.taxels
    words = inspire_codec.touch_words(LAYOUT, frame)
    at = 4 * 185 + 9 + 96
    assert words[at : at + 9].tolist() == list(range(1000, 1009))
    assert np.count_nonzero(words) == 9


def test_dfx_messages_have_the_sizes_and_the_order_of_the_sheet():
    right = Readings(
        stroke=six(0), angle=six(250), force=six(0), current_ma=six(0),
        error=six(0, "u1"), status=six(2, "u1"), temperature_c=six(25, "u1"),
    )  # fmt: skip
    motion = {"dq_rad_s": {"right": np.full(6, -0.5)}, "tau_nm": {"right": np.full(6, 0.125)}}
    states = dfx_codec.encode_states({"right": right}, **motion, lost=7)
    assert len(states) == 584
    back = dfx_codec.decode_states(states)
    np.testing.assert_allclose(back["right"]["q"], 0.25)
    np.testing.assert_allclose(back["left"]["q"], 1.0)
    assert set(back["left"]["lost"]) == {7}
    assert set(back["right"]["lost"]) == {0}
    commands = dfx_codec.encode_commands({"right": [0.1] * 6, "left": [0.2] * 6})
    assert len(commands) == 440
    theirs = idl.MotorCmds(
        [idl.MotorCmd(0, q, 0, 0, 0, 0, [0, 0, 0]) for q in [np.float32(0.1)] * 6 + [np.float32(0.2)] * 6]
    )
    assert theirs.serialize() == commands
    one = idl.MotorState(0, 1.0, 0, 0, 0, 0, 0, 0, 0, 7, [0, 0])
    quarter = idl.MotorState(0, 0.25, -0.5, 0, 0.125, 0, 0, 0, 0, 0, [0, 0])
    assert idl.MotorStates([quarter] * 6 + [one] * 6).serialize() == states


def test_dfx_values_are_clamped_and_what_is_no_number_holds():
    parts = dfx_codec.decode_commands(dfx_codec.encode_commands({"right": [-1.0, 2.0, np.nan, np.inf, 0.0, 1.0]}))
    command, wrong = dfx_codec.command_of(SCALE, parts["right"])
    assert command is not None
    np.testing.assert_allclose(command.target_rad[[0, 1]], [RIGHT.closed_rad[0], RIGHT.open_rad[1]])
    assert np.isnan(command.target_rad).tolist() == [False, False, True, True, False, False]
    assert command.stop is None  # a finger that moves goes on
    assert wrong == 4
    assert dfx_codec.command_of(SCALE, parts["left"]) == (None, 0)


def test_dfx_cannot_command_the_left_hand_alone():
    with pytest.raises(BadValue, match="right"):
        dfx_codec.encode_commands({"left": [1.0] * 6})


def test_counts_are_mapped_by_name_not_by_place():
    order = [5, 3, 1, 0, 2, 4]
    shuffled = replace(RIGHT, actuators=tuple(RIGHT.actuators[n] for n in order))
    scale = Scale.of(shuffled)
    command, _ = inspire_counts.command(scale, angle=[0, -1, -1, -1, -1, -1])
    assert [
        name for name, target in zip(shuffled.actuator_names, command.target_rad, strict=True) if not np.isnan(target)
    ] == ["little"]


def test_a_tienkung_command_has_no_time_unless_one_is_given():
    command = tienkung_codec.JointState(name=("1",), position=[0.5])
    assert tienkung_codec.encode_joint_state(command)[:8] == bytes(8)
    assert tienkung_codec.encode_joint_state(replace(command, stamp_s=2.5))[:8] == struct.pack("<iI", 2, 500_000_000)


@pytest.mark.parametrize(("die_pa", "bits"), [(0.0, 1023), (1e6, 0)])
def test_a_barometer_beyond_its_range_stays_at_the_end_of_its_ten_bits(die_pa: float, bits: int):
    assert reflex_counts.pressure_counts(die_pa, 25.0) == bits
