"""Tasks that come with thenar, by the names a configuration uses."""
