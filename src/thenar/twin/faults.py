"""Faults of a world: broken motors and dead taxels, at once or by a script."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from thenar.arrays import BoolArray
from thenar.errors import BadFile, BadValue, ThenarError
from thenar.hands.spec import HandSpec
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
        """Break a motor.

        ``jam`` blocks its screw, ``hot`` heats it until it switches off, ``weak`` leaves it less than a third of its
        strength, ``backlash`` loses 3 % of the stroke where it turns back; ``motor`` and ``communication`` raise that
        error. `repair` undoes the former, `World.clear_errors` the errors.
        """
        self._world.physics.motors.inject_fault(hand, actuator, fault)

    @noted
    def repair(self, hand: str, actuator: str) -> None:
        """Free a jammed motor, and let it be as cool, as strong and as tight as when it was switched on."""
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


MOTOR_KINDS = (*get_args(Fault), "repair")
TAXEL_KINDS = ("dead", "mended")


class FaultScript:
    """Faults by the twin's clock, from a file; a world is given to it before every step.

    Each ``[[fault]]`` has ``at_s``, ``hand`` (of one hand it may be left out), and ``motor`` with a ``kind`` of
    `Faults.inject` or ``repair``, or ``taxel = [pad, row, column]`` with ``dead`` or ``mended``.
    """

    def __init__(self, path: Path, hands: Sequence[HandSpec]):
        """Read and check it: what is wrong is said before anything runs."""
        try:
            entries = tomllib.loads(path.read_text(encoding="utf-8-sig"))["fault"]
            self._due = sorted((self._checked(entry, hands) for entry in entries), key=lambda fault: fault["at_s"])
        except OSError as error:
            raise BadFile(path, f"cannot be read: {error.strerror}") from error
        except ThenarError as error:
            raise BadFile(path, str(error)) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadFile(path, f"no tables [[fault]] with at_s, hand, motor or taxel, and kind: {error}") from error

    def __call__(self, world: World) -> None:
        """Let happen what is due."""
        while self._due and self._due[0]["at_s"] <= world.time_s + 1e-9:
            fault = self._due.pop(0)
            if "taxel" in fault:
                world.faults.kill_taxel(fault["hand"], *fault["taxel"], dead=fault["kind"] == "dead")
            elif fault["kind"] == "repair":
                world.faults.repair(fault["hand"], fault["motor"])
            else:
                world.faults.inject(fault["hand"], fault["motor"], fault["kind"])

    @staticmethod
    def _checked(entry: dict[str, Any], hands: Sequence[HandSpec]) -> dict[str, Any]:
        names = {hand.name: hand for hand in hands}
        name = entry.get("hand", hands[0].name if len(hands) == 1 else "")
        if name not in names:
            raise BadValue("hand of a fault", name, f"one of {', '.join(names)}")
        at_s, kind = float(entry["at_s"]), entry["kind"]
        kinds = TAXEL_KINDS if "taxel" in entry else MOTOR_KINDS
        if kind not in kinds:
            raise BadValue("kind of a fault", kind, f"one of {', '.join(kinds)}")
        if "taxel" in entry:
            pad, row, col = entry["taxel"]
            spec = names[name].pad(pad)
            if not (0 <= row < spec.rows and 0 <= col < spec.cols):
                raise BadValue("taxel", entry["taxel"], f"row and column within {spec.rows} x {spec.cols}")
        elif entry["motor"] not in names[name].actuator_names:
            raise BadValue("motor of a fault", entry["motor"], f"one of {', '.join(names[name].actuator_names)}")
        return {**entry, "hand": name, "at_s": at_s}
