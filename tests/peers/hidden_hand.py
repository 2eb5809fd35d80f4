"""A hand that is not quite like the model, on its own wire, with somebody who moves it: what a mirror is judged by.

python hidden_hand.py DOMAIN DIFFERENCE [SEED] [WIRE]

It serves until its input ends. Whoever moves it is a client on the same domain, of its own participant, at 50 Hz: a
person's motions (slow waves of every finger) with a quick grasp now and then. The fault shows after its first word.
"""

import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

import thenar
from thenar import hands
from thenar.touch.sensor.calibration import profile_of
from thenar.twin.live_twin import LiveTwin, warm_up
from thenar.wire.codecs import inspire_counts
from thenar.wire.codecs.inspire_codec import Ctrl, Mode
from thenar.wire.links import inspire_link
from thenar.wire.links.inspire_link import InspireTopics
from thenar.wire.links.registry import LinkContext
from thenar.wire.wire_config import WireConfig

domain, difference, seed = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 77
HAND = sys.argv[4] if len(sys.argv) > 4 else "inspire_right"
spec = hands.load(HAND)
rng = np.random.default_rng(seed)


def motors(only="", **changes):
    return replace(
        spec,
        actuators=tuple(
            replace(
                a, motor=replace(a.motor, **{name: change(getattr(a.motor, name)) for name, change in changes.items()})
            )
            if only in ("", a.name)
            else a
            for a in spec.actuators
        ),
    )


def friction(motor, more_nm):
    driven = next(a.drives for a in spec.actuators if a.name == motor)
    joints = (replace(j, friction_nm=j.friction_nm + more_nm * (j.name == driven)) for j in spec.joints)
    return replace(spec, joints=tuple(joints))


SPECS = {
    "latency": lambda: motors(latency_s=lambda s: s + 0.02),
    "latency+40": lambda: motors(latency_s=lambda s: s + 0.04),
    "speed": lambda: motors(full_stroke_s=lambda s: s / 0.9),
    "slow ring": lambda: motors("ring", full_stroke_s=lambda s: s / 0.8),
    "current": lambda: motors("middle", drive_a=lambda a: a + 0.2),
    "idle current": lambda: motors("index", idle_a=lambda a: a + 0.15),
    "friction": lambda: friction("index", 0.03),
    "noise": lambda: motors("little", angle_noise=lambda v: v + 0.012),
}
usual = replace(profile_of(spec, "measured"), rate_hz=50.0)
ball = thenar.Sphere(name="something", radius_m=0.025, pos_m=(0.0, 0.055, 0.045), fixed=True)
world = thenar.World(
    SPECS.get(difference, lambda: spec)(),
    seed=seed,
    props=[ball] if difference in ("object", "dead taxel") else [],
    skin={HAND: usual} if spec.pads else {},
)


class Link(InspireTopics):
    """The hand's link with something wrong in it."""

    lately = 0

    def publish_state(self, told):
        self.lately += 1
        if difference == "lost messages" and rng.random() < 0.12:
            return
        if difference == "rate" and self.lately % 2:
            return
        super().publish_state(told)

    def publish_touch(self, frames):
        if difference == "touch rate" and rng.random() < 0.5:
            return
        if difference == "stuck taxel":
            for frame in frames.values():
                frame.taxel_counts[500] = 1800
        super().publish_touch(frames)


readings = inspire_counts.readings


def altered(scale, state):
    out = readings(scale, state)
    change = {
        "finger order": lambda: replace(out, angle=out.angle[[1, 0, 2, 3, 4, 5]]),
        "zero": lambda: replace(
            out, angle=np.clip(out.angle + np.int16([0, 0, 40, 0, 0, 0]), 0, 1000).astype(np.int16)
        ),
        "travel": lambda: replace(
            out, angle=(1000 - (1000 - out.angle) * np.array([1, 1, 1, 0.9, 1, 1])).astype(np.int16)
        ),
        "force zero": lambda: replace(out, force=(out.force + np.int16([0, 60, 0, 0, 0, 0])).astype(np.int16)),
        "hot": lambda: replace(out, temperature_c=(out.temperature_c + np.uint8([0, 0, 0, 0, 12, 0])).astype(np.uint8)),
        "error": lambda: replace(out, error=(out.error | np.uint8([0, 0, 4, 0, 0, 0])).astype(np.uint8)),
    }
    return change[difference]() if difference in change else out


inspire_link.inspire_counts.readings = altered
warm_up(world)
with ExitStack() as opened:
    config = WireConfig(domain=domain)
    link = Link(LinkContext(hands=[world.hand(HAND)], config=config, opened=opened))
    twin = LiveTwin(world, [link])
    stop = threading.Event()

    def person() -> None:
        """Moves the hand as a person would, over the wire."""
        with thenar.Participant(domain, name="person") as me:
            client = thenar.InspireClient(me, spec)
            client.wait_until_heard(10.0)
            phase, pace = rng.uniform(0.0, 6.3, 6), rng.uniform(0.15, 0.45, 6)
            began_s = time.perf_counter()
            grasp = np.zeros(6)
            while not stop.wait(0.02):
                at_s = time.perf_counter() - began_s
                if int(at_s / 1.6) % 2 == 0:  # waves
                    closed = 0.3 + 0.25 * np.sin(2 * np.pi * pace * at_s + phase)
                    grasp = rng.uniform(0.0, 0.85, 6)
                else:  # a quick motion, and rest
                    closed = grasp
                closed = closed * [1, 1, 1, 1, 0.35, 0.35]
                angle = np.rint(1000 * (1.0 - closed)).astype(int).tolist()
                client.send(Ctrl(angle=angle, speed=[1000] * 6, mode=int(Mode.ANGLE | Mode.SPEED)))

    with twin:
        mover = threading.Thread(target=person)
        mover.start()
        print("ready", flush=True)
        sys.stdin.readline()
        if difference == "stuck":
            twin.run_on_loop(lambda w: w.faults.inject(HAND, "middle", "jam"))
        if difference == "hot motor":
            twin.run_on_loop(lambda w: w.faults.inject(HAND, "ring", "hot"))
        while difference == "dead taxel":  # the one that is pressed hardest
            frame = twin.run_on_loop(lambda w: w.skin(HAND).newest)
            if frame["ring_top"].max() > 2e4:
                row, col = np.unravel_index(np.argmax(frame["ring_top"]), frame["ring_top"].shape)
                twin.run_on_loop(lambda w, r=int(row), c=int(col): w.faults.inject(HAND, f"ring_top {r} {c}", "dead"))
                break
            time.sleep(0.01)
        sys.stdin.read()
        stop.set()
        mover.join()
