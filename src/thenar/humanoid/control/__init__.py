"""The robot's control loop: state machine, command board, contact estimate, balance, joystick."""
