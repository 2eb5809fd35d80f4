"""Contacts into pressure on every taxel, and pressure into what the sensor would say."""

from pathlib import Path

from thenar.compiled import drop_stale

drop_stale(Path(__file__).parent)
