"""A glove recording as arrays, and the repairs that every recording needs.

Nothing here knows a file format. Shapes use n = frames, k = nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thenar.signals import FINGER_INDEX, FloatArray, GloveFrame, GloveLayout, GloveSide


@dataclass(frozen=True, kw_only=True, eq=False)
class GloveLog:
    """A whole recording, in palm axes (see `GloveFrame`)."""

    stamp_s: FloatArray
    """Time of each frame, strictly growing [s]. Shape (n,)."""
    side: GloveSide
    layout: GloveLayout
    position_m: FloatArray
    """Nodes from the root node [m]. Shape (n, k, 3)."""
    quat_wxyz: FloatArray
    """Orientation of each node. Shape (n, k, 4)."""
    notes: tuple[str, ...] = ()
    """What was repaired on the way in, in words."""

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.stamp_s)

    def __getitem__(self, index: int) -> GloveFrame:
        """One frame."""
        return GloveFrame(
            stamp_s=float(self.stamp_s[index]),
            side=self.side,
            layout=self.layout,
            position_m=self.position_m[index],
            quat_wxyz=self.quat_wxyz[index],
        )

    def __iter__(self) -> Iterator[GloveFrame]:
        """Frame by frame."""
        return (self[index] for index in range(len(self)))

    @property
    def finger_m(self) -> FloatArray:
        """The nodes common to all layouts [m]. Shape (n, 21, 3)."""
        return self.position_m[:, FINGER_INDEX[self.layout]]


def repair_clock(stamp_s: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    """Stamps that grow from frame to frame, and what to say about it.

    A step back is taken as one of usual length: computers set their clocks while they record, and the hand goes on
    moving meanwhile. Frames with one stamp came one after the other until the next: they share the time between.
    """
    steps_s = np.diff(stamp_s)
    usual_s = float(np.median(steps_s[steps_s > 0.0])) if np.any(steps_s > 0.0) else 1.0 / 60.0
    notes = ()
    back = np.flatnonzero(steps_s < 0.0)
    if len(back):
        rows = ", ".join(str(row + 2) for row in back[:5]) + (", ..." if len(back) > 5 else "")
        notes += (f"the clock stepped back at frame {rows} ({-steps_s[back].sum():.3f} s in all): mended",)
        steps_s[back] = usual_s
    # Where a stamp is new, counting from the first frame; a run of frames ends where the next begins.
    starts = np.flatnonzero(np.concatenate([[True], steps_s > 0.0]))
    if len(starts) < len(stamp_s):
        ends = np.append(starts[1:], len(stamp_s))
        run_s = np.append(steps_s[starts[1:] - 1], usual_s)
        steps_s = np.repeat(run_s / (ends - starts), ends - starts)[:-1]
        notes += (f"{len(stamp_s) - len(starts)} frames have the stamp of the one before: spread evenly",)
    return np.concatenate([stamp_s[:1], stamp_s[0] + np.cumsum(steps_s)]) if notes else stamp_s, notes


def without_duplicates(
    stamp_s: FloatArray, position_m: FloatArray, quat_wxyz: FloatArray
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Which frames to keep: one equal to the one before it in every number, and hardly later, was sent twice.

    A hand that is held still sends equal frames too, at the usual pace: they are what happened.

    Returns:
        A mask over the frames, and what to say about it.
    """
    steps_s = np.diff(stamp_s)
    usual_s = float(np.median(steps_s[steps_s > 0.0])) if np.any(steps_s > 0.0) else 0.0
    same = np.all(position_m[1:] == position_m[:-1], axis=(1, 2)) & np.all(quat_wxyz[1:] == quat_wxyz[:-1], axis=(1, 2))
    twice = same & (np.abs(steps_s) < 0.5 * usual_s)
    dropped = int(np.count_nonzero(twice))
    return np.concatenate([[True], ~twice]), (f"{dropped} frames sent twice: left out",) if dropped else ()
