"""ROS 2's own command line, a fresh process for each command. No thenar here.

``python ros2_commands.py`` reads a JSON list of commands, each a list of the words behind ``ros2``, and prints a JSON
list of their exit statuses, of what they wrote and of what they complained of. The libraries are loaded once, before
the processes part: joining the domain, finding the others, publishing and leaving are each one's own.
"""

import json
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from ros2cli.cli import main

AT_ONCE = 4
LOADED = ("ros2node.verb.list", "ros2service.verb.list", "ros2topic.verb.list", "ros2topic.verb.pub", "sensor_msgs.msg")


def run(words: list[str], folder: Path) -> None:
    """What a process of its own does: it does not come back."""
    for descriptor, name in ((1, "said"), (2, "complained")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), descriptor)
    sys.argv = ["ros2", *words]  # read there too by what makes parsers on demand
    status = 1
    try:
        status = main() or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def start(words: list[str], folder: Path) -> int:
    folder.mkdir()
    child = os.fork()
    if not child:
        run(words, folder)
    return child


for module in LOADED:
    import_module(module)
commands, told = json.load(sys.stdin), []
with tempfile.TemporaryDirectory() as kept:
    for first in range(0, len(commands), AT_ONCE):
        folders = {Path(kept, str(first + k)): words for k, words in enumerate(commands[first : first + AT_ONCE])}
        children = {folder: start(words, folder) for folder, words in folders.items()}
        for folder, child in children.items():
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            lines = {name: (folder / name).read_text().splitlines() for name in ("said", "complained")}
            told.append({"status": status, **lines})
print(json.dumps(told))
