"""Verbs that run a twin until they are stopped."""
