"""Every pad of the hands as a heat map in its place: fingers side by side, tips up, palms towards the visitor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from thenar import display
from thenar.arrays import FloatArray
from thenar.hands.pad_charts import pad_axes
from thenar.hands.rotations import matrix_about, matrix_from_rpy
from thenar.hands.spec import HandSpec, Pad

Picture = NDArray[np.uint8]

PX_PER_M = 4200.0
PAPER, SILHOUETTE, INK = (37, 38, 43), (47, 50, 58), (150, 158, 174)
LINE_PX = 2
LARGE_PX = (480, 300)  # width and height of a picture of one pad
GAP_PX, FINGER_GAP_PX, EDGE_PX, LABEL_PX = 6, 16, 18, 30
FINGER_LIFT = {"index": 0.10, "middle": 0.16, "ring": 0.10, "little": 0.0}
"""How much higher than the palm a finger begins, as a share of its length: hands are not combs."""


class PadMap:
    """One picture of all hands; only the colors of the taxels change."""

    def __init__(self, hands: Sequence[HandSpec]):
        """Lay out the pads of hands that have some, left hands on the left."""
        self._hands = {hand.name: hand for hand in sorted(hands, key=lambda hand: hand.side != "left") if hand.pads}
        drawn = [_draw(hand) for hand in self._hands.values()]
        size = sum(image.width for image, _ in drawn) or 1, max((image.height for image, _ in drawn), default=1)
        base = Image.new("RGB", size, PAPER)
        self._taxel = np.full((size[1], size[0]), -1)
        self._slices: dict[str, slice] = {}
        x = first = 0
        for hand, (image, taxel) in zip(self._hands.values(), drawn, strict=True):
            base.paste(image, (x, 0))
            self._taxel[: image.height, x : x + image.width] = np.where(taxel >= 0, taxel + first, -1)
            self._slices[hand.name] = slice(first, first + hand.taxels)
            x, first = x + image.width, first + hand.taxels
        self._base = np.asarray(base)
        self._is_taxel = self._taxel >= 0
        self._taxel_of_pixel = self._taxel[self._is_taxel]

    def paint(self, share: Mapping[str, FloatArray], dead: Mapping[str, NDArray[np.int64]]) -> Picture:
        """The picture for loads as shares of full scale, by hand, and the numbers of dead taxels. Shape (h, w, 3)."""
        colors = np.tile(np.array(display.IDLE, dtype=np.uint8), (sum(h.taxels for h in self._hands.values()), 1))
        for name in share.keys() & self._slices.keys():
            own = display.level_colours(share[name])
            own[dead.get(name, [])] = display.DEAD
            colors[self._slices[name]] = own
        picture = self._base.copy()
        picture[self._is_taxel] = colors[self._taxel_of_pixel]
        return picture

    def enlarge(self, picture: Picture, hand: str, pad: str) -> Picture:
        """One pad of a painted picture, as large as fits a picture that is the same size for every pad."""
        rows, cols = self.place(hand, pad)
        part = picture[rows, cols]
        wide, high = LARGE_PX
        times = min(wide // part.shape[1], high // part.shape[0])
        part = np.repeat(np.repeat(part, times, axis=0), times, axis=1)
        large = np.full((high, wide, 3), SILHOUETTE, dtype=np.uint8)
        top, left = (high - part.shape[0]) // 2, (wide - part.shape[1]) // 2
        large[top : top + part.shape[0], left : left + part.shape[1]] = part
        return large

    def place(self, hand: str, pad: str) -> tuple[slice, slice]:
        """Rows and columns of the picture between which a pad lies."""
        spec = self._hands[hand]
        first = self._slices[hand].start + sum(p.taxels for p in spec.pads[: [p.name for p in spec.pads].index(pad)])
        rows, cols = np.nonzero((self._taxel >= first) & (self._taxel < first + spec.pad(pad).taxels))
        return slice(int(rows.min()), int(rows.max()) + 1), slice(int(cols.min()), int(cols.max()) + 1)


def _draw(hand: HandSpec) -> tuple[Image.Image, NDArray[np.int64]]:
    """A hand's empty map, and the number of the taxel at each of its pixels, -1 where there is none."""
    poses = _link_poses(hand)
    R_pr = matrix_from_rpy(hand.palm.rpy_rad).T  # root into palm axes: y to the fingers
    pads: dict[str, list[NDArray[np.int64]]] = {}
    first = 0
    for pad in hand.pads:
        finger = next((tip.finger for tip in hand.tips if pad.name.startswith(tip.finger)), "palm")
        pads.setdefault(finger, []).append(_pad_pixels(pad, R_pr @ poses[pad.link][1], first))
        first += pad.taxels
    pixels = {finger: _stacked(grids) for finger, grids in pads.items()}
    palm, thumb = (pixels.pop(name, np.zeros((0, 0), dtype=np.int64)) for name in ("palm", "thumb"))
    sideways_m = {
        tip.finger: (R_pr @ (poses[tip.link][0] + poses[tip.link][1] @ np.array(tip.pos_m)))[0] for tip in hand.tips
    }
    fingers = sorted(pixels, key=lambda finger: sideways_m[finger])
    lift = {finger: int(FINGER_LIFT.get(finger, 0.0) * len(pixels[finger])) for finger in fingers}
    fingers_high = max((len(pixels[finger]) + lift[finger] for finger in fingers), default=0)
    fingers_wide = sum(pixels[finger].shape[1] + FINGER_GAP_PX for finger in fingers) - FINGER_GAP_PX
    body_wide = max(fingers_wide, palm.shape[1])
    thumb_room = thumb.shape[1] + 2 * FINGER_GAP_PX if thumb.size else 0
    palm_y = EDGE_PX + fingers_high + 3 * GAP_PX
    palm_end = palm_y + len(palm)
    height, width = palm_end + EDGE_PX + LABEL_PX, body_wide + thumb_room + 2 * EDGE_PX
    image = Image.new("RGB", (width, height), PAPER)
    ink = ImageDraw.Draw(image)
    taxel = np.full((height, width), -1, dtype=np.int64)

    def put_finger(grid: NDArray[np.int64], x: int, bottom: int) -> None:
        high, wide = grid.shape
        box = (x - 4, bottom - high - 6, x + wide + 4, bottom + 4)
        ink.rounded_rectangle(box, radius=wide // 2, fill=SILHOUETTE)
        taxel[bottom - high : bottom, x : x + wide] = grid

    body_x = EDGE_PX + (thumb_room if hand.side == "left" else 0)
    if palm.size:
        box = (body_x - 6, palm_y - 8, body_x + body_wide + 6, palm_end + 8)
        ink.rounded_rectangle(box, radius=18, fill=SILHOUETTE)
        left = body_x + (body_wide - palm.shape[1]) // 2
        taxel[palm_y:palm_end, left : left + palm.shape[1]] = palm
    x = body_x + (body_wide - fingers_wide) // 2
    for finger in fingers:
        put_finger(pixels[finger], x, EDGE_PX + fingers_high - lift[finger])
        x += pixels[finger].shape[1] + FINGER_GAP_PX
    if thumb.size:
        x = EDGE_PX if hand.side == "left" else body_x + body_wide + 2 * FINGER_GAP_PX
        bottom = min(palm_y + int(0.75 * len(palm)), height - EDGE_PX - LABEL_PX)
        put_finger(thumb, x, max(bottom, EDGE_PX + len(thumb)))
    font = ImageFont.load_default(size=18)
    ink.text((body_x + body_wide // 2, height - 16), f"{hand.side} hand", fill=INK, font=font, anchor="mm")
    return image, taxel


def _stacked(grids: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Pads above each other, the first one on top, centered, with gaps between them."""
    wide = max(grid.shape[1] for grid in grids)
    rows = []
    for grid in grids:
        left, right = (wide - grid.shape[1]) // 2, (wide - grid.shape[1] + 1) // 2
        rows.append(np.pad(grid, ((0, GAP_PX), (left, right)), constant_values=-1))
    return np.concatenate(rows)[:-GAP_PX]


def _pad_pixels(pad: Pad, R_pl: FloatArray, first: int) -> NDArray[np.int64]:
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


def _link_poses(hand: HandSpec) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Position and matrix of every link in the root's frame, with the hand open."""
    angles = hand.joint_angles(hand.open_rad)
    poses = {hand.root: (np.zeros(3), np.eye(3))}
    for joint in hand.joints:  # parents come before children
        pos, R = poses[joint.parent]
        turn = matrix_about(joint.axis, angles[joint.name])
        poses[joint.child] = (pos + R @ np.asarray(joint.pos_m), R @ matrix_from_rpy(joint.rpy_rad) @ turn)
    return poses
