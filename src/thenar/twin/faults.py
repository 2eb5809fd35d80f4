"""Faults of a world: broken motors and dead taxels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thenar.arrays import BoolArray
from thenar.errors import BadValue
from thenar.sim.journal import Journal, noted
from thenar.sim.motor_bank import Fault

if TYPE_CHECKING:
    from thenar.twin.world import World


class Faults:
    """Breaks parts of the hands of a world, and mends them."""

    journal_prefix = "faults."

    def __init__(self, world: World):
        """Nothing is broken yet."""
        self._world = world

    @property
    def journal(self) -> Journal:
        """Of the world."""
        return self._world.journal

    @noted
    def inject(self, hand: str, actuator: str, fault: Fault) -> None:
        """Break a motor: ``jam`` blocks its screw, ``hot`` heats it until it switches off, the others raise that error.

        The others are ``motor`` and ``communication``. `repair` undoes a jam and cools the motor; the errors go with
        `World.clear_errors`.
        """
        self._world.physics.motors.inject_fault(hand, actuator, fault)

    @noted
    def repair(self, hand: str, actuator: str) -> None:
        """Free a jammed motor, and let it be as cool as when it was switched on."""
        self._world.physics.motors.repair(hand, actuator)

    @noted
    def kill_taxel(self, hand: str, pad: str, row: int, col: int, *, dead: bool = True) -> None:
        """Break one taxel of a hand, so that it reads its offset whatever presses, or mend it."""
        spec = self._world.hand(hand).pad(pad)
        if not (0 <= row < spec.rows and 0 <= col < spec.cols):
            raise BadValue("taxel", (row, col), f"row and column within {spec.rows} x {spec.cols}")
        self._world.skin(hand).kill(pad, row, col, dead=dead)

    def dead_taxels(self, hand: str) -> BoolArray:
        """Which taxels of a hand are broken, pad after pad. Shape (taxels,)."""
        return self._world.skin(hand).dead
