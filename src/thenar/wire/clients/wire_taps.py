"""What hands and their clients say to each other, read by a third: commands, states and touch of each protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar import cdr
from thenar.arrays import FloatArray
from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand, HandState
from thenar.units import GRAM_FORCE_N
from thenar.wire.codecs import dfx_codec, inspire_codec, inspire_counts, reflex_codec, reflex_counts, tienkung_codec
from thenar.wire.codecs.inspire_counts import Readings, Scale
from thenar.wire.codecs.reflex_board import Board
from thenar.wire.codecs.unitree import brainco_codec, dex3_codec, unitree_go, unitree_hg
from thenar.wire.links import reflex_driver
from thenar.wire.rtps import ros

Kind = Literal["command", "state", "touch"]
Said = tuple[str, HandCommand | HandState | FloatArray]
"""A hand, and what a message says of it: taxels are counts, pad after pad, NaN where a message has none."""
DIE_PA_PER_COUNT = 509.0  # of the eight bits that the ReFlex publishes, about the pressure of the air


@dataclass(frozen=True, kw_only=True)
class Tap:
    """One DDS topic, and how its messages are read."""

    topic: str
    type_name: str
    kind: Kind
    decode: Callable[[bytes, float], Iterator[Said]]
    """From a message with its header and its time [s]; anything else raises `BadMessage`."""


def report(spec: HandSpec, stamp_s: float, angle_rad: FloatArray, **measured: ArrayLike) -> HandState:
    """A state from what a wire tells; what it does not is NaN, and joints follow their motors."""
    motors, joints = len(spec.actuators), spec.joint_angles(np.asarray(angle_rad, dtype=np.float64))
    fields: dict[str, ArrayLike] = {
        name: np.full(motors, np.nan)
        for name in ("velocity_rad_s", "force_n", "torque_nm", "current_a", "temperature_c")
    }
    fields |= {name: np.zeros(motors, dtype=np.int64) for name in ("status", "error")}
    made = {
        name: np.asarray(value, dtype=np.asarray(fields[name]).dtype) for name, value in (fields | measured).items()
    }
    return HandState(
        stamp_s=stamp_s,
        actuator_names=spec.actuator_names,
        angle_rad=np.asarray(angle_rad, dtype=np.float64),
        joint_names=spec.joint_names,
        joint_rad=np.array([joints[name] for name in spec.joint_names]),
        joint_velocity_rad_s=np.full(len(spec.joint_names), np.nan),
        **made,
    )


def state_of_readings(spec: HandSpec, scale: Scale, readings: Readings, stamp_s: float) -> HandState:
    """Counts of an Inspire hand as a state."""
    return report(
        spec,
        stamp_s,
        _opened(scale, readings.angle / inspire_counts.ANGLE_TOP),
        force_n=_own_order(scale, readings.force * GRAM_FORCE_N),
        current_a=_own_order(scale, readings.current_ma * 1e-3),
        temperature_c=_own_order(scale, readings.temperature_c),
        status=_own_order(scale, readings.status),
        error=_own_order(scale, readings.error),
    )


def _own_order(scale: Scale, values: ArrayLike) -> FloatArray:
    """Values in the order of the wire, in the hand's own."""
    out = np.empty(len(inspire_counts.MOTORS))
    out[scale.actuators] = values
    return out


def _opened(scale: Scale, opened: ArrayLike) -> FloatArray:
    return _own_order(scale, scale.angle_rad(opened))


def inspire_taps(hands: Sequence[HandSpec]) -> list[Tap]:
    """The tactile Inspire hand's topics."""
    taps = []
    for spec in hands:
        scale = Scale.of(spec)
        kinds: list[tuple[str, Kind, Callable[..., Iterator[Said]]]] = [
            ("ctrl", "command", partial(_inspire_ctrl, scale)),
            ("state", "state", partial(_inspire_state, spec, scale)),
        ]
        if spec.pads:
            kinds.append(("touch", "touch", partial(_inspire_touch, spec, inspire_codec.TouchLayout.of(spec))))
        for name, kind, decode in kinds:
            topic = inspire_codec.topic(name, scale.side)
            known = {**inspire_codec.STATES, **inspire_codec.COMMANDS}
            taps.append(Tap(topic=topic, type_name=known[topic], kind=kind, decode=decode))
    return taps


def _inspire_ctrl(scale: Scale, message: bytes, _: float) -> Iterator[Said]:
    command, _wrong = inspire_codec.command_of(scale, inspire_codec.decode_ctrl(message))
    if command is not None:
        yield scale.hand, command


def _inspire_state(spec: HandSpec, scale: Scale, message: bytes, stamp_s: float) -> Iterator[Said]:
    yield spec.name, state_of_readings(spec, scale, inspire_codec.decode_state(message), stamp_s)


def _inspire_touch(spec: HandSpec, layout: inspire_codec.TouchLayout, message: bytes, _: float) -> Iterator[Said]:
    yield spec.name, inspire_codec.decode_touch(layout, message).astype(np.float64)


def dfx_taps(hands: Sequence[HandSpec]) -> list[Tap]:
    """Unitree's topics, which carry both hands."""
    specs = {scale.side: (spec, scale) for spec in hands for scale in (Scale.of(spec),)}
    (command, kind), (state, state_kind) = *dfx_codec.COMMANDS.items(), *dfx_codec.STATES.items()
    return [
        Tap(topic=command, type_name=kind, kind="command", decode=partial(_dfx_commands, specs)),
        Tap(topic=state, type_name=state_kind, kind="state", decode=partial(_dfx_states, specs)),
    ]


def _dfx_commands(specs: dict[str, tuple[HandSpec, Scale]], message: bytes, _: float) -> Iterator[Said]:
    commands = dfx_codec.decode_commands(message)
    for side, (spec, scale) in specs.items():
        command, _wrong = dfx_codec.command_of(scale, commands[side])
        if command is not None:
            yield spec.name, command


def _dfx_states(specs: dict[str, tuple[HandSpec, Scale]], message: bytes, stamp_s: float) -> Iterator[Said]:
    states = dfx_codec.decode_states(message)
    for side, (spec, scale) in specs.items():
        six = states[side]
        if six.size == len(inspire_counts.MOTORS) and not six["lost"].any():
            # The robot's service fills nothing but q: its other zeros are no measurements.
            yield spec.name, report(spec, stamp_s, _opened(scale, six["q"]))


def tienkung_taps(hands: Sequence[HandSpec]) -> list[Tap]:
    """Tienkung's topics. Calls of its services pass between two programs and are not heard."""
    taps, kind = [], ros.message_type(tienkung_codec.JOINT_STATE)
    for spec in hands:
        scale = Scale.of(spec)
        control, state = (make(scale.side) for make in (tienkung_codec.control_topic, tienkung_codec.state_topic))
        to_command, to_state = partial(_tienkung_control, scale), partial(_tienkung_state, spec, scale)
        taps.append(Tap(topic=ros.topic_name(control), type_name=kind, kind="command", decode=to_command))
        taps.append(Tap(topic=ros.topic_name(state), type_name=kind, kind="state", decode=to_state))
    return taps


def _tienkung_control(scale: Scale, message: bytes, _: float) -> Iterator[Said]:
    asked = tienkung_codec.decode_joint_state(message[len(cdr.HEADER) :])
    command, _unknown, _outside = tienkung_codec.command_by_name(scale, asked.name, asked.position)
    if command is not None:
        yield scale.hand, command


def _tienkung_state(spec: HandSpec, scale: Scale, message: bytes, stamp_s: float) -> Iterator[Said]:
    said = tienkung_codec.decode_joint_state(message[len(cdr.HEADER) :])
    opened, amperes = tienkung_codec.by_finger(said)
    yield spec.name, report(spec, stamp_s, _opened(scale, opened), current_a=_own_order(scale, amperes))


def reflex_taps(hands: Sequence[HandSpec]) -> list[Tap]:
    """The ReFlex driver's topics. Forces to hold and calls of services are not followed."""
    ear = _ReflexEar(hands)
    state = Tap(
        topic=ros.topic_name(reflex_codec.STATE_TOPIC),
        type_name=ros.message_type(reflex_codec.HAND),
        kind="state",
        decode=ear.state,
    )
    commands = [
        Tap(
            topic=ros.topic_name(f"{reflex_codec.NAMESPACE}/{name}"),
            type_name=ros.message_type(kind),
            kind="command",
            decode=partial(ear.command, name),
        )
        for name, kind in reflex_codec.COMMANDS.items()
        if name != "command_motor_force"
    ]
    return [state, *commands]


class _ReflexEar:
    """Follows what the hand's driver makes of commands: speeds stay until they are set again."""

    def __init__(self, hands: Sequence[HandSpec]):
        self._board, self._driver = Board(hands), reflex_driver.Driver()
        self._spec = self._board.hand

    def command(self, name: str, message: bytes, _: float) -> Iterator[Said]:
        values = reflex_codec.decode_numbers(name, message[len(cdr.HEADER) :])
        self._driver = driver = reflex_driver.follow(self._driver, name, values)
        speed_rad_s = reflex_counts.driven_speed_rad_s(driver.speed_rad_s)
        yield self._spec.name, self._board.command(driver.target_raw, speed_rad_s, driver.torque_on)

    def state(self, message: bytes, stamp_s: float) -> Iterator[Said]:
        said = reflex_codec.decode_hand(message[len(cdr.HEADER) :])
        force_n = said.load / reflex_counts.FULL_LOAD * self._board.full_force_n
        yield self._spec.name, report(self._spec, stamp_s, said.joint_rad, force_n=force_n, error=said.error)
        pressed = np.full(reflex_counts.CELLS, np.nan)  # the palm's cells are not in the message
        pressed[: said.pressure.size] = DIE_PA_PER_COUNT * said.pressure.ravel()
        yield self._spec.name, pressed


def dex3_taps(hands: Sequence[HandSpec]) -> list[Tap]:
    """Unitree's topics of Dex3-1 hands. That a hand lets go after a second without commands is not followed."""
    return _of_sides(hands, "dex3", {**dex3_codec.COMMANDS, **dex3_codec.STATES}, _dex3_command, _dex3_state)


def brainco_taps(hands: Sequence[HandSpec]) -> list[Tap]:
    """Unitree's topics of BrainCo hands, motors in the hand's own order."""
    known = {**brainco_codec.COMMANDS, **brainco_codec.STATES}
    return _of_sides(hands, "brainco", known, _brainco_command, _brainco_state)


def _of_sides(
    hands: Sequence[HandSpec],
    name: str,
    types: Mapping[str, str],
    to_command: Callable[[HandSpec, bytes, float], Iterator[Said]],
    to_state: Callable[[HandSpec, bytes, float], Iterator[Said]],
) -> list[Tap]:
    """A command and a state topic of each hand, named by its side."""
    kinds: tuple[tuple[str, Kind, Callable[..., Iterator[Said]]], ...]
    kinds = (("cmd", "command", to_command), ("state", "state", to_state))
    return [
        Tap(topic=topic, type_name=types[topic], kind=kind, decode=partial(decode, spec))
        for spec in hands
        for word, kind, decode in kinds
        for topic in (f"rt/{name}/{spec.side}/{word}",)
    ]


def _dex3_command(spec: HandSpec, message: bytes, _: float) -> Iterator[Said]:
    command, _forgets, _refused = dex3_codec.command_of(spec, unitree_hg.decode_hand_cmd(message))
    if command is not None:
        yield spec.name, command


def _dex3_state(spec: HandSpec, message: bytes, stamp_s: float) -> Iterator[Said]:
    motors = _every(spec, unitree_hg.decode_hand_state(message).motor_state)
    if dex3_codec.is_absent(spec, motors):
        return
    yield spec.name, report(spec, stamp_s, motors["q"], velocity_rad_s=motors["dq"], torque_nm=motors["tau_est"])


def _brainco_command(spec: HandSpec, message: bytes, _: float) -> Iterator[Said]:
    motors = unitree_go.decode_motors(message, unitree_go.MOTOR_CMD)
    command, _wrong = brainco_codec.command_of(spec, motors, np.arange(len(spec.actuators)))
    if command is not None:
        yield spec.name, command


def _brainco_state(spec: HandSpec, message: bytes, stamp_s: float) -> Iterator[Said]:
    motors = _every(spec, unitree_go.decode_motors(message, unitree_go.MOTOR_STATE))
    if motors["lost"].any():
        return
    angle_rad = spec.open_rad + motors["q"] * (spec.closed_rad - spec.open_rad)
    speed_rad_s = motors["dq"] * spec.top_speed_rad_s
    yield spec.name, report(spec, stamp_s, angle_rad, velocity_rad_s=speed_rad_s, current_a=motors["tau_est"])


def _every(spec: HandSpec, motors: NDArray[np.void]) -> NDArray[np.void]:
    """Motors of a state, which must be all of them."""
    if motors.size != len(spec.actuators):
        raise cdr.BadMessage(f"a state of {motors.size} motors; {spec.name} has {len(spec.actuators)}")
    return motors
