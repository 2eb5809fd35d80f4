"""The running twin: who feeds whom."""
