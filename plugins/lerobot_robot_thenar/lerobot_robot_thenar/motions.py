"""Where motions come from: a glove, live or from a file, or what motors were told in a recording."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from lerobot.teleoperators import Teleoperator

import thenar
from lerobot_robot_thenar.config_thenar import ThenarGloveConfig, ThenarRecordingConfig


class _Motion(Teleoperator):
    """Targets of a hand's motors over time."""

    def __init__(self, config: Any):
        """Nothing is opened before `connect`."""
        super().__init__(config)
        self.config, self._spec = config, thenar.hands.load(config.hand)
        self._target_rad, self._begin_s = self._spec.open_rad, None

    @property
    def action_features(self) -> dict[str, Any]:
        """Target of every motor [rad]."""
        return {f"{motor}.pos": float for motor in self._spec.actuator_names}

    @property
    def feedback_features(self) -> dict[str, Any]:
        """None is taken."""
        return {}

    @property
    def is_connected(self) -> bool:
        """Whether it has begun."""
        return self._begin_s is not None

    @property
    def is_calibrated(self) -> bool:
        """Nothing to calibrate."""
        return True

    def calibrate(self) -> None:
        """Nothing to do."""

    def configure(self) -> None:
        """Nothing to do."""

    def send_feedback(self, feedback: dict[str, Any]) -> None:
        """None is taken."""

    def get_action(self) -> dict[str, Any]:
        """The newest targets."""
        if self._begin_s is None:
            raise ConnectionError("call connect() first")
        self._follow(time.perf_counter() - self._begin_s)
        return {name: float(value) for name, value in zip(self.action_features, self._target_rad, strict=True)}

    def disconnect(self) -> None:
        """Stop."""
        self._begin_s = None

    def _follow(self, time_s: float) -> None:
        raise NotImplementedError


class ThenarGlove(_Motion):
    """A glove that drives a hand."""

    config_class, name = ThenarGloveConfig, "thenar_glove"

    def connect(self, calibrate: bool = True) -> None:
        """Open the file, or the socket."""
        self._retargeter = thenar.Retargeter(self._spec)
        self._socket = None
        self._coming: Iterator[thenar.GloveFrame] = iter(())
        if self.config.log:
            made = self.config.log == "made"
            log = thenar.make_log(("pinch_index", "fist", "point")) if made else thenar.read_log(self.config.log)
            frames = list(log)
            self._retargeter(frames[0])  # compiled before anybody waits
            self._retargeter.reset()
            self._zero_s, self._coming = frames[0].stamp_s, iter(frames)
        else:
            glove = thenar.teleoperation
            self._socket = glove.GloveReceiver(port=self.config.port or glove.PORT)
        self._next = next(self._coming, None)
        self._begin_s = time.perf_counter()

    def _follow(self, time_s: float) -> None:
        if self._socket is not None:
            while (frame := self._socket.wait(0.0)) is not None:
                self._target_rad = self._retargeter(frame).command.target_rad
            return
        while self._next is not None and self._next.stamp_s - self._zero_s <= time_s:
            self._target_rad = self._retargeter(self._next).command.target_rad
            self._next = next(self._coming, None)

    def disconnect(self) -> None:
        """Close the socket."""
        if self.is_connected and self._socket is not None:
            self._socket.__exit__(None, None, None)
        super().disconnect()


class ThenarRecording(_Motion):
    """What the motors of a hand were told in a recording, at the same pace."""

    config_class, name = ThenarRecordingConfig, "thenar_recording"

    def connect(self, calibrate: bool = True) -> None:
        """Read the recording."""
        motors = thenar.Recording(self.config.file).motors(self.config.hand)
        self._times_s, self._targets_rad = motors.time_s - motors.time_s[0], motors.target_rad
        self._begin_s = time.perf_counter()

    def _follow(self, time_s: float) -> None:
        self._target_rad = self._targets_rad[max(0, int(np.searchsorted(self._times_s, time_s, side="right")) - 1)]
