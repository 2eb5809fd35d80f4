"""The same wrong bytes over real sockets to a twin that runs: datagrams, Modbus, the serial line."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from bench.crowd import LEFT_ALONE, Places
from bench.fuzz import seeds
from bench.fuzz.datagram_targets import datagram_targets
from bench.fuzz.mutator import mutate
from bench.live import in_a_process
from bench.soak import Row, Watch, running_twin
from thenar import hands
from thenar.wire.clients.inspire_clients import InspireClient
from thenar.wire.rtps import Participant
from thenar.wire.rtps.network import unicast_ports

BURST = 32
"""Datagrams between two looks at the clock."""
MODBUS_SHARE, SERIAL_SHARE = 0.1, 0.02


def fuzz_sockets(inputs: int, seed: int, rate_hz: float = 5000.0) -> list[Row]:
    """Send so many wrong inputs to a twin with every wire of its hands, and judge it."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        twin, _, where = opened.enter_context(running_twin(Path(folder)))
        participant = next(link for link in twin.links if link.wire == "inspire")._participant  # pyright: ignore[reportAttributeAccessIssue]
        time.sleep(2.0)
        right = datagram_targets(opened, participant, lambda: 0.0, to="twin")
        datagrams = next(right).seeds
        watch, rest_rad = Watch(), twin.run_on_loop(lambda world: world.state(LEFT_ALONE).angle_rad).copy()
        watch.look(twin, rest_rad)
        came, threads = participant.health().datagrams_in, threading.active_count()
        with in_a_process(send_wrong, where, datagrams, inputs, rate_hz, seed) as heard:
            sent = heard.recv()
        time.sleep(1.0)
        health, came = twin.health(), participant.health().datagrams_in - came
        with Participant(where.domain) as me:
            client = InspireClient(me, hands.load(LEFT_ALONE))
            client.wait_until_heard(10.0)
            answers = client.state_messages > 0
        watch.look(twin, rest_rad)
    errors = sum(link.refused.get(why, 0) for link in health.links for why in ("internal error", "a callback failed"))
    grown_mb = watch.memory_mb[-1] - watch.memory_mb[0]
    more = threading.active_count() - threads
    bad = bool(errors or health.failed or health.diverged)
    return [
        Row(
            what="sent",
            measured=f"{sent}, {came:,} datagrams came",
            bar=f"{inputs:,}",
            good=sum(sent.values()) >= inputs,
        ),
        Row(
            what="internal errors, failed, diverged",
            measured=f"{errors}, {health.failed}, {health.diverged}",
            bar="none",
            good=not bad,
        ),
        Row(what="memory", measured=f"{grown_mb:+.1f} MB", bar="below 20 MB", good=grown_mb < 20.0),
        Row(what="threads", measured=f"{more:+d}", bar="none more", good=more <= 0),
        Row(what="a client is served", measured=str(answers), bar="True", good=answers),
    ]


def send_wrong(
    where: Places, datagrams: Sequence[bytes], inputs: int, rate_hz: float, seed: int, stop: Event, answer: Any
) -> None:
    """Send wrong bytes to every door of a twin."""
    luck, ports = random.Random(seed), unicast_ports(where.domain, 0)
    sent = {"datagrams": 0, "Modbus": 0, "serial": 0}
    line = os.open(where.serial, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    began_s, modbus = time.perf_counter(), None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        while (made := sum(sent.values())) < inputs and not stop.is_set():
            time.sleep(max(0.0, began_s + made / rate_hz - time.perf_counter()))
            for _ in range(BURST):
                chance = luck.random()
                if chance < SERIAL_SHARE:
                    with contextlib.suppress(OSError):  # its buffer is full
                        os.write(line, mutate(luck, luck.choice(seeds.LINES), seeds.LINES, text=False, most=512))
                        with contextlib.suppress(BlockingIOError):
                            os.read(line, 4096)
                    sent["serial"] += 1
                elif chance < SERIAL_SHARE + MODBUS_SHARE:
                    pdu = mutate(luck, luck.choice(seeds.PDUS), seeds.PDUS, text=False, most=253)
                    try:
                        modbus = modbus or socket.create_connection(("127.0.0.1", where.modbus_port), timeout=1.0)
                        modbus.sendall(struct.pack(">HHHB", luck.randrange(65536), 0, len(pdu) + 1, 1) + pdu)
                        modbus.recv(300)
                    except OSError:  # it hung up
                        modbus = None
                    sent["Modbus"] += 1
                else:
                    wrong = mutate(luck, luck.choice(datagrams), datagrams, text=False)
                    with contextlib.suppress(OSError):
                        out.sendto(wrong, ("127.0.0.1", luck.choice(ports)))
                    sent["datagrams"] += 1
    os.close(line)
    answer.send(sent)
