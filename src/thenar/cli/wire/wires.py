"""How verbs connect to a hand: the options they share, and one interface to read and command over any wire."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from thenar.cli.show import listed
from thenar.errors import BadValue, ThenarError

if TYPE_CHECKING:
    from thenar.hands.spec import HandSpec
    from thenar.wire.clients.inspire_clients import DfxClient, InspireClient
    from thenar.wire.clients.listener import Place
    from thenar.wire.clients.modbus_client import ModbusHand
    from thenar.wire.clients.tienkung_client import TienkungClient
    from thenar.wire.codecs.inspire_counts import Readings

Wire = Literal["inspire", "dfx", "modbus", "tienkung"]
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
    """HOST:PORT of a Modbus hand: every hand has a port of its own, which thenar serve shows; of two hands with a comma
    between them."""

    def place(self, wire: str) -> Place:
        """The same for one who only listens."""
        from thenar.wire.clients.listener import Place

        where = {"domain": self.domain, "interface": self.interface}
        return Place(wire=wire, **where, peers=listed(self.peers), modbus=listed(self.modbus))

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
    with connect_hands((spec,), wire, options) as (line,):
        yield line


@contextmanager
def connect_hands(
    specs: Sequence[HandSpec], wire: Wire, options: ConnectionOptions
) -> Iterator[tuple[HandConnection, ...]]:
    """Connect to hands of one robot over a wire."""
    if wire == "modbus":
        from thenar.wire.clients.modbus_client import ModbusHand

        places = [place.partition(":") for place in listed(options.modbus)]
        if len(places) != len(specs) or not all(port.isdigit() for _, _, port in places):
            wanted = ",".join(["HOST:PORT"] * len(specs))
            raise BadValue("--modbus", options.modbus, f"{wanted}, such as 127.0.0.1:6000")
        with ExitStack() as opened:
            hands = [
                opened.enter_context(ModbusHand(spec, host=host, port=int(port)))
                for spec, (host, _, port) in zip(specs, places, strict=True)
            ]
            yield tuple(_ModbusConnection(hand) for hand in hands)
        return
    # All before the participant is open: an import may swallow the exit that a signal asks for.
    from thenar.wire.clients.inspire_clients import DfxClient, InspireClient
    from thenar.wire.clients.tienkung_client import TienkungClient
    from thenar.wire.rtps import Participant

    where = {"interface": options.interface, "peers": listed(options.peers)}
    with Participant(options.domain, name="thenar client", **where) as participant:
        if wire == "dfx":
            client, sent = DfxClient(participant), dict[str, list[float]]()
            yield tuple(_DfxConnection(client, spec, options, sent) for spec in specs)
        elif wire == "inspire":
            yield tuple(_InspireConnection(InspireClient(participant, spec), options) for spec in specs)
        else:
            yield tuple(_TienkungConnection(TienkungClient(participant, spec), options) for spec in specs)


class _InspireConnection:
    def __init__(self, client: InspireClient, options: ConnectionOptions):
        self._client, self._options = client, options

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
    def __init__(self, client: DfxClient, spec: HandSpec, options: ConnectionOptions, sent: dict[str, list[float]]):
        self._client, self._options, self._side = client, options, spec.side
        self._sent = sent  # to all hands that are driven: one message is for both

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        if speed or force:
            raise BadValue("--wire", "dfx", "inspire or modbus: these topics carry neither speed nor force")
        self._options.check(self._client.wait_until_heard(CONNECT_S), "listens to dfx commands")
        if self._client.q is None:
            self.readings()
        assert self._client.q is not None
        if self._client.lost[self._side]:
            raise ThenarError(f"no {self._side} hand at the other end: its readings are marked as lost")
        # The message has no hold: a motor that is to stay is sent to where it is.
        q = {side: values.astype(float).tolist() for side, values in self._client.q.items()}
        self._sent[self._side] = [was if a < 0 else a / 1000 for was, a in zip(q[self._side], angle, strict=True)]
        if "left" not in self._sent:  # the right hand comes first, so the message may end behind it
            del q["left"]
        self._client.send(q | self._sent)  # a right hand that is not driven is told to stay where it is

    def readings(self) -> NDArray[np.float32]:
        self._options.check(self._client.wait_for_news(timeout_s=CONNECT_S), "publishes dfx state")
        assert self._client.q is not None
        return self._client.q[self._side]

    def taxel_counts(self) -> NDArray[np.int64]:
        raise BadValue("--wire", "dfx", "inspire or modbus: these topics carry no touch")


class _TienkungConnection:
    def __init__(self, client: TienkungClient, options: ConnectionOptions):
        self._client, self._options = client, options

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        from thenar.wire.codecs.tienkung_codec import FINGER_IDS

        if speed or force:
            raise BadValue("--wire", "tienkung", "inspire or modbus: the control topic carries neither speed nor force")
        self._options.check(self._client.wait_until_heard(CONNECT_S), "listens to tienkung control messages")
        self._client.send({name: a / 1000 for name, a in zip(FINGER_IDS, angle, strict=True) if a >= 0})

    def readings(self) -> NDArray[np.float32]:
        self._options.check(self._client.wait_for_news(timeout_s=CONNECT_S), "publishes tienkung state")
        assert self._client.opened is not None
        return self._client.opened

    def taxel_counts(self) -> NDArray[np.int64]:
        raise BadValue("--wire", "tienkung", "inspire or modbus: these topics carry no touch")


class _ModbusConnection:
    def __init__(self, hand: ModbusHand):
        self._hand, self._lock = hand, threading.Lock()  # one question at a time, from whichever thread

    def readings(self) -> Readings:
        with self._lock:
            return self._hand.readings()

    def taxel_counts(self) -> NDArray[np.int64]:
        with self._lock:
            return self._hand.taxel_counts()

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        with self._lock:
            for name, values in (("SPEED_SET", speed), ("FORCE_SET", force), ("ANGLE_SET", angle)):
                if values:
                    self._hand.write(name, values)
