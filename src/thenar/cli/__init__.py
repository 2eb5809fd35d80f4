"""The ``thenar`` command: one dataclass per verb, and nothing here that another program could want."""

from __future__ import annotations

import functools
import itertools
import operator
import sys
from collections.abc import Sequence
from typing import Any

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from thenar.cli.about.hands import Hands, Scenes
from thenar.cli.about.info import Info
from thenar.cli.data.calibrate import Calibrate
from thenar.cli.data.export import Export
from thenar.cli.data.glove import Glove
from thenar.cli.data.retarget import Retarget
from thenar.cli.run.body import Body
from thenar.cli.run.demo import Demo
from thenar.cli.run.serve import Serve
from thenar.cli.run.teleop import Teleop
from thenar.cli.sim.drop import Drop
from thenar.cli.sim.snapshot import Snapshot
from thenar.cli.sim.touch import Touch
from thenar.cli.wire.command import Command
from thenar.cli.wire.inspect import Inspect
from thenar.cli.wire.watch import Watch
from thenar.errors import ThenarError

VERBS = {
    "See and feel": (Demo, Snapshot, Touch, Calibrate, Drop),
    "Put hands on the network": (Serve, Inspect, Command, Watch, Body),
    "Follow a glove": (Glove, Retarget, Teleop),
    "Look up": (Hands, Scenes, Export),
    "This machine": (Info,),
}


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the ``thenar`` console script."""
    args = sys.argv[1:] if args is None else args
    if not args or list(args) in (["-h"], ["--help"]):
        _print_overview()
        return
    verbs: Any = functools.reduce(operator.or_, itertools.chain(*VERBS.values()))
    verb = tyro.cli(verbs, prog="thenar", description="A digital twin for dexterous robot hands.", args=args)
    try:
        verb.run()
    except ThenarError as error:
        Console(stderr=True).print(Text("thenar:", style="red"), Text(str(error)), highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _print_overview() -> None:
    """Every verb with its first sentence; what tyro would print has all their examples too and fills three screens."""
    console = Console(highlight=False)
    console.print("A digital twin for dexterous robot hands.")
    for title, verbs in VERBS.items():
        table = Table(title=Text(f"\n{title}", style="bold"), title_justify="left", box=None, show_header=False)
        table.add_column(min_width=9)
        for verb in verbs:
            table.add_row(verb.__name__.lower(), (verb.__doc__ or "").partition("\n")[0])
        console.print(table)
    console.print("\nthenar VERB --help teaches each with examples. Begin with: thenar demo")
