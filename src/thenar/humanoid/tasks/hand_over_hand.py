"""An example with arms and fingers: a staff in front of the robot is pulled up hand over hand, then let down again.

While one hand holds the staff and lifts it, the other goes down beside it and takes hold below; then they swap.
Nothing sees the staff: a free hand goes to where it must be, given where the other one holds it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from thenar.arrays import FloatArray
from thenar.errors import BadCommand
from thenar.hands.rotations import matrix_from_rpy, quat_wxyz_from_matrix
from thenar.humanoid.control.inverse_kinematics import ARM_ITERATIONS, solve_arm
from thenar.humanoid.control.trajectory import Trajectory
from thenar.humanoid.state.robot_data import RobotData
from thenar.humanoid.tasks.examples import UpperBodyTask

STAFF_AHEAD_M = 0.34
"""Where the staff stands: this far in front of the middle of the feet [m]."""
LOW_M, HIGH_M = 1.07, 1.24  # heights of the two grips over the ground; an open thumb stands between them
ASIDE_M = 0.09  # how far beside the staff a free hand is
TURNED_IN_RAD = 0.5  # fingers point forwards and this much inwards
# Where the staff is in the frame of the left hand's link: when it is held, and where a hand that reaches for it aims.
HELD_M, REACHED_M = np.array([0.0, -0.037, -0.062]), np.array([0.0, -0.040, -0.070])
CLOSED = 0.9  # of the fingers' way
THUMB = 4  # first motor of the thumb in a hand of six
UPRIGHT_PER_S = 0.7  # how fast a hand that holds the staff brings it back upright
MAX_LEAN_RAD = 0.12
MOVE_S = 0.8  # from one moment of the plan to the next
TRACKING_ITERATIONS = 10  # for the arms' angles, from those of the last time
R_WORLD_HAND = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  # thumb up, fingers forwards
SIDES, OUT = ("left", "right"), (1.0, -1.0)


@dataclass(frozen=True, kw_only=True)
class Hold:
    """One hand's part of the plan at one moment."""

    height_m: float
    aside_m: float = 0.0
    closed: float = CLOSED


Moment = tuple[Hold, Hold]
"""The left hand, the right hand."""


def plan() -> list[Moment]:
    """Take hold with both hands, pull up twice, let down twice; from the third moment on it can be repeated."""
    both: Moment = (Hold(height_m=HIGH_M), Hold(height_m=LOW_M))
    reached: Moment = (replace(both[0], closed=0.0), replace(both[1], closed=0.0))
    beside: Moment = (replace(reached[0], aside_m=ASIDE_M), replace(reached[1], aside_m=ASIDE_M))
    moments = [beside, reached, both]
    for holder in (1, 0, 0, 1):  # up with the right hand, with the left; down with the left, with the right
        moments += [moments[-1], *_stroke(moments[-1], holder)]  # a moment's rest in both hands
    return moments


def _stroke(now: Moment, holder: int) -> list[Moment]:
    """The free hand lets go and changes places with the holder, which takes the staff along; then both hold it."""
    free = now[1 - holder]
    to_m = now[holder].height_m
    steps = [
        (now[holder], replace(free, closed=0.0)),
        (now[holder], replace(free, closed=0.0, aside_m=ASIDE_M)),
        (replace(now[holder], height_m=free.height_m), replace(free, closed=0.0, aside_m=ASIDE_M, height_m=to_m)),
        (replace(now[holder], height_m=free.height_m), replace(free, closed=0.0, height_m=to_m)),
        (replace(now[holder], height_m=free.height_m), replace(free, height_m=to_m)),
    ]
    return [(held, other) if holder == 0 else (other, held) for held, other in steps]


class HandOverHandTask(UpperBodyTask):
    """Pulls a staff up and lets it down, hand over hand."""

    def enter(self, data: RobotData) -> bool:
        """Find the place of the staff in the world, and both hands' way beside it."""
        self._moments = plan()
        left, right = data.kindyn_data.feet_W
        across = left.p - right.p
        ahead = np.array([across[1], -across[0], 0.0]) / np.hypot(across[0], across[1])
        self._upright = np.concatenate([(0.5 * (left.p + right.p) + STAFF_AHEAD_M * ahead)[:2], np.zeros(2)])
        self._staff = [self._upright, self._upright]
        self._axis = [np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])]
        self._heading_rad = float(np.arctan2(ahead[1], ahead[0]))
        self._arms = self._reach(data, data.body.default_q_rad, self._moments[0])
        return super().enter(data)

    def posture(self, data: RobotData, since_s: float) -> FloatArray:
        """Arms where the plan wants the hands now, however the trunk sways meanwhile."""
        now = self._at(since_s)
        self._staff = [self._line(data, now, side) for side in (0, 1)]
        try:
            self._arms = self._reach(data, self._arms, now, iterations=TRACKING_ITERATIONS)
        except BadCommand:
            data.board.refuse(f"{self.name}: the staff is out of reach; the arms stay where they are")
        return self._arms.copy()

    def execute(self, data: RobotData) -> None:
        """Arms, then fingers."""
        super().execute(data)
        now = self._at(data.stamp_s - self._lead_in.end_s)
        for side, hold in zip(SIDES, now, strict=True):
            hand = f"{side}_hand"
            if hand in data.board.hands:
                lower, upper = data.board.hands[hand]
                # Fingers draw the staff into the palm, then the thumb closes over it.
                share = np.full(lower.size, min(2.0 * hold.closed, CLOSED))
                share[THUMB:] = max(2.0 * hold.closed - CLOSED, 0.0)
                data.hardware_data.set_hand_pvc(hand, lower + share * (upper - lower))

    def _at(self, since_s: float) -> Moment:
        """The plan after a time in motion."""
        number = max(int(since_s // MOVE_S), 0)
        count, again = len(self._moments), len(self._moments) - 2  # the last moment equals the third
        number = number if number < count - 1 else 2 + (number - 2) % (again - 1)
        share = since_s / MOVE_S - since_s // MOVE_S if since_s > 0.0 else 0.0
        points = np.array(
            [[[*vars(hold).values()] for hold in moment] for moment in self._moments[number : number + 2]]
        )
        values = Trajectory(points_rad=points, start_s=0.0, duration_s=1.0).at(share)[0]
        left, right = (Hold(height_m=h, aside_m=a, closed=c) for h, a, c in values.tolist())
        return left, right

    def _line(self, data: RobotData, moment: Moment, side: int) -> FloatArray:
        """The staff as a hand shall meet it: x and y [m] at the height of the grips, and their slopes with height."""
        hands = data.kindyn_data.hands_W
        left, right = (hand.p + hand.R @ (HELD_M * [1.0, out, 1.0]) for hand, out in zip(hands, OUT, strict=True))
        other = 1 - side
        if moment[side].closed == moment[other].closed == CLOSED:
            self._axis[side] = hands[side].R.T @ (left - right)  # how it lies in this hand: through both grips
        if moment[side].closed == 0.0 and moment[other].closed == CLOSED:
            grip, axis = (left, right)[other], hands[other].R @ self._axis[other]
            slope = axis[:2] / axis[2]
            return np.concatenate([grip[:2] - slope * (grip[2] - LOW_M), slope])
        if moment[side].closed == CLOSED:  # brings it upright
            return self._staff[side] + UPRIGHT_PER_S * self.period_s * (self._upright - self._staff[side])
        return self._staff[side]

    def _reach(self, data: RobotData, q: FloatArray, moment: Moment, *, iterations: int = ARM_ITERATIONS) -> FloatArray:
        """Joint angles that bring both hands to where a moment wants them."""
        base, q = data.kindyn_data.base_W, q.copy()
        for side, out, hold, (x, y, lean_x, lean_y) in zip(SIDES, OUT, moment, self._staff, strict=True):
            R_wh = matrix_from_rpy((0.0, 0.0, self._heading_rad - out * TURNED_IN_RAD)) @ R_WORLD_HAND
            turn = np.clip([-lean_y, lean_x], -MAX_LEAN_RAD, MAX_LEAN_RAD)  # wrists turn no further
            R_wh = matrix_from_rpy((turn[0], turn[1], 0.0)) @ R_wh
            above_m = hold.height_m - LOW_M
            point = np.array([x + lean_x * above_m, y + lean_y * above_m, hold.height_m])
            place = point - R_wh @ (REACHED_M * [1.0, out, 1.0] - [0.0, out * hold.aside_m, 0.0])
            group = f"{side}_manipulator"
            q[data.body.group_slice(group)] = solve_arm(
                data,
                group,
                q,
                pos_m=base.R.T @ (place - base.p),
                quat_xyzw=np.roll(quat_wxyz_from_matrix(base.R.T @ R_wh), -1),
                iterations=iterations,
            )
        return q
