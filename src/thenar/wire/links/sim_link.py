"""Topics of the simulator itself: reset, where everything is, poses of objects and wrists, and stress on the skin."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from thenar.pace import Pace
from thenar.signals import HandSettings, HandState, SceneRequest, SceneState, TouchFrame
from thenar.wire.codecs import sim_codec
from thenar.wire.codecs.sim_codec import FLOATS, POSE_TOPIC, RESET_TOPIC, STATE_TOPIC, STRING
from thenar.wire.links.dds_link import DdsLink, send
from thenar.wire.links.inbox import Waiting
from thenar.wire.links.registry import LinkContext

MAX_WAITING = 64  # requests between two ticks; a flood beyond it loses the oldest
STATE_HZ = 30.0  # Unitree's recorder takes one with every frame, at 30 Hz


class SimTopics(DdsLink):
    """Topics of Unitree's simulator: resets and poses in, the scene and the stress on every taxel out."""

    wire = "sim"
    where = "rt/{sim_state,reset_pose/cmd,set_pose/cmd}"

    def __init__(self, context: LinkContext):
        """Announce the topics."""
        super().__init__(context.participant)
        self._pace = Pace(STATE_HZ)
        self._waiting = Waiting[SceneRequest](self._inbox.refused, MAX_WAITING)
        self._state = self.advertise(STATE_TOPIC, STRING)
        skins = [spec.name for spec in context.hands if spec.pads]
        self._stress = {name: self.advertise(sim_codec.stress_topic(name), FLOATS) for name in skins}
        self.subscribe(RESET_TOPIC, STRING, self._on_reset)
        self.subscribe(POSE_TOPIC, STRING, self._on_poses)

    def receive_scene(self) -> list[SceneRequest]:
        """Requests since the last call."""
        return self._waiting.take()

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Nothing: hands have topics of their own."""

    def publish_scene(self, stamp_s: float, read: Callable[[], SceneState]) -> None:
        """Send where everything is, when it is time and somebody listens."""
        if self._pace.is_due(stamp_s) and self._state.readers:
            message, left_out = sim_codec.encode_state(read())
            send(self._state, message)
            if left_out:
                self._inbox.refuse(f"{STATE_TOPIC}: objects without room in {sim_codec.MAX_TEXT} bytes", left_out)

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Send the stress on each skin that somebody listens to."""
        for name, writer in self._stress.items():
            if writer.readers:
                send(writer, sim_codec.encode_stress(frames[name]))

    def _on_reset(self, message: bytes, sender: str, _arrived_s: float) -> None:
        self._waiting.put(SceneRequest(sender=sender, reset=sim_codec.decode_reset(message)))

    def _on_poses(self, message: bytes, sender: str, _arrived_s: float) -> None:
        objects, wrists = sim_codec.decode_poses(message)
        self._waiting.put(SceneRequest(sender=sender, objects=objects, wrists=wrists))
