"""What can be set on LeRobot's command line."""

from dataclasses import dataclass

from lerobot.robots import RobotConfig
from lerobot.teleoperators import TeleoperatorConfig


@RobotConfig.register_subclass("thenar_hand")
@dataclass(kw_only=True)
class ThenarHandConfig(RobotConfig):
    """A hand: a twin of its own, or one at the other end of a wire."""

    hand: str = "inspire_right"
    scene: str = "in_hand"
    """Surroundings of the twin."""
    profile: str = "measured"
    touch: str = "pads"
    """none, pads (newtons) or taxels (1062 more numbers in observation.state)."""
    view: bool = False
    """True: a picture of the twin, 320 x 240."""
    wire: str = ""
    """inspire: a hand on DDS, real or `thenar serve`; empty: a twin of its own."""
    domain: int = 1
    """Of DDS; robots use 0."""
    interface: str = "lo"
    """Name of the network card that the wire uses; a real hand is reached only where it is named."""


@TeleoperatorConfig.register_subclass("thenar_glove")
@dataclass(kw_only=True)
class ThenarGloveConfig(TeleoperatorConfig):
    """A glove, live or from a file, retargeted to a hand."""

    hand: str = "inspire_right"
    log: str = ""
    """A glove recording, or ``made`` for one that thenar makes; empty: the socket of `thenar teleop live`."""
    port: int = 0
    """Of the socket; 0: the usual one."""


@TeleoperatorConfig.register_subclass("thenar_recording")
@dataclass(kw_only=True)
class ThenarRecordingConfig(TeleoperatorConfig):
    """What the motors of a hand were told in a recording."""

    hand: str = "inspire_right"
    file: str = ""
    """An MCAP file of `thenar.record` or `thenar serve --record`."""
