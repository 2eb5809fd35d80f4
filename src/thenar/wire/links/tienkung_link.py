"""Tienkung's hands on ROS 2 without ROS 2: topics and services under ``/inspire_hand``, for any middleware."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from thenar.cdr import BadMessage
from thenar.pace import Pace
from thenar.signals import HandCommand, HandSettings, HandState
from thenar.wire.codecs import inspire_counts, tienkung_codec
from thenar.wire.codecs.inspire_counts import Readings, Scale
from thenar.wire.codecs.tienkung_codec import JOINT_STATE, REPLIES, SERVICES, TYPES
from thenar.wire.links.registry import LinkContext
from thenar.wire.links.ros_node import RosNode

_SETTERS: dict[str, Callable[..., HandCommand]] = {
    "set_angle": tienkung_codec.angle_command,
    "set_force": tienkung_codec.force_command,
    "set_speed": tienkung_codec.speed_command,
}


class TienkungNode(RosNode):
    """The twin's side: a ROS 2 node that publishes states, hears commands and answers services."""

    wire = "tienkung"
    where = "/inspire_hand/{state,ctrl}/{left,right}_hand and services"

    def __init__(self, context: LinkContext):
        """Join a ROS 2 domain with one or two Inspire hands."""
        self._scales = {side: Scale.of(spec) for side, spec in context.by_side.items()}
        self._readings: dict[str, Readings] = {}
        self._pace = Pace(context.config.publish_hz("tienkung"))
        super().__init__("inspire_hand", TYPES, context)
        self._states = {side: self.publish(tienkung_codec.state_topic(side), JOINT_STATE) for side in self._scales}
        for side, scale in self._scales.items():
            self.listen(tienkung_codec.control_topic(side), JOINT_STATE, partial(self._on_control, scale))
        self.show()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Keep the newest state for the services, which are there from the first one on, and publish it in time."""
        states = {side: hands[scale.hand][0] for side, scale in self._scales.items()}
        began = bool(self._readings)
        self._readings = {side: inspire_counts.readings(self._scales[side], state) for side, state in states.items()}
        if not began:
            self._offer_services()
        if not self._pace.is_due(next(iter(states.values())).stamp_s):
            return
        stamp_s = time.time() + self.line.clock_s
        for side, state in states.items():
            message = tienkung_codec.joint_state_of(self._scales[side], state, self._readings[side], stamp_s=stamp_s)
            self._states[side].post(tienkung_codec.encode_joint_state(message))

    def _on_control(self, scale: Scale, sender: str, body: bytes) -> None:
        try:
            message = tienkung_codec.decode_joint_state(body)
            command, unknown, outside = tienkung_codec.command_by_name(scale, message.name, message.position)
        except BadMessage as error:
            self._inbox.refuse(f"ctrl refused: {error}")
            return
        if unknown:
            self._inbox.refuse("names that are not '1' to '6'", unknown)
        if outside:
            self._inbox.refuse("ratios outside 0 to 1", outside)
        if command is not None:
            self.request(scale.hand, sender, command=command)

    def _offer_services(self) -> None:
        checks = {"set_angle_flexible": tienkung_codec.flexible_refusal} | dict.fromkeys(REPLIES, _take_any)
        for side, scale in self._scales.items():
            for service in SERVICES:
                answer, check = partial(self._answer, service.name, scale), checks.get(service.name)
                path = tienkung_codec.service_path(service.name, side)
                self.serve(path, service, answer, refusal=bytes([False]), check=check)
        self.show()

    def _answer(self, service: str, scale: Scale, body: bytes) -> bytes:
        if service in REPLIES:
            return REPLIES[service](self._readings[scale.side])
        if service == "set_clear_error":
            self.request(scale.hand, clear_errors=True)
            return bytes([True])
        if service == "set_angle_flexible":
            command, unknown, outside = tienkung_codec.command_by_name(scale, *tienkung_codec.flexible_request(body))
            # A service says whether it did what was asked, so it does all of it or nothing.
            command, why = None if unknown or outside else command, f"{service} answered false: names or ratios are off"
        else:
            ratios, why = tienkung_codec.six_ratios(body), "a request answered false: ratios outside 0 to 1"
            command = None if ratios is None else _SETTERS[service](scale, ratios)
        if command is None:
            self._inbox.refuse(why)
        else:
            self.request(scale.hand, command=command)
        return bytes([command is not None])


def _take_any(_body: bytes) -> None:
    """Let any body pass: who only asks for readings gets them."""
