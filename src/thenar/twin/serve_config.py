"""What `serve` and ``thenar serve`` are told: one frozen value, with a part for the page and one per protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from thenar.wire.wire_config import WireConfig

DEFAULT_WIRES = ("default",)


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Where the page is."""

    host: str = "127.0.0.1"
    """Address of the page. Anything but this machine gets a token that visitors must know."""
    port: int = 8080
    """Port of the page; 0 takes one that is free."""
    token: str = ""
    """Token of the page, in place of one made up."""


@dataclass(frozen=True, kw_only=True)
class ServeConfig(WireConfig):
    """Hands, their surroundings, the protocols they speak and the page that shows them."""

    hands: tuple[str, ...] = ("inspire_left", "inspire_right")
    """Hands, separated by commas."""
    scene: str = "in_hand"
    """Surroundings: thenar scenes lists them."""
    wires: tuple[str, ...] = DEFAULT_WIRES
    """Protocols, separated by commas; default takes those the hands are usually reached by. There are inspire (DDS of
    the tactile hand), dfx (Unitree's DDS topics), modbus (TCP), rs485 (a serial line), tienkung (ROS 2), reflex (the
    ReFlex hand's driver in ROS 2 types; the original is ROS 1), reflex_udp (that hand's own packets) and sim (reset,
    poses, shear), which comes with every protocol on DDS."""
    profile: Literal["measured", "ideal"] = "measured"
    """measured has latency, overshoot and noise of a real hand, ideal has none."""
    skin: Mapping[str, Path] = field(default_factory=dict)
    """Calibration file of the skin, or HAND=FILE for each hand, separated by commas; see thenar calibrate."""
    seed: int = 0
    """Of every random number."""
    view: bool = False
    """Show it in a browser: a page with the hands, their skin, plots and controls."""
    page: PageOptions = PageOptions()
