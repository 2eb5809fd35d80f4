"""Bodies as plain data, and the two models built from them."""
