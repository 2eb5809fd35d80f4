"""A hand that follows a glove, on ROS 2 without ROS 2: ``joint_states`` and ``hand_markers`` of the original method."""

from __future__ import annotations

import time

from thenar.hands.spec import HandSpec
from thenar.signals import FloatArray
from thenar.wire.codecs.markers_codec import MARKER_ARRAY, encode_spheres
from thenar.wire.codecs.tienkung_codec import JOINT_STATE, TYPES, JointState, encode_joint_state
from thenar.wire.links.inbox import TWIN_NAME
from thenar.wire.rtps import Participant, ros
from thenar.wire.rtps.type_hash import type_hash

NODE, GLOVE_FRAME = "hand_animator", "manus"


class FollowNode:
    """Publishes what a hand should do and the skeleton it follows."""

    def __init__(
        self, hand: HandSpec, *, domain: int = 0, interface: str = "lo", peers: tuple[str, ...] = ("127.0.0.1",)
    ):
        """Join a ROS 2 domain."""
        self._names, self._order = _published_joints(hand)
        self._participant = Participant(domain, interface=interface, peers=peers, name=TWIN_NAME, user_data=ros.ENCLAVE)
        hashed = ros.type_hash_data(type_hash(JOINT_STATE, TYPES))
        self._states = self._participant.advertise(
            ros.topic_name("/joint_states"), ros.message_type(JOINT_STATE), user_data=hashed
        )
        self._markers = self._participant.advertise(ros.topic_name("/hand_markers"), ros.message_type(MARKER_ARRAY))
        self._node = ros.Node(self._participant, NODE)
        self._node.show([self._states, self._markers])

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
        state = JointState(stamp_s=now_s, name=self._names, position=joint_rad[self._order])
        self._states.write(encode_joint_state(state))
        if finger_m is not None:
            self._markers.write(encode_spheres(finger_m[1:], frame_id=GLOVE_FRAME, stamp_s=now_s))


def _published_joints(hand: HandSpec) -> tuple[tuple[str, ...], list[int]]:
    """Names as published, and where they stand in the spec: Shadow's are the original's, with its prefix and order."""
    names = list(hand.joint_names)
    if "FFJ4" not in names:
        return tuple(names), list(range(len(names)))
    prefix = "lh_" if hand.side == "left" else "rh_"
    digits = (("TH", "54321"), ("FF", "4321"), ("MF", "4321"), ("RF", "4321"), ("LF", "54321"), ("WR", "12"))
    order = [f"{finger}J{number}" for finger, numbers in digits for number in numbers]
    return tuple(prefix + name for name in order), [names.index(name) for name in order]
