"""Waiting for things that take their time, on domains where nobody else is."""

import itertools
import os
import socket
import time
from collections.abc import Callable, Iterator

from thenar.wire.clients.domain_survey import local_domains


def wait_for(condition: Callable[[], object], limit_s: float = 10.0, every_s: float = 0.005) -> bool:
    """Wait until something holds; False if it did not in time."""
    end_s = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end_s:
            return False
        time.sleep(every_s)
    return True


def domains(first: int, count: int) -> Iterator[int]:
    """DDS domains in turn, so that one test does not hear the last; each of up to four test processes has its own."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 4
    return itertools.cycle(range(first + worker * count, first + (worker + 1) * count))


def free_port() -> int:
    """A port that nobody uses now, and the next one neither: two hands take two."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


_domains = domains(1, 25)


def free_domain() -> int:
    """A domain that no other test process takes and that nobody on this machine uses."""
    return next(domain for domain in _domains if domain not in local_domains())
