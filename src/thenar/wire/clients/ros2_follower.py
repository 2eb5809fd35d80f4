"""A hand that follows a glove, on ROS 2 without ROS 2: ``joint_states``, ``hand_markers`` and the frame they are in.

Joints and links are called as in the exported URDF, so RViz shows both when ``robot_state_publisher`` has that file.
"""

from __future__ import annotations

import struct
import time

import numpy as np

from thenar.cdr import put, put_string, ros_time
from thenar.hands.export.export_parts import link_name
from thenar.hands.rotations import quat_wxyz_from_matrix
from thenar.hands.spec import HandSpec
from thenar.signals import FloatArray
from thenar.wire.codecs.tienkung_codec import JOINT_STATE, TYPES, JointState, encode_joint_state
from thenar.wire.links.inbox import TWIN_NAME
from thenar.wire.rtps import LATCHED, Participant, ros
from thenar.wire.rtps.type_hash import type_hash

NODE, GLOVE_FRAME = "hand_animator", "manus"
TF_MESSAGE = "tf2_msgs/msg/TFMessage"
MARKER_ARRAY = "visualization_msgs/msg/MarkerArray"
SPHERE, ADD = 2, 0
SPHERE_M = 0.01
GREEN = (0.1, 0.8, 0.2, 1.0)


class FollowNode:
    """Publishes what a hand should do and the skeleton it follows."""

    def __init__(
        self,
        hand: HandSpec,
        *,
        glove_m: FloatArray,
        glove_R: FloatArray,
        namespaced: bool = False,
        domain: int = 0,
        interface: str = "lo",
        peers: tuple[str, ...] = (),
    ):
        """Join a ROS 2 domain.

        Args:
            hand: The hand that follows.
            glove_m: Where the glove's root is, in the hand's root link [m].
            glove_R: How its palm axes lie there.
            namespaced: Put topics and the glove's frame below the hand's name: two hands may have joints of one name.
            domain: ``ROS_DOMAIN_ID``.
            interface: Network interface.
            peers: Addresses to look for programs at where multicast does not reach.
        """
        self._names = hand.joint_names
        below = f"/{hand.name}" if namespaced else ""
        self._frame = f"{hand.name}/{GLOVE_FRAME}" if namespaced else GLOVE_FRAME
        self._participant = Participant(domain, interface=interface, peers=peers, name=TWIN_NAME, user_data=ros.ENCLAVE)
        hashed = ros.type_hash_data(type_hash(JOINT_STATE, TYPES))
        self._states = self._participant.advertise(
            ros.topic_name(f"{below}/joint_states"), ros.message_type(JOINT_STATE), user_data=hashed
        )
        self._markers = self._participant.advertise(
            ros.topic_name(f"{below}/hand_markers"), ros.message_type(MARKER_ARRAY)
        )
        frames = self._participant.advertise(ros.topic_name("/tf_static"), ros.message_type(TF_MESSAGE), qos=LATCHED)
        frames.write(encode_frame(link_name(hand.root), self._frame, glove_m, glove_R, stamp_s=time.time()))
        self._node = ros.Node(self._participant, NODE)
        self._node.show([self._states, self._markers, frames])

    def __enter__(self) -> FollowNode:
        """The node itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the domain."""
        self._participant.close()

    def publish(self, joint_rad: FloatArray, finger_m: FloatArray | None) -> None:
        """Publish joint angles in the order of the spec [rad] and the glove's 21 nodes [m], the root left out.

        Without nodes the glove is silent and the skeleton stays as it was.
        """
        now_s = time.time()
        state = JointState(stamp_s=now_s, name=self._names, position=joint_rad)
        self._states.write(encode_joint_state(state))
        if finger_m is not None:
            self._markers.write(encode_spheres(finger_m[1:], frame_id=self._frame, stamp_s=now_s))


def encode_spheres(points_m: FloatArray, *, frame_id: str, stamp_s: float) -> bytes:
    """A MarkerArray of Humble and Jazzy with one sphere at each point, as a body. Shape of points (n, 3)."""
    out = bytearray(struct.pack("<I", len(points_m)))
    seconds, nanoseconds = ros_time(stamp_s)
    for number, point in enumerate(np.asarray(points_m, dtype=np.float64)):
        put(out, "iI", seconds, nanoseconds)
        put_string(out, frame_id)
        put_string(out, "hand")
        put(out, "iii", number, SPHERE, ADD)
        put(out, "10d", *point, 0.0, 0.0, 0.0, 1.0, *[SPHERE_M] * 3)  # place, orientation, size
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


def encode_frame(parent: str, child: str, pos_m: FloatArray, R: FloatArray, *, stamp_s: float) -> bytes:
    """A TFMessage with one frame in another, as a body."""
    out = bytearray(struct.pack("<I", 1))
    put(out, "iI", *ros_time(stamp_s))
    put_string(out, parent)
    put_string(out, child)
    w, x, y, z = quat_wxyz_from_matrix(R).tolist()
    put(out, "7d", *pos_m.tolist(), x, y, z, w)
    return bytes(out)
