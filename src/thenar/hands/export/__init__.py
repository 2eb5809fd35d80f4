"""A hand as a model file for other simulators: URDF, SDF or MJCF."""

from __future__ import annotations

from typing import Literal, get_args

from thenar.errors import BadValue, UnknownName
from thenar.hands.export.export_parts import SensorKind, with_bounded_damping, with_prefix
from thenar.hands.export.mjcf import export_mjcf
from thenar.hands.export.sdf import export_sdf, export_sdf_1_7
from thenar.hands.export.urdf import export_urdf, export_xacro
from thenar.hands.flexure import as_hinges
from thenar.hands.spec import HandSpec

Format = Literal["urdf", "xacro", "sdf", "sdf1.7", "mjcf"]
Flexures = Literal["chain", "hinge"]
FORMATS = {
    "urdf": export_urdf,
    "xacro": export_xacro,
    "sdf": export_sdf,
    "sdf1.7": export_sdf_1_7,
    "mjcf": export_mjcf,
}


def export_hand(
    hand: HandSpec,
    *,
    format: Format = "urdf",
    sensor: SensorKind = "contact",
    prefix: str = "",
    flexures: Flexures = "chain",
    explicit_step_s: float = 0.0,
) -> str:
    """The text of a model file.

    Args:
        hand: The hand.
        format: Of the file.
        sensor: What is read at every sensor: ``contact``, ``pressure`` or ``none``, see the formats' own functions.
        prefix: Stands before every name, so that several hands fit into one world.
        flexures: ``hinge`` has one hinge in place of each chain of them: lighter to simulate, and firm at its limits.
        explicit_step_s: Step of an engine that adds damping as a force, such as PyBullet [s]: joints are damped no more
            than it withstands. 0: they have all of their damping.
    """
    if hand.own_model is not None:
        raise BadValue("hand", hand.name, "a hand of the catalogue: this one is a model file of your own already")
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    if sensor not in get_args(SensorKind):
        raise UnknownName("sensor", sensor, get_args(SensorKind))
    if not all(letter.isalnum() or letter == "_" for letter in prefix):
        raise BadValue("prefix", prefix, "letters, digits and _")
    if flexures not in get_args(Flexures):
        raise UnknownName("kind of flexures", flexures, get_args(Flexures))
    if not 0.0 <= explicit_step_s < 1.0:
        raise BadValue("explicit_step_s", explicit_step_s, "seconds from 0, which bounds nothing, to below 1")
    hand = as_hinges(hand) if flexures == "hinge" else hand
    hand = with_bounded_damping(hand, explicit_step_s) if explicit_step_s else hand
    return FORMATS[format](with_prefix(hand, prefix) if prefix else hand, sensor=sensor)
