"""The motors: commands into torques, and into what each motor would report.

Functions over arrays with a leading batch axis: shapes use b = hands in the batch, n = motors. One motor
is one record of `MOTOR_STATE`, described by one record of `MOTOR_PARAMS`. Two kinds share the code:

* a *lead screw* (Inspire) moves a screw at the commanded speed; the finger hangs on the screw through a spring
  that stiffens, and only that spring's force reaches the joint. The screw cannot be driven backwards.
* a *servo* (all others) moves a set-point at the commanded speed and pulls the joint towards it with a
  limited torque. Some take the law of that torque from the command (`take_law`), as Unitree's motors do.

Order within a step: commands that are due, set-point, protection, status, current, temperature, torque.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numba as nb
import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.hands.spec import Actuator, LeadScrew
from thenar.signals import MotorError, MotorStatus, TorqueLaw

RecordArray = NDArray[Any]  # of one of the dtypes below
Record: TypeAlias = Any  # one element of such an array: numba gives it attributes, type checkers do not

STOP = math.inf
"""A target that ends a motion where it is."""

PENDING_COMMANDS = 96
"""Commands a motor can have under way: 66 ms of latency at more than 1 kHz."""

ROOM_TEMPERATURE_C = 25.0
POSITION_TOLERANCE = 1e-6  # of the screw, [rad]: the profile ends on the target itself
STALL_SPEED = 0.02  # slower than this fraction of the commanded speed counts as standing still
STALL_S = 0.5  # for this long [s], then it is a stall; no public figure
LAW_SPEED = 0.01  # a law is met this close to a speed, as a fraction of the top speed: closer needs endless damping
OVERLOAD = 1.5  # a linkage pushed beyond this multiple of what its motor can do gives way; no public figure

MOTOR_PARAMS = np.dtype(
    [
        ("is_screw", np.bool_),
        ("pulls_only", np.bool_),  # servo on a cord
        ("takes_law", np.bool_),  # servo whose gains come with a command
        ("closing", np.float64),  # +1 if closing increases the angle, else -1
        ("lower_rad", np.float64),
        ("upper_rad", np.float64),
        ("stroke_rad", np.float64),
        ("top_speed_rad_s", np.float64),
        ("acceleration_rad_s2", np.float64),
        ("spring_n", np.float64),  # screw: force per stroke
        ("spring_cubic_n", np.float64),
        ("stiffness_nm_rad", np.float64),  # servo
        ("damping_nms_rad", np.float64),
        ("torque_per_n", np.float64),  # torque at the joint per newton of the spring
        ("loaded_offset_n", np.float64),  # screw: what the sensor adds to a load
        ("force_max_n", np.float64),
        ("stall_n", np.float64),
        ("stall_over_limit", np.float64),
        ("reaction_s", np.float64),
        ("idle_a", np.float64),
        ("drive_a", np.float64),
        ("amps_per_n", np.float64),
        ("heating_c_per_a2", np.float64),
        ("cooling_s", np.float64),
        ("trip_c", np.float64),
        ("recover_c", np.float64),
        ("zeroing_s", np.float64),
    ]
)
"""What a motor is."""

# Of a lead screw, the parameters that have the same name in its spec.
_SCREW_FIELDS = [name for name in MOTOR_PARAMS.names or () if name in LeadScrew.__dataclass_fields__]

MOTOR_STATE = np.dtype(
    [
        ("target_rad", np.float64),
        ("speed_rad_s", np.float64),
        ("limit_n", np.float64),
        ("current_limit_a", np.float64),
        ("screw_rad", np.float64),  # screw position, or set-point of a servo
        ("screw_rad_s", np.float64),
        ("nut_rad", np.float64),  # what the screw carries along: behind it by the play, where there is any
        ("backlash_rad", np.float64),
        ("strength", np.float64),  # of its drive: 1 for a healthy motor
        ("force_n", np.float64),  # positive while closing pushes on something
        ("zero_n", np.float64),  # what its sensor takes for no force
        ("reported_n", np.float64),  # what its sensor makes of it all
        ("zeroing_s", np.float64),  # how long it still looks for that
        ("torque_nm", np.float64),
        ("stiffness_nm_rad", np.float64),  # of a servo that takes a law, as are the next three
        ("damping_nms_rad", np.float64),
        ("feed_nm", np.float64),  # torque that the law asks for at the set-point and at rest
        ("angle_rad", np.float64),  # of the joint a step ago
        ("over_s", np.float64),  # how long the force has been over the limit
        ("still_s", np.float64),  # how long it has been driven without moving
        ("current_a", np.float64),
        ("temperature_c", np.float64),
        ("force_stopped", np.bool_),
        ("jammed", np.bool_),  # injected: the screw cannot turn
        ("status", np.int64),
        ("error", np.int64),
        ("pending_first", np.int64),
        ("pending_count", np.int64),
    ]
)
"""What a motor is doing."""

TENDON_JOINTS = 6
"""Joints a tendon may run over: a knuckle and a flexure."""

DRIVE = np.dtype(
    [
        ("qpos", np.int64, TENDON_JOINTS),
        ("dof", np.int64, TENDON_JOINTS),
        ("weight", np.float64, TENDON_JOINTS),  # 0 where there are fewer
        ("ctrl", np.int64),
        ("tendon", np.int64),  # -1: the motor turns a joint
        ("own_damping_nms_rad", np.float64),  # of the joint or tendon, without the motor
    ]
)
"""Which joints a motor moves (one, or several through a tendon) and which control it writes."""

PENDING_COMMAND = np.dtype(
    [("due_s", np.float64), ("target_rad", np.float64), ("speed_rad_s", np.float64), ("limit_n", np.float64)]
)
"""A command on its way to the motor."""

_STALL, _HOT, _OVER_CURRENT = (
    int(MotorError.STALL),
    int(MotorError.OVER_TEMPERATURE),
    int(MotorError.OVER_CURRENT),
)
_MOTOR, _COMMUNICATION = int(MotorError.MOTOR), int(MotorError.COMMUNICATION)
_RELEASING, _GRASPING = int(MotorStatus.RELEASING), int(MotorStatus.GRASPING)
_AT_POSITION, _AT_FORCE = int(MotorStatus.POSITION_REACHED), int(MotorStatus.FORCE_REACHED)
_PROTECTED, _STALLED = int(MotorStatus.CURRENT_PROTECTION), int(MotorStatus.STALLED)
_FAULT = int(MotorStatus.FAULT)


def motor_params(actuators: Sequence[Actuator]) -> RecordArray:
    """Records of `MOTOR_PARAMS` for these actuators. Shape (n,)."""
    params = np.zeros(len(actuators), dtype=MOTOR_PARAMS)
    for record, actuator in zip(params, actuators, strict=True):
        motor = actuator.motor
        record["closing"] = 1.0 if actuator.closed_rad >= actuator.open_rad else -1.0
        record["lower_rad"], record["upper_rad"] = actuator.lower_rad, actuator.upper_rad
        record["stroke_rad"] = actuator.stroke_rad
        record["top_speed_rad_s"] = actuator.top_speed_rad_s
        record["damping_nms_rad"] = motor.damping_nms_rad
        record["is_screw"] = isinstance(motor, LeadScrew)
        if isinstance(motor, LeadScrew):
            record["acceleration_rad_s2"] = actuator.top_speed_rad_s / motor.stop_s
            record["spring_n"], record["spring_cubic_n"] = motor.stiffness_n, motor.stiffening_n
            record["torque_per_n"] = motor.lever_m * motor.newton_per_reported
            for name in _SCREW_FIELDS:
                record[name] = getattr(motor, name)
        else:
            record["acceleration_rad_s2"] = math.inf
            record["stiffness_nm_rad"] = motor.stiffness_nm_rad
            record["pulls_only"], record["takes_law"] = motor.pulls_only, motor.takes_law
            record["torque_per_n"] = motor.lever_m
            record["force_max_n"] = motor.effort_nm / motor.lever_m
    return params


def motor_state(actuators: Sequence[Actuator], *, batch: int = 1) -> tuple[RecordArray, RecordArray]:
    """Motors at rest with the hand open and nothing under way.

    Returns:
        Records of `MOTOR_STATE`, shape (b, n), and of `PENDING_COMMAND`, shape (b, n, PENDING_COMMANDS).
    """
    state = np.zeros((batch, len(actuators)), dtype=MOTOR_STATE)
    for n, actuator in enumerate(actuators):
        motor, record = actuator.motor, state[:, n]
        for name in ("target_rad", "screw_rad", "nut_rad", "angle_rad"):
            record[name] = actuator.open_rad
        record["strength"] = 1.0
        record["status"] = MotorStatus.POSITION_REACHED
        record["temperature_c"] = ROOM_TEMPERATURE_C if isinstance(motor, LeadScrew) else math.nan
        if isinstance(motor, LeadScrew):
            record["speed_rad_s"] = actuator.top_speed_rad_s
            record["limit_n"] = motor.default_force_n
            record["current_limit_a"] = motor.current_limit_a
            record["current_a"] = motor.idle_a
            record["zero_n"] = motor.force_zero_n
            record["backlash_rad"] = motor.backlash * actuator.stroke_rad
        else:
            record["speed_rad_s"] = motor.default_speed_rad_s or motor.top_speed_rad_s
            record["limit_n"] = motor.effort_nm / motor.lever_m
            record["stiffness_nm_rad"], record["damping_nms_rad"] = motor.stiffness_nm_rad, motor.damping_nms_rad
            record["current_a"] = math.nan
    return state, np.zeros((batch, len(actuators), PENDING_COMMANDS), dtype=PENDING_COMMAND)


@nb.njit(cache=True)
def push_command(
    state: RecordArray,
    pending: RecordArray,
    target_rad: FloatArray,
    speed_rad_s: FloatArray,
    limit_n: FloatArray,
    due_s: FloatArray,
) -> None:
    """Send a command on its way, in place: each motor has it at its ``due_s``. Command arrays have shape (b, n).

    A later command never overtakes an earlier one. When a motor's line is full the newest command replaces the
    last one in it.
    """
    for b in range(state.shape[0]):
        for n in range(state.shape[1]):
            m = state[b, n]
            full = m.pending_count == PENDING_COMMANDS
            count = PENDING_COMMANDS - 1 if full else m.pending_count
            last = (m.pending_first + count - 1) % PENDING_COMMANDS
            due = due_s[b, n] if count == 0 else max(due_s[b, n], pending[b, n, last].due_s)
            slot = (m.pending_first + count) % PENDING_COMMANDS
            entry = pending[b, n, slot]
            entry.due_s = due
            # A replaced command passes on what the new one leaves as it is.
            if not (full and math.isnan(target_rad[b, n])):
                entry.target_rad = target_rad[b, n]
            if not (full and math.isnan(speed_rad_s[b, n])):
                entry.speed_rad_s = speed_rad_s[b, n]
            if not (full and math.isnan(limit_n[b, n])):
                entry.limit_n = limit_n[b, n]
            m.pending_count = count + 1


@nb.njit(cache=True)
def step_motors(
    params: RecordArray,
    state: RecordArray,
    pending: RecordArray,
    angle_rad: FloatArray,
    now_s: float,
    dt_s: float,
    torque_nm: FloatArray,
    damping_nms_rad: FloatArray,
) -> None:
    """One step of every motor; ``state`` and the last two arrays are written over.

    The spring and damper between motor and joint are stiff, so they are given to the engine in linearly implicit
    form: the torque at the end of the step is ``torque + stiffness * dt * (screw velocity - joint velocity)``,
    whose second part is a damper. The engine integrates damping implicitly, so any stiffness is stable.

    Args:
        params: What the motors are. Shape (n,).
        state: What they do. Shape (b, n).
        pending: Commands under way. Shape (b, n, PENDING_COMMANDS).
        angle_rad: Angle of each driven joint or tendon [rad]. Shape (b, n).
        now_s: Time at the start of the step [s].
        dt_s: Length of the step [s].
        torque_nm: Gets the torque on each driven joint or tendon [N m]. Shape (b, n).
        damping_nms_rad: Gets the damping with which the engine must integrate it [N m s/rad]. Shape (b, n).
    """
    for b in range(state.shape[0]):
        for n in range(state.shape[1]):
            p, m = params[n], state[b, n]
            _take_due_commands(p, m, pending[b, n], now_s)
            driving = _drive_screw(p, m, dt_s)
            if p.takes_law:
                torque_nm[b, n], damping_nms_rad[b, n] = _follow_law(p, m, angle_rad[b, n], driving, dt_s)
                continue
            play_rad = 0.5 * m.backlash_rad
            m.nut_rad = min(max(m.nut_rad, m.screw_rad - play_rad), m.screw_rad + play_rad)
            ahead_rad = m.nut_rad - angle_rad[b, n]
            m.force_n = _force(p, ahead_rad)
            damping = p.damping_nms_rad + _stiffness(p, ahead_rad, m.force_n) * dt_s
            if p.is_screw:
                _find_zero(m, dt_s)
                load_n = m.force_n - m.zero_n
                m.reported_n = load_n + min(max(load_n, -p.loaded_offset_n), p.loaded_offset_n)
                _protect(p, m, driving, dt_s)
                _warm_up(p, m, driving, dt_s)
            else:
                if _limit_servo(p, m, driving):
                    damping = 0.0
                m.reported_n = m.force_n
            m.torque_nm = p.closing * p.torque_per_n * m.force_n
            torque_nm[b, n] = m.torque_nm + damping * m.screw_rad_s
            damping_nms_rad[b, n] = damping


@nb.njit(cache=True)
def _take_due_commands(p: Record, m: Record, line: RecordArray, now_s: float) -> None:
    """Commands that have arrived become the motor's own. NaN leaves what there is, a target of `STOP` ends a motion."""
    while m.pending_count > 0 and line["due_s"][m.pending_first] <= now_s:
        command: Record = line[m.pending_first]
        if not math.isnan(command.speed_rad_s):
            m.speed_rad_s = min(command.speed_rad_s, p.top_speed_rad_s)
        if not math.isnan(command.limit_n):
            m.limit_n = min(command.limit_n, p.force_max_n)
        if command.target_rad == STOP:
            if not m.force_stopped:
                brake_rad = m.screw_rad_s * abs(m.screw_rad_s) / (2.0 * p.acceleration_rad_s2)
                m.target_rad = min(max(m.screw_rad + brake_rad, p.lower_rad), p.upper_rad)
        elif not math.isnan(command.target_rad):
            m.target_rad = min(max(command.target_rad, p.lower_rad), p.upper_rad)
            m.stiffness_nm_rad, m.damping_nms_rad, m.feed_nm = p.stiffness_nm_rad, p.damping_nms_rad, 0.0
            # A new target restarts a motor that stopped on force, if it opens or if the force is below the limit
            # now; a new limit alone does not. So a client that repeats its target cannot ratchet the force up.
            opens = (m.target_rad - m.screw_rad) * p.closing < 0.0
            if opens or m.reported_n < m.limit_n:
                m.force_stopped = False
        m.pending_first = (m.pending_first + 1) % PENDING_COMMANDS
        m.pending_count -= 1


@nb.njit(cache=True)
def _drive_screw(p: Record, m: Record, dt_s: float) -> bool:
    """Move the screw (or the set-point) towards the target; True while it is driven."""
    to_go = m.target_rad - m.screw_rad
    driving = m.error == 0 and not m.force_stopped and abs(to_go) > POSITION_TOLERANCE and m.speed_rad_s > 0.0
    wanted = 0.0
    if driving:
        # Fast enough to arrive, slow enough to stop there.
        wanted = min(m.speed_rad_s, abs(to_go) / dt_s)
        if p.acceleration_rad_s2 < np.inf:
            wanted = min(wanted, math.sqrt(2.0 * p.acceleration_rad_s2 * abs(to_go)))
        if p.is_screw:
            wanted *= _droop(p, m)
        wanted = math.copysign(wanted, to_go)
    if m.jammed:
        m.screw_rad_s = 0.0
        return driving
    change = p.acceleration_rad_s2 * dt_s
    m.screw_rad_s = min(max(wanted, m.screw_rad_s - change), m.screw_rad_s + change)
    m.screw_rad += m.screw_rad_s * dt_s
    if driving and (m.target_rad - m.screw_rad) * to_go <= 0.0:  # arrived within this step
        m.screw_rad = m.target_rad
        m.screw_rad_s = 0.0
    return driving


@nb.njit(cache=True)
def _droop(p: Record, m: Record) -> float:
    """What load leaves of the speed: a straight line from 1 at no load to 0 at stall, as of a DC motor."""
    return min(max(1.0 - _opposing_n(p, m) / _stall_n(p, m), 0.0), 1.0)


@nb.njit(cache=True)
def _opposing_n(p: Record, m: Record) -> float:
    """The part of the force that works against the way to the target [N]."""
    return m.force_n * p.closing * math.copysign(1.0, m.target_rad - m.screw_rad)


@nb.njit(cache=True)
def _stall_n(p: Record, m: Record) -> float:
    """Force at which the motor stops by itself [N]: the drive is always given more than the force limit."""
    return m.strength * max(p.stall_n, p.stall_over_limit * m.limit_n)


@nb.njit(cache=True)
def _force(p: Record, ahead_rad: float) -> float:
    """Force passed on to the finger, positive when it closes [N]; ``ahead_rad`` is the screw before the joint."""
    if p.is_screw:
        x = p.closing * ahead_rad / p.stroke_rad
        most_n = OVERLOAD * max(p.stall_n, p.force_max_n)
        return min(max(p.spring_n * x + p.spring_cubic_n * x * x * x, -most_n), most_n)
    return p.closing * p.stiffness_nm_rad * ahead_rad / p.torque_per_n


@nb.njit(cache=True)
def _stiffness(p: Record, ahead_rad: float, force_n: float) -> float:
    """Change of the torque with the angle ahead [N m/rad]."""
    if p.is_screw:
        if abs(force_n) >= OVERLOAD * max(p.stall_n, p.force_max_n):
            return 0.0
        x = ahead_rad / p.stroke_rad
        return (p.spring_n + 3.0 * p.spring_cubic_n * x * x) * p.torque_per_n / p.stroke_rad
    return p.stiffness_nm_rad


@nb.njit(cache=True)
def _find_zero(m: Record, dt_s: float) -> None:
    """Take the force of now for zero, at the end of the time that takes."""
    if m.zeroing_s > 0.0:
        m.zeroing_s -= dt_s
        if m.zeroing_s <= 0.0:
            m.zeroing_s = 0.0
            m.zero_n = m.force_n


@nb.njit(cache=True)
def _protect(p: Record, m: Record, driving: bool, dt_s: float) -> None:
    """Force stop, stall and current protection, and the status that tells of them."""
    direction = math.copysign(1.0, m.target_rad - m.screw_rad)
    grasping = direction * p.closing > 0.0
    if driving and grasping and m.reported_n >= m.limit_n:
        m.over_s += dt_s
        if m.over_s > p.reaction_s:
            m.force_stopped = True
    elif driving:
        m.over_s = 0.0
    if driving and not m.force_stopped and abs(m.screw_rad_s) < STALL_SPEED * m.speed_rad_s:
        m.still_s += dt_s
        if m.still_s > STALL_S:
            m.error |= _STALL
    else:
        m.still_s = 0.0
    if m.current_a > m.current_limit_a:
        m.error |= _OVER_CURRENT
    if m.error & (_MOTOR | _COMMUNICATION | _HOT):
        m.status = _FAULT
    elif m.error & _OVER_CURRENT:
        m.status = _PROTECTED
    elif m.error & _STALL:
        m.status = _STALLED
    elif m.force_stopped:
        m.status = _AT_FORCE
    elif abs(m.target_rad - m.screw_rad) <= POSITION_TOLERANCE or (m.speed_rad_s <= 0.0 and m.screw_rad_s == 0.0):
        m.status = _AT_POSITION  # or told to stand still: there is no other code for a motor that stands and is well
    else:
        m.status = _GRASPING if grasping else _RELEASING


@nb.njit(cache=True)
def _limit_servo(p: Record, m: Record, driving: bool) -> bool:
    """Clip a servo's force at its limit and say what it is doing; True when it was clipped."""
    slack = p.pulls_only and m.force_n <= 0.0
    most_n = m.strength * m.limit_n
    clipped = 0.0 if slack else min(max(m.force_n, -most_n), most_n)
    at_limit = not slack and clipped != m.force_n
    m.force_n = clipped
    if m.error != 0:
        m.force_n = 0.0
        m.status = _FAULT
        return True
    if driving:
        m.status = _GRASPING if (m.target_rad - m.screw_rad) * p.closing > 0.0 else _RELEASING
    else:
        m.status = _AT_FORCE if at_limit else _AT_POSITION
    return at_limit or slack


@nb.njit(cache=True)
def _follow_law(p: Record, m: Record, angle_rad: float, driving: bool, dt_s: float) -> tuple[float, float]:
    """Torque at rest and damping of a motor that obeys a law, limited in torque and in speed.

    The law is a line over the speed of the joint, that ends at the speed ``free`` where it asks for no torque. Beyond
    the limits it becomes the line from as much as the motor can give now to nothing there, which no step overshoots.
    """
    speed_rad_s = (angle_rad - m.angle_rad) / dt_s
    m.angle_rad = angle_rad
    damping = m.damping_nms_rad + m.stiffness_nm_rad * dt_s
    torque = m.stiffness_nm_rad * (m.screw_rad - angle_rad) + m.feed_nm + damping * m.screw_rad_s
    if m.error != 0:
        torque = damping = 0.0
    limit_nm, asked_nm = m.limit_n * p.torque_per_n, torque - damping * speed_rad_s
    m.torque_nm = min(max(asked_nm, -limit_nm), limit_nm)
    m.force_n = m.reported_n = p.closing * m.torque_nm / p.torque_per_n
    if m.error != 0:
        m.status = _FAULT
    elif driving:
        m.status = _GRASPING if (m.target_rad - m.screw_rad) * p.closing > 0.0 else _RELEASING
    else:
        m.status = _AT_FORCE if m.torque_nm != asked_nm else _AT_POSITION
    if m.torque_nm == asked_nm and abs(torque) <= damping * p.top_speed_rad_s:
        return torque, damping
    free = math.copysign(p.top_speed_rad_s, torque)
    if damping > 0.0:
        free = min(max(torque / damping, -p.top_speed_rad_s), p.top_speed_rad_s)
    missing_rad_s = (free - speed_rad_s) * math.copysign(1.0, m.torque_nm)
    if missing_rad_s <= 0.0:
        return 0.0, 0.0
    damping = abs(m.torque_nm) / max(missing_rad_s, LAW_SPEED * p.top_speed_rad_s)
    return damping * free, damping


@nb.njit(cache=True)
def _warm_up(p: Record, m: Record, driving: bool, dt_s: float) -> None:
    """Current from load and motion, temperature from current, and the switch that opens when it is hot."""
    m.current_a = p.idle_a
    if driving:
        # Only a load against the motion costs; a jammed screw takes all the motor can give.
        load_n = p.force_max_n if m.jammed else min(max(_opposing_n(p, m), 0.0), _stall_n(p, m))
        m.current_a += p.drive_a + p.amps_per_n * load_n
    warmth = p.heating_c_per_a2 * m.current_a * m.current_a
    m.temperature_c += (ROOM_TEMPERATURE_C + warmth - m.temperature_c) * (dt_s / p.cooling_s)
    if m.temperature_c > p.trip_c:
        m.error |= _HOT
    elif m.temperature_c < p.recover_c:
        m.error &= ~_HOT


def clear_errors(state: RecordArray) -> RecordArray:
    """The motors after a clear-error command: every error goes but over-temperature, which must cool down."""
    after = state.copy()
    after["error"] &= int(MotorError.OVER_TEMPERATURE)
    after["still_s"] = 0.0
    return after


def zero_force(params: RecordArray, state: RecordArray) -> RecordArray:
    """The motors after the command to find the zero of their force sensors, which takes a while."""
    after = state.copy()
    seconds = np.maximum(params["zeroing_s"], np.finfo(np.float64).tiny)  # the next step at the latest
    after["zeroing_s"] = np.where(params["is_screw"], seconds, 0.0)  # a servo has no sensor that could have another
    return after


def take_law(params: RecordArray, state: RecordArray, target_rad: FloatArray, law: TorqueLaw) -> RecordArray:
    """The motors after a command that brings its own law, which acts at once; NaN targets leave a motor as it is."""
    after = state.copy()
    free = ~np.isnan(target_rad) & ~after["jammed"]
    for field, values in (
        ("target_rad", target_rad),  # beyond the end stop too: the error is the torque
        ("screw_rad", target_rad),
        ("screw_rad_s", 0.0),
        ("stiffness_nm_rad", law.stiffness_nm_rad),
        ("damping_nms_rad", law.damping_nms_rad),
        ("feed_nm", law.torque_nm + law.damping_nms_rad * law.velocity_rad_s),
        ("limit_n", params["force_max_n"]),
        ("pending_count", 0),
    ):
        after[field] = np.where(free, values, after[field])
    return after


@nb.njit(cache=True)
def drive_motors(
    params: RecordArray,
    motors: RecordArray,
    pending: RecordArray,
    drives: RecordArray,
    qpos: FloatArray,
    now_s: float,
    dt_s: float,
    work: FloatArray,
    ctrl: FloatArray,
    dof_damping: FloatArray,
    tendon_damping: FloatArray,
) -> None:
    """One step of all motors of a world: joint angles in, controls and dampings of the engine out.

    ``work`` is scratch: angles, torques and dampings of the motors, shape (3, 1, n). It stands in this file because
    numba renews a cached function only when the function's own file changes.
    """
    angle_rad, torque_nm, damping_nms_rad = work[0], work[1], work[2]
    for n in range(drives.shape[0]):
        d = drives[n]
        angle_rad[0, n] = 0.0
        for k in range(TENDON_JOINTS):
            angle_rad[0, n] += d.weight[k] * qpos[d.qpos[k]]
    step_motors(params, motors, pending, angle_rad, now_s, dt_s, torque_nm, damping_nms_rad)
    for n in range(drives.shape[0]):
        d = drives[n]
        ctrl[d.ctrl] = torque_nm[0, n]
        if d.tendon >= 0:
            tendon_damping[d.tendon] = damping_nms_rad[0, n]
        else:
            dof_damping[d.dof[0]] = d.own_damping_nms_rad + damping_nms_rad[0, n]
