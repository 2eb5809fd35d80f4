"""Live gloves over a local socket: any process sends frames, one JSON object to a UDP datagram.

    {"stamp_s": 12.34, "side": "right", "layout": "nodes21",
     "position_m": [[x, y, z], ...], "quat_wxyz": [[w, x, y, z], ...]}

Positions may be in any axes, from any origin, in metres: they are turned into palm axes here. ``quat_wxyz`` may be left
out. ``stamp_s`` is the sender's own clock.
"""

from __future__ import annotations

import json
import socket
from collections import Counter
from typing import Any

import numpy as np

from thenar.errors import BadValue, count_reason
from thenar.glove.palm import frame_in_palm_axes
from thenar.signals import GloveFrame, GloveLayout

PORT = 9763
MAX_DATAGRAM_BYTES = 65507
NODES: dict[GloveLayout, int] = {"nodes21": 21, "manus25": 25}


class GloveReceiver:
    """Listens to one port. Frames that make no sense are refused and counted, and never reach a hand."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = PORT):
        """Open the port; 0 takes a free one."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host, port))
        self.port: int = self._socket.getsockname()[1]
        self.refused: Counter[str] = Counter()

    def __enter__(self) -> GloveReceiver:
        """The receiver itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the port."""
        self._socket.close()

    def wait(self, timeout_s: float) -> GloveFrame | None:
        """The newest good frame that has come, waiting for one at most ``timeout_s``; None if none came."""
        newest = None
        self._socket.settimeout(max(timeout_s, 1e-4))
        while True:
            try:
                message = self._socket.recv(MAX_DATAGRAM_BYTES)
            except (TimeoutError, BlockingIOError):
                return newest
            self._socket.settimeout(0.0)  # only what is already here
            try:
                newest = decode_frame(message)
            except BadValue as error:
                count_reason(self.refused, str(error))


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
            "position_m": np.round(frame.position_m, 6).tolist(),
            "quat_wxyz": np.round(frame.quat_wxyz, 6).tolist(),
        }
    ).encode()


def decode_frame(message: bytes) -> GloveFrame:
    """A datagram as a frame in palm axes."""
    try:
        values: Any = json.loads(message)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise BadValue("datagram", message[:40], "a JSON object")
    layout, side = values.get("layout"), values.get("side")
    if layout not in NODES:
        raise BadValue("layout", layout, f"one of {', '.join(NODES)}")
    if side not in ("left", "right"):
        raise BadValue("side", side, "left or right")
    stamp_s = values.get("stamp_s")
    if not isinstance(stamp_s, (int, float)) or not np.isfinite(stamp_s):
        raise BadValue("stamp_s", stamp_s, "seconds")
    position_m = _numbers("position_m", values.get("position_m"), (NODES[layout], 3))
    quat = values.get("quat_wxyz")
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (NODES[layout], 1))
    quat_wxyz = upright if quat is None else _numbers("quat_wxyz", quat, (NODES[layout], 4))
    return frame_in_palm_axes(float(stamp_s), side, layout, position_m, quat_wxyz)


def _numbers(name: str, values: Any, shape: tuple[int, int]) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != shape or not np.all(np.isfinite(array)):
        raise BadValue(name, f"shape {array.shape}", f"{shape[0]} x {shape[1]} finite numbers")
    return array
