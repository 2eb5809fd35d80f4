"""Verbs that simulate something, print it and draw it."""
