"""The compiled solver with the memory it needs: frames in, angles out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue
from thenar.retarget.config import RetargetConfig
from thenar.retarget.kernel.solve import solve_frames
from thenar.retarget.kernel.solver_memory import STATE, TARGETS, TUNING, WAY_STEPS, WORK, as_record
from thenar.retarget.kernel.targets import USUAL_FINGER_M, finger_length_m, targets_of_frames
from thenar.retarget.model.collision_hulls import min_distance_m
from thenar.retarget.model.hand_model import HandModel
from thenar.signals import FloatArray

if TYPE_CHECKING:
    from thenar.retarget.fit import LinearMap

SETTLE_FRAMES, SETTLE_STEP_S = 80, 0.05
FREE_SPEED = 100.0
STARTS, NEARER_M = 10, 0.0005


class Solver:
    """One hand on its way through one sequence of frames: warm-started from the frame before."""

    def __init__(self, model: HandModel, config: RetargetConfig | None = None, linear_map: LinearMap | None = None):
        """Prepare a hand, open and at rest; arguments as for `Retargeter`."""
        self.model = model
        tuning = (config or RetargetConfig()).tuning()
        # The second is of a hand that comes from open: free of its past, as fast as it likes, and soon at its end.
        free = tuning._replace(friction_rad=0.0, reversal_share=1.0, prediction_s=0.0, speed_scale=FREE_SPEED, rest=0.0)
        free = free._replace(slide_weight=0.5, touch_slide=0.1, pinch_damping=6.0)
        free = free._replace(converged_rad=2.0 * tuning.trust_region_rad)  # one iteration is a step, and costs as much
        on_way = free._replace(pinch_zone=1.0)  # the thumb comes round in few steps
        self._tuning = np.array([tuning, free, on_way], TUNING)
        self._alone = self._tuning[1:].copy()
        self._alone["contact"] = self._alone["pinch"] = 0.0
        self._targets = _target_record(model, linear_map)
        self._work = np.zeros(1, WORK)
        self.reset()

    def reset(self) -> None:
        """Open the hand, at rest."""
        self._state = np.repeat(as_record(STATE, {"angle_rad": self.model.open_rad}), 2)
        self._state["min_distance_m"] = -1.0
        self._state["wanted_rad"] = self._state["angle_rad"]
        self._state["node_m"] = np.nan
        fingers = len(self.model.fingers)
        self.angle_rad: FloatArray = self._state["angle_rad"][0, : len(self.model.variables)]
        """Variables of the last frame [rad]. Shape (v,)."""
        self.tip_error_m: FloatArray = self._state["tip_error_m"][0, :fingers]
        """How far each fingertip is from where the person's points it [m]. Shape (f,)."""
        self.why: NDArray[np.int64] = self._state["why"][0, :fingers]
        """What keeps each finger from there: a sum of REACH, SPEED, CONTACT, PINCH. Shape (f,)."""

    def begin_at(self, variable_rad: FloatArray) -> None:
        """Start from a posture, at rest; one beyond the limits starts at them. Shape (v,)."""
        self.reset()
        count = len(self.model.variables)
        lower, upper = (self.model.record[name][0, :count] for name in ("lower_rad", "upper_rad"))
        self._state["angle_rad"][0, :count] = self._state["wanted_rad"][0, :count] = np.clip(variable_rad, lower, upper)

    def settle(self, nodes: FloatArray) -> None:
        """Take the posture that a hand comes to when it is shown one frame for long. Shape (21, 3).

        It is first sought without contact: where hulls are apart in that posture it is the best there is. Else the hand
        is led to it from open, in contact.
        """
        alone_rad = self._without_contact(nodes)
        self.reset()
        if min_distance_m(self.model.record, alone_rad) >= 0.0:
            self.begin_at(alone_rad)
        else:
            start = self._targets["open_node_m"][0] * (finger_length_m(nodes) / USUAL_FINGER_M)
            way = start + np.arange(1, WAY_STEPS + 1)[:, None, None] / WAY_STEPS * (nodes - start)
            self._stay(way, self._tuning[2:])
        self._state["min_distance_m"] = -1.0  # nothing is known of distances yet
        self._stay(nodes[None], self._tuning[1:])
        self._state["velocity_rad_s"] = self._state["way"] = 0.0
        self._state["wanted_rad"] = self._state["angle_rad"]

    def _without_contact(self, nodes: FloatArray) -> FloatArray:
        """The posture in which each finger comes nearest, from open or from elsewhere in its range. Shape (v,).

        Joints that turn far have postures that small steps do not leave, though another is nearer: LEAP's thumb, which
        turns about its length by 140 degrees.
        """
        record, fingers = self.model.record[0], range(len(self.model.fingers))
        v = len(self.model.variables)
        lower, upper = record["lower_rad"][:v], record["upper_rad"][:v]
        best_rad, best_m = self.model.open_rad.copy(), np.full(len(fingers), np.inf)
        for number in range(STARTS if self._targets["linear"][0] else 1):  # directions are met from open
            share = (number * (0.5 + 0.618 * np.arange(v))) % 1.0  # anywhere, but evenly and always the same
            self.begin_at(lower + share * (upper - lower) if number else self.model.open_rad)
            self._stay(nodes[None], self._alone)
            for f in fingers:
                if self.tip_error_m[f] < best_m[f] - NEARER_M:
                    tip = record["pad_joint"][f]
                    own = record["variable"][record["chain"][tip][: record["chain_length"][tip]]]
                    best_rad[own], best_m[f] = self.angle_rad[own], self.tip_error_m[f]
            if best_m.max() < NEARER_M:
                break
        return best_rad

    def _stay(self, way: FloatArray, tuning: NDArray[np.void]) -> None:
        """Follow a way and stay at its end. Shape (n, 21, 3)."""
        frames = np.concatenate([way, np.repeat(way[-1:], SETTLE_FRAMES, axis=0)])
        step_s, out_rad = np.full(len(frames), SETTLE_STEP_S), np.empty((len(frames), len(self.model.variables)))
        solve_frames(self.model.record, tuning, self._targets, self._state, self._work, frames, step_s, out_rad)

    def follow(self, nodes: FloatArray, step_s: FloatArray, out_rad: FloatArray) -> None:
        """Follow frames one after the other.

        Args:
            nodes: Frames as the hand's own side has them [m]. Shape (n, 21, 3).
            step_s: Time from the frame before [s]. Shape (n,).
            out_rad: Is filled with the variables of each frame [rad]. Shape (n, v).
        """
        solve_frames(self.model.record, self._tuning, self._targets, self._state, self._work, nodes, step_s, out_rad)


def key_point_targets_m(model: HandModel, nodes: FloatArray, linear_map: LinearMap | None = None) -> FloatArray:
    """Targets of the key points for many frames, in the root frame [m]. Shape (n, p, 3)."""
    out = np.empty((len(nodes), int(model.record["points"][0]), 3))
    targets_of_frames(model.record, _target_record(model, linear_map), np.ascontiguousarray(nodes), out)
    return out


def open_nodes(model: HandModel, linear_map: LinearMap | None = None) -> FloatArray:
    """A person's hand for which the robot's is open [m]: of usual size, or of the size that a linear map takes to it.

    Joints that the robot lacks lie midway between their neighbours, and fingers that it lacks with the next one.
    Shape (21, 3).
    """
    points, chains = model.points_m(model.open_rad)[0], dict[int, FloatArray]()
    for f, (finger, part) in enumerate(zip(model.fingers, model.point_slices, strict=True)):
        if linear_map is None:
            used = (points[part] - model.palm_m) @ finger.R
        else:
            wanted = (points[part] - model.palm_m) @ model.R_palm - linear_map.shift_m[f]
            used = np.linalg.lstsq(linear_map.matrix[f], wanted.T, rcond=None)[0].T
        first, at = finger.nodes[0], range(finger.nodes[0], finger.nodes[0] + 4)
        chains[first // 4] = np.stack([np.interp(at, finger.nodes, column) for column in used.T], axis=1)
    _, *there = chains
    fingers = [chains.get(n, chains[min(there, key=lambda other: abs(other - n))]) for n in range(5)]
    nodes = np.concatenate([np.zeros((1, 3)), *fingers])
    return nodes if linear_map is not None else nodes * (USUAL_FINGER_M / finger_length_m(nodes))


def _target_record(model: HandModel, linear_map: LinearMap | None) -> NDArray[np.void]:
    """A linear map as the solver reads it, or segment directions times robot lengths: nothing to fit."""
    open_m = open_nodes(model)
    # The way to a still hand begins with joints that the robot lacks at the wrist. That lengthens the fingers by which
    # pinches are scaled, so a thumb that needs time comes round before fingers close on its place: a fist closes.
    open_m[sorted(set(range(len(open_m))) - {node for finger in model.fingers for node in finger.nodes})] = 0.0
    if linear_map is None:
        return as_record(TARGETS, {"open_node_m": open_m})
    if linear_map.hand != model.hand.name:
        raise BadValue("linear_map", f"one of {linear_map.hand}", f"a map that was fitted for {model.hand.name}")
    if linear_map.fingers != model.finger_names:
        got, wanted = ", ".join(linear_map.fingers), ", ".join(model.finger_names)
        raise BadValue("linear_map", f"one of {got}", f"one of {wanted}, as {model.hand.name} has them")
    matrix = model.R_palm @ linear_map.matrix
    shift_m = model.palm_m + linear_map.shift_m @ model.R_palm.T
    return as_record(TARGETS, {"open_node_m": open_m, "linear": 1, "matrix": matrix, "shift_m": shift_m})
