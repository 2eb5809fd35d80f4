# type: ignore  # Warp compiles these functions: what they mean is not what a type checker reads

"""Motors of many worlds: `thenar.sim.motor_model` as Warp kernels, a thread a motor, in single precision.

Times are counted in steps, since seconds in single precision lose a step after an hour.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from thenar.hands.spec import Actuator
from thenar.signals import MotorError, MotorStatus
from thenar.sim import motor_model
from thenar.sim.motor_bank import MotorBank
from thenar.sim.motor_model import RecordArray

ROOM_C = wp.constant(motor_model.ROOM_TEMPERATURE_C)
TOLERANCE_RAD = wp.constant(motor_model.POSITION_TOLERANCE)
STALL_SPEED = wp.constant(motor_model.STALL_SPEED)
LAW_SPEED = wp.constant(motor_model.LAW_SPEED)
OVERLOAD = wp.constant(motor_model.OVERLOAD)
STALL, HOT = wp.constant(int(MotorError.STALL)), wp.constant(int(MotorError.OVER_TEMPERATURE))
OVER_CURRENT = wp.constant(int(MotorError.OVER_CURRENT))
BROKEN = wp.constant(int(MotorError.MOTOR | MotorError.COMMUNICATION | MotorError.OVER_TEMPERATURE))
RELEASING, GRASPING = wp.constant(int(MotorStatus.RELEASING)), wp.constant(int(MotorStatus.GRASPING))
AT_POSITION, AT_FORCE = wp.constant(int(MotorStatus.POSITION_REACHED)), wp.constant(int(MotorStatus.FORCE_REACHED))
PROTECTED, STALLED = wp.constant(int(MotorStatus.CURRENT_PROTECTION)), wp.constant(int(MotorStatus.STALLED))
FAULT = wp.constant(int(MotorStatus.FAULT))


@wp.struct
class Motor:
    """Parameters of one motor, see `motor_model.MOTOR_PARAMS`."""

    is_screw: int
    pulls_only: int
    takes_law: int
    closing: float
    lower_rad: float
    upper_rad: float
    stroke_rad: float
    top_speed_rad_s: float
    acceleration_rad_s2: float
    spring_n: float
    spring_cubic_n: float
    stiffness_nm_rad: float
    damping_nms_rad: float
    torque_per_n: float
    loaded_offset_n: float
    force_max_n: float
    stall_n: float
    stall_over_limit: float
    idle_a: float
    drive_a: float
    amps_per_n: float
    heating_c_per_a2: float
    cooling_s: float
    trip_c: float
    recover_c: float
    reaction_steps: int
    stall_steps: int


@wp.struct
class MotorState:
    """State of one motor, see `motor_model.MOTOR_STATE`."""

    target_rad: float
    speed_rad_s: float
    limit_n: float
    current_limit_a: float
    screw_rad: float
    screw_rad_s: float
    nut_rad: float
    backlash_rad: float
    strength: float
    force_n: float
    zero_n: float
    reported_n: float
    torque_nm: float
    angle_rad: float
    current_a: float
    temperature_c: float
    force_stopped: int
    jammed: int
    status: int
    error: int
    over_steps: int
    still_steps: int
    zeroing_steps: int
    pending_first: int
    pending_count: int


@wp.struct
class Pending:
    """A command on its way to the motor."""

    due_step: int
    target_rad: float
    speed_rad_s: float
    limit_n: float


@wp.struct
class Drive:
    """Transmission of one motor: the joints it moves and the control it writes, see `motor_model.DRIVE`."""

    qpos: wp.types.vector(length=6, dtype=wp.int32)
    dof: wp.types.vector(length=6, dtype=wp.int32)
    weight: wp.types.vector(length=6, dtype=wp.float32)
    ctrl: int
    tendon: int
    own_damping_nms_rad: float
    latency_steps: float
    latency_spread_steps: float
    angle_noise_rad: float
    force_noise_n: float
    hand: int


def steps_beyond(seconds: float, dt_s: float) -> int:
    """After how many steps a time that is added up step by step exceeds a limit, as `motor_model` adds it up."""
    passed_s, steps = 0.0, 0
    while passed_s <= seconds:
        passed_s, steps = passed_s + dt_s, steps + 1
    return steps


def motor_records(actuators: Sequence[Actuator], dt_s: float) -> RecordArray:
    """Records of `Motor`. Shape (motors,)."""
    params = motor_model.motor_params(actuators)
    records = _shared_fields(params, Motor)
    records["reaction_steps"] = [steps_beyond(value, dt_s) for value in params["reaction_s"]]
    records["stall_steps"] = steps_beyond(motor_model.STALL_S, dt_s)
    return records


def rest_records(actuators: Sequence[Actuator]) -> RecordArray:
    """Records of `MotorState` of a hand that is open and at rest. Shape (motors,)."""
    return _shared_fields(motor_model.motor_state(actuators)[0][0], MotorState)


def drive_records(bank: MotorBank, hands: Sequence[str], dt_s: float) -> tuple[RecordArray, int]:
    """Records of `Drive`, shape (motors,), and `pending_slots` of the slowest motor."""
    drives, latency_s = new_records(Drive, len(bank.drives)), 0.0
    for name in ("qpos", "dof", "weight", "ctrl", "tendon", "own_damping_nms_rad"):
        drives[name] = bank.drives[name]
    for index in (bank.index(name) for name in hands):
        own = drives[index.motors]
        own["hand"], own["latency_steps"] = index.number, index.latency_s / dt_s
        own["latency_spread_steps"] = index.latency_spread_s / dt_s
        own["angle_noise_rad"], own["force_noise_n"] = index.angle_noise_rad, index.force_noise_n
        latency_s = max(latency_s, float(np.max(index.latency_s + 2.0 * index.latency_spread_s)))
    return drives, pending_slots(latency_s, dt_s)


def pending_slots(latency_s: float, dt_s: float) -> int:
    """Commands that can be under way when one is sent at every step."""
    return math.ceil(latency_s / dt_s) + 2


def new_records(struct: Any, shape: int | tuple[int, ...]) -> RecordArray:
    """Records of a Warp struct, all zero, as numpy has them."""
    return np.zeros(shape, dtype=struct.numpy_dtype())


def _shared_fields(source: RecordArray, struct: Any) -> RecordArray:
    records = new_records(struct, source.shape)
    for name in set(records.dtype.names or ()) & set(source.dtype.names or ()):
        records[name] = source[name]
    return records


@wp.func
def _sign(x: float) -> float:
    return wp.where(x < 0.0, -1.0, 1.0)


@wp.func
def _copy(m: MotorState) -> MotorState:
    return m  # what an array holds is a reference to Warp, which cannot be assigned to


@wp.func
def _opposing_n(p: Motor, m: MotorState) -> float:
    return m.force_n * p.closing * _sign(m.target_rad - m.screw_rad)


@wp.func
def _own_stall_n(p: Motor, m: MotorState) -> float:
    return m.strength * wp.max(p.stall_n, p.stall_over_limit * m.limit_n)


@wp.func
def _take_command(p: Motor, m: MotorState, command: Pending) -> MotorState:
    if not wp.isnan(command.speed_rad_s):
        m.speed_rad_s = wp.min(command.speed_rad_s, p.top_speed_rad_s)
    if not wp.isnan(command.limit_n):
        m.limit_n = wp.min(command.limit_n, p.force_max_n)
    if wp.isinf(command.target_rad):  # stop where it is
        if m.force_stopped == 0:
            brake_rad = m.screw_rad_s * wp.abs(m.screw_rad_s) / (2.0 * p.acceleration_rad_s2)
            m.target_rad = wp.clamp(m.screw_rad + brake_rad, p.lower_rad, p.upper_rad)
    elif not wp.isnan(command.target_rad):
        m.target_rad = wp.clamp(command.target_rad, p.lower_rad, p.upper_rad)
        if (m.target_rad - m.screw_rad) * p.closing < 0.0 or m.reported_n < m.limit_n:
            m.force_stopped = 0
    return m


@wp.func
def _is_driving(m: MotorState) -> bool:
    far = wp.abs(m.target_rad - m.screw_rad) > TOLERANCE_RAD
    return m.error == 0 and m.force_stopped == 0 and far and m.speed_rad_s > 0.0


@wp.func
def _drive_screw(p: Motor, m: MotorState, driving: bool, dt_s: float) -> MotorState:
    to_go = m.target_rad - m.screw_rad
    wanted = 0.0
    if driving:
        wanted = wp.min(m.speed_rad_s, wp.abs(to_go) / dt_s)
        if not wp.isinf(p.acceleration_rad_s2):
            wanted = wp.min(wanted, wp.sqrt(2.0 * p.acceleration_rad_s2 * wp.abs(to_go)))
        if p.is_screw != 0:
            wanted = wanted * wp.clamp(1.0 - _opposing_n(p, m) / _own_stall_n(p, m), 0.0, 1.0)
        wanted = wanted * _sign(to_go)
    if m.jammed != 0:
        m.screw_rad_s = 0.0
        return m
    change = p.acceleration_rad_s2 * dt_s
    m.screw_rad_s = wp.min(wp.max(wanted, m.screw_rad_s - change), m.screw_rad_s + change)
    m.screw_rad = m.screw_rad + m.screw_rad_s * dt_s
    if driving and (m.target_rad - m.screw_rad) * to_go <= 0.0:  # arrived within this step
        m.screw_rad = m.target_rad
        m.screw_rad_s = 0.0
    return m


@wp.func
def _screw_force(p: Motor, ahead_rad: float) -> float:
    x = p.closing * ahead_rad / p.stroke_rad
    most_n = OVERLOAD * wp.max(p.stall_n, p.force_max_n)
    return wp.clamp(p.spring_n * x + p.spring_cubic_n * x * x * x, -most_n, most_n)


@wp.func
def _stiffness(p: Motor, ahead_rad: float, force_n: float) -> float:
    if p.is_screw == 0:
        return p.stiffness_nm_rad
    if wp.abs(force_n) >= OVERLOAD * wp.max(p.stall_n, p.force_max_n):
        return 0.0
    x = ahead_rad / p.stroke_rad
    return (p.spring_n + 3.0 * p.spring_cubic_n * x * x) * p.torque_per_n / p.stroke_rad


@wp.func
def _protect(p: Motor, m: MotorState, driving: bool) -> MotorState:
    grasping = _sign(m.target_rad - m.screw_rad) * p.closing > 0.0
    if driving and grasping and m.reported_n >= m.limit_n:
        m.over_steps = m.over_steps + 1
        if m.over_steps >= p.reaction_steps:
            m.force_stopped = 1
    elif driving:
        m.over_steps = 0
    if driving and m.force_stopped == 0 and wp.abs(m.screw_rad_s) < STALL_SPEED * m.speed_rad_s:
        m.still_steps = m.still_steps + 1
        if m.still_steps >= p.stall_steps:
            m.error = m.error | STALL
    else:
        m.still_steps = 0
    if m.current_a > m.current_limit_a:
        m.error = m.error | OVER_CURRENT
    if (m.error & BROKEN) != 0:
        m.status = FAULT
    elif (m.error & OVER_CURRENT) != 0:
        m.status = PROTECTED
    elif (m.error & STALL) != 0:
        m.status = STALLED
    elif m.force_stopped != 0:
        m.status = AT_FORCE
    elif wp.abs(m.target_rad - m.screw_rad) <= TOLERANCE_RAD or (m.speed_rad_s <= 0.0 and m.screw_rad_s == 0.0):
        m.status = AT_POSITION
    elif grasping:
        m.status = GRASPING
    else:
        m.status = RELEASING
    return m


@wp.func
def _warm_up(p: Motor, m: MotorState, driving: bool, dt_s: float) -> MotorState:
    m.current_a = p.idle_a
    if driving:
        load_n = wp.clamp(_opposing_n(p, m), 0.0, _own_stall_n(p, m))
        if m.jammed != 0:
            load_n = p.force_max_n
        m.current_a = p.idle_a + p.drive_a + p.amps_per_n * load_n
    warmth = p.heating_c_per_a2 * m.current_a * m.current_a
    m.temperature_c = m.temperature_c + (ROOM_C + warmth - m.temperature_c) * (dt_s / p.cooling_s)
    if m.temperature_c > p.trip_c:
        m.error = m.error | HOT
    elif m.temperature_c < p.recover_c:
        m.error = m.error & ~HOT
    return m


@wp.func
def _limit_servo(p: Motor, m: MotorState, driving: bool, free_n: float) -> MotorState:
    """Clip a servo's force; it is damped only while it is not clipped, see the kernel."""
    slack = p.pulls_only != 0 and free_n <= 0.0
    most_n = m.strength * m.limit_n
    m.force_n = wp.clamp(free_n, -most_n, most_n)
    at_limit = not slack and m.force_n != free_n
    if slack:
        m.force_n = 0.0
    if m.error != 0:
        m.force_n = 0.0
        m.status = FAULT
    elif driving:
        m.status = wp.where((m.target_rad - m.screw_rad) * p.closing > 0.0, GRASPING, RELEASING)
    else:
        m.status = wp.where(at_limit, AT_FORCE, AT_POSITION)
    return m


@wp.func
def _follow_spring(p: Motor, m: MotorState, angle_rad: float, driving: bool, dt_s: float):
    """A motor that pulls its joint by a spring: itself, torque at rest and damping."""
    play_rad = 0.5 * m.backlash_rad
    m.nut_rad = wp.min(wp.max(m.nut_rad, m.screw_rad - play_rad), m.screw_rad + play_rad)
    ahead_rad = m.nut_rad - angle_rad
    if p.is_screw != 0:
        m.force_n = _screw_force(p, ahead_rad)
    else:
        m.force_n = p.closing * p.stiffness_nm_rad * ahead_rad / p.torque_per_n
    damping = p.damping_nms_rad + _stiffness(p, ahead_rad, m.force_n) * dt_s
    if p.is_screw != 0:
        if m.zeroing_steps > 0:
            m.zeroing_steps = m.zeroing_steps - 1
            if m.zeroing_steps == 0:
                m.zero_n = m.force_n
        load_n = m.force_n - m.zero_n
        m.reported_n = load_n + wp.clamp(load_n, -p.loaded_offset_n, p.loaded_offset_n)
        m = _protect(p, m, driving)
        m = _warm_up(p, m, driving, dt_s)
    else:
        free_n = m.force_n
        m = _limit_servo(p, m, driving, free_n)
        if m.error != 0 or m.force_n != free_n or (p.pulls_only != 0 and free_n <= 0.0):
            damping = 0.0
        m.reported_n = m.force_n
    m.torque_nm = p.closing * p.torque_per_n * m.force_n
    torque = m.torque_nm + damping * m.screw_rad_s
    return m, torque, damping


@wp.func
def _follow_law(p: Motor, m: MotorState, angle_rad: float, driving: bool, dt_s: float):
    """A motor that obeys the law of its own gains, limited in torque and speed: itself, torque at rest and damping."""
    speed = (angle_rad - m.angle_rad) / dt_s
    m.angle_rad = angle_rad
    damping = p.damping_nms_rad + p.stiffness_nm_rad * dt_s
    torque = p.stiffness_nm_rad * (m.screw_rad - angle_rad) + damping * m.screw_rad_s
    if m.error != 0:
        torque, damping = 0.0, 0.0
    limit_nm, asked_nm = m.limit_n * p.torque_per_n, torque - damping * speed
    m.torque_nm = wp.clamp(asked_nm, -limit_nm, limit_nm)
    m.force_n = p.closing * m.torque_nm / p.torque_per_n
    m.reported_n = m.force_n
    if m.error != 0:
        m.status = FAULT
    elif driving:
        m.status = wp.where((m.target_rad - m.screw_rad) * p.closing > 0.0, GRASPING, RELEASING)
    else:
        m.status = wp.where(m.torque_nm != asked_nm, AT_FORCE, AT_POSITION)
    if m.torque_nm != asked_nm or wp.abs(torque) > damping * p.top_speed_rad_s:
        free = _sign(torque) * p.top_speed_rad_s
        if damping > 0.0:
            free = wp.clamp(torque / damping, -p.top_speed_rad_s, p.top_speed_rad_s)
        missing = (free - speed) * _sign(m.torque_nm)
        damping = wp.where(missing > 0.0, wp.abs(m.torque_nm) / wp.max(missing, LAW_SPEED * p.top_speed_rad_s), 0.0)
        torque = damping * free
    return m, torque, damping


@wp.kernel(enable_backward=False)
def step_motors(
    params: wp.array2d[Motor],
    drives: wp.array2d[Drive],
    step: wp.array[int],
    dt_s: float,
    qpos: wp.array2d[float],
    state: wp.array2d[MotorState],
    pending: wp.array3d[Pending],
    ctrl: wp.array2d[float],
    dof_damping: wp.array2d[float],
    tendon_damping: wp.array2d[float],
):
    """One step of every motor: joint angles in, controls and dampings of the engine out.

    Rows of ``params`` and ``drives`` are those of worlds with motors of their own, or one for all.
    """
    world, n = wp.tid()
    p, d = params[world % params.shape[0], n], drives[world % drives.shape[0], n]
    m = _copy(state[world, n])
    slots = pending.shape[2]
    while m.pending_count > 0:
        first = int(m.pending_first)
        if pending[world, n, first].due_step > step[0]:
            break
        m = _take_command(p, m, pending[world, n, first])
        m.pending_first = (first + 1) % slots
        m.pending_count = m.pending_count - 1
    driving = _is_driving(m)
    m = _drive_screw(p, m, driving, dt_s)
    angle_rad = 0.0
    for k in range(6):
        angle_rad = angle_rad + d.weight[k] * qpos[world, d.qpos[k]]
    torque, damping = 0.0, 0.0
    if p.takes_law != 0:
        m, torque, damping = _follow_law(p, m, angle_rad, driving, dt_s)
    else:
        m, torque, damping = _follow_spring(p, m, angle_rad, driving, dt_s)
    state[world, n] = m
    ctrl[world, d.ctrl] = torque
    if d.tendon >= 0:
        tendon_damping[world, d.tendon] = damping
    else:
        dof_damping[world, d.dof[0]] = d.own_damping_nms_rad + damping


@wp.kernel(enable_backward=False)
def send_commands(
    target_rad: wp.array2d[float],
    speed_rad_s: wp.array2d[float],
    limit_n: wp.array2d[float],
    drives: wp.array2d[Drive],
    step: wp.array[int],
    seed: int,
    state: wp.array2d[MotorState],
    pending: wp.array3d[Pending],
):
    """Send a command to every motor on its way, see `motor_model.push_command`; rows of one hand arrive together."""
    world, n = wp.tid()
    if wp.isnan(target_rad[world, n]) and wp.isnan(speed_rad_s[world, n]) and wp.isnan(limit_n[world, n]):
        return  # nothing is sent
    d = drives[world % drives.shape[0], n]
    m = _copy(state[world, n])
    draw = wp.randn(wp.rand_init(seed, (step[0] * state.shape[0] + world) * 8 + d.hand))
    latency = d.latency_steps + d.latency_spread_steps * wp.clamp(draw, -2.0, 2.0)
    due = step[0] + int(wp.ceil(latency - 1.0e-3))
    slots = pending.shape[2]
    full = m.pending_count == slots
    count = m.pending_count - wp.where(full, 1, 0)
    slot = (m.pending_first + count) % slots
    if count > 0:  # a later command never overtakes an earlier one
        due = wp.max(due, pending[world, n, (m.pending_first + count - 1) % slots].due_step)
    pending[world, n, slot].due_step = due
    # When the line is full the newest replaces the last one, and keeps what it leaves as it is.
    if not (full and wp.isnan(target_rad[world, n])):
        pending[world, n, slot].target_rad = target_rad[world, n]
    if not (full and wp.isnan(speed_rad_s[world, n])):
        pending[world, n, slot].speed_rad_s = speed_rad_s[world, n]
    if not (full and wp.isnan(limit_n[world, n])):
        pending[world, n, slot].limit_n = limit_n[world, n]
    m.pending_count = count + 1
    state[world, n] = m


@wp.kernel(enable_backward=False)
def read_motors(
    params: wp.array2d[Motor],
    drives: wp.array2d[Drive],
    step: wp.array[int],
    seed: int,
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    state: wp.array2d[MotorState],
    angle_rad: wp.array2d[float],
    velocity_rad_s: wp.array2d[float],
    force_n: wp.array2d[float],
    torque_nm: wp.array2d[float],
    current_a: wp.array2d[float],
    temperature_c: wp.array2d[float],
    status: wp.array2d[int],
    error: wp.array2d[int],
):
    """What the motors report, with the noise of their sensors: the same when read twice at one step."""
    world, n = wp.tid()
    d, m = drives[world % drives.shape[0], n], state[world, n]
    angle, velocity = 0.0, 0.0
    for k in range(6):
        angle = angle + d.weight[k] * qpos[world, d.qpos[k]]
        velocity = velocity + d.weight[k] * qvel[world, d.dof[k]]
    if params[world % params.shape[0], n].pulls_only != 0 and m.screw_rad < angle:
        angle = float(m.screw_rad)  # where the spool of a slack cord is
        velocity = float(m.screw_rad_s)
    noise = wp.rand_init(seed + 1, (step[0] * state.shape[0] + world) * state.shape[1] + n)
    angle_rad[world, n] = angle + d.angle_noise_rad * wp.randn(noise)
    velocity_rad_s[world, n] = velocity
    force_n[world, n] = m.reported_n + d.force_noise_n * wp.randn(noise)
    torque_nm[world, n] = m.torque_nm
    current_a[world, n] = m.current_a
    temperature_c[world, n] = m.temperature_c
    status[world, n] = m.status
    error[world, n] = m.error
