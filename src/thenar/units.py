"""Conversions between the units of hand makers and SI."""

GRAM_FORCE_N = 9.80665e-3
"""Newtons in one gram-force: hand makers state finger forces in grams."""

MM_M = 1e-3
"""Metres in one millimetre."""
