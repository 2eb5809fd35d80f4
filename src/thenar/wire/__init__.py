"""Signals into vendor messages and back: codecs are pure, links move bytes."""
