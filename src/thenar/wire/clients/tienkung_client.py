"""A client of Tienkung's hands on ROS 2 without ROS 2, twin or real: opening ratios both ways."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from thenar.cdr import BadMessage
from thenar.hands.spec import HandSpec
from thenar.wire.codecs import tienkung_codec
from thenar.wire.codecs.inspire_counts import Scale
from thenar.wire.codecs.tienkung_codec import FINGER_IDS, JOINT_STATE, JointState
from thenar.wire.rtps import SENSOR_DATA, Participant, Qos, Sample, ros


class TienkungClient:
    """Sends control messages to one hand and keeps its newest state."""

    def __init__(self, participant: Participant, spec: HandSpec):
        """Listen to a hand."""
        side = Scale.of(spec).side
        self.opened: NDArray[np.float32] | None = None
        """How far open each motor is, in the order of the wire."""
        self._news, self._received = threading.Condition(), 0
        kind = ros.message_type(JOINT_STATE)
        self._control = participant.advertise(
            ros.topic_name(tienkung_codec.control_topic(side)), kind, qos=Qos(depth=1)
        )
        participant.subscribe(ros.topic_name(tienkung_codec.state_topic(side)), kind, self._on_state, qos=SENSOR_DATA)

    def wait_until_heard(self, timeout_s: float) -> bool:
        """Wait until somebody listens to commands; False if nobody does in time."""
        return self._control.wait_for_readers(timeout_s)

    def send(self, opened: dict[str, float]) -> None:
        """Send how far open fingers shall be, by their ids ('1' little to '6' thumb rotation)."""
        message = JointState(name=tuple(opened), position=list(opened.values()))
        self._control.write(tienkung_codec.encode_joint_state(message))

    def wait_for_news(self, *, timeout_s: float) -> bool:
        """Wait for the next state; False if none comes in time."""
        with self._news:
            before = self._received
            return self._news.wait_for(lambda: self._received > before, timeout_s)

    def _on_state(self, sample: Sample) -> None:
        try:
            state = tienkung_codec.decode_joint_state(bytes(sample.body))
        except BadMessage:
            return
        by_name = dict(zip(state.name, np.asarray(state.position, dtype=np.float64).tolist(), strict=False))
        if all(name in by_name for name in FINGER_IDS):
            with self._news:
                self.opened = np.array([by_name[name] for name in FINGER_IDS], dtype=np.float32)
                self._received += 1
                self._news.notify_all()
