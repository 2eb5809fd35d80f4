"""Verbs that read and write files: recordings, calibrations, models."""
