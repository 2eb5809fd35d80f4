"""A client of the topics that a simulator has and a hand has not: for twins and Unitree's simulator alike."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import Any, Literal

from thenar import cdr
from thenar.signals import Pose
from thenar.wire.codecs import sim_codec, status_codec
from thenar.wire.codecs.sim_codec import POSE_TOPIC, RESET_TOPIC, STATE_TOPIC, STRING
from thenar.wire.links.dds_link import send
from thenar.wire.rtps import LATCHED, SENSOR_DATA, Participant, Qos, Sample


class SimClient:
    """Client of Unitree's simulator topics: resets it, moves objects and wrists, keeps the newest state."""

    def __init__(self, participant: Participant):
        """Listen."""
        self._reset, self._poses = (
            participant.advertise(topic, STRING, qos=Qos(depth=1)) for topic in (RESET_TOPIC, POSE_TOPIC)
        )
        self.state: dict[str, Any] | None = None
        """The newest state, see `sim_codec.decode_state`."""
        self.resets: dict[bytes, int] = {}
        """How often each twin says that it was reset; Unitree's simulator does not say."""
        self._states = 0
        self._news = threading.Condition()
        participant.subscribe(STATE_TOPIC, STRING, self._on_state, qos=SENSOR_DATA)
        participant.subscribe(status_codec.TOPIC, status_codec.TYPE, self._on_status, qos=LATCHED)

    def wait_until_heard(self, timeout_s: float) -> bool:
        """Wait until a simulator listens to resets; False if none does in time."""
        return self._reset.wait_for_readers(timeout_s)

    def reset(self, what: Literal["objects", "all"]) -> None:
        """Ask for a reset."""
        text = next(text for text, meant in sim_codec.RESETS.items() if meant == what)
        send(self._reset, sim_codec.encode_text(text))

    def place(self, *, objects: Mapping[str, Pose] | None = None, wrists: Mapping[str, Pose] | None = None) -> None:
        """Put objects somewhere and send wrists somewhere, see `thenar.World.place`."""
        send(self._poses, sim_codec.encode_poses(objects or {}, wrists or {}))

    def wait_for_state(self, timeout_s: float) -> bool:
        """Wait for the next state; False if none comes in time."""
        with self._news:
            before = self._states
            return self._news.wait_for(lambda: self._states > before, timeout_s)

    def wait_for_resets(self, count: int, timeout_s: float) -> bool:
        """Wait until twins say that they were reset so many times in all; False if they do not in time."""
        with self._news:
            return self._news.wait_for(lambda: sum(self.resets.values()) >= count, timeout_s)

    def _on_state(self, sample: Sample) -> None:
        with self._news, contextlib.suppress(cdr.BadMessage):
            self.state = sim_codec.decode_state(cdr.HEADER + sample.body)
            self._states += 1
            self._news.notify_all()

    def _on_status(self, sample: Sample) -> None:
        with self._news, contextlib.suppress(cdr.BadMessage):
            resets = status_codec.decode_status(cdr.HEADER + sample.body).get("resets")
            if isinstance(resets, int):
                self.resets[sample.identity.guid] = resets
                self._news.notify_all()
