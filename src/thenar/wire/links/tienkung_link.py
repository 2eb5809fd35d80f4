"""Tienkung's hands on ROS 2 without ROS 2: topics and services under ``/inspire_hand``, for any middleware."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand, HandSettings, HandState, Request, TouchFrame
from thenar.wire.codecs import inspire_counts, tienkung_codec
from thenar.wire.codecs.cdr import BadMessage
from thenar.wire.codecs.inspire_counts import Readings, Scale
from thenar.wire.codecs.tienkung_codec import JOINT_STATE, SERVICES, TYPES
from thenar.wire.links.inbox import LinkHealth, PeerStats
from thenar.wire.links.pace import Pace
from thenar.wire.links.ros_node import RosNode
from thenar.wire.rtps import ros

NODE = "inspire_hand"
STATE_HZ = 25.0
"""As on the robot."""


class TienkungNode:
    """The twin's side: a ROS 2 node that publishes states, hears commands and answers services."""

    wire = "tienkung"

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
            hands: One or two Inspire hands.
            domain: ``ROS_DOMAIN_ID``.
            interface: Network interface.
            peers: Addresses to look for programs at where multicast does not reach.
            state_hz: How often states are published.
            layout: Which ROS 2 shows us in ``ros2 node list``: Humble and Jazzy differ.
        """
        self._scales = inspire_counts.sides([Scale.of(spec) for spec in hands])
        self._readings: dict[str, Readings] = {}
        self._pace = Pace(state_hz)
        self._node = RosNode(NODE, TYPES, domain=domain, interface=interface, peers=peers, layout=layout)
        self._inbox = self._node.inbox
        self.tell_status = self._node.tell_status
        self._states = {
            side: self._node.advertise(tienkung_codec.state_topic(side), JOINT_STATE) for side in self._scales
        }
        for side, scale in self._scales.items():
            self._node.subscribe(tienkung_codec.control_topic(side), JOINT_STATE, partial(self._hear, scale))
            for service in SERVICES:
                self._node.serve(
                    tienkung_codec.service_path(service.name, side),
                    service,
                    self._handler(service.name, scale),
                    check=tienkung_codec.flexible_refusal if service.request_bytes is None else None,
                )
        self._node.show()

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        return self._inbox.drain()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Keep the newest state for the services, and publish it when it is time."""
        states = {side: hands[scale.hand][0] for side, scale in self._scales.items()}
        self._readings = {side: inspire_counts.readings(self._scales[side], state) for side, state in states.items()}
        if not self._pace.is_due(next(iter(states.values())).stamp_s):
            return
        stamp_s = time.time()
        for side, state in states.items():
            message = tienkung_codec.joint_state_of(self._scales[side], state, self._readings[side], stamp_s=stamp_s)
            self._states[side].write(tienkung_codec.encode_joint_state(message))

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """This interface carries no touch."""

    def health(self) -> LinkHealth:
        """How it is doing."""
        return self._node.health(self.wire, "/inspire_hand/{state,ctrl}/{left,right}_hand and services")

    def close(self) -> None:
        """Leave the domain."""
        self._node.close()

    def _hear(self, scale: Scale, stats: PeerStats, body: bytes) -> None:
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
            self._put(scale, sender=stats.who, command=command)

    def _put(
        self,
        scale: Scale,
        *,
        sender: str = "a ROS 2 service call",
        command: HandCommand | None = None,
        clear_errors: bool = False,
    ) -> None:
        self._inbox.put(
            Request(
                hand=scale.hand,
                sender=sender,
                arrived_s=time.perf_counter(),
                command=command,
                clear_errors=clear_errors,
            )
        )

    def _handler(self, name: str, scale: Scale) -> Callable[[bytes], bytes | None]:
        makers = {
            "set_angle": tienkung_codec.angle_command,
            "set_force": tienkung_codec.force_command,
            "set_speed": tienkung_codec.speed_command,
        }
        if name == "set_angle_flexible":
            return partial(self._set_flexible, scale)
        if name in makers:
            return partial(self._set_six, scale, makers[name])
        if name == "set_clear_error":
            return partial(self._clear, scale)
        return partial(self._get, name, scale)

    def _set_flexible(self, scale: Scale, body: bytes) -> bytes:
        names, ratios = tienkung_codec.flexible_request(body)
        command, unknown, outside = tienkung_codec.command_by_name(scale, names, ratios)
        # A service says whether it did what was asked, so it does all of it or nothing.
        if unknown or outside or command is None:
            self._inbox.refuse("set_angle_flexible answered false: names or ratios are off")
            return tienkung_codec.encode_accepted(False)
        self._put(scale, command=command)
        return tienkung_codec.encode_accepted(True)

    def _set_six(self, scale: Scale, make: Callable[..., HandCommand], body: bytes) -> bytes:
        ratios = tienkung_codec.six_ratios(body)
        if ratios is None:
            self._inbox.refuse("a request answered false: ratios outside 0 to 1")
            return tienkung_codec.encode_accepted(False)
        self._put(scale, command=make(scale, ratios))
        return tienkung_codec.encode_accepted(True)

    def _clear(self, scale: Scale, _body: bytes) -> bytes:
        self._put(scale, clear_errors=True)
        return tienkung_codec.encode_accepted(True)

    def _get(self, name: str, scale: Scale, _body: bytes) -> bytes | None:
        readings = self._readings.get(scale.side)
        if readings is None:
            return None
        if name == "get_angle_act":
            return tienkung_codec.encode_ratios(readings.angle / 1000)
        if name == "get_force_act":
            return tienkung_codec.encode_ratios(readings.force / 1000)
        return tienkung_codec.encode_codes(readings.error if name == "get_error" else readings.status)
