"""Which hand is on which side of a robot."""

from __future__ import annotations

from collections.abc import Sequence

from thenar.errors import BadValue
from thenar.hands.spec import HandSpec


def one_of_each_side(hands: Sequence[HandSpec]) -> dict[str, HandSpec]:
    """Hands by side; two of one side cannot share the topics of a robot."""
    by_side = {spec.side: spec for spec in hands}
    if len(by_side) < len(hands):
        raise BadValue("hands", [spec.name for spec in hands], "at most one left and one right hand")
    return {**by_side}
