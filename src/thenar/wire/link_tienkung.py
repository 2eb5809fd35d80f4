"""Tienkung's hands on ROS 2 without ROS 2: topics and services under ``/inspire_hand``, for any middleware."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand, HandSettings, HandState, Request, TouchFrame
from thenar.wire import codec_status, codec_tienkung, counts
from thenar.wire.cdr import BadMessage
from thenar.wire.codec_tienkung import JOINT_STATE, SERVICES, TYPES, ServiceType
from thenar.wire.counts import Readings, Scale
from thenar.wire.inbox import TWIN_NAME, Inbox, LinkHealth, Talk
from thenar.wire.rtps import LATCHED, SENSOR_DATA, Participant, Sample, Service, Writer, ros
from thenar.wire.rtps.type_hash import type_hash

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
        self._inbox = Inbox()
        self._status: Writer | None = None
        self._talks: dict[bytes, Talk] = {}
        self._scales = counts.sides([Scale.of(spec) for spec in hands])
        self._readings: dict[str, Readings] = {}
        self._period_s = 1.0 / state_hz
        self._due_s = -np.inf
        self._participant = Participant(
            domain, interface=interface, peers=peers or ("127.0.0.1",), name=TWIN_NAME, user_data=ros.ENCLAVE
        )
        kind, hashed = ros.message_type(JOINT_STATE), ros.type_hash_data(type_hash(JOINT_STATE, TYPES))
        self._states = {
            side: self._participant.advertise(ros.topic_name(codec_tienkung.state_topic(side)), kind, user_data=hashed)
            for side in self._scales
        }
        self._controls = [
            self._participant.subscribe(
                ros.topic_name(codec_tienkung.control_topic(side)),
                kind,
                partial(self._hear, scale),
                qos=SENSOR_DATA,  # matches whatever quality a program offers
                user_data=hashed,
            )
            for side, scale in self._scales.items()
        ]
        self._services = [self._serve(service, scale) for scale in self._scales.values() for service in SERVICES]
        self._node = ros.Node(self._participant, NODE, layout=layout)
        self._node.show([*self._states.values(), *self._controls, *self._services])

    def receive(self) -> list[Request]:
        """Requests since the last call."""
        return self._inbox.drain()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Keep the newest state for the services, and publish it when it is time."""
        states = {side: hands[scale.hand][0] for side, scale in self._scales.items()}
        self._readings = {side: counts.readings(self._scales[side], state) for side, state in states.items()}
        now_s = next(iter(states.values())).stamp_s
        if now_s < self._due_s - 1e-6:
            return
        # In step with the plan, unless the clock was set back or the twin was away.
        late_s = now_s - self._due_s
        self._due_s = self._due_s + self._period_s if 0.0 <= late_s < self._period_s else now_s + self._period_s
        stamp_s = time.time()
        for side, state in states.items():
            message = codec_tienkung.joint_state_of(self._scales[side], state, self._readings[side], stamp_s=stamp_s)
            self._states[side].write(codec_tienkung.encode_joint_state(message))

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """This interface carries no touch."""

    def health(self) -> LinkHealth:
        """How it is doing."""
        health = self._participant.health()
        return LinkHealth(
            wire=self.wire,
            where="/inspire_hand/{state,ctrl}/{left,right}_hand and services",
            listeners=max((len(e.matched) for e in health.endpoints if e.kind == "writer"), default=0),
            written=sum(e.samples for e in health.endpoints if e.kind == "writer"),
            not_written=0,
            peers=tuple(talk.health("ctrl") for talk in list(self._talks.values())),
            refused=dict(self._inbox.refused) | health.refusals,
        )

    def tell_status(self, health: Any) -> None:
        """Publish how a twin is doing, for `thenar inspect`; latecomers get the newest."""
        if self._status is None:
            self._status = self._participant.advertise(codec_status.TOPIC, codec_status.TYPE, qos=LATCHED)
        self._status.write(codec_status.encode_status(health))

    def close(self) -> None:
        """Leave the domain."""
        self._participant.close()

    def _hear(self, scale: Scale, sample: Sample) -> None:
        talk = self._talk(sample.identity.guid[:12])
        talk.hear(time.perf_counter())
        try:
            message = codec_tienkung.decode_joint_state(sample.body)
            command, unknown, outside = codec_tienkung.command_by_name(scale, message.name, message.position)
        except BadMessage as error:
            self._inbox.refuse(f"ctrl refused: {error}")
            return
        if unknown:
            self._inbox.refuse("names that are not '1' to '6'", unknown)
        if outside:
            self._inbox.refuse("ratios outside 0 to 1", outside)
        if command is not None:
            self._put(scale, sender=talk.who, command=command)

    def _talk(self, prefix: bytes) -> Talk:
        """What a participant has said."""
        if prefix not in self._talks:
            peers = {bytes.fromhex(peer.guid_prefix): peer for peer in self._participant.health().peers}
            peer = peers.get(prefix)
            who = f"{peer.name or 'a program'} ({peer.vendor}) at {peer.host}" if peer else "a ROS 2 program"
            self._talks = {known: talk for known, talk in self._talks.items() if known in peers} | {prefix: Talk(who)}
        return self._talks[prefix]

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

    def _serve(self, service: ServiceType, scale: Scale) -> Service:
        flexible = service.request_bytes is None
        request, response = (f"{service.type_name}_{end}" for end in ("Request", "Response"))
        types = {request: service.request, response: service.response}
        return self._participant.serve(
            ros.service_names(codec_tienkung.service_path(service.name, scale.side), service.type_name),
            self._handler(service.name, scale),
            body_bytes=service.request_bytes,
            check=codec_tienkung.flexible_refusal if flexible else None,
            request_user_data=ros.type_hash_data(type_hash(request, types)),
            reply_user_data=ros.type_hash_data(type_hash(response, types)),
        )

    def _handler(self, name: str, scale: Scale) -> Callable[[bytes], bytes | None]:
        makers = {
            "set_angle": codec_tienkung.angle_command,
            "set_force": codec_tienkung.force_command,
            "set_speed": codec_tienkung.speed_command,
        }
        if name == "set_angle_flexible":
            return partial(self._set_flexible, scale)
        if name in makers:
            return partial(self._set_six, scale, makers[name])
        if name == "set_clear_error":
            return partial(self._clear, scale)
        return partial(self._get, name, scale)

    def _set_flexible(self, scale: Scale, body: bytes) -> bytes:
        names, ratios = codec_tienkung.flexible_request(body)
        command, unknown, outside = codec_tienkung.command_by_name(scale, names, ratios)
        # A service says whether it did what was asked, so it does all of it or nothing.
        if unknown or outside or command is None:
            self._inbox.refuse("set_angle_flexible answered false: names or ratios are off")
            return codec_tienkung.encode_accepted(False)
        self._put(scale, command=command)
        return codec_tienkung.encode_accepted(True)

    def _set_six(self, scale: Scale, make: Callable[..., HandCommand], body: bytes) -> bytes:
        ratios = codec_tienkung.six_ratios(body)
        if ratios is None:
            self._inbox.refuse("a request answered false: ratios outside 0 to 1")
            return codec_tienkung.encode_accepted(False)
        self._put(scale, command=make(scale, ratios))
        return codec_tienkung.encode_accepted(True)

    def _clear(self, scale: Scale, _body: bytes) -> bytes:
        self._put(scale, clear_errors=True)
        return codec_tienkung.encode_accepted(True)

    def _get(self, name: str, scale: Scale, _body: bytes) -> bytes | None:
        readings = self._readings.get(scale.side)
        if readings is None:
            return None
        if name == "get_angle_act":
            return codec_tienkung.encode_ratios(readings.angle / 1000)
        if name == "get_force_act":
            return codec_tienkung.encode_ratios(readings.force / 1000)
        return codec_tienkung.encode_codes(readings.error if name == "get_error" else readings.status)
