"""Whole recordings at once, on all cores.

A recording is cut into pieces that are followed side by side. Every piece but the first begins a little early, so that
it has caught up with the hand by the time it counts. Where it has not, it is followed again from the end of the piece
before until both agree: the answer is that of one pass from beginning to end, to a billionth of a radian.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from thenar.retarget.config import RetargetConfig
from thenar.retarget.kernel.solve import solve_frames
from thenar.retarget.model.hand_model import HandModel
from thenar.retarget.model.records import WORK
from thenar.retarget.retargeter import LONGEST_STEP_S, direction_targets, settled_state, tuning_record
from thenar.signals import FloatArray

SHORTEST_PIECE = 4000
PIECES_PER_CORE = 4
EARLY_FRAMES = 300
STITCH_FRAMES = 200
SAME_RAD = 1e-9


def time_steps(stamp_s: FloatArray) -> FloatArray:
    """Time of each frame from the one before [s]; a gap in the recording counts as a tenth of a second."""
    steps_s = np.diff(stamp_s, prepend=stamp_s[:1])
    steps_s[0] = np.median(steps_s[1:]) if len(steps_s) > 1 else 1 / 60
    return np.clip(steps_s, 1e-4, LONGEST_STEP_S)


def follow_recording(
    model: HandModel,
    nodes: FloatArray,
    step_s: FloatArray,
    config: RetargetConfig | None = None,
    *,
    targets: NDArray[np.void] | None = None,
    workers: int | None = None,
    progress: Callable[[int], None] = lambda frames: None,
) -> FloatArray:
    """Follow a recording from beginning to end.

    Args:
        model: The hand.
        nodes: Frames as the hand's own side has them (see `aligned_nodes`) [m]. Shape (n, 21, 3).
        step_s: Time from the frame before [s]. Shape (n,).
        config: How to follow.
        targets: A fitted linear map, or None for segment directions.
        workers: Number of threads; None takes all cores.
        progress: Told now and then how many more frames are done.

    Returns:
        Variables of the hand [rad]. Shape (n, v).
    """
    tuning = tuning_record((config or RetargetConfig()).tuning())
    targets = direction_targets() if targets is None else targets
    nodes = np.ascontiguousarray(nodes, dtype=np.float64)
    out = np.empty((len(nodes), len(model.variables)))
    workers = workers or os.cpu_count() or 1
    pieces = 1 if workers == 1 else min(PIECES_PER_CORE * workers, max(1, len(nodes) // SHORTEST_PIECE))
    edges = np.linspace(0, len(nodes), pieces + 1).astype(int)

    def follow(state: NDArray[np.void], start: int, stop: int, into: FloatArray) -> None:
        for first in range(start, stop, 2000):
            last = min(stop, first + 2000)
            part = into[first - start : last - start]
            solve_frames(
                model.record, tuning, targets, state, np.zeros(1, WORK), nodes[first:last], step_s[first:last], part
            )

    def follow_piece(piece: int) -> tuple[FloatArray, NDArray[np.void]]:
        """One piece: the angles it came in with, and the state it left."""
        start, stop = int(edges[piece]), int(edges[piece + 1])
        early = max(0, start - EARLY_FRAMES) if piece else 0
        state = settled_state(model, tuning, targets, nodes[early])
        follow(state, early, start, np.empty((start - early, out.shape[1])))
        came_in = state["angle_rad"][0].copy()
        follow(state, start, stop, out[start:stop])
        progress(stop - start)
        return came_in, state

    with ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(follow_piece, range(pieces)))
    before = done[0][1]
    for piece in range(1, pieces):
        came_in, state = done[piece]
        start, stop = int(edges[piece]), int(edges[piece + 1])
        apart_rad = np.max(np.abs(came_in - before["angle_rad"][0]))
        while apart_rad > SAME_RAD and start < stop:
            end = min(stop, start + STITCH_FRAMES)
            again = np.empty((end - start, out.shape[1]))
            follow(before, start, end, again)
            apart_rad = np.max(np.abs(again[-1] - out[end - 1]))
            out[start:end] = again
            start = end
        # Where both agree before the end, the piece's own state goes on.
        before = state if start < stop or apart_rad <= SAME_RAD else before
    return out
