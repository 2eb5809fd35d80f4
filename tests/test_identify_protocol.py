"""The identification's programme drives a hand in another process, and stops."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from serving import served

from thenar import hands
from thenar.cli.wire.wires import ConnectionOptions, HandConnection, connect
from thenar.errors import BadValue
from thenar.sim.identify.programme import programme
from thenar.twin.recording.protocol_drive import CONTACT_N, drive_programme
from thenar.units import GRAM_FORCE_N
from thenar.wire.codecs.inspire_counts import Readings

HAND = hands.load("inspire_right")
BARE = [phase for phase in programme(HAND) if "bar" not in phase.before]


@pytest.fixture(scope="module")
def hand() -> Iterator[HandConnection]:
    """A twin with a ball in its hand."""
    with (
        served("thenar serve --hands inspire_right --wire inspire --scene in_hand") as (domain, _),
        connect(HAND, "inspire", ConnectionOptions(domain=domain)) as line,
    ):
        yield line


def readings(line: HandConnection) -> Readings:
    found = line.readings()
    assert isinstance(found, Readings)
    return found


def test_a_wish_stops_the_programme_at_once_and_the_hand_stays(hand: HandConnection):
    stop = threading.Event()
    threading.Timer(1.2, stop.set).start()
    began_s = time.perf_counter()
    outcome = drive_programme(hand, HAND, BARE, stop=stop)
    took_s = time.perf_counter() - began_s
    assert outcome.why == "somebody wished it"
    assert outcome.reacted_s < 0.1
    assert took_s < 1.5
    time.sleep(0.3)  # the hand's own latency
    before = readings(hand).angle
    time.sleep(0.3)
    assert np.abs(readings(hand).angle - before).max() < 15  # it neither goes on nor opens


def test_a_finger_that_meets_something_stops_the_programme(hand: HandConnection):
    fast = [phase for phase in BARE if phase.name == "fingers: steps"]
    outcome = drive_programme(hand, HAND, fast, stop=threading.Event())
    assert "met something" in outcome.why
    assert outcome.reacted_s < 0.1
    time.sleep(0.3)
    assert readings(hand).force.max() * GRAM_FORCE_N < 10.0
    assert CONTACT_N < 10.0


def test_silence_stops_the_programme(hand: HandConnection):
    class Deaf:
        """The same hand, whose states are lost from some time on."""

        def __init__(self) -> None:
            self.sent: list[list[int]] = []
            self.until_s = time.perf_counter() + 1.0

        def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
            self.sent.append(angle)
            hand.send(angle, speed, force)

        def readings(self) -> object:
            if time.perf_counter() > self.until_s:
                time.sleep(0.5)  # nothing comes
            return hand.readings()

    line = Deaf()
    hand.send([1000] * 6, [500] * 6, [200] * 6)
    time.sleep(1.0)
    line.until_s = time.perf_counter() + 1.0
    outcome = drive_programme(line, HAND, BARE, stop=threading.Event())
    assert "said nothing" in outcome.why
    assert outcome.reacted_s < 0.1
    assert line.sent[-1] == [-1] * 6


def test_a_hand_whose_wire_tells_no_force_is_not_moved():
    with pytest.raises(BadValue, match="Inspire"):
        drive_programme(None, hands.load("reflex"), BARE, stop=threading.Event())  # pyright: ignore[reportArgumentType]
