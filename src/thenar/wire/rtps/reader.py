"""A reader: puts fragments together, puts samples in order, drops what comes twice, asks for what is missing.

Everything here runs under the participant's lock; callbacks run without it, on the participant's thread.
"""

import itertools
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from thenar.errors import count_reason
from thenar.wire.rtps import messages
from thenar.wire.rtps.discovery import EndpointInfo, SampleIdentity, status
from thenar.wire.rtps.messages import (
    FAST_VENDOR,
    RUST_VENDOR,
    SET_BITS,
    Data,
    DataFrag,
    Gap,
    Heartbeat,
    HeartbeatFrag,
    Refused,
)
from thenar.wire.rtps.peer_limits import ITEM_BYTES
from thenar.wire.rtps.qos import VOLATILE, Qos

if TYPE_CHECKING:
    from thenar.wire.rtps.participant import Participant

WINDOW = 512
"""How far ahead of the next number a sample may be; what is further will be sent again."""
MAX_SAMPLE_BYTES = 1 << 22
MAX_FRAGMENTS = 4096
"""Of a sample: no library cuts one of 4 MiB into more."""
MAX_PARTIALS = 8
"""Samples of one writer that may be incomplete at a time."""
MAX_LEFT = 256
"""Writers that left of which a reader still knows how far they were read."""


TOO_MUCH = "more unfinished samples than are kept"


class Sample(NamedTuple):
    """One sample as it came."""

    body: bytes
    """Plain little-endian CDR without the encapsulation header; for discovery, with it."""
    identity: SampleIdentity
    stamp_s: float | None
    """When it was written, in seconds since 1970, by the writer's clock; None when not told."""
    vendor: bytes
    inline: dict[int, bytes]
    key_only: bool


class MatchedWriter:
    """A reader's state for one of its writers."""

    def __init__(self, info: EndpointInfo, reliable: bool):
        self.info = info
        self.guid = info.guid
        self.vendor = info.vendor
        self.reliable = reliable
        """Whether both sides are: then nothing is skipped."""
        self.next = 1
        """Lowest number that has neither come nor been given up."""
        self.pending: dict[int, Sample | None] = {}
        """Came too early; None where there is nothing to deliver."""
        self.partials: dict[int, Partial] = {}
        self.heard = False
        """Whether it has told what it has."""
        self.last = 0
        """Highest number it said to have."""


class Partial:
    """A sample of which some fragments have come."""

    def __init__(self, first: DataFrag):
        self.first = first
        self.fragments = -(-first.sample_bytes // first.fragment_bytes)
        self.parts: dict[int, bytes] = {}

    @property
    def weight(self) -> int:
        """What it may come to [bytes]."""
        return self.first.sample_bytes + self.fragments * ITEM_BYTES

    def add(self, frag: DataFrag) -> bytes | None:
        """Take fragments; return the whole payload once it is complete."""
        if (frag.sample_bytes, frag.fragment_bytes) != (self.first.sample_bytes, self.first.fragment_bytes):
            raise Refused("fragments of one sample disagree about its size")
        size = frag.fragment_bytes
        for at in range(frag.fragments):
            self.parts[frag.first_fragment + at] = frag.payload[at * size : (at + 1) * size]
        if len(self.parts) < self.fragments:
            return None
        return b"".join(self.parts[fragment] for fragment in range(1, self.fragments + 1))

    def missing(self, last: int) -> list[int]:
        """Fragments up to the last one that have not come, as many as one question can name."""
        end = min(last, self.fragments) + 1
        # A sample may claim millions of fragments: look no further than the question reaches.
        first = next((n for n in range(1, end) if n not in self.parts), end)
        return [n for n in range(first, min(first + SET_BITS, end)) if n not in self.parts]


class Reader:
    """Reader of one topic. Made by `Participant.subscribe`."""

    def __init__(
        self,
        participant: "Participant",
        info: EndpointInfo,
        callback: Callable[[Sample], None],
        *,
        on_duplicate: Callable[[SampleIdentity], None] | None = None,
        builtin: bool = False,
    ):
        self.info = info
        self.qos: Qos = info.qos
        self.entity = info.guid[12:]
        self.callback = callback
        self.on_duplicate = on_duplicate
        self.builtin = builtin
        self.writers: dict[bytes, MatchedWriter] = {}
        self.mismatches: dict[bytes, str] = {}
        """Why a writer of the same topic is not heard, by its GUID."""
        self.refusals: Counter[str] = Counter()
        """Samples that were not delivered, by reason."""
        self.received = 0
        self.duplicates = 0
        self.lost = 0
        """Samples that were given up: gone from a reliable writer, or skipped by an unreliable one."""
        self._participant = participant
        self._counts = itertools.count(1)
        self._left: dict[bytes, int] = {}
        """The next number of writers that left: one that was sent away by mistake goes on where it was."""

    def __repr__(self) -> str:
        return f"<Reader of {self.info.topic} from {len(self.writers)} writers>"

    def wait_for_writers(self, timeout_s: float, count: int = 1) -> bool:
        """Wait until so many writers are matched; False if the time ran out."""
        with self._participant.matching:
            return self._participant.matching.wait_for(lambda: len(self.writers) >= count, timeout_s)

    def close(self) -> None:
        """Tell everyone that this reader is gone."""
        self._participant.withdraw(self)

    def refuse(self, reason: str) -> None:
        """Count a sample that is not delivered."""
        count_reason(self.refusals, reason)

    # What a participant tells its readers.

    def match(self, info: EndpointInfo) -> None:
        """Listen to a writer, and greet it so that it tells what it has."""
        known = self.writers.get(info.guid)
        if known is not None:
            known.info = info
            return
        writer = MatchedWriter(info, self.qos.reliable and info.qos.reliable)
        if writer.reliable and not self.builtin:  # whoever knows no endpoints needs all announcements again
            writer.next = self._left.pop(info.guid, 1)
        self.writers[info.guid] = writer
        if writer.reliable:
            self._greet(writer)

    def greet(self, guid: bytes) -> None:
        """Greet a writer that can hear us now."""
        writer = self.writers.get(guid)
        if writer is not None and writer.reliable:
            self._greet(writer)

    def tick(self) -> None:
        """Greet once more the writers that have not told yet what they have."""
        for writer in self.writers.values():
            if writer.reliable and not writer.heard:
                self._greet(writer)

    def unmatch(self, guid: bytes) -> None:
        """Stop listening to a writer."""
        writer = self.writers.pop(guid, None)
        if writer is not None:
            self._left[guid] = writer.next
            if len(self._left) > MAX_LEFT:
                del self._left[next(iter(self._left))]
            for number in [*writer.partials]:
                self._drop_partial(writer, number)
            for number in [*writer.pending]:
                self._pop_pending(writer, number)

    def on_data(self, writer: MatchedWriter, data: Data, stamp_s: float | None) -> None:
        """Take a whole sample."""
        self._take(writer, data.number, data.payload, data, stamp_s)
        # RustDDS sends one lost sample per question and waits a tenth of a second for the next: ask on at once.
        if writer.vendor == RUST_VENDOR and data.reader == self.entity and writer.reliable:
            missing = self._missing(writer, writer.last)
            if missing:
                self._send(writer, self._acknack(writer, missing, final=False))

    def on_data_frag(self, writer: MatchedWriter, frag: DataFrag, stamp_s: float | None) -> None:
        """Take fragments of a sample, and the sample once it is whole."""
        if frag.sample_bytes > MAX_SAMPLE_BYTES:
            raise Refused("sample is larger than 4 MiB")
        if frag.sample_bytes > MAX_FRAGMENTS * frag.fragment_bytes:
            raise Refused(f"sample has more than {MAX_FRAGMENTS} fragments")
        if self._is_known(writer, frag.number):
            self._count_duplicate(writer, frag.number)
            return
        partial = writer.partials.get(frag.number)
        if partial is None:
            partial = Partial(frag)
            if not self._participant.held.take(writer.guid[:12], partial.weight):
                raise Refused(TOO_MUCH)
            writer.partials[frag.number] = partial
            if len(writer.partials) > MAX_PARTIALS:
                # A reliable writer sends again what is dropped here, and the oldest is needed first; from an
                # unreliable one only the newest still has a chance.
                dropped = (max if writer.reliable else min)(writer.partials)
                self._drop_partial(writer, dropped)
                if dropped == frag.number:
                    return
        payload = partial.add(frag)
        if payload is not None:
            self._drop_partial(writer, frag.number)
            self._take(writer, frag.number, payload, partial.first, stamp_s)

    def on_heartbeat(self, writer: MatchedWriter, beat: Heartbeat, _stamp_s: float | None) -> None:
        """Give up what the writer no longer has and ask for what it still has."""
        if not writer.reliable:
            return
        # What we were told before was not this writer's; one that has come back may have begun anew under its old name.
        if beat.last + 1 < writer.next - (WINDOW if writer.heard else 0):
            writer.next = beat.first
        writer.heard = True
        if beat.first > writer.next:
            self._give_up_below(writer, beat.first)
        writer.last = max(writer.last, beat.last)
        missing = self._missing(writer, beat.last)
        # Of a sample that has come in part, only the missing fragments are asked for.
        answer = b""
        for number in [number for number in missing if number in writer.partials]:
            fragments = writer.partials[number].missing(writer.partials[number].fragments)
            answer += messages.nack_frag(self.entity, writer.guid[12:], number, fragments, next(self._counts))
            missing.remove(number)
        if missing or (not beat.final and not answer):
            answer = self._acknack(writer, missing, final=not missing) + answer
        if answer:
            self._send(writer, answer)

    def on_heartbeat_frag(self, writer: MatchedWriter, beat: HeartbeatFrag, _stamp_s: float | None) -> None:
        """Ask for fragments that are missing."""
        partial = writer.partials.get(beat.number)
        missing = partial.missing(beat.last_fragment) if partial else []
        if missing and writer.reliable:
            entity = writer.guid[12:]
            self._send(writer, messages.nack_frag(self.entity, entity, beat.number, missing, next(self._counts)))

    def on_gap(self, writer: MatchedWriter, gap: Gap, _stamp_s: float | None) -> None:
        """Stop waiting for numbers that will never come."""
        if not writer.reliable:
            return
        if gap.start <= writer.next:
            if gap.base > writer.next:
                self._give_up_below(writer, gap.base, lost=False)
        else:
            # No further than one question reaches: what lies beyond is told again when it is asked for.
            for number in range(gap.start, min(gap.base, writer.next + SET_BITS)):
                writer.pending.setdefault(number, None)
        for number in gap.listed:
            if writer.next <= number < writer.next + SET_BITS:
                writer.pending.setdefault(number, None)
        self._advance(writer)

    # How it keeps order.

    @staticmethod
    def _missing(writer: MatchedWriter, last: int) -> list[int]:
        """Numbers up to the last one that have not come, as many as one question can name."""
        end = min(last, writer.next + SET_BITS - 1) + 1
        return [number for number in range(writer.next, end) if number not in writer.pending]

    def _is_known(self, writer: MatchedWriter, number: int) -> bool:
        if not writer.reliable and number < writer.next - WINDOW:
            return False  # so far back that whoever was ahead was not this writer
        return number < writer.next or number in writer.pending

    def _drop_partial(self, writer: MatchedWriter, number: int) -> None:
        partial = writer.partials.pop(number, None)
        if partial is not None:
            self._participant.held.give_back(writer.guid[:12], partial.weight)

    def _pop_pending(self, writer: MatchedWriter, number: int) -> Sample | None:
        sample = writer.pending.pop(number)
        if sample is not None:
            self._participant.held.give_back(writer.guid[:12], len(sample.body) + ITEM_BYTES)
        return sample

    def _count_duplicate(self, writer: MatchedWriter, number: int) -> None:
        self.duplicates += 1
        if self.on_duplicate is not None:
            self._participant.deliver(self.on_duplicate, SampleIdentity(writer.guid, number), reliable=False)

    def _take(
        self, writer: MatchedWriter, number: int, payload: bytes | None, data: Data | DataFrag, stamp_s: float | None
    ) -> None:
        if self._is_known(writer, number):
            self._count_duplicate(writer, number)
            return
        if writer.reliable and not self.builtin and self._participant.is_busy:
            raise Refused("more samples than there is time for")  # it will be sent again
        sample = None
        # A writer that takes leave sends a number without content.
        if payload is not None and (self.builtin or not (data.key_only or status(data.inline))):
            identity = SampleIdentity(writer.guid, number)
            sample = Sample(payload, identity, stamp_s, writer.vendor, data.inline, data.key_only)
        elif self.builtin:
            sample = Sample(b"", SampleIdentity(writer.guid, number), stamp_s, writer.vendor, data.inline, True)
        if not writer.reliable:
            if writer.next > 1:
                self.lost += max(0, number - writer.next)
            writer.next = number + 1
            for old in [old for old in writer.partials if old < number]:
                self._drop_partial(writer, old)
            self._deliver(sample, writer)
        elif number == writer.next and not writer.pending:
            writer.next += 1
            self._deliver(sample, writer)
        elif number - writer.next < WINDOW:
            if sample is not None and not self._participant.held.take(writer.guid[:12], len(sample.body) + ITEM_BYTES):
                raise Refused(TOO_MUCH)
            writer.pending[number] = sample
            self._advance(writer)
        elif writer.heard or self.qos.durability > VOLATILE:
            raise Refused("sample is too far ahead of its order")
        else:  # of a writer that was known before, or writes for long: it begins here, and has not told otherwise
            self._give_up_below(writer, number, lost=False)
            writer.next += 1
            self._deliver(sample, writer)

    def _advance(self, writer: MatchedWriter) -> None:
        while writer.next in writer.pending:
            sample = self._pop_pending(writer, writer.next)
            self._drop_partial(writer, writer.next)
            writer.next += 1
            self._deliver(sample, writer)

    def _give_up_below(self, writer: MatchedWriter, number: int, *, lost: bool = True) -> None:
        early = sorted(n for n in writer.pending if n < number)
        if lost and (writer.next > 1 or early):
            self.lost += number - writer.next - len(early)
        for n in early:
            self._deliver(self._pop_pending(writer, n), writer)
        for n in [n for n in writer.partials if n < number]:
            self._drop_partial(writer, n)
        writer.next = number
        self._advance(writer)

    def _deliver(self, sample: Sample | None, writer: MatchedWriter) -> None:
        if sample is None:
            return
        if self.builtin:
            self.callback(sample)
            return
        try:
            sample = sample._replace(body=unwrap(sample.body))
        except Refused as why:
            # The number has been used up all the same: asking again would bring the same bytes.
            self.refuse(str(why))
            return
        self.received += 1
        self._participant.deliver(self.callback, sample, reliable=writer.reliable)

    def _greet(self, writer: MatchedWriter) -> None:
        # Fast DDS knows a greeting by its base of 0, which Cyclone would refuse.
        base = 0 if writer.vendor == FAST_VENDOR else 1
        self._send(
            writer,
            messages.acknack(self.entity, writer.guid[12:], base, [], next(self._counts), final=False),
        )

    def _acknack(self, writer: MatchedWriter, missing: list[int], *, final: bool) -> bytes:
        entity = writer.guid[12:]
        return messages.acknack(self.entity, entity, writer.next, missing, next(self._counts), final=final)

    def _send(self, writer: MatchedWriter, submessage: bytes) -> None:
        prefix = writer.guid[:12]
        if self._participant.hears_us(prefix):  # before that, it may be somebody else who would get it
            datagram = self._participant.header + messages.info_dst(prefix) + submessage
            self._participant.send(datagram, writer.info.addresses)


def unwrap(payload: bytes) -> bytes:
    """Take the body out of its encapsulation.

    Raises:
        Refused: It is anything but plain little-endian CDR.
    """
    if len(payload) < 4:
        raise Refused("sample has no encapsulation")
    if payload[:2] != b"\x00\x01":
        raise Refused("sample is not plain little-endian CDR")
    padding = payload[3] & 3
    if padding > len(payload) - 4:
        raise Refused("sample has more padding than bytes")
    return payload[4 : len(payload) - padding] if padding else payload[4:]
