"""Faults on demand: of a world's motors, taxels and power, of a twin's messages, at once or by the clock."""
