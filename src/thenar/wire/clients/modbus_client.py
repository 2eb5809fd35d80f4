"""A client of an Inspire hand on Modbus TCP, twin or real: whole registers by name."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.errors import HandLost, MissingExtra, ThenarError
from thenar.hands.spec import HandSpec
from thenar.wire.codecs.inspire_codec import TouchLayout
from thenar.wire.codecs.inspire_counts import Readings, Scale
from thenar.wire.codecs.registers.register_map import READINGS, REGISTERS

try:
    from pymodbus import FramerType
    from pymodbus.client import ModbusTcpClient
    from pymodbus.exceptions import ModbusException
except ImportError as error:
    raise MissingExtra("Modbus", "pymodbus", "modbus") from error

MAX_WORDS = 120  # in one request, as the vendor's manual allows


class ModbusHand:
    """A connection to one hand. Close it, or use it in a ``with``."""

    def __init__(self, spec: HandSpec, *, host: str, port: int, timeout_s: float = 2.0):
        """Connect."""
        self.scale = Scale.of(spec)
        self._layout = TouchLayout.of(spec) if spec.pads else None
        self._where = f"{host}:{port}"
        logging.getLogger("pymodbus").setLevel(logging.CRITICAL)  # what it has to say is raised here
        self._client = ModbusTcpClient(host, port=port, framer=FramerType.SOCKET, timeout=timeout_s, retries=0)
        if not self._client.connect():
            raise ThenarError(f"no Modbus hand at {self._where}; start one with: thenar serve --wire modbus")

    def __enter__(self) -> ModbusHand:
        """The hand itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def read(self, name: str) -> NDArray[np.int64]:
        """The values of a register."""
        register = REGISTERS[name]
        words: list[int] = []
        total = -(-register.size // 2)
        while len(words) < total:
            count = min(MAX_WORDS, total - len(words))
            address = register.address + 2 * len(words)
            words += self._checked(lambda: self._client.read_holding_registers(address, count=count))  # noqa: B023
        memory = np.array(words, dtype="<u2").tobytes()[: register.size]
        return np.frombuffer(memory, register.dtype).astype(np.int64)

    def write(self, name: str, values: list[int]) -> None:
        """Write a register from its first value on; -1 in a target ends a motion."""
        words = [value & 0xFFFF for value in values]
        self._checked(lambda: self._client.write_registers(REGISTERS[name].address, words))

    def readings(self) -> Readings:
        """What the hand reports."""
        return Readings(**{field: self.read(name).astype(REGISTERS[name].dtype) for field, name in READINGS.items()})

    def taxel_counts(self) -> NDArray[np.int64]:
        """What the skin says, pad after pad in the hand's own order."""
        if self._layout is None:
            raise ThenarError(f"{self.scale.hand} has no skin")
        taxels = np.zeros(self._layout.taxels.size, dtype=np.int64)
        taxels[self._layout.taxels] = self.read("TOUCH")
        return taxels

    def _checked(self, ask: Callable[[], Any]) -> list[int]:
        try:
            answer = ask()
        except ModbusException as error:
            raise HandLost(f"the hand at {self._where} has hung up ({error})") from error
        if answer.isError():
            raise ThenarError(f"the hand at {self._where} answers {answer}")
        return list(answer.registers)
