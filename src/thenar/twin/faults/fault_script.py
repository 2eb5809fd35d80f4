"""Faults by the twin's clock, from words on the command line or from a file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thenar.errors import BadFile, ThenarError
from thenar.hands.spec import HandSpec
from thenar.signals.fault_kinds import Fault, parse_fault
from thenar.twin.faults.world_faults import checked

if TYPE_CHECKING:
    from thenar.twin.world import World


class FaultScript:
    """Schedule of faults that begin and end in time; a world is given to it before every step."""

    def __init__(self, faults: Sequence[str], hands: Sequence[HandSpec], wires: Sequence[str] | None = None):
        """Read and check it: what is wrong is said before anything runs.

        Args:
            faults: Each in words, see `parse_fault`, or a file (.toml) with tables ``[[fault]]`` of the same fields:
                ``kind``, and ``hand``, ``part``, ``amount``, ``at_s``, ``until_s`` where they are wanted.
            hands: Whose they can be.
            wires: Whose messages they can be of; None: not known yet.
        """
        found = [
            one for words in faults for one in (_read(Path(words)) if words.endswith(".toml") else [parse_fault(words)])
        ]
        self._faults = [checked(one, hands, wires) for one in found]
        self._upto_s = math.inf

    def __call__(self, world: World) -> None:
        """Let happen what is due; where time has gone back, everything comes again."""
        now_s, since_s = world.time_s + 1e-9, self._upto_s
        if now_s < since_s:
            since_s = -math.inf
        self._upto_s = now_s
        for one in self._faults:
            if since_s < one.at_s <= now_s:
                world.faults.inject(one.hand, one.part, one.kind, one.amount)
            if since_s < one.until_s <= now_s:
                world.faults.repair(one.hand, one.part, one.kind)


def _read(path: Path) -> list[Fault]:
    try:
        return [Fault(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8-sig"))["fault"]]
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error
    except ThenarError as error:
        raise BadFile(path, str(error)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadFile(path, f"no tables [[fault]] with kind, hand, part, amount, at_s and until_s: {error}") from error
