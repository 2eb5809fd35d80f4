"""Verbs that describe what is installed."""
