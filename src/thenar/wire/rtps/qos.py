"""Quality of service: what an endpoint offers or asks for, and why two of them do not match, in words."""

import math
from dataclasses import dataclass

from thenar.errors import BadValue

DURABILITY_NAMES = ("VOLATILE", "TRANSIENT_LOCAL", "TRANSIENT", "PERSISTENT")
LIVELINESS_NAMES = ("AUTOMATIC", "MANUAL_BY_PARTICIPANT", "MANUAL_BY_TOPIC")
VOLATILE, TRANSIENT_LOCAL = 0, 1
XCDR1 = 0


@dataclass(frozen=True, kw_only=True)
class Qos:
    """What an endpoint offers (a writer) or asks for (a reader).

    The first three are ours to choose; the others are read from peers and stay at their defaults here.
    """

    reliable: bool = True
    """Whether lost samples are sent again."""
    durability: int = VOLATILE
    """0: late readers get what comes from now on; 1: also what the writer still keeps."""
    depth: int = 10
    """Samples a writer keeps for sending again."""

    exclusive: bool = False
    """Whether only the strongest writer counts."""
    partitions: tuple[str, ...] = ()
    """Names of partitions, possibly with wildcards; none is the default partition."""
    representations: tuple[int, ...] = (XCDR1,)
    """Encodings offered (first one) or accepted."""
    deadline_s: float = math.inf
    """Longest time between samples [s]."""
    liveliness: int = 0
    """How a writer shows that it lives."""
    liveliness_lease_s: float = math.inf
    """Longest time between signs of life [s]."""

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise BadValue("depth", self.depth, "1 or more samples")


SENSOR_DATA = Qos(reliable=False, depth=5)
"""The `sensor_data` profile of ROS 2."""
LATCHED = Qos(durability=TRANSIENT_LOCAL, depth=1)
"""The last sample reaches readers that come late."""


def _share_a_partition(ours: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    ours, theirs = ours or ("",), theirs or ("",)
    return any(matches(a, b) or matches(b, a) for a in ours for b in theirs)


def matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern of letters, ``*`` (any run) and ``?`` (any one): Cyclone's wildcards.

    The pieces between the stars are found one after the other: a peer's pattern must not be able to cost more than
    its length times that of the name, which is empty for all endpoints of ours.
    """
    first, *pieces = pattern.split("*")
    if not _fits(first, name[: len(first)]):
        return False
    if not pieces:
        return len(name) == len(first)
    at, last = len(first), pieces.pop()
    for piece in pieces:
        fitting = (n for n in range(at, len(name) - len(piece) + 1) if _fits(piece, name[n : n + len(piece)]))
        found = next(fitting, None)
        if found is None:
            return False
        at = found + len(piece)
    return at + len(last) <= len(name) and _fits(last, name[len(name) - len(last) :])


def _fits(piece: str, text: str) -> bool:
    return len(piece) == len(text) and all(a in ("?", b) for a, b in zip(piece, text, strict=True))


def mismatch(offered: Qos, asked: Qos) -> str | None:
    """Say why a reader that asks cannot be served by a writer that offers, or None if it can."""
    if asked.reliable and not offered.reliable:
        return "the reader asks for RELIABLE, the writer offers BEST_EFFORT"
    if asked.durability > offered.durability:
        wanted, got = DURABILITY_NAMES[asked.durability], DURABILITY_NAMES[offered.durability]
        return f"the reader asks for {wanted}, the writer offers {got}"
    if asked.exclusive != offered.exclusive:
        return "one side has EXCLUSIVE ownership, the other SHARED"
    if asked.deadline_s < offered.deadline_s:
        return f"the reader asks for a deadline of {asked.deadline_s:g} s, the writer offers {offered.deadline_s:g} s"
    if asked.liveliness > offered.liveliness or asked.liveliness_lease_s < offered.liveliness_lease_s:
        wanted, got = LIVELINESS_NAMES[asked.liveliness], LIVELINESS_NAMES[offered.liveliness]
        return (
            f"the reader asks for {wanted} liveliness within {asked.liveliness_lease_s:g} s, "
            f"the writer offers {got} within {offered.liveliness_lease_s:g} s"
        )
    if offered.representations[0] not in asked.representations:
        return f"the writer encodes as {offered.representations[0]}, the reader accepts {asked.representations}"
    if not _share_a_partition(offered.partitions, asked.partitions):
        return f"the writer is in partitions {offered.partitions[:4]}, the reader in {asked.partitions[:4]}"
    return None
