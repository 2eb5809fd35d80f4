"""Pads of the catalogue on a model of the user's own: where they lie on the hand, laid onto the model's geoms."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.hands.build import at_zero
from thenar.hands.shapes import as_vec3
from thenar.hands.spec import HandSpec, Pad
from thenar.sim.contacts import SolidReader
from thenar.touch.attached_skin import surfaces_under
from thenar.touch.geom_pads import GridPad
from thenar.touch.lay_pads import lay_pad
from thenar.touch.surfaces import Surface

logger = logging.getLogger(__name__)
MAX_OFF_M = 0.008  # how far from the catalogue's skin the model's surface may be
MAX_APART_M = 0.005  # how far from the catalogue's the joints of the model may be, in the mean


def lay_own_pads(hand: HandSpec) -> HandSpec:
    """A hand with a model of the user's own, its pads laid onto that model's geoms; those that do not fit are left out.

    Both hands are laid over each other, all joints at 0, so that their joints meet; a pad then goes straight up or down
    to the geoms of the link of its name.
    """
    if not hand.pads:
        return hand
    ours, theirs = (at_zero(spec) for spec in (replace(hand, own_model=None), hand))
    R, shift, apart_m = _laid_over(hand, ours, theirs)
    if apart_m > MAX_APART_M:
        logger.warning(
            "%s: its joints are %.0f mm from those of the catalogue's hand, all at 0: it has no pads; "
            "lay some with thenar.touch.attach(world.model, pads)",
            hand.name,
            1e3 * apart_m,
        )
        return replace(hand, pads=())
    reader, laid, shapes = SolidReader(theirs[0]), list[Pad](), dict[str, Any]()
    for pad in hand.pads:
        at, own = ours[1].body(pad.link), theirs[1].body(pad.link)
        turn = own.xmat.reshape(3, 3).T @ R
        R_own = turn @ at.xmat.reshape(3, 3)
        place = turn @ (at.xpos + at.xmat.reshape(3, 3) @ pad.centre_m) + own.xmat.reshape(3, 3).T @ (shift - own.xpos)
        try:
            surface, found = _lay(pad, theirs[0], reader, place, R_own @ pad.normal, R_own @ pad.row_axis)
        except BadValue as error:
            logger.warning("%s: pad %s is left out: %s", hand.name, pad.name, error)
            continue
        laid.append(found)
        shapes[pad.link] = surface.shape
    links = tuple(
        replace(link, skin=shapes[link.name], more_skin=()) if link.name in shapes else link for link in hand.links
    )
    return replace(hand, pads=tuple(laid), links=links)


def _laid_over(hand: HandSpec, ours: Any, theirs: Any) -> tuple[FloatArray, FloatArray, float]:
    """How the catalogue's hand lies over the model: rotation, shift, and how far joints' axes then are apart [m]."""
    a, b = (np.array([data.joint(name).xanchor for name in hand.joint_names]) for _, data in (ours, theirs))
    mean_a, mean_b = a.mean(axis=0), b.mean(axis=0)
    u, _, vt = np.linalg.svd((b - mean_b).T @ (a - mean_a))
    R = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt
    shift = mean_b - R @ mean_a
    axes = np.array([theirs[1].joint(name).xaxis for name in hand.joint_names])
    return R, shift, float(np.linalg.norm(np.cross(a @ R.T + shift - b, axes), axis=1).mean())


def _lay(
    pad: Pad, model: Any, reader: SolidReader, place: FloatArray, out: FloatArray, row_axis: FloatArray
) -> tuple[Surface, Pad]:
    grid = GridPad(
        name=pad.name,
        geom=pad.link,
        rows=pad.rows,
        cols=pad.cols,
        size_m=(pad.rows * pad.row_pitch_m, pad.cols * pad.col_pitch_m),
        centre_m=as_vec3(place),
        row_axis=as_vec3(row_axis),
        sensor=pad.sensor,
        proximity_range_m=pad.proximity_range_m,
    )
    surface = surfaces_under(model, reader, [grid])[pad.name]
    height = float(surface.heights(place[None], out)[0])
    if not abs(height) < MAX_OFF_M:
        raise BadValue(f"centre of pad {pad.name!r}", place.round(4).tolist(), "a place near the geoms of its link")
    laid = lay_pad(replace(grid, centre_m=as_vec3(place + height * out)), surface)
    if pad.mirrored and laid.points is not None:  # columns run the other way
        columns = np.arange(pad.taxels).reshape(pad.rows, pad.cols)[:, ::-1].ravel()
        names = ("points_m", "normals", "row_axes", "half_m", "reach_m", "area_m2")
        laid = replace(
            laid, points=replace(laid.points, **{name: getattr(laid.points, name)[columns] for name in names})
        )
    return surface, replace(laid, link=pad.link, mirrored=pad.mirrored, source=f"{pad.source}; laid onto your model")
