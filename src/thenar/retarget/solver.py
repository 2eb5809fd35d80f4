"""The compiled solver with the memory it needs: frames in, angles out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thenar.errors import BadValue
from thenar.retarget.config import RetargetConfig
from thenar.retarget.kernel.records import STATE, TARGETS, TUNING, WORK, as_record
from thenar.retarget.kernel.solve import solve_frames
from thenar.retarget.kernel.targets import targets_of_frames
from thenar.retarget.model.collision_hulls import min_distance_m
from thenar.retarget.model.hand_model import HandModel
from thenar.signals import FloatArray

if TYPE_CHECKING:
    from thenar.retarget.fit import LinearMap

SETTLE_FRAMES, SETTLE_STEP_S = 80, 0.05


class Solver:
    """One hand on its way through one sequence of frames: warm-started from the frame before."""

    def __init__(self, model: HandModel, config: RetargetConfig | None = None, linear_map: LinearMap | None = None):
        """Prepare a hand, open and at rest; arguments as for `Retargeter`."""
        self.model = model
        self._tuning = np.array([(config or RetargetConfig()).tuning()], TUNING)
        self._targets = _target_record(model, linear_map)
        self._work = np.zeros(1, WORK)
        self.reset()

    @property
    def angle_rad(self) -> FloatArray:
        """Variables of the last frame [rad]. Shape (v,)."""
        return self._state["angle_rad"][0, : len(self.model.variables)]

    def reset(self) -> None:
        """Open the hand, at rest."""
        self._state = as_record(STATE, {"angle_rad": self.model.open_rad})
        self._state["min_distance_m"] = -1.0
        self._state["wanted_rad"] = self._state["angle_rad"]
        self._state["node_m"] = np.nan

    def begin_at(self, variable_rad: FloatArray) -> None:
        """Start from a posture, at rest; one beyond the limits starts at them. Shape (v,)."""
        self.reset()
        count = len(self.model.variables)
        lower, upper = (self.model.record[name][0, :count] for name in ("lower_rad", "upper_rad"))
        self._state["angle_rad"][0, :count] = self._state["wanted_rad"][0, :count] = np.clip(variable_rad, lower, upper)

    def settle(self, nodes: FloatArray) -> None:
        """Take the posture a hand comes to rest in when it is shown one frame for long. Shape (21, 3).

        It is first sought without contact: where hulls are apart in that posture it is the best there is. Else the hand
        comes to it from open, in contact, and may be held up on the way.
        """
        frames, step_s = np.repeat(nodes[None], SETTLE_FRAMES, axis=0), np.full(SETTLE_FRAMES, SETTLE_STEP_S)
        out = np.empty((SETTLE_FRAMES, len(self.model.variables)))
        chosen = self._tuning
        resting = chosen.copy()
        resting["friction_rad"] = 0.0
        self._tuning = resting.copy()
        self._tuning["contact"] = self._tuning["pinch"] = 0.0
        self.reset()
        self.follow(frames, step_s, out)
        self._tuning = resting
        if min_distance_m(self.model.record, self._state["angle_rad"][0]) < 0.0:
            self.reset()
        self._state["min_distance_m"] = -1.0  # nothing is known of distances yet
        self.follow(frames, step_s, out)
        self._tuning = chosen
        self._state["velocity_rad_s"] = self._state["way"] = 0.0
        self._state["wanted_rad"] = self._state["angle_rad"]

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


def _target_record(model: HandModel, linear_map: LinearMap | None) -> NDArray[np.void]:
    """A linear map as the solver reads it, or segment directions times robot lengths: nothing to fit."""
    if linear_map is None:
        return np.zeros(1, TARGETS)
    if linear_map.hand != model.hand.name:
        raise BadValue("linear_map", f"one of {linear_map.hand}", f"a map that was fitted for {model.hand.name}")
    matrix = model.R_palm @ linear_map.matrix
    shift_m = model.palm_m + linear_map.shift_m @ model.R_palm.T
    return as_record(TARGETS, {"linear": 1, "matrix": matrix, "shift_m": shift_m})
