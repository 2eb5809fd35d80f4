"""Calibration of real skins: press recordings in, sensor parameters with intervals out."""
