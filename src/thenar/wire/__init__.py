"""Signals into the messages of hand makers, and back: `codec_*` are pure, `link_*` move bytes."""
