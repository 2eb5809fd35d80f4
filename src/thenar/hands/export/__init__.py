"""A hand as a model file for other simulators: URDF, SDF or MJCF."""

from __future__ import annotations

from typing import Literal

from thenar.errors import BadValue, UnknownName
from thenar.hands.export.export_parts import SensorKind
from thenar.hands.export.mjcf import export_mjcf
from thenar.hands.export.sdf import export_sdf
from thenar.hands.export.urdf import export_urdf
from thenar.hands.spec import HandSpec

FORMATS = {"urdf": export_urdf, "sdf": export_sdf, "mjcf": export_mjcf}


def export_hand(
    hand: HandSpec, *, format: Literal["urdf", "sdf", "mjcf"] = "urdf", sensor: SensorKind = "contact"
) -> str:
    """The text of a model file.

    Args:
        hand: The hand.
        format: Of the file.
        sensor: What is read at every sensor: ``contact`` or ``pressure``, see the formats' own functions.
    """
    if hand.own_model is not None:
        raise BadValue("hand", hand.name, "a hand of the catalogue: this one is a model file of your own already")
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    if sensor not in ("contact", "pressure"):
        raise UnknownName("sensor", sensor, ("contact", "pressure"))
    return FORMATS[format](hand, sensor=sensor)
