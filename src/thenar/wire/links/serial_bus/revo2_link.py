"""BrainCo Revo 2 hands on a serial line: a pseudo-terminal that answers Modbus RTU as the hands do."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

import numpy as np

from thenar.hands.spec import HandSpec
from thenar.signals import HandSettings, HandState, TouchFrame
from thenar.wire.codecs.registers import modbus_pdu, rs485_frames
from thenar.wire.codecs.registers.modbus_pdu import READ, READ_INPUT, Refusal
from thenar.wire.codecs.serial_bus import revo2_registers
from thenar.wire.codecs.serial_bus.revo2_registers import AREAS, WRITABLE
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.link_health import PeerHealth, PeerStats
from thenar.wire.links.registry import LinkContext
from thenar.wire.links.serial_bus.serial_link import SerialLink

IDS = {"left": 0x7E, "right": 0x7F}


class Revo2Serial(SerialLink):
    """The twin's side: all hands on one line."""

    wire = "revo2"
    silence_s = 0.02  # ends what is no whole frame

    def __init__(self, context: LinkContext):
        """Open the line."""
        specs = {IDS[side]: spec for side, spec in context.by_side.items()}
        super().__init__(context.config.revo2.port)
        self._hands = {number: _Registers(spec, self._inbox) for number, spec in specs.items()}
        for hand in self._hands.values():
            hand.stats.who = f"a client of {self._port}"
        self.answer()

    def power_on(self) -> None:
        """Let the hands begin again."""
        for hand in self._hands.values():
            hand.power_on()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Refresh the registers of each hand."""
        for hand in self._hands.values():
            hand.store(hands[hand.spec.name][0])

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Refresh the touch registers of each hand."""
        for hand in self._hands.values():
            if hand.spec.name in frames:
                hand.store_touch(frames[hand.spec.name])

    def hands_there(self) -> str:
        """The hands and their ids."""
        return ", ".join(f"{hand.spec.name} {number:#04x}" for number, hand in self._hands.items())

    def peers(self) -> tuple[PeerHealth, ...]:
        """The client, once for each hand that it asked."""
        return tuple(hand.stats.health(self._port.path) for hand in self._hands.values() if hand.stats.messages)

    def take(self, data: bytes) -> None:
        """Answer the frames that are on the line with what has come; nothing: it fell silent."""
        self._come += data
        while frame := rs485_frames.take_request(self._come):
            self._come = self._come[len(frame) :]
            hand = self._hands.get(frame[0])
            if hand is not None:
                self._send(rs485_frames.rtu_frame(frame[0], hand.answer(frame[1:-2])))
        if self._come and (not data or len(self._come) > rs485_frames.LONGEST):
            self._inbox.refuse("bytes on the serial line that are no frame")
            self._come = b""


class _Registers:
    """The registers of one hand; the line's thread reads and writes them, the loop's refreshes them."""

    def __init__(self, spec: HandSpec, inbox: Inbox):
        self.spec, self.stats = spec, PeerStats("")
        self._inbox = inbox
        self._words = revo2_registers.power_on(spec)
        self._angle_rad = spec.open_rad
        self._lock = threading.Lock()

    def power_on(self) -> None:
        with self._lock:
            self._words = revo2_registers.power_on(self.spec)

    def store(self, state: HandState) -> None:
        with self._lock:
            self._angle_rad = state.angle_rad
            revo2_registers.store_state(self._words, self.spec, state)

    def store_touch(self, frame: TouchFrame) -> None:
        with self._lock:
            revo2_registers.store_touch(self._words, self.spec, frame)

    def answer(self, pdu: bytes) -> bytes:
        self.stats.record(time.perf_counter())
        with self._lock:
            return modbus_pdu.answer(self, pdu, reads=(READ, READ_INPUT))

    def read(self, address: int, size: int) -> bytes | None:
        if not revo2_registers.is_within(AREAS, address, size // 2):
            self._inbox.refuse(f"register {address} cannot be read")
            return None
        return self._words[address : address + size // 2].astype("<u2").tobytes()

    def write(self, address: int, data: bytes) -> Refusal | None:
        words = np.frombuffer(data, "<u2").astype(np.uint16)
        if not revo2_registers.is_within(WRITABLE, address, words.size):
            self._inbox.refuse(f"register {address} cannot be written")
            return Refusal.ILLEGAL_ADDRESS
        self._words[address : address + words.size] = words
        command = revo2_registers.command_of(self.spec, self._words, address, words, self._angle_rad)
        if command is not None:
            self._inbox.put(self.spec.name, self.stats.who, command=command)
        return None
