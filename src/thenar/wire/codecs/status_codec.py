"""How a twin is doing, for others on its domain: ``thenar/status``, JSON, the newest one kept for latecomers."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import asdict
from typing import Any

from thenar.wire.codecs import cdr

TOPIC = "thenar/status"


TYPE = "thenar::TwinStatus"


def encode_status(health: Any) -> bytes:
    """A dataclass of plain values as the body of a message."""
    text = json.dumps(_plain(asdict(health))).encode() + b"\x00"
    return struct.pack("<I", len(text)) + text


def decode_status(message: bytes) -> dict[str, Any]:
    """What a status message says."""
    reader = cdr.Reader(message)
    length = reader.length(1 << 20, "status")
    return json.loads(reader.numbers("u1", length, "status").tobytes().rstrip(b"\x00"))


def _plain(value: Any) -> Any:
    """JSON knows no infinity."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
