"""A humanoid with hands that runs in real time."""
