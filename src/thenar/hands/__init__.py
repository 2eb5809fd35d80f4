"""Hands: `names` lists them, `load` brings one as plain data, `build_spec` as a MuJoCo model; `register` adds one."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thenar.errors import BadValue, UnknownName
from thenar.hands.flexure import as_hinges
from thenar.hands.flexure import with_stiffness as with_stiffness
from thenar.hands.own_model import FingerFile, read_own_model
from thenar.hands.spec import Coupling, HandSpec, Joint, Pad

if TYPE_CHECKING:
    import mujoco

    from thenar.hands.own_hand import from_file as from_file

# Files of `thenar.hands.catalog`, and the names of the specs in their `HANDS`. A file is imported when one of its hands
# is asked for, so that listing names costs nothing.
_CATALOGUE = {
    "inspire": ("inspire_left", "inspire_right"),
    "inspire_dfx": ("inspire_dfx_left", "inspire_dfx_right"),
    "shadow": ("shadow_left", "shadow_right"),
    "fourier": ("fourier_left", "fourier_right"),
    "reflex": ("reflex",),
    "dex3": ("dex3_left", "dex3_right"),
    "brainco": ("brainco_left", "brainco_right"),
    "dex1": ("dex1_left", "dex1_right"),
    "leap": ("leap_right",),
}
_MODEL_FILES = (".urdf", ".xml", ".mjcf", ".xacro", ".sdf")
_FILES = {name: file for file, in_it in _CATALOGUE.items() for name in in_it}
_REGISTERED: dict[str, HandSpec] = {}


def names() -> tuple[str, ...]:
    """Names of all hands: those of the catalogue in its order, then the registered ones."""
    return (*_FILES, *_REGISTERED)


def register(*specs: HandSpec) -> None:
    """Make hands that are written elsewhere loadable by their names, as those of the catalogue are."""
    for spec in specs:
        if spec.name in _FILES:
            raise BadValue("name of a hand", spec.name, "one that is not in the catalogue")
        _REGISTERED[spec.name] = spec


def load(name: str | Path, *, variant: str | None = None) -> HandSpec:
    """One hand of the catalogue, or the hand of a file about a model of your own (a path that ends in ``.toml``).

    Args:
        name: Name in the catalogue, or path of a file that names a URDF or MJCF of yours, see `own_model`.
        variant: Name of another coupling law, flexure or layout of pads, see `HandSpec.variants`.
    """
    name = str(name)
    if name.endswith(".toml"):
        own = read_own_model(Path(name))
        if isinstance(own, FingerFile):
            if variant is not None:
                raise UnknownName(f"variant of {name}", variant, ())
            from thenar.hands.own_hand import from_file

            return from_file(own.path, own.fingers, **own.options)
        hand = as_hinges(load(own.hand, variant=variant))
        pads = tuple(pad for pad in hand.pads if pad.link in own.model.links)
        return replace(hand, own_model=own.model, pads=pads, name=own.name)
    if name.endswith(_MODEL_FILES):
        wanted = "a hand of the catalogue, or a TOML file that names this one and its fingers, see docs/own_model.md"
        raise BadValue("hand", name, wanted)
    if name not in names():
        raise UnknownName("hand", name, names())
    if name in _REGISTERED:
        spec = _REGISTERED[name]
    else:
        module = importlib.import_module(f"thenar.hands.catalog.{_FILES[name]}")
        spec = next(hand for hand in module.HANDS if hand.name == name)
    return spec if variant is None else with_variant(spec, variant)


def with_variant(spec: HandSpec, variant: str) -> HandSpec:
    """The hand with another law of coupling (limits of coupled joints are widened to fit it), other joints or pads."""
    if variant not in spec.variants:
        raise UnknownName(f"variant of {spec.name}", variant, spec.variants)
    parts = spec.variants[variant]
    pads = tuple(part for part in parts if isinstance(part, Pad))
    if pads:
        return replace(spec, pads=pads)
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


def __getattr__(name: str) -> Any:
    if name == "from_file":  # it needs MuJoCo, listing hands does not
        return importlib.import_module("thenar.hands.own_hand").from_file
    raise AttributeError(f"module 'thenar.hands' has no attribute {name!r}")
