"""A glove recording as arrays, and the repairs that every recording needs.

Nothing here knows a file format. Shapes use n = frames, k = nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thenar.signals import FINGER_NODES, FloatArray, GloveFrame, GloveLayout, GloveSide


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
        return self.position_m[:, list(FINGER_NODES[self.layout])]


def repair_clock(stamp_s: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    """Stamps that grow from frame to frame: a step that does not is taken as one of usual length.

    Computers set their clocks while they record; the hand goes on moving meanwhile.
    """
    steps_s = np.diff(stamp_s)
    back = np.flatnonzero(steps_s <= 0.0)
    if not len(back):
        return stamp_s, ()
    usual_s = float(np.median(steps_s[steps_s > 0.0])) if np.any(steps_s > 0.0) else 1.0 / 60.0
    lost_s = float(-steps_s[back].sum())
    steps_s[back] = usual_s
    repaired = stamp_s[0] + np.concatenate([[0.0], np.cumsum(steps_s)])
    rows = ", ".join(str(row + 2) for row in back[:5]) + (", ..." if len(back) > 5 else "")
    return repaired, (f"the clock stood still or stepped back at frame {rows} ({lost_s:.3f} s in all): mended",)


def without_duplicates(position_m: FloatArray, quat_wxyz: FloatArray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Which frames to keep: a frame equal to the one before it in every number was sent twice.

    Returns:
        A mask over the frames, and what to say about it.
    """
    same = np.all(position_m[1:] == position_m[:-1], axis=(1, 2)) & np.all(quat_wxyz[1:] == quat_wxyz[:-1], axis=(1, 2))
    keep = np.concatenate([[True], ~same])
    dropped = int(np.count_nonzero(same))
    return keep, (f"{dropped} frames sent twice: left out",) if dropped else ()
