"""Play a policy of train_hold.py on a hand over DDS: trained on a card, it drives the hand's own protocol.

    python play_hold.py hold_pads.npz                  # a twin of its own, with a marble that is held out to it
    python play_hold.py hold_pads.npz --domain 0       # whatever hand listens there; hold out a marble yourself

What the policy sees and does is in thenar.batch.hold: angles, forces, targets and pads of three steps, 25 times a
second, and two motors that are moved by 1 % of their stroke. Needs neither torch nor mjlab.
"""

import argparse
import json
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
from policy_file import load_policy

import thenar
from thenar import touch
from thenar.batch import hold
from thenar.wire import inspire_codec, inspire_counts

GRAM_FORCE_N, TENS_N = 0.00980665, 10.0
DOMAIN = 77  # of a twin that is made here
HAND = thenar.hands.load(hold.HAND)
AWAY_M = (0.0, 0.2, 0.3)
MOVED = [HAND.actuator_names.index(name) for name in hold.MOVED]
MODE = inspire_codec.Mode
SCALE = inspire_counts.Scale.of(HAND)
STROKE_RAD = HAND.closed_rad - HAND.open_rad


class WireHand:
    """The hand at the other end, as the policy sees and moves it."""

    def __init__(self, client: thenar.InspireClient):
        """Find what taxels read at rest, then go to the posture in which training begins."""
        self._client = client
        if not client.wait_until_heard(10.0) or not client.wait_for_news(touch=True, timeout_s=5.0):
            raise SystemExit("no hand listens and feels there; thenar inspect says why")
        resting = [self._counts() for _ in range(25)]
        self._rest = np.mean(resting, axis=0)
        calibration = touch.profile_of(HAND, "measured")
        self._gain = calibration.per_taxel(HAND.pads, "gain")
        self._firsts = np.cumsum([0, *(pad.taxels for pad in HAND.pads)])[:-1]
        self.target = np.array([hold.POSTURE.get(name, 0.0) for name in HAND.actuator_names])
        self._send(MODE.ANGLE | MODE.SPEED | MODE.FORCE)
        time.sleep(2.0)

    def pads_n(self) -> np.ndarray:
        """Force on every pad, as the skin says [N]."""
        return np.add.reduceat((self._counts() - self._rest) / self._gain, self._firsts)

    def shares(self) -> np.ndarray:
        """Where motors say they are, as shares of the stroke."""
        angle_rad = inspire_counts.command(SCALE, angle=self._client.readings.angle)[0].target_rad
        return (angle_rad - HAND.open_rad) / STROKE_RAD

    def motors(self) -> np.ndarray:
        """Angle, force and target of every motor, as in training."""
        force_n = GRAM_FORCE_N * np.asarray(self._client.readings.force, dtype=float)
        return np.concatenate([self.shares(), force_n / TENS_N, self.target])

    def move(self, action: np.ndarray) -> None:
        """Move the targets of two motors, no farther from where they are than a leash allows."""
        share = self.shares()
        self.target[MOVED] += hold.STROKE_PER_STEP * np.clip(action, -1.0, 1.0)
        self.target = np.clip(np.clip(self.target, 0.0, 1.0), share - hold.LEASH, share + hold.LEASH)
        self._send(MODE.ANGLE)

    def _send(self, mode: int) -> None:
        angle = inspire_counts.angle_counts(SCALE, HAND.open_rad + self.target * STROKE_RAD)
        self._client.send(inspire_codec.Ctrl(angle=angle, speed=[1000] * 6, force=[1000] * 6, mode=mode))

    def _counts(self) -> np.ndarray:
        if not self._client.wait_for_news(touch=True, timeout_s=1.0):
            raise SystemExit("the hand no longer tells what it feels")
        return self._client.taxel_counts.astype(float)


def hold_out(world: thenar.World) -> None:
    """Bring the marble to its place between the fingers, and hold it there as softly as in training."""
    world.props.move("marble", pos_m=hold.MARBLE.pos_m)
    world.props.drag("marble", hold.MARBLE.pos_m)


def play(hand: WireHand, act: Callable[[np.ndarray], np.ndarray], twin: thenar.LiveTwin | None) -> list[list[float]]:
    """One episode; force on the pads of index finger and thumb at each step [N]."""
    names = [pad.name for pad in HAND.pads]
    sides = [[k for k, name in enumerate(names) if name.startswith(side)] for side in hold.SIDES]
    motors, pads, felt_n = deque(maxlen=hold.HISTORY), deque(maxlen=hold.HISTORY), []
    due_s = time.perf_counter()
    for step in range(round(hold.EPISODE_S / hold.STEP_S)):
        if twin is not None and step == round(hold.RELEASE_S / hold.STEP_S):
            twin.run_on_loop(lambda world: world.props.release())
        seen, pads_n = hand.motors(), hand.pads_n()
        motors.extend([seen] * (1 if motors else hold.HISTORY))  # at the beginning nothing was before
        pads.extend([pads_n] * (1 if pads else hold.HISTORY))
        felt_n.append([float(pads_n[columns].sum()) for columns in sides])
        hand.move(act(np.concatenate([*motors, *pads])))
        due_s += hold.STEP_S
        time.sleep(max(0.0, due_s - time.perf_counter()))
    return felt_n


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policy", type=Path)
    parser.add_argument("--domain", type=int, help="of a hand that is there; without it a twin is made")
    parser.add_argument("--radius-mm", type=float, default=1e3 * hold.MARBLE.radius_m, help="of the twin's marble")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with ExitStack() as opened:
        twin, domain = None, given.domain
        if domain is None:
            domain = DOMAIN
            marble = replace(hold.MARBLE, radius_m=1e-3 * given.radius_mm)
            things = {"props": [marble], "scene": "empty", "wires": ("inspire",)}
            twin = opened.enter_context(thenar.serve(hold.HAND, domain=domain, **things))
            twin.run_on_loop(lambda world: world.props.drag("marble", AWAY_M))
        participant = opened.enter_context(thenar.Participant(domain))
        hand = WireHand(thenar.InspireClient(participant, HAND))
        if twin is not None:
            twin.run_on_loop(hold_out)
        felt_n = np.array(play(hand, load_policy(given.policy), twin))[-round(1.0 / hold.STEP_S) :]
        told = {"felt_n": felt_n.mean(axis=0).tolist(), "error_n": float(np.abs(felt_n - hold.WANTED_N).mean())}
        if twin is not None:
            away_m = twin.run_on_loop(lambda world: world.props.pose("marble")[0]) - hold.MARBLE.pos_m
            told["marble_moved_mm"] = float(1e3 * np.linalg.norm(away_m))
    if given.json:
        print(json.dumps(told))
    else:
        index_n, thumb_n = told["felt_n"]
        print(f"in the last second the index finger felt {index_n:.2f} N and the thumb {thumb_n:.2f}; wanted 1 N")
