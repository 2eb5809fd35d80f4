"""Drive the tactile Inspire hand over DDS, as a program for the real hand does.

Start the hand in another terminal, or switch on a real one:

    thenar serve --wire inspire

Counts are the hand's own: angle 1000 is open and 0 closed, force is in grams; six motors, the little finger first.
"""

import time

import thenar
from thenar.wire import inspire_codec

DOMAIN = 1  # of thenar serve; robots use 0
mode = inspire_codec.Mode

with thenar.Participant(DOMAIN) as participant:
    hand = thenar.InspireClient(participant, thenar.hands.load("inspire_right"))
    assert hand.wait_until_heard(10.0), "nobody listens; thenar inspect says why"

    assert hand.wait_for_news(touch=True, timeout_s=5.0), "no touch arrives"
    rest = hand.taxel_counts  # untouched taxels read offsets of their own, as on a real hand

    # The thumb comes round; only flagged groups act.
    hand.send(inspire_codec.Ctrl(angle=[1000] * 5 + [0], mode=mode.ANGLE))
    time.sleep(1.0)
    grip = mode.ANGLE | mode.SPEED | mode.FORCE
    hand.send(inspire_codec.Ctrl(angle=[100, 100, 100, 100, 400, 0], speed=[300] * 6, force=[300] * 6, mode=grip))
    time.sleep(3.0)

    assert hand.wait_for_news(touch=True, timeout_s=5.0), "no touch arrives"
    print("angle ", hand.readings.angle.tolist())
    print("force ", hand.readings.force.tolist(), "g")
    print("status", hand.readings.status.tolist(), "(3: stopped on force)")
    print("taxels", int((hand.taxel_counts - rest > 50).sum()), "of", hand.taxel_counts.size, "feel something")
