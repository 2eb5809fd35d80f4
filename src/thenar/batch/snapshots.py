# type: ignore  # Warp compiles these functions: what they mean is not what a type checker reads

"""Saved states of many worlds, each world at a time of its own, to restore some or all of them."""

from typing import Any

import warp as wp

from thenar.batch.motors import Pending


@wp.kernel(enable_backward=False)
def copy_rows(mask: wp.array[bool], source: wp.array2d[wp.uint32], out: wp.array2d[wp.uint32]):
    """Rows of some worlds, whatever they hold."""
    world, k = wp.tid()
    if mask[world]:
        out[world, k] = source[world, k]


@wp.kernel(enable_backward=False)
def note_step(mask: wp.array[bool], step: wp.array[int], at: wp.array[int]):
    """When worlds were kept."""
    world = wp.tid()
    if mask[world]:
        at[world] = step[0]


@wp.kernel(enable_backward=False)
def shift_commands(mask: wp.array[bool], step: wp.array[int], at: wp.array[int], pending: wp.array3d[Pending]):
    """Commands that were under way arrive as much later as the world is taken up again."""
    world, n, slot = wp.tid()
    if mask[world]:
        pending[world, n, slot].due_step = pending[world, n, slot].due_step + step[0] - at[world]


class Snapshot:
    """Copies of arrays that have a row per world."""

    def __init__(self, arrays: list[Any], pending: Any, step: Any):
        """Nothing is kept yet.

        Args:
            arrays: All that a world is, a row each; ``pending`` is one of them.
            pending: Commands under way, due at steps of the clock.
            step: The clock.
        """
        self._arrays, self._pending, self._step = [_as_words(array) for array in arrays if array.size], pending, step
        self._kept = [wp.clone(words) for words in self._arrays]
        self._at = wp.zeros(pending.shape[0], dtype=int, device=pending.device)

    def save(self, mask: Any) -> None:
        """Keep what some worlds are like now. Warp's, shape (worlds,)."""
        for words, kept in zip(self._arrays, self._kept, strict=True):
            self._launch(copy_rows, words.shape, [mask, words, kept])
        self._launch(note_step, self._at.shape, [mask, self._step, self._at])

    def restore(self, mask: Any) -> None:
        """Let some worlds be again what was kept of them."""
        for words, kept in zip(self._arrays, self._kept, strict=True):
            self._launch(copy_rows, words.shape, [mask, kept, words])
        self._launch(shift_commands, self._pending.shape, [mask, self._step, self._at, self._pending])

    def _launch(self, kernel: Any, dim: Any, inputs: list[Any]) -> None:
        wp.launch(kernel, dim=dim, inputs=inputs, device=self._pending.device)


def _as_words(array: Any) -> Any:
    """An array as rows of 32-bit words, the same memory."""
    shape = (array.shape[0], array.strides[0] // 4)
    return wp.array(ptr=array.ptr, dtype=wp.uint32, shape=shape, device=array.device, copy=False)
