"""Pictures over ZeroMQ: a port for each camera, one JPEG a message, and a port that says which cameras there are."""

from __future__ import annotations

import io
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from thenar.errors import MissingExtra, ThenarError

try:
    import zmq
    from PIL import Image
except ImportError as error:
    raise MissingExtra("cameras", error.name or "pyzmq", "camera") from error

QUALITY = 80  # of the JPEGs
KEPT = 2  # pictures that wait for a slow client; older ones are dropped
DRAWN_AHEAD = 6  # pictures that wait to be encoded; then whoever draws waits too, or they would fill the memory


class PictureServer:
    """Server of camera pictures: a stream for each camera, and the configuration on request."""

    def __init__(self, host: str, *, ports: Mapping[str, int], config_port: int, configuration: bytes):
        """Listen.

        Args:
            host: Address to listen at.
            ports: Of the cameras, by name.
            config_port: Where any question is answered.
            configuration: With this.
        """
        self._context = zmq.Context()
        self._cameras = {name: self._bind(zmq.PUB, host, port) for name, port in ports.items()}
        self._answers = self._bind(zmq.REP, host, config_port)
        self._configuration = configuration
        self._encoder = ThreadPoolExecutor(1)  # beside the drawing of the next picture
        self._drawn: deque[Future[None]] = deque()
        self._thread = threading.Thread(target=self._answer, name="camera configuration", daemon=True)
        self._thread.start()

    def publish(self, camera: str, image: NDArray[np.uint8], size_px: tuple[int, int]) -> None:
        """Send a picture soon, at a size, whatever size it was drawn at. Shape (height, width, 3).

        What went wrong with one of the last few is raised.
        """
        self._drawn.append(self._encoder.submit(self._encode, camera, image, size_px))
        while self._drawn and (self._drawn[0].done() or len(self._drawn) > DRAWN_AHEAD):
            self._drawn.popleft().result()

    def _encode(self, camera: str, image: NDArray[np.uint8], size_px: tuple[int, int]) -> None:
        picture = Image.fromarray(image)
        if picture.size != size_px:
            # A smooth enlargement would cost more time than drawing a smaller picture saves.
            picture = picture.resize(size_px, Image.Resampling.NEAREST)
        encoded = io.BytesIO()
        picture.save(encoded, "JPEG", quality=QUALITY)
        self._cameras[camera].send(encoded.getvalue())

    def _bind(self, kind: int, host: str, port: int) -> zmq.Socket:
        made = self._context.socket(kind)
        made.setsockopt(zmq.LINGER, 0)
        if kind == zmq.PUB:
            made.setsockopt(zmq.SNDHWM, KEPT)
        try:
            made.bind(f"tcp://{host}:{port}")
        except zmq.ZMQError as error:
            raise ThenarError(f"cameras cannot listen at {host}:{port}: {error}") from None
        return made

    def _answer(self) -> None:
        while True:
            self._answers.recv_multipart()  # of several parts none is answered before all have come
            self._answers.send(self._configuration)
