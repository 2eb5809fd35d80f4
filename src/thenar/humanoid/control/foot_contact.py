"""Forces on the feet, estimated from the joints: inverse dynamics between two instants, and a probability.

What the joints' motion needs beyond their drives and end stops comes from outside: the ground. While only the feet can
touch it, their forces follow from the legs' joints. A robot that lies there touches it with other links too: then every
low place of the body may be pushed, upwards and within friction; of all forces that explain the motion, the least.
Hands may push against the legs as well, which pushes both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thenar.arrays import FloatArray, IntArray, cross
from thenar.hands.shapes import Capsule, Sphere
from thenar.humanoid.model.body_spec import BodySpec, Load
from thenar.humanoid.state.kindyn import LinkData
from thenar.humanoid.state.parts import ContactData
from thenar.humanoid.state.robot_data import RobotSnapshot

SETTLED = 1e-3  # change of all forces in an iteration, against their size

# Tuned against the simulator's truth; no values of the vendor are public.
TOUCH_N, LIFT_N = 3.0, 2.0  # a foot in the air is down from the first on, one that was down is up below the second
SPREAD_N = 0.25  # width of the change from unlikely to likely
# How much the base's rows count beside the joints': what pushes or holds the trunk shows in them alone. That of a robot
# that lies on the ground is pushed by the ground that is looked for.
BASE_WEIGHT, LYING_BASE_WEIGHT = 3e-4, 0.01
NEAR_M = 0.003  # places of the body below this height may touch the ground
FRICTION = 1.0  # of the ground
ITERATIONS = 150  # of the solver for a robot that lies; it goes on from the last instant and settles in a tenth of them


class ContactEstimator:
    """Estimator of the ground's forces on the feet. It has a past: give it every instant, in order."""

    def __init__(self, body: BodySpec, *, loads: Iterable[Load] = ()):
        """Of a robot with what its links carry, which can touch the ground too."""
        self._damping = np.concatenate([np.zeros(6), body.per_joint("damping_nms_rad")])
        self._places = _Places.of(body, loads)
        self._down = np.zeros(2, dtype=bool)
        self._before: RobotSnapshot | None = None
        self._pushes = np.zeros((len(self._places.link), 3))

    def step(self, now: RobotSnapshot) -> ContactData:
        """The estimate with one more instant."""
        before, self._before = self._before, now
        if before is None or not 0.0 < now.stamp_s - before.stamp_s < 0.1:  # the first instant, or after a gap: at rest
            before = now
            outside = now.kindyn_data.nle - now.gener_state.tau
        else:
            qd = now.gener_state.qd
            needed = before.kindyn_data.M @ _acceleration(before, now) + before.kindyn_data.nle
            outside = needed + self._damping * qd - now.gener_state.tau
        if now.stop_tau is not None:
            outside[6:] -= now.stop_tau
        placements = before.kindyn_data.colliding_placements()
        arms, heights = self._places.low_points(placements)
        low = np.flatnonzero(heights < NEAR_M)
        held = self._places.on_legs(placements, NEAR_M)
        if held or self._places.foot[low].min(initial=0) < 0:
            force = self._lying(before.kindyn_data.colliding_links(), arms, low, held, outside)
        else:
            self._pushes[:] = 0.0
            force = self._standing(before, outside)
        return ContactData(
            stamp_s=now.stamp_s, valid=True, contact_force=force, contact_prob=self._probability(force[:, 2])
        )

    def _standing(self, now: RobotSnapshot, outside: FloatArray) -> FloatArray:
        """Forces and torques on the feet that explain the outside forces best. Shape (2, 6)."""
        left, right = now.kindyn_data.feet_W
        weight = np.ones(outside.size)
        weight[:6] = BASE_WEIGHT
        J = np.concatenate([left.J, right.J]) * weight
        forces = np.linalg.solve(J @ J.T, J @ (weight * outside))
        return np.asarray(forces, dtype=np.float64).reshape(2, 6)

    def _lying(
        self, links: tuple[LinkData, ...], arms_m: FloatArray, low: IntArray, held: list[_Held], outside: FloatArray
    ) -> FloatArray:
        """The same, when any low place of the body may be pushed by the ground, and legs by hands. Shape (2, 6)."""
        places, weight = self._places, np.ones(outside.size)
        weight[:6] = LYING_BASE_WEIGHT
        rows = [_point_jacobian(links[places.link[i]], arms_m[i]) for i in low]
        rows += [
            axes @ (_point_jacobian(links[hand], hand_arm_m) - _point_jacobian(links[leg], leg_arm_m))
            for hand, leg, hand_arm_m, leg_arm_m, axes in held
        ]
        J = np.concatenate(rows) * weight
        pushes = least_pushes(
            J,
            weight * outside,
            start_n=np.concatenate([self._pushes[low], np.zeros((len(held), 3))]),
            friction=FRICTION,
            iterations=ITERATIONS,
        )[: len(low)]
        self._pushes[:] = 0.0
        self._pushes[low] = pushes
        force = np.zeros((2, 6))
        for place, push in zip(low, pushes, strict=True):
            if places.foot[place] >= 0:
                force[places.foot[place]] += [*push, *cross(arms_m[place], push)]
        return force

    def _probability(self, force_n: FloatArray) -> FloatArray:
        self._down = np.where(self._down, force_n > LIFT_N, force_n > TOUCH_N)
        middle = np.where(self._down, LIFT_N, TOUCH_N)
        return 1.0 / (1.0 + np.exp(np.clip(-(force_n - middle) / SPREAD_N, -50.0, 50.0)))


def least_pushes(
    J: FloatArray, outside: FloatArray, *, start_n: FloatArray, friction: float, iterations: int
) -> FloatArray:
    """Forces of the ground at some points, upwards and within friction, that explain generalized forces [N].

    Accelerated projected gradient; where several do, small ones. Shape (points, 3).

    Args:
        J: Jacobian of the points. Shape (3 points, nv).
        outside: Generalized forces to explain. Shape (nv,).
        start_n: Forces to start from. Shape (points, 3).
        friction: Largest ratio of horizontal to vertical force.
        iterations: At most so many.
    """
    H, g = J @ J.T + 1e-6 * np.eye(len(J)), J @ outside
    # Each point in units of its own, or those that move much would slow the others down; a cone is the same in any.
    unit = np.repeat(1.0 / np.sqrt(np.diagonal(H).reshape(-1, 3).max(axis=1)), 3)
    H, g = unit[:, None] * H * unit, unit * g
    step = 1.0 / np.linalg.norm(H, 2)
    x = ahead = start_n.ravel() / unit
    pace = 1.0
    for _ in range(iterations):
        new = _into_cones((ahead - step * (H @ ahead - g)).reshape(-1, 3), friction).ravel()
        moved = new - x
        if (ahead - new) @ moved > 0.0:  # overshot: slow down
            pace = 1.0
        faster = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * pace * pace))
        ahead = new + (pace - 1.0) / faster * moved
        x, pace = new, faster
        if moved @ moved < SETTLED**2 * (x @ x):
            break
    return (unit * x).reshape(-1, 3)


def _into_cones(force_n: FloatArray, friction: float) -> FloatArray:
    """The nearest forces that push up and do not slip. Shape (n, 3)."""
    across = np.hypot(force_n[:, 0], force_n[:, 1])
    up = force_n[:, 2]
    on_cone = np.clip((friction * across + up) / (1.0 + friction * friction), 0.0, None)
    new_up = np.where(across <= friction * up, up, on_cone)
    new_across = np.minimum(across, friction * new_up)
    scale = new_across / np.maximum(across, 1e-12)
    return np.stack([scale * force_n[:, 0], scale * force_n[:, 1], new_up], axis=1)


class _Held(NamedTuple):
    """A hand against a leg: their links, and the place against the origins of both [m]."""

    hand: int
    leg: int
    hand_arm_m: FloatArray
    leg_arm_m: FloatArray
    axes: FloatArray
    """Of the contact; the last leaves the leg. Shape (3, 3)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Places:
    """Points of a body that can touch the ground: ends of capsules, balls, and the ends of the hands it carries."""

    link: IntArray
    """Index among `BodySpec.touching`. Shape (n,)."""
    foot: IntArray
    """0 left, 1 right, -1 no foot. Shape (n,)."""
    pos_m: FloatArray
    """Centre of the end, in the link. Shape (n, 3)."""
    radius_m: FloatArray
    first_of_hands: int
    """Ends before it belong to the body: those of capsules first, in pairs."""
    legs: IntArray
    """First ends of the legs' capsules."""

    @staticmethod
    def of(body: BodySpec, loads: Iterable[Load]) -> _Places:
        index = {name: index for index, name in enumerate(body.touching)}
        feet = {name: side for side, name in enumerate(body.roles.feet)}
        shapes = [(index[link.name], feet.get(link.name, -1), shape) for link in body.links for shape in link.collision]
        ends = [
            (link, foot, end_m, shape.radius_m)
            for link, foot, shape in shapes
            if isinstance(shape, Capsule)
            for end_m in (shape.start_m, shape.end_m)
        ]
        capsule_ends = len(ends)
        ends += [(link, foot, ball.centre_m, ball.radius_m) for link, foot, ball in shapes if isinstance(ball, Sphere)]
        body_ends = len(ends)
        ends += [(index[load.link], -1, tuple(end[:3]), float(end[3])) for load in loads for end in load.ends_m]
        link, foot, pos_m, radius_m = (np.array(column) for column in zip(*ends, strict=True))
        joints = {*body.groups["left_leg"], *body.groups["right_leg"]}
        moved = {index.get(hinge.child) for hinge in body.hinges if hinge.name in joints}
        legs = [end for end in range(0, capsule_ends, 2) if link[end] in moved]
        return _Places(
            link=link, foot=foot, pos_m=pos_m, radius_m=radius_m, first_of_hands=body_ends, legs=np.array(legs)
        )

    def low_points(self, placements: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lowest point of each end against its link's origin, in world axes, and its height [m]."""
        placement = placements[self.link]
        arm = (placement[:, :3, :3] @ self.pos_m[:, :, None])[:, :, 0]
        arm[:, 2] -= self.radius_m
        return arm, placement[:, 2, 3] + arm[:, 2]

    def on_legs(self, placements: FloatArray, near_m: float) -> list[_Held]:
        """Ends of hands that are this near to a leg, or in it."""
        if self.first_of_hands == len(self.link):
            return []
        placement = placements[self.link]
        ends = placement[:, :3, 3] + (placement[:, :3, :3] @ self.pos_m[:, :, None])[:, :, 0]
        start, along = ends[self.legs], ends[self.legs + 1] - ends[self.legs]
        from_start = ends[self.first_of_hands :, None] - start  # (ends of hands, capsules, 3)
        share = np.clip((from_start * along).sum(axis=2) / (along * along).sum(axis=1), 0.0, 1.0)
        away = from_start - share[:, :, None] * along
        far_m = np.sqrt((away * away).sum(axis=2))
        gap_m = far_m - self.radius_m[self.legs] - self.radius_m[self.first_of_hands :, None]
        held = []
        for number, capsule in np.argwhere(gap_m < near_m):
            hand, leg = int(self.link[self.first_of_hands + number]), int(self.link[self.legs[capsule]])
            out = away[number, capsule] / max(far_m[number, capsule], 1e-9)
            at_m = ends[self.first_of_hands + number] - self.radius_m[self.first_of_hands + number] * out
            side = np.eye(3)[np.argmin(np.abs(out))]
            side = cross(out, side) / np.linalg.norm(cross(out, side))
            axes = np.array([side, cross(out, side), out])
            held.append(_Held(hand, leg, at_m - placements[hand, :3, 3], at_m - placements[leg, :3, 3], axes))
        return held


def _point_jacobian(link: LinkData, arm_m: FloatArray) -> FloatArray:
    """Jacobian of a point that is so far from a link's origin, in world axes. Shape (3, nv)."""
    x, y, z = arm_m
    return link.J[:3] - np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) @ link.J[3:]


def _acceleration(before: RobotSnapshot, now: RobotSnapshot) -> FloatArray:
    """Mean acceleration from one instant to the next, in the axes of the first. Shape (nv,)."""
    qd, new = before.gener_state.qd, now.gener_state.qd
    dt_s = now.stamp_s - before.stamp_s
    acceleration = (new - qd) / dt_s
    R = before.base_data.R
    # The base's velocity is in axes that turn with it.
    acceleration[:3] = (R.T @ now.base_data.R @ new[:3] - qd[:3]) / dt_s - cross(qd[3:6], qd[:3])
    return acceleration
