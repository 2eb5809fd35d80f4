"""The registers of an Inspire hand over Modbus TCP, by name.

Start the hand in another terminal:

    thenar serve --wire modbus --hands inspire_right

Any Modbus program does the same with addresses: ANGLE_SET is 1486, ANGLE_ACT 1546, and an address counts bytes.
"""

import time

import thenar

PORT = 6000  # of the first hand; the next hands count up

with thenar.ModbusHand(thenar.hands.load("inspire_right"), host="127.0.0.1", port=PORT) as hand:
    rest = hand.taxel_counts()  # untouched taxels read offsets of their own, as on a real hand
    hand.write("SPEED_SET", [400] * 6)
    hand.write("FORCE_SET", [200] * 6)  # grams
    hand.write("ANGLE_SET", [-1, -1, -1, 0, 500, 0])  # index and thumb close; -1 has no target
    time.sleep(3.0)
    for register in ("ANGLE_ACT", "FORCE_ACT", "CURRENT", "STATUS", "TEMP"):
        print(f"{register:9}", hand.read(register).tolist())
    print("touch    ", (hand.taxel_counts() - rest).sum(), "counts above rest on all taxels")
