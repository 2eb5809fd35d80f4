"""Every pad of the hands as a heat map in its place: fingers side by side, tips up, palms towards the visitor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from thenar import colours
from thenar.hands.charts import pad_axes
from thenar.hands.rotations import matrix_about, matrix_from_rpy
from thenar.hands.spec import HandSpec, Pad

FloatArray = NDArray[np.float64]
Picture = NDArray[np.uint8]

PX_PER_M = 4200.0
PAPER, SILHOUETTE, INK = (37, 38, 43), (47, 50, 58), (150, 158, 174)
LINE_PX = 2
GAP_PX, FINGER_GAP_PX, EDGE_PX, LABEL_PX = 6, 16, 18, 30
FINGER_LIFT = {"index": 0.10, "middle": 0.16, "ring": 0.10, "little": 0.0}
"""How much higher than the palm a finger begins, as a share of its length: hands are not combs."""


class PadMap:
    """One picture with all hands; only the taxels change."""

    def __init__(self, hands: Sequence[HandSpec]):
        """Lay out the pads of hands that have some, left hands on the left."""
        self._hands = sorted((hand for hand in hands if hand.pads), key=lambda hand: hand.side != "left")
        pictures, self._first, first = [], {}, 0
        for hand in self._hands:
            base, taxel = _draw(hand)
            self._first[hand.name] = slice(first, first + hand.taxels)
            pictures.append((base, np.where(taxel >= 0, taxel + first, -1)))
            first += hand.taxels
        height = max((base.shape[0] for base, _ in pictures), default=1)
        bases = [_padded(base, height, PAPER) for base, _ in pictures]
        numbers = [_padded(taxel[..., None], height, (-1,))[..., 0] for _, taxel in pictures]
        self._base = np.concatenate(bases, axis=1) if bases else np.zeros((1, 1, 3), np.uint8)
        taxel = np.concatenate(numbers, axis=1) if numbers else np.full((1, 1), -1)
        self._where = taxel >= 0
        self._taxel = taxel[self._where]
        self.taxels = first

    def paint(self, share: Mapping[str, FloatArray], dead: Mapping[str, NDArray[np.int64]]) -> Picture:
        """The picture for these loads, as shares of full scale by hand. Shape (height, width, 3)."""
        now = np.tile(np.array(colours.IDLE, dtype=np.uint8), (self.taxels, 1))
        for name, place in self._first.items():
            if name in share:
                part = colours.level_colours(share[name])
                part[dead.get(name, [])] = colours.DEAD
                now[place] = part
        picture = self._base.copy()
        picture[self._where] = now[self._taxel]
        return picture

    def place(self, hand: str, pad: str) -> tuple[slice, slice]:
        """Rows and columns of the picture between which a pad lies."""
        spec = next(one for one in self._hands if one.name == hand)
        first = self._first[hand].start + sum(p.taxels for p in spec.pads[: [p.name for p in spec.pads].index(pad)])
        numbers = np.full(self._where.shape, -1)
        numbers[self._where] = self._taxel
        rows, cols = np.nonzero((numbers >= first) & (numbers < first + spec.pad(pad).taxels))
        return slice(int(rows.min()), int(rows.max()) + 1), slice(int(cols.min()), int(cols.max()) + 1)


def _draw(hand: HandSpec) -> tuple[Picture, NDArray[np.int64]]:
    """A hand's empty map, and the number of the taxel at each of its pixels, -1 where there is none."""
    poses = _link_poses(hand)
    R_pr = matrix_from_rpy(hand.palm.rpy_rad).T  # root into palm axes: y to the fingers
    firsts = np.cumsum([0, *[pad.taxels for pad in hand.pads]])
    cells = {
        pad.name: _cells(pad, R_pr @ poses[pad.link][1], int(first))
        for pad, first in zip(hand.pads, firsts, strict=False)
    }
    fingers = [tip.finger for tip in hand.tips]
    column: dict[str, list[Pad]] = {finger: [] for finger in fingers}
    palm: list[Pad] = []
    for pad in hand.pads:
        finger = next((name for name in fingers if pad.name.startswith(name)), "")
        (column[finger] if finger else palm).append(pad)
    column = {finger: pads for finger, pads in column.items() if pads}
    sideways = {
        tip.finger: (R_pr @ (poses[tip.link][0] + poses[tip.link][1] @ np.array(tip.pos_m)))[0] for tip in hand.tips
    }
    long_ones = sorted((f for f in column if f != "thumb"), key=lambda f: sideways[f])
    size = {finger: _stack_size([cells[pad.name] for pad in pads]) for finger, pads in column.items()}
    palm_size = _stack_size([cells[pad.name] for pad in palm])
    lift = {f: int(FINGER_LIFT.get(f, 0.0) * size[f][0]) for f in long_ones}
    fingers_high = max((size[f][0] + lift[f] for f in long_ones), default=0)
    fingers_wide = sum(size[f][1] for f in long_ones) + FINGER_GAP_PX * max(len(long_ones) - 1, 0)
    body_wide = max(fingers_wide, palm_size[1])
    thumb_high, thumb_wide = size.get("thumb", (0, 0))
    aside = thumb_wide + 2 * FINGER_GAP_PX if thumb_wide else 0
    height = EDGE_PX + fingers_high + 3 * GAP_PX + palm_size[0] + EDGE_PX + LABEL_PX
    width = body_wide + aside + 2 * EDGE_PX
    image = Image.new("RGB", (width, height), PAPER)
    ink = ImageDraw.Draw(image)
    taxel = np.full((height, width), -1, dtype=np.int64)
    thumb_left = hand.side == "left"
    body_x = EDGE_PX + (aside if thumb_left else 0)
    palm_y = EDGE_PX + fingers_high + 3 * GAP_PX
    if palm:
        box = (body_x - 6, palm_y - 8, body_x + body_wide + 6, palm_y + palm_size[0] + 8)
        ink.rounded_rectangle(box, radius=18, fill=SILHOUETTE)
    x = body_x + (body_wide - fingers_wide) // 2
    for finger in long_ones:
        bottom = EDGE_PX + fingers_high - lift[finger]
        _put_stack(ink, taxel, [cells[pad.name] for pad in column[finger]], x, bottom, size[finger])
        x += size[finger][1] + FINGER_GAP_PX
    if thumb_wide:
        x = EDGE_PX if thumb_left else body_x + body_wide + 2 * FINGER_GAP_PX
        bottom = min(palm_y + int(0.75 * palm_size[0]), height - EDGE_PX - LABEL_PX)
        bottom = max(bottom, EDGE_PX + thumb_high)
        _put_stack(ink, taxel, [cells[pad.name] for pad in column["thumb"]], x, bottom, size["thumb"])
    y = palm_y
    for pad in palm:
        grid = cells[pad.name]
        left = body_x + (body_wide - grid.shape[1]) // 2
        taxel[y : y + grid.shape[0], left : left + grid.shape[1]] = grid
        y += grid.shape[0] + GAP_PX
    font = ImageFont.load_default(size=18)
    ink.text((body_x + body_wide // 2, height - 16), f"{hand.side} hand", fill=INK, font=font, anchor="mm")
    return np.asarray(image).copy(), taxel


def _put_stack(ink, taxel, grids, x: int, bottom: int, size: tuple[int, int]) -> None:
    """Pads of a finger above each other, the first one on top, on a finger-shaped ground."""
    high, wide = size
    ink.rounded_rectangle((x - 4, bottom - high - 6, x + wide + 4, bottom + 4), radius=wide // 2, fill=SILHOUETTE)
    y = bottom - high
    for grid in grids:
        left = x + (wide - grid.shape[1]) // 2
        taxel[y : y + grid.shape[0], left : left + grid.shape[1]] = grid
        y += grid.shape[0] + GAP_PX


def _cells(pad: Pad, R_pl: FloatArray, first: int) -> NDArray[np.int64]:
    """The number of the taxel at each pixel of a pad, drawn to scale, turned as it lies on the open hand."""
    number = first + np.arange(pad.taxels).reshape(pad.rows, pad.cols)
    e_u, e_v, _ = pad_axes(pad)
    u, v = R_pl @ e_u, R_pl @ e_v
    high, wide = pad.row_pitch_m, pad.col_pitch_m
    if abs(v[1]) > abs(u[1]):  # columns run along the finger
        number, u, v, high, wide = number.T, v, u, wide, high
    if u[1] > 0.0:  # pictures grow downwards
        number = number[::-1]
    if v[0] < 0.0:
        number = number[:, ::-1]
    tall, broad = max(3, round(high * PX_PER_M)), max(3, round(wide * PX_PER_M))
    pixels = np.repeat(np.repeat(number, tall, axis=0), broad, axis=1)
    for line in (1, LINE_PX):  # thin lines between taxels
        pixels[tall - line :: tall] = -1
        pixels[:, broad - line :: broad] = -1
    return pixels[: tall * number.shape[0] - LINE_PX, : broad * number.shape[1] - LINE_PX]


def _stack_size(grids: Sequence[NDArray[np.int64]]) -> tuple[int, int]:
    if not grids:
        return 0, 0
    return sum(g.shape[0] for g in grids) + GAP_PX * (len(grids) - 1), max(g.shape[1] for g in grids)


def _padded(array: NDArray, height: int, fill: tuple[int, ...]) -> NDArray:
    missing = height - array.shape[0]
    block = np.broadcast_to(np.array(fill, dtype=array.dtype), (missing, *array.shape[1:]))
    return np.concatenate([array, block], axis=0)


def _link_poses(hand: HandSpec) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Position and matrix of every link in the root's frame, with the hand open."""
    angles = hand.joint_angles(hand.open_rad)
    poses = {hand.root: (np.zeros(3), np.eye(3))}
    for joint in hand.joints:  # parents come before children
        pos, R = poses[joint.parent]
        turn = matrix_about(joint.axis, angles[joint.name])
        poses[joint.child] = (pos + R @ np.asarray(joint.pos_m), R @ matrix_from_rpy(joint.rpy_rad) @ turn)
    return poses
