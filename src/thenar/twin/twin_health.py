"""How a running twin is doing, as values: published for ``thenar inspect``, shown by ``thenar serve`` and the page."""

from __future__ import annotations

from dataclasses import dataclass

from thenar.wire.links.link_health import LinkHealth


@dataclass(frozen=True, kw_only=True)
class HandHealth:
    """Who commands a hand."""

    requests: int
    sender: str
    """Of the newest request: the last writer wins."""
    age_s: float
    """Since then; infinite before the first."""
    recent_senders: tuple[str, ...]
    """Everybody who commanded it within the last second: more than one are at odds."""


@dataclass(frozen=True, kw_only=True)
class RecordingHealth:
    """How a recording is getting on."""

    path: str
    seconds: float
    messages: int
    payload_bytes: int
    lost: int
    """Messages that were not written."""
    failed: str
    """Why nothing more is written; empty while it works."""


@dataclass(frozen=True, kw_only=True)
class Health:
    """How a running twin is doing."""

    time_s: float
    """Of the twin's clock."""
    wall_s: float
    """Since the start."""
    real_time_factor: float
    """Of the pace that was asked for."""
    pace: float
    """1 is real time, less is slow motion, 0 is a pause."""
    ticks: int
    late_ticks: int
    """That began more than 5 ms late."""
    worst_late_s: float
    skipped_s: float
    """Time that was let go because the loop was too far behind."""
    state_hz: tuple[float, float]
    """Asked and achieved."""
    touch_hz: tuple[float, float]
    """Asked and achieved."""
    command_latency_s: tuple[float, float]
    """From a command's arrival to the motors seeing it: median and 99 %."""
    hands: dict[str, HandHealth]
    links: tuple[LinkHealth, ...]
    active_link: str
    """The wire whose requests act; empty: everybody's do, and the last one wins."""
    ignored: dict[str, int]
    """Requests that were received and did nothing, by the wire they came from."""
    disconnected: tuple[str, ...]
    """Wires that are disconnected, as a fault."""
    refused: dict[str, int]
    """Requests the world did not accept, by reason."""
    resets: int
    """How often clients have put objects or everything back."""
    diverged: tuple[str, ...]
    """What was said each time the simulation had to be put back, or a reading of the skin left out."""
    warnings: tuple[str, ...]
    """What users should know of, in words: others that publish our topics."""
    failed: tuple[str, ...]
    """Parts that have ended or stumbled, though the twin runs, in words."""
    standing: tuple[str, ...]
    """Stages (physics, touch, links) that have been at the same thing for more than a second, in words."""
    recording: RecordingHealth | None = None
    """The recording that is being made."""
