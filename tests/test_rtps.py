"""RTPS among our own participants: sockets, topics, coming and going.

Real peers of other vendors are in test_rtps_peers.py.
"""

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest
from lossy_network import LossyNetwork
from patience import domains, wait_for

from thenar.errors import BadValue
from thenar.wire.rtps import LATCHED, SENSOR_DATA, Health, Participant, Qos, Sample, discovery, messages
from thenar.wire.rtps.discovery import ParticipantInfo
from thenar.wire.rtps.network import Network, multicast_port, unicast_ports

PREFIX = bytes(range(12))

_domains = domains(110, 30)


@pytest.fixture
def domain() -> int:
    """A domain of one's own, so that tests do not hear each other."""
    return next(_domains)


# Sockets.


def test_ports_follow_the_formula():
    assert multicast_port(123) == 38150
    assert unicast_ports(123, 0) == (38160, 38161)
    assert unicast_ports(0, 2) == (7414, 7415)


def test_loopback_participant_listens_on_loopback_and_the_group_only(domain: int):
    network = Network(domain)
    try:
        names = {sock.getsockname()[0] for sock in network._sockets}
        assert names <= {"127.0.0.1", "239.255.0.1"}
        assert network.own == ("127.0.0.1",)
    finally:
        network.close()


def test_second_participant_takes_the_next_ports(domain: int):
    first, second = Network(domain), Network(domain)
    try:
        assert (first.index, second.index) == (0, 1)
        assert second.meta == ("127.0.0.1", unicast_ports(domain, 1)[0])
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"domain": 233}, "0 to 232"),
        ({"domain": -1}, "0 to 232"),
        ({"domain": 1, "interface": "nosuch0"}, "this machine has .*lo"),
        ({"domain": 1, "interface": "203.0.113.77"}, "an address of this machine"),
        ({"domain": 1, "peers": ["robot.invalid"]}, "addresses of machines"),
        *(({"domain": 1, "peers": [f"192.0.2.9:{port}"]}, "addresses of machines") for port in ("door", 74100, 0, -1)),
    ],
)
def test_network_that_cannot_be_says_what_was_wanted(wrong: dict, why: str):
    with pytest.raises(BadValue, match=why):
        Participant(**wrong)


# Topics.


@pytest.fixture
def pair(domain: int) -> Iterator[tuple[Participant, Participant]]:
    with Participant(domain, name="a") as a, Participant(domain, name="b") as b:
        yield a, b


def test_samples_arrive_in_order_and_whole(pair: tuple[Participant, Participant]):
    got: list[Sample] = []
    writer = pair[0].advertise("topic", "type")
    reader = pair[1].subscribe("topic", "type", got.append)
    assert writer.wait_for_readers(3)
    assert reader.wait_for_writers(3)
    sent = [bytes([n]) * (n + 1) for n in range(50)] + [os.urandom(300_000)]
    start_s = time.time()
    for body in sent:
        writer.write(body)
        time.sleep(0.001)
    assert wait_for(lambda: len(got) == len(sent))
    assert [sample.body for sample in got] == sent
    assert [sample.identity.number for sample in got] == list(range(1, len(sent) + 1))
    assert got[0].stamp_s == pytest.approx(start_s, abs=1.0)


def test_unreliable_samples_arrive_too(pair: tuple[Participant, Participant]):
    got: list[bytes] = []
    writer = pair[0].advertise("topic", "type", qos=SENSOR_DATA)
    pair[1].subscribe("topic", "type", lambda sample: got.append(sample.body), qos=SENSOR_DATA)
    assert writer.wait_for_readers(3)
    wait_for(lambda: False, 0.05)  # the reader may hear of the writer a little later
    for number in range(20):
        writer.write(bytes([number]))
        time.sleep(0.001)
    writer.write(bytes(100_000))
    assert wait_for(lambda: len(got) == 21)
    assert got[:20] == [bytes([number]) for number in range(20)]


class Unreachable(Network):
    """Sends nothing to one port: as to a machine to which there is no way any more."""

    port: int | None = None

    def send(self, datagram: bytes, address: tuple[str, int]) -> str | None:
        return "sending failed: no way there" if address[1] == self.port else super().send(datagram, address)


def test_a_large_sample_is_whole_for_all_who_can_be_reached(domain: int):
    got: list[bytes] = []
    network = Unreachable(domain)
    with Participant(domain, network=network) as a, Participant(domain) as gone, Participant(domain) as b:
        writer = a.advertise("topic", "type", qos=SENSOR_DATA)
        gone.subscribe("topic", "type", lambda _: None, qos=SENSOR_DATA)
        reader = b.subscribe("topic", "type", lambda sample: got.append(sample.body), qos=SENSOR_DATA)
        assert writer.wait_for_readers(3, count=2)
        assert reader.wait_for_writers(3)
        network.port = gone.info.user[0][1]
        for size in (100_000, 100_001):
            writer.write(bytes(size))
        assert wait_for(lambda: len(got) == 2)
        assert writer.not_written == 2


def test_late_reader_gets_the_last_sample_only_if_both_sides_want_that(pair: tuple[Participant, Participant]):
    latched: list[bytes] = []
    volatile: list[bytes] = []
    writer = pair[0].advertise("topic", "type", qos=LATCHED)
    writer.write(b"old")
    writer.write(b"last")
    pair[1].subscribe("topic", "type", lambda sample: latched.append(sample.body), qos=LATCHED)
    pair[1].subscribe("topic", "type", lambda sample: volatile.append(sample.body))
    assert wait_for(lambda: latched == [b"last"])
    assert writer.wait_for_readers(3, count=2)
    writer.write(b"new")
    assert wait_for(lambda: latched == [b"last", b"new"] and volatile == [b"new"])


def test_endpoints_that_do_not_fit_say_why(pair: tuple[Participant, Participant]):
    pair[0].advertise("topic", "type", qos=SENSOR_DATA)
    pair[0].advertise("other", "type")
    pair[1].subscribe("topic", "type", lambda _: None)
    pair[1].subscribe("other", "another type", lambda _: None)

    def told(health: Health) -> list[str]:
        return sorted(why for endpoint in health.endpoints for why in endpoint.mismatches)

    assert wait_for(lambda: len(told(pair[0].health())) == 2 and len(told(pair[1].health())) == 2)
    assert "the type is another type here and type there" in told(pair[1].health())[1]
    assert "the reader asks for RELIABLE, the writer offers BEST_EFFORT" in told(pair[0].health())[0]
    assert told(pair[0].health())[0].startswith("thenar@127.0.0.1: ")


def test_closed_endpoints_are_unmatched(pair: tuple[Participant, Participant]):
    writer = pair[0].advertise("topic", "type")
    reader = pair[1].subscribe("topic", "type", lambda _: None)
    assert writer.wait_for_readers(3)
    assert reader.wait_for_writers(3)
    reader.close()
    assert wait_for(lambda: not writer.readers)
    reader = pair[1].subscribe("topic", "type", lambda _: None)
    assert writer.wait_for_readers(3)
    assert reader.wait_for_writers(3)
    writer.close()
    writer.close()
    assert wait_for(lambda: not reader.writers)


def test_any_thread_may_write(pair: tuple[Participant, Participant]):
    got: list[bytes] = []
    writer = pair[0].advertise("topic", "type", qos=Qos(depth=1000))
    reader = pair[1].subscribe("topic", "type", lambda sample: got.append(sample.body))
    assert writer.wait_for_readers(3)
    assert reader.wait_for_writers(3)
    threads = [threading.Thread(target=lambda t=t: [writer.write(bytes([t, n])) for n in range(100)]) for t in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wait_for(lambda: len(got) == 500)
    for t in range(5):
        assert [body[1] for body in got if body[0] == t] == list(range(100))


def test_callback_that_fails_is_counted_and_the_next_one_is_called(pair: tuple[Participant, Participant]):
    got = []

    def callback(sample: Sample) -> None:
        got.append(sample.body)
        raise RuntimeError("on purpose")

    writer = pair[0].advertise("topic", "type")
    reader = pair[1].subscribe("topic", "type", callback)
    assert writer.wait_for_readers(3)
    assert reader.wait_for_writers(3)
    writer.write(b"1")
    writer.write(b"2")
    assert wait_for(lambda: got == [b"1", b"2"])
    assert wait_for(lambda: pair[1].health().refusals.get("a callback failed") == 2)


def test_callback_may_write_and_may_wait_for_a_thread_that_writes(pair: tuple[Participant, Participant]):
    answers = []
    lock = threading.Lock()
    back = pair[1].advertise("back", "type")

    def callback(sample: Sample) -> None:
        with lock:
            back.write(sample.body)

    out = pair[0].advertise("out", "type")
    pair[0].subscribe("back", "type", lambda sample: answers.append(sample.body))
    pair[1].subscribe("out", "type", callback)
    assert out.wait_for_readers(3)
    assert back.wait_for_readers(3)
    for number in range(50):
        out.write(bytes([number]))
        with lock:
            back.write(b"from another thread")
    assert wait_for(lambda: sum(body != b"from another thread" for body in answers) == 50)


def test_many_large_samples_at_once_arrive_over_a_bad_line(domain: int):
    got: list[bytes] = []
    with Participant(domain) as a, Participant(domain, network=LossyNetwork(domain, seed=4)) as b:
        writer = a.advertise("topic", "type", qos=Qos(depth=100))
        reader = b.subscribe("topic", "type", lambda sample: got.append(sample.body))
        assert writer.wait_for_readers(5)
        assert reader.wait_for_writers(5)
        sent = [struct.pack("<I", number) + bytes(60_000) for number in range(40)]
        for body in sent:
            writer.write(body)
        assert wait_for(lambda: len(got) == 40, 10)
        assert got == sent


def test_what_a_writer_no_longer_keeps_is_given_up(domain: int):
    got: list[int] = []
    with Participant(domain) as a, Participant(domain, network=LossyNetwork(domain, seed=3, loss=0.25)) as b:
        writer = a.advertise("topic", "type", qos=Qos(depth=5))
        reader = b.subscribe("topic", "type", lambda sample: got.append(struct.unpack("<I", sample.body)[0]))
        assert writer.wait_for_readers(5)
        assert reader.wait_for_writers(5)
        for number in range(300):
            writer.write(struct.pack("<I", number))
        assert wait_for(lambda: got and got[-1] == 299)
        assert got == sorted(set(got))
        assert 0 < reader.lost <= 300 - len(got)


def test_nothing_is_lost_on_a_bad_line(domain: int):
    """A tenth of the datagrams lost, a tenth doubled, a tenth overtaken, at both ends."""
    bad = [LossyNetwork(domain, seed=seed) for seed in (1, 2)]
    got: list[bytes] = []
    with Participant(domain, network=bad[0]) as a, Participant(domain, network=bad[1]) as b:
        writer = a.advertise("topic", "type", qos=Qos(depth=1000))
        reader = b.subscribe("topic", "type", lambda sample: got.append(sample.body))
        assert writer.wait_for_readers(10)
        assert reader.wait_for_writers(10)
        sent = [struct.pack("<I", n) + bytes(50_000 if n % 50 == 0 else 10) for n in range(400)]
        for body in sent:
            writer.write(body)
        assert wait_for(lambda: len(got) >= len(sent), 20)
        assert got == sent
    assert all(net.lost and net.doubled and net.overtaken for net in bad)
    assert writer.sent_again
    assert reader.duplicates


# Coming and going.


def test_peer_that_closes_is_gone_at_once_and_found_again(domain: int):
    got: list[bytes] = []
    with Participant(domain) as a:
        writer = a.advertise("topic", "type")
        for life in range(3):
            with Participant(domain) as b:
                b.subscribe("topic", "type", lambda sample: got.append(sample.body))
                assert writer.wait_for_readers(3)
                assert [peer.vendor for peer in a.health().peers] == ["thenar"]
                writer.write(bytes([life]))
                assert wait_for(lambda life=life: got == [bytes([n]) for n in range(life + 1)])
            assert wait_for(lambda: not writer.readers, 1.0)
            assert a.health().peers == ()


def test_peer_that_falls_silent_is_gone_after_its_lease(domain: int):
    with Participant(domain) as a:
        writer = a.advertise("topic", "type")
        b = Participant(domain, lease_s=1.5)
        b.subscribe("topic", "type", lambda _: None)
        assert writer.wait_for_readers(3)
        b._running = False  # as if the process had been killed: no farewell
        b._thread.join()
        b._network.close()
        time.sleep(0.7)
        (peer,) = a.health().peers
        assert 0.3 < peer.silent_s < 1.5
        assert peer.lease_s == 1.5
        assert wait_for(lambda: not writer.readers, 3.0)
        assert a.health().peers == ()


def test_lives_are_kept_by_announcements(domain: int):
    with Participant(domain, lease_s=1.0) as a, Participant(domain, lease_s=1.0) as b:
        assert wait_for(lambda: a.health().peers and b.health().peers)
        known = a.health().peers[0].guid_prefix
        time.sleep(2.5)
        assert [peer.guid_prefix for peer in a.health().peers] == [known]
        assert a.health().peers[0].known_s > 2.4


def test_peer_of_another_domain_is_refused(domain: int):
    with Participant(domain) as a:
        info = ParticipantInfo(prefix=PREFIX, meta=(("127.0.0.1", 9),), domain=domain + 1)
        spdp = messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 1, discovery.encode_participant(info))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(messages.header(PREFIX) + spdp, a.info.meta[0])
        assert wait_for(lambda: a.health().refusals == {"announcement is from another domain": 1})
        assert a.health().peers == ()
