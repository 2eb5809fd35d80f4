"""The file of a recording: MCAP in ROS 2's profile, written by a thread of its own, read also where its writer died."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from thenar import __version__
from thenar.errors import BadFile, BadValue, MissingExtra, ThenarError
from thenar.recordings.ros_schema import Schema

if TYPE_CHECKING:
    from mcap.writer import Writer

CHUNK_BYTES = 256 << 10
FLUSH_S = 0.25  # a writer that is killed loses what is younger than this
MAX_WAITING_BYTES = 64 << 20  # what a slow disk may keep waiting before messages are lost
_QOS = "".join(
    f"{line}\n"
    for line in (
        "- history: 3", "  depth: 0", "  reliability: 1", "  durability: 2", "  deadline:", "    sec: 9223372036",
        "    nsec: 854775807", "  lifespan:", "    sec: 9223372036", "    nsec: 854775807", "  liveliness: 1",
        "  liveliness_lease_duration:", "    sec: 9223372036", "    nsec: 854775807",
        "  avoid_ros_namespace_conventions: false",
    )
)  # fmt: skip


def need_mcap() -> None:
    """Say what to install where the package is missing."""
    try:
        import mcap.writer  # noqa: F401
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


class RecordingWriter:
    """Writes messages to a file from a thread of its own. Nothing that goes wrong there reaches who records."""

    def __init__(self, path: Path | str, *, metadata: Mapping[str, Mapping[str, str]] | None = None):
        """Begin a file; one that cannot be written is refused here.

        Args:
            path: Of the new file, ending in .mcap.
            metadata: Records of words by name, which stand at the beginning so that a killed writer leaves them.
        """
        need_mcap()
        from mcap.writer import CompressionType, Writer

        self.path = Path(path)
        if self.path.suffix != ".mcap":
            raise BadValue("recording", str(path), "a file name that ends in .mcap")
        self.health = WriterHealth(path=str(path))
        self._channels: dict[str, tuple[int, Schema]] = {}
        self._waiting: deque[tuple[Any, ...]] = deque()
        self._waiting_bytes = 0
        self._wake = threading.Condition()
        self._closing = False
        try:
            self._file: IO[bytes] = self.path.open("wb")
        except OSError as error:
            raise BadFile(path, f"cannot be written: {error.strerror}") from error
        self._writer: Writer = Writer(self._file, chunk_size=CHUNK_BYTES, compression=CompressionType.ZSTD)
        self._schemas: dict[str, int] = {}
        self._attempt(self._writer.start, "ros2", f"thenar {__version__}")
        for name, words in (metadata or {}).items():
            self._attempt(self._writer.add_metadata, name, dict(words))
        self._thread = threading.Thread(target=self._run, name="record", daemon=True)
        self._thread.start()

    def put(self, topic: str, schema: Schema, message: Message) -> None:
        """Leave a message to be written. Never waits: what a disk cannot take is counted as lost."""
        health = self.health
        if health.failed or self._closing or self._waiting_bytes > MAX_WAITING_BYTES:
            health.lost += 1
            return
        with self._wake:
            self._waiting_bytes += len(message.payload)
            self._waiting.append((topic, schema, message))

    def wait_for_room(self) -> None:
        """Wait until half of what may wait has been written, for who has the time."""
        while self._waiting_bytes > MAX_WAITING_BYTES // 2 and not self.health.failed:
            time.sleep(0.01)

    def put_metadata(self, name: str, words: Mapping[str, str]) -> None:
        """Leave a record of words to be written."""
        with self._wake:
            self._waiting.append((name, dict(words)))

    def close(self) -> WriterHealth:
        """Write what waits and end the file."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        return self.health

    def _run(self) -> None:
        while True:
            with self._wake:
                if not self._closing:
                    self._wake.wait(FLUSH_S)
                batch, self._waiting, self._waiting_bytes = self._waiting, deque(), 0
                ending = self._closing
            written = sum(self._attempt(self._write, *entry) for entry in batch)
            self.health.lost += sum(len(entry) == 3 for entry in batch) - written
            # This ends the chunk too: by its size alone, a quiet hand would lose minutes with its writer.
            self._attempt(self._writer.flush)
            if ending:
                self._attempt(self._writer.finish)
                self._attempt(self._file.close)
                return

    def _write(self, *entry: Any) -> None:
        if len(entry) == 2:
            self._writer.add_metadata(*entry)
            return
        topic, schema, (log_ns, publish_ns, sequence, payload) = entry
        if topic not in self._channels:
            if schema.name not in self._schemas:
                made = self._writer.register_schema(schema.name, "ros2msg", schema.text.encode())
                self._schemas[schema.name] = made
            metadata = {"offered_qos_profiles": _QOS}
            channel = self._writer.register_channel(topic, "cdr", self._schemas[schema.name], metadata)
            self._channels[topic] = channel, schema
        self._writer.add_message(self._channels[topic][0], log_ns, payload, publish_ns, sequence & 0xFFFFFFFF)
        self.health.messages += 1
        self.health.payload_bytes += len(payload)

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
    """Why the file has no proper end; empty for one that does."""


def read_contents(path: Path | str) -> Contents:
    """Read a recording, as far as it goes."""
    need_mcap()
    from mcap import records

    channels: dict[str, Channel] = {}
    metadata: dict[str, dict[str, str]] = defaultdict(dict)
    schemas: dict[int, Schema] = {}
    by_id: dict[int, Channel] = {}
    damage = ""
    try:
        for record in _records(Path(path)):
            match record:
                case records.Schema():
                    schemas[record.id] = Schema(name=record.name, text=record.data.decode(errors="replace"))
                case records.Channel() if record.id not in by_id:
                    schema = schemas.get(record.schema_id, Schema(name="", text=""))
                    channel = Channel(topic=record.topic, schema=schema, encoding=record.message_encoding)
                    by_id[record.id] = channels.setdefault(record.topic, channel)
                case records.Message():
                    message = Message(record.log_time, record.publish_time, record.sequence, record.data)
                    by_id[record.channel_id].messages.append(message)
                case records.Metadata():
                    metadata[record.name].update(record.metadata)
    except _Cut as error:
        damage = str(error)
    return Contents(channels=channels, metadata=dict(metadata), damage=damage)


class _Cut(ThenarError):
    """A file that ends before its end."""


def _records(path: Path) -> Iterator[Any]:
    from mcap.exceptions import McapError
    from mcap.stream_reader import StreamReader

    try:
        with path.open("rb") as file:
            try:
                yield from StreamReader(file, validate_crcs=True, record_size_limit=1 << 30).records
            except (McapError, ValueError, KeyError, IndexError, MemoryError, OverflowError) as error:
                if file.tell() <= 8:
                    raise BadFile(path, "not an MCAP file") from error
                raise _Cut("the file was cut off: its writer was killed, or it is still being written") from error
            except Exception as error:  # of the decompressor, whose errors have no common root
                raise _Cut(f"the file is damaged: {error}") from error
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error


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
        writer.put(channel.topic, channel.schema, message)
    health = writer.close()
    if health.failed:
        raise BadFile(out, health.failed)
    return health.messages
