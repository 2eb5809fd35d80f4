"""Manus' ROS 2 glove message as bytes, both ways: ``manus_ros2_msgs/ManusGlove``, of which the skeleton is used.

Ref: manus_ros2_msgs of the MANUS ROS 2 package: ManusGlove, ManusRawNode, ManusErgonomics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thenar import cdr
from thenar.cdr import put, put_string
from thenar.signals import FloatArray, GloveSide

MANUS_GLOVE = "manus_ros2_msgs/msg/ManusGlove"
NODES = 25
MAX_ELEMENTS = 256


@dataclass(frozen=True, kw_only=True, eq=False)
class ManusGlove:
    """One glove's skeleton, in the glove's own axes."""

    glove_id: int
    side: GloveSide
    position_m: FloatArray
    """By node number [m]. Shape (25, 3)."""
    quat_wxyz: FloatArray
    """Shape (25, 4)."""


def decode_glove(body: bytes) -> ManusGlove:
    """A ManusGlove from a body; anything else raises `BadMessage`."""
    reader = cdr.Reader(cdr.HEADER + body)
    (glove_id,) = reader.numbers("i4", 1, "glove_id").tolist()
    side = reader.string("side").lower()
    if side[:1] not in ("l", "r"):
        raise cdr.BadMessage(f"side is {side!r}; wanted left or right")
    reader.numbers("i4", 1, "raw_node_count")  # the sequence has its own
    pose_by_node = {}
    for _ in range(reader.length(MAX_ELEMENTS, "raw_nodes")):
        node, _parent = reader.numbers("i4", 2, "node_id").tolist()
        reader.string("joint_type")
        reader.string("chain_type")
        pose_by_node[node] = reader.numbers("f8", 7, "pose")
    reader.numbers("i4", 1, "ergonomics_count")
    for _ in range(reader.length(MAX_ELEMENTS, "ergonomics")):
        reader.string("type")
        reader.numbers("f4", 1, "value")
    if sorted(pose_by_node) != list(range(NODES)):
        raise cdr.BadMessage(f"{len(pose_by_node)} raw nodes; wanted {NODES}, numbered from 0")
    poses = np.array([pose_by_node[node] for node in range(NODES)], dtype=np.float64)
    if not np.all(np.isfinite(poses)):
        raise cdr.BadMessage("a pose that is not a number")
    return ManusGlove(
        glove_id=glove_id,
        side="left" if side.startswith("l") else "right",
        position_m=poses[:, :3],
        quat_wxyz=poses[:, [6, 3, 4, 5]],
    )


def encode_glove(glove: ManusGlove) -> bytes:
    """A ManusGlove as a body, with the skeleton and nothing else."""
    out = bytearray()
    put(out, "i", glove.glove_id)
    put_string(out, glove.side.capitalize())
    put(out, "iI", len(glove.position_m), len(glove.position_m))
    for node, (position, quat) in enumerate(zip(glove.position_m, glove.quat_wxyz, strict=True)):
        put(out, "ii", node, max(node - 1, 0))
        put_string(out, "")
        put_string(out, "")
        put(out, "7d", *position, *quat[1:], quat[0])
    put(out, "iI", 0, 0)  # no ergonomics
    put(out, "4d", 0.0, 0.0, 0.0, 1.0)  # raw_sensor_orientation
    put(out, "iI", 0, 0)  # no raw sensors
    return bytes(out)
