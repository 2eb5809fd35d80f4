"""Inspire hands on a serial line: a pseudo-terminal that answers the hand's own RS-485 frames and Modbus RTU."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from thenar.errors import BadFile, BadValue
from thenar.wire.codecs.registers import rs485_frames
from thenar.wire.codecs.registers.modbus_pdu import Refusal
from thenar.wire.codecs.registers.register_map import REGISTERS
from thenar.wire.codecs.registers.rs485_frames import READ_COMMAND, REPLY, REQUEST, WRITE_COMMAND, WRITTEN, own_frame
from thenar.wire.line_faults import LineFaults
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.link_health import LinkHealth, ended
from thenar.wire.links.registers.hand_registers import HandRegisters, RegisterLink
from thenar.wire.links.registry import LinkContext
from thenar.wire.links.serial_bus.pseudo_terminal import PseudoTerminal

SILENCE_S = 0.02  # ends what is no whole frame; longer than on a real line, where nobody schedules
SAVED_AFTER_S = 1.0  # from the acknowledgement of SAVE to its result
MAX_RESULTS = 16  # of SAVE that are waited for; who saves more often within a second gets no more
MAX_BYTES = 252  # that a frame of the hand's own can carry
BROADCAST = 0  # address of Modbus RTU that all hear and nobody answers


class SerialHands(RegisterLink):
    """The twin's side: all hands on one line, or a line for each."""

    wire = "rs485"

    def __init__(self, context: LinkContext):
        """Open the lines."""
        names, ports = [spec.name for spec in context.hands], context.config.rs485.ports
        if len(ports) not in (0, 1, len(names)):
            raise BadValue("rs485.ports", ",".join(ports), f"one name, or one for each of {', '.join(names)}")
        super().__init__(context, medium="RS-485")
        self.line = LineFaults()
        hands = list(self._hands.values())
        lines = [hands] if len(ports) < 2 else [[hand] for hand in hands]
        self._lines: list[SerialLine] = []
        for number, line in enumerate(lines):
            try:
                self._lines.append(SerialLine(line, Path(ports[number]) if ports else None, self._inbox))
                self._lines[-1].port.line = self.line
            except OSError as error:
                self.close()
                raise BadFile(
                    ports[number], f"cannot name a serial line ({error.strerror}); try another --rs485.ports"
                ) from error

    def health(self) -> LinkHealth:
        """How it is doing."""
        return LinkHealth(
            wire=self.wire,
            where=", ".join(map(str, self._lines)),
            listeners=sum(line.port.recent for line in self._lines),
            peers=self._peers({hand.scale.hand: line.port.path for line in self._lines for hand in line.hands}),
            refused=dict(self._inbox.refused),
            failed=ended(*(line.thread for line in self._lines)),
        )

    def close(self) -> None:
        """Close the lines."""
        for line in self._lines:
            line.close()


class SerialLine:
    """One line and the hands on it, answered on a thread of its own."""

    def __init__(self, hands: Sequence[HandRegisters], name: Path | None, inbox: Inbox):
        """Open it, with a link of this name to it.

        Hands that would have the same id are told apart as on a robot with both on one line: the right one is 1.
        """
        self.hands = sorted(hands, key=lambda hand: hand.scale.side != "right")
        for number, hand in enumerate(self.hands):
            while hand.hand_id in [other.hand_id for other in self.hands[:number]]:
                hand.hand_id += 1
        self._inbox = inbox
        self.port = PseudoTerminal(name)
        self._line = b""  # what has come and is no whole frame yet
        self._results: list[tuple[float, bytes]] = []  # that are sent later, and when
        self.thread = threading.Thread(target=self._listen, name="rs485", daemon=True)
        self.thread.start()

    def __str__(self) -> str:
        """Where it is and who answers there."""
        hands = ", ".join(f"{hand.scale.hand} {hand.hand_id}" for hand in self.hands)
        return f"{self.port} ({hands})"

    def close(self) -> None:
        """Stop answering."""
        self.port.stop()
        self.thread.join()
        self.port.close()

    def take(self, data: bytes) -> None:
        """Answer the frames among what has come; what is too long to become one is noise."""
        self._line += data
        while True:
            while frame := rs485_frames.take_frame(self._line):
                self._send(self._reply(frame))
                self._line = self._line[len(frame) :]
            if len(self._line) <= rs485_frames.LONGEST:
                return
            self._drop_noise()

    def fall_silent(self) -> None:
        """Nothing more has come: what is no whole frame may still be one of Modbus with another code or length."""
        if frame := rs485_frames.take_rtu(self._line):
            self._send(self._reply(frame))
            self._line = b""
        else:
            self._drop_noise()
            self.take(b"")

    def _drop_noise(self) -> None:
        self._inbox.refuse("bytes on the serial line that are no frame")
        self._line = rs485_frames.after_noise(self._line)

    def _listen(self) -> None:
        while True:
            now_s = time.perf_counter()
            waits_s = [due_s - now_s for due_s, _ in self._results] + ([SILENCE_S] if self._line else [])
            data = self.port.wait(max(min(waits_s), 0.0) if waits_s else None)
            if data is None:
                return
            if data:
                self.take(data)
            elif self._line and time.perf_counter() - self.port.heard_s >= SILENCE_S:
                self.fall_silent()
            for due_s, frame in list(self._results):
                if due_s <= time.perf_counter():
                    self._results.remove((due_s, frame))
                    self._send(frame)

    def _reply(self, frame: bytes) -> bytes:
        """The answer to a frame; empty where none is due."""
        if frame.startswith(REQUEST):
            return self._own_reply(*struct.unpack("<BxBH", frame[2:7]), frame[7:-1])
        unit, pdu = frame[0], frame[1:-2]
        replies = [hand.answer(pdu) for hand in self.hands if unit in (BROADCAST, hand.hand_id)]
        return rs485_frames.rtu_frame(unit, replies[0]) if replies and unit != BROADCAST else b""

    def _own_reply(self, hand_id: int, command: int, address: int, data: bytes) -> bytes:
        """The answer to one of the hand's own frames. What cannot be done is not answered: nobody says how."""
        hand = next((hand for hand in self.hands if hand.hand_id == hand_id), None)
        if hand is None:
            return b""
        if command == READ_COMMAND and len(data) == 1 and data[0] <= MAX_BYTES:
            found = hand.read(address, data[0])
            return b"" if found is None else own_frame(REPLY, hand_id, command, address, found)
        if command == WRITE_COMMAND and data:
            why_not = hand.write(address, data)
            if address == REGISTERS["SAVE"].address and data == WRITTEN:
                result = own_frame(REPLY, hand_id, READ_COMMAND, address, b"\xff" if why_not else b"\0")
                if len(self._results) < MAX_RESULTS:
                    self._results.append((time.perf_counter() + SAVED_AFTER_S, result))
                why_not = None
            return b"" if why_not is Refusal.ILLEGAL_ADDRESS else own_frame(REPLY, hand_id, command, address, WRITTEN)
        self._inbox.refuse(f"a frame with command {command:#04x} and {len(data)} bytes; the hand knows 0x11 and 0x12")
        return b""

    def _send(self, reply: bytes) -> None:
        if not self.port.send(reply):
            self._inbox.refuse("answers that a client on the serial line does not read")
