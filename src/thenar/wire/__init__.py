"""Signals into the messages of hand makers, and back: `codecs` are pure, `links` serve, `clients` call."""
