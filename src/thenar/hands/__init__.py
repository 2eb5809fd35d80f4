"""The catalogue of hands: `names` lists them, `load` brings one as plain data, `build_spec` as a MuJoCo model."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from thenar.errors import UnknownName
from thenar.hands.flexure import as_hinges
from thenar.hands.own_model import read_own_model
from thenar.hands.spec import Coupling, HandSpec, Joint

if TYPE_CHECKING:
    import mujoco

# Where each hand is written; imported when asked for, so that listing names costs nothing.
_CATALOGUE = {
    "inspire_left": ("inspire", "LEFT"),
    "inspire_right": ("inspire", "RIGHT"),
    "inspire_dfx_left": ("inspire_dfx", "LEFT"),
    "inspire_dfx_right": ("inspire_dfx", "RIGHT"),
    "shadow_left": ("shadow", "LEFT"),
    "shadow_right": ("shadow", "RIGHT"),
    "fourier_left": ("fourier", "LEFT"),
    "fourier_right": ("fourier", "RIGHT"),
    "reflex": ("reflex", "HAND"),
}


def names() -> tuple[str, ...]:
    """Names of all hands, in the order of the catalogue."""
    return tuple(_CATALOGUE)


def load(name: str, *, variant: str | None = None) -> HandSpec:
    """One hand of the catalogue, or the hand of a mapping file (a path that ends in ``.toml``).

    Args:
        name: Name in the catalogue, or path of a mapping file for a URDF or MJCF of your own.
        variant: Name of another coupling law or flexure, see `HandSpec.variants`.
    """
    if name.endswith(".toml"):
        own = read_own_model(Path(name))
        return replace(as_hinges(load(own.hand, variant=variant)), own_model=own.model, pads=(), name=own.name)
    if name not in _CATALOGUE:
        raise UnknownName("hand", name, _CATALOGUE)
    module, attribute = _CATALOGUE[name]
    spec: HandSpec = getattr(importlib.import_module(f"thenar.hands.catalog.{module}"), attribute)
    return spec if variant is None else with_variant(spec, variant)


def with_variant(spec: HandSpec, variant: str) -> HandSpec:
    """The hand with another coupling law or other joints; limits of coupled joints are widened to fit the law."""
    if variant not in spec.variants:
        raise UnknownName(f"variant of {spec.name}", variant, spec.variants)
    parts = spec.variants[variant]
    other = {part.name: part for part in parts if isinstance(part, Joint)}
    if other:
        return replace(spec, joints=tuple(other.get(joint.name, joint) for joint in spec.joints))
    couplings = tuple(part for part in parts if isinstance(part, Coupling))
    reach = {joint.name: (joint.lower_rad, joint.upper_rad) for joint in spec.joints}
    for coupling in couplings:
        ends = [coupling.ratio * end + coupling.offset_rad for end in reach[coupling.driver]]
        lower, upper = reach[coupling.joint]
        reach[coupling.joint] = (min(lower, *ends), max(upper, *ends))
    joints = tuple(
        replace(joint, lower_rad=reach[joint.name][0], upper_rad=reach[joint.name][1]) for joint in spec.joints
    )
    return replace(spec, couplings=couplings, joints=joints)


def build_spec(hand: HandSpec) -> mujoco.MjSpec:
    """The hand as a MuJoCo spec, its root link at the origin of the world."""
    from thenar.hands.build import build_spec as build  # MuJoCo is only needed from here on

    return build(hand)
