"""Links of Unitree's robots and of the hands on them."""
