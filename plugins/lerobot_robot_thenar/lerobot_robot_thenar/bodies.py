"""What stands behind a robot: a twin in this process, or a hand on a wire. Nothing here needs LeRobot."""

import time

import numpy as np

import thenar
from thenar.wire import inspire_codec, inspire_counts

MAX_LATE_S = 0.1  # a machine that cannot keep up is not run after
VIEW_PX = (320, 240)
GRAM_N = 9.80665e-3
OPEN_COUNTS, COUNTS_PER_N = 1000, 1000.0
REST_FRAMES = 10  # the noise of one would stay in every value
SILENT_S = 2.0

Reading = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Angles [rad] and forces [N] of the motors, and the taxels [N]."""


class OwnTwin:
    """A twin in this process; its time passes as ours does."""

    def __init__(self, spec: thenar.HandSpec, *, scene: str, profile: str, feels: bool, view: bool):
        """Build it, with everything compiled."""
        self._world = thenar.World(spec, scene=scene, profile=profile)
        self._feels = bool(spec.pads) and feels
        self._name, self._at_s = spec.name, time.perf_counter()
        # Once round, so that nothing is compiled while somebody waits.
        self._world.command(self._name, thenar.HandCommand.closing(0.9, speed=1.0))
        self._world.advance(0.4)
        self.read()
        if view:
            self.draw()
        self._world.reset()
        self._at_s = time.perf_counter()

    def read(self) -> Reading:
        """What it reports now."""
        self._catch_up()
        state = self._world.state(self._name)
        felt = np.zeros(0)
        if self._feels:
            frame, skin = self._world.touch(self._name), self._world.calibration(self._name)
            pads = self._world.hand(self._name).pads
            felt = (frame.taxel_counts - skin.per_taxel(pads, "offset")) / skin.per_taxel(pads, "gain")
        return state.angle_rad, np.nan_to_num(state.force_n), felt

    def draw(self) -> np.ndarray:
        """A picture of it."""
        return self._world.show(size_px=VIEW_PX).image

    def send(self, target_rad: np.ndarray) -> None:
        """Send the motors somewhere."""
        self._catch_up()
        self._world.command(self._name, thenar.HandCommand.to(target_rad))

    def close(self) -> None:
        """Nothing is left running."""

    def _catch_up(self) -> None:
        now_s = time.perf_counter()
        self._world.advance(min(now_s - self._at_s, MAX_LATE_S))
        self._at_s = now_s


class WiredHand:
    """A tactile Inspire hand on DDS, real or `thenar serve`."""

    def __init__(self, spec: thenar.HandSpec, *, domain: int, interface: str):
        """Reach it; a hand that is not there is refused."""
        self._spec, self._scale = spec, inspire_counts.Scale.of(spec)
        self._participant = thenar.Participant(domain, interface=interface)
        self._participant.__enter__()
        self._client = thenar.InspireClient(self._participant, spec)
        heard = self._client.wait_until_heard(10.0) and self._client.wait_for_news(touch=False, timeout_s=5.0)
        # Untouched taxels read offsets of their own.
        rest = []
        for _ in range(REST_FRAMES if spec.pads else 0):
            heard = heard and self._client.wait_for_news(touch=True, timeout_s=5.0)
            rest.append(self._client.taxel_counts)
        if not heard:
            self.close()
            where = f"domain {domain} at {interface}"
            raise ConnectionError(f"no {spec.name} on DDS, {where}; thenar inspect says why")
        self._rest = np.mean(rest, axis=0) if rest else np.zeros(0)
        self._states, self._heard_s = self._client.state_messages, time.perf_counter()

    def read(self) -> Reading:
        """What it told last; a hand that has fallen silent is no hand."""
        now_s, states = time.perf_counter(), self._client.state_messages
        if states != self._states:
            self._states, self._heard_s = states, now_s
        elif now_s - self._heard_s > SILENT_S:
            silent_s = now_s - self._heard_s
            raise ConnectionError(
                f"{self._spec.name} has not told its state for {silent_s:.1f} s; thenar inspect says why"
            )
        readings, order = self._client.readings, self._scale.actuators
        opened, closed = self._spec.open_rad, self._spec.closed_rad
        angle_rad, force_n = np.zeros(len(opened)), np.zeros(len(opened))
        angle_rad[order] = closed[order] + (opened - closed)[order] * readings.angle / OPEN_COUNTS
        force_n[order] = GRAM_N * readings.force
        felt = (self._client.taxel_counts - self._rest) / COUNTS_PER_N if self._spec.pads else np.zeros(0)
        return angle_rad, force_n, felt

    def send(self, target_rad: np.ndarray) -> None:
        """Send the motors somewhere."""
        angle = inspire_counts.angle_counts(self._scale, target_rad)
        self._client.send(inspire_codec.Ctrl(angle=angle, mode=inspire_codec.Mode.ANGLE))

    def close(self) -> None:
        """Leave the wire; the hand stays where it is."""
        self._participant.__exit__(None, None, None)
