"""Listening to hands on their wires without a word to them, and recording what is heard."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from patience import free_port, wait_for

import thenar
from thenar import cdr, hands
from thenar.errors import BadValue, HandLost, ThenarError
from thenar.signals import HandCommand, HandState
from thenar.twin.recording.listen import WireRecorder
from thenar.twin.serving import serve
from thenar.wire.clients.domain_survey import reasons_for_silence
from thenar.wire.clients.hand_connection import connect_inspire
from thenar.wire.clients.inspire_clients import TienkungClient
from thenar.wire.clients.listener import Listener, Place
from thenar.wire.clients.wire_taps import brainco_taps, dex3_taps
from thenar.wire.codecs import dfx_codec, inspire_codec, inspire_counts, reflex_codec
from thenar.wire.codecs.inspire_codec import Ctrl, Mode
from thenar.wire.codecs.inspire_counts import Scale
from thenar.wire.codecs.unitree import brainco_codec, dex3_codec, unitree_go, unitree_hg
from thenar.wire.links.dds_link import send
from thenar.wire.rtps import Participant, ros
from thenar.wire.rtps.network import Network

RIGHT = hands.load("inspire_right")


class Ear:
    """Keeps what it hears."""

    def __init__(self):
        self.commands: list[HandCommand] = []
        self.states: list[HandState] = []
        self.skins: list[np.ndarray] = []
        self.raw: list[tuple[str, bytes]] = []

    def hear(self, hand: str, said: object, arrived_s: float) -> None:
        match said:
            case HandCommand():
                self.commands.append(said)
            case HandState():
                self.states.append(said)
            case np.ndarray():
                self.skins.append(said)

    def asked_for(self, target_rad: np.ndarray) -> bool:
        """Whether the newest command is this one."""
        return bool(self.commands) and np.allclose(self.commands[-1].target_rad[:3], target_rad, atol=5e-3)

    def hear_raw(self, topic: str, type_name: str, message: bytes, arrived_s: float) -> None:
        self.raw.append((topic, message))


class Counting(Network):
    """Counts every datagram that reaches a participant, by who sent it and what is in it."""

    def __init__(self, domain: int):
        super().__init__(domain)
        self.arrived: Counter[tuple[bytes, str]] = Counter()

    def receive(self, timeout_s: float) -> Iterator[tuple[bytes, str]]:
        for datagram, source in super().receive(timeout_s):
            for part in _parts(datagram):
                self.arrived[datagram[8:20], part] += 1
            yield datagram, source


def _parts(datagram: bytes) -> list[str]:
    """Submessages of a datagram by the standard's bytes: kind, and whether the entity is one of discovery's."""
    kinds = {0x15: "DATA", 0x16: "DATA_FRAG", 0x06: "ACKNACK", 0x07: "HEARTBEAT", 0x08: "GAP"}
    found, at = [], 20
    while at + 4 <= len(datagram):
        kind, flags = datagram[at], datagram[at + 1]
        size = int.from_bytes(datagram[at + 2 : at + 4], "little" if flags & 1 else "big")
        body = datagram[at + 4 : at + 4 + size if size else len(datagram)]
        if kind in kinds:
            entities = body[4:12] if kind in (0x15, 0x16) else body[:8]
            builtin = entities[7] >= 0xC0 or entities[3] >= 0xC0
            found.append(f"{'discovery' if builtin else 'user'} {kinds[kind]}")
        at += 4 + size if size else len(datagram)
    return found


def test_a_hand_gets_nothing_from_a_listener_but_discovery(domain: int):
    network, ear = Counting(domain), Ear()
    state, ctrl = (inspire_codec.topic(kind, "right") for kind in ("state", "ctrl"))
    with Participant(domain, network=network) as hand, Participant(domain) as client:
        states = hand.advertise(state, inspire_codec.STATES[state])
        got: list[bytes] = []
        hand.subscribe(ctrl, inspire_codec.COMMANDS[ctrl], lambda sample: got.append(sample.body))
        commands = client.advertise(ctrl, inspire_codec.COMMANDS[ctrl])
        assert commands.wait_for_readers(5.0)
        with Listener([RIGHT], Place(domain=domain), ear) as listener:
            assert states.wait_for_readers(5.0)
            assert wait_for(lambda: listener.flows()[0].writers and len(commands.readers) == 2)
            readings = inspire_counts.readings(Scale.of(RIGHT), thenar.World("inspire_right").state("inspire_right"))
            for _ in range(50):
                send(states, inspire_codec.encode_state(readings))
                send(commands, inspire_codec.encode_ctrl(Ctrl(angle=[500] * 6, mode=int(Mode.ANGLE))))
            assert wait_for(lambda: len(ear.states) == 50 and len(ear.commands) == 50)
            ours = listener._participant.prefix
    theirs = client.prefix
    by_listener = Counter({part: n for (who, part), n in network.arrived.items() if who == ours})
    assert by_listener.total() > 0
    assert not [part for part in by_listener if part.startswith("user")], by_listener
    # The control: a client that commands is counted.
    assert network.arrived[theirs, "user DATA"] >= 50
    assert len(got) == 50


def closed(share: float) -> Ctrl:
    """All fingers at a share of their way."""
    return Ctrl(angle=[round(1000 * (1.0 - share))] * 5 + [1000], speed=[1000] * 6, mode=int(Mode.ANGLE | Mode.SPEED))


@pytest.mark.parametrize("wires", [("inspire", "dfx", "tienkung", "modbus"), ("reflex",)])
def test_what_is_heard_is_what_the_hand_did(wires: tuple[str, ...], domain: int):
    name, port = "reflex" if wires == ("reflex",) else "inspire_right", free_port()
    alone = {"hands": (name,), "scene": "empty", "profile": "ideal"}
    config = thenar.ServeConfig(wires=wires, domain=domain, modbus=thenar.ModbusOptions(port=port), **alone)
    spec = hands.load(name)
    with serve(config) as twin, ExitStack() as opened:

        def now_rad() -> np.ndarray:
            return twin.run_on_loop(lambda world: world.state(name)).angle_rad

        for wire, share in zip(wires, (0.5, 0.45, 0.4, 0.35), strict=False):
            ear, place = Ear(), Place(wire=wire, domain=domain, modbus=(f"127.0.0.1:{port}",))
            listener = opened.enter_context(Listener([spec], place, ear))
            assert listener.passive == (wire != "modbus")
            assert listener.wait_for("state", 10.0), listener.silence()
            target_rad = spec.open_rad + share * (spec.closed_rad - spec.open_rad)
            drive(wire, spec, domain, port, share)
            assert wait_for(lambda e=ear, t=target_rad: e.asked_for(t[:3])), wire
            assert wait_for(lambda t=target_rad: np.abs(now_rad() - t)[:3].max() < 0.02)
            assert wait_for(lambda e=ear: np.abs(e.states[-1].angle_rad - now_rad()).max() < 4e-3), wire
            assert ear.states[-1].joint_rad.shape == (len(spec.joint_names),)
            if wire in ("inspire", "modbus", "reflex"):
                assert ear.skins[-1].shape == (sum(pad.taxels for pad in spec.pads),)
            assert bool(ear.raw) == listener.passive


def drive(wire: str, spec: thenar.HandSpec, domain: int, port: int, share: float) -> None:
    """Close every finger by a share of its way, with one of the wire's own clients."""
    opened = 1.0 - share
    if wire == "modbus":
        with thenar.ModbusHand(spec, host="127.0.0.1", port=port) as hand:
            hand.write("ANGLE_SET", [round(1000 * opened)] * 6)
        return
    with Participant(domain) as me:
        if wire == "reflex":
            topic = f"{reflex_codec.NAMESPACE}/command_position"
            writer = me.advertise(ros.topic_name(topic), ros.message_type(reflex_codec.COMMANDS["command_position"]))
            middle_rad = spec.open_rad + share * (spec.closed_rad - spec.open_rad)
            writer.wait_for_readers(5.0)
            time.sleep(0.1)  # the listener is a second reader
            writer.write(reflex_codec.encode_numbers("command_position", middle_rad))
        elif wire == "dfx":
            client = thenar.DfxClient(me)
            client.wait_until_heard(5.0)
            time.sleep(0.1)
            client.send({"right": [opened] * 6})
        elif wire == "tienkung":
            client = TienkungClient(me, spec)
            client.wait_until_heard(5.0)
            time.sleep(0.1)
            client.send({str(number): opened for number in range(1, 7)})
        else:
            client = thenar.InspireClient(me, spec)
            client.wait_until_heard(5.0)
            time.sleep(0.1)
            client.send(Ctrl(angle=[round(1000 * opened)] * 6, mode=int(Mode.ANGLE)))


def test_a_silent_wire_says_why(domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("thenar.twin.recording.listen.SILENCE_S", 0.3)
    with pytest.raises(
        ThenarError, match=r"nothing is heard of inspire_right: nobody publishes .*thenar inspect"
    ) as told:
        WireRecorder(tmp_path / "a.mcap", ["inspire_right"], Place(domain=domain))
    assert "firewall" in str(told.value)
    assert not (tmp_path / "a.mcap").exists()
    with Participant(domain) as hand:
        topic = inspire_codec.topic("state", "right")
        hand.advertise(topic, inspire_codec.STATES[topic])
        with pytest.raises(ThenarError, match=r"announces .* and sends nothing"):
            WireRecorder(tmp_path / "a.mcap", ["inspire_right"], Place(domain=domain))
    with pytest.raises(BadValue, match="hands that speak reflex"):
        WireRecorder(tmp_path / "a.mcap", ["inspire_right"], Place(wire="reflex", domain=domain))


@pytest.mark.parametrize(
    ("interface", "why"),
    [
        ("lo", "lo reaches this machine only"),
        ("127.0.0.1", "127.0.0.1 reaches this machine only"),
        ("192.0.2.7", "multicast: Wi-Fi"),
    ],
)
def test_reasons_for_silence_are_given_of_an_interface_by_name_and_by_address(interface: str, why: str):
    assert why in "; ".join(reasons_for_silence(1, interface))


@pytest.mark.parametrize("hand", ["dex3", "brainco", "inspire_dfx"])
def test_what_is_published_for_a_hand_that_is_not_there_is_no_state_of_it(hand: str, domain: int):
    wire, ear = "dfx" if hand == "inspire_dfx" else hand, Ear()
    with (
        serve(f"{hand}_left", wires=(wire,), scene="empty", domain=domain),
        Listener([hands.load(f"{hand}_right")], Place(wire=wire, domain=domain), ear) as listener,
    ):
        assert wait_for(lambda: any(flow.messages > 5 for flow in listener.flows() if flow.kind == "state"))
        assert not listener.wait_for("state", 0.1)
        assert "sends no state of a hand that is there" in listener.silence()
    assert ear.states == []


def test_a_listener_that_cannot_reach_all_modbus_hands_lets_go_of_those_it_has(domain: int):
    port = free_port()
    modbus = thenar.ModbusOptions(port=port)
    with serve("inspire_right", wires=("modbus",), scene="empty", domain=domain, modbus=modbus) as twin:
        place = Place(wire="modbus", modbus=(f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"))
        before = set(threading.enumerate())
        with pytest.raises(ThenarError, match=f"{port + 1}") as told:
            Listener([RIGHT, hands.load("inspire_left")], place, Ear())
        assert told.value.__traceback__ is not None  # so that nobody else has dropped the listener
        assert wait_for(lambda: twin.health().links[0].listeners == 0)
        assert set(threading.enumerate()) <= before


@contextmanager
def publishing(domain: int, motors: int) -> Iterator[None]:
    """A service of DFX hands that tells the states of so many motors."""
    (state, kind), (command, command_kind) = *dfx_codec.STATES.items(), *dfx_codec.COMMANDS.items()
    body = unitree_go.encode_motors(np.zeros(motors, unitree_go.MOTOR_STATE))
    stop = threading.Event()
    with Participant(domain) as hand:
        hand.subscribe(command, command_kind, lambda _: None)
        writer = hand.advertise(state, kind)

        def tell() -> None:
            while not stop.wait(0.02):
                send(writer, body)

        thread = threading.Thread(target=tell)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def test_a_hand_that_dfx_states_leave_out_is_lost(domain: int):
    place, stay = Place(wire="dfx", domain=domain), HandCommand.hold(6)
    left, right = (connect_inspire([spec], place) for spec in (hands.load("inspire_left"), RIGHT))
    with publishing(domain, 6), left as (absent,), right as (there,):
        assert np.asarray(there.readings()).shape == (6,)
        there.send(stay)
        for talk in (absent.readings, lambda: absent.send(stay)):
            with pytest.raises(HandLost, match="no left hand"):
                talk()


def test_a_dfx_state_of_half_a_hand_is_none(domain: int):
    place = Place(wire="dfx", domain=domain)
    with (
        publishing(domain, 7),
        connect_inspire([RIGHT], place) as (connection,),
        pytest.raises(HandLost, match="publishes dfx state"),
    ):
        connection.readings(patience_s=1.0)


def test_a_hand_on_a_wire_is_recorded_and_a_twin_does_the_same_again(domain: int, tmp_path: Path):
    path = tmp_path / "real.mcap"
    config = thenar.ServeConfig(hands=("inspire_right",), wires=("inspire",), domain=domain, scene="in_hand", seed=7)
    with serve(config) as twin, Participant(domain) as me:
        client = thenar.InspireClient(me, RIGHT)
        with WireRecorder(path, ["inspire_right"], Place(domain=domain), raw=True) as recorder:
            assert client.wait_until_heard(5.0)
            assert wait_for(lambda: len(client._command.readers) == 2)
            for share in (0.5, 0.1, 0.4):
                client.send(closed(share))
                time.sleep(0.5)
            flows = {flow.kind: flow for flow in recorder.listener.flows()}
    assert twin.health().failed == ()
    rec = thenar.Recording(path)
    motors, touch = rec.motors("inspire_right"), rec.touch("inspire_right")
    assert rec.about["source"] == "wire"
    assert rec.about["passive"] == "yes"
    assert touch["palm"].shape[1:] == (8, 14)
    assert touch["palm"].max() > 1e3  # the ball in the hand
    assert rec.commands("inspire_right").position_rad.shape == (3, 6)
    raw = rec.contents.channels["/raw/rt/inspire_hand/ctrl/r"].messages
    sent = [inspire_codec.encode_ctrl(closed(share)) for share in (0.5, 0.1, 0.4)]
    assert [message.payload for message in raw] == sent
    assert len(rec.contents.channels["/raw/rt/inspire_hand/state/r"].messages) == len(motors.stamp_s)
    assert flows["state"].messages >= len(motors.stamp_s)
    again = thenar.replay(rec)
    theirs = again.motors("inspire_right")
    little_rad = np.interp(motors.stamp_s, theirs.stamp_s, theirs.angle_rad[:, 0])
    apart = np.abs(np.degrees(little_rad - motors.angle_rad[:, 0]))
    assert np.ptp(np.degrees(motors.angle_rad[:, 0])) > 15.0
    assert np.median(apart) < 2.0  # stamps are those of arrival: late ones on a busy machine
    assert len(again.touch("inspire_right").stamp_s) == len(touch.stamp_s)


@pytest.mark.parametrize("wire", ["dex3", "brainco"])
def test_commands_and_states_of_unitrees_hands_are_read_as_they_were_meant(wire: str):
    spec = hands.load(f"{wire}_left")
    command, state = (dex3_taps if wire == "dex3" else brainco_taps)([spec])
    assert (command.topic, state.topic) == (f"rt/{wire}/left/cmd", f"rt/{wire}/left/state")
    world = thenar.World(spec, profile="ideal")
    world.command(spec.name, HandCommand.closing(0.5))
    world.advance(0.3)
    now = world.state(spec.name)
    if wire == "dex3":
        message = dex3_codec.state_message(spec, now, dex3_codec.press_counts(spec, None))
        motors = np.zeros(7, unitree_hg.MOTOR_CMD)
        motors["mode"], motors["q"], motors["kp"] = np.arange(7) | 0x10, 0.3, 1.5
        asked, sent = 0.3, unitree_hg.encode_hand_cmd(motors)
    else:
        message = brainco_codec.state_message(spec, now, np.arange(6))
        motors = np.zeros(6, unitree_go.MOTOR_CMD)
        motors["q"], motors["dq"] = 0.25, 1.0
        asked, sent = spec.open_rad + 0.25 * (spec.closed_rad - spec.open_rad), unitree_go.encode_motors(motors)
    ((hand, said),) = state.decode(message, 7.0)
    assert isinstance(said, HandState)
    assert (hand, said.stamp_s) == (spec.name, 7.0)
    np.testing.assert_allclose(said.angle_rad, now.angle_rad, atol=2e-3)
    ((_, told),) = command.decode(sent, 7.0)
    assert isinstance(told, HandCommand)
    np.testing.assert_allclose(told.target_rad, asked, atol=1e-6)
    with pytest.raises(cdr.BadMessage):
        list(state.decode(message[:40], 7.0))
