"""The linkages inside Inspire's fingers: eight published laws that disagree, all reachable by name.

Which of them fits a real hand is not settled. Each law is ``joint = ratio * driver + offset``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from thenar.hands.spec import Coupling


@dataclass(frozen=True, kw_only=True)
class JointNames:
    """How one generation of the hand names the joints that take part."""

    fingers: Mapping[str, tuple[str, str]]
    """Per finger: the driven joint and the coupled one."""
    thumb: tuple[str, str, str]
    """The driven bend joint, the next one and the last."""


@dataclass(frozen=True, kw_only=True)
class _Law:
    source: str
    finger: float
    """Ratio of the finger's second joint to its first."""
    finger_offset_rad: float = 0.0
    thumb_middle: float
    """Ratio of the thumb's next joint to the bend."""
    thumb_middle_offset_rad: float = 0.0
    thumb_last: float
    """Ratio of the thumb's last joint to its driver."""
    thumb_last_offset_rad: float = 0.0
    thumb_last_driver: Literal["bend", "middle"]
    own_finger_offset_rad: Mapping[str, float] = field(default_factory=dict)
    """Fingers with an offset of their own."""


_LAWS = {
    "rh56e2": _Law(
        source="RH56E2 URDF of the maker, newest Unitree FTP URDF",
        finger=1.0843,
        thumb_middle=0.8024,
        thumb_last=0.9487,
        thumb_last_driver="middle",
    ),
    "unitree_ftp_first": _Law(
        source="first Unitree FTP URDF (751aa01)",
        finger=1.05,
        thumb_middle=0.40,
        thumb_last=0.60,
        thumb_last_driver="bend",
    ),
    "lws_readme": _Law(
        source="laurent-19/inspire_hand_ws README",
        finger=1.0843,
        thumb_middle=0.8392,
        thumb_last=0.891,
        thumb_last_driver="middle",
    ),
    "dex_urdf": _Law(
        source="dexsuite/dex-urdf",
        finger=1.06399,
        finger_offset_rad=-0.04545,
        thumb_middle=1.334,
        thumb_last=0.667,
        thumb_last_driver="bend",
    ),
    "xr_teleoperate": _Law(
        source="xr_teleoperate, Unitree DFQ URDF",
        finger=1.0,
        thumb_middle=1.6,
        thumb_last=2.4,
        thumb_last_driver="bend",
    ),
    "unitree_sim": _Law(
        source="unitree_sim_isaaclab, software mimic",
        finger=1.0,
        thumb_middle=1.5,
        thumb_last=2.4,
        thumb_last_driver="bend",
    ),
    "rh56dfx_description": _Law(
        source="ookkshirsagar/rh56dfx_description",
        finger=1.1169,
        finger_offset_rad=-0.15,
        thumb_middle=1.1425,
        thumb_last=0.7508,
        thumb_last_driver="middle",
    ),
    "rh56_controller": _Law(
        source="correlllab/rh56_controller simulation, of a damaged hand",
        finger=1.1169,
        finger_offset_rad=-0.15,
        own_finger_offset_rad={"index": -0.05},
        thumb_middle=1.33,
        thumb_middle_offset_rad=0.15,
        thumb_last=0.66,
        thumb_last_offset_rad=0.15,
        thumb_last_driver="bend",
    ),
}


def coupling_laws(names: JointNames) -> dict[str, tuple[Coupling, ...]]:
    """Every law, for a hand with these joint names."""
    return {name: _couplings(law, names) for name, law in _LAWS.items()}


def _couplings(law: _Law, names: JointNames) -> tuple[Coupling, ...]:
    bend, middle, last = names.thumb
    fingers = (
        Coupling(
            joint=coupled,
            driver=driven,
            ratio=law.finger,
            offset_rad=law.own_finger_offset_rad.get(finger, law.finger_offset_rad),
            source=law.source,
        )
        for finger, (driven, coupled) in names.fingers.items()
    )
    return (
        *fingers,
        Coupling(
            joint=middle,
            driver=bend,
            ratio=law.thumb_middle,
            offset_rad=law.thumb_middle_offset_rad,
            source=law.source,
        ),
        Coupling(
            joint=last,
            driver=bend if law.thumb_last_driver == "bend" else middle,
            ratio=law.thumb_last,
            offset_rad=law.thumb_last_offset_rad,
            source=law.source,
        ),
    )
