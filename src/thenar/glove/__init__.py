"""Logs and live gloves into `GloveFrame`s, and a parametric person who makes recordings."""
