"""Inspire hands on Modbus TCP: one port per hand, the registers of the real hand, function codes 3, 6 and 16."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from thenar.errors import BadFile, BadValue, MissingExtra, ThenarError
from thenar.hands.spec import HandSpec
from thenar.signals import HandSettings, HandState, Request, TouchFrame
from thenar.wire.codecs import inspire_codec, inspire_counts, modbus_codec
from thenar.wire.codecs.inspire_codec import TouchLayout
from thenar.wire.codecs.inspire_counts import Scale
from thenar.wire.links.inbox import Inbox, LinkHealth, PeerStats
from thenar.wire.links.registry import LinkContext
from thenar.wire.rtps.network import interface_address

try:
    from pymodbus.constants import ExcCodes
    from pymodbus.server import ModbusTcpServer
    from pymodbus.simulator import DataType, SimData, SimDevice
except ImportError as error:
    raise MissingExtra("Modbus", "pymodbus", "modbus") from error

READ, WRITE_ONE, WRITE_MANY = 3, 6, 16
MEMORY_CODES = (1, 2, 3, 4, 5, 6, 15, 16, 22, 23)  # that read or write something; the hand knows three of them


class HandRegisters:
    """The memory of one hand, as the Modbus server asks for it."""

    def __init__(self, spec: HandSpec, inbox: Inbox, flash: Path | None):
        """A hand as it wakes up: what it saved before, or what a new one has."""
        self.scale = Scale.of(spec)
        self.layout = TouchLayout.of(spec) if spec.pads else None
        self.stats = PeerStats("Modbus clients")
        self._inbox = inbox
        self._flash = flash
        self._lock = threading.Lock()  # between the server's thread and the loop's
        self._unseen_writes = 0
        self.memory = modbus_codec.new_memory()
        if flash is not None and flash.exists():
            self._load_flash(flash)
        speed, force = (modbus_codec.load(self.memory, f"DEFAULT_{name}_SET") for name in ("SPEED", "FORCE"))
        self._request("power-on", command=inspire_counts.command(self.scale, speed=speed, force=force)[0])

    def device_ids(self) -> list[int]:
        """Any: on TCP the hand does not look at it."""
        return [0]

    async def async_getValues(self, _device: int, function: int, address: int, count: int = 1) -> Any:
        """Answer a read."""
        self.stats.record(time.perf_counter())
        known = function in (READ, WRITE_ONE)  # the server reads a single written word back for its answer
        has_skin = self.layout is not None or address < modbus_codec.REGISTERS["TOUCH"].address
        words = modbus_codec.read_words(self.memory, address, count) if known and has_skin else None
        return self._refuse(function, address, "read") if words is None else words

    async def async_setValues(self, _device: int, function: int, address: int, values: list[int]) -> Any:
        """Carry out a write."""
        self.stats.record(time.perf_counter())
        with self._lock:
            known = function in (WRITE_ONE, WRITE_MANY)
            write = modbus_codec.write_words(self.memory, self.scale, address, values) if known else None
            if write is None:
                return self._refuse(function, address, "written")
            if write.out_of_range:
                self._inbox.refuse("counts out of range", write.out_of_range)
            if write.factory_reset:
                modbus_codec.reset(self.memory)
            limit_a = None
            if write.current_limit:
                limit_a = np.empty(len(inspire_counts.MOTORS))
                limit_a[self.scale.actuators] = modbus_codec.load(self.memory, "CURRENT_LIMIT") / 1e3
            if write.command is not None or write.clear_errors or write.zero_force or limit_a is not None:
                self._unseen_writes += 1
                self._request(
                    "a Modbus client",
                    command=write.command,
                    clear_errors=write.clear_errors,
                    zero_force=write.zero_force,
                    current_limit_a=limit_a,
                )
        if write.save and not self._save():
            return ExcCodes.DEVICE_FAILURE
        return None

    def store(self, state: HandState, told: HandSettings) -> None:
        """Put what the hand reports into the memory."""
        readings, settings = inspire_counts.readings(self.scale, state), inspire_counts.settings(self.scale, told)
        with self._lock:
            modbus_codec.store_readings(self.memory, readings)
            # A client that has just written reads its own words, not those from before the loop has seen them.
            if not self._unseen_writes:
                modbus_codec.store_settings(self.memory, settings, zeroing=told.zeroing)

    def seen(self) -> None:
        """The loop has taken everything that was written so far."""
        with self._lock:
            if not len(self._inbox):
                self._unseen_writes = 0

    def store_touch(self, frame: TouchFrame) -> None:
        """Put what the skin says into the memory."""
        if self.layout is not None:
            modbus_codec.store(self.memory, "TOUCH", inspire_codec.touch_words(self.layout, frame.taxel_counts))

    def _refuse(self, function: int, address: int, what: str) -> ExcCodes:
        if function not in (READ, WRITE_ONE, WRITE_MANY):
            self._inbox.refuse(f"function code {function}; the hand knows 3, 6 and 16")
            return ExcCodes.ILLEGAL_FUNCTION
        self._inbox.refuse(f"register {address} cannot be {what}")
        return ExcCodes.ILLEGAL_ADDRESS

    def _request(self, sender: str, **asked: Any) -> None:
        self._inbox.put(Request(hand=self.scale.hand, sender=sender, arrived_s=time.perf_counter(), **asked))

    def _save(self) -> bool:
        """Keep what is to be kept; False if it cannot be."""
        if self._flash is None:
            return True
        saved = {one.name: modbus_codec.load(self.memory, one.name).tolist() for one in modbus_codec.SAVED}
        fresh = self._flash.with_suffix(".new")
        try:
            fresh.write_text(json.dumps(saved, indent=2) + "\n", encoding="utf-8")
            fresh.replace(self._flash)  # whole or not at all
        except OSError as error:
            self._inbox.refuse(f"SAVE failed: {error}")
            return False
        return True

    def _load_flash(self, flash: Path) -> None:
        try:
            saved = json.loads(flash.read_text(encoding="utf-8"))
            for register in modbus_codec.SAVED:
                values = np.array(saved[register.name], dtype=np.int64)
                if values.shape != (register.count,):
                    raise ValueError(f"{register.name} needs {register.count} whole numbers")
                modbus_codec.store(self.memory, register.name, values)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise BadFile(flash, f"not saved registers ({error}); delete it to start with a new hand's") from error


class ModbusServer:
    """The twin's side: a Modbus TCP server per hand, on a thread of its own."""

    wire = "modbus"

    def __init__(self, context: LinkContext):
        """Open one port per hand, counting up in the order of the hands."""
        hands, options = context.hands, context.config.modbus
        port, flash_dir = options.port, options.flash
        last = port + len(hands) - 1
        if not (port >= 1 and last <= 65535):
            raise BadValue("modbus.port", port, f"a number from 1 to {65536 - len(hands)}")
        if flash_dir is not None:
            _make_folder(flash_dir)
        self._inbox = Inbox()
        logging.getLogger("pymodbus").setLevel(logging.CRITICAL)  # it shouts at every client that hangs up
        self._hands = {
            spec.name: HandRegisters(spec, self._inbox, flash_dir / f"{spec.name}.json" if flash_dir else None)
            for spec in hands
        }
        host = interface_address(context.config.interface)
        self.addresses = {name: (host, port + n) for n, name in enumerate(self._hands)}
        self._loop = asyncio.new_event_loop()
        self._servers: list[ModbusTcpServer] = []
        self._thread = threading.Thread(target=self._loop.run_forever, name="modbus", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        except (OSError, RuntimeError) as error:
            self.close()
            ports = ", ".join(f"{host}:{port}" for host, port in self.addresses.values())
            raise ThenarError(f"cannot listen on {ports}: is a twin running? Try another --modbus.port") from error

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        requests = self._inbox.drain()
        for registers in self._hands.values():
            registers.seen()
        return requests

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Refresh the registers of each hand."""
        for name, registers in self._hands.items():
            registers.store(*hands[name])

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Refresh the touch registers of each hand that has skin."""
        for name, registers in self._hands.items():
            if name in frames:
                registers.store_touch(frames[name])

    def health(self) -> LinkHealth:
        """How it is doing."""
        return LinkHealth(
            wire=self.wire,
            where=", ".join(f"{host}:{port}" for host, port in self.addresses.values()),
            listeners=sum(len(server.active_connections) for server in self._servers),
            written=0,
            not_written=0,
            peers=tuple(
                registers.stats.health("{}:{}".format(*self.addresses[name]))
                for name, registers in self._hands.items()
                if registers.stats.messages
            ),
            refused=dict(self._inbox.refused),
        )

    def close(self) -> None:
        """Hang up and close the ports."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(timeout=5.0)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _open(self) -> None:
        for name, registers in self._hands.items():
            # The server wants a device of its own making; the real memory takes its place.
            server = ModbusTcpServer(
                SimDevice(0, simdata=[SimData(0, datatype=DataType.REGISTERS)]), address=self.addresses[name]
            )
            server.context = registers  # type: ignore[assignment]
            # Without those that the library would answer in its own name, such as what make the device is.
            server.decoder.pdu_table = {code: server.decoder.pdu_table[code] for code in MEMORY_CODES}
            self._servers.append(server)
            await server.serve_forever(background=True)

    async def _shut(self) -> None:
        for server in self._servers:
            await server.shutdown()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadFile(folder, f"cannot be made ({error.strerror}); give another --modbus.flash") from error
    if not os.access(folder, os.W_OK):
        raise BadFile(folder, "cannot be written to; give another --modbus.flash")
