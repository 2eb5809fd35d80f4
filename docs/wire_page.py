"""The wire tables, from the codecs themselves."""

from __future__ import annotations

import numpy as np
from tables import table
from wire_words import (
    AURORA_WORDS,
    BRAINCO_WORDS,
    DEX3_WORDS,
    DFX_WORDS,
    INSPIRE_WORDS,
    MODBUS_WORDS,
    PRESS_WORDS,
    REFLEX_WORDS,
    TIENKUNG_WORDS,
)

from thenar import hands
from thenar.wire.codecs import aurora_codec, dfx_codec, inspire_codec, reflex_codec, tienkung_codec
from thenar.wire.codecs.registers import register_map
from thenar.wire.codecs.unitree import unitree_go, unitree_hg

HEAD = """# Wire tables

What is on the wire. These tables are made from the codecs at every build; how to connect is in
[Connect your controller](../connect.md), [Tienkung's hands](../tienkung.md) and [RobotData](../robotdata.md)."""
FIELDS = ("field", "type", "unit and meaning")
SIX, SIX_BYTES = "up to 6 int16", "up to 6 uint8"
INSPIRE_CTRL = {**dict.fromkeys(("pos_set", "angle_set", "force_set", "speed_set"), SIX), "mode": "int8"}
INSPIRE_STATE = dict.fromkeys(("pos_act", "angle_act", "force_act", "current"), SIX)
INSPIRE_STATE |= dict.fromkeys(("err", "status", "temperature"), SIX_BYTES)


def wire_page() -> str:
    """Every message, service and register."""
    return (
        "\n\n".join([HEAD, *inspire(), *dfx(), *unitree_hands(), *modbus(), *tienkung(), *reflex(), *aurora()]) + "\n"
    )


def inspire() -> list[str]:
    """The DDS interface of the tactile hand."""
    spec = hands.load("inspire_right")
    rows, byte = [], register_map.REGISTERS["TOUCH"].address
    for field, pad in inspire_codec.TOUCH_FIELDS:
        grid = spec.pad(pad)
        order = "column by column, each from the bottom row up" if pad == "palm" else "row by row"
        rows.append((f"`{field}`", f"`{pad}`", f"{grid.rows} x {grid.cols}", order, byte))
        byte += 2 * grid.taxels
    return [
        "## The tactile Inspire hand: `inspire`",
        "Six motors, always in the order " + ", ".join(f"`{name}`" for name in inspire_codec.MOTORS) + ".",
        *_message("rt/inspire_hand/ctrl/{l,r}", INSPIRE_CTRL, INSPIRE_WORDS),
        *_message("rt/inspire_hand/state/{l,r}", INSPIRE_STATE, INSPIRE_WORDS),
        "### `rt/inspire_hand/touch/{l,r}`",
        "Sequences of int16, the counts of the taxels. The last column is where the same values are over Modbus.",
        table(("field", "pad", "rows x columns", "order", "Modbus address"), rows),
    ]


def dfx() -> list[str]:
    """Unitree's topics."""
    return [
        "## Unitree's DFX topics: `dfx`",
        "Both messages are a sequence of motors: six of the right hand, then six of the left.",
        *_message(dfx_codec.COMMAND_TOPIC, _record_fields(dfx_codec.MOTOR_CMD), DFX_WORDS),
        *_message(dfx_codec.STATE_TOPIC, _record_fields(dfx_codec.MOTOR_STATE), DFX_WORDS),
    ]


def unitree_hands() -> list[str]:
    """Topics of Dex3-1 and BrainCo hands."""
    return [
        "## Unitree's Dex3-1: `dex3`",
        "Seven motors a message, in the order of the hand's actuators; a state has nine press modules, in the order of "
        "its pads. The copy on `rt/lf/dex3/{left,right}/state` comes 20 times a second.",
        *_message("rt/dex3/{left,right}/cmd", _record_fields(unitree_hg.MOTOR_CMD), DEX3_WORDS),
        *_message("rt/dex3/{left,right}/state", _record_fields(unitree_hg.MOTOR_STATE), DEX3_WORDS),
        *_message("press_sensor_state", _record_fields(unitree_hg.PRESS_SENSOR), PRESS_WORDS),
        "## Unitree's Dex1-1: `dex1`",
        "`rt/dex1/{left,right}/cmd` and `state` are lists of one motor as below, `q` from 0 (closed) to 5.4 rad "
        "(open), with `dq`, `tau`, `kp`, `kd` and `tau_est` as for a Dex3-1.",
        "## BrainCo's Revo 2 on a Unitree robot: `brainco`",
        "Six motors a message: thumb, thumb_aux, index, middle, ring, pinky. xr_teleoperate sends the first two the "
        "other way round; `--brainco.order xr_teleoperate` serves it as it means it.",
        *_message("rt/brainco/{left,right}/cmd", _record_fields(unitree_go.MOTOR_CMD), BRAINCO_WORDS),
        *_message("rt/brainco/{left,right}/state", _record_fields(unitree_go.MOTOR_STATE), BRAINCO_WORDS),
    ]


def modbus() -> list[str]:
    """The registers."""
    rows = [
        (
            f"`{register.name}`",
            register.address,
            register.count,
            {"<i2": "int16", "u1": "uint8"}[register.dtype],
            "read, write" if register.writable else "read",
            "yes" if register.saved else "",
            MODBUS_WORDS[register.name],
        )
        for register in register_map.REGISTERS.values()
    ]
    return [
        "## Registers: `modbus`, `rs485`",
        "An address counts bytes; values are little endian, words on Modbus big endian as ever.",
        table(("register", "address", "values", "type", "", "saved", "unit and meaning"), rows),
    ]


def tienkung() -> list[str]:
    """ROS 2 topics and services."""
    sides = "{left,right}"
    fingers = ", ".join(f"`{n}` {m}" for n, m in zip(tienkung_codec.FINGER_IDS, inspire_codec.MOTORS, strict=True))
    rows = [
        (f"`{s.name}`", f"`{s.type_name}`", _fields(s.request), _fields(s.response), TIENKUNG_WORDS[s.name])
        for s in tienkung_codec.SERVICES
    ]
    return [
        "## Tienkung's ROS 2 interface: `tienkung`",
        f"`{tienkung_codec.state_topic(sides)}` and `{tienkung_codec.control_topic(sides)}` carry "
        f"`{tienkung_codec.JOINT_STATE}`; fingers are named {fingers}.",
        f"Services are at `{tienkung_codec.service_path('SERVICE', sides)}`.",
        table(("service", "type", "request", "response", "unit and meaning"), rows),
    ]


def reflex() -> list[str]:
    """The driver of the ReFlex hand."""
    topics = {reflex_codec.STATE_TOPIC: reflex_codec.HAND}
    topics |= {f"{reflex_codec.NAMESPACE}/{name}": kind for name, kind in reflex_codec.COMMANDS.items()}
    rows = [(f"`{topic}`", f"`{kind}`", REFLEX_WORDS[topic.rpartition("/")[2]]) for topic, kind in topics.items()]
    services = [
        (f"`{reflex_codec.NAMESPACE}/{s.name}`", f"`{s.type_name}`", _fields(s.request), REFLEX_WORDS[s.name])
        for s in reflex_codec.SERVICES
    ]
    return [
        "## The ReFlex hand's driver: `reflex`",
        "The maker's driver is a ROS 1 package; these are its messages in ROS 2 types.",
        table(("topic", "type", "unit and meaning"), rows),
        table(("service", "type", "request", "what it does"), services),
        table(("type", "fields"), [(f"`{name}`", _fields(fields)) for name, fields in reflex_codec.TYPES.items()]),
    ]


def aurora() -> list[str]:
    """Fourier's topics."""
    ways = {"robot to client": aurora_codec.REPORTS, "client to robot": aurora_codec.COMMANDS}
    topics = [
        (f"`{topic}`", way, f"`{kind}`", AURORA_WORDS[topic])
        for way, named in ways.items()
        for topic, kind in named.items()
    ]
    types = [(f"`{name}`", _fields(dict(fields))) for name, fields in aurora_codec.TYPES.items()]
    return [
        "## Fourier's Aurora",
        table(("topic", "way", "type", "what"), topics),
        "Fields, in the order of the wire; `[x]` is a sequence of x. Numbers are SI.",
        table(("type", "fields"), types),
    ]


def _message(topic: str, fields: dict[str, str], words: dict[str, str]) -> list[str]:
    return [f"### `{topic}`", table(FIELDS, [(f"`{field}`", kind, words[field]) for field, kind in fields.items()])]


def _record_fields(dtype: np.dtype) -> dict[str, str]:
    """Fields of a record and their types in words: ``3 uint32``."""
    shapes = {name: dtype[name] for name in dtype.names or ()}
    return {name: " ".join([*map(str, kind.shape), kind.base.name]) for name, kind in shapes.items()}


def _fields(fields: dict[str, str]) -> str:
    shown = {name: kind for name, kind in fields.items() if not name.startswith("structure_needs")}
    return ", ".join(f"`{name}` {kind}" for name, kind in shown.items()) or "nothing"
