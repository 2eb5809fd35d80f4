"""Fourier's own client, unchanged: does what the test's script says and prints what it sees, one JSON line a step.

The client prints things of its own; lines for the test begin with ">".
Each line of standard input is ``method``, a tab, and a JSON list of arguments; ``sleep`` waits.
"""

import json
import os
import sys
import time

from fourier_aurora_client import AuroraClient, MoveCommandManager

options = json.loads(sys.argv[1])
began_s = time.time()
client = AuroraClient.get_instance(**options)
print(">", json.dumps({"connected": client is not None, "seconds": time.time() - began_s}), flush=True)
if client is None:
    os._exit(2)
for line in sys.stdin:
    name, _, arguments = line.rstrip("\n").partition("\t")
    given = json.loads(arguments or "[]")
    try:
        if name == "sleep":
            time.sleep(given[0])
            answer = None
        elif name == "move":
            manager = MoveCommandManager(robot_name=options["robot_name"])
            getattr(manager, given[0])(*given[1], **given[2])
            answer = client.set_move_command(manager.get_move_command())
        else:
            positional = [value for value in given if not (isinstance(value, dict) and "__kw__" in value)]
            named = next((value["__kw__"] for value in given if isinstance(value, dict) and "__kw__" in value), {})
            answer = getattr(client, name)(*positional, **named)
        print(">", json.dumps({"answer": answer}, default=list), flush=True)
    except Exception as error:
        print(">", json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
client.close()
os._exit(0)
