"""The file of a recording: MCAP in ROS 2's profile, written by a thread of its own, read also where its writer died."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from thenar import __version__
from thenar.errors import BadFile, BadValue, MissingExtra
from thenar.recordings.chunks import Bundle, ChunkedFile, Draft, Entry, Sheet
from thenar.recordings.file_records import DamagedFile, read_records
from thenar.recordings.ros_schema import Schema

CHUNK_BYTES = 1 << 20  # a chunk is ended by time: more of it waits only behind a slow disk
FLUSH_S = 0.35  # a writer that is killed loses what is younger than this; more at once costs less
MAX_WAITING_BYTES = 64 << 20  # what a slow disk may keep waiting before messages are lost


def need_mcap() -> None:
    """Say what to install where the package is missing."""
    try:
        import mcap.records  # noqa: F401
    except ImportError as error:
        raise MissingExtra("a recording", "mcap", "record") from error


class Message(NamedTuple):
    """One message of a recording."""

    log_ns: int
    """When it was written down, UNIX time."""
    publish_ns: int
    """When the world was read: start of the recording's clock + time of the twin."""
    sequence: int
    payload: bytes


@dataclass(kw_only=True)
class WriterHealth:
    """How a recording is getting on."""

    path: str
    messages: int = 0
    payload_bytes: int = 0
    lost: int = 0
    """Messages that were not written."""
    failed: str = ""
    """Why nothing more is written; empty while it works."""


class _Words(NamedTuple):
    name: str
    words: dict[str, str]


def _messages(entry: Entry | Bundle) -> int:
    """How many messages are left at once."""
    return len(entry.sheet.kinds) if isinstance(entry, Bundle) else 1


class RecordingWriter:
    """Writes messages to a file from a thread of its own. Nothing that goes wrong there reaches who records."""

    def __init__(self, path: Path | str, *, metadata: Mapping[str, Mapping[str, str]] | None = None):
        """Begin a file; one that cannot be written is refused here.

        Args:
            path: Of the new file, ending in .mcap.
            metadata: Records of words by name, which stand at the beginning so that a killed writer leaves them.
        """
        need_mcap()
        self.path = Path(path)
        if self.path.suffix != ".mcap":
            raise BadValue("recording", str(path), "a file name that ends in .mcap")
        self.health = WriterHealth(path=str(path))
        self._waiting: deque[Entry | Bundle | _Words] = deque()
        self._waiting_bytes = 0
        self._lock, self._wake = threading.Lock(), threading.Event()
        self._closing = False
        try:
            self._file: IO[bytes] = self.path.open("wb")
        except OSError as error:
            raise BadFile(path, f"cannot be written: {error.strerror}") from error
        self._chunks = ChunkedFile(self._file)
        self._attempt(self._chunks.begin, f"thenar {__version__}", metadata or {})
        self._thread = threading.Thread(target=self._run, name="record", daemon=True)
        self._thread.start()

    def put(self, *entries: Entry | Bundle) -> None:
        """Leave messages to be written. Never waits: what a disk cannot take is counted as lost."""
        health = self.health
        if health.failed or self._closing or self._waiting_bytes > MAX_WAITING_BYTES:
            health.lost += sum(_messages(entry) for entry in entries)
            return
        with self._lock:
            for entry in entries:
                self._waiting_bytes += entry.size
            self._waiting.extend(entries)

    def wait_for_room(self) -> None:
        """Wait until half of what may wait has been written, for who has the time."""
        while self._waiting_bytes > MAX_WAITING_BYTES // 2 and not self.health.failed:
            time.sleep(0.01)

    def put_metadata(self, name: str, words: Mapping[str, str]) -> None:
        """Leave a record of words to be written."""
        with self._lock:
            self._waiting.append(_Words(name, dict(words)))

    def close(self) -> WriterHealth:
        """Write what waits and end the file."""
        self._closing = True
        self._wake.set()
        self._thread.join()
        return self.health

    def _run(self) -> None:
        while True:
            self._wake.wait(FLUSH_S)
            ending = self._closing
            with self._lock:
                batch, self._waiting, self._waiting_bytes = self._waiting, deque(), 0
            while batch:
                self._write(batch)
            if ending:
                self._attempt(self._chunks.finish)
                self._attempt(self._file.close)
                return

    def _write(self, batch: deque[Entry | Bundle | _Words]) -> None:
        """Write a chunk of what waits, or a record of words."""
        topics: dict[str, tuple[Schema, list[Draft]]] = {}
        bundles: dict[Sheet, list[Bundle]] = {}
        taken: set[str] = set()
        size = count = 0
        while batch and size < CHUNK_BYTES and not isinstance(entry := batch[0], _Words):
            bundled = isinstance(entry, Bundle)
            if entry.sheet not in bundles if bundled else entry.topic not in topics:
                names = entry.sheet.topics if bundled else {entry.topic}
                if taken & names:  # made in another way from now on: in a chunk of their own
                    break
                taken |= names
            batch.popleft()
            if bundled:
                bundles.setdefault(entry.sheet, []).append(entry)
            else:
                topics.setdefault(entry.topic, (entry.schema, []))[1].append(entry.draft)
            size, count = size + entry.size, count + _messages(entry)
        if not count:
            words = batch.popleft()
            assert isinstance(words, _Words)
            self._attempt(self._chunks.add_metadata, *words)
        elif self._attempt(self._chunks.add_chunk, topics, bundles):
            self.health.messages += count
            self.health.payload_bytes += size
        else:
            self.health.lost += count

    def _attempt(self, call: Any, *arguments: Any) -> bool:
        """Do it unless the file has failed already; True when it was done."""
        if self.health.failed:
            return False
        try:
            call(*arguments)
        except (OSError, ValueError) as error:
            self.health.failed = f"cannot be written: {getattr(error, 'strerror', None) or error}"
            return False
        return True


@dataclass(frozen=True, kw_only=True)
class Channel:
    """Messages of one topic."""

    topic: str
    schema: Schema
    encoding: str
    messages: list[Message] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Contents:
    """All of a file."""

    channels: dict[str, Channel]
    metadata: dict[str, dict[str, str]]
    damage: str
    """In what the file is not whole, in words; empty for one that is."""


def read_contents(path: Path | str) -> Contents:
    """Read a recording, as far as it goes."""
    need_mcap()
    from mcap import records

    channels: dict[str, Channel] = {}
    metadata: dict[str, dict[str, str]] = defaultdict(dict)
    schemas: dict[int, Schema] = {}
    by_id: dict[int, Channel] = {}
    early: dict[int, list[Message]] = defaultdict(list)  # of channels that a damaged chunk explained
    damage = ""
    try:
        for record in read_records(Path(path)):
            match record:
                case records.Schema():
                    schemas[record.id] = Schema(name=record.name, text=record.data.decode(errors="replace"))
                case records.Channel() if record.id not in by_id:
                    schema = schemas.get(record.schema_id, Schema(name="", text=""))
                    channel = Channel(topic=record.topic, schema=schema, encoding=record.message_encoding)
                    by_id[record.id] = channels.setdefault(record.topic, channel)
                case records.Message():
                    message = Message(record.log_time, record.publish_time, record.sequence, record.data)
                    own = by_id.get(record.channel_id)
                    (own.messages if own else early[record.channel_id]).append(message)
                case records.Metadata():
                    metadata[record.name].update(record.metadata)
    except DamagedFile as error:
        damage = str(error)
    for number, messages in early.items():  # the summary has explained them, where there is one
        if number in by_id:
            by_id[number].messages[:0] = messages
    return Contents(channels=channels, metadata=dict(metadata), damage=damage)


def recover(path: Path | str, out: Path | str) -> int:
    """Write everything that can be read of a damaged recording into a file that is whole; the number of messages."""
    if Path(out).resolve() == Path(path).resolve():
        raise BadValue("out", str(out), "a file other than the damaged one")
    return write_contents(read_contents(path), out)


def write_contents(contents: Contents, out: Path | str) -> int:
    """Write a file with these contents; the number of messages."""
    writer = RecordingWriter(out, metadata=contents.metadata)
    ordered = sorted(
        ((message, channel) for channel in contents.channels.values() for message in channel.messages),
        key=lambda entry: entry[0].log_ns,
    )
    for message, channel in ordered:
        writer.wait_for_room()
        writer.put(Entry(channel.topic, channel.schema, Draft(*message)))
    health = writer.close()
    if health.failed:
        raise BadFile(out, health.failed)
    return health.messages
