"""Writes raw bytes, one hex line of its standard input each, to the ctrl topic of the right hand. No thenar here.

Usage: raw_writer.py DOMAIN. Prints "matched" as soon as somebody listens.
"""

import sys
import time

from cyclonedds._clayer import ddspy_write
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.topic import Topic
from inspire_peer import Ctrl
from loopback import CONFIG

domain = int(sys.argv[1])
kept = Domain(domain, CONFIG)
participant = DomainParticipant(domain)
writer = DataWriter(participant, Topic(participant, "rt/inspire_hand/ctrl/r", Ctrl))
while not writer.get_matched_subscriptions():
    time.sleep(0.02)
time.sleep(0.2)
print("matched", flush=True)
for line in sys.stdin:
    ddspy_write(writer._ref, bytes.fromhex(line.strip()))
    time.sleep(0.01)
