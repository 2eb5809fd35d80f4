"""``thenar sweep``: many trials of a Python file, several at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import tyro

from thenar.cli.show import console
from thenar.errors import BadFile


@dataclass(frozen=True)
class Sweep:
    """Run a Python file's trials on all cores; go on where they ended.

    For example:

    thenar sweep grasps.py -o grasps

    thenar sweep grasps.py -o grasps --workers 2

    thenar sweep grasps.py -o /shared/grasps --cluster auto --gpus 1

    The file has rows, a list of dictionaries (or a function that returns one), and trial(row, folder), which writes
    files of that row into a folder of its own and may return numbers. Results are listed in results.jsonl.
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE.py")]
    """Python file with rows and trial."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder for what comes of it; rows that are done there are not done again."""
    workers: int | None = None
    """Processes; one for every core, or as many as the cluster has room for, if not given."""
    cluster: str | None = None
    """Address of a Ray cluster (auto: the one of this machine); processes of this machine if not given."""
    cores: float = 1.0
    """Cores that a process of the cluster is given."""
    gpus: float = 0.0
    """GPUs that a process of the cluster is given."""

    def run(self) -> None:
        """Work off what is missing."""
        from thenar.batch.sweeping import TrialFile, sweep

        source = TrialFile(self.file.resolve())
        names = source.names()
        for name in ("rows", "trial"):
            if name not in names:
                raise BadFile(self.file, f"has no {name!r}; wanted rows = [{{...}}, ...] and def trial(row, folder)")
        if not callable(names["trial"]):
            raise BadFile(self.file, f"trial is {names['trial']!r}; wanted a function of a row and a folder")
        rows = cast(Callable[[], Any], names["rows"])() if callable(names["rows"]) else names["rows"]
        begun = time.monotonic()

        def show(finished: int, total: int) -> None:
            console.print(f"{finished} of {total} rows, {time.monotonic() - begun:.0f} s")

        options = {"workers": self.workers, "cluster": self.cluster, "cores": self.cores, "gpus": self.gpus}
        results = sweep(source, rows, out=self.out, done=show, **options)
        console.print(f"{len(results)} rows in {self.out}")
