"""Thousands of hands at once on a GPU: `Worlds` with motors, physics, touch (extra ``gpu``); `sweep` needs none."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from thenar.batch.sweeping import sweep as sweep

if TYPE_CHECKING:
    from thenar.batch.touch.device_touch import Touch as Touch
    from thenar.batch.touch.device_touch import TouchArrays as TouchArrays
    from thenar.batch.world_kernels import Flag as Flag
    from thenar.batch.worlds import Worlds as Worlds
    from thenar.batch.worlds import WorldsState as WorldsState

_HOME = {
    "Flag": "world_kernels",
    "Touch": "touch.device_touch",
    "TouchArrays": "touch.device_touch",
    "Worlds": "worlds",
    "WorldsState": "worlds",
}
__all__ = ["Flag", "Touch", "TouchArrays", "Worlds", "WorldsState", "sweep"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: whoever lacks the packages is told what to install, not where it broke."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module("thenar.batch.device").load_warp()  # loaded here: a worker of a sweep may not need it
    return getattr(importlib.import_module(f"thenar.batch.{_HOME[name]}"), name)
