"""The ``thenar`` command: one dataclass per verb, and nothing here that another program could want."""

from __future__ import annotations

import contextlib
import errno
import functools
import itertools
import operator
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from thenar import __version__
from thenar.cli.about.hands import Hands, Scenes
from thenar.cli.about.info import Info
from thenar.cli.data.calibrate import Calibrate
from thenar.cli.data.export import Export
from thenar.cli.data.glove import Glove
from thenar.cli.data.identify_motors import Identify
from thenar.cli.data.record import Record
from thenar.cli.data.report import Report
from thenar.cli.data.retarget import Retarget
from thenar.cli.data.sweep import Sweep
from thenar.cli.data.tapes import Convert, Recording, Replay
from thenar.cli.run.body import Body
from thenar.cli.run.mirror_hand import Mirror
from thenar.cli.run.running import leave_on_signals
from thenar.cli.run.serve import Demo, Serve
from thenar.cli.run.teleop import Teleop
from thenar.cli.show import listed
from thenar.cli.sim.drop import Drop
from thenar.cli.sim.snapshot import Snapshot
from thenar.cli.sim.touch import Touch
from thenar.cli.wire.command import Command
from thenar.cli.wire.inspect import Inspect
from thenar.cli.wire.reset import Reset
from thenar.cli.wire.watch import Watch
from thenar.errors import ThenarError
from thenar.pace import limit_logs

OUTPUT_GONE = {errno.EPIPE, errno.ENOSPC, errno.EIO}  # a reader, space on a disk, a terminal
TITLE = "A digital twin for dexterous robot hands."
VERBS = {
    "See and feel": (Demo, Snapshot, Touch, Calibrate, Drop),
    "Put hands on the network": (Serve, Inspect, Command, Watch, Reset, Body),
    "Follow a glove": (Glove, Retarget, Teleop),
    "Record": (Record, Mirror, Recording, Replay, Convert, Identify, Report, Sweep),
    "Look up": (Hands, Scenes, Export, Info),
}


LISTS = ConstructorRegistry()
"""Options that take several words, separated by commas."""


@LISTS.primitive_rule
def _comma_separated(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[tuple[str, ...]] | None:
    is_list = get_origin(info.type) is tuple and get_args(info.type) == (str, ...)
    if not is_list or tyro.conf.Positional in info.markers:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="A,B,...",
        instance_from_str=lambda words: listed(words[0]),
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=lambda value: [",".join(value)],
    )


@LISTS.primitive_rule
def _files_by_name(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Mapping[str, Path]] | None:
    """``NAME=FILE,...``; a file without a name has an empty one."""
    if info.type != Mapping[str, Path]:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="FILE",
        instance_from_str=lambda words: {
            name: Path(file) for name, _, file in (word.rpartition("=") for word in listed(words[0]))
        },
        is_instance=lambda value: isinstance(value, Mapping),
        str_from_instance=lambda value: [",".join(f"{name}={file}" for name, file in value.items())],
    )


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the ``thenar`` console script."""
    if sys.stdout is None:  # closed by who started it: nobody wants to read anything
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        try:
            _run(sys.argv[1:] if args is None else args)
        finally:
            sys.stdout.flush()  # here, where somebody can still say that it did not work
    except OSError as error:
        if error.errno not in OUTPUT_GONE:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter would try once more
        if error.errno != errno.EPIPE:  # after head, less or grep -q nobody wants to know
            _report(f"standard output cannot be written: {error.strerror}")
        sys.exit(128 + signal.SIGPIPE if error.errno == errno.EPIPE else 2)


def _run(args: Sequence[str]) -> None:
    if not args or list(args) in (["-h"], ["--help"]):
        _print_overview()
        return
    if list(args) in (["-V"], ["--version"]):
        Console(highlight=False).print(f"thenar {__version__}")
        return
    if args[0] == "identify" and "fit" not in args and any(word.endswith(".mcap") for word in args):
        args = ["identify", "fit", *args[1:]]  # a file is fitted, whether that is said or not
    verbs: Any = functools.reduce(operator.or_, itertools.chain(*VERBS.values()))
    verb = tyro.cli(verbs, prog="thenar", description=TITLE, args=args, registry=LISTS)
    limit_logs()
    if threading.current_thread() is threading.main_thread():
        leave_on_signals()
    try:
        verb.run()
    except ThenarError as error:
        _report(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _report(problem: str) -> None:
    with contextlib.suppress(OSError):
        Console(stderr=True).print(Text("thenar:", style="red"), Text(problem), highlight=False, soft_wrap=True)


def _print_overview() -> None:
    """Every verb with its first sentence; what tyro would print has all their examples too and fills three screens."""
    console = Console(highlight=False)
    console.print(TITLE)
    for title, verbs in VERBS.items():
        table = Table(title=Text(f"\n{title}", style="bold"), title_justify="left", box=None, show_header=False)
        table.add_column(min_width=9)
        for verb in verbs:
            table.add_row(verb.__name__.lower(), (verb.__doc__ or "").partition("\n")[0])
        console.print(table)
    console.print("\nthenar VERB --help teaches each with examples. Begin with: thenar demo")
