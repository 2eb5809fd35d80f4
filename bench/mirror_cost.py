"""What does mirroring two hands cost, and what do the hands notice of it?

``python -m bench.mirror_cost --seconds 60`` serves two hands in one process, moves them from another at 100 Hz and
mirrors them in this one. It prints whether the mirror keeps time, and what reached the hands from it: every
submessage, counted where the hands receive it. What their client sends is the control: that is counted too.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from typing import Any

import numpy as np

from bench.live import BOTH, _command, _free_domain, in_a_process
from thenar.twin.compare.mirroring import mirror
from thenar.twin.serving import serve
from thenar.wire.clients.listener import Place
from thenar.wire.rtps.network import Network

KINDS = {0x15: "DATA", 0x16: "DATA_FRAG", 0x06: "ACKNACK", 0x07: "HEARTBEAT", 0x08: "GAP", 0x12: "NACK_FRAG"}
STATE_HZ, TOUCH_HZ = 100.0, 50.0


def submessages(datagram: bytes) -> Iterator[str]:
    """What is in a datagram, by the standard's bytes: kind, and whether it is discovery or of a user's topic."""
    at = 20
    while at + 4 <= len(datagram):
        kind, flags = datagram[at], datagram[at + 1]
        size = int.from_bytes(datagram[at + 2 : at + 4], "little" if flags & 1 else "big") or len(datagram) - at - 4
        body = datagram[at + 4 : at + 4 + size]
        if kind in KINDS:
            entities = body[4:12] if kind in (0x15, 0x16) else body[:8]
            builtin = entities[3] >= 0xC0 or entities[7] >= 0xC0
            yield f"{'discovery' if builtin else 'user'} {KINDS[kind]}"
        at += 4 + size


def _hands(domain: int, stop: Event, answer: Any) -> None:
    """Two hands that count what reaches them, by sender."""
    arrived: Counter[tuple[bytes, str]] = Counter()
    receive = Network.receive

    def counting(self: Network, timeout_s: float) -> Iterator[tuple[bytes, str]]:
        for datagram, source in receive(self, timeout_s):
            arrived.update((datagram[8:20], part) for part in submessages(datagram))
            yield datagram, source

    Network.receive = counting
    # With nothing in them: the twins have nothing either, and whatever is told is invented.
    with serve(BOTH, scene="empty", wires=("inspire",), domain=domain, state_hz=STATE_HZ, touch_hz=TOUCH_HZ) as twin:
        answer.send("ready")
        stop.wait()
        health = twin.health()
    answer.send((dict(arrived), health.late_ticks / health.ticks))


def measure(seconds: float) -> dict[str, object]:
    """Mirror two hands and say what it took."""
    domain = _free_domain()
    with in_a_process(_hands, domain) as hands_say:
        hands_say.recv()
        with in_a_process(_command, domain) as client_says:
            twin, link = mirror(BOTH, Place(domain=domain))
            with twin:
                began_s = time.process_time()
                time.sleep(seconds)
                health, used_s = twin.health(), time.process_time() - began_s
                prefix = link.listener._participant.prefix
                found = [finding.words for finding in link.findings()]
                apart = np.concatenate([link.apart_deg(hand) for hand in BOTH])
        client_says.recv()
    arrived, hands_late = hands_say.recv()
    sent = Counter({part: count for (who, part), count in arrived.items() if who == prefix})
    others = Counter()
    for (who, part), count in arrived.items():
        others[part] += count * (who != prefix)
    return {
        "seconds": seconds,
        "real_time_factor": round(health.real_time_factor, 5),
        "late_percent": round(100.0 * health.late_ticks / health.ticks, 3),
        "worst_late_ms": round(1e3 * health.worst_late_s, 1),
        "cores": round(used_s / seconds, 3),
        "hands_late_percent": round(100.0 * hands_late, 3),
        "told": found,
        "apart_deg": [round(float(np.percentile(apart, share)), 3) for share in (50, 99)] if len(apart) else [],
        "hands_got_from_the_mirror": dict(sent),
        "hands_got_from_their_client": {part: count for part, count in others.items() if part.startswith("user")},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    print(json.dumps(measure(parser.parse_args().seconds), indent=1))


if __name__ == "__main__":
    main()
