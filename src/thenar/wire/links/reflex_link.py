"""The ReFlex hand's driver on ROS 2: topics and services under ``/reflex_takktile``, for any middleware.

The maker's driver is a ROS 1 package. This is its interface in ROS 2 types of the same names and fields.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from thenar.hands.spec import HandSpec
from thenar.signals import HandSettings, HandState, Request, TouchFrame
from thenar.wire.codecs import reflex_codec
from thenar.wire.codecs import reflex_counts as counts
from thenar.wire.codecs.cdr import BadMessage
from thenar.wire.codecs.reflex_board import STATE_HZ, Board
from thenar.wire.codecs.reflex_codec import COMMANDS, DONE, HAND, NAMESPACE, SERVICES, STATE_TOPIC, TYPES
from thenar.wire.links import reflex_driver
from thenar.wire.links.inbox import LinkHealth, PeerStats
from thenar.wire.links.pace import Pace
from thenar.wire.links.reflex_driver import Driver
from thenar.wire.links.ros_node import RosNode
from thenar.wire.rtps import ros

NODE = "reflex_takktile"

_COMMANDED: dict[str, Callable[..., Driver]] = {
    "command_position": reflex_driver.to_pose,
    "command_velocity": reflex_driver.at_velocity,
    "command_motor_force": reflex_driver.hold_load,
    "raw_hand_command": reflex_driver.to_raw,
    "radian_hand_command": reflex_driver.to_radians,
}
_CALLED: dict[str, Callable[[Driver], Driver]] = {
    "calibrate_fingers": reflex_driver.calibrate_fingers,
    "calibrate_tactile": reflex_driver.calibrate_tactile,
    "zero_pose": reflex_driver.zero_pose,
    "disable_torque": reflex_driver.release,
    "enable_tactile_stops": partial(reflex_driver.stop_on_touch, on=True),
    "disable_tactile_stops": partial(reflex_driver.stop_on_touch, on=False),
}


class ReflexNode:
    """The twin's side: a ROS 2 node that is the hand's driver."""

    wire = "reflex"

    def __init__(
        self,
        hands: Sequence[HandSpec],
        *,
        domain: int = 0,
        interface: str = "lo",
        peers: tuple[str, ...] = (),
        state_hz: float = STATE_HZ,
        layout: ros.Layout = "humble",
    ):
        """Join a ROS 2 domain.

        Args:
            hands: Hands of the twin, a ReFlex among them.
            domain: ``ROS_DOMAIN_ID``.
            interface: Network interface.
            peers: Addresses to look for programs at where multicast does not reach.
            state_hz: How often the hand's state is read and published.
            layout: Which ROS 2 shows us in ``ros2 node list``: Humble and Jazzy differ.
        """
        self._board = Board(hands)
        self._pace = Pace(state_hz)
        self._driver = Driver()
        self._lock = threading.Lock()  # commands and states come on threads of their own
        self._node = RosNode(NODE, TYPES, domain=domain, interface=interface, peers=peers, layout=layout)
        self._inbox = self._node.inbox
        self.tell_status = self._node.tell_status
        self._states = self._node.advertise(STATE_TOPIC, HAND)
        for topic, kind in COMMANDS.items():
            self._node.subscribe(f"{NAMESPACE}/{topic}", kind, partial(self._hear, topic))
        for service in SERVICES:
            self._node.serve(f"{NAMESPACE}/{service.name}", service, partial(self._answer, service.name))
        self._node.show()

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        return self._inbox.drain()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """When it is time: let the driver react to the newest state, and publish what it makes of it."""
        state = hands[self._board.hand.name][0]
        if not self._pace.is_due(state.stamp_s):
            return
        reading = self._board.read(state)
        with self._lock:
            before = self._driver
            self._driver, message = reflex_driver.hear(before, reading)
            self._pass_on(before, "the ReFlex driver itself")
        self._states.write(reflex_codec.encode_hand(message))

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Keep what the barometers feel for the next state; the first time counts as untouched."""
        if self._board.feel(frames):
            self._change(reflex_driver.calibrate_tactile)

    def health(self) -> LinkHealth:
        """How it is doing."""
        return self._node.health(self.wire, f"{STATE_TOPIC}, {NAMESPACE}/command* and services")

    def close(self) -> None:
        """Leave the domain."""
        self._node.close()

    def _hear(self, topic: str, stats: PeerStats, body: bytes) -> None:
        try:
            values = reflex_codec.decode_numbers(topic, body)
        except BadMessage as error:
            self._inbox.refuse(f"{topic} refused: {error}")
            return
        if topic == "command":
            self._change(lambda driver: reflex_driver.to_pose_at(driver, values[:4], values[4:]), stats.who)
        else:
            self._change(lambda driver: _COMMANDED[topic](driver, values), stats.who)

    def _answer(self, service: str, body: bytes) -> bytes | None:
        if service == "set_speed":
            speeds = reflex_codec.speeds_of(body)
            if speeds is None:
                self._inbox.refuse("set_speed refused: numbers that are none")
                return DONE  # the message has no way to say no
            self._change(lambda driver: reflex_driver.set_speed(driver, speeds))
        elif service == "set_tactile_threshold":
            thresholds = reflex_codec.thresholds_of(body)
            self._change(lambda driver: reflex_driver.set_threshold(driver, thresholds))
        else:
            self._change(_CALLED[service])
        return DONE

    def _change(self, make: Callable[[Driver], Driver], sender: str = "a ROS 2 service call") -> None:
        with self._lock:
            before = self._driver
            self._driver = make(before)
            self._pass_on(before, sender)

    def _pass_on(self, before: Driver, sender: str) -> None:
        """Tell the motors what changed."""
        now = self._driver
        same = (
            np.array_equal(now.target_raw, before.target_raw, equal_nan=True)
            and np.array_equal(now.speed_rad_s, before.speed_rad_s)
            and now.torque_on == before.torque_on
        )
        if not same:
            speed_rad_s = counts.driven_speed_rad_s(now.speed_rad_s)
            command = self._board.command(now.target_raw, speed_rad_s, now.torque_on)
            self._inbox.put(
                Request(hand=self._board.hand.name, sender=sender, arrived_s=time.perf_counter(), command=command)
            )
