"""Sparing updates of a browser: only when they are due, and only what has changed."""

from __future__ import annotations

import time

import viser


class Throttle:
    """True at most once per period."""

    def __init__(self, period_s: float):
        """The first call is due."""
        self._period_s, self._next_s = period_s, 0.0

    def __call__(self) -> bool:
        """Whether an update is due now; if so, the next period begins."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return False
        self._next_s = now_s + self._period_s
        return True


def set_html(handle: viser.GuiHtmlHandle, content: str) -> None:
    """Send HTML when it differs from what is shown."""
    if handle.content != content:
        handle.content = content
