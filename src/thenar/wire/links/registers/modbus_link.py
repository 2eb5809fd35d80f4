"""Inspire hands on Modbus TCP: an address and port per hand, and as many requests in a segment as a client likes."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from functools import partial

from thenar.errors import BadValue, ThenarError
from thenar.wire.line_faults import LineFaults
from thenar.wire.links.link_health import LinkHealth, ended
from thenar.wire.links.registers.hand_registers import HandRegisters, RegisterLink
from thenar.wire.links.registry import LinkContext
from thenar.wire.rtps.network import interface_address

HEADER = struct.Struct(">HHHB")  # transaction, protocol (0), length of what follows, unit
MAX_CLIENTS = 64  # at a time; whoever comes then takes the place of one that never asked, or was silent longest
LENGTHS = range(2, 255)  # unit, function code, and up to 252 bytes more


class ModbusServer(RegisterLink):
    """The twin's side: a Modbus TCP server per hand, on a thread of its own."""

    wire = "modbus"

    def __init__(self, context: LinkContext):
        """Open one port per hand: the same one where each hand has an address of its own, else counting up."""
        options, names = context.config.modbus, [spec.name for spec in context.hands]
        hosts = options.host or (interface_address(context.config.interface),)
        if len(hosts) not in (1, len(names)):
            raise BadValue("modbus.host", ",".join(hosts), f"one address, or one for each of {', '.join(names)}")
        steps = [n if len(hosts) == 1 else 0 for n in range(len(names))]
        if not (options.port >= 1 and options.port + steps[-1] <= 65535):
            raise BadValue("modbus.port", options.port, f"a number from 1 to {65535 - steps[-1]}")
        super().__init__(context, medium="Modbus")
        self.addresses = {
            name: (hosts[n % len(hosts)], options.port + step)
            for n, (name, step) in enumerate(zip(names, steps, strict=True))
        }
        self.line = LineFaults()
        self._servers: list[asyncio.Server] = []
        self._clients: dict[asyncio.Task[None], bool] = {}
        """Whether each has asked for something yet; the one that was silent longest first."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="modbus", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        except OSError as error:
            self.close()
            raise ThenarError(
                f"cannot listen on {self._where()} ({error.strerror}): is a twin running? "
                "Try another --modbus.port or --modbus.host"
            ) from error

    def health(self) -> LinkHealth:
        """How it is doing."""
        return LinkHealth(
            wire=self.wire,
            where=self._where(),
            listeners=len(self._clients),
            peers=self._peers({name: f"{host}:{port}" for name, (host, port) in self.addresses.items()}),
            refused=dict(self._inbox.refused),
            failed=ended(self._thread),
        )

    def close(self) -> None:
        """Hang up and close the ports."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(timeout=5.0)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _where(self) -> str:
        return ", ".join(f"{host}:{port}" for host, port in self.addresses.values())

    async def _open(self) -> None:
        for name, (host, port) in self.addresses.items():
            self._servers.append(await asyncio.start_server(partial(self._serve, self._hands[name]), host, port))

    async def _serve(self, hand: HandRegisters, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one client, request after request in the order in which they came, until it hangs up."""
        task = asyncio.current_task()
        assert task is not None
        if len(self._clients) == MAX_CLIENTS:
            silent = next((one for one, asked in self._clients.items() if not asked), next(iter(self._clients)))
            del self._clients[silent]
            silent.cancel()
            self._inbox.refuse(f"more than {MAX_CLIENTS} clients: hung up on one that was silent")
        self._clients[task] = False
        try:
            with contextlib.suppress(asyncio.IncompleteReadError):  # it hung up
                while True:
                    transaction, protocol, length, unit = HEADER.unpack(await reader.readexactly(HEADER.size))
                    if length not in LENGTHS:
                        self._inbox.refuse("a Modbus header with an impossible length: hung up")
                        break
                    pdu = await reader.readexactly(length - 1)
                    if protocol != 0:
                        self._inbox.refuse(f"protocol {protocol} in a Modbus header; 0 is Modbus")
                        continue
                    del self._clients[task]
                    self._clients[task] = True
                    reply = hand.answer(pdu)
                    header = HEADER.pack(transaction, 0, len(reply) + 1, unit)
                    for passed in self.line.pass_on(reply):  # frames of TCP itself are whole
                        writer.write(header + passed)
                    await writer.drain()
            writer.close()
            await writer.wait_closed()  # until it has read its answers it keeps its place
        except (OSError, asyncio.CancelledError):
            pass  # the connection is gone, or its place was needed
        finally:
            self._clients.pop(task, None)
            writer.transport.abort()  # else the socket stays open for as long as answers are not read

    async def _shut(self) -> None:
        for server in self._servers:
            server.close()
        clients = list(self._clients)
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
