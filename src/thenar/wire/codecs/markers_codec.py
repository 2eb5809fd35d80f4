"""Points for ROS 2 viewers as bytes: ``visualization_msgs/MarkerArray``, spheres only, as in Humble and Jazzy."""

from __future__ import annotations

import struct

import numpy as np

from thenar.signals import FloatArray
from thenar.wire.codecs.cdr import put, put_string

MARKER_ARRAY = "visualization_msgs/msg/MarkerArray"
SPHERE, ADD = 2, 0
GREEN = (0.1, 0.8, 0.2, 1.0)


def encode_spheres(points_m: FloatArray, *, frame_id: str, stamp_s: float, size_m: float = 0.01) -> bytes:
    """A MarkerArray with one sphere at each point, as a body. Shape of points (n, 3)."""
    out = bytearray(struct.pack("<I", len(points_m)))
    seconds = int(stamp_s)
    nanoseconds = round((stamp_s - seconds) * 1e9) % 1_000_000_000
    for number, point in enumerate(np.asarray(points_m, dtype=np.float64)):
        put(out, "iI", seconds, nanoseconds)
        put_string(out, frame_id)
        put_string(out, "hand")
        put(out, "iii", number, SPHERE, ADD)
        put(out, "10d", *point, 0.0, 0.0, 0.0, 1.0, size_m, size_m, size_m)  # place, orientation, size
        put(out, "4f", *GREEN)
        put(out, "iI", 0, 0)  # stays until replaced
        out += b"\x00"  # frame_locked
        put(out, "II", 0, 0)  # points, colors
        put_string(out, "")  # texture_resource
        put(out, "iI", 0, 0)  # texture: stamp, frame, format, data
        put_string(out, "")
        put_string(out, "")
        put(out, "II", 0, 0)  # its data, and uv_coordinates
        for _ in ("text", "mesh_resource", "mesh_file.filename"):
            put_string(out, "")
        put(out, "I", 0)  # mesh_file.data
        out += b"\x00"  # mesh_use_embedded_materials
    return bytes(out)
