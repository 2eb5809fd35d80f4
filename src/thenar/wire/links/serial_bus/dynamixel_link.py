"""A hand of Dynamixel motors on a serial line: a pseudo-terminal that answers the protocol 2.0, motor by motor."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from thenar.errors import BadFile, BadValue
from thenar.signals import HandSettings, HandState, Request, TouchFrame
from thenar.wire.codecs.serial_bus import dynamixel_packets, dynamixel_table
from thenar.wire.codecs.serial_bus.dynamixel_packets import BROADCAST, Instruction, Packet, Part, Trouble, status
from thenar.wire.codecs.serial_bus.dynamixel_table import READ_ONLY, STORED, TABLE
from thenar.wire.links.inbox import Inbox, LinkHealth, PeerStats, ended
from thenar.wire.links.registry import LinkContext
from thenar.wire.links.serial_bus.pseudo_terminal import PseudoTerminal


class DynamixelBus:
    """The twin's side: the motors of one hand, with ids from 0 on."""

    wire = "dynamixel"

    def __init__(self, context: LinkContext):
        """Open the line."""
        if len(context.hands) != 1:
            raise BadValue("hands", [spec.name for spec in context.hands], "one hand: a line has one set of ids")
        self._spec = context.hands[0]
        self._table = dynamixel_table.power_on(self._spec)
        self._later: dict[int, Part] = {}
        """What was registered, by motor, until an action asks for it."""
        port = context.config.dynamixel.port
        try:
            self._port = PseudoTerminal(Path(port) if port else None)
        except OSError as error:
            raise BadFile(
                port, f"cannot name a serial line ({error.strerror}); try another --dynamixel.port"
            ) from error
        self.line = self._port.line
        self._stats = PeerStats(f"a client of {self._port}")
        self._inbox = Inbox()
        self._line = b""
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._listen, name="dynamixel", daemon=True)
        self._thread.start()

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        return self._inbox.drain()

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

    def health(self) -> LinkHealth:
        """How it is doing."""
        return LinkHealth(
            wire=self.wire,
            where=f"{self._port} ({self._spec.name}, motors 0 to {self._table.size - 1})",
            listeners=int(self._port.recent),
            written=0,
            not_written=0,
            peers=(self._stats.health(self._port.path),) if self._stats.messages else (),
            refused=dict(self._inbox.refused),
            failed=ended(self._thread),
        )

    def close(self) -> None:
        """Close the line."""
        self._port.stop()
        self._thread.join()
        self._port.close()

    def _listen(self) -> None:
        while (data := self._port.wait(None)) is not None:
            self.take(data)

    def take(self, data: bytes) -> None:
        """Answer the packets that are on the line with what has come."""
        self._line += data
        while True:
            packet, self._line, noise = dynamixel_packets.take(self._line)
            if noise:
                self._inbox.refuse("bytes on the serial line that are no packet")
            elif packet is None:
                return
            if packet is None:  # there may be one behind the noise
                continue
            self._stats.record(time.perf_counter())
            with self._lock:
                reply = self._answer(packet)
            if reply and not self._port.send(reply):
                self._inbox.refuse("answers that a client on the serial line does not read")

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
            now_s = time.perf_counter()
            self._inbox.put(Request(hand=self._spec.name, sender=self._stats.who, arrived_s=now_s, command=command))
        return trouble
