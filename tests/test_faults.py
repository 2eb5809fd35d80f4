"""Faults on demand, as clients on the wires see them."""

import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from patience import free_domain, free_port, wait_for

import thenar
from thenar import cdr, hands
from thenar.cli.show import listed
from thenar.errors import BadFile, BadValue, ThenarError, UnknownName
from thenar.signals import MotorError
from thenar.signals.fault_kinds import FAULTS, Fault, parse_fault
from thenar.twin.faults.fault_script import FaultScript
from thenar.twin.faults.message_faults import MessageFaults
from thenar.twin.live_twin import LiveTwin
from thenar.twin.serving import serve
from thenar.wire.clients.inspire_clients import InspireClient
from thenar.wire.clients.modbus_client import ModbusHand
from thenar.wire.codecs.inspire_codec import STATES, Ctrl, Mode, decode_state, topic
from thenar.wire.codecs.inspire_counts import Readings
from thenar.wire.rtps import SENSOR_DATA, Participant, Sample
from thenar.wire.wire_config import ModbusOptions

HAND = "inspire_right"
SPEC = hands.load(HAND)
INDEX = SPEC.actuator_names.index("index")
PALM_3_7 = next(pad for pad in SPEC.pads if pad.name == "palm").cols * 3 + 7
Break = Callable[..., None]


class Client:
    """Hears a hand on DDS, and every sample of its state as it came."""

    def __init__(self, participant: Participant):
        self.inspire = InspireClient(participant, SPEC)
        self.samples: list[tuple[float, Sample]] = []
        name = topic("state", "right")
        participant.subscribe(name, STATES[name], self._keep, qos=SENSOR_DATA)

    def _keep(self, sample: Sample) -> None:
        self.samples.append((time.perf_counter(), sample))

    def hear(self, count: int, *, within_s: float = 5.0) -> list[Sample]:
        """The next samples."""
        first = len(self.samples)
        assert wait_for(lambda: len(self.samples) >= first + count, within_s)
        return [sample for _, sample in self.samples[first : first + count]]

    def move(self, closed: float) -> None:
        """Close the index."""
        angle = [-1] * 6
        angle[INDEX] = round(1000 * (1.0 - closed))
        self.inspire.send(Ctrl(angle=angle, mode=int(Mode.ANGLE)))

    @property
    def readings(self) -> Readings:
        """The newest."""
        assert self.inspire.readings is not None
        return self.inspire.readings

    @property
    def angle(self) -> int:
        """Of the index, in counts."""
        return int(self.readings.angle[INDEX])

    def taxel(self, number: int) -> int:
        """Newest counts of a taxel."""
        assert self.inspire.taxel_counts is not None
        return int(self.inspire.taxel_counts[number])

    def stamp_s(self) -> float:
        """Of the next sample."""
        found = self.hear(1)[0].stamp_s
        assert found is not None
        return found


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def twin(port: int) -> Iterator[LiveTwin]:
    config = thenar.ServeConfig(
        hands=(HAND,), scene="empty", wires=("inspire", "modbus"), domain=free_domain(), modbus=ModbusOptions(port=port)
    )
    with serve(config) as running:
        running.domain = config.domain  # pyright: ignore[reportAttributeAccessIssue]
        yield running


@pytest.fixture(scope="module")
def client(twin: LiveTwin) -> Iterator[Client]:
    with Participant(twin.domain, name="client") as participant:  # pyright: ignore[reportAttributeAccessIssue]
        hears = Client(participant)
        assert hears.inspire.wait_until_heard(10.0)
        hears.hear(3)
        yield hears


@pytest.fixture
def inject(twin: LiveTwin) -> Iterator[Break]:
    """Breaks something of the twin; it is mended when the test is over."""
    yield lambda *fault: twin.run_on_loop(lambda world: world.faults.inject(*fault))
    twin.run_on_loop(lambda world: world.reset())


def test_a_jammed_motor_stands_still_and_reports_a_stall_on_the_wire(client: Client, inject: Break):
    inject(HAND, "index", "jam")
    client.move(0.6)
    assert wait_for(lambda: client.readings.error[INDEX] & MotorError.STALL)
    assert client.angle > 980


def test_a_sticky_coupling_costs_force_in_free_motion_both_ways(client: Client, inject: Break):
    def force_closing() -> float:
        client.move(0.0)
        assert wait_for(lambda: client.angle > 990)
        client.move(0.7)
        seen = []
        assert wait_for(lambda: seen.append(client.readings.force[INDEX]) or client.angle < 330)
        return float(np.median(seen))

    free = force_closing()
    inject(HAND, "index", "sticky", 0.06)
    assert force_closing() > free + 40  # grams


def test_a_stuck_and_a_drifting_taxel_read_what_nobody_presses(client: Client, twin: LiveTwin, inject: Break):
    first = sum(pad.taxels for pad in SPEC.pads[: [pad.name for pad in SPEC.pads].index("palm")])
    taxel = first + PALM_3_7
    inject(HAND, "palm 3 7", "stuck", 1800)
    inject(HAND, "palm 3 8", "drifting", 500)
    assert wait_for(lambda: client.taxel(taxel) == 1800)
    assert wait_for(lambda: client.taxel(taxel + 1) > 300)
    assert twin.world.faults.broken_taxels(HAND).sum() == 2
    twin.run_on_loop(lambda world: world.faults.repair(HAND, "palm 3 7"))
    assert wait_for(lambda: client.taxel(taxel) < 100)


def test_lost_messages_leave_gaps_and_commands_do_not_always_act(client: Client, inject: Break):
    def rate_hz() -> float:
        began_s = time.perf_counter()
        client.hear(30)
        return 30 / (time.perf_counter() - began_s)

    before_hz = rate_hz()
    inject("", "", "lost", 0.6)
    assert rate_hz() < 0.65 * before_hz


def test_late_messages_tell_of_a_motion_later(client: Client, twin: LiveTwin, inject: Break):
    def shown_after_s() -> float:
        client.move(0.0)
        assert wait_for(lambda: client.angle > 990)
        began_s = time.perf_counter()
        client.move(0.5)
        assert wait_for(lambda: client.angle < 900)
        return time.perf_counter() - began_s

    usual_s = shown_after_s()
    inject("", "inspire", "late", 0.4)
    assert shown_after_s() - usual_s == pytest.approx(0.4, abs=0.15)


def test_doubled_messages_come_twice(client: Client, inject: Break):
    def twice(samples: Sequence[Sample]) -> int:
        return sum(one.body == other.body for one, other in itertools.pairwise(samples))

    usual = twice(client.hear(40))
    inject("", "", "doubled", 1.0)
    client.hear(4)
    assert wait_for(lambda: twice(client.hear(40)) >= usual + 15, 5.0)  # some of twenty may be lost on a busy machine


def test_garbled_messages_carry_what_no_hand_can_report(client: Client, inject: Break):
    clean = {sample.body[:12] for sample in client.hear(20)}
    assert all(0 <= np.frombuffer(body[:2], "<i2")[0] <= 2000 for body in clean)
    inject("", "inspire", "garbled", 1.0)
    client.hear(4)
    whole = np.array([np.frombuffer(sample.body, np.uint8)[:80] for sample in client.hear(40)])
    odd = np.abs(whole.astype(int) - np.median(whole, axis=0)).max(axis=1)
    assert (odd > 60).mean() > 0.4


def test_messages_out_of_order_are_older_than_the_one_before(client: Client, twin: LiveTwin, inject: Break):
    inject("", "", "shuffled", 0.5)
    client.move(0.9)
    came = client.hear(50)
    angles = [decode_state(cdr.HEADER + sample.body).angle[INDEX] for sample in came]
    assert np.diff(angles).max() > 8  # a finger that closes seems to go back


def test_fingers_in_another_order_answer_for_each_other(client: Client, inject: Break):
    angle = [-1] * 6
    angle[0] = 500
    inject("", "", "order")
    client.inspire.send(Ctrl(angle=angle, mode=int(Mode.ANGLE)))
    assert wait_for(lambda: client.readings.angle[1] < 600)
    assert client.readings.angle[0] > 950


def test_a_clock_that_jumps_shows_in_the_stamps(client: Client, inject: Break):
    before_s = client.stamp_s()
    inject("", "inspire", "clock", 3600.0)
    client.hear(3)
    assert client.stamp_s() - before_s == pytest.approx(3600.0, abs=5.0)


def test_a_silent_wire_still_obeys_and_the_other_wire_speaks(client: Client, twin: LiveTwin, inject: Break, port: int):
    inject("", "inspire", "silent")
    with ModbusHand(SPEC, host="127.0.0.1", port=port) as other:
        assert wait_for(lambda: client.inspire.wait_for_news(touch=False, timeout_s=0.1) is False)
        client.move(0.5)
        assert wait_for(lambda: other.read("ANGLE_ACT")[INDEX] < 600)
        assert not client.inspire.wait_for_news(touch=False, timeout_s=0.1)


def test_a_brown_out_silences_the_hand_which_wakes_up_where_it_is_with_its_own_settings(
    client: Client, twin: LiveTwin, inject: Break, port: int
):
    with ModbusHand(SPEC, host="127.0.0.1", port=port) as other:
        other.write("SPEED_SET", [222] * 6)
        other.write("DEFAULT_SPEED_SET", [333] * 6)  # not saved
        client.move(0.9)
        assert wait_for(lambda: client.angle < 700)
        inject("", "", "brownout", 0.5)
        assert wait_for(lambda: client.inspire.wait_for_news(touch=False, timeout_s=0.1) is False)
    assert client.inspire.wait_for_news(touch=False, timeout_s=5.0)  # it is back
    with ModbusHand(SPEC, host="127.0.0.1", port=port) as other:
        assert wait_for(lambda: other.read("SPEED_SET").tolist() == [1000] * 6)
        assert other.read("DEFAULT_SPEED_SET").tolist() == [1000] * 6
        stood = client.angle
        assert 150 < stood < 750  # the screw held, to some noise; the target is forgotten
        client.hear(20)
        assert abs(client.angle - stood) < 10
        client.move(0.1)
        assert wait_for(lambda: client.angle > 850)


def test_a_wire_that_is_cut_while_polled_does_not_answer(inject: Break, port: int):
    inject("", "modbus", "disconnected")
    with ModbusHand(SPEC, host="127.0.0.1", port=port, timeout_s=0.3) as other:

        def answers() -> bool:
            try:
                other.read("ANGLE_ACT")
            except ThenarError:
                return False
            return True

        assert wait_for(lambda: not answers())


def test_servos_without_power_are_limp_and_hold_again_where_they_fell():
    world = thenar.World("shadow_right", profile="ideal")
    world.command("shadow_right", thenar.HandCommand.closing(0.5))
    world.advance(1.0)
    held = world.state("shadow_right").angle_rad
    world.faults.inject("", "", "brownout", 0.4)
    world.command("shadow_right", thenar.HandCommand.closing(0.0))  # nobody hears it
    world.advance(0.3)
    assert np.abs(world.state("shadow_right").torque_nm).max() < 1e-6
    world.advance(0.2)
    fell = world.state("shadow_right").angle_rad
    world.advance(0.3)
    assert np.abs(fell - held).max() > 0.01
    np.testing.assert_allclose(world.state("shadow_right").angle_rad, fell, atol=0.05)


def test_a_script_breaks_and_mends_by_the_clock_and_again_after_a_reset(tmp_path: Path):
    path = tmp_path / "faults.toml"
    path.write_text(
        '[[fault]]\nat_s = 0.2\nuntil_s = 0.4\npart = "index"\nkind = "jam"\n'
        '[[fault]]\nat_s = 0.1\npart = "palm 3 7"\nkind = "dead"\n'
    )
    world = thenar.World(HAND)
    script = FaultScript([str(path), "weak=0.5:index@0.3"], [SPEC])
    for _ in range(2):
        jammed, weak = [], []
        for _ in range(250):
            script(world)
            world.advance(world.timestep_s)
            motor = world.snapshot().motors[0, INDEX]
            jammed.append(bool(motor["jammed"]))
            weak.append(motor["strength"] == 0.5)
        assert np.flatnonzero(jammed)[[0, -1]] * world.timestep_s == pytest.approx([0.2, 0.398])
        assert np.flatnonzero(weak)[[0, -1]] * world.timestep_s == pytest.approx([0.3, 0.498])
        assert world.faults.broken_taxels(HAND).sum() == 1
        world.reset()
        assert world.faults.active == ()
        assert not world.faults.broken_taxels(HAND).any()


def test_late_messages_come_once_and_in_order_after_time_was_set_back():
    link: Any = SimpleNamespace(wire="dfx")
    world, faults = thenar.World(HAND), MessageFaults([link])
    world.faults.inject("", "dfx", "late", 0.05)
    faults.update(world)
    for n in range(20):
        faults.passed("dfx", "state", f"before {n}", 100.0 + 0.01 * n)
    come = [one for n in range(20) for one in faults.passed("dfx", "state", n, 0.01 * n)]
    assert come == list(range(15))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[fault]]\nat_s = 1\npart = 'index'\nkind = 'tired'", "tired"),
        ("[[fault]]\nat_s = 1\npart = 'index'\nkind = 'jam'\nforce = 3", "force"),
        ("[[fault]]\nat_s = 'soon'\npart = 'index'\nkind = 'jam'", "at_s"),
        ("at_s = 1", "fault"),
        ("[[fault]]\nkind = 'dead'\npart = 3", "words"),
        ("[[fault]]\nkind = 'clock'\namount = inf", "0 to 1e\\+09 s"),
    ],
)
def test_a_wrong_script_of_faults_is_refused(tmp_path: Path, text: str, why: str):
    path = tmp_path / "faults.toml"
    path.write_text(text)
    with pytest.raises(BadFile, match=why):
        FaultScript([str(path)], [SPEC])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("jam:toe", "toe"),
        ("dead:palm 99 0", "8 x 14"),
        ("dead:palm", "palm 3 7"),
        ("jam=3:index", "none"),
        ("lost:tienkung", "tienkung"),
        ("inspire_right/lost", "share their wires"),
        ("jam:index@5-3", "end after"),
        ("jam index", "KIND"),
        ("clock=1e309", "0 to 1e\\+09 s"),
        ("late=3600", "0 to 60 s"),
        ("lost=5", "0 to 1 of all"),
        ("hot:index@1.2.3", "KIND"),
        ("sticky:thumb_rotation@5", "no other joint follows it"),
    ],
)
def test_wrong_words_for_a_fault_are_refused(words: str, why: str):
    with pytest.raises((BadValue, UnknownName), match=why):
        FaultScript([words], [SPEC], ["inspire", "modbus"])


def test_what_only_some_hands_can_have_is_refused_before_anything_runs():
    dex3 = thenar.hands.load("dex3_left")
    with pytest.raises(BadValue, match="its motors measure no temperature"):
        FaultScript([f"hot:{dex3.actuator_names[0]}@3"], [dex3])
    both = [thenar.hands.load("inspire_left"), SPEC]
    with pytest.raises(BadValue, match="as there are several: inspire_left/jam, inspire_right/jam"):
        FaultScript(["jam:index"], both)


def test_the_faults_of_the_documentation_can_be_injected_into_the_hands_it_names():
    page = (Path(__file__).parents[1] / "docs" / "faults.md").read_text()
    found = re.findall(r"thenar serve (?:--hands (\S+) )?--fault '([^']+)'", page)
    assert len(found) == 2
    for hand, words in found:
        names = hand.split(",") if hand else ["inspire_left", "inspire_right"]
        FaultScript(listed(words), [thenar.hands.load(name) for name in names], ["inspire"])


def test_a_fault_is_read_from_words():
    assert parse_fault("inspire_left/weak=0.5:index@3-8") == Fault(
        kind="weak", hand="inspire_left", part="index", amount=0.5, at_s=3.0, until_s=8.0
    )
    assert parse_fault("my hand-2.0/jam:a/b") == Fault(kind="jam", hand="my hand-2.0", part="a/b")
    assert [parse_fault(words) for words in listed("lost,stuck:palm 3 7@2")] == [
        Fault(kind="lost"),
        Fault(kind="stuck", part="palm 3 7", at_s=2.0),
    ]


def test_every_kind_of_fault_is_on_the_page_of_faults():
    page = (Path(__file__).parents[1] / "docs" / "faults.md").read_text()
    assert [kind for kind in FAULTS if f"| `{kind}` |" not in page] == []


def test_a_spawned_object_leaves_what_is_broken_as_it_is():
    world = thenar.World(HAND)
    world.faults.inject(HAND, "palm 3 7", "stuck", 900)
    world.faults.inject(HAND, "index", "sticky")
    other = world.rebuild(more_props=[thenar.Sphere(radius_m=0.01, pos_m=(0.5, 0.0, 0.1))])
    other.copy_state_from(world)
    assert other.faults.active == world.faults.active
    assert other.touch(HAND).counts["palm"][3, 7] == 900
    assert other.model.dof_frictionloss.sum() > thenar.World(HAND).model.dof_frictionloss.sum()


def test_a_stuck_barometer_reads_pascals_above_the_air_as_all_of_them_do():
    world = thenar.World("reflex", profile="ideal")
    world.faults.inject("reflex", "finger_1_proximal 2 0", "stuck", 5000.0)
    frame = world.touch("reflex")
    assert frame.counts["finger_1_proximal"].ravel().tolist() == [0, 0, 5000, 0, 0]
    assert sorted(frame.die_pressure_pa)[-2:] == [101_325.0, 106_325.0]
