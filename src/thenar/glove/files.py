"""Glove recordings on disk: the 21-node CSV log and the 25-node Manus archive, read and written.

A file that is not what it should be raises `BadFile` with the row and what was expected there. A CSV row is counted
as an editor counts lines, the header being row 1; a frame of an archive is counted from 0 as numpy does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np

from thenar.arrays import read_npz
from thenar.errors import BadFile, BadValue, writing
from thenar.glove import quaternions
from thenar.glove.log import GloveLog, repair_clock, without_duplicates
from thenar.glove.palm import check_bones, detect_side, palm_axes
from thenar.signals import FINGER_INDEX, FloatArray, GloveLayout, GloveSide

NODES = 21
COLUMNS = (
    "timestamp",
    *(f"p{node}_{axis}" for node in range(NODES) for axis in "xyz"),
    *(f"o{node}_{axis}" for node in range(NODES) for axis in "xyzw"),
)
CHAINS = tuple(range(first, first + 4) for first in (1, 5, 9, 13, 17))
MAX_HAND_M = 0.4
MAX_QUATERNION_ERROR = 0.05
FIRST_ROW: dict[GloveLayout, int] = {"nodes21": 2, "manus25": 0}  # of the first frame
USUAL_HZ = 115.0  # of a Manus glove, for archives without stamps
MAX_STEP_S = 1.0  # in the median: slower is not seconds

RawLog: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, GloveSide | None]
"""Stamps, positions and orientations as they stand in a file, and the side where it names one."""


@np.errstate(over="ignore", invalid="ignore")  # numbers that are none are refused, without a complaint on stderr
def read_log(path: Path, *, side: GloveSide | None = None) -> GloveLog:
    """A recording in either format, its clock mended, frames sent twice left out, and turned into palm axes.

    Args:
        path: A ``.csv`` log of 21 nodes, or a ``.npz`` archive of 25.
        side: Which hand it is; None finds out.
    """
    if not path.is_file():
        raise BadFile(path, "no such file")
    if path.suffix not in (".csv", ".npz"):
        raise BadFile(
            path, f"a glove log ends in .csv (21 nodes) or .npz (25 nodes), not in {path.suffix or 'nothing'}"
        )
    layout: GloveLayout = "nodes21" if path.suffix == ".csv" else "manus25"
    stamp_s, position_m, quat_wxyz, said = (_read_csv if layout == "nodes21" else _read_npz)(path)
    whole = np.isfinite(position_m).all(axis=(1, 2)) & np.isfinite(quat_wxyz).all(axis=(1, 2)) & np.isfinite(stamp_s)
    notes: tuple[str, ...] = ()
    if not whole.all():
        lost, first = int(np.count_nonzero(~whole)), int(np.argmin(whole)) + FIRST_ROW[layout]
        if 2 * lost > len(whole):
            raise BadFile(path, f"{lost} of {len(whole)} frames have numbers missing, the first in row {first}")
        notes += (f"{lost} frames have numbers missing, the first in row {first}: lost frames, left out",)
        stamp_s, position_m, quat_wxyz = stamp_s[whole], position_m[whole], quat_wxyz[whole]
    _check_seconds(path, stamp_s)
    rows = np.flatnonzero(whole) + FIRST_ROW[layout]
    position_m = position_m - position_m[:, :1]
    reach_m = np.linalg.norm(position_m, axis=2).max(axis=1)
    if np.any(reach_m > MAX_HAND_M):
        far = int(np.argmax(reach_m > MAX_HAND_M))
        raise BadFile(
            path, f"row {rows[far]}: a node is {reach_m[far]:.3g} m from the wrist; expected metres, below 0.4"
        )
    finger_m = np.take(position_m, FINGER_INDEX[layout], axis=1)
    wrong = {n: why for n, frame in enumerate(finger_m) if (why := _why_no_hand(frame))}
    if wrong:
        first, why = next(iter(wrong.items()))
        if 2 * len(wrong) > len(position_m):
            raise BadFile(path, f"row {rows[first]}: {why}")
        notes += (f"{len(wrong)} frames are of no hand, the first in row {rows[first]} ({why}): left out",)
        hand = np.array([n not in wrong for n in range(len(position_m))])
        stamp_s, position_m, quat_wxyz, finger_m = stamp_s[hand], position_m[hand], quat_wxyz[hand], finger_m[hand]
    seen = detect_side(finger_m)
    if side is None and said is not None and seen not in (None, said):
        raise BadFile(path, f"says it is a {said} hand, but the fingers bend as those of a {seen} one: give --side")
    side = side or said or seen
    if side is None:
        side, notes = "right", (*notes, "the fingers hardly bend, so the side was not found: taken as right")
    elif seen not in (None, side):
        notes += (f"the fingers bend as those of a {seen} hand; taken as {side}, as you said",)
    R = palm_axes(finger_m, side)
    position_m = np.einsum("nji,nkj->nki", R, position_m)
    quat_wxyz = quaternions.product(quaternions.from_matrices(np.swapaxes(R, 1, 2))[:, None], quat_wxyz)
    keep, duplicate_notes = without_duplicates(stamp_s, position_m, quat_wxyz)
    stamp_s, clock_notes = repair_clock(stamp_s[keep])
    return GloveLog(
        stamp_s=stamp_s,
        side=side,
        layout=layout,
        position_m=position_m[keep],
        quat_wxyz=quat_wxyz[keep],
        notes=(*notes, *duplicate_notes, *clock_notes),
    )


def write_log(path: Path, log: GloveLog) -> None:
    """Write a recording: 21 nodes relative to their parents (.csv), or 25 in the axes of the wrist (.npz)."""
    ending = ".csv" if log.layout == "nodes21" else ".npz"
    if path.suffix != ending:
        raise BadFile(path, f"a recording of the layout {log.layout} is written as {ending}")
    if ending == ".npz":
        data = np.concatenate([log.position_m, log.quat_wxyz], axis=2).astype(np.float32)
        names = {"chirality": log.side.upper(), "quaternion_order": "wxyz"}
        with writing(path):
            np.savez_compressed(path, allow_pickle=False, data=data, timestamps=log.stamp_s, **names)
        return
    relative_m, relative_wxyz = _relative(log.position_m, log.quat_wxyz)
    xyzw = np.roll(relative_wxyz, -1, axis=2)
    table = np.concatenate([log.stamp_s[:, None], relative_m.reshape(len(log), -1), xyzw.reshape(len(log), -1)], axis=1)
    lines = [",".join(COLUMNS)]
    lines += [f"{row[0]:.6f}," + ",".join(f"{value:.5f}" for value in row[1:]) for row in table]
    with writing(path):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _read_csv(path: Path) -> RawLog:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        header, first = file.readline().strip(), file.readline().strip()
    if not header:
        raise BadFile(path, f"row 1: empty; expected the {len(COLUMNS)} columns timestamp, p0_x ... o20_w")
    names = [name.strip() for name in header.split(",")]
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise BadFile(
            path,
            f"row 1: {len(missing)} of {len(COLUMNS)} columns are missing ({', '.join(missing[:4])}"
            f"{', ...' if len(missing) > 4 else ''}); expected timestamp, p0_x ... p20_z, o0_x ... o20_w",
        )
    if not first:
        raise BadFile(path, "row 2: the file ends; expected at least one frame")
    try:
        table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2, usecols=[names.index(name) for name in COLUMNS])
    except ValueError:
        raise BadFile(path, _first_bad_row(path, names)) from None
    relative_m = table[:, 1 : 1 + 3 * NODES].reshape(-1, NODES, 3)
    xyzw = table[:, 1 + 3 * NODES :].reshape(-1, NODES, 4)
    relative_wxyz = _normalised(path, np.roll(xyzw, 1, axis=2), first_row=2)
    return table[:, 0], *_absolute(relative_m, relative_wxyz), None


def _read_npz(path: Path) -> RawLog:
    held = read_npz(path)
    if "data" not in held:
        raise BadFile(path, f"no array named data; it has: {', '.join(held) or 'nothing'}")
    try:
        data = held["data"].astype(np.float64)
        stamp_s = held.get("timestamps", np.arange(len(np.atleast_1d(data))) / USUAL_HZ).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise BadFile(path, f"data and timestamps must be numbers: {error}") from None
    if data.ndim != 3 or data.shape[1:] != (25, 7):
        raise BadFile(path, f"data has the shape {data.shape}; expected (frames, 25, 7): xyz and quaternion per node")
    if not len(data):
        raise BadFile(path, "data is empty; expected at least one frame")
    if stamp_s.shape != (len(data),):
        raise BadFile(path, f"timestamps has the shape {stamp_s.shape}; expected ({len(data)},), one for each frame")
    quat = data[:, :, 3:]
    if str(held.get("quaternion_order", "wxyz")) == "xyzw":
        quat = np.roll(quat, 1, axis=2)
    sides: dict[str, GloveSide] = {"left": "left", "right": "right"}
    side = sides.get(str(held.get("chirality", "")).lower())
    return stamp_s, data[:, :, :3], _normalised(path, quat, first_row=0), side


def _why_no_hand(finger_m: FloatArray) -> str:
    """Why a frame would be refused live, whichever hand it is; empty where it would not be. Shape (21, 3)."""
    try:
        check_bones(finger_m)
    except BadValue as error:
        return str(error)
    return ""


def _absolute(relative_m: FloatArray, relative_wxyz: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Parent-relative nodes laid end to end. A finger starts from identity: the root only says where the glove is."""
    position_m, quat_wxyz = np.zeros_like(relative_m), relative_wxyz.copy()
    quat_wxyz[:, 0] = (1.0, 0.0, 0.0, 0.0)
    for chain in CHAINS:
        parent = 0
        for node in chain:
            R = quaternions.matrices(quat_wxyz[:, parent])
            position_m[:, node] = position_m[:, parent] + np.einsum("nij,nj->ni", R, relative_m[:, node])
            quat_wxyz[:, node] = quaternions.product(quat_wxyz[:, parent], relative_wxyz[:, node])
            parent = node
    return position_m, quat_wxyz


def _relative(position_m: FloatArray, quat_wxyz: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The reverse of `_absolute`."""
    relative_m, relative_wxyz = np.zeros_like(position_m), quat_wxyz.copy()
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (len(quat_wxyz), 1))
    for chain in CHAINS:
        parent_m, parent_wxyz = position_m[:, 0], upright
        for node in chain:
            offset_m = position_m[:, node] - parent_m
            relative_m[:, node] = np.einsum("nji,nj->ni", quaternions.matrices(parent_wxyz), offset_m)
            relative_wxyz[:, node] = quaternions.product(parent_wxyz * [1.0, -1.0, -1.0, -1.0], quat_wxyz[:, node])
            parent_m, parent_wxyz = position_m[:, node], quat_wxyz[:, node]
    return relative_m, relative_wxyz


def _normalised(path: Path, quat_wxyz: FloatArray, *, first_row: int) -> FloatArray:
    length = np.linalg.norm(quat_wxyz, axis=2)
    bad = np.argwhere(np.abs(length - 1.0) > MAX_QUATERNION_ERROR)
    if len(bad):
        row, node = bad[0]
        raise BadFile(
            path,
            f"row {row + first_row}: the quaternion of node {node} has length {length[row, node]:.4g}; "
            f"expected 1 within {MAX_QUATERNION_ERROR}",
        )
    return quat_wxyz / length[:, :, None]


def _check_seconds(path: Path, stamp_s: FloatArray) -> None:
    """Refuse stamps that are milliseconds or nanoseconds: taken as seconds they would lift every speed limit."""
    steps = np.diff(stamp_s)
    step = float(np.median(steps[steps > 0.0])) if np.any(steps > 0.0) else 0.0
    if step > MAX_STEP_S:
        unit = "milliseconds" if step < 1e3 else "microseconds" if step < 1e6 else "nanoseconds"
        raise BadFile(path, f"frames are {step:.4g} s apart; expected stamps in seconds: these look like {unit}")


def _first_bad_row(path: Path, names: list[str]) -> str:
    """Say which row of a CSV file cannot be read."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for row, line in enumerate(file, start=1):
            cells = line.strip().split(",")
            if row == 1 or not line.strip():
                continue
            if len(cells) != len(names):
                return f"row {row}: {len(cells)} values; expected {len(names)}, as many as the header has"
            for name, cell in zip(names, cells, strict=True):
                try:
                    float(cell)
                except ValueError:
                    return f"row {row}: {name} is {cell!r}; expected a number"
    return "not a table of numbers"
