"""The types of the topics as another DDS library (cyclonedds) has them: an oracle for bytes, names and identifiers."""

# Without the usual `from __future__ import annotations`: the DDS library looks at the annotations themselves.
from dataclasses import dataclass
from typing import Any

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import autoid, final
from cyclonedds.idl.types import array, float32, float64, int8, int16, int32, sequence, uint8, uint16, uint32

Six = sequence[int16, 6]
SixBytes = sequence[uint8, 6]
Nine = sequence[int16, 9]
Eighty = sequence[int16, 80]
NinetySix = sequence[int16, 96]


@dataclass
@final
@autoid("sequential")
class InspireCtrl(IdlStruct, typename="inspire.inspire_hand_ctrl"):
    """``rt/inspire_hand/ctrl/{l,r}``."""

    pos_set: Six
    angle_set: Six
    force_set: Six
    speed_set: Six
    mode: int8


@dataclass
@final
@autoid("sequential")
class InspireState(IdlStruct, typename="inspire.inspire_hand_state"):
    """``rt/inspire_hand/state/{l,r}``."""

    pos_act: Six
    angle_act: Six
    force_act: Six
    current: Six
    err: SixBytes
    status: SixBytes
    temperature: SixBytes


@dataclass
@final
@autoid("sequential")
class InspireTouch(IdlStruct, typename="inspire.inspire_hand_touch"):
    """``rt/inspire_hand/touch/{l,r}``."""

    fingerone_tip_touch: Nine
    fingerone_top_touch: NinetySix
    fingerone_palm_touch: Eighty
    fingertwo_tip_touch: Nine
    fingertwo_top_touch: NinetySix
    fingertwo_palm_touch: Eighty
    fingerthree_tip_touch: Nine
    fingerthree_top_touch: NinetySix
    fingerthree_palm_touch: Eighty
    fingerfour_tip_touch: Nine
    fingerfour_top_touch: NinetySix
    fingerfour_palm_touch: Eighty
    fingerfive_tip_touch: Nine
    fingerfive_top_touch: NinetySix
    fingerfive_middle_touch: Nine
    fingerfive_palm_touch: NinetySix
    palm_touch: sequence[int16, 112]


@dataclass
@final
@autoid("sequential")
class MotorCmd(IdlStruct, typename="unitree_go.msg.dds_.MotorCmd_"):
    """One motor of ``rt/inspire/cmd``."""

    mode: uint8
    q: float32
    dq: float32
    tau: float32
    kp: float32
    kd: float32
    reserve: array[uint32, 3]


@dataclass
@final
@autoid("sequential")
class MotorCmds(IdlStruct, typename="unitree_go.msg.dds_.MotorCmds_"):
    """``rt/inspire/cmd``."""

    cmds: sequence[MotorCmd]


@dataclass
@final
@autoid("sequential")
class MotorState(IdlStruct, typename="unitree_go.msg.dds_.MotorState_"):
    """One motor of ``rt/inspire/state``."""

    mode: uint8
    q: float32
    dq: float32
    ddq: float32
    tau_est: float32
    q_raw: float32
    dq_raw: float32
    ddq_raw: float32
    temperature: uint8
    lost: uint32
    reserve: array[uint32, 2]


@dataclass
@final
@autoid("sequential")
class MotorStates(IdlStruct, typename="unitree_go.msg.dds_.MotorStates_"):
    """``rt/inspire/state``."""

    states: sequence[MotorState]


@dataclass
@final
@autoid("sequential")
class Time(IdlStruct, typename="builtin_interfaces.msg.dds_.Time_"):
    """A time of ROS 2."""

    sec: int32
    nanosec: uint32


@dataclass
@final
@autoid("sequential")
class Header(IdlStruct, typename="std_msgs.msg.dds_.Header_"):
    """A header of ROS 2."""

    stamp: Time
    frame_id: str


@dataclass
@final
@autoid("sequential")
class JointState(IdlStruct, typename="sensor_msgs.msg.dds_.JointState_"):
    """``rt/inspire_hand/{state,ctrl}/{left,right}_hand``."""

    header: Header
    name: sequence[str]
    position: sequence[float64]
    velocity: sequence[float64]
    effort: sequence[float64]


@dataclass
@final
@autoid("sequential")
class ReflexFinger(IdlStruct, typename="reflex_msgs.msg.dds_.Finger_"):
    """One finger of ``rt/reflex_takktile/hand_state``."""

    proximal: float32
    distal_approx: float32
    contact: array[bool, 9]
    pressure: array[float32, 9]


@dataclass
@final
@autoid("sequential")
class ReflexMotor(IdlStruct, typename="reflex_msgs.msg.dds_.Motor_"):
    """One motor of ``rt/reflex_takktile/hand_state``."""

    joint_angle: float64
    raw_angle: float64
    velocity: float64
    load: float64
    voltage: float64
    temperature: int32
    error_state: str


@dataclass
@final
@autoid("sequential")
class ReflexHand(IdlStruct, typename="reflex_msgs.msg.dds_.Hand_"):
    """``rt/reflex_takktile/hand_state``."""

    finger: array[ReflexFinger, 3]
    motor: array[ReflexMotor, 4]


@dataclass
@final
@autoid("sequential")
class ReflexPoseCommand(IdlStruct, typename="reflex_msgs.msg.dds_.PoseCommand_"):
    """``rt/reflex_takktile/command_position``."""

    f1: float64
    f2: float64
    f3: float64
    preshape: float64


@dataclass
@final
@autoid("sequential")
class ReflexVelocityCommand(IdlStruct, typename="reflex_msgs.msg.dds_.VelocityCommand_"):
    """``rt/reflex_takktile/command_velocity``."""

    f1: float64
    f2: float64
    f3: float64
    preshape: float64


@dataclass
@final
@autoid("sequential")
class ReflexForceCommand(IdlStruct, typename="reflex_msgs.msg.dds_.ForceCommand_"):
    """``rt/reflex_takktile/command_motor_force``."""

    f1: float64
    f2: float64
    f3: float64
    preshape: float64


@dataclass
@final
@autoid("sequential")
class ReflexCommand(IdlStruct, typename="reflex_msgs.msg.dds_.Command_"):
    """``rt/reflex_takktile/command``."""

    pose: ReflexPoseCommand
    velocity: ReflexVelocityCommand


@dataclass
@final
@autoid("sequential")
class ReflexRawCommand(IdlStruct, typename="reflex_msgs.msg.dds_.RawServoCommands_"):
    """``rt/reflex_takktile/raw_hand_command``."""

    raw_positions: array[uint16, 4]


@dataclass
@final
@autoid("sequential")
class ReflexRadianCommand(IdlStruct, typename="reflex_msgs.msg.dds_.RadianServoCommands_"):
    """``rt/reflex_takktile/radian_hand_command``."""

    radian_commands: array[float32, 4]


REFLEX_COMMANDS = {
    "command": ReflexCommand,
    "command_position": ReflexPoseCommand,
    "command_velocity": ReflexVelocityCommand,
    "command_motor_force": ReflexForceCommand,
    "raw_hand_command": ReflexRawCommand,
    "radian_hand_command": ReflexRadianCommand,
}
"""Types of the topics that move a ReFlex hand."""


def type_id(kind: Any) -> str:
    """Complete XTypes identifier of a type, in hex."""
    kind.__idl__.populate()
    return kind.__idl__.get_type_id().serialize()[4:].hex()


@dataclass
@final
@autoid("sequential")
class TwinStatus(IdlStruct, typename="thenar.TwinStatus"):
    """``thenar/status``: how a twin is doing, as JSON."""

    json: str
