"""Pictures of a robot's cameras, as its maker's clients take them."""
