"""The person beside the robot: as a page that plays in any browser, and as a film, with error and contact over time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thenar.arrays import IntArray
from thenar.errors import writing
from thenar.recordings.film import write_film
from thenar.retarget.model.hand_model import HandModel
from thenar.signals import FloatArray
from thenar.sim.collision_checker import CollisionChecker
from thenar.sim.drawing import render
from thenar.sim.drawing.render import Image

PAGE = Path(__file__).with_name("retarget_page.html")
MAX_PAGE_FRAMES = 3000
FAR_MM = 30.0  # from here on thumb and fingers are apart
FILM_FPS, SIDE_PX, PLOT_PX = 20, 400, 120
FINGER_COLOURS = ((231, 111, 81), (42, 157, 143), (233, 196, 106), (138, 177, 125), (109, 157, 197))
PERSON_BONES = tuple((0 if node % 4 == 1 else node - 1, node, (node - 1) // 4) for node in range(1, 21))
ERROR_COLOUR, CONTACT_COLOUR = (109, 157, 197), (231, 111, 81)


@dataclass(frozen=True, kw_only=True, eq=False)
class Followed:
    """A recording and what the hand did. Shapes use n = frames."""

    title: str
    model: HandModel
    time_s: FloatArray
    """From the first frame [s]. (n,)"""
    nodes_m: FloatArray
    """The person, as the hand's own side has it [m]. (n, 21, 3)"""
    variable_rad: FloatArray
    """The hand. (n, v)"""
    error_mm: FloatArray
    """Mean error of the fingertips. (n,)"""

    def every(self, rows: IntArray) -> Followed:
        """Some of its frames."""
        picked = {name: getattr(self, name)[rows] for name in ("time_s", "nodes_m", "variable_rad", "error_mm")}
        return Followed(title=self.title, model=self.model, **picked)


def write_page(path: Path, followed: Followed) -> None:
    """A page (.html) that needs nothing else."""
    followed = followed.every(np.arange(0, len(followed.time_s), max(1, len(followed.time_s) // MAX_PAGE_FRAMES)))
    model = followed.model
    robot_m, bones = _robot_skeleton(followed)
    data = {
        "title": followed.title,
        "fingers": model.finger_names,
        "seconds": np.round(followed.time_s, 3).tolist(),
        "person": np.round(1e3 * followed.nodes_m, 1).tolist(),
        "personBones": PERSON_BONES,
        "robot": np.round(1e3 * robot_m, 1).tolist(),
        "robotBones": bones,
        "error": np.round(followed.error_mm, 2).tolist(),
        "gap": np.round(thumb_gap_mm(followed), 2).tolist(),
        "far": FAR_MM,
    }
    text = PAGE.read_text(encoding="utf-8").replace("DATA", json.dumps(data).replace("<", "\\u003c"))
    with writing(path):
        path.write_text(text, encoding="utf-8")


def film_follow(path: Path, followed: Followed, progress: Callable[[int], None] = lambda frames: None) -> None:
    """A film (.mp4 or .gif): person left, robot right, error (blue) and distance of thumb and fingers (red) below."""
    end_s = float(followed.time_s[-1])
    at_s = np.arange(0.0, max(end_s, 1.0 / FILM_FPS), 1.0 / FILM_FPS)
    shown = followed.every(np.clip(np.searchsorted(followed.time_s, at_s), 0, len(followed.time_s) - 1))
    plot, pictures = _plot(shown.error_mm, thumb_gap_mm(shown)), []
    hand, size_px = shown.model.hand, (SIDE_PX, SIDE_PX)
    postures = render.draw_postures(hand, shown.model.joint_rad(shown.variable_rad), size_px=size_px)
    cursor = np.linspace(0, plot.shape[1] - 1, len(at_s)).astype(int)
    for nodes_m, robot, column in zip(shown.nodes_m, postures, cursor, strict=True):
        below = plot.copy()
        below[:, column] = 255
        above = np.concatenate([_draw_person(nodes_m, left=hand.side == "left"), robot], axis=1)
        pictures.append(np.concatenate([above, below], axis=0))
        progress(1)
    write_film(path, pictures, fps=FILM_FPS)


def thumb_gap_mm(followed: Followed) -> FloatArray:
    """Distance of the thumb's tip to the nearest fingertip it can reach, at most 30 mm. Shape (n,)."""
    model, checker = followed.model, CollisionChecker(followed.model.hand)
    thumb, *others = model.fingers
    links = [finger.tip_link for finger in others if finger.name in model.pinch_fingers]
    gap_mm = np.full(len(followed.time_s), FAR_MM)
    for n, angles in enumerate(model.joint_rad(followed.variable_rad)):
        checker.pose(angles)
        for link in links:
            gap_mm[n] = min(gap_mm[n], 1e3 * checker.distance(thumb.tip_link, link)[0])
    return gap_mm


def _robot_skeleton(followed: Followed) -> tuple[FloatArray, list[tuple[int, int, int]]]:
    """Key points of the robot in a person's palm axes, the palm first [m], and its bones with their fingers."""
    model = followed.model
    points_m = (model.points_m(followed.variable_rad) - model.palm_m) @ model.R_palm
    bones = []
    for finger, part in zip(model.fingers, model.point_slices, strict=True):
        colour = finger.nodes[-1] // 4 - 1
        bones += [(0 if n == part.start else n, n + 1, colour) for n in range(part.start, part.stop)]
    return np.concatenate([np.zeros((len(points_m), 1, 3)), points_m], axis=1), bones


def _draw_person(nodes_m: FloatArray, *, left: bool) -> Image:
    """The skeleton seen from the palm, as thick lines."""
    image = np.full((SIDE_PX, SIDE_PX, 3), 27, dtype=np.uint8)
    turn = 0.4 if left else -0.4
    right = np.array([np.cos(turn), np.sin(turn), 0.0])  # the palm towards the viewer
    scale = SIDE_PX / 0.22
    flat = np.stack([SIDE_PX / 2 + scale * nodes_m @ right, 0.85 * SIDE_PX - scale * nodes_m[:, 2]], axis=1)
    rows, columns = np.mgrid[:SIDE_PX, :SIDE_PX]
    for a, b, finger in PERSON_BONES:
        start, along = flat[a], flat[b] - flat[a]
        share = ((columns - start[0]) * along[0] + (rows - start[1]) * along[1]) / max(float(along @ along), 1e-9)
        share = np.clip(share, 0.0, 1.0)
        away2 = (columns - start[0] - share * along[0]) ** 2 + (rows - start[1] - share * along[1]) ** 2
        image[away2 < (3.0 if a == 0 else 5.5) ** 2] = FINGER_COLOURS[finger]
    return image


def _plot(error_mm: FloatArray, gap_mm: FloatArray) -> Image:
    """Both curves over the whole film, each on its own scale; the line of contact is at the bottom."""
    image = np.full((PLOT_PX, 2 * SIDE_PX, 3), 20, dtype=np.uint8)
    x = np.linspace(0, len(error_mm) - 1, 2 * SIDE_PX)
    scales = ((error_mm, max(float(error_mm.max()), 10.0), ERROR_COLOUR), (gap_mm, FAR_MM, CONTACT_COLOUR))
    for values, top, colour in scales:
        y = np.interp(x, np.arange(len(values)), np.clip(values, 0.0, top))
        height = np.round((PLOT_PX - 6) * (1.0 - y / top)).astype(int) + 2
        for column, (one, other) in enumerate(zip(height, np.roll(height, 1), strict=True)):
            low, high = sorted((one, other if column else one))
            image[low : high + 2, column] = colour
    return image
