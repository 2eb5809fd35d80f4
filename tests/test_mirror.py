"""A twin beside a hand in another process, on the hand's own wire: what differs is said in words."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from patience import free_domain, wait_for
from serving import end_with_parent, served

import thenar
from thenar import HandSpec, hands
from thenar.errors import BadValue, ThenarError, UnknownName
from thenar.hands.spec import LeadScrew
from thenar.twin.compare.finding import Finding
from thenar.twin.compare.mirror_link import TIMELESS
from thenar.twin.compare.mirroring import mirror
from thenar.twin.live_twin import LiveTwin
from thenar.twin.page.mirror_page import extra_contacts
from thenar.view import status_html
from thenar.view.page_scene import Rows
from thenar.wire.clients.listener import Place
from thenar.wire.codecs.unitree import brainco_codec, dex3_codec, unitree_go, unitree_hg
from thenar.wire.rtps import Participant

PEER = Path(__file__).parent / "peers" / "hidden_hand.py"


@contextmanager
def hidden_hand(difference: str) -> Iterator[int]:
    """A hand that somebody moves, with something that the model does not have; yields its domain."""
    domain = free_domain()
    process = subprocess.Popen(
        [sys.executable, str(PEER), str(domain), difference],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_parent,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        yield domain
    finally:
        process.stdin.close()
        process.wait(60)


@contextmanager
def too_slow(twin: LiveTwin) -> Iterator[None]:
    """A machine that has other things to do more than half of the time."""
    stopping = threading.Event()

    def disturb() -> None:
        while not stopping.wait(0.02):
            twin.run_on_loop(lambda _: time.sleep(0.03))

    busy = threading.Thread(target=disturb)
    busy.start()
    try:
        yield
    finally:
        stopping.set()
        busy.join()


def test_a_mirror_names_fingers_in_another_order_and_a_silent_hand_though_its_machine_is_too_slow():
    told: list[Finding] = []
    found = lambda: {one.kind: one.words for one in told}  # noqa: E731
    with ExitStack() as hand:
        domain = hand.enter_context(hidden_hand("finger order"))
        twin, link = mirror(["inspire_right"], Place(domain=domain), on_finding=told.append)
        with twin, too_slow(twin):
            assert wait_for(lambda: "finger order" in found(), 60.0)
            assert wait_for(lambda: link.lateness, 60.0)
            twin_rad, own = (
                twin.run_on_loop(lambda world: world.state("inspire_right").angle_rad),
                link.newest("inspire_right"),
            )
            hand.close()
            assert wait_for(lambda: "silence" in found(), 60.0)
            assert twin.health().links[0].written == 0
    assert found()["finger order"].startswith("fingers are in another order: little moves as ring should")
    assert found().keys() <= TIMELESS
    assert own[0].angle_rad.shape == twin_rad.shape
    assert own[2] is not None


@contextmanager
def moved(domain: int, wire: str, spec: HandSpec) -> Iterator[None]:
    """Somebody opens and closes a hand over Unitree's topics."""
    codec, stopping = {"dex3": dex3_codec, "brainco": brainco_codec}[wire], threading.Event()
    topic = f"rt/{wire}/{spec.side}/cmd"
    with Participant(domain, name="person", interface="lo") as person:
        writer = person.advertise(topic, codec.COMMANDS[topic])

        def move() -> None:
            while not stopping.wait(0.02):
                share = 0.3 - 0.2 * np.cos(4.0 * time.perf_counter())
                target_rad = spec.open_rad + share * (spec.closed_rad - spec.open_rad)
                writer.post(client_message(wire, target_rad, share)[4:])

        mover = threading.Thread(target=move)
        mover.start()
        try:
            yield
        finally:
            stopping.set()
            mover.join()


def client_message(wire: str, target_rad: np.ndarray, share: float) -> bytes:
    """What clients of Unitree's send: angles and gains to a Dex3-1, shares of the way and of the speed to a BrainCo."""
    if wire == "dex3":
        motors = np.zeros(len(target_rad), unitree_hg.MOTOR_CMD)
        motors["mode"], motors["q"] = np.arange(len(motors)) | 0x10, target_rad
        motors["kp"], motors["kd"] = 1.5, 0.2
        return unitree_hg.encode_hand_cmd(motors)
    motors = np.zeros(len(target_rad), unitree_go.MOTOR_CMD)
    motors["q"], motors["dq"] = share, 1.0
    return unitree_go.encode_motors(motors)


@pytest.mark.timing  # a mirror on a machine that is too slow says so and compares nothing
@pytest.mark.parametrize(
    ("wire", "hand", "motor"), [("dex3", "dex3_right", "index_0"), ("brainco", "brainco_left", "index")]
)
def test_a_mirror_hears_unitrees_hands_and_names_the_motor_that_stands(wire: str, hand: str, motor: str):
    spec, told = hands.load(hand), []
    serving = f"thenar serve --hands {hand} --wire {wire} --scene empty --fault jam:{motor}"
    with served(serving) as (domain, _), moved(domain, wire, spec):
        twin, link = mirror([hand], Place(wire=wire, domain=domain), on_finding=told.append)
        with twin:
            assert wait_for(lambda: ("stuck", motor) in {(one.kind, one.part) for one in told}, 90.0)
            assert link.listener.refused == {}
            assert link.health().written == 0
            real, _, felt = link.newest(hand)
    assert real.actuator_names == spec.actuator_names
    assert np.isfinite(real.torque_nm if wire == "dex3" else real.current_a).all()
    assert felt is None


@pytest.mark.timing
def test_a_mirror_of_a_perfect_twin_finds_nothing():
    with hidden_hand("nothing") as domain:
        twin, link = mirror(["inspire_right"], Place(domain=domain))
        with twin:
            time.sleep(12.0)
            apart_deg, found = link.apart_deg("inspire_right"), link.findings()
    assert len(apart_deg) > 3000
    assert np.median(apart_deg) < 0.3
    assert np.percentile(apart_deg, 99) < 2.0
    assert found == []


def latencies_s(spec: HandSpec) -> dict[str, float]:
    return {one.name: one.motor.latency_s for one in spec.actuators if isinstance(one.motor, LeadScrew)}


@pytest.mark.timing
def test_a_mirror_with_the_motors_of_its_hand_does_not_tell_how_they_differ_from_the_catalogue(tmp_path: Path):
    spec = hands.load("inspire_right")
    later_s = {name: 0.02 + latency_s for name, latency_s in latencies_s(spec).items()}
    tables = "".join(f"[motors.{name}]\nlatency_s = {latency_s}\n" for name, latency_s in later_s.items())
    (file := tmp_path / "motors.toml").write_text(tables)
    with hidden_hand("latency") as domain:
        twin, link = mirror(["inspire_right"], Place(domain=domain), motors=file)
        with twin:
            time.sleep(12.0)
            apart_deg, found = link.apart_deg("inspire_right"), link.findings()
    assert latencies_s(twin.world.hand("inspire_right")) == later_s
    assert np.percentile(apart_deg, 99) < 2.0
    assert found == []


def test_motors_that_a_mirror_cannot_use_are_refused_before_it_listens(tmp_path: Path):
    (file := tmp_path / "motors.toml").write_text("[motors.index]\nlatency_s = 0.05\n")
    with pytest.raises(BadValue, match="a file for each hand by its name"):
        mirror(["inspire_left", "inspire_right"], Place(), motors=file)
    with pytest.raises(UnknownName, match="no hand in this world named 'inspire_left'"):
        mirror(["inspire_right"], Place(), motors={"inspire_left": file})


def test_what_the_hand_holds_and_the_twin_lacks_is_marked_where_it_touches():
    hand = "inspire_right"
    ball = thenar.Sphere(name="ball", radius_m=0.025, pos_m=(0.0, 0.055, 0.045), fixed=True)
    worlds = [thenar.World(hand, props=props, profile="ideal") for props in ([ball], [])]
    for world in worlds:
        world.command(hand, thenar.HandCommand.closing([0.0, 0.7, 0.0, 0.0, 0.0, 0.0]))
        world.advance(1.0)
    real, twin = worlds
    felt, ours = (world.touch(hand) for world in worlds)
    points_m, forces_n = extra_contacts(real, hand, felt, ours)
    truth = real.contacts(hand)
    sure = truth.normal_force_n > 0.3
    assert len(points_m) == 1
    away_m = np.linalg.norm(truth.position_m[sure] - points_m[0], axis=1)
    assert away_m.min() < 2e-3
    inwards = -truth.normal[sure][away_m.argmin()]
    assert forces_n[0] @ inwards > 0.9 * np.linalg.norm(forces_n[0])  # onto the finger
    assert len(extra_contacts(twin, hand, ours, ours)[0]) == 0
    assert len(extra_contacts(twin, hand, None, ours)[0]) == 0


def test_the_mirrors_words_and_numbers_are_read_line_by_line():
    rows: Rows = [("index", "degrees", 5.0, 4.0), ("index", "N", 1.5, 0.5), ("palm", "N", float("nan"), 0.0)]
    table = status_html.beside({"inspire_right": rows})
    assert table.count("<td>index</td>") == 1  # a motor is named once for all its values
    assert "1.00" in table
    assert "palm" not in table  # what is not measured is not shown
    told = status_html.caption("ring meets something\nindex follows later")
    assert told.count("text-indent") == 2  # a finding is a line of its own, however long it is


def test_a_mirror_without_a_hand_says_why(domain: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("thenar.twin.compare.mirror_link.SILENCE_S", 0.3)
    with pytest.raises(ThenarError, match=r"nothing is heard of inspire_right: nobody publishes .*thenar inspect"):
        mirror(["inspire_right"], Place(domain=domain))
