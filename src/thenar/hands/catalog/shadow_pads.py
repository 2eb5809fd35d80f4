"""Pads of the Shadow hand: grids on the five fingertips, and the 92 touch regions of gymnasium-robotics.

Links run along z and bend towards -y, which is their front; a finger's left is -x, seen from the front of a right hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from thenar.arrays import FloatArray
from thenar.hands.shapes import Box, Capsule, Sphere, Vec3, as_vec3
from thenar.hands.spec import Pad, TaxelPoints

GRID = "grids on skin of the model, as fine as makers of fingertip sensors offer: size and places assumed"
REGIONS = "gymnasium-robotics robot_touch_sensors_92.xml: names, order and sides; laid on this model's own shapes"
FRONT: Vec3 = (0.0, -1.0, 0.0)
BASEWARD: Vec3 = (0.0, 0.0, -1.0)
PITCH_M = 0.002
Chart: TypeAlias = Literal["cylinder", "face", "points"]
END_ANGLE_RAD = math.pi / 4  # where the grid on the round end sits, from the finger's axis

# Which way the regions round a link look.
QUARTERS = {"front_left": (-1, -1), "front_right": (1, -1), "back_left": (-1, 1), "back_right": (1, 1)}
# gymnasium-robotics' thumb bends towards its own -x: its left is what our thumb has in front.
THUMB_QUARTERS = {"front_left": (1, -1), "front_right": (1, 1), "back_left": (-1, -1), "back_right": (-1, 1)}
WHOLE = (0.0, 1.0)
# Regions of a finger's first link: name, where it looks, and from where to where it reaches along the link.
FIRST_LINK = (
    *((f"front_{side}_bottom", f"front_{side}", (0.0, 0.5)) for side in ("left", "right")),
    *((f"front_{side}_top", f"front_{side}", (0.5, 1.0)) for side in ("left", "right")),
    *((f"back_{side}", f"back_{side}", WHOLE) for side in ("left", "right")),
)
OTHER_LINKS = tuple((quarter, quarter, WHOLE) for quarter in QUARTERS)
PALM_Z_M = (0.025, 0.057)  # where the palm's three rows of regions meet


def fingertip_pads(tips: Mapping[str, Capsule]) -> tuple[Pad, ...]:
    """Two grids on each fingertip, by the finger's name: 4 x 4 on its round end and 8 x 6 in front of it."""
    found = []
    cosine, sine = math.cos(END_ANGLE_RAD), math.sin(END_ANGLE_RAD)
    for finger, tip in tips.items():
        (x, y, z), r, link = tip.end_m, tip.radius_m, f"{finger}distal"
        found += [
            Pad(
                name=f"{finger}_tip",
                link=link,
                rows=4,
                cols=4,
                row_pitch_m=PITCH_M,
                col_pitch_m=PITCH_M,
                chart="cap",
                centre_m=(x, y - r * sine, z + r * cosine),
                row_axis=(0.0, -cosine, -sine),
                normal=(0.0, -sine, cosine),
                source=GRID,
            ),
            Pad(
                name=f"{finger}_pad",
                link=link,
                rows=8,
                cols=6,
                row_pitch_m=PITCH_M,
                col_pitch_m=PITCH_M,
                chart="cylinder",
                centre_m=(x, y - r, (tip.start_m[2] + z) / 2),
                row_axis=BASEWARD,
                normal=FRONT,
                source=GRID,
            ),
        ]
    return tuple(found)


def touch_92(skins: Mapping[str, Capsule], ends: Mapping[str, Sphere], palm: tuple[Box, Box]) -> tuple[Pad, ...]:
    """One taxel for each of the 92 regions of gymnasium-robotics, with their names and in their order.

    Args:
        skins: Of the links.
        ends: Round ends of links, where they are not those of the skins.
        palm: Its two boxes, the large one first.
    """
    found = _palm_regions(*palm)
    for finger in ("ff", "mf", "rf", "lf", "th"):
        if finger == "lf":
            found.append(_band("lfmetacarpal_front", "lfmetacarpal", skins["lfmetacarpal"], FRONT, math.pi, WHOLE))
        for part in ("proximal", "middle", "distal"):
            link, name = f"{finger}{part}", f"{finger}{'tip' if part == 'distal' else part}"
            rows = FIRST_LINK if part == "proximal" and finger != "th" else OTHER_LINKS
            for region, quarter, share in rows:
                x, y = (THUMB_QUARTERS if finger == "th" else QUARTERS)[quarter]
                out = (x * math.sqrt(0.5), y * math.sqrt(0.5), 0.0)
                found.append(_band(f"{name}_{region}", link, skins[link], out, math.pi / 2, share))
            skin = skins[link]
            end = ends.get(link, Sphere(centre_m=skin.end_m, radius_m=skin.radius_m))
            found.append(_round_end(f"{name}_tip", link, end))
    return tuple(found)


def _region(
    name: str, link: str, size_m: tuple[float, float], chart: Chart, centre: FloatArray, row_axis: Vec3, normal: Vec3
) -> Pad:
    return Pad(
        name=name,
        link=link,
        rows=1,
        cols=1,
        row_pitch_m=size_m[0],
        col_pitch_m=size_m[1],
        chart=chart,
        centre_m=as_vec3(centre),
        row_axis=row_axis,
        normal=normal,
        source=REGIONS,
    )


def _palm_regions(large: Box, small: Box) -> list[Pad]:
    """Eight regions on the front of the palm; the last is what the small box has beside the large one."""
    low, high = np.subtract(large.centre_m, large.half_m), np.add(large.centre_m, large.half_m)
    beside, above = np.subtract(small.centre_m, small.half_m), np.add(small.centre_m, small.half_m)
    back, front = PALM_Z_M
    columns = np.linspace(low[0], high[0], 4)
    boxes = {"b0": (low[0], high[0], low[2], back)}
    for row, z0, z1 in (("b", back, front), ("f", front, high[2])):
        boxes |= {f"{row}{col}": (columns[k], columns[k + 1], z0, z1) for k, col in enumerate("lmr")}
    boxes["b1"] = (beside[0], low[0], beside[2], above[2])
    return [
        _region(
            f"palm_{name}",
            "palm",
            (float(z1 - z0), float(x1 - x0)),
            "face",
            np.array([(x0 + x1) / 2, low[1], (z0 + z1) / 2]),
            BASEWARD,
            FRONT,
        )
        for name, (x0, x1, z0, z1) in boxes.items()
    ]


def _band(name: str, link: str, skin: Capsule, out: Vec3, angle_rad: float, share: tuple[float, float]) -> Pad:
    """A region on the side of a link: this far round it, and from one share of its length to the other."""
    start, along = np.asarray(skin.start_m), np.subtract(skin.end_m, skin.start_m)
    centre = start + (share[0] + share[1]) / 2 * along + skin.radius_m * np.asarray(out)
    size = (share[1] - share[0]) * skin.length_m, angle_rad * skin.radius_m
    return _region(name, link, size, "cylinder", centre, as_vec3(-along / skin.length_m), out)


def _round_end(name: str, link: str, end: Sphere) -> Pad:
    """The whole round end of a link: all that is nearer to its pole than its rim is."""
    r = end.radius_m
    pole = np.add(end.centre_m, (0.0, 0.0, r))
    points = TaxelPoints(
        points_m=pole[None],
        normals=np.array([[0.0, 0.0, 1.0]]),
        row_axes=np.array([FRONT]),
        half_m=np.full((1, 2), 2 * r),
        reach_m=np.array([math.sqrt(2.0) * r]),
        area_m2=np.array([2 * math.pi * r * r]),
    )
    wide = r * math.sqrt(2 * math.pi)  # a square of its area
    return replace(_region(name, link, (wide, wide), "points", pole, FRONT, (0.0, 0.0, 1.0)), points=points)
