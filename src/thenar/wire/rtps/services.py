"""Services: a reader of requests and a writer of replies, in every flavour ROS 2 programs use.

Requests and replies are ordinary samples; vendors differ in how a reply says which request it answers:

- Fast DDS: the body is plain, the identity travels in an inline parameter (two ids, old and new).
- Cyclone: the body starts with 16 bytes (client, number) that the reply repeats.
- RustDDS and plain clients: the body is plain, the reply names the request's writer and number inline.

A request read in the wrong flavour still looks like numbers, so every body is checked before anyone acts on it.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thenar.errors import count_reason
from thenar.wire.rtps.discovery import SampleIdentity, read_related_guid, related_identity
from thenar.wire.rtps.messages import CYCLONE_VENDOR
from thenar.wire.rtps.qos import Qos
from thenar.wire.rtps.reader import Sample
from thenar.wire.rtps.writer import Recipient, encapsulate

if TYPE_CHECKING:
    from thenar.wire.rtps.participant import Participant

CYCLONE_HEADER_BYTES = 16
REPLIES_KEPT = 32
"""Replies kept for each client, for when it asks again."""
REQUESTS_REMEMBERED = 1024


@dataclass(frozen=True, kw_only=True)
class ServiceNames:
    """DDS names of a service."""

    request_topic: str
    request_type: str
    reply_topic: str
    reply_type: str


class Service:
    """Answers each request exactly once, to the one who asked, also where it cannot be one: `Participant.serve`."""

    def __init__(
        self,
        participant: "Participant",
        names: ServiceNames,
        handler: Callable[[bytes], bytes],
        *,
        refusal: bytes,
        body_bytes: int | None,
        check: Callable[[bytes], str | None] | None,
        user_data: tuple[bytes, bytes],
    ):
        self.names = names
        self.answered = 0
        self.refusals: Counter[str] = Counter()
        """Requests that could not be one, by reason."""
        self._participant = participant
        self._handler = handler
        self._refusal = refusal
        self._body_bytes = body_bytes
        self._check = check
        self._replies: OrderedDict[SampleIdentity, int | None] = OrderedDict()
        """The number of the reply to each request, None where nobody could be answered."""
        # The writer first: whoever finds the reader finds the writer too.
        self._writer = participant.advertise(
            names.reply_topic, names.reply_type, qos=Qos(depth=REPLIES_KEPT), user_data=user_data[1]
        )
        self._reader = participant.subscribe(
            names.request_topic,
            names.request_type,
            self._on_request,
            user_data=user_data[0],
            on_duplicate=self._on_duplicate,
        )

    def __repr__(self) -> str:
        return f"<Service {self.names.request_topic}: {self.answered} answered, {self.refused} refused>"

    @property
    def refused(self) -> int:
        """Requests that could not be one."""
        return self.refusals.total()

    @property
    def clients(self) -> tuple[bytes, ...]:
        """GUIDs of the request writers that are connected."""
        return tuple(self._reader.writers)

    @property
    def guids(self) -> tuple[bytes, bytes]:
        """GUIDs of the request reader and of the reply writer."""
        return self._reader.info.guid, self._writer.info.guid

    def close(self) -> None:
        """Stop answering."""
        self._participant.withdraw(self)
        self._reader.close()
        self._writer.close()

    def _on_duplicate(self, request: SampleIdentity) -> None:
        number = self._replies.get(request)
        if number is not None:
            self._writer.repeat(number)

    def _on_request(self, request: Sample) -> None:
        if request.identity in self._replies:
            self._on_duplicate(request.identity)
            return
        self._replies[request.identity] = None
        if len(self._replies) > REQUESTS_REMEMBERED:
            self._replies.popitem(last=False)
        head, body = split_request(request)
        if head is not None and len(head) < CYCLONE_HEADER_BYTES:
            self._refuse("Cyclone request is shorter than its header")
            return  # nobody could be answered
        reply = self._refusal  # also where the handler fails: whoever asked waits for an answer
        try:
            why_not = self._why_not(body)
            if why_not:
                self._refuse(f"{'plain' if head is None else 'Cyclone'} request {why_not}")
            else:
                reply = self._handler(body if self._body_bytes is None else body[: self._body_bytes])
                self.answered += 1
        finally:
            self._replies[request.identity] = self._send(request, head, reply)

    def _refuse(self, why: str) -> None:
        count_reason(self.refusals, f"{self.names.request_topic}: {why}")

    def _send(self, request: Sample, head: bytes | None, reply: bytes) -> int:
        """Send a reply to the one who asked; return its number."""
        prefix = request.identity.guid[:12]
        if head is not None:
            return self._writer.add(encapsulate(head + reply), to=Recipient(prefix, None))
        # Fast DDS names the reader that waits; others go by the writer that asked.
        asker = read_related_guid(request.inline)
        entity = asker[12:] if asker and asker[:12] == prefix and asker[15] & 0x0F in (0x04, 0x07) else None
        inline = related_identity(SampleIdentity(asker or request.identity.guid, request.identity.number))
        return self._writer.add(encapsulate(reply), inline=inline, to=Recipient(prefix, entity))

    def _why_not(self, body: bytes) -> str | None:
        wanted = self._body_bytes
        # Some writers pad to a multiple of 4 without saying so.
        if wanted is not None and not wanted <= len(body) <= wanted + -wanted % 4:
            return f"has a body of {len(body)} bytes, wanted {wanted}"
        return self._check(body) if self._check else None


def split_request(request: Sample) -> tuple[bytes | None, bytes]:
    """Tell the flavour of a request.

    Returns:
        The header to repeat in the reply (None for plain requests, cut short if the request is), and the body.
    """
    if request.vendor != CYCLONE_VENDOR or read_related_guid(request.inline) is not None:
        return None, request.body
    return request.body[:CYCLONE_HEADER_BYTES], request.body[CYCLONE_HEADER_BYTES:]
