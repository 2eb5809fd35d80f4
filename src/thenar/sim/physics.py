"""The simulation: bodies, motors and contacts of hands and objects, in steps of the engine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.errors import BadValue, SimulationDiverged, look_up
from thenar.hands.spec import HandSpec
from thenar.signals import ContactSet, HandState, SolidContacts
from thenar.signals.fault_kinds import Fault
from thenar.sim.building import compile_model, name_props
from thenar.sim.contacts import ContactReader, SolidReader
from thenar.sim.journal import Journal
from thenar.sim.motor_bank import MotorBank, MotorReading
from thenar.sim.world_config import WorldConfig
from thenar.sim.world_props import STATE, WorldProps
from thenar.sim.wrist import Wrists

CHECK_EVERY_STEPS = 250
CHECKPOINT_EVERY_S = 0.1  # how often a state to come back to is taken
_JOINT_SIZE = {mujoco.mjtJoint.mjJNT_FREE: (7, 6), mujoco.mjtJoint.mjJNT_BALL: (4, 3)}  # in qpos and qvel; else 1
_WARNINGS = {
    "mjWARN_INERTIA": "a mass matrix that cannot be inverted",
    "mjWARN_CONTACTFULL": "too many contacts",
    "mjWARN_CNSTRFULL": "too many constraints",
    "mjWARN_BADQPOS": "positions out of range",
    "mjWARN_BADQVEL": "velocities out of range",
    "mjWARN_BADQACC": "accelerations out of range",
    "mjWARN_BADCTRL": "motor torques out of range",
}  # of the engine, in words


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """Everything a world needs to go on from an instant exactly as it did before."""

    physics: FloatArray
    motors: NDArray[np.void]
    pending: NDArray[np.void]
    damping: FloatArray
    """Of joints and tendons, which the motors set at every step."""
    names: tuple[str, ...]
    """Hands and objects of the world it was taken of."""
    steps: int
    residual_s: float
    commands: tuple[int, ...]
    wrists: NDArray[np.void]
    outage: tuple[float, NDArray[np.void]] | None = None
    """When the power returns [s], and the motors as they were before it went; None: it is on."""
    dragged_to_m: tuple[tuple[str, FloatArray], ...] = ()
    """Objects that are dragged, and where to [m]."""
    masses: tuple[FloatArray, FloatArray, FloatArray] | None = None
    """Where they were in the last step, which the next forces on wrists and dragged objects go by; None: of a time when
    neither this nor what is dragged nor an outage was written down."""
    faults: tuple[Fault, ...] | None = None
    """What was broken; None: whoever took it knows of no faults, and what is broken stays so."""


class Physics:
    """Hands and objects in one MuJoCo model, without skin."""

    def __init__(self, config: WorldConfig):
        """Build; time is 0 and every hand is open."""
        self.config = config
        self.timestep_s = config.timestep_s
        self.model = compile_model(config)
        self.data = mujoco.MjData(self.model)
        self._warnings = self.data.warning.number  # how often the engine warned, by kind; the engine's own memory
        self.hand_names = tuple(config.specs)
        named = name_props((*config.scene.props, *config.props), config.specs)
        self.motors = MotorBank(self.model, self.data, config.specs, seed=config.seed)
        self.journal = Journal()
        self.wrists = Wrists(self.model, self.data, config, journal=self.journal)
        names = [prop.name for prop in named]
        self.props = WorldProps(self.model, self.data, names, journal=self.journal, on_resize=self._forget_shapes)
        self._contact_reader = ContactReader(self.model, self.hand_names)
        self._solid_reader: SolidReader | None = None
        self._seen: mujoco.MjData | None = None
        self.reset()

    @property
    def time_s(self) -> float:
        """Time of the twin's clock [s]."""
        return self._steps * self.timestep_s

    @property
    def residual_s(self) -> float:
        """Time that was asked for and is not yet a whole step [s]."""
        return self._residual_s

    def hand(self, name: str) -> HandSpec:
        """The spec of a hand of this world."""
        return look_up(self.config.specs, name, "hand in this world")

    def reset(self) -> None:
        """Back to time 0: hands open, objects where they began, motors cool."""
        mujoco.mj_resetData(self.model, self.data)
        self.props.release()
        for joint, angle in (self.config.robot.rest_rad if self.config.robot else {}).items():
            self.data.joint(joint).qpos[0] = angle
        self.motors.reset()
        self.wrists.reset()
        self._steps, self._residual_s = 0, 0.0
        self._settle()

    def state(self, hand: str) -> HandState:
        """What a hand reports now. Reading twice at one time gives the same values."""
        return self.motors.state(hand, stamp_s=self.time_s, step=self._steps)

    def read_motors(self) -> MotorReading:
        """All motors as they are now, to be worked out later, see `MotorBank.motor_columns`."""
        return self.motors.reading(self._steps)

    def advance(self, seconds: float) -> None:
        """Let simulated time pass, in whole steps; what is left over counts for the next call.

        A simulation that diverges is put back to the last good state, and `SimulationDiverged` is raised.
        """
        check_duration(seconds)
        dt, data = self.timestep_s, self.data
        if self.time_s - self._checkpoint.steps * dt >= CHECKPOINT_EVERY_S:
            self._checkpoint = self.snapshot()
        residual_s = self._residual_s + seconds
        steps = round(residual_s / dt)
        step, model, motors, props = mujoco.mj_step, self.model, self.motors, self.props
        wrists = self.wrists if len(self.wrists.records) else None
        for done in range(1, steps + 1):
            if wrists is not None:
                wrists.step()
            motors.step(self._steps * dt)
            if props.dragging:
                props.step()
            step(model, data)
            self._steps += 1
            if done % CHECK_EVERY_STEPS == 0:
                self._check()
        self._residual_s = residual_s - steps * dt
        if steps:
            self._contacts_s = self.time_s - dt
            self._check()

    def contacts(self, hand: str | None = None) -> ContactSet:
        """Contacts of the last step: of one hand, seen from its links, or of the whole world, each once."""
        number = None if hand is None else self.motors.index(hand).number
        return self._contact_reader.read(self.data, stamp_s=self._contacts_s, hand=number)

    def normal_forces_n(self, hand: str, partner: str) -> dict[str, float]:
        """Normal force of a hand on something, by body of the hand, in the order of contacts [N]."""
        return self._contact_reader.normal_forces_n(self.data, self.motors.index(hand).number, partner)

    def solid_contacts(self) -> SolidContacts:
        """Contacts of the last step, as skins need them; a copy that stays when the world goes on."""
        if self._solid_reader is None:
            self._solid_reader = SolidReader(self.model)
        return self._solid_reader.read(self.data, stamp_s=self._contacts_s)

    def _forget_shapes(self) -> None:
        self._solid_reader = None

    def snapshot(self) -> Snapshot:
        """Everything needed to come back to this instant."""
        physics = np.empty(mujoco.mj_stateSize(self.model, STATE))
        mujoco.mj_getState(self.model, self.data, physics, STATE)
        return Snapshot(
            physics=physics,
            motors=self.motors.records.copy(),
            pending=self.motors.pending.copy(),
            damping=np.concatenate([self.model.dof_damping, self.model.tendon_damping]),
            names=(*self.hand_names, *self.props.names),
            steps=self._steps,
            residual_s=self._residual_s,
            commands=tuple(self.motors.command_counts.values()),
            wrists=self.wrists.records.copy(),
            outage=self.motors.outage,
            dragged_to_m=self.props.dragged_to_m,
            masses=(self.data.subtree_com.copy(), self.data.xipos.copy(), self.data.ximat.copy()),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Come back to an instant; what follows is the same as it was, bit for bit."""
        names = (*self.hand_names, *self.props.names)
        if snapshot.names != names or snapshot.physics.size != mujoco.mj_stateSize(self.model, STATE):
            raise BadValue(
                "snapshot", f"of {', '.join(snapshot.names)}", f"a snapshot of this world: {', '.join(names)}"
            )
        mujoco.mj_setState(self.model, self.data, snapshot.physics, STATE)
        self.motors.records[:], self.motors.pending[:] = snapshot.motors, snapshot.pending
        self.motors.command_counts = dict(zip(self.hand_names, snapshot.commands, strict=True))
        self.model.dof_damping[:], self.model.tendon_damping[:] = np.split(snapshot.damping, [self.model.nv])
        self.wrists.records[:] = snapshot.wrists
        self._steps, self._residual_s = snapshot.steps, snapshot.residual_s
        self._settle(snapshot)
        if snapshot.masses is not None:
            self.motors.outage = snapshot.outage
            self.props.drag_again(snapshot.dragged_to_m)
            self.data.subtree_com[:], self.data.xipos[:], self.data.ximat[:] = snapshot.masses

    def seen(self) -> mujoco.MjData:
        """Bodies where they are at this instant, to be looked at: those of the engine are where the last step began."""
        seen = self._seen = self._seen or mujoco.MjData(self.model)
        for name in ("qpos", "mocap_pos", "mocap_quat"):
            getattr(seen, name)[:] = getattr(self.data, name)
        for step in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight, mujoco.mj_tendon):
            step(self.model, seen)
        return seen

    def pose_bodies(self, joint_rad: Mapping[str, FloatArray]) -> None:
        """Put bodies where they are when joints of hands stand so [rad], to be looked at; nothing else follows."""
        for hand, angles in joint_rad.items():
            for name, angle in zip(self.hand(hand).joint_names, angles, strict=True):
                self.data.qpos[self.model.joint(f"{hand}/{name}").qposadr[0]] = angle
        mujoco.mj_kinematics(self.model, self.data)

    def copy_state_from(self, other: Physics) -> None:
        """Go on from where another world with the same hands is; what only this one has stays where it begins.

        What is dragged or pulled there is not here.
        """
        if other.hand_names != self.hand_names:
            raise BadValue("other", other.hand_names, f"a world with {', '.join(self.hand_names)}")
        if other.timestep_s != self.timestep_s:
            raise BadValue(
                "timestep_s of the other", other.timestep_s, f"{self.timestep_s:g}, as here: steps are counted"
            )
        theirs = {other.model.joint(k).name for k in range(other.model.njnt)}
        for k in range(self.model.njnt):
            mine = self.model.joint(k)
            if mine.name in theirs:
                its = other.model.joint(mine.name)
                sizes = _JOINT_SIZE.get(mujoco.mjtJoint(int(self.model.jnt_type[k])), (1, 1))
                for name, address, size in zip(("qpos", "qvel"), ("qposadr", "dofadr"), sizes, strict=True):
                    to, start = getattr(mine, address)[0], getattr(its, address)[0]
                    getattr(self.data, name)[to : to + size] = getattr(other.data, name)[start : start + size]
        self.motors.records[:], self.motors.pending[:] = other.motors.records, other.motors.pending
        self.motors.outage = other.motors.outage
        self.motors.command_counts = dict(other.motors.command_counts)
        self.wrists.copy_goals_from(other.wrists)
        self._steps, self._residual_s = other._steps, other._residual_s
        self._settle()

    def _settle(self, checkpoint: Snapshot | None = None) -> None:
        """Bring what derives from positions up to date after they were set."""
        mujoco.mj_forward(self.model, self.data)
        self._contacts_s = self.time_s
        self._checkpoint = checkpoint or self.snapshot()

    def _check(self) -> None:
        """Stop at the first sign of a broken simulation, back at the last good state."""
        seen = self._warnings
        if not seen.any():
            return
        at_s = self.time_s
        warnings = [_WARNINGS[mujoco.mjtWarning(i).name] for i in np.flatnonzero(seen)]
        seen[:] = 0
        self.restore(self._checkpoint)
        raise SimulationDiverged(at_s, self.time_s, warnings)


def check_duration(seconds: float) -> None:
    """Refuse a length of time that cannot pass."""
    if not (isinstance(seconds, (int, float)) and math.isfinite(seconds) and seconds >= 0.0):
        raise BadValue("seconds", seconds, "a finite number not below 0")
