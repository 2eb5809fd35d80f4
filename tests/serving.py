"""A `thenar serve` beside a test, on a domain and a port of its own."""

import ctypes
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from patience import free_domain, free_port, wait_for

from thenar.wire.clients.domain_survey import local_domains


@contextmanager
def served(command: str, *, limit_s: float = 90.0) -> Iterator[tuple[int, int]]:
    """Run ``thenar serve`` or ``thenar demo`` as written, but where nobody else is; yields domain and Modbus port."""
    domain, port = free_domain(), free_port()
    verb, *options = shlex.split(command.removeprefix("thenar "))
    places = ["--domain", str(domain), "--modbus.port", str(port), "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "thenar.cli", verb, *options, *places],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=end_with_parent,
    )
    try:
        modbus_only = re.search(r"--wire modbus\b", command)
        ready = (lambda: answers(port)) if modbus_only else (lambda: domain in local_domains())
        started = wait_for(lambda: process.poll() is not None or ready(), limit_s)
        assert started, f"{command}: no answer in {limit_s} s"
        assert process.poll() is None, process.communicate()[1].decode()
        yield domain, port
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)  # what it compiles just now is finished first


def end_with_parent() -> None:
    """Let a process that was just started end when the tests are killed, instead of being served for ever."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
