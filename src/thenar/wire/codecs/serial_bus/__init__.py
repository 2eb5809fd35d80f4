"""Protocols of hands on a serial line other than Inspire's: registers and packets as bytes."""
