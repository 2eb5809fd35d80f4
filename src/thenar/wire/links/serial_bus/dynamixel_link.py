"""A hand of Dynamixel motors on a serial line: a pseudo-terminal that answers the protocol 2.0, motor by motor."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

import numpy as np

from thenar.errors import BadValue
from thenar.signals import HandSettings, HandState, TouchFrame
from thenar.wire.codecs.serial_bus import dynamixel_packets, dynamixel_table
from thenar.wire.codecs.serial_bus.dynamixel_packets import BROADCAST, Instruction, Packet, Part, Trouble, status
from thenar.wire.codecs.serial_bus.dynamixel_table import READ_ONLY, STORED, TABLE
from thenar.wire.links.link_health import PeerHealth, PeerStats
from thenar.wire.links.registry import LinkContext
from thenar.wire.links.serial_bus.serial_link import SerialLink


class DynamixelBus(SerialLink):
    """The twin's side: the motors of one hand, with ids from 0 on."""

    wire = "dynamixel"

    def __init__(self, context: LinkContext):
        """Open the line."""
        if len(context.hands) != 1:
            raise BadValue("hands", [spec.name for spec in context.hands], "one hand: a line has one set of ids")
        super().__init__(context.config.dynamixel.port)
        self._spec = context.hands[0]
        self._table = dynamixel_table.power_on(self._spec)
        self._later: dict[int, Part] = {}
        """What was registered, by motor, until an action asks for it."""
        self._stats = PeerStats(f"a client of {self._port}")
        self._lock = threading.Lock()
        self.answer()

    def power_on(self) -> None:
        """Let the motors begin again, torque off."""
        with self._lock:
            self._table, self._later = dynamixel_table.power_on(self._spec), {}

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Refresh the tables of the motors."""
        with self._lock:
            dynamixel_table.store_state(self._table, self._spec, hands[self._spec.name][0])

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Nothing: these motors feel no touch."""

    def hands_there(self) -> str:
        """The hand and the ids of its motors."""
        return f"{self._spec.name}, motors 0 to {self._table.size - 1}"

    def peers(self) -> tuple[PeerHealth, ...]:
        """The client, once it was heard."""
        return (self._stats.health(self._port.path),) if self._stats.messages else ()

    def take(self, data: bytes) -> None:
        """Answer the packets that are on the line with what has come."""
        self._come += data
        while True:
            packet, self._come, noise = dynamixel_packets.take(self._come)
            if noise:
                self._inbox.refuse("bytes on the serial line that are no packet")
            elif packet is None:
                return
            if packet is None:  # there may be one behind the noise
                continue
            self._stats.record(time.perf_counter())
            with self._lock:
                reply = self._answer(packet)
            if reply:
                self._send(reply)

    def _answer(self, packet: Packet) -> bytes:
        parts = dynamixel_packets.parts_of(packet)
        here = range(self._table.size)
        if packet.motor != BROADCAST and packet.motor not in here:
            return b""
        if parts is None:
            self._inbox.refuse("a packet whose length does not fit its instruction")
            return b"" if packet.motor == BROADCAST else status(packet.motor, Trouble.DATA_LENGTH)
        match packet.instruction:
            case Instruction.PING:
                asked = here if packet.motor == BROADCAST else [packet.motor]
                return b"".join(
                    status(motor, data=self._bytes(motor, 0, 2) + self._bytes(motor, 6, 1)) for motor in asked
                )
            case Instruction.READ | Instruction.SYNC_READ | Instruction.BULK_READ:
                return b"".join(self._read(part) for part in parts if part.motor in here)
            case Instruction.WRITE | Instruction.SYNC_WRITE | Instruction.BULK_WRITE:
                trouble = self._write([part for part in parts if part.motor in here])
            case Instruction.REG_WRITE:
                self._later |= {part.motor: part for part in parts if part.motor in here}
                trouble = Trouble.NONE
            case Instruction.ACTION:
                trouble = self._write(list(self._later.values()))
                self._later.clear()
            case Instruction.REBOOT:
                asked = here if packet.motor == BROADCAST else [packet.motor]
                trouble = self._write([Part(motor, 64, 1, b"\0") for motor in asked])
            case _:
                self._inbox.refuse(f"instruction {packet.instruction:#04x}, which the motors do not know")
                trouble = Trouble.INSTRUCTION
        return b"" if packet.motor == BROADCAST else status(packet.motor, trouble)

    def _bytes(self, motor: int, address: int, size: int) -> bytes:
        return self._table[motor].tobytes()[address : address + size]

    def _read(self, part: Part) -> bytes:
        if part.address + part.size > TABLE.itemsize:
            self._inbox.refuse(f"address {part.address} cannot be read")
            return status(part.motor, Trouble.ACCESS)
        return status(part.motor, data=self._bytes(part.motor, part.address, part.size))

    def _write(self, parts: Sequence[Part]) -> Trouble:
        """Write what can be written, all at once for the hand; why not, if something cannot."""
        trouble, written = Trouble.NONE, np.zeros(self._table.size, dtype=bool)
        memory = self._table.view(np.uint8).reshape(self._table.size, -1)
        for part in parts:
            was_on = bool(self._table["torque_on"][part.motor])
            if part.address + part.size > READ_ONLY or (part.address < STORED and was_on):
                self._inbox.refuse(f"address {part.address} cannot be written")
                trouble = Trouble.ACCESS
                continue
            memory[part.motor, part.address : part.address + part.size] = np.frombuffer(part.data, np.uint8)
            if not was_on and self._table["torque_on"][part.motor]:  # it holds where it is
                self._table["goal_position"][part.motor] = self._table["present_position"][part.motor]
            written[part.motor] = True
        command = dynamixel_table.command_of(self._spec, self._table, written)
        if command is not None:
            self._inbox.put(self._spec.name, self._stats.who, command=command)
        return trouble
