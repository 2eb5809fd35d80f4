"""Recordings at one rate: every frame has what was newest then, as data sets for learning want it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray, IntArray
from thenar.errors import BadFile, BadValue
from thenar.recordings.recording import Episode, Recording
from thenar.recordings.ros_messages import ROBOT
from thenar.signals import PadLayout


@dataclass(frozen=True, kw_only=True, eq=False)
class Frames:
    """One episode at a fixed rate. Rows of all arrays belong to ``time_s``."""

    task: str
    fps: int
    time_s: FloatArray
    """Times of the recording [s]. Shape (T,)."""
    state_names: tuple[str, ...]
    """Motors of all hands as ``hand.motor``, in the order of the columns of state and action."""
    state_rad: NDArray[np.float32]
    """Angles of the motors [rad]."""
    action_rad: NDArray[np.float32]
    """Where they were sent: the newest target of each [rad]."""
    force_n: NDArray[np.float32]
    """What the motors' force sensors read [N]."""
    tactile: dict[str, NDArray[np.float32]]
    """Pressure of every taxel by hand [Pa], for hands that have skin. Shape (T, taxels)."""
    tactile_names: dict[str, tuple[str, ...]]
    """Taxels as ``pad.row.column``, by hand."""
    counts: dict[str, IntArray]
    """What every taxel's sensor reads, by hand [counts]. Shape (T, taxels)."""
    pad_force_n: dict[str, NDArray[np.float32]]
    """Normal force on each pad by hand [N]."""
    robot_names: tuple[str, ...] = ()
    """Joints of the robot that holds the hands."""
    robot_rad: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """Their angles [rad]."""
    robot_target_rad: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """Where they were sent [rad]."""


def episodes_of(recording: Recording, *, task: str = "") -> list[Episode]:
    """The episodes of a recording; all of it as one where none was named.

    Args:
        recording: What was recorded.
        task: What is done in it, where the recording does not say.
    """
    if recording.episodes and not task:
        return recording.episodes
    stamps = [recording.motors(hand).stamp_s for hand in recording.hands]
    start_s, end_s = max(stamp[0] for stamp in stamps), min(stamp[-1] for stamp in stamps)
    return [Episode(task=task or "unnamed", start_s=float(start_s), end_s=float(end_s), success=None)]


def resample(recording: Recording, episode: Episode, *, fps: int) -> Frames:
    """One episode at a fixed rate: every value is the newest that had been read by then."""
    if not (isinstance(fps, int) and 0 < fps <= 1000):
        raise BadValue("fps", fps, "frames a second, a whole number from 1 to 1000")
    motors = {hand: recording.motors(hand) for hand in recording.hands}
    skins = {hand: recording.touch(hand) for hand in recording.hands if recording.has_touch(hand)}
    begin_s = max([episode.start_s, *(columns.stamp_s[0] for columns in (*motors.values(), *skins.values()))])
    count = int(np.floor((episode.end_s - begin_s) * fps + 1e-6))
    if count < 1:
        raise BadValue("episode", episode.task, f"one that lasts at least a frame at {fps} a second")
    time_s = begin_s + np.arange(count) / fps

    def newest(stamp_s: FloatArray) -> IntArray:
        return np.maximum(np.searchsorted(stamp_s, time_s + 1e-9, side="right") - 1, 0)

    def joined(name: str) -> NDArray[np.float32]:
        parts = [getattr(columns, name)[newest(columns.stamp_s)] for columns in motors.values()]
        return np.concatenate(parts, axis=1).astype(np.float32)

    robot = {}
    if recording.has_robot:
        joints, sent = recording.joints(ROBOT), recording.commands(ROBOT)
        robot = {"robot_names": joints.names, "robot_rad": joints.position_rad[newest(joints.stamp_s)]}
        robot["robot_target_rad"] = sent.position_rad[newest(sent.stamp_s)]
    return Frames(
        **robot,
        task=episode.task,
        fps=fps,
        time_s=time_s,
        state_names=tuple(f"{hand}.{motor}" for hand, columns in motors.items() for motor in columns.names),
        state_rad=joined("angle_rad"),
        action_rad=joined("target_rad"),
        force_n=joined("force_n"),
        tactile={hand: skin.taxel_pressure_pa[newest(skin.stamp_s)] for hand, skin in skins.items()},
        tactile_names={hand: taxel_names(skin.layout) for hand, skin in skins.items()},
        counts={hand: skin.taxel_counts[newest(skin.stamp_s)] for hand, skin in skins.items()},
        pad_force_n={hand: skin.pad_force_n[newest(skin.stamp_s)].astype(np.float32) for hand, skin in skins.items()},
    )


def check_known(columns: Mapping[str, NDArray[Any]]) -> None:
    """Refuse what is not known in some frames, such as targets before the first command."""
    wrong = [name for name, column in columns.items() if not np.isfinite(column).all()]
    if wrong:
        raise BadValue(wrong[0], "not a number in some frames", "numbers: a data set has no place for what is unknown")


def check_new(folder: Path) -> None:
    """Refuse a folder that a data set cannot be written into."""
    if folder.is_file() or (folder.exists() and any(folder.iterdir())):
        what = "a file" if folder.is_file() else "not empty"
        raise BadFile(folder, f"{what}; a data set goes into a new folder")


def taxel_names(layout: Sequence[PadLayout]) -> tuple[str, ...]:
    """Names of taxels, pad after pad, as ``pad.row.column``."""
    return tuple(f"{pad.name}.{row}.{col}" for pad in layout for row in range(pad.rows) for col in range(pad.cols))
