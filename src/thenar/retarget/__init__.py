"""A person's hand and a robot hand's spec into commands that the robot hand can follow."""

from pathlib import Path

from thenar.compiled import drop_stale

drop_stale(Path(__file__).parent)
