"""Pages and tables that say how well something went: presses, calibrations, retargeting."""
