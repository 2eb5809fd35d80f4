"""Faults of messages between the world and the clients of a running twin."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from thenar.signals import HandSettings, HandState
from thenar.wire.line_faults import LineFaults
from thenar.wire.links.registry import SIM

if TYPE_CHECKING:
    from thenar.twin.live_twin import Link
    from thenar.twin.world import World

T = TypeVar("T")
LINE = ("lost", "doubled", "garbled")  # what a link's own line does
NO_HANDS = (SIM, "page")  # no wires of a hand: broken only where they are named
PER_MOTOR = (
    "angle_rad", "velocity_rad_s", "force_n", "torque_nm", "current_a", "temperature_c", "status", "error",
)  # fmt: skip


@runtime_checkable
class LineLink(Protocol):
    """A link whose messages go out over a line that may be bad."""

    line: LineFaults


@runtime_checkable
class PoweredLink(Protocol):
    """A link to something that forgets when its power is off."""

    def power_on(self) -> None:
        """Begin anew, as after switching it on."""
        ...


class MessageFaults:
    """Filter between the world and the links of a twin; without faults it passes everything on."""

    def __init__(self, links: Sequence[Link]):
        """All lines are good."""
        self._links = links
        self._suffered: dict[str, dict[str, float]] = {}
        self._held: dict[tuple[str, str], deque[tuple[float, Any]]] = defaultdict(deque)
        """What is on its way, by wire and kind of message, with when it came."""
        self._random = random.Random(0)
        self._dark = False

    @property
    def disconnected(self) -> tuple[str, ...]:
        """Wires that nothing comes through."""
        return tuple(sorted(wire for wire, suffered in self._suffered.items() if "disconnected" in suffered))

    def update(self, world: World) -> None:
        """See what is broken now, and let the hands wake up where the power has come back."""
        faults, was_dark = world.faults, self._dark
        if not (faults.active or faults.dark or self._suffered or was_dark):
            return
        all_suffered = {}
        for link in self._links:
            of_hands = link.wire not in NO_HANDS
            suffered = faults.messages(link.wire, shared=of_hands)
            if faults.dark and of_hands:
                suffered["disconnected"] = 1.0
            if suffered:
                all_suffered[link.wire] = suffered
            if isinstance(link, LineLink):
                line = link.line
                line.lost, line.doubled, line.garbled = (suffered.get(kind, 0.0) for kind in LINE)
                line.clock_s = suffered.get("clock", 0.0)
                if "disconnected" in suffered or "silent" in suffered:
                    line.lost = 1.0
            if was_dark and not faults.dark and isinstance(link, PoweredLink):
                link.power_on()
        self._suffered, self._dark = all_suffered, faults.dark
        if was_dark and not faults.dark:
            world.reset_skins()

    def hears(self, wire: str) -> bool:
        """Whether a request gets through."""
        suffered = self._suffered.get(wire)
        return suffered is None or not ("disconnected" in suffered or self._random.random() < suffered.get("lost", 0.0))

    def passed(self, wire: str, kind: str, message: T, now_s: float) -> list[T]:
        """What a link is given to say: nothing, this, or what was held back."""
        suffered, held = self._suffered.get(wire, {}), self._held[wire, kind]
        if not (suffered or held):
            return [message]
        if "disconnected" in suffered or "silent" in suffered:
            held.clear()
            return []
        if "late" in suffered:
            if held and held[-1][0] > now_s:  # time was set back
                held.clear()
            held.append((now_s, message))
            due = [one for at_s, one in held if at_s <= now_s - suffered["late"] + 1e-9]
            for _ in due:
                held.popleft()
            return due
        waiting = [one for _, one in held]
        held.clear()
        if "shuffled" not in suffered:
            return [*waiting, message]
        if not waiting and self._random.random() < suffered["shuffled"]:
            held.append((now_s, message))
            return []
        return [message, *waiting]

    def altered(
        self, wire: str, hands: Mapping[str, tuple[HandState, HandSettings]]
    ) -> Mapping[str, tuple[HandState, HandSettings]]:
        """States as the hands report them to a wire."""
        if "order" not in self._suffered.get(wire, {}):
            return hands
        return {name: (exchanged(state), settings) for name, (state, settings) in hands.items()}


def exchanged(state: HandState) -> HandState:
    """A state in which the readings of the first two motors have changed places."""
    order = np.arange(len(state.angle_rad))
    order[:2] = order[:2][::-1]
    return replace(state, **{name: getattr(state, name)[order] for name in PER_MOTOR})
