"""Records of an MCAP file as far as they can be read, and whether they are those that were written."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

from thenar.errors import BadFile, ThenarError
from thenar.recordings.chunks import MAGIC

CUT_OFF = "the file was cut off: its writer was killed, or it is still being written"
_HEAD = struct.Struct("<BQ")  # of a record: its kind, and how many bytes follow
_DATA_END, _FOOTER = struct.Struct("<I"), struct.Struct("<QQI")
_BLOCK_BYTES = 1 << 20


class DamagedFile(ThenarError):
    """A file is not as its writer left it, or has no end; what can be read of it has been."""


def read_records(path: Path) -> Iterator[Any]:
    """Schemas, channels, messages and words of a file; then `DamagedFile` where it is not whole.

    Messages of a damaged chunk are left out, and what comes after it is read.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise BadFile(path, "not an MCAP file")
            yield from _read_all(file)
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error


class _Frame(NamedTuple):
    start: int
    kind: int
    body: bytes


def _read_all(file: IO[bytes]) -> Iterator[Any]:
    from mcap import records
    from mcap.data_stream import ReadDataStream
    from mcap.opcode import Opcode
    from mcap.stream_reader import breakup_chunk

    makers: dict[int, Callable[[bytes], Iterable[Any]]] = {
        Opcode.SCHEMA: lambda body: (records.Schema.read(ReadDataStream(BytesIO(body))),),
        Opcode.CHANNEL: lambda body: (records.Channel.read(ReadDataStream(BytesIO(body))),),
        Opcode.METADATA: lambda body: (records.Metadata.read(ReadDataStream(BytesIO(body))),),
        Opcode.MESSAGE: lambda body: (records.Message.read(ReadDataStream(BytesIO(body)), len(body)),),
        Opcode.CHUNK: lambda body: breakup_chunk(records.Chunk.read(ReadDataStream(BytesIO(body))), validate_crc=True),
    }
    chunks = bad = 0
    data_end: _Frame | None = None
    while (frame := _next_frame(file)) is not None and frame.kind != Opcode.FOOTER:
        chunks += frame.kind == Opcode.CHUNK
        if frame.kind == Opcode.DATA_END:
            data_end = frame
        elif frame.kind in makers:
            try:
                made = makers[frame.kind](frame.body)
            except Exception:  # of the decompressor too, whose errors have no common root
                bad += frame.kind == Opcode.CHUNK  # of other records the check sum of the whole tells
            else:
                yield from made
    wrong = [f"{bad} of {chunks} chunks of messages cannot be read"] if bad else []
    if frame is None or data_end is None or file.read() != MAGIC:
        raise DamagedFile("; ".join([CUT_OFF, *wrong]))
    wrong = wrong or _wrong_sums(file, data_end, frame)
    if wrong:
        raise DamagedFile(f"the file is damaged: {', '.join(wrong)}")


def _next_frame(file: IO[bytes]) -> _Frame | None:
    """The next record; None where the file ends before it does."""
    start, head = file.tell(), file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, size = _HEAD.unpack(head)
    if kind == 0 or size > os.fstat(file.fileno()).st_size - file.tell():
        return None
    return _Frame(start, kind, file.read(size))


def _wrong_sums(file: IO[bytes], data_end: _Frame, footer: _Frame) -> list[str]:
    """What of a file that has an end does not fit its check sum; a sum of 0 is none."""
    if len(data_end.body) < _DATA_END.size or len(footer.body) < _FOOTER.size:
        return ["its end makes no sense"]
    wrong = []
    (data_crc,) = _DATA_END.unpack_from(data_end.body)
    if data_crc and _sum(file, 0, data_end.start) != data_crc:
        wrong.append("bytes between its chunks, such as an index, are not those that were written")
    summary_start, _, summary_crc = _FOOTER.unpack_from(footer.body)
    summed_end = footer.start + _HEAD.size + _FOOTER.size - 4  # all but the sum itself
    if summary_crc and _sum(file, summary_start or footer.start, summed_end) != summary_crc:
        wrong.append("its summary is not the one that was written")
    return wrong


def _sum(file: IO[bytes], start: int, end: int) -> int:
    """Check sum of some bytes of a file."""
    file.seek(start)
    total, left = 0, end - start
    while left > 0 and (block := file.read(min(left, _BLOCK_BYTES))):
        total, left = zlib.crc32(block, total), left - len(block)
    return total
