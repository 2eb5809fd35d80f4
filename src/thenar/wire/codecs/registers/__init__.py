"""The registers of the Inspire hands, and the frames in which their transports carry them. Pure functions."""
