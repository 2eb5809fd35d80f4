"""Codecs: signals to vendors' bytes and back. Pure functions, one file per protocol."""
