"""Live gloves over a local socket: any process sends frames, one JSON object to a UDP datagram.

    {"stamp_s": 12.34, "side": "right", "layout": "nodes21",
     "position_m": [[x, y, z], ...], "quat_wxyz": [[w, x, y, z], ...]}

Positions may be in any axes, from any origin, in metres: they are turned into palm axes here. ``quat_wxyz`` may be left
out, ``layout`` too: 21, 25 or 26 nodes say which one it is. ``stamp_s`` is the sender's own clock.
"""

from __future__ import annotations

import json
import math
import select
import socket
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from thenar.errors import BadValue, clean_text, count_reason
from thenar.glove.number_rows import read_rows
from thenar.glove.palm import frame_in_palm_axes
from thenar.signals import LAYOUT_OF, NODES, FloatArray, GloveFrame, GloveSide

PORT = 9763
MAX_DATAGRAM_BYTES = 65507
MAX_STAMP_S = 1e12
MAX_NODES = max(NODES.values())
MARK = b"-5123454321"  # stands for rows that are read already
MARKED = int(MARK)
ROWS = (("position_m", b'"position_m":', 3), ("quat_wxyz", b'"quat_wxyz":', 4))  # name, key, columns
MAX_WAITING = 64  # datagrams read in one call
_read_json = json.JSONDecoder().decode


class GloveReceiver:
    """Listens to one port. Frames that make no sense are refused and counted, and never reach a hand."""

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = PORT,
        side: GloveSide | None = None,
        clock: Callable[[], float] | None = None,
        on_refused: Callable[[str], None] = lambda reason: None,
    ):
        """Open the port.

        Args:
            host: Address to listen at; 0.0.0.0 hears other machines too.
            port: UDP port; 0 takes a free one.
            side: Take frames of this hand only; None takes both.
            clock: Stamps frames as they are read, such as `time.perf_counter`; None leaves them the sender's stamps.
            on_refused: Is called with each new reason why frames are refused.
        """
        if not 0 <= port <= 65535:
            raise BadValue("port", port, "a number from 0 to 65535")
        self._side, self._clock, self._on_refused = side, clock, on_refused
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise BadValue("glove port", f"{host}:{port}", f"one that is free here ({error.strerror})") from None
        self.port: int = self._socket.getsockname()[1]
        self.refused: Counter[str] = Counter()
        self._newest: dict[GloveSide, GloveFrame] = {}
        self._buffer = memoryview(bytearray(MAX_DATAGRAM_BYTES))
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    def __enter__(self) -> GloveReceiver:
        """The receiver itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the port."""
        self._socket.close()

    def wait(self, timeout_s: float) -> GloveFrame | None:
        """The newest good frame of a hand, waiting for one at most ``timeout_s``; None if none came.

        Where both hands have sent, the other one's frame comes with the next call.
        """
        patience_ms = 0.0 if self._newest else 1e3 * timeout_s
        for _ in range(MAX_WAITING):  # whoever sends faster than this can read is not waited for
            if not self._poll.poll(patience_ms):
                break
            patience_ms = 0.0
            try:
                message = bytes(self._buffer[: self._socket.recv_into(self._buffer)])
            except BlockingIOError:  # what was announced was broken
                break
            try:
                frame = decode_frame(message, None if self._clock is None else self._clock())
                if self._side not in (None, frame.side):
                    raise BadValue("side", frame.side, f"{self._side}, whose glove drives the hand")
                self._newest[frame.side] = frame
            except BadValue as error:
                if count_reason(self.refused, str(error)):
                    self._on_refused(clean_text(str(error)))
        return self._newest.pop(next(iter(self._newest))) if self._newest else None


class GloveSender:
    """Sends frames to a `GloveReceiver`, from this or any other process."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = PORT):
        """Remember where to."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._address = (host, port)

    def send(self, frame: GloveFrame) -> None:
        """Send one frame."""
        self._socket.sendto(encode_frame(frame), self._address)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def encode_frame(frame: GloveFrame) -> bytes:
    """A frame as a datagram."""
    return json.dumps(
        {
            "stamp_s": frame.stamp_s,
            "side": frame.side,
            "layout": frame.layout,
            "position_m": np.round(frame.position_m, 12).tolist(),
            "quat_wxyz": np.round(frame.quat_wxyz, 6).tolist(),
        }
    ).encode()


def decode_frame(message: bytes, stamp_s: float | None = None) -> GloveFrame:
    """A datagram as a frame in palm axes, with the sender's stamp or with another one [s]."""
    values = _read_plainly(message)
    if values is None:
        try:
            values = json.loads(message)
        except (ValueError, RecursionError):
            values = None
    if not isinstance(values, dict):
        # Rubbish is refused for one reason, not for as many as there are bytes.
        shown = _short(message.decode()) if message.isascii() and message.decode().isprintable() else "no plain text"
        raise BadValue("datagram", shown, "a JSON object")
    side, stamp = values.get("side"), values.get("stamp_s")
    if side != "left" and side != "right":
        raise BadValue("side", _short(side), "left or right")
    # NaN and infinity are numbers in JSON as Python reads it; a whole number may be too large for a float.
    sent_s = float(stamp) if isinstance(stamp, (int, float)) and abs(stamp) < MAX_STAMP_S else math.nan
    if math.isnan(sent_s):
        raise BadValue("stamp_s", _short(stamp), "seconds")
    position_m = _numbers("position_m", values.get("position_m"), tuple(LAYOUT_OF), 3)
    layout = values.get("layout", LAYOUT_OF[len(position_m)])
    if not isinstance(layout, str) or layout not in NODES:
        raise BadValue("layout", _short(layout), f"one of {', '.join(NODES)}")
    if NODES[layout] != len(position_m):
        raise BadValue("position_m", f"{len(position_m)} nodes", f"{NODES[layout]} of the layout {layout}")
    quat = values.get("quat_wxyz")
    quat_wxyz = None if quat is None else _numbers("quat_wxyz", quat, (len(position_m),), 4)
    return frame_in_palm_axes(sent_s if stamp_s is None else stamp_s, side, layout, position_m, quat_wxyz)


def _read_plainly(message: bytes) -> dict[str, Any] | None:
    """The object of a message with its rows of numbers as arrays; None where `json` must judge all of it."""
    text, arrays, spans = np.frombuffer(message, np.uint8), dict[str, FloatArray](), list[tuple[int, int]]()
    for name, key, columns in ROWS:
        at = message.find(key)
        if at < 0 or message.find(key, at + 1) >= 0:
            continue
        start, rows = at + len(key), np.empty((MAX_NODES, columns))
        count, end = read_rows(text, start, columns, rows)
        if count < 0:
            return None
        arrays[name] = rows[:count]
        spans.append((start, end))
    # What was read is left out of what json reads; that it stood in its place is seen from the mark.
    rest, done = b"", 0
    for start, end in sorted(spans):
        rest, done = rest + message[done:start] + MARK, end
    try:
        values = _read_json((rest + message[done:]).decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict) or any(values.get(name) != MARKED for name in arrays):
        return None
    return values | arrays


def _numbers(name: str, values: Any, rows: tuple[int, ...], columns: int) -> FloatArray:
    """A list of rows of numbers; anything else is refused."""
    if isinstance(values, np.ndarray):
        if len(values) in rows:
            return values
        values = values.tolist()
    try:
        if len(values) not in rows or set(map(type, values)) != {list} or set(map(len, values)) != {columns}:
            raise ValueError
        flat = list(chain.from_iterable(values))
        # What Python reads from JSON as numbers; text, truth values and lists are none.
        if not set(map(type, flat)) <= {int, float}:
            raise ValueError
        array = np.array(flat, dtype=np.float64)
        if not np.isfinite(array).all():
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        wanted = " or ".join(map(str, rows))
        raise BadValue(name, _short(values), f"{wanted} x {columns} finite numbers") from None
    return array.reshape(-1, columns)


def _short(value: object) -> str:
    """Whatever a stranger sent, short enough for a line."""
    text = repr(value) if not isinstance(value, int) or abs(value) < MAX_STAMP_S else "a huge number"
    return text if len(text) <= 40 else f"{text[:37]}..."
