"""All motors of a world: commands in, controls of the engine and hand states out."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import mujoco
import numba as nb
import numpy as np
from numpy.typing import NDArray

from thenar.arrays import BoolArray, FloatArray, IntArray
from thenar.errors import BadCommand, BadValue, UnknownName, look_up
from thenar.hands.spec import HandSpec, LeadScrew, Servo
from thenar.signals import Closing, HandCommand, HandSettings, HandState, MotorError, TorqueLaw
from thenar.sim import motor_model

HOT_C = 8.0  # a motor that is made hot is this far above where it switches off
LATENCY_CLIP = 2.0  # standard deviations: no command is later than that
LATENCY_STREAM, READING_STREAM = 0, 1  # of random numbers
POWERLESS = 1e-9  # of its strength is left to a motor without power; not 0, which something is divided by
_ERROR_FAULTS = {"motor": MotorError.MOTOR, "communication": MotorError.COMMUNICATION}
_RECORD_FAULTS = {"jam": "jammed", "hot": "temperature_c", "weak": "strength", "backlash": "backlash_rad"}
# What a motor does not lose with its power: where it is, how warm it is, and what is wrong with it.
_LASTING = ("screw_rad", "nut_rad", "angle_rad", "temperature_c", "jammed", "strength", "backlash_rad")


MOTOR_FIELDS = (
    *("screw_rad", "screw_rad_s", "reported_n", "torque_nm", "current_a", "temperature_c", "status", "error"),
    *("current_limit_a", "target_rad", "speed_rad_s", "force_limit_n"),
)
"""Numbers of every motor that `read_motors` takes down; the last three as told, commands under way included."""
_FIELDS = len(MOTOR_FIELDS)


@dataclass(frozen=True, kw_only=True, eq=False)
class HandIndex:
    """Where one hand stands in the arrays of the world."""

    number: int
    spec: HandSpec
    motors: slice
    actuator_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    joint_qpos: IntArray
    joint_dof: IntArray
    drive_qpos: IntArray
    """Joints that each motor moves, in positions and velocities, and by how much. Shape (motors, TENDON_JOINTS)."""
    drive_dof: IntArray
    drive_weight: FloatArray
    pulls_only: BoolArray
    angle_noise_rad: FloatArray
    force_noise_n: FloatArray
    latency_s: FloatArray
    latency_spread_s: FloatArray


class MotorReading(NamedTuple):
    """Joints and motors of all hands after a step: what hands report of it can be worked out later."""

    step: int
    row: FloatArray
    """See `read_motors`."""


class MotorBank:
    """Motors of all hands of a world, hand after hand."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, hands: Mapping[str, HandSpec], *, seed: int):
        """Find every motor's joints and control in a compiled world."""
        self._data, self._seed, self._dt_s = data, seed, float(model.opt.timestep)
        self._friction_nm, self._own_friction_nm = model.dof_frictionloss, model.dof_frictionloss.copy()
        self.outage: tuple[float, NDArray[np.void]] | None = None
        """When the power returns [s], and the motors as they were before it went; None: it is on."""
        actuators = [actuator for spec in hands.values() for actuator in spec.actuators]
        self._params = motor_model.motor_params(actuators)
        self.drives = _drives(model, hands.values())
        self._hands = _index_hands(model, hands, self._params, self.drives)
        self._rest = motor_model.motor_state(actuators)
        # Shapes (1, n) and (1, n, PENDING_COMMANDS).
        self.records, self.pending = (array.copy() for array in self._rest)
        self._work = np.zeros((3, 1, len(actuators)))
        self._qpos, self._qvel = data.qpos, data.qvel
        self._generators: dict[int, tuple[np.random.Generator, dict[str, Any]]] = {}
        self._drawing = threading.Lock()
        self._outputs = data.ctrl, model.dof_damping, model.tendon_damping
        self.command_counts = dict.fromkeys(hands, 0)

    def reset(self) -> None:
        """At rest, cool, nothing under way; joints of open hands where they belong."""
        self.records[:], self.pending[:] = self._rest
        self.outage, self._friction_nm[:] = None, self._own_friction_nm
        self.command_counts = dict.fromkeys(self._hands, 0)
        for hand in self._hands.values():
            self._data.qpos[hand.joint_qpos] = list(hand.spec.joint_angles(hand.spec.open_rad).values())

    def step(self, now_s: float) -> None:
        """Write the controls and dampings of the engine's next step."""
        if self.outage is not None and now_s >= self.outage[0] - 1e-9:
            self._power_on(self.outage[1])
        motor_model.drive_motors(
            self._params, self.records, self.pending, self.drives, self._qpos, now_s, self._dt_s, self._work,
            *self._outputs,
        )  # fmt: skip

    def index(self, hand: str) -> HandIndex:
        """Where a hand stands in the arrays of the world."""
        return look_up(self._hands, hand, "hand in this world")

    def command(self, hand: str, command: HandCommand | Closing, now_s: float) -> None:
        """Send a command on its way; it acts after the hand's latency. One that does not fit changes nothing."""
        index = self.index(hand)
        target, speed, limit = checked_command(index.spec, command)
        if self.dark:  # nobody hears it
            return
        if isinstance(command, HandCommand) and command.law is not None:
            own = self._own(hand)
            own[:] = motor_model.take_law(self._params[index.motors], own, target, command.law)
            self.command_counts[hand] += 1
            return
        due_s = now_s + index.latency_s
        if np.any(index.latency_spread_s > 0.0):  # one draw a command: what delays it is on its way to all motors
            draw = self._normals(LATENCY_STREAM, index, self.command_counts[hand], ())
            due_s = due_s + index.latency_spread_s * float(np.clip(draw, -LATENCY_CLIP, LATENCY_CLIP))
        own = self.records[:, index.motors], self.pending[:, index.motors]
        motor_model.push_command(*own, target[None], speed[None], limit[None], due_s[None])
        self.command_counts[hand] += 1

    def state(self, hand: str, *, stamp_s: float, step: int) -> HandState:
        """What a hand reports after a step of the world. Reading twice gives the same values."""
        return self._state(self.index(hand), self.reading(step), stamp_s)

    def settings(self, hand: str) -> HandSettings:
        """The newest targets, speeds and limits of a hand, those still under way included."""
        return self._settings(self.index(hand), self.reading(0))

    def read_hands(self, reading: MotorReading, stamp_s: float) -> dict[str, tuple[HandState, HandSettings]]:
        """State and settings of every hand, from a reading of now."""
        return {
            name: (self._state(index, reading, stamp_s), self._settings(index, reading))
            for name, index in self._hands.items()
        }

    def _state(self, index: HandIndex, reading: MotorReading, stamp_s: float) -> HandState:
        motors, qpos, qvel = self._taken([reading])
        columns = self._joints(index, qpos, qvel) | self._reported(index, [reading], motors, qpos, qvel)
        return HandState(
            stamp_s=stamp_s,
            actuator_names=index.actuator_names,
            joint_names=index.joint_names,
            **{name: column[0] for name, column in columns.items()},
        )

    def _settings(self, index: HandIndex, reading: MotorReading) -> HandSettings:
        motors, _, _ = self._taken([reading])
        told = {name: column[0] for name, column in self._told(index, motors).items()}
        zeroing = bool((self.records["zeroing_s"][0, index.motors] > 0.0).any())
        return HandSettings(**told, zeroing=zeroing)

    def reading(self, step: int) -> MotorReading:
        """All motors as they are after a step, for `joint_columns` and `motor_columns`."""
        return MotorReading(step, read_motors(self.records, self.pending, self._qpos, self._qvel))

    def joint_columns(self, hand: str, readings: Sequence[MotorReading]) -> dict[str, NDArray[Any]]:
        """Angles and velocities of the joints of a hand as in its `state`. Shapes (readings, joints)."""
        _, qpos, qvel = self._taken(readings)
        return self._joints(self.index(hand), qpos, qvel)

    def motor_columns(self, hand: str, readings: Sequence[MotorReading]) -> dict[str, NDArray[Any]]:
        """What the motors of a hand report and have been told, as in its `state` and `settings`; on any thread.

        Shapes (readings, motors).
        """
        index, taken = self.index(hand), self._taken(readings)
        return self._reported(index, readings, *taken) | self._told(index, taken[0])

    def _taken(self, readings: Sequence[MotorReading]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Motors, positions and velocities. Shapes (readings, fields, motors), (readings, nq), (readings, nv)."""
        rows = np.array([reading.row for reading in readings])
        fields, joints = len(MOTOR_FIELDS), self._qpos.size
        numbers = fields * self.records.size
        motors, qpos, qvel = rows[:, :numbers], rows[:, numbers : numbers + joints], rows[:, numbers + joints :]
        return motors.reshape(len(rows), fields, -1), qpos, qvel

    @staticmethod
    def _joints(index: HandIndex, qpos: FloatArray, qvel: FloatArray) -> dict[str, NDArray[Any]]:
        return {"joint_rad": qpos[:, index.joint_qpos], "joint_velocity_rad_s": qvel[:, index.joint_dof]}

    def _reported(
        self, index: HandIndex, readings: Sequence[MotorReading], motors: FloatArray, qpos: FloatArray, qvel: FloatArray
    ) -> dict[str, NDArray[Any]]:
        angle = (index.drive_weight * qpos[:, index.drive_qpos]).sum(axis=2)
        velocity = (index.drive_weight * qvel[:, index.drive_dof]).sum(axis=2)
        screw, screw_speed, force, torque, current, temperature, status, error = motors[:, :8, index.motors].swapaxes(
            0, 1
        )
        if index.pulls_only.any():
            # A motor on a cord reports where its spool is: at the finger's angle, or behind it where the cord is slack.
            slack = index.pulls_only & (screw < angle)
            angle, velocity = np.where(slack, screw, angle), np.where(slack, screw_speed, velocity)
        shape = 2, len(index.actuator_names)
        noise = np.array([self._normals(READING_STREAM, index, reading.step, shape) for reading in readings])
        return {
            "angle_rad": angle + index.angle_noise_rad * noise[:, 0],
            "velocity_rad_s": velocity,
            "force_n": force + index.force_noise_n * noise[:, 1],
            "torque_nm": torque,
            "current_a": current,
            "temperature_c": temperature,
            "status": status.astype(np.int64),
            "error": error.astype(np.int64),
        }

    @staticmethod
    def _told(index: HandIndex, motors: FloatArray) -> dict[str, FloatArray]:
        columns = motors[:, 8:, index.motors].swapaxes(0, 1)
        return dict(zip(MOTOR_FIELDS[8:], columns, strict=True))

    def clear_errors(self, hand: str) -> None:
        """Clear stall, over-current, motor and communication errors; over-temperature must cool down."""
        own = self._own(hand)
        own[:] = motor_model.clear_errors(own)

    def zero_force(self, hand: str) -> None:
        """Let the force sensors of a hand find their zero."""
        own = self._own(hand)
        own[:] = motor_model.zero_force(self._params[self.index(hand).motors], own)

    def set_current_limit(self, hand: str, current_limit_a: float | Sequence[float]) -> None:
        """Set the current at which protection stops the motors of a hand [A], one number or one per motor."""
        actuators = self.index(hand).spec.actuators
        limits = np.asarray(current_limit_a, dtype=np.float64)
        if limits.shape not in ((), (len(actuators),)) or not np.all(np.isfinite(limits) & (limits > 0.0)):
            raise BadValue("current_limit_a", current_limit_a, f"one number above 0, or {len(actuators)} of them")
        if not all(isinstance(actuator.motor, LeadScrew) for actuator in actuators):
            raise BadValue("hand", hand, "a hand that measures its current; this one does not")
        self._own(hand)["current_limit_a"] = limits

    def inject_fault(self, hand: str, actuator: str, fault: str, amount: float) -> None:
        """Break a motor, see `Faults.inject`."""
        number = self._motor(hand, actuator)
        record = self.records[0, number]
        if fault == "jam":
            record["jammed"] = True
        elif fault == "sticky":
            coupled = self._coupled_dofs(hand, actuator)
            self._friction_nm[coupled] = self._own_friction_nm[coupled] + amount
        elif fault == "hot":
            motor = self.index(hand).spec.actuators[number - self.index(hand).motors.start].motor
            assert isinstance(motor, LeadScrew)
            record["temperature_c"] = motor.trip_c + HOT_C
        elif fault == "weak":
            record["strength"] = max(amount, POWERLESS)
        elif fault == "backlash":
            record["backlash_rad"] = amount * self._params["stroke_rad"][number]
        elif fault in _ERROR_FAULTS:
            record["error"] |= _ERROR_FAULTS[fault]
        else:
            raise UnknownName("fault of a motor", fault, (*_RECORD_FAULTS, "sticky", *_ERROR_FAULTS))

    def repair(self, hand: str, actuator: str, fault: str) -> None:
        """Mend a motor, see `Faults.repair`."""
        number = self._motor(hand, actuator)
        if fault == "sticky":
            coupled = self._coupled_dofs(hand, actuator)
            self._friction_nm[coupled] = self._own_friction_nm[coupled]
        elif fault in _ERROR_FAULTS:
            self.records[0, number]["error"] &= ~int(_ERROR_FAULTS[fault])
        else:
            name = _RECORD_FAULTS[fault]
            self.records[0, number][name] = self._rest[0][0, number][name]

    def lasts(self, hand: str, actuator: str, fault: str) -> bool:
        """Whether an injected fault is still there: errors may have been cleared, or have gone with the power."""
        bit = _ERROR_FAULTS.get(fault)
        return bit is None or bool(self.records[0, self._motor(hand, actuator)]["error"] & bit)

    @property
    def dark(self) -> bool:
        """Whether the power is off."""
        return self.outage is not None

    def keep_own_values(self) -> None:
        """Have what these motors are made with, after the state of others was restored."""
        for name in ("zero_n", "backlash_rad", "current_limit_a"):
            self.records[name] = self._rest[0][name]

    def brown_out(self, now_s: float, seconds: float) -> None:
        """Take the power of all motors for a while: screws hold, servos are limp."""
        before = self.outage[1] if self.outage else self.records.copy()
        self.outage = now_s + seconds, before
        motors = self.records
        motors["strength"], motors["speed_rad_s"], motors["target_rad"] = POWERLESS, 0.0, motors["screw_rad"]
        motors["stiffness_nm_rad"] = motors["damping_nms_rad"] = motors["feed_nm"] = 0.0
        motors["pending_count"] = 0

    def _power_on(self, before: NDArray[np.void]) -> None:
        """Let motors wake up: where they are, with the speeds and limits of power-on, no targets and no errors."""
        self.outage = None
        now = self.records.copy()
        self.records[:], self.pending[:] = self._rest
        for name in _LASTING:
            self.records[name] = (before if name == "strength" else now)[name]
        drives = self.drives  # a servo that was limp holds where its joint is now
        servo = ~self._params["is_screw"]
        angle = (drives["weight"] * self._qpos[drives["qpos"]]).sum(axis=1)
        angle = np.clip(angle, self._params["lower_rad"], self._params["upper_rad"])
        self.records["screw_rad"] = np.where(servo, angle, self.records["screw_rad"])
        self.records["target_rad"] = self.records["screw_rad"]

    def _coupled_dofs(self, hand: str, actuator: str) -> list[int]:
        """Degrees of freedom of the joints that follow a motor's own."""
        index = self.index(hand)
        numbers = dict(zip(index.spec.joint_names, index.joint_dof.tolist(), strict=True))
        return [numbers[joint] for joint in index.spec.followers(actuator)]

    def _own(self, hand: str) -> NDArray[np.void]:
        return self.records[:, self.index(hand).motors]

    def _motor(self, hand: str, actuator: str) -> int:
        """Number of a motor in the world."""
        index = self.index(hand)
        names = index.spec.actuator_names
        if actuator not in names:
            raise UnknownName(f"actuator of {hand}", actuator, names)
        return index.motors.start + names.index(actuator)

    def _normals(self, stream: int, hand: HandIndex, count: int, shape: tuple[int, ...]) -> FloatArray:
        """Random numbers that depend only on the seed, the hand and a count, not on what was read before."""
        own = hand.number << 8 | stream
        with self._drawing:  # a recorder works readings out on a thread of its own
            if own not in self._generators:
                key = np.array((self._seed & 0xFFFFFFFFFFFFFFFF, own), dtype=np.uint64)
                made = np.random.Generator(np.random.Philox(key=key))
                self._generators[own] = made, dict(made.bit_generator.state)
            generator, start = self._generators[own]
            start["state"]["counter"][:] = 0, count, 0, 0
            generator.bit_generator.state = start  # a tenth of the time that a new generator takes
            return generator.standard_normal(shape)


@nb.njit(cache=True)
def read_motors(state: Any, pending: Any, qpos: FloatArray, qvel: FloatArray) -> FloatArray:
    """One row: `MOTOR_FIELDS` of all motors, field after field, then positions and velocities of all joints."""
    motors = state.shape[1]
    row = np.empty(_FIELDS * motors + qpos.size + qvel.size)
    numbers = row[: _FIELDS * motors].reshape((_FIELDS, motors))
    for n in range(motors):
        motor = state[0, n]
        numbers[0, n], numbers[1, n], numbers[2, n] = motor.screw_rad, motor.screw_rad_s, motor.reported_n
        numbers[3, n], numbers[4, n], numbers[5, n] = motor.torque_nm, motor.current_a, motor.temperature_c
        numbers[6, n], numbers[7, n], numbers[8, n] = motor.status, motor.error, motor.current_limit_a
        numbers[9, n], numbers[10, n], numbers[11, n] = motor.target_rad, motor.speed_rad_s, motor.limit_n
        for k in range(motor.pending_count):
            command = pending[0, n, (motor.pending_first + k) % pending.shape[2]]
            if not math.isnan(command.target_rad):
                numbers[9, n] = motor.screw_rad if command.target_rad == motor_model.STOP else command.target_rad
            if not math.isnan(command.speed_rad_s):
                numbers[10, n] = command.speed_rad_s
            if not math.isnan(command.limit_n):
                numbers[11, n] = command.limit_n
    row[_FIELDS * motors : _FIELDS * motors + qpos.size] = qpos
    row[_FIELDS * motors + qpos.size :] = qvel
    return row


def checked_command(spec: HandSpec, command: HandCommand | Closing) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Targets [rad] or `STOP`, speeds [rad/s] and limits [N] of a command that fits a hand; any other is refused."""
    if isinstance(command, Closing):
        command = command.in_radians(
            open_rad=spec.open_rad, closed_rad=spec.closed_rad, top_speed_rad_s=spec.top_speed_rad_s
        )
    if not isinstance(command, HandCommand):
        raise BadCommand(f"a command is a HandCommand, not {command!r}; use HandCommand.to(...) or .closing(...)")
    values = []
    for field in ("target_rad", "speed_rad_s", "force_limit_n"):
        array = np.asarray(getattr(command, field), dtype=np.float64)
        if array.shape != (len(spec.actuators),):
            raise BadCommand(
                f"{field} has {array.size} values; {spec.name} has {len(spec.actuators)} actuators "
                f"({', '.join(spec.actuator_names)})"
            )
        if np.any(np.isinf(array)):
            raise BadCommand(f"{field} of {spec.name} has an infinite value: {array.tolist()}; use NaN to hold")
        if field != "target_rad" and np.any(array < 0.0):
            raise BadCommand(f"{field} of {spec.name} has a negative value: {array.tolist()}; use NaN to keep")
        values.append(array)
    target, speed, limit = values
    if command.law is not None:
        _check_law(spec, command.law)
    if command.stop is not None:
        stop = np.asarray(command.stop)
        if stop.shape != target.shape or stop.dtype != np.bool_:
            raise BadCommand(f"stop of {spec.name} is {command.stop!r}; wanted {target.size} times True or False")
        target = np.where(stop, motor_model.STOP, target)
    return target, speed, limit


def _check_law(spec: HandSpec, law: TorqueLaw) -> None:
    if not all(isinstance(actuator.motor, Servo) and actuator.motor.takes_law for actuator in spec.actuators):
        raise BadCommand(f"the motors of {spec.name} take no law; command targets, speeds and force limits")
    for field in ("stiffness_nm_rad", "damping_nms_rad", "velocity_rad_s", "torque_nm"):
        array = np.asarray(getattr(law, field), dtype=np.float64)
        if array.shape != (len(spec.actuators),) or not np.isfinite(array).all():
            raise BadCommand(f"{field} of {spec.name} is {array.tolist()}; wanted {len(spec.actuators)} finite numbers")
        if field in ("stiffness_nm_rad", "damping_nms_rad") and np.any(array < 0.0):
            raise BadCommand(f"{field} of {spec.name} has a negative value: {array.tolist()}")


def _index_hands(
    model: mujoco.MjModel, hands: Mapping[str, HandSpec], params: NDArray[np.void], drives: NDArray[np.void]
) -> dict[str, HandIndex]:
    index = {}
    first = 0
    for number, (name, spec) in enumerate(hands.items()):
        joints = [model.joint(f"{name}/{joint}") for joint in spec.joint_names]
        screws = [a.motor if isinstance(a.motor, LeadScrew) else None for a in spec.actuators]
        strokes = np.array([a.stroke_rad for a in spec.actuators])
        motors = slice(first, first + len(spec.actuators))
        index[name] = HandIndex(
            number=number,
            spec=spec,
            motors=motors,
            actuator_names=spec.actuator_names,
            joint_names=spec.joint_names,
            joint_qpos=np.array([joint.qposadr[0] for joint in joints]),
            joint_dof=np.array([joint.dofadr[0] for joint in joints]),
            drive_qpos=drives["qpos"][motors].copy(),
            drive_dof=drives["dof"][motors].copy(),
            drive_weight=drives["weight"][motors].copy(),
            pulls_only=params["pulls_only"][motors],
            angle_noise_rad=np.array([screw.angle_noise if screw else 0.0 for screw in screws]) * strokes,
            force_noise_n=np.array([screw.force_noise_n if screw else 0.0 for screw in screws]),
            latency_s=np.array([screw.latency_s if screw else 0.0 for screw in screws]),
            latency_spread_s=np.array([screw.latency_spread_s if screw else 0.0 for screw in screws]),
        )
        first += len(spec.actuators)
    return index


def _drives(model: mujoco.MjModel, specs: Iterable[HandSpec]) -> NDArray[np.void]:
    """Which joints every motor moves and which control it writes."""
    owned = [(spec, actuator) for spec in specs for actuator in spec.actuators]
    drives = np.zeros(len(owned), dtype=motor_model.DRIVE)
    for drive, (spec, actuator) in zip(drives, owned, strict=True):
        tendon = next((t for t in spec.tendons if t.name == actuator.drives), None)
        parts = list(tendon.joints) if tendon else [(actuator.drives, 1.0)]
        if len(parts) > motor_model.TENDON_JOINTS:
            raise BadValue(f"tendon {actuator.drives!r}", len(parts), f"at most {motor_model.TENDON_JOINTS} joints")
        parts += [(parts[0][0], 0.0)] * (motor_model.TENDON_JOINTS - len(parts))
        joints = [model.joint(f"{spec.name}/{name}") for name, _ in parts]
        drive["qpos"] = [joint.qposadr[0] for joint in joints]
        drive["dof"] = [joint.dofadr[0] for joint in joints]
        drive["weight"] = [weight for _, weight in parts]
        drive["ctrl"] = model.actuator(f"{spec.name}/{actuator.name}").id
        drive["tendon"] = model.tendon(f"{spec.name}/{tendon.name}").id if tendon else -1
        drive["own_damping_nms_rad"] = 0.0 if tendon else model.dof_damping[drive["dof"][0]]
    return drives
