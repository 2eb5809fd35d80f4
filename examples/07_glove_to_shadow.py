"""A person's hand drives a Shadow hand, frame by frame, within all its limits.

The person here is made by thenar; `thenar.read_log` reads recordings of yours, and `thenar teleop live`
takes frames from a socket.
"""

import thenar

HAND = "shadow_right"
retargeter = thenar.Retargeter(HAND)
world = thenar.World(HAND)

first_finger = world.hand(HAND).actuator_names.index("FFJ3")  # by name: every maker has an order of its own

for n, frame in enumerate(thenar.make_log(("pinch_index", "fist", "point"))):
    answer = retargeter(frame)
    world.command(HAND, answer.command)
    world.advance(1 / 60)
    if n % 60 == 0:
        asked, is_at = answer.command.target_rad[first_finger], world.state(HAND).angle_rad[first_finger]
        print(f"{frame.stamp_s:5.2f} s  {answer.following.value}: FFJ3 sent to {asked:.2f} rad, is at {is_at:.2f} rad")
