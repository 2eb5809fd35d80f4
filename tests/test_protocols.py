"""The registry of protocols: what is served by default, and a protocol of one's own in two files."""

import socket

import pytest
from patience import wait_for
from toys import semaphore_link

from thenar import hands
from thenar.errors import BadValue, UnknownName
from thenar.twin.serve_config import ServeConfig
from thenar.twin.serving import serve
from thenar.wire.links import registry
from thenar.wire.links.registry import PROTOCOLS, default_wires, find_protocols, register


@pytest.fixture
def semaphore(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy protocol, registered by one call, for one test."""
    monkeypatch.setattr(registry, "PROTOCOLS", dict(PROTOCOLS))
    register(semaphore_link.PROTOCOL)


@pytest.mark.parametrize(
    ("name", "wires"),
    [
        ("inspire_right", ("inspire", "dfx", "modbus")),
        ("inspire_dfx_left", ("inspire", "dfx", "modbus")),
        ("reflex", ("reflex", "reflex_udp")),
        ("dex3_left", ("dex3",)),
        ("brainco_right", ("brainco",)),
        ("dex1_left", ("dex1",)),
        ("leap_right", ("dynamixel",)),
        ("shadow_right", ()),
        ("fourier_left", ()),
    ],
)
def test_a_hand_is_served_on_the_protocols_it_is_usually_reached_by(name: str, wires: tuple[str, ...]):
    assert default_wires([hands.load(name)]) == wires


def test_every_protocol_serves_some_hand_and_its_link_has_its_name():
    for name, protocol in PROTOCOLS.items():
        assert protocol.name == name
        assert any(protocol.serves(hands.load(hand)) for hand in hands.names())
        assert getattr(protocol.link_class(), "wire", "") == name


def test_hands_of_two_makers_have_no_common_default():
    with pytest.raises(BadValue, match="serve each maker's by themselves"):
        serve(ServeConfig(hands=("inspire_right", "reflex")))


def test_unknown_protocols_are_named_with_those_there_are():
    with pytest.raises(UnknownName, match="modbus"):
        find_protocols(["smoke_signals"])


@pytest.mark.usefixtures("semaphore")
def test_a_protocol_of_two_files_and_one_entry_serves_a_hand():
    with (
        serve(ServeConfig(hands=("fourier_right",), scene="empty", touch_hz=0.0, profile="ideal")) as twin,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
    ):
        (link,) = twin.links
        assert isinstance(link, semaphore_link.SemaphoreLink)
        client.settimeout(10.0)
        client.sendto(b"close 0.5", link.address)
        client.sendto(b"close" + b" 0.30" * 6, link.address)

        def closed() -> bool:
            word, *values = client.recv(4096).split()
            return word == b"closed" and all(abs(float(value) - 0.3) < 0.03 for value in values)

        assert wait_for(closed, 30.0)
        health = twin.health()
        assert health.hands["fourier_right"].requests == 1
        assert list(health.links[0].refused) == ["wanted close and 6 numbers from 0 to 1"]
