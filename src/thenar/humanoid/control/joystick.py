"""Input of the operator: a script, the keyboard, or a gamepad of Linux."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from thenar.errors import BadFile, BadValue
from thenar.humanoid.control.fsm import BUTTONS
from thenar.humanoid.state.parts import JoyStickData

logger = logging.getLogger(__name__)

# Ref: range of the vendor's locomotion: forwards, to the left [m/s], turning [rad/s].
VELOCITY_LOWER, VELOCITY_UPPER = (-0.5, -0.5, -1.0), (0.75, 0.5, 1.0)
BUTTON_NAMES = ("A", "B", "X", "Y", "LB", "RB", "LT", "RT")
KEY_STEP = np.array([0.1, 0.1, 0.2])
STATE_KEYS = {str(int(state)): tuple(buttons) for buttons, state in BUTTONS.items()}
VELOCITY_KEYS = {"w": (0, 1), "s": (0, -1), "a": (1, 1), "d": (1, -1), "q": (2, 1), "e": (2, -1)}
# Of the usual pads: buttons, triggers (axes too), and which velocity an axis gives, with its sign.
PAD_EVENT = struct.Struct("<IhBB")
PAD_BUTTONS = {0: "A", 1: "B", 2: "X", 3: "Y", 4: "LB", 5: "RB"}
PAD_TRIGGERS = {2: "LT", 5: "RT"}
PAD_AXES = {1: (0, -1), 0: (1, -1), 3: (2, -1)}


class Joystick(Protocol):
    """Source of the operator's input."""

    def read(self, now_s: float) -> JoyStickData:
        """The newest input; its stamp is when it was made."""
        ...


@dataclass(frozen=True, kw_only=True)
class Press:
    """A moment of a script: from then on these buttons are held and this velocity is commanded."""

    at_s: float
    buttons: tuple[str, ...] = ()
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)


class ScriptedJoystick:
    """Plays presses at their times."""

    def __init__(self, presses: Sequence[Press]):
        for press in presses:
            unknown = set(press.buttons) - set(BUTTON_NAMES)
            if unknown:
                raise BadValue("buttons", sorted(unknown), f"some of {', '.join(BUTTON_NAMES)}")
            if not np.isfinite(press.velocity).all():
                raise BadValue("velocity", press.velocity, "finite numbers: forwards, to the left, turning")
        self._presses = sorted(presses, key=lambda press: press.at_s)

    def read(self, now_s: float) -> JoyStickData:
        """Input of the script at a time."""
        past = [press for press in self._presses if press.at_s <= now_s]
        if not past:
            return JoyStickData()
        return _input(past[-1].at_s, np.array(past[-1].velocity), past[-1].buttons)


class Keyboard:
    """Keys of a terminal: digits are the states of the same number, w s a d q e change the velocity, space stops.

    The terminal has to pass keys on at once, see `unbuffered_keys`.
    """

    def __init__(self, descriptor: int | None = None):
        self._descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._velocity = np.zeros(3)
        self._stamp_s = 0.0
        self._ended = False

    def read(self, now_s: float) -> JoyStickData:
        """Every key that waits; the last state counts."""
        buttons: tuple[str, ...] = ()
        while not self._ended and select.select([self._descriptor], [], [], 0.0)[0]:
            key = os.read(self._descriptor, 1).decode(errors="replace")
            if not key:  # nobody types any more
                self._ended, self._velocity = True, np.zeros(3)
                break
            self._stamp_s = now_s
            if key == " ":
                self._velocity = np.zeros(3)
            elif key in VELOCITY_KEYS:
                axis, sign = VELOCITY_KEYS[key]
                self._velocity[axis] += sign * KEY_STEP[axis]
            elif key in STATE_KEYS:
                buttons = STATE_KEYS[key]
        self._velocity = np.clip(self._velocity, VELOCITY_LOWER, VELOCITY_UPPER)
        return _input(self._stamp_s, self._velocity, buttons, valid=not self._ended)


class Gamepad:
    """A gamepad of Linux (``/dev/input/js0``), buttons and axes as the usual pads number them."""

    def __init__(self, device: Path = Path("/dev/input/js0")):
        try:
            self._file = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise BadFile(device, f"no gamepad: {error.strerror}; plug one in, or take: --joystick keyboard") from error
        self._held: set[str] = set()
        self._velocity = np.zeros(3)
        self._stamp_s = 0.0
        self._lost = False

    def read(self, now_s: float) -> JoyStickData:
        """Every event that waits. A pad that was unplugged holds no button and commands no velocity."""
        while not self._lost:
            try:
                event = os.read(self._file, PAD_EVENT.size)
            except BlockingIOError:
                break
            except OSError:
                event = b""
            if len(event) < PAD_EVENT.size:
                logger.warning("the gamepad is gone")
                self._lost, self._velocity = True, np.zeros(3)
                self._held.clear()
                break
            self._stamp_s = now_s
            self._take(*PAD_EVENT.unpack(event)[1:])
        return _input(self._stamp_s, self._velocity, tuple(self._held), valid=not self._lost)

    def _take(self, value: int, kind: int, number: int) -> None:
        share = value / 32767.0
        if kind & 1 and number in PAD_BUTTONS:
            self._hold(PAD_BUTTONS[number], bool(value))
        elif kind & 2 and number in PAD_TRIGGERS:
            self._hold(PAD_TRIGGERS[number], share > 0.5)
        elif kind & 2 and number in PAD_AXES:
            axis, sign = PAD_AXES[number]
            share *= sign
            self._velocity[axis] = share * (VELOCITY_UPPER[axis] if share > 0.0 else -VELOCITY_LOWER[axis])

    def _hold(self, button: str, held: bool) -> None:
        (self._held.add if held else self._held.discard)(button)


JOYSTICKS: dict[str, Callable[[], Joystick]] = {"keyboard": Keyboard, "gamepad": Gamepad}


@contextlib.contextmanager
def unbuffered_keys(wanted: bool = True) -> Iterator[None]:
    """Let the terminal, where there is one, pass keys on as they are pressed and without showing them."""
    if not wanted or not os.isatty(sys.stdin.fileno()):
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _input(stamp_s: float, velocity: np.ndarray, buttons: Sequence[str], *, valid: bool = True) -> JoyStickData:
    liner_cmd = np.clip(velocity, VELOCITY_LOWER, VELOCITY_UPPER)
    return JoyStickData(stamp_s=stamp_s, valid=valid, liner_cmd=liner_cmd, buttons=frozenset(buttons))
