"""How verbs connect to a hand: the options they share, and one interface to read and command over any wire."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from thenar.cli.show import console, listed
from thenar.errors import BadValue, ThenarError

if TYPE_CHECKING:
    from thenar.hands.spec import HandSpec
    from thenar.wire.clients.modbus_client import ModbusHand
    from thenar.wire.codecs.inspire_counts import Readings
    from thenar.wire.rtps import Participant

Wire = Literal["inspire", "dfx", "modbus"]
CONNECT_S = 3.0


@dataclass(frozen=True)
class ConnectionOptions:
    """Where the hand is."""

    domain: int = 1
    """DDS domain: Unitree's simulators use 1, robots 0."""
    interface: str = "lo"
    """Network interface."""
    peers: str = ""
    """Addresses, separated by commas, to look at where multicast does not reach."""
    modbus: str = ""
    """HOST:PORT of a Modbus hand: every hand has a port of its own, which thenar serve shows."""

    def check(self, found: bool, what: str) -> None:
        """Say what to do if nobody was found."""
        if not found:
            place = f"--domain {self.domain} --interface {self.interface}"
            raise ThenarError(
                f"nobody {what} on domain {self.domain}, interface {self.interface}; to see why: thenar inspect {place}"
            )


class HandConnection(Protocol):
    """A hand at the other end of a wire."""

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        """Send counts; an angle of -1 ends a motion."""
        ...

    def readings(self) -> Readings | NDArray[np.float32]:
        """The next state: counts, or how far open each motor is where a wire tells no more."""
        ...

    def taxel_counts(self) -> NDArray[np.int64]:
        """The next reading of the skin."""
        ...


@contextmanager
def connect(spec: HandSpec, wire: Wire, options: ConnectionOptions) -> Iterator[HandConnection]:
    """Connect to a hand over a wire."""
    if wire == "modbus":
        from thenar.wire.clients.modbus_client import ModbusHand

        host, _, port = options.modbus.partition(":")
        if not port.isdigit():
            raise BadValue("--modbus", options.modbus, "HOST:PORT, such as 127.0.0.1:6000")
        with ModbusHand(spec, host=host, port=int(port)) as hand:
            yield _ModbusConnection(hand)
        return
    from thenar.wire.rtps import Participant

    where = {"interface": options.interface, "peers": listed(options.peers)}
    with Participant(options.domain, name="thenar client", **where) as participant:
        yield (_InspireConnection if wire == "inspire" else _DfxConnection)(participant, spec, options)


class _InspireConnection:
    def __init__(self, participant: Participant, spec: HandSpec, options: ConnectionOptions):
        from thenar.wire.clients.inspire_clients import InspireClient

        self._client, self._options = InspireClient(participant, spec), options

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        from thenar.wire.codecs.inspire_codec import Ctrl, Mode

        self._options.check(self._client.wait_until_heard(CONNECT_S), "listens to inspire ctrl")
        groups = ((angle, Mode.ANGLE), (speed, Mode.SPEED), (force, Mode.FORCE))
        mode = sum(bit for values, bit in groups if values)
        self._client.send(Ctrl(angle=angle, speed=speed, force=force, mode=mode))

    def readings(self) -> Readings:
        found = self._client.wait_for_news(touch=False, timeout_s=CONNECT_S)
        self._options.check(found, "publishes inspire state")
        assert self._client.readings is not None
        return self._client.readings

    def taxel_counts(self) -> NDArray[np.int64]:
        found = self._client.wait_for_news(touch=True, timeout_s=CONNECT_S)
        self._options.check(found, "publishes inspire touch")
        assert self._client.taxel_counts is not None
        return self._client.taxel_counts


class _DfxConnection:
    def __init__(self, participant: Participant, spec: HandSpec, options: ConnectionOptions):
        from thenar.wire.clients.inspire_clients import DfxClient

        self._client, self._options, self._side = DfxClient(participant), options, spec.side

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        if speed or force:
            raise BadValue("--wire", "dfx", "inspire or modbus: these topics carry neither speed nor force")
        self._options.check(self._client.wait_until_heard(CONNECT_S), "listens to dfx commands")
        self.readings()
        assert self._client.q is not None
        if self._client.lost[self._side]:
            raise ThenarError(f"no {self._side} hand at the other end: its readings are marked as lost")
        # The message has no hold: a motor that is to stay is sent to where it is.
        q = {side: values.astype(float).tolist() for side, values in self._client.q.items()}
        q[self._side] = [was if a < 0 else a / 1000 for was, a in zip(q[self._side], angle, strict=True)]
        if self._side == "right":  # it comes first, so the message may end behind it
            del q["left"]
        else:
            console.print("the message cannot leave the right hand out: it is told to stay where it is", style="dim")
        self._client.send(q)

    def readings(self) -> NDArray[np.float32]:
        self._options.check(self._client.wait_for_news(timeout_s=CONNECT_S), "publishes dfx state")
        assert self._client.q is not None
        return self._client.q[self._side]

    def taxel_counts(self) -> NDArray[np.int64]:
        raise BadValue("--wire", "dfx", "inspire or modbus: these topics carry no touch")


class _ModbusConnection:
    def __init__(self, hand: ModbusHand):
        self.readings, self.taxel_counts, self._write = hand.readings, hand.taxel_counts, hand.write

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        for name, values in (("SPEED_SET", speed), ("FORCE_SET", force), ("ANGLE_SET", angle)):
            if values:
                self._write(name, values)
