"""What clients of Unitree's image server (teleimager) ask for: which cameras there are, and at which ports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

CONFIG_PORT = 60000
PORTS = {"head": 55555, "left_wrist": 55556, "right_wrist": 55557}
"""Of the pictures of each camera: messages are JPEG files, nothing else."""


def configuration(
    cameras: Sequence[str], *, ports: dict[str, int], size_px: tuple[int, int], fps: float
) -> dict[str, Any]:
    """The answer to any request at the configuration's port, in the shape of version 1 and of version 2 at once.

    Args:
        cameras: Which of `PORTS` there are.
        ports: Where they are.
        size_px: Width and height.
        fps: Pictures a second.
    """
    width, height = size_px
    described = {
        f"{name}_camera": {
            "enable_zmq": name in cameras,
            "zmq_port": ports.get(name, PORTS[name]),
            "enable_webrtc": False,
            "webrtc_port": 60001 + place,
            "webrtc_codec": "h264",
            "type": "thenar",
            "image_shape": [height, width],
            "binocular": False,
            "fps": fps,
            "video_id": None,
            "serial_number": None,
            "physical_path": None,
        }
        for place, name in enumerate(PORTS)
    }
    return {**described, "camera": described, "webrtc": {"enable": False}}


def encode_configuration(described: dict[str, Any]) -> bytes:
    """It as bytes."""
    return json.dumps(described).encode()
