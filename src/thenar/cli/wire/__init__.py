"""Verbs that talk to a hand over a wire: a twin or a real one."""
