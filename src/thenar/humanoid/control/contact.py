"""Forces on the feet, estimated from the joints: a momentum observer, and a probability with hysteresis.

The generalized momentum ``p = M qd`` changes by ``tau + C^T qd - g`` and by what pushes from outside. The observer
integrates what it knows and takes the rest for outside forces, smoothed with its gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thenar.arrays import FloatArray
from thenar.humanoid.model.body_spec import BodySpec
from thenar.humanoid.state.parts import ContactData
from thenar.humanoid.state.robot_data import RobotSnapshot


@dataclass(frozen=True, kw_only=True)
class ContactSettings:
    """Tuning of the contact estimate, against the simulator's truth; no values of the vendor are public."""

    gain_per_s: float = 60.0
    """How fast the estimate follows [1/s]: its time constant is 17 ms."""
    touch_n: float = 60.0
    """A foot that was in the air counts as down from this force on [N]: a tenth of the weight."""
    lift_n: float = 30.0
    """A foot that was down counts as up below this force [N]."""
    spread_n: float = 8.0
    """Width of the change from unlikely to likely [N]."""
    base_weight: float = 0.003
    """How much the base's rows count beside the legs': whatever pushes the trunk shows in them alone."""


class ContactEstimator:
    """Estimator of the ground's forces on the feet. It has a past: give it every instant, in order."""

    def __init__(self, body: BodySpec, settings: ContactSettings | None = None):
        self.settings = settings or ContactSettings()
        legs = [6 + np.arange(place.start, place.stop) for place in map(body.group_slice, ("left_leg", "right_leg"))]
        self._rows = np.concatenate([np.arange(6), *legs])
        self._weight = np.concatenate([np.full(6, self.settings.base_weight), np.ones(len(self._rows) - 6)])
        self._damping = np.concatenate([np.zeros(6), body.per_joint("damping_nms_rad")])
        self._down = np.zeros(2, dtype=bool)
        self._residual: FloatArray | None = None
        self._predicted = np.zeros(body.nv)
        self._stamp_s = 0.0

    def step(self, now: RobotSnapshot) -> ContactData:
        """The estimate with one more instant."""
        kindyn, state = now.kindyn_data, now.gener_state
        momentum = kindyn.M @ state.qd
        if self._residual is None or not 0.0 < now.stamp_s - self._stamp_s < 0.1:
            # Before the first instant, or after a gap: at rest the outside forces carry the weight.
            self._residual = kindyn.nle - state.tau
            self._predicted = momentum - self._residual / self.settings.gain_per_s
        else:
            inside = state.tau + kindyn.C.T @ state.qd - kindyn.g - self._damping * state.qd
            self._predicted += (now.stamp_s - self._stamp_s) * (inside + self._residual)
            self._residual = self.settings.gain_per_s * (momentum - self._predicted)
        self._stamp_s = now.stamp_s
        force = self._feet(now)
        return ContactData(
            stamp_s=now.stamp_s, valid=True, contact_force=force, contact_prob=self._probability(force[:, 2])
        )

    def _feet(self, now: RobotSnapshot) -> FloatArray:
        """Forces on the feet that explain the residual best. Shape (2, 6)."""
        assert self._residual is not None
        left, right = now.kindyn_data.feet_W
        J = np.concatenate([left.J, right.J])[:, self._rows] * self._weight
        forces = np.linalg.solve(J @ J.T, J @ (self._weight * self._residual[self._rows]))
        return np.asarray(forces, dtype=np.float64).reshape(2, 6)

    def _probability(self, force_n: FloatArray) -> FloatArray:
        settings = self.settings
        self._down = np.where(self._down, force_n > settings.lift_n, force_n > settings.touch_n)
        middle = np.where(self._down, settings.lift_n, settings.touch_n)
        return 1.0 / (1.0 + np.exp(np.clip(-(force_n - middle) / settings.spread_n, -50.0, 50.0)))
