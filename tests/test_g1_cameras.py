"""Cameras of a G1: what teleimager's clients ask for, pictures that come steadily, and smaller before later."""

import io
import json

import numpy as np
import pytest
from patience import free_port, wait_for

from thenar.errors import BadValue, ThenarError
from thenar.humanoid.model.g1 import G1_RUBBER
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
