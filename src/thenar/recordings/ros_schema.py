"""ROS message definitions and their CDR bytes: written once in full, then filled and read as columns of numbers.

Messages of one channel differ in their numbers only: names and lengths stay. So a `Layout`, found by walking one
message, has the place of every number, and a thousand messages are read as one array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thenar import cdr
from thenar.cdr import BadMessage

NUMBERS = {
    "bool": "u1", "byte": "u1", "char": "u1", "uint8": "u1", "int8": "i1", "uint16": "u2", "int16": "i2",
    "uint32": "u4", "int32": "i4", "uint64": "u8", "int64": "i8", "float32": "f4", "float64": "f8",
}  # fmt: skip
MAX_ELEMENTS = 1 << 24
_FIELD = re.compile(r"^([\w/]+)(?:<=\d+)?(\[(?:<=)?(\d*)\])?\s+(\w+)\s*(?:#.*)?$")
_RULER = re.compile(r"^=+$", re.MULTILINE)


class Member(NamedTuple):
    """One field of a message."""

    name: str
    kind: str
    """A primitive, ``string`` or the name of another message."""
    size: int | None
    """Elements of an array; 0 for a sequence of any length; None for a single value."""


@dataclass(frozen=True, kw_only=True)
class Schema:
    """A message definition with everything it is made of, as recordings carry it."""

    name: str
    """Such as ``sensor_msgs/msg/JointState``."""
    text: str

    @cached_property
    def types(self) -> dict[str, list[Member]]:
        """Members of this message (under an empty name) and of those within it."""
        first, *rest = _RULER.split(self.text)
        found = {"": _members(first)}
        for part in rest:
            title, _, body = part.strip().partition("\n")
            found[title.removeprefix("MSG:").strip()] = _members(body)
        return found


def _members(text: str) -> list[Member]:
    members = []
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#") or "=" in line.replace("<=", ""):  # a comment or a constant
            continue
        match = _FIELD.match(line)
        if match is None:
            raise BadMessage(f"a message definition has the line {line!r}; wanted a type and a name")
        kind, array, count, name = match.groups()
        bounded = array is not None and "<=" in array
        members.append(Member(name, kind, None if array is None else 0 if bounded or not count else int(count)))
    return members


def write(schema: Schema, value: Mapping[str, Any]) -> bytes:
    """The bytes of one message, from nested mappings; what is not given is zero or empty."""
    out = bytearray()
    _write_members(schema, "", value, out)
    return cdr.HEADER + bytes(out)


def _write_members(schema: Schema, kind: str, value: Mapping[str, Any], out: bytearray) -> None:
    for member in schema.types[kind]:
        given = value.get(member.name)
        if member.kind in NUMBERS and member.size is not None:
            array = np.asarray([] if given is None else given, dtype="<" + NUMBERS[member.kind]).ravel()
            if member.size == 0:
                cdr.put_sequence(out, NUMBERS[member.kind], array)
            else:
                full = np.zeros(member.size, dtype=array.dtype)
                full[: array.size] = array
                out += bytes(-len(out) % full.itemsize) + full.tobytes()
            continue
        elements: Sequence[Any] = [given] if member.size is None else list(given or ())
        if member.size == 0:
            cdr.put(out, "I", len(elements))
        for element in elements:
            if member.kind in NUMBERS:
                number = np.asarray(element or 0, dtype="<" + NUMBERS[member.kind])
                out += bytes(-len(out) % number.itemsize) + number.tobytes()
            elif member.kind == "string":
                cdr.put_string(out, element or "")
            else:
                _write_members(schema, member.kind, element or {}, out)


class Slot(NamedTuple):
    """Where numbers of one kind stand in every message of a channel."""

    offset: int
    dtype: str
    size: int
    is_array: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Places of the numbers and texts of one message, by dotted path such as ``sensors.3.values``."""

    blank: bytes
    """The message with every number 0."""
    slots: dict[str, Slot]
    texts: dict[str, str] = field(default_factory=dict)

    @cached_property
    def _dtype(self) -> np.dtype[np.void]:
        formats = [(slot.dtype, (slot.size,)) if slot.is_array else slot.dtype for slot in self.slots.values()]
        return np.dtype(
            {
                "names": list(self.slots),
                "formats": formats,
                "offsets": [slot.offset for slot in self.slots.values()],
                "itemsize": len(self.blank),
            }
        )

    def fill(self, rows: NDArray[np.uint8], columns: Mapping[str, ArrayLike]) -> None:
        """Write messages with these numbers, one a row; those not given are 0. Shape (T, bytes)."""
        rows[:] = np.frombuffer(self.blank, np.uint8)
        fields = rows.view(self._dtype)[:, 0]
        for path, values in columns.items():
            fields[path] = values

    def rows(self, payloads: Sequence[bytes]) -> NDArray[np.uint8]:
        """Messages of one channel as bytes; one that differs in more than numbers is refused. Shape (T, bytes)."""
        size = len(self.blank)
        joined = b"".join(payloads)
        if len(joined) != size * len(payloads) or any(len(payload) != size for payload in payloads):
            raise BadMessage(f"messages of a channel differ in length; wanted {size} bytes each")
        rows = np.frombuffer(joined, np.uint8).reshape(len(payloads), size)
        if len(rows) and not (rows[:, self._constant] == np.frombuffer(self.blank, np.uint8)[self._constant]).all():
            raise BadMessage("messages of a channel differ in their names or lengths")
        return rows

    def column(self, rows: NDArray[np.uint8], path: str) -> NDArray[Any]:
        """Numbers of one place in all messages. Shape (T,), or (T, size) for an array."""
        return np.ascontiguousarray(np.ascontiguousarray(rows).view(self._dtype)[path][:, 0])

    def listed(self, path: str) -> list[str]:
        """Texts of a sequence, such as the names of joints."""
        return [text for name, text in self.texts.items() if re.fullmatch(rf"{re.escape(path)}\.\d+", name)]

    @cached_property
    def _constant(self) -> NDArray[np.bool_]:
        constant = np.ones(len(self.blank), dtype=bool)
        for offset, dtype, count, _ in self.slots.values():
            constant[offset : offset + count * np.dtype(dtype).itemsize] = False
        return constant


def find_layout(schema: Schema, payload: bytes) -> Layout:
    """Walk one message and find where everything in it stands."""
    walk = _Walk(schema, payload)
    walk.members("", "")
    walk.reader.end()
    blank = bytearray(payload)
    for offset, dtype, count, _ in walk.slots.values():
        size = count * np.dtype(dtype).itemsize
        blank[offset : offset + size] = bytes(size)
    return Layout(blank=bytes(blank), slots=walk.slots, texts=walk.texts)


class Unpacked(NamedTuple):
    """A message whose bytes are made later, with others of its kind at once; what it holds must not change."""

    pack: Callable[..., None]
    """Is given rows of bytes, one a message, and the values of those messages: a sequence for each."""
    values: tuple[Any, ...]
    size: int

    def __len__(self) -> int:
        """How many bytes it will be."""
        return self.size


def runs_alike(payloads: Sequence[bytes | Unpacked]) -> Iterator[slice]:
    """Messages of one channel that can be filled at once: neighbours of one kind; bytes are filled one by one."""
    first = 0
    for end in range(1, len(payloads) + 1):
        before = payloads[end - 1]
        if end < len(payloads) and isinstance(before, Unpacked):
            after = payloads[end]
            if isinstance(after, Unpacked) and after.pack == before.pack:
                continue
        yield slice(first, end)
        first = end


def fill_rows(rows: NDArray[np.uint8], payloads: Sequence[bytes | Unpacked]) -> None:
    """Write messages that are alike, one a row. Shape (T, bytes)."""
    first = payloads[0]
    if isinstance(first, Unpacked):
        first.pack(rows, *zip(*(payload.values for payload in payloads if isinstance(payload, Unpacked)), strict=True))
    else:
        rows[0] = np.frombuffer(first, np.uint8)


@lru_cache(maxsize=256)
def layout_of(name: str, text: str, payload: bytes) -> Layout:
    """As `find_layout`, remembered."""
    return find_layout(Schema(name=name, text=text), payload)


class _Walk:
    def __init__(self, schema: Schema, payload: bytes):
        self.schema, self.reader = schema, cdr.Reader(payload)
        if self.reader.order != "<":
            raise BadMessage("a recording in big-endian order; wanted little-endian CDR")
        self.slots: dict[str, Slot] = {}
        self.texts: dict[str, str] = {}

    def members(self, kind: str, prefix: str) -> None:
        if kind not in self.schema.types:
            raise BadMessage(f"{self.schema.name} has a field of type {kind}, which its definition does not explain")
        for member in self.schema.types[kind]:
            path = prefix + member.name
            if member.size is None:
                self.element(member.kind, path)
                continue
            count = member.size or self.reader.length(MAX_ELEMENTS, path)
            if member.kind in NUMBERS:
                self.numbers(member.kind, path, count, is_array=True)
            else:
                for index in range(count):
                    self.element(member.kind, f"{path}.{index}")

    def element(self, kind: str, path: str) -> None:
        if kind in NUMBERS:
            self.numbers(kind, path, 1, is_array=False)
        elif kind == "string":
            self.texts[path] = self.reader.string(path)
        else:
            self.members(kind, f"{path}.")

    def numbers(self, kind: str, path: str, count: int, *, is_array: bool) -> None:
        dtype = "<" + NUMBERS[kind]
        self.reader.numbers(NUMBERS[kind], count, path)
        size = count * np.dtype(dtype).itemsize
        self.slots[path] = Slot(len(cdr.HEADER) + self.reader.position - size, dtype, count, is_array)
