"""Unitree's DFX topics: one message carries both hands, the right one first.

Start the hands in another terminal:

    thenar serve --wire dfx --hands inspire_dfx_left,inspire_dfx_right --scene empty

Of each motor one number counts, q: 1 is open, 0 is closed. There is no way to leave a motor alone.
"""

import time

import thenar

DOMAIN = 1  # of thenar serve; robots use 0

with thenar.Participant(DOMAIN) as participant:
    hands = thenar.DfxClient(participant)
    assert hands.wait_until_heard(10.0), "nobody listens; thenar inspect says why"

    pointing = [0.0, 0.0, 0.0, 1.0, 0.5, 0.5]  # little, ring and middle finger closed, index open
    hands.send({"right": pointing, "left": [1.0] * 6})
    time.sleep(2.0)

    assert hands.wait_for_news(timeout_s=5.0), "no state arrives"
    print("right", hands.q["right"].round(2).tolist())
    print("left ", hands.q["left"].round(2).tolist())
