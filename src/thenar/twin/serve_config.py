"""Configuration of `serve` and ``thenar serve``: one frozen value, with a part for the page and one per protocol."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from thenar.errors import BadValue
from thenar.twin.page.tls_certificate import check_certificate, make_certificate
from thenar.wire.wire_config import WireConfig

DEFAULT_WIRES = ("default",)
LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
"""Addresses that only this machine reaches."""


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Where the page is, and who may see it."""

    host: str = "127.0.0.1"
    """Address of the page. Anything but this machine is served over TLS."""
    port: int = 8080
    """Port of the page; 0 takes one that is free."""
    token: str = field(default="", repr=False)
    """Token that browsers must show, in place of one made up at every start."""
    certificate: Path | None = None
    """PEM file with a key and its certificate, for TLS; where it is needed and left out, one is made on first use."""


def complete(page: PageOptions) -> PageOptions:
    """The same with everything that was left out; what cannot be is refused."""
    if not 0 <= page.port <= 65535:
        raise BadValue("--port", page.port, "a port from 1 to 65535, or 0 for one that is free")
    if not re.fullmatch("[A-Za-z0-9_-]*", page.token):
        raise BadValue("--token", page.token, "letters, digits, - and _")
    certificate = page.certificate
    if certificate is None and page.host not in LOCAL_HOSTS:
        certificate = make_certificate()
    if certificate is not None:
        check_certificate(certificate)
    return replace(page, token=page.token or secrets.token_urlsafe(16), certificate=certificate)


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
    ReFlex hand's driver in ROS 2 types; the original is ROS 1), reflex_udp (that hand's own packets), dex3, dex1 and
    brainco (Unitree's DDS topics of these hands), revo2 (BrainCo's Modbus on a serial line), dynamixel (a LEAP
    Hand's bus) and sim (reset, poses, shear), which comes with every protocol on DDS."""
    profile: Literal["measured", "ideal"] = "measured"
    """measured has latency, overshoot and noise of a real hand, ideal has none."""
    skin: Mapping[str, Path] = field(default_factory=dict)
    """Calibration file of the skin, or HAND=FILE for each hand, separated by commas; see thenar calibrate."""
    motors: Mapping[str, Path] = field(default_factory=dict)
    """What the motors are like, in the same way; see thenar identify. One file may hold both."""
    fault: tuple[str, ...] = ()
    """Faults, separated by commas: [HAND/]KIND[=AMOUNT][:PART][@FROM[-UNTIL]], such as jam:index@5-8, lost=0.2@3 or
    'stuck:palm 3 7', or a script of them (.toml); see the page on faults."""
    seed: int = 0
    """Of every random number."""
    record: str = ""
    """File (.mcap) into which everything is recorded from the start on; see thenar replay and thenar recording."""
    view: bool = False
    """Show it in a browser: a page with the hands, their skin, plots and controls."""
    page: PageOptions = PageOptions()
