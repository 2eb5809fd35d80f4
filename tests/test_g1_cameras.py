"""Cameras of a G1: what teleimager's clients ask for, pictures that come steadily, and smaller before later."""

import io
import json
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest
from patience import free_port, wait_for

from tests.peer_env import PEERS, peer_python, quiet_environment, turbojpeg_library
from thenar.errors import BadValue, ThenarError
from thenar.humanoid.model.g1 import G1_RUBBER
from thenar.sim.drawing.eyes import Eyes, model_bytes
from thenar.twin.body.body_world import BodyWorld
from thenar.twin.body.cameras import SHARES, CameraOptions, Cameras, drawn_size, next_level
from thenar.twin.body.g1_scenes import SCENES

zmq = pytest.importorskip("zmq")
image_file = pytest.importorskip("PIL.Image")
SCENE = SCENES["pick_place_cylinder"]


def test_clients_get_the_configuration_in_both_shapes_and_pictures_of_what_is_there():
    body = BodyWorld(G1_RUBBER, scene=SCENE.scene, fixed_at=SCENE.stand, timestep_s=0.002)
    ports: dict[str, int] = {name: free_port() for name in ("head", "left_wrist", "right_wrist")}
    options = CameraOptions(names=("head",), size_px=(160, 120), ports=ports, config_port=free_port())
    cameras = Cameras(body.world, options)
    context = zmq.Context()
    try:
        asks, sees = context.socket(zmq.REQ), context.socket(zmq.SUB)
        asks.connect(f"tcp://127.0.0.1:{options.config_port}")
        sees.setsockopt(zmq.SUBSCRIBE, b"")
        sees.setsockopt(zmq.CONFLATE, 1)
        sees.setsockopt(zmq.RCVTIMEO, 5000)
        sees.connect(f"tcp://127.0.0.1:{ports['head']}")
        asks.send(b"GET_DATA")
        answer = json.loads(asks.recv())
        assert answer["head_camera"] == answer["camera"]["head_camera"]
        assert answer["head_camera"]["zmq_port"] == ports["head"]
        assert answer["head_camera"]["image_shape"] == [120, 160]
        assert [answer[f"{name}_camera"]["enable_zmq"] for name in ports] == [True, False, False]
        before = pixels(sees.recv())
        assert before.shape == (120, 160, 3)
        red = (before[..., 0] > 120) & (before[..., 1] < 100)
        assert red.sum() > 20  # the cylinder
        body.world.place(objects={"object": (np.array([0.3, 0.4, 0.84]), None)})
        body.world.advance(0.05)
        cameras.tell()
        moved = []

        def has_moved() -> bool:
            moved[:] = [np.abs(pixels(sees.recv()).astype(int) - before).max(axis=-1)]
            return bool((moved[0] > 60).sum() > 40)

        assert wait_for(has_moved)
    finally:
        context.destroy(linger=0)
        cameras.close()


def test_teleimagers_own_client_finds_the_cameras_and_sees_what_is_there(tmp_path: Path):
    body = BodyWorld(G1_RUBBER, scene=SCENE.scene, fixed_at=SCENE.stand, timestep_s=0.002)
    ports: dict[str, int] = {name: free_port() for name in ("head", "left_wrist", "right_wrist")}
    options = CameraOptions(names=("head", "right_wrist"), size_px=(160, 120), ports=ports, config_port=free_port())
    python, library = peer_python("teleimager"), turbojpeg_library()
    # It keeps what it was told in its user's folder.
    environment = quiet_environment() | {"LD_LIBRARY_PATH": str(library), "XDG_CONFIG_HOME": str(tmp_path)}
    cameras = Cameras(body.world, options)
    try:
        words = [str(PEERS / "teleimager_client.py"), "127.0.0.1", str(options.config_port), "1.0"]
        line = [str(python), *words]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60, env=environment)
    finally:
        cameras.close()
    assert done.returncode == 0, done.stderr
    heard = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))  # it logs there too
    assert heard["from_server"]
    assert set(heard["cameras"]) == {"head_camera", "left_wrist_camera", "right_wrist_camera"}
    assert set(heard["seen"]) == {"head_camera", "right_wrist_camera"}
    for one in heard["seen"].values():
        assert one["shape"] == [120, 160, 3]
        assert one["fps"] > 5.0
    assert heard["seen"]["head_camera"]["red"] > 20  # the cylinder, in the right order of colours


def pixels(jpeg: bytes) -> np.ndarray:
    return np.asarray(image_file.open(io.BytesIO(jpeg)))


def test_a_port_that_is_taken_is_named():
    from thenar.view.cameras.picture_server import PictureServer

    context = zmq.Context()
    taken = context.socket(zmq.PUB)
    port = taken.bind_to_random_port("tcp://127.0.0.1")
    try:
        with pytest.raises(ThenarError, match=f"cannot listen at 127.0.0.1:{port}"):
            PictureServer("127.0.0.1", ports={"head": port}, config_port=free_port(), configuration=b"")
    finally:
        context.destroy(linger=0)


@pytest.mark.parametrize(
    ("taken", "why"),
    [
        (True, r"has ended: cameras cannot listen at 127.0.0.1:\d+: Address.*--cameras none"),
        (False, r"has ended: cannot draw: .*libosmesa6.*--cameras none"),
    ],
)
def test_cameras_that_cannot_start_say_why(taken: bool, why: str, monkeypatch: pytest.MonkeyPatch):
    ports: dict[str, int] = {name: free_port() for name in ("head", "left_wrist", "right_wrist")}
    context = zmq.Context()
    another = context.socket(zmq.PUB)
    if taken:
        ports["head"] = another.bind_to_random_port("tcp://127.0.0.1")
    else:  # a renderer that needs a screen, and no screen
        monkeypatch.setenv("MUJOCO_GL", "glfw")
        for name in ("DISPLAY", "WAYLAND_DISPLAY"):
            monkeypatch.delenv(name, raising=False)
    body = BodyWorld(G1_RUBBER, timestep_s=0.002)
    try:
        with pytest.raises(ThenarError, match=why):
            Cameras(body.world, CameraOptions(names=("head",), ports=ports, config_port=free_port()))
    finally:
        context.destroy(linger=0)


def test_any_question_is_answered_whatever_its_parts():
    from thenar.view.cameras.picture_server import PictureServer

    port = free_port()
    PictureServer("127.0.0.1", ports={"head": free_port()}, config_port=port, configuration=b"{}")
    context = zmq.Context()
    try:
        for question in ([b"GET_DATA"], [b"GET", b"DATA"], [b""], [b"GET_DATA"]):
            asks = context.socket(zmq.REQ)
            asks.setsockopt(zmq.RCVTIMEO, 5000)
            asks.connect(f"tcp://127.0.0.1:{port}")
            asks.send_multipart(question)
            assert asks.recv() == b"{}"
    finally:
        context.destroy(linger=0)


def test_pictures_that_are_drawn_faster_than_encoded_do_not_pile_up_and_none_fails_in_silence():
    from thenar.view.cameras.picture_server import PictureServer

    server: Any = PictureServer("127.0.0.1", ports={"head": free_port()}, config_port=free_port(), configuration=b"")
    large = np.random.default_rng(1).integers(0, 255, (720, 1280, 3), np.uint8)
    began_s = time.perf_counter()
    for _ in range(40):
        server.publish("head", large, (1280, 720))
    told_s = time.perf_counter()
    server._encoder.submit(lambda: None).result()  # all of them are encoded
    assert told_s - began_s > 0.5 * (time.perf_counter() - began_s)
    server.publish("nobody", large, (64, 48))
    server._encoder.submit(lambda: None).result()
    with pytest.raises(KeyError):
        server.publish("head", large, (64, 48))


def test_a_roof_rises_out_of_the_ground_and_a_box_lies_across_the_edge_of_the_picture():
    """A roof of 45 degrees is as wide as it is high: a ground drawn 1 cm too high makes it 2 cm narrower."""
    world: Any = SimpleNamespace(
        model=mujoco.MjModel.from_xml_string("""<mujoco><worldbody>
        <geom type="plane" size="0 0 0.05" pos="0 0 0.3" euler="180 0 0" rgba="1 1 1 1"/>
        <geom type="box" size="0.1 0.1 0.1" pos="0 0 0.35" euler="0 45 0" rgba="1 0 0 1"/>
        <geom type="box" size="0.1 0.1 0.01" pos="0.55 0 0.3" rgba="0 0 1 1"/>
        <camera name="below" pos="0 0 -0.7" xyaxes="1 0 0 0 -1 0" fovy="53.13"/></worldbody></mujoco>""")
    )
    eyes = Eyes(model_bytes(world), (100, 100))
    eyes.look(world.model.qpos0)
    image = eyes.draw("below", (100, 100)).astype(int)
    red, blue = ((image[..., one] > image[..., other] + 20) for one, other in ((0, 2), (2, 0)))
    assert red.any(axis=0).sum() == pytest.approx(100 * 2 * (0.1 * np.sqrt(2.0) - 0.05), abs=1.5)  # a pixel is 1 cm
    assert blue.sum() == pytest.approx(20 * 5, rel=0.2)


def test_pictures_get_smaller_before_they_get_late():
    assert next_level(0, 1.2) == 1
    assert next_level(len(SHARES) - 1, 3.0) == len(SHARES) - 1
    assert next_level(2, 0.7) == 2
    assert next_level(2, 0.1) == 1
    assert next_level(0, 0.1) == 0
    assert drawn_size((640, 480), 2) == (320, 240)


def test_unknown_cameras_are_refused():
    with pytest.raises(BadValue, match="chest"):
        CameraOptions(names=("chest",))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [({"fps": 0.0}, "fps is 0.0"), ({"fps": np.nan}, "fps is nan"), ({"size_px": (640, 0)}, "from 16 to 4096")],
)
def test_pictures_that_cannot_be_are_refused_before_anything_starts(wrong: dict[str, Any], why: str):
    with pytest.raises(BadValue, match=why):
        CameraOptions(**wrong)
