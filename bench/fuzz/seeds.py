"""Right bytes of every kind that comes over a network: what programs, gloves and hands say."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from thenar import cdr, hands
from thenar.glove.glove_socket import encode_frame
from thenar.glove.make import make_log
from thenar.signals import SceneState
from thenar.wire.codecs import aurora_codec, dfx_codec, inspire_codec, reflex_codec, sim_codec, tienkung_codec
from thenar.wire.codecs.inspire_codec import Ctrl, TouchLayout
from thenar.wire.codecs.inspire_counts import Readings
from thenar.wire.codecs.manus_codec import MANUS_GLOVE, ManusGlove, encode_glove
from thenar.wire.codecs.reflex_udp_codec import Mode, Modes, Targets, encode_command
from thenar.wire.codecs.registers.rs485_frames import READ_COMMAND, REQUEST, WRITE_COMMAND, own_frame, rtu_frame
from thenar.wire.codecs.serial_bus import dynamixel_packets
from thenar.wire.codecs.serial_bus.dynamixel_packets import BROADCAST, Instruction
from thenar.wire.codecs.unitree import unitree_hg, unitree_rpc
from thenar.wire.rtps import ros


def _plain(message: bytes) -> bytes:
    """A message without its header."""
    return message[len(cdr.HEADER) :]


def filled(kind: str) -> dict[str, Any]:
    """A message of Aurora with something in every field."""
    scalars = {"u8": 1, "bool": 1, "i32": -5, "u32": 7, "f64": 0.25, "str": "left_leg"}

    def value(kind: str) -> Any:
        if kind in scalars:
            return scalars[kind]
        if kind.startswith("["):
            return [value(kind[1:-1])] * 2
        return {name: value(inner) for name, inner in aurora_codec.TYPES[kind]}

    return value(kind)


def _rpc(api_id: int, parameter: str) -> bytes:
    """A call to a service of a G1."""
    out = bytearray()
    cdr.put(out, "3qi?", 1, api_id, 0, 0, False)
    cdr.put_string(out, parameter)
    cdr.put(out, "I", 0)
    return bytes(out)


def aurora_bodies(kind: str) -> tuple[bytes, ...]:
    """An empty and a full message of Aurora."""
    return aurora_codec.encode(kind, {}), aurora_codec.encode(kind, filled(kind))


def _low_cmd() -> np.ndarray:
    """A command that holds every motor of a G1."""
    command = unitree_hg.new_record(unitree_hg.LOW_CMD)
    command["mode_machine"] = 5
    command["motor_cmd"]["mode"] = 1
    command["motor_cmd"]["kp"] = 20.0
    return command


_CTRL = Ctrl(stroke=[1500] * 6, angle=[600] * 6, force=[500] * 6, speed=[800] * 6, mode=15)
_JOINTS = tienkung_codec.JointState(frame_id="x", name=tienkung_codec.FINGER_IDS, position=[0.5] * 6)
_POSES = {"ball": (np.array([0.0, 0.1, 0.2]), np.array([1.0, 0.0, 0.0, 0.0]))}
_GLOVE = make_log(("open",), layout="manus25")[0]

COMMANDS: dict[str, tuple[bytes, ...]] = {
    "inspire::inspire_hand_ctrl": tuple(
        _plain(inspire_codec.encode_ctrl(ctrl)) for ctrl in (_CTRL, Ctrl(angle=[900] * 6, mode=1))
    ),
    "unitree_go::msg::dds_::MotorCmds_": (_plain(dfx_codec.encode_commands({"right": [0.5] * 6, "left": [0.25] * 6})),),
    "unitree_hg::msg::dds_::HandCmd_": (_plain(unitree_hg.encode_hand_cmd(np.ones(7, unitree_hg.MOTOR_CMD))),),
    "unitree_hg::msg::dds_::LowCmd_": (_plain(unitree_hg.encode_low_cmd(_low_cmd())),),
    unitree_rpc.REQUEST_TYPE: (
        _rpc(1001, ""),
        _rpc(1002, '{"name": "ai"}'),
        _rpc(7101, '{"data": 1}'),
        _rpc(7105, '{"velocity": [0.0, 0.0, 0.0], "duration": 1.0}'),
    ),
    ros.message_type(tienkung_codec.JOINT_STATE): (tienkung_codec.encode_joint_state(_JOINTS),),
    sim_codec.STRING: (
        *(_plain(sim_codec.encode_text(text)) for text in "12"),
        _plain(sim_codec.encode_poses(_POSES, {})),
        _plain(sim_codec.encode_poses({}, _POSES)),
    ),
    **{
        ros.message_type(kind): tuple(reflex_codec.encode_numbers(topic, value) for value in (0.5, 9))
        for topic, kind in reflex_codec.COMMANDS.items()
    },
    **{
        aurora_codec.Names().type_name(kind): aurora_bodies(kind)
        for kind in (*aurora_codec.COMMANDS.values(), "ThenarReset")
    },
    ros.message_type(MANUS_GLOVE): (
        encode_glove(
            ManusGlove(glove_id=1, side="right", position_m=_GLOVE.position_m, quat_wxyz=_GLOVE.quat_wxyz),
        ),
    ),
}
"""Bodies on the topics that are listened to, by the name of their type."""

WALKS = (_plain(sim_codec.encode_text("[0.0, 0.0, 0.0, 0.8]")),)
"""Velocities that a G1 is asked to walk with."""

REQUESTS = (
    tienkung_codec.encode_flexible_request(("1", "2"), [0.1, 0.2]),
    np.full(6, 0.5, dtype="<f4").tobytes(),
    np.full(4, 0.5, dtype="<f8").tobytes(),
    bytes(54),
    bytes(1),
    aurora_codec.encode("PolicyChange_Request", {}),
)
"""Bodies of requests to services, whichever it is."""

_WORD = np.full(6, 3)
STATES = {
    "inspire state": _plain(
        inspire_codec.encode_state(
            Readings(
                **dict.fromkeys(("stroke", "angle", "force", "current_ma", "error", "status", "temperature_c"), _WORD)
            )
        )
    ),
    "inspire touch": _plain(
        inspire_codec.encode_touch(TouchLayout.of(hands.load("inspire_right")), np.zeros(1062, dtype=np.int64))
    ),
    "scene": _plain(
        sim_codec.encode_state(
            SceneState(
                stamp_s=1.0,
                scene="table",
                hand_names=("a",),
                palm_pose=np.zeros((1, 7)),
                joint_rad=(np.zeros(12),),
                joint_velocity_rad_s=(np.zeros(12),),
                object_names=("ball",),
                object_pose=np.zeros((1, 7)),
                object_velocity=np.zeros((1, 6)),
            )
        )[0]
    ),
}
"""Bodies that clients read from hands."""

PDUS = (
    bytes.fromhex("0305ce0006"),
    bytes.fromhex("0305ce0001"),
    bytes.fromhex("0605ce01f4"),
    bytes.fromhex("1005ce00060c") + b"\x01\xf4" * 6,
    bytes.fromhex("1003ec00010200 01".replace(" ", "")),
    bytes.fromhex("0603f00001"),
    bytes.fromhex("030bb8007d"),
)
"""Modbus requests without what transports put around them: angles, clear errors, save, touch."""
LINES = (
    own_frame(REQUEST, 1, READ_COMMAND, 1546, b"\x0c"),
    own_frame(REQUEST, 1, WRITE_COMMAND, 1486, b"\xf4\x01" * 6),
    own_frame(REQUEST, 2, WRITE_COMMAND, 1005, b"\x01"),
    *(rtu_frame(1, pdu) for pdu in PDUS),
)
"""Frames on a serial line."""
REVO2_LINES = tuple(
    rtu_frame(0x7F, bytes.fromhex(pdu))
    for pdu in ("030384000c", "0407d0000c", "100384000204" + "01f401f4", "0603840001", "1003e800060c" + "0200" * 6)
)
_GOALS = b"".join(struct.pack("<Bi", motor, 2048) for motor in range(4))
DYNAMIXEL_LINES = tuple(
    dynamixel_packets.encode(motor, instruction, parameters)
    for motor, instruction, parameters in (
        (1, Instruction.PING, b""),
        (BROADCAST, Instruction.PING, b""),
        (1, Instruction.READ, struct.pack("<HH", 132, 4)),
        (1, Instruction.WRITE, struct.pack("<HB", 64, 1)),
        (1, Instruction.REG_WRITE, struct.pack("<Hi", 116, 1000)),
        (BROADCAST, Instruction.REG_WRITE, struct.pack("<Hi", 116, 1000)),
        (BROADCAST, Instruction.ACTION, b""),
        (BROADCAST, Instruction.REBOOT, b""),
        (BROADCAST, Instruction.SYNC_READ, struct.pack("<HH", 126, 10) + bytes(range(16))),
        (BROADCAST, Instruction.SYNC_WRITE, struct.pack("<HH", 116, 4) + _GOALS),
        (BROADCAST, Instruction.BULK_READ, struct.pack("<BHH", 2, 132, 4)),
        (BROADCAST, Instruction.BULK_WRITE, struct.pack("<BHHi", 3, 116, 4, 2048)),
    )
)
PACKETS = (
    encode_command(Modes(modes=(Mode.POSITION, Mode.VELOCITY, Mode.IDLE, Mode.POSITION))),
    encode_command(Targets(raw=np.array([100, 200, 300, 40000]))),
)
"""Of the ReFlex hand's own protocol."""
GLOVE_FRAMES = tuple(encode_frame(make_log(("open",), layout=layout)[0]) for layout in ("nodes21", "manus25"))
PAGE_HEADS = tuple(
    ("\r\n".join([f"GET {target} HTTP/1.1", "Host: 127.0.0.1:8080", *more]) + "\r\n\r\n").encode()
    for target, more in (
        ("/", ()),
        ("/?token=secret", ("Origin: http://127.0.0.1:8080", "Upgrade: websocket")),
        ("/", ("Cookie: thenar_token=secret; other=1", "Connection: keep-alive")),
    )
)
