"""Contact mechanics: from contact forces to pressure and shear on every taxel. Arrays in, arrays out; compiled."""
