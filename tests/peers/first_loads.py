"""Prints what compiled code a running G1 loads that nothing before it had: ``first_loads.py HANDS ROD_X ROD_Y RADIUS``.

In a process of its own, since whatever ran before has loaded code too.
"""

import gc
import json
import sys

from numba.core.dispatcher import Dispatcher

from thenar import Cylinder
from thenar.signals import HandCommand
from thenar.twin.body.g1_twin import G1Config, G1Robot, build_g1
from thenar.twin.live_twin import LiveTwin, warm_up


def loaded() -> set[str]:
    """Functions with the arguments they were compiled for."""
    functions = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]
    return {
        f"{one.py_func.__module__}.{one.py_func.__qualname__}{kind}" for one in functions for kind in one.signatures
    }


def live(robot: G1Robot, twin: LiveTwin, seconds: float) -> float:
    """All that the loops of a twin do, without their clock; the largest force on a hand meanwhile [N]."""
    most_n = 0.0
    for _ in range(round(seconds / 0.02)):
        robot.advance(0.02)
        twin._publish_state()
        twin._publish_touch(twin._sample_skins(*twin._touched_now()), twin.world.time_s)
        most_n = max(most_n, *(twin.world.touch(hand).contact_n for hand in twin.world.hand_names))
    return most_n


def main() -> None:
    """Close a hand on a rod, move the arms to and fro, put everything back."""
    hands, x_m, y_m, radius_m = sys.argv[1], *map(float, sys.argv[2:])
    rod = Cylinder(name="rod", radius_m=radius_m, length_m=0.2, pos_m=(x_m, y_m, 0.888), fixed=True)
    robot = build_g1(G1Config(hands=(hands,)), props=[rod])
    world = robot.body.world
    warm_up(world)
    before, twin = loaded(), LiveTwin(world)
    for hand in world.hand_names:
        world.command(hand, HandCommand.closing(1.0))
    felt_n = live(robot, twin, 1.2)
    lower_rad, upper_rad = (robot.body.body.per_joint(name) for name in ("lower_rad", "upper_rad"))
    for share in (0.3, 0.7):
        robot.hold(lower_rad + share * (upper_rad - lower_rad))
        live(robot, twin, 0.4)
    robot.reset_objects()
    robot.reset()
    live(robot, twin, 0.1)
    print(json.dumps({"felt_n": felt_n, "loaded": sorted(loaded() - before)}))


if __name__ == "__main__":
    main()
