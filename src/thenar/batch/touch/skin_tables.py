"""A hand's skin and the influence of its cells, laid out as the native functions read them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.sim.contacts import SolidReader
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.solver.barometer_stress import build_dies
from thenar.touch.solver.influence import HALF_SPACE_M, half_space_tables, reduced_modulus_pa
from thenar.touch.solver.pads import CAP_CHART, CYLINDER_CHART, ELLIPSOID_CHART, build_pads

NATIVE = Path(__file__).resolve().parent / "native"
PAD_FLOATS = 32
DIE_FLOATS = 8
MAX_TAXELS = 768  # of a pad: so many sums have room in shared memory
FIRST_STEP = 0.85  # of the solver, in units of the stencil


@dataclass(frozen=True, kw_only=True, eq=False)
class SkinTables:
    """Skins of one hand in one model, in single precision."""

    pads: NDArray[np.float32]
    """Pads, ordered by link. Shape (pads, PAD_FLOATS)."""
    link_pads: NDArray[np.int32]
    """``pads[link_pads[k] : link_pads[k + 1]]`` are those of link k."""
    link_of_geom: NDArray[np.int32]
    """-1: not skin of this hand."""
    area_m2: NDArray[np.float32]
    pad_of_taxel: NDArray[np.int32]
    pad_taxels: int
    """Of the largest pad."""
    dies: NDArray[np.float32]
    """Dies of barometers, ordered by link: place, normal, depth and number. Shape (dies, DIE_FLOATS)."""
    link_dies: NDArray[np.int32]
    """``dies[link_dies[k] : link_dies[k + 1]]`` are those under link k."""
    bare_modulus_pa: float
    first_part: NDArray[np.int32]
    """``parts[first_part[b] : first_part[b + 1]]`` are the colliding geoms of body b."""
    parts: NDArray[np.int32]
    hulls: NDArray[np.int32]
    """First face and number of faces of every geom that is a mesh, else 0. Shape (geoms, 2)."""
    planes: NDArray[np.float32]
    """Faces of all hulls: normal and distance. Shape (faces, 4)."""
    first_beside: NDArray[np.int32]
    """``beside[first_beside[f] : first_beside[f + 1]]`` are the faces beside face f."""
    beside: NDArray[np.int32]


def skin_tables(model: mujoco.MjModel, hand: HandSpec, calibration: Calibration, *, prefix: str) -> SkinTables:
    """Tables of a hand whose names in a model start with ``prefix``; skins that the device cannot do are refused."""
    if not hand.pads:
        raise BadValue("hand", hand.name, "a hand with pads; this one has none")
    if hand.own_model is not None:
        raise BadValue(
            "hand", hand.name, "a hand of the catalogue: skins on models of one's own are for the CPU so far"
        )
    own = {pad.name: calibration.pad(pad.name) for pad in hand.pads}
    made = build_pads(
        hand,
        modulus_pa={name: reduced_modulus_pa(pad.young_pa) for name, pad in own.items()},
        thickness_m={name: pad.thickness_m for name, pad in own.items()},
    )
    thin = [name for name, pad in own.items() if pad.thickness_m < HALF_SPACE_M]
    if thin or calibration.bare.thickness_m < HALF_SPACE_M:
        raise BadValue("calibration", thin or "bare skin", "skin without a thickness: layers are for the CPU so far")
    if np.any(made.pads["chart"] >= ELLIPSOID_CHART):
        raise BadValue("hand", hand.name, "pads on flat, cylindrical or spherical skin, as the Inspire hand's")
    if max(pad.taxels for pad in hand.pads) > MAX_TAXELS:
        raise BadValue("hand", hand.name, f"pads of at most {MAX_TAXELS} taxels")
    link_of_geom = np.full(model.ngeom, -1, dtype=np.int32)
    for link in hand.links:
        for name in link.skin_names:
            link_of_geom[model.geom(prefix + name).id] = made.links.index(link.name)
    order = np.argsort(made.pads["link"], kind="stable")
    rows = np.zeros((len(order), PAD_FLOATS), dtype=np.float32)
    for row, number in zip(rows, order, strict=True):
        pad = made.pads[number]
        radius = pad["radius_m"] if pad["chart"] in (CYLINDER_CHART, CAP_CHART) else 0.0
        row[0:5] = pad["chart"], pad["rows"], pad["cols"], pad["row_pitch_m"], pad["col_pitch_m"]
        row[5:8] = pad["centre_m"] - radius * pad["normal"]
        row[8:11], row[11:14], row[14:17] = pad["e_u"], pad["e_v"], pad["normal"]
        row[17:20], row[20:23] = (radius, pad["low_m"], pad["high_m"]), pad["outward"]
        row[23:26], row[26:29] = (pad["first"], pad["modulus_pa"], number), pad["centre_m"]
    dies = build_dies(hand, made.links, {name: pad.depth_m for name, pad in own.items()})
    by_link = np.argsort(dies["link"], kind="stable")
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    collides[model.pair_geom1] = collides[model.pair_geom2] = True
    bodies = np.where(collides, model.geom_bodyid, -1)
    sequence = np.argsort(bodies, kind="stable")
    solids, (planes, first_beside, beside) = SolidReader(model).in_bodies(model)
    return SkinTables(
        pads=rows,
        link_pads=np.searchsorted(made.pads["link"][order], np.arange(len(made.links) + 1)).astype(np.int32),
        link_of_geom=link_of_geom,
        area_m2=made.area_m2.astype(np.float32),
        pad_of_taxel=np.repeat(np.arange(len(hand.pads)), [pad.taxels for pad in hand.pads]).astype(np.int32),
        pad_taxels=max(pad.taxels for pad in hand.pads),
        dies=np.column_stack([dies["pos_m"], dies["normal"], dies["depth_m"], np.arange(len(dies))])[by_link].astype(
            np.float32
        ),
        link_dies=np.searchsorted(dies["link"][by_link], np.arange(len(made.links) + 1)).astype(np.int32),
        bare_modulus_pa=reduced_modulus_pa(calibration.bare.young_pa),
        first_part=np.searchsorted(bodies[sequence], np.arange(model.nbody + 1)).astype(np.int32),
        parts=sequence.astype(np.int32),
        hulls=np.column_stack([solids["first"], solids["count"]]).astype(np.int32),
        planes=planes.astype(np.float32),
        first_beside=first_beside.astype(np.int32),
        beside=beside.astype(np.int32),
    )


@cache
def influence_columns(grid: int) -> NDArray[np.float32]:
    """Half the influence of every aspect, column by column, as float4s. Shape (aspects, columns, 4 quarters)."""
    love = half_space_tables()[:, :grid, :grid]
    out = np.zeros((len(love), grid, (grid + 3) // 4 * 4), dtype=np.float32)
    out[:, :, :grid] = 0.5 * love.transpose(0, 2, 1)
    return out


@cache
def inverse_stencils(grid: int) -> NDArray[np.float32]:
    """For every aspect the 3 x 3 stencil that comes nearest to undoing its influence: what speeds up the solver.

    A length of the first step; and, beside a middle of 1, the stencil's cells along rows, along columns and at the
    corners. Shape (aspects, 4).
    """
    half = grid // 2
    love = half_space_tables()[:, : half + 2, : half + 2].astype(np.float64)
    at = np.arange(-half, half + 1)
    near = np.abs(at[:, None] + [0, 1, -1])  # distances from the middle, and from the rows on both sides of it
    moved = love[:, near[:, None, :, None], near[None, :, None, :]]  # (aspects, rows, columns, row shift, column shift)
    cross = moved[..., 1:, 0].sum(-1), moved[..., 0, 1:].sum(-1), moved[..., 1:, 1:].sum((-1, -2))
    columns = np.stack([moved[..., 0, 0], *cross], axis=-1).reshape(len(love), -1, 4)
    target = np.zeros(columns.shape[1])
    target[len(target) // 2] = 1.0
    fit = np.array([np.linalg.lstsq(one, target)[0] for one in columns])
    return np.column_stack([FIRST_STEP * fit[:, 0], fit[:, 1:] / fit[:, :1]]).astype(np.float32)


def native_text(name: str, parts: dict[str, str], **words: int) -> str:
    """A native function with its constants; words of ``parts`` that stand alone in a line give way to those texts."""
    constants = ", ".join(f"{word} = {value}" for word, value in words.items())
    text = native_file(name)
    for word, part in parts.items():
        text = re.sub(rf"^ *{word}\n", lambda _, part=part: part, text, flags=re.MULTILINE)
    return f"enum {{ {constants} }};\n{text}"


def native_file(name: str) -> str:
    """One of the texts in the folder ``native``."""
    return (NATIVE / f"{name}.cu").read_text(encoding="utf-8")


def native_sections(name: str) -> dict[str, str]:
    """Sections of a text, each headed by a line ``//: WORD``."""
    words = native_file(name).split("//: ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in words}
