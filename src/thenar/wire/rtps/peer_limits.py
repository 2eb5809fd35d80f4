"""Limits that other participants share fairly, and a store for submessages that came too early."""

from collections import Counter
from typing import NamedTuple

from thenar.wire.rtps.messages import Submessage

EARLY_S = 2.0
"""How long a sample waits for its writer to be announced [s]: an older command would come as a surprise."""
ITEM_BYTES = 256
"""What a submessage weighs besides its payload [bytes]."""


class Share:
    """A limit that everybody shares: nobody may hold more than what is then left for the others."""

    def __init__(self, limit: int):
        self.limit = limit
        self.used = 0
        self._held: Counter[bytes] = Counter()

    def take(self, who: bytes, amount: int) -> bool:
        """Take a part of it; False where that is too much."""
        if self._held[who] + amount > self.limit - self.used - amount:
            return False
        self._held[who] += amount
        self.used += amount
        return True

    def give_back(self, who: bytes, amount: int) -> None:
        """Give back what was taken."""
        self.used -= amount
        self._held[who] -= amount
        if not self._held[who]:
            del self._held[who]


MAX_HELD_BYTES = 1 << 24
"""Samples of all participants that are kept until they can be delivered [bytes]."""
MAX_STRANGERS_BYTES = 1 << 20
"""What is kept of participants that have not announced themselves yet [bytes]."""


class Early(NamedTuple):
    """A submessage that came before its sender was known."""

    came_s: float
    sub: Submessage
    stamp_s: float | None


class EarlyBox:
    """Submessages that overtook the announcement of their sender: ROS 2's tools join, publish and leave within moments.

    Senders are named by their prefix (participants) or GUID (writers).
    """

    def __init__(self, share: Share):
        self._share = share
        self._waiting: dict[bytes, list[Early]] = {}

    def hold(self, sender: bytes, early: Early) -> bool:
        """Keep a submessage for a moment; False where its participant has too many of them."""
        if not self._share.take(sender[:12], _weight(early)):
            return False
        self._waiting.setdefault(sender, []).append(early)
        return True

    def take(self, sender: bytes) -> list[Early]:
        """What a sender sent, in the order in which it came."""
        found = self._waiting.pop(sender, [])
        self._share.give_back(sender[:12], sum(map(_weight, found)))
        return found

    def expire(self, now_s: float) -> int:
        """Let go what came from senders that are not announced in time; how much that was."""
        late = [sender for sender, waiting in self._waiting.items() if now_s - waiting[0].came_s > EARLY_S]
        return sum(len(self.take(sender)) for sender in late)

    def forget(self, prefix: bytes) -> None:
        """Let go what came from a participant that is gone."""
        for sender in [sender for sender in self._waiting if sender[:12] == prefix]:
            self.take(sender)


def _weight(early: Early) -> int:
    return len(getattr(early.sub, "payload", None) or b"") + ITEM_BYTES
