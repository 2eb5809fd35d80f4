"""Unitree's own `unitree_dds_wrapper` from PyPI, unchanged, moves an elbow of a G1. No thenar here.

Usage: unitree_wrapper_client.py DOMAIN SECONDS. Prints JSON: how long it waited, and the last state.
"""

import importlib
import json
import sys
import time

from cyclonedds.domain import Domain, DomainParticipant
from loopback import CONFIG

kept = [Domain(domain, CONFIG) for domain in {0, int(sys.argv[1])}]  # importing the package opens domain 0
g1 = importlib.import_module("unitree_dds_wrapper.robots.g1")

participant = DomainParticipant(int(sys.argv[1]))
began = time.time()
state = g1.sub.LowState(participant=participant)
command = g1.pub.LowCmd(participant=participant)
state.wait_for_connection()
waited = time.time() - began
command.msg.mode_machine = state.msg.mode_machine
for index in range(29):
    motor = command.msg.motor_cmd[index]
    motor.mode, motor.q, motor.kp, motor.kd = 1, state.msg.motor_state[index].q, 80.0, 3.0
command.msg.motor_cmd[g1.JointIndex.LeftElbow].q = 0.3
until = time.time() + float(sys.argv[2])
while time.time() < until:
    command.write()  # its checksum, bit by bit, takes most of the time
    time.sleep(0.004)
elbow = state.msg.motor_state[g1.JointIndex.LeftElbow]
print(json.dumps({"waited_s": waited, "elbow_rad": elbow.q, "mode_machine": state.msg.mode_machine}), flush=True)
