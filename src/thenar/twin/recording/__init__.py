"""A world on record: written down, done again, and compared."""
