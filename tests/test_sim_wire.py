"""Topics of the simulator itself: reset, where everything is, poses of objects and wrists, stress on the skin."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from patience import free_domain, wait_for
from peer_env import PEERS, quiet_environment

import thenar
from thenar import cdr, hands
from thenar.errors import UnknownName
from thenar.twin.live_twin import LiveTwin
from thenar.twin.serving import serve
from thenar.wire.codecs import sim_codec

BOTH = ("inspire_left", "inspire_right")
FAR_M = [5.0, 5.0, 0.5]


class Peer:
    """The client of another maker, in a process of its own, told no more than ``lo``."""

    def __init__(self, domain: int):
        self._process = subprocess.Popen(
            [sys.executable, str(PEERS / "sim_peer.py"), str(domain)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**quiet_environment(), "PEER_CONFIG": "sdk"},
        )  # fmt: skip
        assert self._read() == "ready"

    def send(self, topic: str, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{topic} {text}\n")
        self._process.stdin.flush()

    def ask(self, what: str) -> Any:
        self.send(*what.partition(" ")[::2])
        return json.loads(self._read())

    def close(self) -> None:
        self._process.communicate(timeout=20)

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[LiveTwin, Peer]]:
    domain = free_domain()
    with serve(BOTH, wires=("inspire",), scene="table", domain=domain) as twin:
        peer = Peer(domain)
        yield twin, peer
        peer.close()


@pytest.fixture
def twin(running: tuple[LiveTwin, Peer]) -> LiveTwin:
    running[0].reset()
    return running[0]


@pytest.fixture
def peer(running: tuple[LiveTwin, Peer]) -> Peer:
    return running[1]


def place_of(twin: LiveTwin, name: str) -> np.ndarray:
    return twin.run_on_loop(lambda world: world.props.pose(name)[0])


def told_place(peer: Peer, name: str) -> list[float]:
    """Where the newest state that a client has heard has an object."""
    return json.loads(peer.ask("state")["init_state"])["rigid_object"][name]["root_pose"][0]


def refusals(twin: LiveTwin) -> Counter[str]:
    health = twin.health()
    return Counter({**health.refused, **next(link.refused for link in health.links if link.wire == "sim")})


def test_a_client_of_unitrees_simulator_resets_objects_or_everything(twin: LiveTwin, peer: Peer):
    start_m, refused = place_of(twin, "ball"), refusals(twin)
    for text, opened in (("1", False), ("2", True)):
        twin.run_on_loop(lambda world: world.props.move("ball", pos_m=FAR_M))
        twin.run_on_loop(lambda world: world.command("inspire_right", thenar.HandCommand.closing(0.5)))
        assert wait_for(lambda: bool(twin.run_on_loop(lambda world: world.state("inspire_right").angle_rad[0]) > 0.5))
        before = twin.health().resets
        peer.send("rt/reset_pose/cmd", text)
        assert wait_for(lambda before=before: twin.health().resets == before + 1)
        assert np.linalg.norm(place_of(twin, "ball") - start_m) < 0.01
        assert (twin.run_on_loop(lambda world: world.state("inspire_right").angle_rad[0]) < 0.2) == opened
    assert refusals(twin) == refused


def test_a_state_is_what_unitrees_recorder_keeps_and_the_truth(twin: LiveTwin, peer: Peer):
    twin.run_on_loop(lambda world: world.props.move("block", pos_m=FAR_M))
    assert wait_for(lambda: told_place(peer, "block")[0] > 1.0)
    kept = peer.ask("state")
    assert set(kept) == {"init_state", "task_name"}
    assert kept["task_name"] == "table"
    scene = json.loads(kept["init_state"])
    assert set(scene) == {"articulation", "deformable_object", "rigid_object"}
    assert set(scene["articulation"]) == set(BOTH)
    assert set(scene["rigid_object"]) == {"ball", "block", "can", "egg", "marker"}
    np.testing.assert_allclose(scene["rigid_object"]["block"]["root_pose"][0][:2], FAR_M[:2], atol=1e-3)
    truth = twin.run_on_loop(lambda world: (*world.wrists.pose("inspire_left"), world.state("inspire_left")))
    hand = scene["articulation"]["inspire_left"]
    np.testing.assert_allclose(hand["root_pose"][0][:3], truth[0], atol=2e-3)
    assert abs(np.dot(hand["root_pose"][0][3:], truth[1])) > 0.9999  # either sign is the same orientation
    np.testing.assert_allclose(hand["joint_position"][0], truth[2].joint_rad, atol=0.02)


def test_objects_and_wrists_go_where_a_client_sends_them(twin: LiveTwin, peer: Peer):
    refused = refusals(twin)
    palm_m, palm_quat = twin.run_on_loop(lambda world: world.wrists.pose("inspire_right"))
    goal_m = palm_m + np.array([0.02, 0.0, 0.03])
    poses = {
        "objects": {"ball": {"pos_m": [0.4, 0.3, 0.034]}},
        "wrists": {"inspire_right": {"pos_m": goal_m.tolist()}},
    }
    peer.send("rt/set_pose/cmd", json.dumps(poses))

    def arrived() -> bool:
        at_m, at_quat = twin.run_on_loop(lambda world: world.wrists.pose("inspire_right"))
        return bool(np.abs(at_m - goal_m).max() < 2e-3 and abs(at_quat @ palm_quat) > 0.9999)

    assert wait_for(arrived)
    np.testing.assert_allclose(place_of(twin, "ball"), [0.4, 0.3, 0.034], atol=5e-3)
    assert refusals(twin) == refused


@pytest.mark.parametrize(
    ("topic", "text", "told"),
    [
        ("rt/reset_pose/cmd", "3", "wanted 1 (objects) or 2 (everything)"),
        (
            "rt/set_pose/cmd",
            '{"objects": {"ball": {"pos_m": [1, 1, 1]}, "moon": {"pos_m": [0, 0, 9]}}}',
            "named 'moon'",
        ),
        ("rt/set_pose/cmd", '{"objects": {"ball": {"pos_m": [1, 1, NaN]}}}', "three finite numbers"),
        ("rt/set_pose/cmd", '{"objects": {"ball": {"pos_m": [1, 1, 1e9]}}}', "within 100 m"),
        ("rt/set_pose/cmd", '{"objects": {"ball": {"pos_m": [1, 1, 1], "quat_wxyz": [1, 1, 0, 0]}}}', "of norm 1"),
        ("rt/set_pose/cmd", '{"ball": [1, 1, 1]}', "wanted objects, wrists or both"),
        ("rt/set_pose/cmd", "[" * 4000, "is not JSON"),
    ],
)
def test_what_cannot_be_done_is_counted_and_nothing_moves(topic: str, text: str, told: str, twin: LiveTwin, peer: Peer):
    before_m, before, resets = place_of(twin, "ball"), refusals(twin), twin.health().resets
    peer.send(topic, text)
    assert wait_for(lambda: any(told in why for why in refusals(twin) - before)), refusals(twin)
    assert np.linalg.norm(place_of(twin, "ball") - before_m) < 0.01
    assert twin.health().resets == resets


def test_stress_on_every_taxel_reaches_a_client(domain: int):
    with serve(BOTH, wires=("dfx",), scene="in_hand", profile="ideal", domain=domain) as twin:
        peer = Peer(domain)
        assert wait_for(lambda: np.abs(peer.ask("stress inspire_right")["data"]).max() > 1e3)
        twin.run_on_loop(
            lambda world: world.command("inspire_right", thenar.HandCommand.closing([0.75] * 5 + [1.0], speed=0.3))
        )

        def shear_pa() -> np.ndarray:
            return np.reshape(peer.ask("stress inspire_right")["data"], (-1, 3))[:, 1:]

        assert wait_for(lambda: bool(np.abs(shear_pa()).max() > 500.0))
        heard = peer.ask("stress inspire_right")
        peer.close()
    assert heard["dims"] == [["taxel", 1062, 3186], ["pressure,row,column", 3, 3]]


def test_stress_messages_carry_pressure_and_friction_in_the_frames_order():
    world = thenar.World("inspire_right", scene="in_hand", profile="ideal")
    world.command("inspire_right", thenar.HandCommand.closing([0.75] * 5 + [1.0], speed=0.5))
    world.advance(2.0)
    frame = world.touch("inspire_right")
    assert np.abs(frame.taxel_shear_pa).max() > 0.0
    data = np.frombuffer(sim_codec.encode_stress(frame)[-12 * 1062 :], "<f4").reshape(-1, 3)
    np.testing.assert_allclose(data[:, 0], frame.taxel_pressure_pa, rtol=1e-6)
    np.testing.assert_allclose(data[:, 1:], frame.taxel_shear_pa, rtol=1e-6)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("things", [0, 5, 40, 200])
def test_a_state_never_exceeds_what_clients_keep(side: str, things: int):
    names = [name for name in hands.names() if name.endswith(side)]
    balls = [thenar.Sphere(name=f"a_ball_{n}", radius_m=0.001, pos_m=(1.0 + n, -1e-7 * n, 0.0)) for n in range(things)]
    for name in names:
        world = thenar.World(name, scene="table", props=balls)
        world.advance(0.05)
        message, left_out = sim_codec.encode_state(world.scene_state())
        text = sim_codec.decode_text(message)
        assert len(json.dumps(json.loads(text)).encode()) <= 4088
        told = sim_codec.object_positions(sim_codec.decode_state(message))
        assert len(told) + left_out == len(world.props.names)
        assert left_out == 0 or things > 20
        for prop, pos_m in told.items():
            np.testing.assert_allclose(pos_m, world.props.pose(prop)[0], atol=1e-4)


def test_a_reset_puts_objects_back_where_they_began_at_rest():
    world = thenar.World("inspire_right", scene="palm_drop")
    began = {name: world.props.pose(name) for name in world.props.names}
    world.advance(0.5)
    world.props.drag("cube_1", (0.0, 0.0, 0.3))
    world.props.reset()
    for name, (pos_m, quat) in began.items():
        np.testing.assert_allclose(world.props.pose(name)[0], pos_m, atol=1e-12)
        np.testing.assert_allclose(world.props.pose(name)[1], quat, atol=1e-12)
        assert not world.props.velocity(name).any()
    assert not world.props.dragging
    assert world.time_s == pytest.approx(0.5)


def test_places_are_taken_all_or_none():
    world = thenar.World("inspire_right", scene="table")
    before_m = world.props.pose("ball")[0]
    with pytest.raises(UnknownName, match="moon"):
        world.place(objects={"ball": (np.zeros(3), None), "moon": (np.zeros(3), None)})
    np.testing.assert_array_equal(world.props.pose("ball")[0], before_m)


@pytest.mark.parametrize("text", ["{}", "[]", '"words"', "7", '{"init_state": 3}', '{"init_state": "[]"}', "[" * 9000])
def test_a_strangers_state_is_refused_in_words(text: str):
    with pytest.raises(cdr.BadMessage):
        sim_codec.decode_state(sim_codec.encode_text(text))


def test_thenar_reset_says_what_lies_where(domain: int):
    words = [sys.executable, "-m", "thenar.cli", "reset", "--domain", str(domain)]
    with serve("inspire_right", wires=("dfx",), scene="in_hand", domain=domain) as twin:
        twin.run_on_loop(lambda world: world.props.move("ball", pos_m=FAR_M))
        done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=True, timeout=60)
        told = json.loads(done.stdout)
        assert told["reset"] == "all"
        assert told["confirmed"]
        np.testing.assert_allclose(told["objects"]["ball"], [0.15, 0.005, 0.03], atol=2e-3)
        shown = subprocess.run([*words, "objects"], capture_output=True, text=True, check=True, timeout=60).stdout
        assert "reset: objects\n" in shown
        assert "ball" in shown
        assert twin.health().resets == 2
