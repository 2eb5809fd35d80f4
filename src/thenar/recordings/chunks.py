"""An MCAP file written chunk by chunk: messages of one topic become bytes together, not one by one."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thenar.recordings.ros_schema import Schema, Unpacked, fill_rows, runs_alike

if TYPE_CHECKING:
    from mcap.records import McapRecord

MAGIC = b"\x89MCAP0\r\n"
_MESSAGE, _MESSAGE_INDEX = 5, 7
_HEAD = np.dtype(
    [("kind", "u1"), ("size", "<u8"), ("channel", "<u2"), ("sequence", "<u4"), ("log", "<u8"), ("publish", "<u8")]
)
_KIND_AND_SIZE = 9  # bytes, which the size of a record does not count
_NOTE = struct.Struct("<QQQIIIII")  # where a chunk is, when it begins and ends, its sizes, and how many starts follow
_START = struct.Struct("<HI")  # a channel, and where its index begins behind the chunk
_INDEX = np.dtype([("log", "<u8"), ("offset", "<u8")])
_QOS = "".join(
    f"{line}\n"
    for line in (
        "- history: 3", "  depth: 0", "  reliability: 1", "  durability: 2", "  deadline:", "    sec: 9223372036",
        "    nsec: 854775807", "  lifespan:", "    sec: 9223372036", "    nsec: 854775807", "  liveliness: 1",
        "  liveliness_lease_duration:", "    sec: 9223372036", "    nsec: 854775807",
        "  avoid_ros_namespace_conventions: false",
    )
)  # fmt: skip


class Draft(NamedTuple):
    """One message to be written."""

    log_ns: int
    """When it was written down, UNIX time."""
    publish_ns: int
    """When the world was read: start of the recording's clock + time of the twin."""
    sequence: int
    payload: bytes | Unpacked


class Entry(NamedTuple):
    """A message and where it belongs."""

    topic: str
    schema: Schema
    draft: Draft

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(self.draft.payload)


class Kind(NamedTuple):
    """Messages of one length on one topic, which are made of values."""

    topic: str
    schema: Schema
    pack: Callable[..., None]
    """Is given rows of bytes, one a message, and the values of those messages: a sequence for each."""
    size: int
    """Bytes of a message."""


class Sheet:
    """Kinds of messages that are made of the same values, and so are written together."""

    def __init__(self, *kinds: Kind):
        """These kinds."""
        self.kinds = kinds
        self.topics = {kind.topic for kind in kinds}
        self.size = sum(kind.size for kind in kinds)


class Bundle(NamedTuple):
    """One message of each kind of a sheet."""

    sheet: Sheet
    log_ns: int
    publish_ns: int
    sequence: int
    values: tuple[Any, ...]
    """They must not change."""

    @property
    def size(self) -> int:
        """Bytes of all its messages."""
        return self.sheet.size


class ChunkedFile:
    """Writes an MCAP file in ROS 2's profile; not safe for several threads."""

    def __init__(self, file: IO[bytes]):
        """Into a file that is open for writing, and empty; nothing is written yet."""
        import zstandard
        from mcap import records

        self._records, self._file = records, file
        self._compressor = zstandard.ZstdCompressor(level=-1)  # a quarter cheaper than 1, and 4 % larger
        self._schemas: dict[str, records.Schema] = {}
        self._channels: dict[str, records.Channel] = {}
        self._counts: dict[int, int] = {}
        # Where chunks are, for the summary: compressed, so that a day of it stays below 10 MB.
        self._noted, self._notes, self._chunk_count = bytearray(), zlib.compressobj(1), 0
        self._metadata: list[McapRecord] = []
        self._first_ns, self._last_ns = 0, 0
        self._at, self._crc = 0, 0
        self._buffer = np.empty(0, dtype=np.uint8)

    def begin(self, library: str, metadata: Mapping[str, Mapping[str, str]]) -> None:
        """Write who writes the file, and records of words by name."""
        self._put(MAGIC + self._bytes(self._records.Header(profile="ros2", library=library)))
        for name, words in metadata.items():
            self.add_metadata(name, words)

    def add_metadata(self, name: str, words: Mapping[str, str]) -> None:
        """Write a record of words."""
        made = self._bytes(self._records.Metadata(name=name, metadata=dict(words)))
        self._metadata.append(self._records.MetadataIndex(offset=self._at, length=len(made), name=name))
        self._put(made)
        self._file.flush()

    def add_chunk(
        self,
        topics: Mapping[str, tuple[Schema, Sequence[Draft]]],
        bundles: Mapping[Sheet, Sequence[Bundle]] | None = None,
    ) -> None:
        """Write messages of these topics and sheets, all different, as one chunk, and see that the system has it."""
        parts = [(*self._channel(topic, schema), drafts) for topic, (schema, drafts) in topics.items()]
        sheets = [
            (bundled, [(*self._channel(kind.topic, kind.schema), kind) for kind in sheet.kinds])
            for sheet, bundled in (bundles or {}).items()
        ]
        size = sum(
            len(news) + sum(_HEAD.itemsize + len(draft.payload) for draft in drafts) for _, news, drafts in parts
        )
        for bundled, kinds in sheets:
            size += sum(len(news) + len(bundled) * (_HEAD.itemsize + kind.size) for _, news, kind in kinds)
        if size > len(self._buffer):
            self._buffer = np.empty(size, dtype=np.uint8)
        data, at = self._buffer[:size], 0
        indices = {}
        for number, news, drafts in parts:
            data[at : at + len(news)] = np.frombuffer(news, np.uint8)
            at += len(news)
            indices[number] = np.empty(len(drafts), dtype=_INDEX)
            at = _fill(data, at, number, drafts, indices[number])
        for bundled, kinds in sheets:
            _, log_ns, publish_ns, sequence, values = zip(*bundled, strict=True)
            head, columns = _heads(log_ns, publish_ns, sequence), tuple(zip(*values, strict=True))
            for number, news, kind in kinds:
                data[at : at + len(news)] = np.frombuffer(news, np.uint8)
                at += len(news)
                end = at + len(bundled) * (_HEAD.itemsize + kind.size)
                rows = data[at:end].reshape(len(bundled), -1)
                head["channel"], head["size"] = number, _HEAD.itemsize + kind.size - _KIND_AND_SIZE
                rows[:, : _HEAD.itemsize] = head.view(np.uint8).reshape(len(head), _HEAD.itemsize)
                kind.pack(rows[:, _HEAD.itemsize :], *columns)
                index = indices[number] = np.empty(len(bundled), dtype=_INDEX)
                index["log"], index["offset"] = head["log"], np.arange(at, end, rows.shape[1])
                at = end
        for number, index in indices.items():
            self._counts[number] = self._counts.get(number, 0) + len(index)
        self._write_chunk(data, indices)

    def _write_chunk(self, data: NDArray[np.uint8], indices: Mapping[int, np.ndarray]) -> None:
        records = self._records
        first_ns = min(int(index["log"].min()) for index in indices.values())
        last_ns = max(int(index["log"].max()) for index in indices.values())
        self._first_ns = min(self._first_ns, first_ns) if self._chunk_count else first_ns
        self._last_ns = max(self._last_ns, last_ns)
        packed = self._compressor.compress(data.data)
        chunk = records.Chunk(
            compression="zstd",
            data=packed,
            message_start_time=first_ns,
            message_end_time=last_ns,
            uncompressed_crc=zlib.crc32(data.data),
            uncompressed_size=len(data),
        )
        began, made = self._at, self._bytes(chunk)
        self._put(made)
        starts, index_began = [], self._at
        for number, index in indices.items():
            starts.append(_START.pack(number, self._at - index_began))
            body = struct.pack("<HI", number, index.nbytes) + index.tobytes()
            self._put(struct.pack("<BQ", _MESSAGE_INDEX, len(body)) + body)
        self._file.flush()
        sizes = len(made), len(packed), len(data), self._at - index_began
        note = _NOTE.pack(began, first_ns, last_ns, *sizes, len(starts)) + b"".join(starts)
        self._noted += self._notes.compress(note)
        self._chunk_count += 1

    def _chunk_indices(self) -> bytes:
        """What the summary says of chunks, from what was noted of them."""
        notes, at, made = zlib.decompress(bytes(self._noted) + self._notes.flush()), 0, bytearray()
        while at < len(notes):
            began, first_ns, last_ns, length, packed, size, index_length, count = _NOTE.unpack_from(notes, at)
            at, end = at + _NOTE.size, at + _NOTE.size + count * _START.size
            index = self._records.ChunkIndex(
                chunk_length=length,
                chunk_start_offset=began,
                compression="zstd",
                compressed_size=packed,
                message_end_time=last_ns,
                message_index_length=index_length,
                message_index_offsets={
                    number: began + length + start for number, start in _START.iter_unpack(notes[at:end])
                },
                message_start_time=first_ns,
                uncompressed_size=size,
            )
            made += self._bytes(index)
            at = end
        return bytes(made)

    def finish(self) -> None:
        """Write the summary, with which the file is whole."""
        records = self._records
        statistics = records.Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=self._chunk_count,
            message_count=sum(self._counts.values()),
            message_end_time=self._last_ns,
            message_start_time=self._first_ns,
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )
        self._put(self._bytes(records.DataEnd(data_section_crc=self._crc)))
        began = self._at
        groups = (
            self._bytes(*self._schemas.values()),
            self._bytes(*self._channels.values()),
            self._bytes(statistics),
            self._chunk_indices(),
            self._bytes(*self._metadata),
        )
        summary, offsets = b"", b""
        for made in filter(None, groups):
            offset = records.SummaryOffset(
                group_opcode=made[0], group_start=began + len(summary), group_length=len(made)
            )
            summary, offsets = summary + made, offsets + self._bytes(offset)
        footer = records.Footer(summary_start=began, summary_offset_start=began + len(summary), summary_crc=0)
        checked = summary + offsets + self._bytes(footer)[:-4]  # all but the checksum itself
        self._put(checked + struct.pack("<I", zlib.crc32(checked)) + MAGIC)
        self._file.flush()

    def _channel(self, topic: str, schema: Schema) -> tuple[int, bytes]:
        """Number of a channel, and the records that explain it where it is new."""
        news: list[McapRecord] = []
        if topic not in self._channels:
            if schema.name not in self._schemas:
                text, number = schema.text.encode(), len(self._schemas) + 1
                made = self._records.Schema(id=number, data=text, encoding="ros2msg", name=schema.name)
                self._schemas[schema.name] = made
                news.append(made)
            self._channels[topic] = self._records.Channel(
                id=len(self._channels) + 1,
                topic=topic,
                message_encoding="cdr",
                metadata={"offered_qos_profiles": _QOS},
                schema_id=self._schemas[schema.name].id,
            )
            news.append(self._channels[topic])
        return self._channels[topic].id, self._bytes(*news) if news else b""

    @staticmethod
    def _bytes(*made: McapRecord) -> bytes:
        from mcap.data_stream import RecordBuilder

        builder = RecordBuilder()
        for record in made:
            record.write(builder)
        return builder.end()

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)
        self._crc = zlib.crc32(data, self._crc)


def _heads(log_ns: Sequence[int], publish_ns: Sequence[int], sequence: Sequence[int]) -> np.ndarray:
    """What stands before messages; their channel and size are still missing."""
    head = np.zeros(len(log_ns), dtype=_HEAD)
    head["kind"], head["log"], head["publish"], head["sequence"] = _MESSAGE, log_ns, publish_ns, sequence
    return head


def _fill(data: NDArray[np.uint8], at: int, number: int, drafts: Sequence[Draft], index: np.ndarray) -> int:
    """Write messages of one channel, each behind its head, from a place in a chunk on; where they end."""
    log_ns, publish_ns, sequence, payloads = zip(*drafts, strict=True)
    head = _heads(log_ns, publish_ns, sequence)
    head["channel"] = number
    sizes = np.array([len(payload) for payload in payloads]) + _HEAD.itemsize
    head["size"] = sizes - _KIND_AND_SIZE
    index["log"], index["offset"] = head["log"], at + np.cumsum(sizes) - sizes
    heads = head.view(np.uint8).reshape(len(head), _HEAD.itemsize)
    for run in runs_alike(payloads):
        end = at + int(sizes[run].sum())
        rows = data[at:end].reshape(len(heads[run]), -1)
        rows[:, : _HEAD.itemsize] = heads[run]
        fill_rows(rows[:, _HEAD.itemsize :], payloads[run])
        at = end
    return at
