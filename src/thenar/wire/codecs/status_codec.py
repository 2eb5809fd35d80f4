"""How a twin is doing, for others on its domain: ``thenar/status``, JSON, the newest one kept for latecomers."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import asdict
from typing import Any

from thenar import cdr
from thenar.errors import clean_text

TOPIC = "thenar/status"


TYPE = "thenar::TwinStatus"
MAX_STATUS, MAX_DEPTH = 1 << 20, 16


def encode_status(health: Any) -> bytes:
    """A dataclass of plain values as the body of a message."""
    text = json.dumps(_plain(asdict(health))).encode() + b"\x00"
    return struct.pack("<I", len(text)) + text


def decode_status(message: bytes) -> dict[str, Any]:
    """What a status message says; what is not a JSON object is refused."""
    reader = cdr.Reader(message)
    text = reader.numbers("u1", reader.length(MAX_STATUS, "status"), "status").tobytes().rstrip(b"\x00")
    try:
        status = json.loads(text)
    except (ValueError, RecursionError):
        raise cdr.BadMessage("status is not JSON") from None
    if not isinstance(status, dict):
        raise cdr.BadMessage(f"status is a {type(status).__name__}; wanted a JSON object")
    return _clean(status)


def _clean(value: Any, depth: int = 0) -> Any:
    """The same with all its texts fit to be shown; what is nested without end is refused."""
    if depth > MAX_DEPTH:
        raise cdr.BadMessage(f"status is nested more than {MAX_DEPTH} times")
    if isinstance(value, dict):
        return {clean_text(key): _clean(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list):
        return [_clean(part, depth + 1) for part in value]
    return clean_text(value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """JSON knows no infinity."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
