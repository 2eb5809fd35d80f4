"""Hands on a serial line, as pseudo-terminals that the makers' own programs open."""
