"""The task of holding a marble at 1 N in numbers, for whoever trains it (`thenar.batch.mjlab`) and whoever plays it."""

from __future__ import annotations

from thenar.sim.props import Sphere

TASK = "Thenar-Hold-Inspire"
HAND = "inspire_right"
WANTED_N = 1.0
STEP_S, RELEASE_S, EPISODE_S = 0.04, 1.2, 2.4
MARBLE = Sphere(name="marble", radius_m=0.011, mass_kg=0.02, pos_m=(0.0335, 0.043, 0.058))
POSTURE = {"index": 0.49, "thumb_bend": 0.42, "thumb_rotation": 1.0}
"""Shares of strokes at which motors begin: just beside the marble."""
SIDES = ("index", "thumb")
"""What the names of pads that count begin with."""
MOVED = ("index", "thumb_bend")
"""Motors that an action moves."""
STROKE_PER_STEP, LEASH = 0.01, 0.06
"""How much of its stroke an action of 1 moves a target, and how far a target may lead its motor."""
HISTORY = 3
"""Steps that a policy sees."""
