"""The ReFlex hand's board in the twin: states and touch in, counts out, and counts that command its motors."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue
from thenar.hands.spec import HandSpec, Servo
from thenar.signals import FloatArray, HandCommand, HandState, TouchFrame
from thenar.wire.codecs import reflex_counts as counts
from thenar.wire.codecs.reflex_counts import BoardReading


class Board:
    """The ReFlex hand's board: the newest touch, which comes on a thread of its own, kept for the next state."""

    def __init__(self, hands: Sequence[HandSpec]):
        """The one ReFlex hand among these."""
        found = [hand for hand in hands if counts.is_reflex(hand)]
        if len(found) != 1:
            raise BadValue("hands", [hand.name for hand in hands], "one ReFlex hand: thenar serve --hands reflex")
        self.hand = found[0]
        motors = [actuator.motor for actuator in self.hand.actuators]
        assert all(isinstance(motor, Servo) for motor in motors)
        self._effort_nm = np.array([motor.effort_nm for motor in motors if isinstance(motor, Servo)])
        self.full_force_n = np.array([motor.effort_nm / motor.lever_m for motor in motors if isinstance(motor, Servo)])
        self._die_pa: FloatArray | float = counts.REST_PA
        self._die_c: FloatArray | float = counts.REST_C
        self._lock = threading.Lock()

    def store_touch(self, frames: Mapping[str, TouchFrame]) -> bool:
        """Keep what the cells feel; True when it is the first time."""
        frame = frames.get(self.hand.name)
        if frame is None or frame.die_pressure_pa.size != counts.CELLS:
            return False
        with self._lock:
            first = isinstance(self._die_pa, float)
            self._die_pa, self._die_c = frame.die_pressure_pa, frame.die_temperature_c
        return first

    def read(self, state: HandState) -> BoardReading:
        """What the board tells of a state and of the newest touch."""
        with self._lock:
            die_pa, die_c = self._die_pa, self._die_c
        return counts.read_board(state, self._effort_nm, die_pa, die_c)

    def command(
        self, target_raw: FloatArray, speed_rad_s: FloatArray, torque_on: NDArray[np.bool_] | bool
    ) -> HandCommand:
        """Counts as a command; NaN leaves a motor where it was sent. A motor without torque gives way to anything."""
        return HandCommand(
            target_rad=counts.motor_angle_rad(target_raw),
            speed_rad_s=speed_rad_s,
            force_limit_n=np.where(torque_on, self.full_force_n, 0.0),
        )
