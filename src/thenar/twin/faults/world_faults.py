"""Faults of a world: what is broken now, and how it is broken and mended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thenar.arrays import BoolArray
from thenar.errors import BadValue, UnknownName, look_up
from thenar.hands.spec import HandSpec, LeadScrew
from thenar.signals.fault_kinds import FAULTS, Fault
from thenar.sim.journal import Journal, noted

if TYPE_CHECKING:
    from thenar.twin.world import World


class Faults:
    """Breaks parts of a world, and mends them. What messages suffer is seen by the clients of a twin."""

    journal_prefix = "faults."

    def __init__(self, world: World):
        """Nothing is broken yet."""
        self._world = world
        self._active: dict[tuple[str, str, str], Fault] = {}

    @property
    def journal(self) -> Journal:
        """Of the world."""
        return self._world.journal

    @property
    def active(self) -> tuple[Fault, ...]:
        """What is broken now."""
        lasts = self._world.physics.motors.lasts
        every = self._active.values()
        return tuple(one for one in every if FAULTS[one.kind].of != "motor" or lasts(one.hand, one.part, one.kind))

    def messages(self, wire: str, *, shared: bool = True) -> dict[str, float]:
        """What the messages of a wire suffer: how much, by kind; ``shared``: also of what all wires suffer."""
        return {
            one.kind: FAULTS[one.kind].amount if one.amount is None else one.amount
            for one in self._active.values()
            if FAULTS[one.kind].of == "messages" and one.part in (("", wire) if shared else (wire,))
        }

    @property
    def dark(self) -> bool:
        """Whether the power is off."""
        return self._world.physics.motors.dark

    @noted
    def inject(self, hand: str, part: str, fault: str, amount: float | None = None) -> None:
        """Break something.

        Args:
            hand: Whose motor or taxel; empty for messages and power.
            part: A motor, a taxel as ``pad row column``, a wire; empty for all wires.
            fault: Its kind: `thenar.signals.fault_kinds.FAULTS` has them all.
            amount: How much of it, in the unit of its kind; None: as much as is usual.
        """
        world = self._world
        specs = [world.hand(name) for name in world.hand_names]
        one = checked(Fault(kind=fault, hand=hand, part=part, amount=amount), specs)
        much = FAULTS[fault].amount if amount is None else amount
        match FAULTS[fault].of:
            case "motor":
                world.physics.motors.inject_fault(one.hand, part, fault, much)
            case "taxel":
                world.finish_readings()
                world.skin(one.hand).break_taxel(*taxel_of(part), fault=fault, amount=much)
            case "power":
                world.physics.motors.brown_out(world.time_s, much)
                return  # it ends by itself
            case "messages":
                pass
        self._active[one.hand, part, fault] = one

    @noted
    def repair(self, hand: str | None = None, part: str | None = None, fault: str | None = None) -> None:
        """Mend what fits: None stands for any hand, part and kind, an empty hand for messages.

        A motor is as free, cool, strong and tight as when it was switched on; `World.clear_errors` clears a stall.
        """
        for key, one in list(self._active.items()):
            if hand in (None, one.hand) and part in (None, one.part) and fault in (None, one.kind):
                del self._active[key]
                if FAULTS[one.kind].of == "motor":
                    self._world.physics.motors.repair(one.hand, one.part, one.kind)
                elif FAULTS[one.kind].of == "taxel":
                    self._world.finish_readings()
                    self._world.skin(one.hand).break_taxel(*taxel_of(one.part), fault="")

    def copy_from(self, other: Faults) -> None:
        """Break what is broken in another world; its motors' own state is copied with everything that moves."""
        self._add(other.active)

    def restore(self, faults: Iterable[Fault]) -> None:
        """Have these broken and nothing else; the motors' own state has been restored with everything that moves."""
        for key, one in list(self._active.items()):
            if _stands_apart(one):
                self.repair(*key)
        self._active.clear()
        self._add(faults)

    def _add(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            if _stands_apart(fault):
                self.inject(fault.hand, fault.part, fault.kind, fault.amount)
            self._active[fault.hand, fault.part, fault.kind] = fault

    def broken_taxels(self, hand: str) -> BoolArray:
        """Which taxels of a hand are broken, pad after pad. Shape (taxels,)."""
        return self._world.skin(hand).broken


def _stands_apart(fault: Fault) -> bool:
    """Whether it is no part of what moves: of a skin, or of the joints that follow a motor's own."""
    return FAULTS[fault.kind].of == "taxel" or fault.kind == "sticky"


def taxel_of(part: str) -> tuple[str, int, int]:
    """Pad, row and column of a taxel such as ``palm 3 7``."""
    found = re.fullmatch(r"(\w+)[ ,]+(\d+)[ ,]+(\d+)", part)
    if found is None:
        raise BadValue("taxel", part, "a pad, a row and a column from 0 on, such as 'palm 3 7'")
    return found[1], int(found[2]), int(found[3])


def checked(fault: Fault, hands: Sequence[HandSpec], wires: Sequence[str] | None = None) -> Fault:
    """A fault that these hands can have, with the name of the only hand where it was left out."""
    of, names = FAULTS[fault.kind].of, {hand.name: hand for hand in hands}
    if of in ("messages", "power"):
        if fault.hand:
            raise BadValue(f"hand of {fault.kind}", fault.hand, "none: hands share their wires and their supply")
        if wires is not None and fault.part and fault.part not in wires:
            raise UnknownName("wire", fault.part, wires)
        if of == "power" and fault.part:
            raise BadValue(f"part of {fault.kind}", fault.part, "none")
        return fault
    if not fault.hand and len(hands) > 1:
        wanted = f"a hand before it, as there are several: {', '.join(f'{each}/{fault.kind}' for each in names)}"
        raise BadValue("fault", fault.kind, wanted)
    name = fault.hand or hands[0].name
    spec = look_up(names, name, "hand of a fault")
    if of == "motor":
        if fault.part not in spec.actuator_names:
            raise UnknownName(f"motor of {name}", fault.part, spec.actuator_names)
        motor = spec.actuators[spec.actuator_names.index(fault.part)].motor
        if fault.kind == "hot" and not isinstance(motor, LeadScrew):
            raise BadValue("fault", fault.kind, f"one that {name} can have: its motors measure no temperature")
        if fault.kind == "sticky" and not spec.followers(fault.part):
            raise BadValue("fault", fault.kind, f"one that {fault.part} of {name} can have: no other joint follows it")
    else:
        pad, row, col = taxel_of(fault.part)
        own = spec.pad(pad)
        if not (row < own.rows and col < own.cols):
            raise BadValue("taxel", fault.part, f"row and column within {own.rows} x {own.cols}")
    return replace(fault, hand=name)
