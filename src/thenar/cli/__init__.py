"""The ``thenar`` command: one dataclass per verb, and nothing here that another program could want."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import tyro
from rich.console import Console
from rich.text import Text

from thenar.cli.bench import Bench
from thenar.cli.body import Body
from thenar.cli.calibrate import Calibrate
from thenar.cli.command import Command
from thenar.cli.demo import Demo
from thenar.cli.export import Export
from thenar.cli.glove import Glove
from thenar.cli.hands import Hands, Scenes
from thenar.cli.info import Info
from thenar.cli.inspect import Inspect
from thenar.cli.retarget import Retarget
from thenar.cli.serve import Serve
from thenar.cli.snapshot import Snapshot
from thenar.cli.teleop import Teleop
from thenar.cli.touch import Touch
from thenar.cli.watch import Watch
from thenar.errors import ThenarError


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the ``thenar`` console script."""
    verb = tyro.cli(
        Hands
        | Scenes
        | Snapshot
        | Export
        | Touch
        | Calibrate
        | Glove
        | Retarget
        | Teleop
        | Serve
        | Inspect
        | Command
        | Watch
        | Body
        | Demo
        | Bench
        | Info,
        prog="thenar",
        description="A digital twin for dexterous robot hands.",
        args=args,
    )
    try:
        verb.run()
    except ThenarError as error:
        Console(stderr=True).print(Text("thenar:", style="red"), Text(str(error)), highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
