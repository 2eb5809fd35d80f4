"""A twin beside the real hand, at the same time: it obeys the commands that the hand gets, and says what differs."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import ThenarError
from thenar.hands.spec import HandSpec
from thenar.recordings.recording import JointColumns, MotorColumns
from thenar.recordings.ros_messages import REPORTED, TOLD
from thenar.signals import HandCommand, HandSettings, HandState, Request, TouchFrame
from thenar.touch.from_counts import CountsReader
from thenar.touch.sensor.calibration import profile_of
from thenar.twin.compare.finding import Finding, in_one_grip
from thenar.twin.compare.gap_report import EXPECTED_HZ
from thenar.twin.compare.motor_findings import find_motor_gaps, pair_motors
from thenar.twin.compare.rates import find_rate_gaps, find_silence
from thenar.twin.compare.skin_findings import SkinSeries, find_skin_gaps
from thenar.twin.live_twin import LiveTwin
from thenar.twin.recording.listen import merged, untold
from thenar.wire.clients.listener import Listener, Place
from thenar.wire.links.link_health import LinkHealth

WINDOW_S = 8.0
LOOK_S = 1.0
SETTLE_S = 1.5  # after the start, before anything is compared
LOOKS = 2  # a finding is told when it is seen so often in a row
KEPT_S = 20.0  # and forgotten when it has not been seen for so long
SILENCE_S = 5.0
SILENT_S = 2.0  # a hand that says nothing for so long is told
LATE_S, MAX_LATE = 0.02, 0.05  # where a twin is this late so often, stamps of arrival are not to be trusted either
TIMELESS = frozenset(
    ("finger order", "stuck", "error", "uncommanded", "temperature", "dead taxel", "stuck taxel", "rate",
     "lost messages", "silence")
)  # fmt: skip
"""Kinds of findings that a late message does not change: told by a machine that is too slow for the others, too."""
GIVE_UP_S = 20.0  # a twin that is further behind begins anew
MAX_WAITING = 4096
MAX_APART = 400_000


class _Reading(NamedTuple):
    at_s: float
    state: HandState
    settings: HandSettings


@dataclass(kw_only=True, eq=False)
class _Heard:
    """What is known of one hand and its twin, the newest seconds of it."""

    spec: HandSpec
    told: HandSettings
    hand: deque[_Reading] = field(default_factory=deque)
    twin: deque[_Reading] = field(default_factory=deque)
    commands: deque[tuple[float, HandCommand]] = field(default_factory=deque)
    skin: deque[tuple[float, FloatArray]] = field(default_factory=deque)
    twin_skin: deque[tuple[float, FloatArray]] = field(default_factory=deque)
    compared_s: float = 0.0
    apart_deg: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_APART))

    def forget(self, before_s: float) -> None:
        """Let go of what is older; the last command before stays, as it still holds."""
        for kept in (self.hand, self.twin):
            while len(kept) > 1 and kept[0].at_s < before_s:
                kept.popleft()
        for kept in (self.skin, self.twin_skin):
            while kept and kept[0][0] < before_s:
                kept.popleft()
        while len(self.commands) > 1 and self.commands[1][0] < before_s:
            self.commands.popleft()


class MirrorLink:
    """A `Link` that only listens: what clients tell the real hand, its twin is told too."""

    wire = "mirror"

    def __init__(self, hands: Sequence[HandSpec], place: Place, *, on_finding: Callable[[Finding], None] | None = None):
        """Listen until every hand has told its state; a silent wire is refused with the reason.

        Args:
            hands: Whom to listen to.
            place: Where.
            on_finding: Is called with everything new that is found, on a thread of its own.
        """
        self._heard = {spec.name: _Heard(spec=spec, told=untold(spec)) for spec in hands}
        self._waiting: deque[Request] = deque(maxlen=MAX_WAITING)
        self._lock = threading.Lock()
        self._on_finding = on_finding
        self._twin: LiveTwin | None = None
        self._began_s = np.inf
        self._offset_s = np.nan
        """Wall clock less the twin's."""
        self._behind_s: deque[float] = deque([0.0], maxlen=500)
        self.too_slow = False
        """Whether this machine was too slow, lately, for more than what is `TIMELESS`."""
        self._seen: dict[tuple[str, str, str], tuple[Finding, int, float]] = {}
        self._stopping = threading.Event()
        self._failed = ""
        self._skins = {spec.name: CountsReader(spec, profile_of(spec, "measured")) for spec in hands if spec.pads}
        self._thread = threading.Thread(target=self._keep_looking, name="mirror", daemon=True)
        self.listener = Listener(hands, place, self)
        until_s = time.perf_counter() + SILENCE_S
        while missing := [name for name, heard in self._heard.items() if not heard.hand]:
            if time.perf_counter() > until_s:
                why = self.listener.silence()
                self.listener.close()
                raise ThenarError(f"nothing is heard of {', '.join(missing)}: {why}")
            time.sleep(0.01)

    @property
    def first_rad(self) -> dict[str, FloatArray]:
        """Where the motors of every hand stand now, by hand [rad]."""
        return {name: heard.hand[-1].state.angle_rad for name, heard in self._heard.items()}

    def hear(self, hand: str, said: HandCommand | HandState | FloatArray, arrived_s: float) -> None:
        """Keep what the hand or a client of its said; commands are the twin's too."""
        heard = self._heard[hand]
        with self._lock:
            if isinstance(said, HandCommand):
                heard.told = merged(heard.told, said)
                heard.commands.append((arrived_s, said))
                self._waiting.append(Request(hand=hand, sender="heard", arrived_s=arrived_s, command=said))
            elif isinstance(said, HandState):
                heard.hand.append(_Reading(arrived_s, said, heard.told))
            else:
                heard.skin.append((arrived_s, said))

    def hear_raw(self, topic: str, type_name: str, message: bytes, arrived_s: float) -> None:
        """Nothing: what messages mean is enough."""

    def attach(self, twin: LiveTwin) -> None:
        """Learn whose clock commands go by: a twin that is late must not hear them earlier than the hand did."""
        self._twin, twin.give_up_s = twin, GIVE_UP_S

    def receive(self) -> list[Request]:
        """Commands that the hand has heard by the moment that the twin is at."""
        due_s = 0.0 if self._twin is None else self._twin.due_s
        with self._lock:
            heard = sum(1 for request in self._waiting if request.arrived_s <= due_s)
            return [self._waiting.popleft() for _ in range(heard)]

    def publish_state(self, hands: Mapping[str, tuple[HandState, HandSettings]]) -> None:
        """Keep what the twin does; nothing is sent."""
        if self._twin is None or not self._twin.due_s:  # of the start: its clock begins a little later
            return
        offset_s = self._twin.due_s - self._twin.world.time_s
        if self._thread.ident is None:
            self._thread.start()
        with self._lock:
            if not abs(offset_s - self._offset_s) < LATE_S:  # it began, or left out what it was behind
                self._offset_s, self._began_s = offset_s, self._twin.due_s + SETTLE_S
                for heard in self._heard.values():
                    heard.twin.clear()
                    heard.twin_skin.clear()
            self._behind_s.append(time.perf_counter() - self._twin.due_s)
            for name, (state, settings) in hands.items():
                self._heard[name].twin.append(_Reading(state.stamp_s + offset_s, state, settings))
                self._heard[name].forget(self._twin.due_s - WINDOW_S)

    def publish_touch(self, frames: Mapping[str, TouchFrame]) -> None:
        """Keep what the twin feels; nothing is sent."""
        with self._lock:
            for name, frame in frames.items():
                at_s = frame.stamp_s + self._offset_s
                if np.isfinite(at_s):
                    self._heard[name].twin_skin.append((at_s, frame.taxel_counts.astype(np.float64)))

    @property
    def lateness(self) -> str:
        """In words, that this machine is too slow just now; empty while it is not."""
        if not self.too_slow:
            return ""
        told = "only what does not hang on time is told"
        return f"this machine is too slow just now (the twin is {self._behind_s[-1]:.1f} s behind): {told}"

    def health(self) -> LinkHealth:
        """How listening goes."""
        flows = self.listener.flows()
        return LinkHealth(
            wire=self.wire,
            where=", ".join(flow.topic for flow in flows),
            listeners=0,
            written=0,
            not_written=0,
            peers=(),
            refused=dict(self.listener.refused),
            failed=self._failed,
        )

    def close(self) -> None:
        """Stop listening."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        self.listener.close()

    def findings(self) -> list[Finding]:
        """What differs, as far as it is sure by now."""
        with self._lock:
            return [finding for finding, seen, _ in self._seen.values() if seen >= LOOKS]

    def apart_deg(self, hand: str) -> FloatArray:
        """How far the motors of a hand and its twin were apart, all readings so far [degrees]."""
        with self._lock:
            return np.array(self._heard[hand].apart_deg)

    def newest(self, hand: str) -> tuple[HandState, HandState, TouchFrame | None]:
        """The newest states of a hand and of its twin, and what the hand feels; None before it has said."""
        with self._lock:
            heard = self._heard[hand]
            real, twin = heard.hand[-1].state, (heard.twin or heard.hand)[-1].state
            skin = heard.skin[-1] if heard.skin else None
        return real, twin, None if skin is None else self._skins[hand].frame(skin[1], skin[0])

    def look(self) -> list[Finding]:
        """Compare the newest seconds that both have been through; what was found in them."""
        found: list[Finding] = []
        now_s = time.perf_counter()
        self.too_slow = bool(np.mean(np.array(self._behind_s.copy()) > LATE_S) > MAX_LATE)
        state_hz, touch_hz = EXPECTED_HZ.get(self.listener.place.wire, (0.0, 0.0))
        for heard in self._heard.values():
            with self._lock:
                if not heard.twin:
                    continue
                since_s = max(self._began_s, heard.twin[-1].at_s - WINDOW_S)
                hand, twin = ([one for one in part if one.at_s >= since_s] for part in (heard.hand, heard.twin))
                commands = list(heard.commands)
                skins = [[one for one in part if one[0] >= since_s] for part in (heard.skin, heard.twin_skin)]
                silent_s = now_s - heard.hand[-1].at_s
            spec, lately_s = heard.spec, max(self._began_s, now_s - WINDOW_S)
            found += find_silence(spec.name, silent_s) if silent_s > SILENT_S else ()
            if len(hand) < 2 or len(twin) < 2:
                continue
            pair = pair_motors(spec, _columns(hand), _columns(twin), _told(commands, len(spec.actuators)))
            if pair is not None:
                found += find_motor_gaps(pair)
                new = pair.apart_deg[pair.stamp_s > heard.compared_s]
                heard.compared_s = float(pair.stamp_s[-1])
                with self._lock:
                    heard.apart_deg.extend([] if self.too_slow else new.ravel().tolist())
            arrived_s = np.array([one.at_s for one in hand if one.at_s >= lately_s])
            found += find_rate_gaps(spec.name, "state", arrived_s, state_hz)
            if spec.pads and skins[0]:
                mine, theirs = (_skin(self._skins[spec.name], part) for part in skins)
                found += find_skin_gaps(spec, mine, theirs if len(theirs.stamp_s) else None)
                found += find_rate_gaps(spec.name, "touch", mine.stamp_s[mine.stamp_s >= lately_s], touch_hz)
        found = in_one_grip(found)
        return [one for one in found if one.kind in TIMELESS] if self.too_slow else found

    def _keep_looking(self) -> None:
        try:
            while not self._stopping.wait(LOOK_S):
                now_s = time.perf_counter()
                if now_s > self._began_s + 1.0:
                    self._take_note(self.look(), now_s)
        except Exception as error:  # the page and the loop go on; health says so
            self._failed = f"comparing has ended: {error!r}"

    def _take_note(self, found: Sequence[Finding], now_s: float) -> None:
        new = []
        with self._lock:
            keys = {finding.key for finding in found}
            for key, (_, seen, at_s) in list(self._seen.items()):
                if key not in keys and (seen < LOOKS or now_s - at_s > KEPT_S):
                    del self._seen[key]
            for finding in found:
                seen = self._seen.get(finding.key, (finding, 0, now_s))[1] + 1
                self._seen[finding.key] = finding, seen, now_s
                if seen == LOOKS:
                    new.append(finding)
        for finding in new:
            if self._on_finding is not None:
                self._on_finding(finding)


def _columns(readings: Sequence[_Reading]) -> MotorColumns:
    """Readings as columns, by the clock on the wall."""
    reported = {name: np.array([getattr(one.state, name) for one in readings]) for name in REPORTED}
    told = {name: np.array([getattr(one.settings, name) for one in readings]) for name in TOLD}
    return MotorColumns(
        stamp_s=np.array([one.at_s for one in readings]),
        names=readings[0].state.actuator_names,
        **reported,
        **told,
    )


def _told(commands: Sequence[tuple[float, HandCommand]], motors: int) -> JointColumns:
    """Commands as columns; stops leave a motor where it is."""
    shape = (len(commands), motors)
    target = [one.lasting_target_rad for _, one in commands]
    return JointColumns(
        stamp_s=np.array([at_s for at_s, _ in commands]),
        names=(),
        position_rad=np.array(target).reshape(shape),
        velocity_rad_s=np.array([one.speed_rad_s for _, one in commands]).reshape(shape),
        effort=np.array([one.force_limit_n for _, one in commands]).reshape(shape),
    )


def _skin(reader: CountsReader, readings: Sequence[tuple[float, FloatArray]]) -> SkinSeries:
    return SkinSeries(np.array([at_s for at_s, _ in readings]), reader.layout, np.array([one for _, one in readings]))
