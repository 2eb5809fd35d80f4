"""The ReFlex hand's driver on ROS 2: topics and services under ``/reflex_takktile``, for any middleware.

The maker's driver is a ROS 1 package. This is its interface in ROS 2 types of the same names and fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from thenar.cdr import BadMessage
from thenar.pace import Pace
from thenar.signals import HandSettings, HandState, Request, TouchFrame
from thenar.wire.codecs import reflex_codec
from thenar.wire.codecs import reflex_counts as counts
from thenar.wire.codecs.reflex_board import Board
from thenar.wire.codecs.reflex_codec import COMMANDS, DONE, HAND, NAMESPACE, SERVICES, STATE_TOPIC, TYPES
from thenar.wire.links import reflex_driver
from thenar.wire.links.inbox import Waiting
from thenar.wire.links.reflex_driver import Driver
from thenar.wire.links.registry import LinkContext
from thenar.wire.links.ros_node import SERVICE_CALLER, RosNode

CHANGES_PER_CALL = 16
_CALIBRATE_TACTILE = partial(replace, offset=None)  # the next reading counts as untouched
_CALLED: dict[str, Callable[[Driver], Driver]] = {
    "calibrate_fingers": reflex_driver.calibrate_fingers,
    "calibrate_tactile": _CALIBRATE_TACTILE,
    "zero_pose": reflex_driver.zero_pose,
    "disable_torque": reflex_driver.release,
    "enable_tactile_stops": partial(replace, tactile_stops=True),
    "disable_tactile_stops": partial(replace, tactile_stops=False),
}


class ReflexNode(RosNode):
    """The twin's side: a ROS 2 node that is the hand's driver."""

    wire = "reflex"
    where = f"{STATE_TOPIC}, {NAMESPACE}/command* and services"

    def __init__(self, context: LinkContext):
        """Join a ROS 2 domain with the ReFlex among the hands."""
        self._board = Board(context.hands)
        self._pace = Pace(context.config.publish_hz("reflex"))
        self._driver = Driver()
        super().__init__("reflex_takktile", TYPES, context)
        self._changes = Waiting[tuple[Callable[[Driver], Driver], str]](self._inbox.refused)
        """What was asked of the driver, and by whom; done on the loop's thread, like all that changes it."""
        self._states = self.publish(STATE_TOPIC, HAND)
        for topic, kind in COMMANDS.items():
            self.listen(f"{NAMESPACE}/{topic}", kind, partial(self._on_command, topic))
        for service in SERVICES:
            answer = partial(self._answer, service.name)
            self.serve(f"{NAMESPACE}/{service.name}", service, answer, refusal=DONE)  # a message that cannot say no
        self.show()

    def receive(self) -> list[Request]:
        """Let the driver do what was asked of it, some at a time; requests to the motors since the last call."""
        for make, sender in self._changes.take(CHANGES_PER_CALL):
            before = self._driver
            self._driver = make(before)
            self._pass_on(before, sender)
        return super().receive()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """When it is time: let the driver react to the newest state, and publish what it makes of it."""
        state = hands[self._board.hand.name][0]
        if not self._pace.is_due(state.stamp_s):
            return
        before = self._driver
        self._driver, message = reflex_driver.on_reading(before, self._board.read(state))
        self._pass_on(before, "the ReFlex driver itself")
        self._states.post(reflex_codec.encode_hand(message))

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Keep what the barometers feel for the next state; the first time counts as untouched."""
        if self._board.store_touch(frames):
            self._change(_CALIBRATE_TACTILE)

    def _on_command(self, topic: str, sender: str, body: bytes) -> None:
        try:
            values = reflex_codec.decode_numbers(topic, body)
        except BadMessage as error:
            self._inbox.refuse(f"{topic} refused: {error}")
            return
        self._change(lambda driver: reflex_driver.follow(driver, topic, values), sender)

    def _answer(self, service: str, body: bytes) -> bytes:
        if service == "set_speed":
            speeds = reflex_codec.speeds_of(body)
            if speeds is None:
                self._inbox.refuse("set_speed refused: numbers that are none")
                return DONE
            self._change(lambda driver: reflex_driver.set_speed(driver, speeds))
        elif service == "set_tactile_threshold":
            thresholds = reflex_codec.thresholds_of(body)
            self._change(partial(replace, threshold=thresholds))
        else:
            self._change(_CALLED[service])
        return DONE

    def _change(self, make: Callable[[Driver], Driver], sender: str = SERVICE_CALLER) -> None:
        self._changes.put((make, sender))

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
            self.request(self._board.hand.name, sender, command=command)
