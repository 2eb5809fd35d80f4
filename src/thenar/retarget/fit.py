"""The linear map of the original formulation, ``robot point = S * person's point``, fitted from a recording.

The hand first follows the recording by segment directions within its limits; then the map that best takes the person's
key points to the robot's is found in closed form. A map for all fingers cannot fit hands of other proportions well: the
residual says how well it does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from thenar.errors import BadFile, BadValue, writing
from thenar.retarget.batch import retarget_recording
from thenar.retarget.config import RetargetConfig
from thenar.retarget.model.hand_model import HandModel
from thenar.signals import FloatArray

MapKind = Literal["scalar", "diagonal", "full", "finger"]
MAX_CONDITION = 1e3
"""Above it a recording moves too little to say what the map is."""
MAP_KINDS: tuple[MapKind, ...] = ("scalar", "diagonal", "full", "finger")


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearMap:
    """A map of a person's points to a robot's, in palm axes: ``robot = matrix @ person + shift``."""

    hand: str
    kind: MapKind
    fingers: tuple[str, ...]
    matrix: FloatArray
    """Of each finger. Shape (f, 3, 3)."""
    shift_m: FloatArray
    """Of each finger; 0 unless the kind is finger [m]. Shape (f, 3)."""
    residual_mm: float
    """Mean distance of mapped points to the robot's [mm]."""
    condition: float
    """How well the recording determines the map: 1 is best, thousands mean it moves too little."""


def fit_map(model: HandModel, nodes: FloatArray, step_s: FloatArray, kind: MapKind) -> LinearMap:
    """Fit a map to a recording.

    Args:
        model: The hand.
        nodes: Frames as the hand's own side has them [m]. Shape (n, 21, 3).
        step_s: Time from the frame before [s]. Shape (n,).
        kind: One factor, one per axis, a whole matrix, or one factor per axis and a shift for each finger.
    """
    free = RetargetConfig(pinch=False, contact=False, speed_scale=100.0)
    points = model.points_m(retarget_recording(model, nodes, step_s, free))
    person, robot = [], []
    for finger, part in zip(model.fingers, model.point_slices, strict=True):
        person.append(nodes[:, list(finger.nodes[1:])].reshape(-1, 3))
        robot.append(((points[:, part][:, 1:] - model.palm_m) @ model.R_palm).reshape(-1, 3))
    if kind == "finger":
        fitted = [_fit(x, y, "diagonal", shift=True) for x, y in zip(person, robot, strict=True)]
    else:
        fitted = [_fit(np.concatenate(person), np.concatenate(robot), kind, shift=False)] * len(person)
    errors = [np.linalg.norm(x @ S.T + t - y, axis=1) for x, y, (S, t, _) in zip(person, robot, fitted, strict=True)]
    return LinearMap(
        hand=model.hand.name,
        kind=kind,
        fingers=model.finger_names,
        matrix=np.array([S for S, _, _ in fitted]),
        shift_m=np.array([t for _, t, _ in fitted]),
        residual_mm=float(1e3 * np.concatenate(errors).mean()),
        condition=max(condition for _, _, condition in fitted),
    )


def map_by_hand(model: HandModel, factors: Sequence[float]) -> LinearMap:
    """The map ``Y = S X`` with a factor, three (along thumb, back and fingers), or the nine of a matrix, row by row."""
    kinds: dict[int, MapKind] = {1: "scalar", 3: "diagonal", 9: "full"}
    values = np.asarray(factors, dtype=np.float64)
    if len(values) not in kinds or not np.isfinite(values).all():
        raise BadValue("map", ",".join(map(str, factors)), "1, 3 or 9 numbers, such as 1.7,1.4,1.55")
    matrix = values.reshape(3, 3) if len(values) == 9 else values * np.eye(3)
    count = len(model.fingers)
    return LinearMap(
        hand=model.hand.name,
        kind=kinds[len(values)],
        fingers=model.finger_names,
        matrix=np.tile(matrix, (count, 1, 1)),
        shift_m=np.zeros((count, 3)),
        residual_mm=float("nan"),
        condition=1.0,
    )


def save_map(path: Path, fitted: LinearMap) -> None:
    """Write a map as JSON."""
    values = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(fitted).items()}
    with writing(path):
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def load_map(path: Path) -> LinearMap:
    """Read a map that `save_map` wrote."""
    try:
        values = json.loads(path.read_text(encoding="utf-8-sig"))
        fingers = tuple(values["fingers"])
        matrix, shift_m = np.array(values["matrix"], dtype=float), np.array(values["shift_m"], dtype=float)
        if matrix.shape != (len(fingers), 3, 3) or shift_m.shape != (len(fingers), 3):
            raise ValueError(f"matrix {matrix.shape} and shift {shift_m.shape} do not fit {len(fingers)} fingers")
        if not np.isfinite(matrix).all() or not np.isfinite(shift_m).all():
            raise ValueError("numbers of its matrix or shift are not finite")
        return LinearMap(**{**values, "fingers": fingers, "matrix": matrix, "shift_m": shift_m})
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise BadFile(path, f"not a map that 'thenar retarget fit' wrote: {error}") from None


def _fit(x: FloatArray, y: FloatArray, kind: MapKind, *, shift: bool) -> tuple[FloatArray, FloatArray, float]:
    """Least squares of y on x: matrix, shift and condition."""
    x_mean, y_mean = (x.mean(axis=0), y.mean(axis=0)) if shift else (np.zeros(3), np.zeros(3))
    x, y = x - x_mean, y - y_mean
    spread = np.linalg.svd(x / np.sqrt(len(x)), compute_uv=False)
    condition = float(spread[0] / max(spread[-1], 1e-12))
    if kind == "scalar":
        S = np.eye(3) * float(np.sum(x * y) / np.sum(x * x))
    elif kind == "diagonal":
        S = np.diag(np.sum(x * y, axis=0) / np.maximum(np.sum(x * x, axis=0), 1e-12))
    else:
        S = np.linalg.lstsq(x, y, rcond=None)[0].T
    S = np.asarray(S, dtype=np.float64)
    return S, y_mean - S @ x_mean, condition
