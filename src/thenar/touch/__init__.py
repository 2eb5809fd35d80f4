"""Contacts into pressure on every taxel, and pressure into what the sensor would say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from thenar.compiled import drop_stale

if TYPE_CHECKING:
    from thenar.touch.attached_skin import AttachedSkin as AttachedSkin
    from thenar.touch.attached_skin import attach as attach
    from thenar.touch.sensor.calibration import profile_of as profile_of

drop_stale(Path(__file__).parent)


def __getattr__(name: str) -> Any:
    if name in ("attach", "AttachedSkin"):  # on first use: the solver takes a while to load
        from thenar.touch import attached_skin

        return getattr(attached_skin, name)
    if name == "profile_of":
        from thenar.touch.sensor import calibration

        return calibration.profile_of
    raise AttributeError(f"module 'thenar.touch' has no attribute {name!r}")
