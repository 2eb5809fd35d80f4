"""The identification's programme drives a hand and stops: on a wish, on a contact, on silence."""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import mujoco
import numpy as np
import pytest

import thenar
from bench.identify import BAR
from thenar import hands
from thenar.errors import BadValue, ThenarError
from thenar.hands.spec import HandSpec, LeadScrew
from thenar.sim.building import compile_model
from thenar.sim.identify.programme import REACH, Phase, Step, programme
from thenar.sim.world_config import WorldConfig
from thenar.twin.recording.protocol_drive import Outcome, drive_programme
from thenar.wire.clients.listener import CONNECT_S
from thenar.wire.codecs import inspire_counts
from thenar.wire.codecs.inspire_counts import Readings, Scale

HAND = hands.load("inspire_right")
COUPLED = [
    (name, law)
    for name in hands.names()
    if all(isinstance(actuator.motor, LeadScrew) for actuator in hands.load(name).actuators)
    for law in hands.load(name).variants
]
BEYOND = 1.05  # of where a motor is sent: it may go a little further, and shapes of palms are not all alike
BARE = [phase for phase in programme(HAND) if "bar" not in phase.before]
PATIENT_S = 5.0  # a machine that has much to do is no lost hand


class Twin:
    """A twin in real time, spoken to in counts. It can fall silent."""

    def __init__(self, *props: thenar.Capsule):
        self.world = thenar.World("inspire_right", props=props)
        self.sent: list[thenar.HandCommand] = []
        self.silent = self.over = False
        self._news = threading.Condition()
        self._newest: Readings | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        scale = Scale.of(HAND)
        while not self.over:
            time.sleep(0.01)
            with self._news:
                self.world.advance(0.01)
                if not self.silent:
                    self._newest = inspire_counts.readings(scale, self.world.state("inspire_right"))
                    self._news.notify_all()

    def send(self, command: thenar.HandCommand, *, patience_s: float = CONNECT_S) -> None:
        self.sent.append(command)
        with self._news:
            self.world.command("inspire_right", command)

    def readings(self, *, patience_s: float = CONNECT_S) -> Readings:
        with self._news:
            if not self._news.wait(1.0) or self._newest is None:
                raise ThenarError("nobody publishes")
            return self._newest

    def close(self) -> None:
        self.over = True
        self._thread.join()


@pytest.fixture
def bare() -> Iterator[Twin]:
    twin = Twin()
    yield twin
    twin.close()


def wished(twin: Twin, after_s: float) -> Outcome:
    stop = threading.Event()
    threading.Timer(after_s, stop.set).start()
    slow = [phase for phase in BARE if phase.name == "fingers: steps"]
    return drive_programme(twin, HAND, slow, stop=stop, silence_s=PATIENT_S)


def test_a_wish_stops_the_programme_and_the_hand_stays_where_it_is(bare: Twin):
    outcome = wished(bare, 1.5)
    assert outcome.why == "somebody wished it"
    assert bare.sent[-1] == thenar.HandCommand.hold(6)
    for _ in range(30):
        bare.readings()
    before = bare.readings().angle
    for _ in range(30):
        bare.readings()
    assert np.abs(bare.readings().angle - before).max() < 15  # it neither goes on nor opens
    assert before[:4].max() < 990


def test_a_finger_that_meets_something_stops_the_programme():
    twin = Twin(BAR)
    steps = [phase for phase in BARE if phase.name == "fingers: steps"]
    outcome = drive_programme(twin, HAND, steps, stop=threading.Event(), silence_s=PATIENT_S)
    twin.close()
    assert "met something" in outcome.why
    assert outcome.steps == 1
    assert twin.world.state("inspire_right").force_n.max() < 10.0


def test_a_step_from_here_is_counted_from_where_each_motor_stands(bare: Twin):
    closed = np.array([0.3, 0.1, 0.2, 0.4, 0.0, 0.0])
    there = Step(phase="a", closed=closed, speed=1.0, limit_n=2.0, wait_s=1.5, contact=True)
    nudge = replace(there, closed=np.array([0.04, np.nan, 0.0, 0.02, np.nan, np.nan]), wait_s=0.1, from_here=True)
    phase = Phase(name="a", tells="", before="", steps=(there, nudge))
    drive_programme(bare, HAND, [phase], stop=threading.Event(), silence_s=PATIENT_S)
    target = (bare.sent[-1].target_rad - HAND.open_rad) / (HAND.closed_rad - HAND.open_rad)
    assert target[[0, 2, 3]] == pytest.approx([0.34, 0.2, 0.42], abs=0.012)
    assert target[1] == pytest.approx(0.1, abs=1e-6)  # NaN keeps what it was told


def test_silence_stops_the_programme(bare: Twin):
    bare.readings()  # its first step takes a machine with much to do longer
    threading.Timer(1.5, lambda: setattr(bare, "silent", True)).start()
    outcome = drive_programme(bare, HAND, BARE, stop=threading.Event())
    assert "said nothing" in outcome.why
    assert bare.sent[-1] == thenar.HandCommand.hold(6)


@pytest.mark.timing
def test_from_a_wish_to_the_command_to_stay_it_takes_a_tenth_of_a_second_at_most(bare: Twin):
    assert wished(bare, 1.0).reacted_s < 0.1


@pytest.mark.timing
def test_from_what_a_finger_met_to_the_command_to_stay_it_takes_a_tenth_of_a_second_at_most():
    twin = Twin(BAR)
    steps = [phase for phase in BARE if phase.name == "fingers: steps"]
    outcome = drive_programme(twin, HAND, steps, stop=threading.Event())
    twin.close()
    assert "met something" in outcome.why
    assert outcome.reacted_s < 0.1


@pytest.mark.timing
def test_from_a_lost_hands_last_word_to_the_command_to_stay_it_takes_a_tenth_of_a_second_at_most(bare: Twin):
    bare.readings()  # its first step takes a machine with much to do longer
    threading.Timer(1.5, lambda: setattr(bare, "silent", True)).start()
    outcome = drive_programme(bare, HAND, BARE, stop=threading.Event())
    assert "said nothing" in outcome.why
    assert outcome.reacted_s < 0.1


def test_whatever_breaks_the_programme_off_the_hand_is_told_to_stay(bare: Twin):
    def interrupt(phase: Phase) -> None:
        if phase.name == "second":
            raise KeyboardInterrupt

    first = replace(BARE[0], name="first", steps=BARE[0].steps[:1])
    short = replace(first, steps=(replace(first.steps[0], wait_s=0.1),))
    with pytest.raises(KeyboardInterrupt):
        drive_programme(
            bare, HAND, [short, replace(short, name="second")], stop=threading.Event(), before=interrupt,
            silence_s=PATIENT_S,
        )  # fmt: skip
    assert bare.sent[-1] == thenar.HandCommand.hold(6)


def test_a_force_over_the_limit_stops_the_programme_whichever_way_it_pushes(bare: Twin):
    pressing = replace(BARE[0].steps[0], contact=True, wait_s=2.0)
    told = bare.readings

    def pulled(*, patience_s: float = CONNECT_S) -> Readings:
        readings = told()
        return replace(readings, force=readings.force - 1500.0 * bool(bare.sent))

    bare.readings = pulled  # type: ignore[method-assign]
    outcome = drive_programme(
        bare, HAND, [replace(BARE[0], steps=(pressing,))], stop=threading.Event(), silence_s=PATIENT_S
    )
    assert "over the limit" in outcome.why


def test_a_hand_that_nobody_hears_is_not_moved_and_told_why(bare: Twin):
    bare.silent = True
    for _ in range(2):
        with contextlib.suppress(ThenarError):
            bare.readings()
    with pytest.raises(ThenarError, match="not moved: nobody publishes"):
        drive_programme(bare, HAND, BARE, stop=threading.Event())
    assert not any(np.isfinite(command.target_rad).any() for command in bare.sent)


def test_a_hand_whose_wire_tells_no_force_is_not_moved(bare: Twin):
    with pytest.raises(BadValue, match="Inspire"):
        drive_programme(bare, hands.load("reflex"), BARE, stop=threading.Event())
    assert not bare.sent


def bare_ways(spec: HandSpec) -> np.ndarray:
    """Closing fractions on the way between all postures in which nothing is to be met. Shape (n, motors)."""
    now, ways = np.zeros(len(spec.actuators)), {}
    for step in (step for phase in programme(spec) for step in phase.steps if not step.contact):
        after = np.where(np.isnan(step.closed), now, step.closed)
        ways[(*now, *after)] = np.linspace(now, after, 6)
        now = after
    return np.concatenate(list(ways.values()))


def deepest_mm(spec: HandSpec, closed: np.ndarray) -> float:
    """How deep parts of a hand are in each other in the worst of these postures [mm]."""
    model = compile_model(WorldConfig(hands=(spec,)))
    data = mujoco.MjData(model)
    at = [int(model.joint(f"{spec.name}/{name}").qposadr[0]) for name in spec.joint_names]
    deepest_m = 0.0
    for posture in np.minimum(BEYOND * closed, 1.0):
        angles = spec.open_rad + posture * (spec.closed_rad - spec.open_rad)
        data.qpos[at] = list(spec.joint_angles(angles).values())
        mujoco.mj_forward(model, data)
        deepest_m = max(deepest_m, *(-data.contact.dist), 0.0)
    return 1e3 * deepest_m


@pytest.mark.parametrize(("name", "law"), COUPLED)
def test_a_bare_hand_meets_nothing_of_itself_where_the_programme_expects_nothing(name: str, law: str):
    spec = hands.load(name, variant=law)
    assert deepest_mm(spec, bare_ways(spec)) == 0.0


def test_a_thumb_that_were_bent_all_the_way_would_meet_its_palm():
    spec = hands.load("inspire_right", variant="xr_teleoperate")
    bent = np.array([name == "thumb_bend" for name in spec.actuator_names])
    assert bare_ways(spec)[:, bent].max() == pytest.approx(REACH["thumb_bend"])
    assert deepest_mm(spec, 1.0 * bent[None]) > 1.0
