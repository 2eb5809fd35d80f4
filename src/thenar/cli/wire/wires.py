"""How verbs reach a hand: the options they share, and one way to read and send over any wire."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from thenar.cli.show import console, listed
from thenar.errors import BadValue, ThenarError

if TYPE_CHECKING:
    from thenar.hands.spec import HandSpec
    from thenar.wire.codecs.inspire_counts import Readings

Wire = Literal["inspire", "dfx", "modbus"]
CONNECT_S = 3.0


@dataclass(frozen=True)
class Reach:
    """Where the hand is."""

    domain: int = 1
    """DDS domain: Unitree's simulators use 1, robots 0."""
    interface: str = "lo"
    """Network interface."""
    peers: str = ""
    """Addresses, separated by commas, to look at where multicast does not reach."""
    modbus: str = ""
    """HOST:PORT of a Modbus hand: every hand has a port of its own, which thenar serve shows."""


class HandLine(Protocol):
    """A hand at the other end of a wire."""

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        """Send counts, -1 leaves a motor as it is."""
        ...

    def readings(self) -> Readings | NDArray[np.float32]:
        """The next state: counts, or how far open each motor is where a wire tells no more."""
        ...

    def taxel_counts(self) -> NDArray[np.int64]:
        """The next reading of the skin."""
        ...


@contextmanager
def reach_hand(spec: HandSpec, wire: Wire, reach: Reach) -> Iterator[HandLine]:
    """Connect to a hand over a wire."""
    if wire == "modbus":
        from thenar.wire.clients.modbus_client import ModbusHand

        host, _, port = reach.modbus.partition(":")
        if not port.isdigit():
            raise BadValue("--modbus", reach.modbus, "HOST:PORT, such as 127.0.0.1:6000")
        with ModbusHand(spec, host=host, port=int(port)) as hand:
            yield _ModbusLine(hand)
        return
    from thenar.wire.links.dds_link import DdsNode

    with DdsNode(
        domain=reach.domain, interface=reach.interface, peers=listed(reach.peers), name="thenar client"
    ) as node:
        yield _InspireLine(node, spec, reach) if wire == "inspire" else _DfxLine(node, spec, reach)


def _nobody(what: str, reach: Reach) -> ThenarError:
    return ThenarError(
        f"nobody {what} on domain {reach.domain}, interface {reach.interface}; "
        f"to see why: thenar inspect --domain {reach.domain} --interface {reach.interface}"
    )


class _InspireLine:
    def __init__(self, node: Any, spec: HandSpec, reach: Reach):
        from thenar.wire.links.inspire_link import InspireClient

        self._client, self._reach = InspireClient(node, spec), reach

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        from thenar.wire.codecs.inspire_codec import Ctrl, Mode

        if not self._client.wait_until_heard(CONNECT_S):
            raise _nobody("listens to inspire ctrl", self._reach)
        groups = ((angle, Mode.ANGLE), (speed, Mode.SPEED), (force, Mode.FORCE))
        mode = sum(bit for values, bit in groups if values)
        self._client.send(Ctrl(angle=angle, speed=speed, force=force, mode=mode))

    def readings(self) -> Readings:
        if not self._client.wait_for_news(touch=False, timeout_s=CONNECT_S):
            raise _nobody("publishes inspire state", self._reach)
        assert self._client.readings is not None
        return self._client.readings

    def taxel_counts(self) -> NDArray[np.int64]:
        if not self._client.wait_for_news(touch=True, timeout_s=CONNECT_S):
            raise _nobody("publishes inspire touch", self._reach)
        assert self._client.taxel_counts is not None
        return self._client.taxel_counts


class _DfxLine:
    def __init__(self, node: Any, spec: HandSpec, reach: Reach):
        from thenar.wire.links.dfx_link import DfxClient

        self._client, self._reach, self._side = DfxClient(node), reach, spec.side

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        if speed or force:
            raise BadValue("--wire", "dfx", "inspire or modbus: these topics carry neither speed nor force")
        if not self._client.wait_until_heard(CONNECT_S):
            raise _nobody("listens to dfx commands", self._reach)
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
        if not self._client.wait_for_news(timeout_s=CONNECT_S):
            raise _nobody("publishes dfx state", self._reach)
        assert self._client.q is not None
        return self._client.q[self._side]

    def taxel_counts(self) -> NDArray[np.int64]:
        raise BadValue("--wire", "dfx", "inspire or modbus: these topics carry no touch")


class _ModbusLine:
    def __init__(self, hand: Any):
        self._hand = hand

    def send(self, angle: list[int], speed: list[int], force: list[int]) -> None:
        for name, values in (("SPEED_SET", speed), ("FORCE_SET", force), ("ANGLE_SET", angle)):
            if values:
                self._hand.write(name, values)

    def readings(self) -> Readings:
        return self._hand.readings()

    def taxel_counts(self) -> NDArray[np.int64]:
        return self._hand.taxel_counts()
