"""Logs and live gloves into `GloveFrame`s, and a parametric person who makes recordings."""

from pathlib import Path

from thenar.compiled import drop_stale

drop_stale(Path(__file__).parent)
