"""PyPI's ``plusml-rh56dftp`` reads every register it knows and moves the little finger. No thenar here.

Usage: plusml_client.py HOST PORT. Prints JSON.
"""

import json
import logging
import sys
import time

from RH56DFTP import RH56DFTPClient

logging.getLogger("RH56DFTP").setLevel(logging.ERROR)


def main() -> None:
    client = RH56DFTPClient(sys.argv[1], int(sys.argv[2]))
    read = {name: client.get(name) for name in client.registers}
    wrote = client.set("POS_SET(0)", 1000)
    cleared = client.set("CLEAR_ERROR", 1)
    time.sleep(1.5)
    answer = client.client.read_holding_registers(address=1534, count=6)
    print(json.dumps({"read": read, "wrote": wrote, "cleared": cleared, "pos_act": answer.registers}), flush=True)


if __name__ == "__main__":
    main()
