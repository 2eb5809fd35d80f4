"""A Unitree G1 reaches for a cylinder, closes its hand until the skin feels it, and lifts it.

The scene is the one of Unitree's simulator. Nothing but touch says when the hand has closed far enough; a hand that has
felt nothing lifts nothing.
"""

import numpy as np

import thenar
from thenar.humanoid import solve_arm

HAND, ARM = "inspire_left", "left_manipulator"
GRIP_N = 15.0  # felt by the fingers, before the arm lifts
FORWARDS_XYZW = np.array([0.0, 0.0, 0.0, 1.0])  # the wrist's axes are the pelvis': fingers forwards, palm to the right


def move(robot, pos_m, seconds):
    """Bring the wrist to a place in the pelvis' axes [m]; the joints go there together."""
    arm = robot.body.body.group_slice(ARM)
    start = robot.readings().position_rad.copy()
    goal = start.copy()
    goal[arm] = solve_arm(robot.body.robot, ARM, start, pos_m=np.array(pos_m), quat_xyzw=FORWARDS_XYZW)
    for share in (1.0 - np.cos(np.linspace(0.0, np.pi, round(seconds / 0.02)))) / 2.0:
        robot.hold(start + share * (goal - start))
        robot.advance(0.02)


def close_until_felt(robot):
    """Close the four fingers step by step; how far they are closed then, and what their pads feel [N]."""
    world, closed, felt_n = robot.body.world, 0.0, 0.0
    for closed in np.linspace(0.3, 1.0, 60):
        world.command(HAND, thenar.Closing(fraction=[closed] * 4 + [0.0, 0.0]))
        robot.advance(0.02)
        now_n = sum(force_n for pad, force_n in world.touch(HAND).force_n.items() if not pad.startswith("thumb"))
        felt_n += 0.2 * (now_n - felt_n)  # over a tenth of a second: a finger that only bumps into it holds nothing
        if felt_n > GRIP_N:
            break
    return closed, felt_n


def pick(robot):
    """Reach, grasp and lift; the force that was felt [N], and by how much the cylinder rose [m]."""
    world = robot.body.world
    for pos_m, seconds in (((0.03, 0.14, 0.12), 0.4), ((0.05, 0.24, 0.10), 0.4), ((0.20, 0.24, 0.10), 0.6)):
        move(robot, pos_m, seconds)  # back, behind the cylinder, and ahead until it is before the palm
    before_m = world.props.pose("object")[0][2]
    closed, felt_n = close_until_felt(robot)
    if felt_n > GRIP_N:
        world.command(HAND, thenar.Closing(fraction=[closed] * 4 + [0.4, 1.0]))  # the thumb closes over it
        robot.advance(0.4)
        move(robot, (0.20, 0.24, 0.20), 0.6)
        robot.advance(0.2)
    return felt_n, world.props.pose("object")[0][2] - before_m


if __name__ == "__main__":
    robot = thenar.build_g1(thenar.G1Config(hands=("inspire",), scene="pick_place_cylinder"))
    felt_n, rise_m = pick(robot)
    pads = sorted(robot.body.world.touch(HAND).force_n.items(), key=lambda pad: -pad[1])
    print(f"the fingers closed until they felt {felt_n:.1f} N")
    print("held by", ", ".join(f"{name} {force_n:.1f} N" for name, force_n in pads if force_n > 0.5))
    print(f"the cylinder rose by {1e3 * rise_m:.0f} mm")
