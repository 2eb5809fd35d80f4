"""Hands as URDF, SDF and MJCF files."""
