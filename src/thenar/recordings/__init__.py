"""Recordings: signals into files that other programs can open."""
