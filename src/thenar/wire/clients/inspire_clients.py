"""Clients of Inspire hands, twins and real ones alike: tactile, DFX, and Tienkung's on ROS 2 without ROS 2."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thenar import cdr
from thenar.hands.spec import HandSpec
from thenar.wire.codecs import dfx_codec, inspire_codec, tienkung_codec
from thenar.wire.codecs.dfx_codec import COMMAND_TOPIC, COMMANDS, STATE_TOPIC, STATES
from thenar.wire.codecs.inspire_codec import Ctrl, TouchLayout, topic
from thenar.wire.codecs.inspire_counts import MOTORS, Readings, Scale
from thenar.wire.codecs.tienkung_codec import JOINT_STATE, JointState
from thenar.wire.links.dds_link import send
from thenar.wire.links.type_ids import TYPE_IDS
from thenar.wire.rtps import SENSOR_DATA, Participant, Qos, Sample, ros


class _Client:
    """One topic out, some topics in, and a way to wait for the next message."""

    def __init__(self, participant: Participant, command_topic: str, type_name: str):
        self._participant = participant
        self._command = participant.advertise(command_topic, type_name, qos=Qos(depth=1))
        self._news = threading.Condition()
        self._received: Counter[str] = Counter()

    def wait_until_heard(self, timeout_s: float) -> bool:
        """Wait until somebody listens to commands; False if nobody does in time."""
        return self._command.wait_for_readers(timeout_s)

    def wait_for_news(self, *, touch: bool = False, timeout_s: float) -> bool:
        """Wait for the next state, or touch message; False if none comes in time."""
        what = "touch" if touch else "state"
        with self._news:
            before = self._received[what]
            return self._news.wait_for(lambda: self._received[what] > before, timeout_s)

    @property
    def state_messages(self) -> int:
        """States that have come."""
        return self._received["state"]

    def _subscribe(
        self, what: str, topic: str, type_name: str, decode: Callable[[bytes], None], type_ids: Sequence[str] = ()
    ) -> None:
        def on_sample(sample: Sample) -> None:
            with self._news, contextlib.suppress(cdr.BadMessage):
                decode(cdr.HEADER + sample.body)
                self._received[what] += 1
                self._news.notify_all()

        self._participant.subscribe(topic, type_name, on_sample, qos=SENSOR_DATA, type_ids=tuple(type_ids))


class InspireClient(_Client):
    """Client of a tactile Inspire hand: sends ctrl, keeps the newest state and touch."""

    def __init__(self, participant: Participant, spec: HandSpec):
        """Listen to a hand."""
        ctrl, state, touch = (topic(kind, Scale.of(spec).side) for kind in ("ctrl", "state", "touch"))
        super().__init__(participant, ctrl, inspire_codec.COMMANDS[ctrl])
        self.readings: Readings | None = None
        self.taxel_counts: NDArray[np.int64] | None = None
        self._layout = TouchLayout.of(spec) if spec.pads else None
        heard = {"state": (state, self._on_state)} | ({"touch": (touch, self._on_touch)} if self._layout else {})
        for what, (name, decode) in heard.items():
            kind = inspire_codec.STATES[name]
            self._subscribe(what, name, kind, decode, TYPE_IDS[kind])

    @property
    def touch_messages(self) -> int:
        """Readings of the skin that have come."""
        return self._received["touch"]

    def send(self, ctrl: Ctrl) -> None:
        """Send a ctrl message."""
        send(self._command, inspire_codec.encode_ctrl(ctrl))

    def _on_state(self, message: bytes) -> None:
        self.readings = inspire_codec.decode_state(message)

    def _on_touch(self, message: bytes) -> None:
        assert self._layout is not None
        self.taxel_counts = inspire_codec.decode_touch(self._layout, message)


class DfxClient(_Client):
    """Client of two DFX hands: sends commands for both, keeps the newest state of both."""

    def __init__(self, participant: Participant):
        """Listen to the hands."""
        super().__init__(participant, COMMAND_TOPIC, COMMANDS[COMMAND_TOPIC])
        self.q: dict[str, np.ndarray] | None = None
        """How far open each motor is, by side."""
        self.lost: dict[str, int] = {}
        """Readings that a hand has missed in a row; a hand that is there has missed none."""
        kind = STATES[STATE_TOPIC]
        self._subscribe("state", STATE_TOPIC, kind, self._on_state, TYPE_IDS[kind])

    def send(self, q: Mapping[str, Sequence[float]]) -> None:
        """Send a command, see `dfx_codec.encode_commands`."""
        send(self._command, dfx_codec.encode_commands(q))

    def _on_state(self, message: bytes) -> None:
        states = dfx_codec.decode_states(message)
        if any(part.size not in (0, len(MOTORS)) for part in states.values()):
            raise cdr.BadMessage(f"a state of {sum(part.size for part in states.values())} motors; wanted 6 or 12")
        self.q = {side: part["q"].copy() for side, part in states.items()}
        self.lost = {side: int(part["lost"].max(initial=0)) for side, part in states.items()}


class TienkungClient(_Client):
    """Client of one Tienkung hand: sends control messages, keeps the newest state."""

    def __init__(self, participant: Participant, spec: HandSpec):
        """Listen to a hand."""
        side, kind = Scale.of(spec).side, ros.message_type(JOINT_STATE)
        super().__init__(participant, ros.topic_name(tienkung_codec.control_topic(side)), kind)
        self.opened: NDArray[np.float32] | None = None
        """How far open each motor is, in the order of the wire."""
        self._subscribe("state", ros.topic_name(tienkung_codec.state_topic(side)), kind, self._on_state)

    def send(self, opened: dict[str, float]) -> None:
        """Send how far open fingers shall be, by their ids ('1' little to '6' thumb rotation)."""
        message = JointState(name=tuple(opened), position=list(opened.values()))
        self._command.write(tienkung_codec.encode_joint_state(message))

    def _on_state(self, message: bytes) -> None:
        opened, _ = tienkung_codec.by_finger(tienkung_codec.decode_joint_state(message[len(cdr.HEADER) :]))
        self.opened = opened.astype(np.float32)
