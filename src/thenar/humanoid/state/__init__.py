"""RobotData: the state of a robot in one struct, computed by Pinocchio."""
