"""Links over which the registers of the Inspire hands are read and written."""
