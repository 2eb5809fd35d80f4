"""The linkages inside Inspire's fingers: eight published laws that disagree, all reachable by name.

Which of them fits a real hand is not settled. Each law is ``joint = ratio * driver + offset``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from thenar.hands.spec import Coupling

RH56_CONTROLLER = "correlllab/rh56_controller simulation, of a damaged hand"
Law = tuple[float, float, float, float, float, float, Literal["bend", "middle"], str]
# Ratio and offset [rad] of a finger's second joint to its first, of the thumb's middle joint to the bend, and of the
# thumb's last joint to its driver; which joint that driver is; the source.
LAWS: dict[str, Law] = {
    "rh56e2": (1.0843, 0.0, 0.8024, 0.0, 0.9487, 0.0, "middle", "RH56E2 URDF of the maker, newest Unitree FTP URDF"),
    "unitree_ftp_first": (1.05, 0.0, 0.40, 0.0, 0.60, 0.0, "bend", "first Unitree FTP URDF (751aa01)"),
    "lws_readme": (1.0843, 0.0, 0.8392, 0.0, 0.891, 0.0, "middle", "laurent-19/inspire_hand_ws README"),
    "dex_urdf": (1.06399, -0.04545, 1.334, 0.0, 0.667, 0.0, "bend", "dexsuite/dex-urdf"),
    "xr_teleoperate": (1.0, 0.0, 1.6, 0.0, 2.4, 0.0, "bend", "xr_teleoperate, Unitree DFQ URDF"),
    "unitree_sim": (1.0, 0.0, 1.5, 0.0, 2.4, 0.0, "bend", "unitree_sim_isaaclab, software mimic"),
    "rh56dfx_description": (1.1169, -0.15, 1.1425, 0.0, 0.7508, 0.0, "middle", "ookkshirsagar/rh56dfx_description"),
    "rh56_controller": (1.1169, -0.15, 1.33, 0.15, 0.66, 0.15, "bend", RH56_CONTROLLER),
}
OWN_OFFSET_RAD = {("rh56_controller", "index"): -0.05}  # of a finger whose offset is not that of the others


def coupling_laws(
    fingers: Mapping[str, tuple[str, str]], thumb: tuple[str, str, str]
) -> dict[str, tuple[Coupling, ...]]:
    """Every law, for a hand with these joint names.

    Args:
        fingers: Per finger: the driven joint and the coupled one.
        thumb: The driven bend joint, the next one and the last.
    """
    bend, middle, last = thumb
    laws = {}
    for name, (ratio, offset, middle_ratio, middle_offset, last_ratio, last_offset, driver, source) in LAWS.items():
        rows = [
            *((second, first, ratio, OWN_OFFSET_RAD.get((name, f), offset)) for f, (first, second) in fingers.items()),
            (middle, bend, middle_ratio, middle_offset),
            (last, bend if driver == "bend" else middle, last_ratio, last_offset),
        ]
        laws[name] = tuple(
            Coupling(joint=joint, driver=above, ratio=times, offset_rad=plus_rad, source=source)
            for joint, above, times, plus_rad in rows
        )
    return laws
