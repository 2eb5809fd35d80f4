"""A link that is a ROS 2 node: topics and services on our own participant, and who talks to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from thenar.wire.codecs.service_definition import RosService
from thenar.wire.links.dds_link import DdsLink
from thenar.wire.links.registry import LinkContext
from thenar.wire.rtps import SENSOR_DATA, Reader, Sample, Service, Writer, ros
from thenar.wire.rtps.type_hash import Fields, type_hash

SERVICE_CALLER = "a ROS 2 service call"
"""Sender of requests by service: they do not say who calls."""


class RosNode(DdsLink):
    """A node that others find; links of hands on ROS 2 derive from it."""

    def __init__(self, name: str, types: Mapping[str, Fields], context: LinkContext):
        """Join a ROS 2 domain.

        Args:
            name: Of the node.
            types: Fields of every message type it uses.
            context: The participant.
        """
        super().__init__(context.participant)
        self._types = types
        self._node = ros.Node(self._participant, name)

    def publish(self, topic: str, type_name: str) -> Writer:
        """Announce a topic, by its ROS 2 name and type."""
        names = ros.topic_name(topic), ros.message_type(type_name)
        return self._keep(self._participant.advertise(*names, user_data=_hash(type_name, self._types)))

    def listen(self, topic: str, type_name: str, on_message: Callable[[str, bytes], None]) -> Reader:
        """Listen to a topic, from writers of any quality: who sent, and the body."""

        def on_sample(sample: Sample) -> None:
            on_message(self._record(topic, sample, time.perf_counter()), sample.body)

        names = ros.topic_name(topic), ros.message_type(type_name)
        user_data = _hash(type_name, self._types)
        return self._keep(self._participant.subscribe(*names, on_sample, qos=SENSOR_DATA, user_data=user_data))

    def serve(
        self,
        path: str,
        service: RosService,
        handler: Callable[[bytes], bytes],
        *,
        refusal: bytes,
        check: Callable[[bytes], str | None] | None = None,
    ) -> Service:
        """Answer a service; the refusal is the reply to what cannot be a request."""
        request, response = (f"{service.type_name}_{end}" for end in ("Request", "Response"))
        types = {**self._types, request: service.request, response: service.response}
        return self._keep(
            self._participant.serve(
                ros.service_names(path, service.type_name),
                handler,
                refusal=refusal,
                body_bytes=None if check else service.request_bytes,
                check=check,
                request_user_data=_hash(request, types),
                reply_user_data=_hash(response, types),
            )
        )

    def show(self) -> None:
        """Let ``ros2 node info`` list what was made so far."""
        self._node.show(self._ends)

    def request(self, hand: str, sender: str = SERVICE_CALLER, **asked: Any) -> None:
        """Leave a request for the loop."""
        self._inbox.put(hand, sender, **asked)


def _hash(type_name: str, types: Mapping[str, Fields]) -> bytes:
    return ros.type_hash_data(type_hash(type_name, types))
