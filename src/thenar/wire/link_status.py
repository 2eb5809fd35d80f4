"""How a twin is doing, for others on its domain: ``thenar/status``, JSON, the newest one kept for latecomers."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import asdict
from typing import Any

from thenar.wire import cdr, idl
from thenar.wire.link_dds import LATCHED, DdsNode

TOPIC = "thenar/status"


class StatusTopic:
    """The twin's side."""

    def __init__(self, node: DdsNode):
        """Announce the topic."""
        self._out = node.writer(TOPIC, idl.TwinStatus, LATCHED)

    def tell(self, health: Any) -> None:
        """Publish a dataclass of plain values."""
        text = json.dumps(_plain(asdict(health)))
        body = text.encode() + b"\x00"
        self._out.write(cdr.HEADER + struct.pack("<I", len(body)) + body)


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
