"""A recording sent to a hand: from where it stands, ramped, and stopped by whoever wants it or by silence."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from patience import wait_for

import thenar
from thenar import hands
from thenar.cli import main
from thenar.errors import ThenarError
from thenar.twin.recording import replay_to_hand
from thenar.twin.recording.replay_to_hand import BEAT_S, RAMP_S, plan, send_recording
from thenar.twin.serving import serve
from thenar.wire.clients.listener import Place

RIGHT = hands.load("inspire_right")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("to") / "session.mcap"
    world = thenar.World("inspire_right")
    with thenar.record(world, path, touch=False):
        for share in (0.2, 0.1, 0.25):
            world.command("inspire_right", thenar.HandCommand.closing([share] * 4 + [0.0, 0.0], speed=1.0))
            world.advance(0.3)
    return path


def test_the_way_to_the_first_target_is_slow_and_begins_at_the_hand(session: Path):
    recording = thenar.Recording(session)
    from_rad = RIGHT.closed_rad
    sent = list(plan(recording, "inspire_right", from_rad))
    steps = np.abs(np.diff([from_rad, *(one.command.target_rad for one in sent)], axis=0)) / np.abs(
        RIGHT.closed_rad - RIGHT.open_rad
    )
    assert steps[:-3].max() <= 1.01 * BEAT_S / RAMP_S
    np.testing.assert_allclose(sent[-1].command.target_rad, recording.commands("inspire_right").position_rad[-1])
    assert np.all(np.diff([one.at_s for one in sent]) > 0.0)


def test_a_recording_moves_a_hand_and_stops_when_told(session: Path, domain: int):
    recording, place = thenar.Recording(session), Place(domain=domain)
    alone = {"hands": ("inspire_right",), "scene": "empty", "wires": ("inspire",), "domain": domain}
    twin = serve(thenar.ServeConfig(**alone))
    with twin:
        send_recording(recording, place, threading.Event())
        done_rad = recording.motors("inspire_right").angle_rad[-1]
        reached = lambda: np.abs(twin.run_on_loop(lambda w: w.state("inspire_right").angle_rad) - done_rad)  # noqa: E731
        assert wait_for(lambda: reached()[:4].max() < 0.25)
        stop = threading.Event()
        stop.set()
        count = twin.health().hands["inspire_right"].requests
        send_recording(recording, place, stop)
        assert twin.health().hands["inspire_right"].requests <= count + 2  # to end what it was at


@pytest.mark.parametrize(("wire", "name"), [("dex3", "dex3_left"), ("brainco", "brainco_right"), ("reflex", "reflex")])
def test_hands_of_other_makers_are_sent_there_on_their_own_topics(
    wire: str, name: str, domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(replay_to_hand, "LOST_S", 30.0)  # a busy machine is not silent
    world, spec = thenar.World(name), hands.load(name)
    with thenar.record(world, tmp_path / "a.mcap", touch=False):
        world.command(name, thenar.HandCommand.closing(0.15, speed=1.0))
        world.advance(0.3)
    recording, moved = thenar.Recording(tmp_path / "a.mcap"), np.abs(spec.closed_rad - spec.open_rad) > 0.1
    with serve(thenar.ServeConfig(hands=(name,), scene="empty", wires=(wire,), domain=domain)) as twin:

        def closed() -> np.ndarray:
            angle_rad = twin.run_on_loop(lambda world: world.state(name).angle_rad)
            return (angle_rad - spec.open_rad)[moved] / (spec.closed_rad - spec.open_rad)[moved]

        assert closed().max() < 0.1
        send_recording(recording, Place(wire=wire, domain=domain), threading.Event())
        assert wait_for(lambda: np.abs(closed() - 0.15).max() < 0.1), closed()


def test_nothing_is_sent_where_no_interface_is_named(session: Path, capsys):
    with pytest.raises(SystemExit):
        main(["replay", str(session), "--to", "inspire"])
    assert "--interface" in capsys.readouterr().err


def test_a_hand_that_falls_silent_on_the_way_is_told_to_stop(tmp_path: Path, domain: int):
    world = thenar.World("inspire_right")
    with thenar.record(world, tmp_path / "slow.mcap", touch=False):
        world.command("inspire_right", thenar.HandCommand.closing([0.0] * 6))
        world.advance(0.1)
        world.command("inspire_right", thenar.HandCommand.closing([1.0] * 4 + [0.0, 0.0], speed=0.2))
        world.advance(3.0)
    alone = {"hands": ("inspire_right",), "scene": "empty", "wires": ("inspire",), "domain": domain}
    with serve(thenar.ServeConfig(**alone)) as twin:

        def closed() -> float:
            angle_rad = twin.run_on_loop(lambda world: world.state("inspire_right").angle_rad)
            return float(((angle_rad - RIGHT.open_rad) / (RIGHT.closed_rad - RIGHT.open_rad))[0])

        # Its states are lost, what it is told is not.
        timer = threading.Timer(
            0.6, lambda: twin.run_on_loop(lambda world: world.faults.inject("", "inspire", "silent"))
        )
        timer.start()
        with pytest.raises(ThenarError, match=r"has not told its state for 0\.3 s: it is told to stop"):
            send_recording(thenar.Recording(tmp_path / "slow.mcap"), Place(domain=domain), threading.Event())
        timer.join()
        time.sleep(0.3)
        stood = closed()
        assert 0.02 < stood < 0.9
        time.sleep(1.0)
        assert closed() == pytest.approx(stood, abs=0.02)


def test_what_stopped_in_the_recording_is_stopped_and_not_sent_on(tmp_path: Path):
    world = thenar.World("inspire_right")
    with thenar.record(world, tmp_path / "stop.mcap", touch=False):
        world.command("inspire_right", thenar.HandCommand.closing(1.0, speed=0.2))
        world.advance(0.3)
        world.command("inspire_right", thenar.HandCommand.hold(6))
        world.advance(0.3)
        world.command("inspire_right", thenar.HandCommand.closing([0.5] + [np.nan] * 5))
        world.advance(0.3)
    sent = list(plan(thenar.Recording(tmp_path / "stop.mcap"), "inspire_right", RIGHT.open_rad))
    closing, held, one_again, at_the_end = (one.command for one in sent[-4:])
    assert closing.stop is None
    assert not np.isnan(closing.target_rad).any()
    assert held.stop is not None
    assert held.stop.all()
    assert np.isnan(held.target_rad).all()
    for later in (one_again, at_the_end):
        assert later.stop is not None
        assert later.stop.tolist() == [False] + [True] * 5
        assert np.isnan(later.target_rad).tolist() == [False] + [True] * 5


def test_of_two_hands_only_the_commanded_one_is_looked_for(tmp_path: Path, domain: int):
    world = thenar.World(["inspire_left", "inspire_right"])
    with thenar.record(world, tmp_path / "one.mcap", touch=False):
        world.advance(0.05)
        world.command("inspire_right", thenar.HandCommand.closing(0.2, speed=1.0))
        world.advance(0.1)
    alone = {"hands": ("inspire_right",), "scene": "empty", "wires": ("inspire",), "domain": domain}
    with serve(thenar.ServeConfig(**alone)) as twin:
        send_recording(thenar.Recording(tmp_path / "one.mcap"), Place(domain=domain), threading.Event())
        assert twin.health().hands["inspire_right"].requests > 2
    with thenar.record(world, tmp_path / "none.mcap", touch=False):
        world.advance(0.1)
    with pytest.raises(ThenarError, match="in which somebody commands inspire_left or inspire_right"):
        send_recording(thenar.Recording(tmp_path / "none.mcap"), Place(domain=domain), threading.Event())
