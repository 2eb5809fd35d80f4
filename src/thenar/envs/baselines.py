"""Scripted policies, one for each task: the floor that a learned one has to rise above.

They see what a policy sees. Where there is no touch they go by the forces that motors report.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thenar.arrays import FloatArray
from thenar.envs.grasp_tasks import FINGERS, DelicateGrasp, HoldUnderPull, LeastForce, Pinch
from thenar.envs.hand_env import HandEnv, Observation
from thenar.envs.randomise import NOTHING
from thenar.envs.rotate_task import RotateInHand
from thenar.envs.touch_tasks import PressProfile, WhichObject

Policy = Callable[[Observation], NDArray[np.float32]]


class Felt:
    """An observation as a script reads it: named arrays, and values by name of the motor."""

    def __init__(self, env: HandEnv, observation: Observation):
        """Take it apart."""
        self.names = env.hand.actuator_names
        count = len(self.names)
        self.angle, self.speed, force, self.target = np.split(observation["observation"][: 4 * count], 4)
        self.motor_n = 10.0 * force
        self.least_n = 1.0
        """More than motors report, or pads read, where nothing touches [N]."""
        self.pads: dict[str, float] | None = None
        if "touch" in observation:
            pads, self.least_n = env.hand.pads, 0.5
            sums = observation["touch"]
            if env.touch == "taxels":
                sums = np.add.reduceat(sums, np.cumsum([0, *(pad.taxels for pad in pads[:-1])]))
            self.pads = {pad.name: float(force) for pad, force in zip(pads, sums[: len(pads)], strict=True)}

    def force_n(self, finger: str) -> float:
        """Force on a finger's pads, or what its motors report where nothing is felt [N]."""
        if self.pads is not None:
            return sum(force for pad, force in self.pads.items() if pad.startswith(finger))
        return self.pushed_n(finger)

    def pushed_n(self, finger: str) -> float:
        """What a finger's motors report, also where it touches beside its pads [N]."""
        return max(float(self.motor_n[k]) for k, name in enumerate(self.names) if name.startswith(finger))


def close_firmly(env: HandEnv) -> Policy:
    """Close everything as far as it goes, the thumb in front of the palm."""
    return lambda observation: np.ones(env.action_size, dtype=np.float32)


def close_gently(env: HandEnv, *, until_n: float = 2.0, approach: float = 0.2) -> Policy:
    """Close every finger until it feels something, then keep that force."""

    def act(observation: Observation) -> NDArray[np.float32]:
        felt = Felt(env, observation)
        fingers = [name.partition("_")[0] for name in felt.names]
        forces = np.array([max(felt.force_n(finger), felt.pushed_n(finger)) for finger in fingers])
        moves = np.where(forces > felt.least_n, np.clip(0.05 * (until_n - forces), -0.3, 0.1), approach)
        return moves.astype(np.float32)

    return act


def follow_force(env: HandEnv, *, gain: float = 0.15, approach: float = 0.7) -> Policy:
    """Go on until something is felt, then close the more the more force is missing: an integrator."""
    groups = list(env.groups)

    def act(observation: Observation) -> NDArray[np.float32]:
        felt, wanted = Felt(env, observation), float(observation["goal"][0])
        forces = np.array([felt.force_n(group) for group in groups])
        touching = forces > felt.least_n
        return np.where(touching, np.clip(gain * (wanted - forces), -1.0, 1.0), approach).astype(np.float32)

    return act


def loosen(env: HandEnv, *, keep_n: float = 2.0, keep_motors_n: float = 3.5) -> Policy:
    """Loosen until the force, felt or else reported by motors, is what holds an average thing, and stay there."""

    def act(observation: Observation) -> NDArray[np.float32]:
        felt = Felt(env, observation)
        force_n = sum(felt.force_n(finger) for finger in FINGERS)
        wanted_n = keep_motors_n if felt.pads is None else keep_n
        return np.clip(0.05 * (wanted_n - np.array([force_n])), -0.3, 0.1).astype(np.float32)

    return act


def compare_shapes(env: HandEnv) -> Policy:
    """Close, and name the thing whose middling specimen stops the fingers at the most similar angles."""
    assert isinstance(env, WhichObject)
    model = type(env)(hand=env.hand, touch=env.touch, randomise=NOTHING, profile=env.profile)
    known: dict[int, FloatArray] = {}
    seed = 0
    while len(known) < env.answers:
        observation, info = model.reset(seed=seed)
        seed += 1
        if int(info["kind"]) not in known:
            for _ in range(40):
                observation = model.step(np.ones(model.action_size, dtype=np.float32))[0]
            known[int(info["kind"])] = Felt(model, observation).angle.astype(np.float64)
    model.close()

    def act(observation: Observation) -> NDArray[np.float32]:
        felt = Felt(env, observation)
        apart = [float(np.linalg.norm(felt.angle - known[kind])) for kind in range(env.answers)]
        answer = np.where(np.arange(env.answers) == int(np.argmin(apart)), 1.0, -1.0)
        return np.concatenate([np.ones(len(felt.names)), answer]).astype(np.float32)

    return act


# How far a finger turns a middling cube that it pushes aside [degrees], by share of its stroke.
_FIRST_FINGER = ((5.0, 10.0, 17.0, 22.0, 25.0), (0.4, 0.6, 0.8, 0.9, 1.0))
_RING_FINGER = ((4.0, 7.0, 11.0, 14.0), (0.4, 0.6, 0.8, 0.9))
_THUMB = ((7.0, 22.0), (0.0, 0.5))


def push_aside(env: HandEnv) -> Policy:
    """Push one side of the cube with one finger, the farther the more it is to be turned."""
    mirrored = -1.0 if env.hand.side == "left" else 1.0

    def act(observation: Observation) -> NDArray[np.float32]:
        felt, turn_deg = Felt(env, observation), mirrored * float(np.degrees(observation["goal"][0]))
        wanted = dict(zip(felt.names, felt.target, strict=True))
        if turn_deg > _RING_FINGER[0][-1]:
            bent = float(np.interp(turn_deg, *_THUMB))
            wanted |= {"THJ5": 1.0, "THJ4": 1.0, "THJ2": bent, "THJ1": bent}
        else:
            finger, turned = ("RF", _RING_FINGER) if turn_deg > 0.0 else ("FF", _FIRST_FINGER)
            wanted |= {f"{finger}J3": float(np.interp(abs(turn_deg), *turned)), f"{finger}J0": 0.3}
        moves = (np.array([wanted[name] for name in felt.names]) - felt.target) / env.stroke_per_step
        return np.clip(moves, -1.0, 1.0).astype(np.float32)

    return act


SCRIPTED: dict[type[HandEnv], Callable[[HandEnv], Policy]] = {
    HoldUnderPull: close_firmly,
    DelicateGrasp: close_gently,
    Pinch: follow_force,
    PressProfile: follow_force,
    LeastForce: loosen,
    WhichObject: compare_shapes,
    RotateInHand: push_aside,
}
"""The scripted policy of every task."""


def evaluate(env: HandEnv, policy: Callable[[HandEnv], Policy], seeds: range, *, steps: int = 100) -> FloatArray:
    """Return and success (1 or 0) at the end of one episode for each seed. Shape (seeds, 2)."""
    found = []
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        act, total, over = policy(env), 0.0, False
        for _ in range(steps):
            observation, reward, over, _, info = env.step(act(observation))
            total += reward
            if over:
                break
        found.append((total, float(info["is_success"] and not over)))
    return np.array(found)
