"""A participant that was forgotten, for a silence or by somebody's trick, is heard again soon."""

import signal
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from patience import wait_for
from raw_rtps_peer import RawPeer
from test_rtps_peers import ENDLESS, Running, text

from thenar.wire.rtps import Participant, Qos, Sample, ServiceNames, discovery, messages, ros
from thenar.wire.rtps.discovery import Address
from thenar.wire.rtps.messages import CYCLONE_VENDOR
from thenar.wire.rtps.network import Network
from thenar.wire.rtps.reader import WINDOW

WITHIN_S = 3.0
LEASE_S = 1.0
STRING = ros.message_type("std_msgs/msg/String")


class CutNetwork(Network):
    """A network whose cable can be pulled, one way or both."""

    deaf = mute = False

    def send(self, datagram: bytes, address: Address) -> str | None:
        return None if self.mute else super().send(datagram, address)

    def receive(self, timeout_s: float) -> Iterator[tuple[bytes, str]]:
        return (arrived for arrived in super().receive(timeout_s) if not self.deaf)


class Pair:
    """A twin and a client, each with a topic that the other reads, and what was heard last on both."""

    def __init__(self, domain: int):
        self.network = CutNetwork(domain)
        self.twin = Participant(domain, lease_s=LEASE_S, announce_s=0.25)
        self.client = Participant(domain, lease_s=LEASE_S, announce_s=0.25, network=self.network)
        self.heard: dict[str, bytes] = {}
        self.writers = {
            "state": self.twin.advertise("state", "type"),
            "command": self.client.advertise("command", "type"),
        }
        self.client.subscribe("state", "type", lambda sample: self.heard.update(state=sample.body))
        self.twin.subscribe("command", "type", lambda sample: self.heard.update(command=sample.body))

    def close(self) -> None:
        self.client.close()
        self.twin.close()

    def hears(self, word: bytes) -> bool:
        for writer in self.writers.values():
            writer.write(word)
        return self.heard == {"state": word, "command": word}


@pytest.fixture
def pair(domain: int) -> Iterator[Pair]:
    made = Pair(domain)
    try:
        assert wait_for(lambda: made.hears(b"before"), 5.0)
        yield made
    finally:
        made.close()


@pytest.mark.parametrize(("deaf", "mute"), [(True, False), (False, True), (True, True)], ids=["deaf", "mute", "both"])
def test_both_hear_again_after_a_lease_has_run_out(pair: Pair, deaf: bool, mute: bool):
    pair.network.deaf, pair.network.mute = deaf, mute
    gone = [side for side, cut in ((pair.client, deaf), (pair.twin, mute)) if cut]
    assert wait_for(lambda: not any(side.peers() for side in gone), 5.0)
    pair.network.deaf = pair.network.mute = False
    assert wait_for(lambda: pair.hears(b"after"), WITHIN_S)


def speak_for(victim: Participant, to: Participant, submessage: bytes) -> None:
    """Send something in the name of another."""
    datagram = messages.header(victim.prefix) + submessage
    to._network.send(datagram, to.info.meta[0])


def farewell_of(victim: Participant) -> bytes:
    guid = victim.prefix + discovery.PARTICIPANT
    key = discovery.encode_key(discovery.PID_PARTICIPANT_GUID, guid)
    gone = discovery.disposal(guid)
    return messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 1 << 40, key, gone, key_only=True)


@pytest.mark.parametrize("who", ["twin", "client"])
def test_both_hear_again_after_a_spoofed_farewell(pair: Pair, who: str):
    victim, other = (pair.twin, pair.client) if who == "twin" else (pair.client, pair.twin)
    with other.lock:  # so that it is seen to be gone
        speak_for(victim, other, farewell_of(victim))
        time.sleep(0.02)
    assert wait_for(lambda: not other.peers())
    assert wait_for(lambda: pair.hears(b"after"), WITHIN_S)


@pytest.mark.parametrize("who", ["twin", "client"])
def test_a_spoofed_announcement_leads_nobody_astray(pair: Pair, who: str):
    victim, other = (pair.twin, pair.client) if who == "twin" else (pair.client, pair.twin)
    elsewhere = replace(victim.info, meta=(("127.0.0.1", 9),), user=(("127.0.0.1", 9),))
    payload = discovery.encode_participant(elsewhere)
    (known,) = other._directory.peers.values()
    end_s = time.monotonic() + 1.5
    while time.monotonic() < end_s:  # again and again
        speak_for(victim, other, messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 1, payload))
        time.sleep(0.05)
    assert [*other._directory.peers.values()] == [known]
    assert any("where its participant answers" in reason for reason in other.health().refusals)
    assert wait_for(lambda: pair.hears(b"after"), WITHIN_S)


def test_a_participant_that_has_moved_is_followed(pair: Pair):
    pair.network.mute = True  # it no longer answers where it was
    elsewhere = replace(pair.client.info, meta=(("127.0.0.1", 9),), user=(("127.0.0.1", 9),))
    payload = discovery.encode_participant(elsewhere)

    def moved() -> bool:
        speak_for(pair.client, pair.twin, messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 1, payload))
        time.sleep(0.05)
        return [peer.addresses for peer in pair.twin.peers()] == [("127.0.0.1:9",)]

    assert wait_for(moved, 2.0)


def test_what_is_said_of_a_participant_from_another_address_is_not_believed(domain: int):
    with Participant(domain) as participant:
        names = ServiceNames(request_topic="a", request_type="b", reply_topic="c", reply_type="d")
        peer = RawPeer(domain, names, vendor=CYCLONE_VENDOR)
        peer.meet()
        (known,) = participant._directory.peers.values()
        key = discovery.encode_key(discovery.PID_PARTICIPANT_GUID, peer.prefix + discovery.PARTICIPANT)
        gone = discovery.disposal(peer.prefix + discovery.PARTICIPANT)
        farewell = messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 2, key, gone, key_only=True)
        moved = discovery.encode_participant(replace(known.info, meta=(("192.0.2.7", 9),)))
        elsewhere = messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 3, moved)
        for said in (farewell, elsewhere):
            participant._on_datagram(peer.datagram(said), "192.0.2.66")
        assert [peer.guid_prefix for peer in participant.peers()] == [peer.prefix.hex()]
        assert participant._directory.peers[peer.prefix] is known
        participant._on_datagram(peer.datagram(farewell), "127.0.0.1")
        assert participant.peers() == ()
        peer.close()


def say_farewell(participant: Participant) -> None:
    """Have it hear, in the name of each of its peers, that they are gone."""
    for peer in participant.peers():
        prefix = bytes.fromhex(peer.guid_prefix)
        guid = prefix + discovery.PARTICIPANT
        key = discovery.encode_key(discovery.PID_PARTICIPANT_GUID, guid)
        gone = discovery.disposal(guid)
        said = messages.data(discovery.SPDP_READER, discovery.SPDP_WRITER, 9, key, gone, key_only=True)
        participant._on_datagram(messages.header(prefix) + said, "127.0.0.1")


def test_calls_of_a_client_that_was_sent_away_are_all_answered(domain: int):
    names = ros.service_names("/set_force", "thenar_test/srv/SetForce")
    answered: set[int] = set()
    with Participant(domain, announce_s=0.25) as twin, Participant(domain, announce_s=0.25) as client:
        twin.serve(names, lambda body: body[:8], refusal=bytes(8), body_bytes=24)
        writer = client.advertise(names.request_topic, names.request_type)
        reader = client.subscribe(
            names.reply_topic,
            names.reply_type,
            lambda reply: answered.add(int.from_bytes(reply.inline[discovery.PID_RELATED_IDENTITY][20:24], "little")),
        )
        for _ in range(WINDOW):  # numbers of a client that has been there for long
            writer.write(bytes(24))
        assert writer.wait_for_readers(5.0)
        assert reader.wait_for_writers(5.0)
        first = writer.write(bytes(24))
        assert wait_for(lambda: first in answered, 5.0)
        say_farewell(twin)
        called = set()
        for _ in range(25):  # more than the client keeps until it is known again
            called.add(writer.write(bytes(24)))
            time.sleep(0.04)
        assert wait_for(lambda: called <= answered, WITHIN_S), sorted(called - answered)


def test_samples_are_read_once_and_in_order_though_their_writer_was_sent_away(domain: int):
    taken: list[int] = []
    twin, line = Participant(domain, announce_s=0.25), CutNetwork(domain)
    with twin, Participant(domain, announce_s=0.25, network=line) as client:
        twin.subscribe("topic", "type", lambda sample: taken.append(sample.identity.number))
        writer = client.advertise("topic", "type", qos=Qos(depth=1000))
        assert writer.wait_for_readers(5.0)
        last = [writer.write(b"") for _ in range(WINDOW)][-1]
        assert wait_for(lambda: taken == [*range(1, last + 1)])
        with client.lock:
            line.mute = True
            say_farewell(twin)
            for _ in range(20):
                writer.write(b"")  # lost
            line.mute = False
            last = writer.write(b"")  # waits at the twin until it knows its writer again
        assert wait_for(lambda: len(taken) >= last)
        assert taken == [*range(1, last + 1)]


def test_a_writer_that_begins_anew_under_its_old_name_is_read_from_its_beginning(domain: int):
    taken: list[int] = []
    with Participant(domain) as twin, Participant(domain) as client:
        reader = twin.subscribe("topic", "type", lambda sample: taken.append(sample.identity.number))
        writer = client.advertise("topic", "type", qos=Qos(depth=10))
        assert writer.wait_for_readers(5.0)
        for _ in range(5):
            writer.write(b"")
        assert wait_for(lambda: taken == [1, 2, 3, 4, 5])
        with twin.lock:
            guid = writer.info.guid
            info = reader.writers[guid].info
            for last, wanted in ((7, 6), (2, 1)):  # it goes on, or begins anew
                reader.unmatch(guid)
                reader.match(info)
                again = reader.writers[guid]
                assert again.next == 6
                reader.on_heartbeat(again, messages.Heartbeat(reader.entity, guid[12:], 1, last, final=True), None)
                assert again.next == wanted


@pytest.mark.parametrize(
    ("vendor", "trick"),
    [("cyclone", "silence"), ("cyclone", "farewell"), ("fast2", "farewell"), ("rosless", "farewell")],
)
def test_other_vendors_hear_again_and_are_heard_again(
    vendor: str, trick: str, domain: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PEER_LEASE_S", "1")
    got: list[Sample] = []
    with Participant(domain, user_data=ros.ENCLAVE, lease_s=LEASE_S, announce_s=0.25) as participant:
        writer = participant.advertise("rt/from_thenar", STRING)
        participant.subscribe("rt/to_thenar", STRING, got.append)
        peers = [Running(vendor, mode, domain, ENDLESS, 10.0) for mode in ("listen", "talk")]
        listener, _ = peers
        try:
            word = iter(range(ENDLESS))

            def both_hear(since: tuple[int, int]) -> bool:
                writer.write(text(f"{next(word)}"))
                return len(listener.lines) > since[0] and len(got) > since[1]

            assert wait_for(lambda: both_hear((0, 0)), 15.0)
            if trick == "silence":
                for peer in peers:
                    peer.process.send_signal(signal.SIGSTOP)
                assert wait_for(lambda: not participant.peers(), 5.0)
                for peer in peers:
                    peer.process.send_signal(signal.SIGCONT)
            else:
                say_farewell(participant)
                assert participant.peers() == ()
            since = len(listener.lines), len(got)
            assert wait_for(lambda: both_hear(since), WITHIN_S)
        finally:
            for peer in peers:
                peer.kill()


@pytest.mark.parametrize(
    ("vendors", "both"),
    [(["fast2", "dora"], False), (["cyclone", "rosless"], True)],
    ids=["they forget", "both forget"],
)
def test_every_vendor_hears_again_after_the_network_was_gone(
    vendors: list[str], both: bool, domain: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PEER_LEASE_S", "1")
    heard: set[str] = set()
    network = CutNetwork(domain)
    with Participant(domain, user_data=ros.ENCLAVE, lease_s=LEASE_S, announce_s=0.25, network=network) as participant:
        writer = participant.advertise("rt/from_thenar", STRING)
        participant.subscribe("rt/to_thenar", STRING, lambda sample: heard.add(sample.body[4:].split()[0].decode()))
        listeners = {vendor: Running(vendor, "listen", domain, ENDLESS, 10.0) for vendor in vendors}
        talkers = [Running(vendor, "talk", domain, ENDLESS, 10.0) for vendor in vendors]
        try:
            word = iter(range(ENDLESS))

            def missing() -> set[str]:
                writer.write(text(f"{next(word)}"))
                deaf = {vendor for vendor in vendors if not listeners[vendor].lines}
                return deaf | {f"from {vendor}" for vendor in vendors if vendor not in heard}

            assert wait_for(lambda: not missing(), 20.0), missing()
            network.deaf = network.mute = True
            time.sleep(4.5)  # RustDDS looks at leases every few seconds, and nothing tells when
            if both:
                say_farewell(participant)
            network.deaf = network.mute = False
            heard.clear()
            for listener in listeners.values():
                listener.lines.clear()
            assert wait_for(lambda: not missing(), WITHIN_S), missing()
        finally:
            for peer in (*listeners.values(), *talkers):
                peer.kill()
