"""A writer: keeps its last samples, sends them, sends them again to readers that missed them.

Everything here runs under the participant's lock; only `write` and its kin take it themselves.
"""

import itertools
import math
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from thenar.wire.line_faults import LineFaults
from thenar.wire.rtps import messages
from thenar.wire.rtps.discovery import Address, EndpointInfo
from thenar.wire.rtps.messages import UNKNOWN_ENTITY, AckNack, NackFrag
from thenar.wire.rtps.qos import VOLATILE, Qos

if TYPE_CHECKING:
    from thenar.wire.rtps.participant import Participant

HEARTBEAT_S = 0.05
"""How long a reader may be silent before it is asked what it has [s]."""
MAX_HEARTBEAT_S = 1.0
"""Where asking again slows down to [s]."""
LATE_REPLY_S = 5.0
"""How old a reply may be when its reader is found only after it was written [s]."""
MAX_KEPT = 512
"""Samples kept altogether for participants that have not confirmed theirs yet, beyond what each is granted."""
DATAGRAM_BYTES = 8192
"""Samples up to here go in one datagram, longer ones in fragments of this size."""


class Recipient(NamedTuple):
    """For whom a sample is: a participant, and one reader of it where that is known."""

    prefix: bytes
    entity: bytes | None


class Change(NamedTuple):
    """One sample in a writer's history."""

    number: int
    payload: bytes
    inline: bytes
    stamp_s: float
    to: Recipient | None
    key_only: bool


class MatchedReader:
    """A writer's state for one of its readers."""

    def __init__(self, info: EndpointInfo, first: int, *, reliable: bool):
        self.info = info
        self.guid = info.guid
        self.first = first
        """Lowest number that concerns it."""
        self.acked = 0
        """It has, or does without, every number up to here."""
        self.told = 0
        """Highest number sent to it alone."""
        self.reliable = info.qos.reliable and reliable
        """Whether both sides are: then it confirms what it has."""
        self.ready = not self.reliable
        """Whether it has answered, and so has matched us too; a reader that never answers is taken at its word."""
        self.asked_s = -math.inf
        """When it was last asked what it has."""
        self.heartbeat_due_s = math.inf
        self.heartbeat_wait_s = HEARTBEAT_S


class Writer:
    """Writer of one topic. Made by `Participant.advertise`."""

    def __init__(self, participant: "Participant", info: EndpointInfo):
        self.info = info
        self.qos: Qos = info.qos
        self.entity = info.guid[12:]
        self.written = 0
        """Number of the last sample."""
        self.not_written = 0
        """Samples of which some datagram could not be sent."""
        self.dropped = 0
        """Samples that were posted while too many others waited."""
        self.sent_again = 0
        self.readers: dict[bytes, MatchedReader] = {}
        self.mismatches: dict[bytes, str] = {}
        """Why a reader of the same topic is not served, by its GUID."""
        self.line: LineFaults | None = None
        """What posted samples go through; None: a good line."""
        self._participant = participant
        self._lock = participant.lock
        self._history: dict[int, Change] = {}
        self._kept: dict[bytes | None, deque[int]] = {}
        """Numbers kept for all readers (None), or for those of one participant, by its prefix."""
        self._encode: Callable[[EndpointInfo], bytes] | None = None
        self._addresses: tuple[Address, ...] = ()
        self._any_reliable = False
        self.beats = itertools.count(1)
        """Counts its heartbeats: readers take no notice of one whose count is not above the last."""

    def __repr__(self) -> str:
        return f"<Writer of {self.info.topic} for {len(self.readers)} readers>"

    def write(self, body: bytes) -> int:
        """Send one sample to all readers.

        Args:
            body: Plain little-endian CDR, without the encapsulation header.

        Returns:
            The number of the sample.
        """
        return self.add(encapsulate(body))

    def post(self, body: bytes) -> None:
        """Leave one sample to be sent to all readers by the participant's sender; never waits for anything."""
        for passed in (body,) if self.line is None else self.line.pass_on(body):
            self.dropped += not self._participant.post(self.write, passed)

    def wait_for_readers(self, timeout_s: float, count: int = 1) -> bool:
        """Wait until so many readers hear us; False if the time ran out.

        A reader that has not matched us yet on its side may miss what is written before.
        """

        def enough() -> bool:
            return sum(self._hears_us(reader) for reader in self.readers.values()) >= count

        with self._participant.matching:
            return self._participant.matching.wait_for(enough, timeout_s)

    def _hears_us(self, reader: "MatchedReader") -> bool:
        """Whether a reader has answered; one that never does has at least confirmed our announcement."""
        return reader.ready and (reader.reliable or self._participant.is_announced_to(self, reader.guid[:12]))

    def close(self) -> None:
        """Tell everyone that this writer is gone."""
        self._participant.withdraw(self)

    def add(self, payload: bytes, *, inline: bytes = b"", to: Recipient | None = None, key_only: bool = False) -> int:
        """Keep and send a sample with everything that can be said about it."""
        with self._lock:
            self.written += 1
            if to is not None and not self._participant.knows(to.prefix):
                return self.written  # it left while its request was handled
            stamp_s = time.time() + (self.line.clock_s if self.line is not None else 0.0)
            change = Change(self.written, payload, inline, stamp_s, to, key_only)
            self._history[change.number] = change
            # Kept per participant, so that one busy client cannot push out what another still waits for.
            kept = self._kept.setdefault(to.prefix if to else None, deque())
            kept.append(change.number)
            while len(kept) > self.qos.depth and (len(self._history) > MAX_KEPT or not self._awaits(kept[0], to)):
                self._history.pop(kept.popleft(), None)
            if to is None:
                self._send_to_all(change)
            else:
                for reader in self.readers.values():
                    if self._concerns(change, reader):
                        self._send_to_one(change, reader)
            return change.number

    def write_each(self, encode: Callable[[EndpointInfo], bytes]) -> None:
        """Send each reader a body of its own, now and when it is matched; replaces what was said to it before."""
        with self._lock:
            self._encode = encode
            for reader in [*self.readers.values()]:
                self._write_to(reader.info)

    def _write_to(self, info: EndpointInfo) -> None:
        if self._encode is not None:
            self.add(encapsulate(self._encode(info)), to=Recipient(info.guid[:12], None))

    def repeat(self, number: int) -> None:
        """Send a sample once more to those it is for."""
        with self._lock:
            change = self._history.get(number)
            for reader in self.readers.values() if change else ():
                if change and self._concerns(change, reader):
                    self._resend(reader, [number])

    def forget(self, number: int) -> None:
        """Drop a sample from the history: readers that still ask for it are told that it is gone."""
        with self._lock:
            self._history.pop(number, None)

    # What a participant tells its writers.

    def match(self, info: EndpointInfo) -> None:
        """Serve a reader from now on, and with what is kept if both sides want that."""
        reader = self.readers.get(info.guid)
        if reader is not None:
            reader.info = info
            self._update_addresses()
            return
        reader = MatchedReader(info, 1, reliable=self.qos.reliable)
        with_history = self._owes_history(reader)
        if not with_history:
            reader.first = self.written + 1
        recent_s = time.time() - LATE_REPLY_S
        late_replies = [
            change.number
            for change in self._history.values()
            if change.to and change.stamp_s > recent_s and self._is_addressed(change.to, reader)
        ]
        if late_replies:
            reader.first = late_replies[0]
        self.readers[info.guid] = reader
        self._update_addresses()
        self._resend(reader, list(self._history) if with_history else late_replies)
        self._write_to(info)
        if reader.reliable:
            self._heartbeat(reader)
            self._arm(reader)

    def unmatch(self, guid: bytes) -> None:
        """Stop serving a reader."""
        if self.readers.pop(guid, None):
            self._update_addresses()

    def drop_participant(self, prefix: bytes) -> None:
        """Forget what was kept for a participant that is gone."""
        for number in self._kept.pop(prefix, ()):
            self._history.pop(number, None)

    def on_acknack(self, guid: bytes, ack: AckNack) -> bool:
        """Take note of what a reader has and send what it misses; False if it is not a reader of ours."""
        reader = self.readers.get(guid)
        if reader is None:
            return False
        if not reader.ready:
            reader.ready = True
            self._participant.matching.notify_all()
        has = min(ack.base - 1, self.written)
        if has < reader.acked and self._owes_history(reader):
            reader.acked = max(has, 0)  # it has forgotten us meanwhile, and starts anew
            self._participant.on_forgotten(guid[:12])
        if has > reader.acked:
            reader.acked = has
            reader.heartbeat_wait_s = HEARTBEAT_S
            if not self.info.topic:  # an announcement: somebody may wait for it to be known
                self._participant.matching.notify_all()
        if ack.missing:
            self._resend(reader, ack.missing)
        elif not ack.final and ack.base <= self.written and time.monotonic() - reader.asked_s > HEARTBEAT_S / 2:
            # It greets, or does not know yet what there is: tell it, and it will ask. Not at once again, for
            # some readers answer every question with another greeting.
            self._heartbeat(reader)
        first, last = self._range(reader)
        if first > last:
            reader.heartbeat_due_s = math.inf
        else:
            self._arm(reader)
        return True

    def ask(self, guid: bytes) -> None:
        """Have a reader say what it has, if it is one of ours."""
        if guid in self.readers:
            self._heartbeat(self.readers[guid])

    def on_nack_frag(self, guid: bytes, nack: NackFrag) -> bool:
        """Send the fragments a reader misses; False if it is not a reader of ours."""
        reader = self.readers.get(guid)
        if reader is None:
            return False
        change = self._history.get(nack.number)
        if change is None or not self._concerns(change, reader) or len(change.payload) <= DATAGRAM_BYTES:
            self._resend(reader, [nack.number])
            return True
        fragments = -(-len(change.payload) // DATAGRAM_BYTES)
        for fragment in nack.missing:
            if 1 <= fragment <= fragments:
                self.sent_again += 1
                self._send(reader, [self._fragment(change, reader.guid[12:], fragment)])
        return True

    def tick(self, now_s: float) -> bool:
        """Ask readers that owe an answer; return whether any still does."""
        waiting = False
        for reader in self.readers.values():
            if reader.heartbeat_due_s <= now_s:
                reader.heartbeat_wait_s = min(2 * reader.heartbeat_wait_s, MAX_HEARTBEAT_S)
                reader.heartbeat_due_s = now_s + reader.heartbeat_wait_s
                self._heartbeat(reader)
            waiting |= reader.heartbeat_due_s < math.inf
        return waiting

    # How it sends.

    def _concerns(self, change: Change, reader: MatchedReader) -> bool:
        if change.number < reader.first:
            return False
        return change.to is None or self._is_addressed(change.to, reader)

    def _awaits(self, number: int, to: Recipient | None) -> bool:
        """Whether the one a reply is for has still to confirm it: its reader may not even be known yet."""
        if to is None or self.qos.durability > VOLATILE:
            return False
        readers = [reader for reader in self.readers.values() if self._is_addressed(to, reader)]
        return all(reader.reliable and reader.acked < number for reader in readers)

    @staticmethod
    def _is_addressed(to: Recipient, reader: MatchedReader) -> bool:
        return to.prefix == reader.guid[:12] and to.entity in (None, reader.guid[12:])

    def _owes_history(self, reader: MatchedReader) -> bool:
        return reader.info.qos.durability > VOLATILE and self.qos.durability > VOLATILE

    def _range(self, reader: MatchedReader) -> tuple[int, int]:
        """First and last number that a reader still has to confirm; the first is the higher one if there is none."""
        numbers = self._kept.get(reader.guid[:12], deque()) if self._is_private else deque(self._history)
        ahead = itertools.islice(numbers, bisect_right(numbers, reader.acked), None)
        first = next((number for number in ahead if self._is_for(number, reader)), None)
        if first is None:
            last = max(reader.told, reader.acked) if self._is_private else self.written
            return last + 1, last
        return first, next(number for number in reversed(numbers) if self._is_for(number, reader))

    def _is_for(self, number: int, reader: MatchedReader) -> bool:
        """Whether a sample is still there, and concerns a reader."""
        change = self._history.get(number)
        return change is not None and self._concerns(change, reader)

    @property
    def _is_private(self) -> bool:
        """Whether samples go to one reader each: then no reader is told the numbers of others."""
        return None not in self._kept

    def _update_addresses(self) -> None:
        everyone = itertools.chain.from_iterable(reader.info.addresses for reader in self.readers.values())
        self._addresses = tuple(dict.fromkeys(everyone))
        self._any_reliable = any(reader.reliable for reader in self.readers.values())

    def _arm(self, reader: MatchedReader) -> None:
        if reader.reliable and reader.heartbeat_due_s == math.inf:
            reader.heartbeat_due_s = time.monotonic() + reader.heartbeat_wait_s
            self._participant.expect_answers(self)

    def _pieces(self, change: Change, reader: bytes) -> Iterable[bytes]:
        """The submessages that carry a sample: one, or one per fragment."""
        if len(change.payload) <= DATAGRAM_BYTES:
            yield messages.data(
                reader, self.entity, change.number, change.payload, change.inline, key_only=change.key_only
            )
            return
        for fragment in range(1, -(-len(change.payload) // DATAGRAM_BYTES) + 1):
            yield self._fragment(change, reader, fragment)

    def _fragment(self, change: Change, reader: bytes, fragment: int) -> bytes:
        return messages.data_frag(
            reader, self.entity, change.number, fragment, DATAGRAM_BYTES, change.payload, change.inline
        )

    def _send_to_all(self, change: Change) -> None:
        if not self._addresses:
            return
        head = self._participant.header + messages.info_ts(change.stamp_s)
        *pieces, last = self._pieces(change, UNKNOWN_ENTITY)
        if self._any_reliable:
            first = next(iter(self._history))
            last += messages.heartbeat(UNKNOWN_ENTITY, self.entity, first, change.number, next(self.beats), final=True)
            for reader in self.readers.values():
                self._arm(reader)
        all_sent = [self._participant.send(head + piece, self._addresses) for piece in (*pieces, last)]
        self.not_written += not all(all_sent)

    def _send_to_one(self, change: Change, reader: MatchedReader) -> None:
        entity = reader.guid[12:]
        before = self._welcome(reader)
        if reader.told and reader.told + 1 < change.number:
            before.append(messages.gap(entity, self.entity, reader.told + 1, change.number))
        reader.told = change.number
        *pieces, last = self._pieces(change, entity)
        for piece in pieces:
            self._send(reader, [*before, messages.info_ts(change.stamp_s), piece])
            before = self._welcome(reader)
        end = [*before, messages.info_ts(change.stamp_s), last]
        if reader.reliable:
            first, _ = self._range(reader)
            count = next(self.beats)
            end.append(messages.heartbeat(entity, self.entity, first, change.number, count, final=True))
            self._arm(reader)
        self._send(reader, end)

    def _send(self, reader: MatchedReader, submessages: list[bytes]) -> None:
        datagram = b"".join([self._participant.header, messages.info_dst(reader.guid[:12]), *submessages])
        self._participant.send(datagram, reader.info.addresses)

    def _heartbeat(self, reader: MatchedReader) -> None:
        first, last = self._range(reader)
        if self._owes_history(reader):
            # All that there is, confirmed or not: a reader that has forgotten us meanwhile needs it again.
            first = next((n for n, change in self._history.items() if self._concerns(change, reader)), first)
        reader.asked_s = time.monotonic()
        beat = messages.heartbeat(reader.guid[12:], self.entity, first, last, next(self.beats), final=False)
        if self._welcome(reader):
            self._resend(reader, range(first, last + 1), then=beat)
        else:
            self._send(reader, [beat])

    def _welcome(self, reader: MatchedReader) -> list[bytes]:
        """What goes before the first replies to a reader that has not confirmed anything yet.

        Cyclone takes all that the first heartbeat it hears tells of for history, and skips it. So it is told first
        that there is nothing yet, in the same datagram as the replies, for any single one may get lost.
        """
        first, last = self._range(reader)
        if not self._is_private or reader.acked or first > last:
            return []
        return [messages.heartbeat(reader.guid[12:], self.entity, first, first - 1, next(self.beats), final=True)]

    def _resend(self, reader: MatchedReader, numbers: Iterable[int], then: bytes = b"") -> None:
        """Send samples to one reader, and tell it which of them no longer exist or never concerned it."""
        entity = reader.guid[12:]
        gathered = self._welcome(reader)
        size = 0
        gap_end = 0
        for number in numbers:
            change = self._history.get(number)
            if change is not None and self._concerns(change, reader):
                self.sent_again += 1
                reader.told = max(reader.told, number)
                pieces = [messages.info_ts(change.stamp_s) + piece for piece in self._pieces(change, entity)]
            elif number >= gap_end and number <= self.written:
                gap_end = self._next_kept(number, reader)
                pieces = [messages.gap(entity, self.entity, number, gap_end)]
            else:
                continue
            for piece in pieces:
                if size and size + len(piece) > DATAGRAM_BYTES:
                    self._send(reader, gathered)
                    gathered, size = self._welcome(reader), 0
                gathered.append(piece)
                size += len(piece)
        if size:
            self._send(reader, [*gathered, then])

    def _next_kept(self, number: int, reader: MatchedReader) -> int:
        later = (n for n, change in self._history.items() if n > number and self._concerns(change, reader))
        return next(later, self.written + 1)


def encapsulate(body: bytes) -> bytes:
    """Put the header of plain little-endian CDR before a body and pad it to a multiple of 4."""
    padding = -len(body) % 4
    # Cyclone reads the number of padding bytes from the last byte of the header; others do not look.
    return bytes([0, 1, 0, padding]) + body + bytes(padding)
