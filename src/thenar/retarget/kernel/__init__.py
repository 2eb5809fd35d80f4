"""The compiled solver: targets, bounds, distances and the quadratic program of one frame."""
