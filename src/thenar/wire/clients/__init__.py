"""Clients: what talks to a twin or to a real hand."""
