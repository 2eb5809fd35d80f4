"""Units and meaning of every field on the wire. A field without words stops the build."""

INSPIRE_WORDS = {
    "pos_set": "0 open to 2000 closed; -1 ends a motion",
    "angle_set": "0 closed to 1000 open; -1 ends a motion",
    "force_set": "grams at which the finger stops, 0 to 3000",
    "speed_set": "0 to 1000; 1000 is the full stroke in 0.6 s",
    "mode": "bits: 1 angle, 2 position, 4 force, 8 speed; groups without their bit are ignored",
    "pos_act": "0 open to 2000 closed",
    "angle_act": "0 closed to 1000 open",
    "force_act": "grams",
    "current": "milliamperes",
    "err": "bits: 1 stall, 2 over-temperature, 4 over-current, 8 motor, 16 communication",
    "status": "0 releasing, 1 grasping, 2 at position, 3 at force, 5 current protection, 6 stall, 7 fault",
    "temperature": "degrees Celsius",
}

_UNREAD = "carried, without effect"
DFX_WORDS = {
    "mode": _UNREAD,
    "q": "1 open to 0 closed",
    "dq": "of a state: the driven joint's velocity, rad/s, as in Unitree's simulator; not read",
    "tau_est": "the driven joint's torque, N m, as in Unitree's simulator",
    **dict.fromkeys(("tau", "kp", "kd", "reserve", "ddq", "q_raw", "dq_raw", "ddq_raw"), _UNREAD),
    "temperature": _UNREAD,
    "lost": "readings missed in a row by a hand that is not there",
}

DEX3_WORDS = {
    "mode": "bits 0 to 3 the motor's number, 4 to 6 lock (0) or drive (1), 7 let go after 1 s without a command",
    "q": "rad; of a state never exactly 0, which xr_teleoperate takes for a hand that has not reported",
    "dq": "rad/s",
    "tau": "N m, added to `kp (q - angle) + kd (dq - velocity)`",
    "kp": "N m/rad",
    "kd": "N m s/rad",
    "tau_est": "N m",
    "temperature": "room temperature: the hand's motors are not heated here",
    **dict.fromkeys(("reserve", "ddq", "vol", "sensor", "motorstate"), _UNREAD),
}
PRESS_WORDS = {
    "pressure": "30000 without an element, 100000 at rest, and 40 a gram from 10 to 2500 g, which is assumed",
    "temperature": "degrees Celsius",
    **dict.fromkeys(("lost", "reserve"), _UNREAD),
}
BRAINCO_WORDS = {
    "q": "0 open to 1 closed",
    "dq": "of a command the speed, 0 to 1; of a state the motor's own, by its top speed",
    "tau_est": "A, in proportion to the torque: 1 A at full effort, which is assumed",
    **dict.fromkeys(("mode", "tau", "kp", "kd", "reserve", "ddq", "q_raw", "dq_raw", "ddq_raw"), _UNREAD),
    **dict.fromkeys(("temperature", "lost"), _UNREAD),
}

MODBUS_WORDS = {
    "HAND_ID": "the hand's id on RS-485; without effect on TCP",
    "REDU_RATIO": "kept; a pseudo-terminal has no baud rate",
    "CLEAR_ERROR": "write 1",
    "SAVE": "write 1: saved registers outlive a restart (`--modbus.flash FOLDER`)",
    "RESET_PARA": "write 1: saved registers as from the factory",
    "GESTURE_FORCE_CLB": "write 1: the force sensors find their zero, which takes 10 s",
    "CURRENT_LIMIT": "milliamperes",
    "DEFAULT_SPEED_SET": "speed at power-on, 0 to 1000",
    "DEFAULT_FORCE_SET": "force limit at power-on, grams",
    "POS_SET": "0 open to 2000 closed; -1 (65535) ends a motion",
    "ANGLE_SET": "0 closed to 1000 open; -1 (65535) ends a motion",
    "FORCE_SET": "grams",
    "SPEED_SET": "0 to 1000; 1000 is the full stroke in 0.6 s",
    "POS_ACT": "0 open to 2000 closed",
    "ANGLE_ACT": "0 closed to 1000 open",
    "FORCE_ACT": "grams, -4000 to 4000",
    "CURRENT": "milliamperes",
    "ERROR": "bits: 1 stall, 2 over-temperature, 4 over-current, 8 motor, 16 communication",
    "STATUS": "0 releasing, 1 grasping, 2 at position, 3 at force, 5 current protection, 6 stall, 7 fault",
    "TEMP": "degrees Celsius",
    "IP_PART": "kept; the twin listens where `thenar serve` says",
    "ACTION_SEQ_CHECKDATA1": "0x90 in a whole action sequence",
    "ACTION_SEQ_CHECKDATA2": "0xEB in a whole action sequence",
    "ACTION_SEQ_STEPNUM": "steps of the action sequence, 1 to 8",
    "ACTION_SEQ_STEP": "8 steps of 19: six angles, six speeds, six force limits, milliseconds to wait",
    "ACTION_SEQ_INDEX": "which action sequence stands in the registers above",
    "SAVE_ACTION_SEQ": "write 1: keep it",
    "ACTION_SEQ_RUN": "write 1: play it; 1 until it is over",
    "TOUCH": "counts of all taxels, in the order of the touch message",
}

_OPEN = "1 open to 0 closed"
TIENKUNG_WORDS = {
    "set_angle_flexible": f"{_OPEN}; any fingers, by name",
    "set_angle": _OPEN,
    "set_force": "1 is 1000 g",
    "set_speed": "1 is the full stroke in 0.8 s",
    "set_clear_error": "clears what can be cleared",
    "get_angle_act": _OPEN,
    "get_force_act": "1 is 1000 g",
    "get_error": "bits as over Modbus",
    "get_status": "codes as over Modbus",
}

REFLEX_WORDS = {
    "hand_state": "angles in rad; pressure in counts above its offset; load, voltage, temperature of the motors",
    "command": "rad and rad/s, finger 1 to 3 and preshape",
    "command_position": "rad",
    "command_velocity": "rad/s",
    "command_motor_force": "load at which a motor stops",
    "raw_hand_command": "counts of the motors",
    "radian_hand_command": "rad of the motors",
    "calibrate_fingers": "fingers find their zero",
    "calibrate_tactile": "pressures find their offset",
    "zero_pose": "the present pose becomes zero",
    "disable_torque": "motors let go",
    "enable_tactile_stops": "a finger that touches stops",
    "disable_tactile_stops": "it does not",
    "set_speed": "rad/s of each motor",
    "set_tactile_threshold": "counts at which a cell is in contact",
}

AURORA_WORDS = {
    "aurora_state": "states of the whole and the upper body, source of velocities",
    "robot_stand_pose_state": "stand pose, and whether the robot stands still",
    "robot_control_group_state": "position, velocity and effort of every group and hand",
    "robot_cartesian_state": "pose, twist and wrench of both hands from the base",
    "robot_motor_cfg_group_state": "gains and mode of every group",
    "base_data_pub": "attitude and motion of the base",
    "true_data_pub": "what only the simulator knows",
    "contact_data_pub": "estimated forces on the feet",
    "whole_body_fsm_state_change_cmd": "asks for a state of the whole body",
    "upper_body_fsm_state_change_cmd": "asks for a state of the upper body",
    "velocity_cmd": "velocities and for how long they hold",
    "robot_stand_pose_cmd": "height, pitch and yaw of the stand",
    "velocity_source_cmd": "whose velocities count",
    "robot_control_group_cmd": "positions for groups and hands",
    "robot_motor_cfg_group_cmd": "gains and modes for groups",
    "move_command_data": "a move by joints, to a pose or along a line",
}
