"""Signals into the messages of hand makers, and back: `codecs` are pure, `links` serve, `clients` call."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thenar.wire.codecs import inspire_codec as inspire_codec
    from thenar.wire.codecs import inspire_counts as inspire_counts
    from thenar.wire.links.dds_link import send as send


# What own programs need that speak a hand's protocol; imported on first use.
def __getattr__(name: str) -> Any:
    if name in ("inspire_codec", "inspire_counts"):
        return importlib.import_module(f"thenar.wire.codecs.{name}")
    if name == "send":
        return importlib.import_module("thenar.wire.links.dds_link").send
    raise AttributeError(f"module 'thenar.wire' has no attribute {name!r}")
