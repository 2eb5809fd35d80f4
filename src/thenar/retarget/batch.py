"""Whole recordings at once, on all cores.

A recording is cut into chunks that are followed side by side. Every chunk but the first begins a little early, so that
it has caught up with the hand by the time it counts. Where it has not, it is followed again from the end of the chunk
before until both agree: the answer is that of one pass from beginning to end, to a billionth of a radian.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from thenar.retarget.config import RetargetConfig
from thenar.retarget.model.hand_model import HandModel
from thenar.retarget.retargeter import MAX_STEP_S, MIN_STEP_S, USUAL_STEP_S
from thenar.retarget.solver import Solver
from thenar.signals import FloatArray

if TYPE_CHECKING:
    from thenar.retarget.fit import LinearMap

MIN_CHUNK_FRAMES, CHUNKS_PER_CORE = 4000, 4
EARLY_FRAMES = 300
STITCH_FRAMES = 200
SAME_RAD = 1e-9


def time_steps(stamp_s: FloatArray) -> FloatArray:
    """Time of each frame from the one before [s]; a gap in the recording counts as a tenth of a second."""
    steps_s = np.diff(stamp_s, prepend=stamp_s[:1])
    steps_s[0] = np.median(steps_s[1:]) if len(steps_s) > 1 else USUAL_STEP_S
    return np.clip(steps_s, MIN_STEP_S, MAX_STEP_S)


def retarget_recording(
    model: HandModel,
    nodes: FloatArray,
    step_s: FloatArray,
    config: RetargetConfig | None = None,
    *,
    linear_map: LinearMap | None = None,
    workers: int | None = None,
    progress: Callable[[int], None] = lambda frames: None,
) -> FloatArray:
    """Follow a recording from beginning to end.

    Args:
        model: The hand.
        nodes: Frames as the hand's own side has them (see `aligned_nodes`) [m]. Shape (n, 21, 3).
        step_s: Time from the frame before [s]. Shape (n,).
        config: How to follow.
        linear_map: A fitted map, or None for segment directions.
        workers: Number of threads; None takes all cores.
        progress: Is called now and then with the number of frames done since.

    Returns:
        Variables of the hand [rad]. Shape (n, v).
    """
    nodes = np.ascontiguousarray(nodes, dtype=np.float64)
    out = np.empty((len(nodes), len(model.variables)))
    workers = workers or os.cpu_count() or 1
    chunks = 1 if workers == 1 else min(CHUNKS_PER_CORE * workers, max(1, len(nodes) // MIN_CHUNK_FRAMES))
    edges = np.linspace(0, len(nodes), chunks + 1).astype(int).tolist()

    def follow(solver: Solver, start: int, stop: int, into: FloatArray) -> None:
        solver.follow(nodes[start:stop], step_s[start:stop], into)

    def follow_chunk(start: int, stop: int) -> tuple[Solver, FloatArray]:
        """One chunk: its solver, and the angles it started from."""
        solver, early = Solver(model, config, linear_map), max(0, start - EARLY_FRAMES)
        solver.settle(nodes[early])
        follow(solver, early, start, np.empty((start - early, out.shape[1])))
        started_rad = solver.angle_rad.copy()
        follow(solver, start, stop, out[start:stop])
        progress(stop - start)
        return solver, started_rad

    with ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(follow_chunk, edges[:-1], edges[1:]))
    before = done[0][0]
    for (solver, started_rad), start, stop in zip(done[1:], edges[1:-1], edges[2:], strict=True):
        apart_rad = np.max(np.abs(started_rad - before.angle_rad))
        while apart_rad > SAME_RAD and start < stop:
            end = min(stop, start + STITCH_FRAMES)
            again = np.empty((end - start, out.shape[1]))
            follow(before, start, end, again)
            apart_rad = np.max(np.abs(again[-1] - out[end - 1]))
            out[start:end] = again
            start = end
        # Where both agree before the end, the chunk's own state goes on.
        if apart_rad <= SAME_RAD:
            before = solver
    return out
