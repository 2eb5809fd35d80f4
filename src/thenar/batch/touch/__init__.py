"""Touch of many worlds on one device: contacts of MuJoCo Warp in, pressure and shear on every taxel out."""
