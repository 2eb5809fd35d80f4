"""The hands: one file each, plain data with sources."""
