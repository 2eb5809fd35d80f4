"""Many trials, on one machine or many: every row becomes a folder, whichever worker fills it and however often."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import pickle
import runpy
import shutil
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeAlias

from thenar.errors import BadFile, BadValue, ThenarError, writing

Row: TypeAlias = Mapping[str, Any]
Trial: TypeAlias = Callable[[dict[str, Any], Path], Mapping[str, Any] | None]

TRIES = 3  # of a row whose worker dies
ROW, RESULT, PART = "row.json", "result.json", ".part"


class TrialsFailed(ThenarError, RuntimeError):
    """Some rows of a sweep came to nothing; those that did not are kept."""

    def __init__(self, failed: Mapping[int, str], total: int, out: Path):
        """Say how many, the reason of the first, and how to repeat them."""
        self.failed = dict(failed)
        number, why = next(iter(sorted(failed.items())))
        super().__init__(
            f"{len(failed)} of {total} rows failed; the others are in {out}, and the same sweep again repeats only "
            f"these. Row {number}:\n{why}"
        )


@dataclass(frozen=True)
class TrialFile:
    """The function ``trial`` of a Python file, as something that another process can be sent."""

    path: Path

    def names(self) -> dict[str, Any]:
        """What the file defines; one that cannot be run is refused."""
        try:
            return runpy.run_path(str(self.path))
        except OSError as error:
            raise BadFile(self.path, f"cannot be read: {error.strerror}") from error
        except Exception as error:
            raise BadFile(self.path, f"cannot be run: {type(error).__name__}: {error}") from error

    def __call__(self, row: dict[str, Any], folder: Path) -> Mapping[str, Any] | None:
        """Do one trial; the file is read by the first."""
        if self.path not in _LOADED:
            _LOADED[self.path] = self.names()["trial"]
        return _LOADED[self.path](row, folder)


_LOADED: dict[Path, Trial] = {}


def sweep(
    trial: Trial,
    rows: Iterable[Row],
    *,
    out: Path | str,
    workers: int | None = None,
    cluster: str | None = None,
    cores: float = 1.0,
    gpus: float = 0.0,
    done: Callable[[int, int], None] = lambda finished, total: None,
) -> list[dict[str, Any]]:
    """Do a trial for every row, several at a time, each in a process; rows that are done already are left alone.

    A trial may only depend on its row (give it a seed): then ``out`` has the same bytes with any number of workers.
    Row 17 fills the folder ``000017``, which appears when it is complete; ``results.jsonl`` lists all rows.

    Args:
        trial: ``trial(row, folder)`` writes files of that row into an empty folder (a recording, arrays), and may
            return numbers. A function at the top of a module: other processes import it.
        rows: Parameters of each trial, as JSON has them.
        out: Folder of the sweep.
        workers: Processes; None: one for every core, or as many as the cluster has room for.
        cluster: Address of a Ray cluster (``auto``: the one that this machine is in); its nodes see ``out`` and the
            trial's file by the same paths. Extra ``cluster``. None: processes, without Ray.
        cores: Cores that a process of the cluster is given.
        gpus: GPUs that it is given.
        done: Told how many rows are finished, of how many.

    Returns:
        Every row with what its trial returned.
    """
    out, table = Path(out), _checked_rows(rows)
    if workers is not None and not (isinstance(workers, int) and workers > 0):
        raise BadValue("workers", workers, "a whole number above 0")
    if not (cores >= 0.0 and gpus >= 0.0 and cores + gpus > 0.0):
        raise BadValue("cores and gpus", (cores, gpus), "numbers not below 0, and not both 0")
    if gpus and cluster is None:
        raise BadValue("gpus", gpus, "0 without a cluster: processes share what the machine has")
    try:
        pickle.dumps(trial)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise BadValue("trial", trial, "a function at the top of a module, which other processes can import") from error
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        for left in out.glob(f"*{PART}"):  # by a sweep that was ended
            shutil.rmtree(left)
    missing = [number for number, row in enumerate(table) if not _is_done(out, number, row)]
    if cluster is None:
        failed = _work_off(trial, table, missing, out, workers or os.cpu_count() or 1, done)
    else:
        on_ray = importlib.import_module("thenar.batch.ray_sweep").work_off  # which needs this module
        given = {"cluster": cluster, "cores": cores, "gpus": gpus}
        failed = on_ray(trial, table, missing, out, workers=workers, done=done, **given)
    if failed:
        raise TrialsFailed(failed, len(table), out)
    results = [{**row, **json.loads((shard(out, n) / RESULT).read_text())} for n, row in enumerate(table)]
    with writing(out):
        (out / "results.jsonl").write_text("".join(json.dumps(result) + "\n" for result in results), encoding="utf-8")
    return results


def shard(out: Path, number: int) -> Path:
    """The folder of a row."""
    return out / f"{number:06d}"


def _checked_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows as JSON would give them back: what a worker gets is what a later run compares with."""
    table = []
    for number, row in enumerate(rows):
        try:
            table.append(dict(json.loads(json.dumps(dict(row), allow_nan=False))))
        except (TypeError, ValueError) as error:
            raise BadValue(f"row {number}", row, f"a mapping of what JSON can hold ({error})") from error
    if not table:
        raise BadValue("rows", [], "at least one row")
    return table


def _is_done(out: Path, number: int, row: dict[str, Any]) -> bool:
    folder = shard(out, number)
    if not folder.exists():
        return False
    try:
        found = json.loads((folder / ROW).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFile(folder, "is not a shard of a sweep; give another folder") from error
    if found != row:
        raise BadFile(folder, f"holds another row, {found}, and not {row}; give another folder, or remove this one")
    return True


def _work_off(
    trial: Trial,
    table: list[dict[str, Any]],
    missing: list[int],
    out: Path,
    workers: int,
    done: Callable[[int, int], None],
) -> dict[int, str]:
    """Rows that failed, with the reasons."""
    context, todo = multiprocessing.get_context("spawn"), deque(missing)
    idle: list[tuple[Any, Connection]] = []
    busy: dict[Connection, tuple[Any, int]] = {}
    deaths: Counter[int] = Counter()
    failed: dict[int, str] = {}
    try:
        while todo or busy:
            while todo and len(busy) < workers:
                worker, line = idle.pop() if idle else _hire(context, trial)
                number = todo.popleft()
                busy[line] = worker, number
                line.send((table[number], shard(out, number)))
            for line in wait(list(busy)):
                assert isinstance(line, Connection)
                worker, number = busy.pop(line)
                try:
                    problem = line.recv()
                    idle.append((worker, line))
                except (EOFError, OSError):  # killed, or out of memory: another one begins that row again
                    worker.join()
                    deaths[number] += 1
                    if deaths[number] < TRIES and not shard(out, number).exists():
                        todo.appendleft(number)
                        continue
                    problem = f"its worker ended {TRIES} times, last with exit code {worker.exitcode}"
                if problem and not shard(out, number).exists():
                    failed[number] = problem
                done(len(table) - len(todo) - len(busy) - len(failed), len(table))
    finally:
        for worker, _ in (*idle, *((worker, number) for worker, number in busy.values())):
            worker.terminate()
            worker.join()
    return failed


def _hire(context: Any, trial: Trial) -> tuple[Any, Connection]:
    line, other = context.Pipe()
    worker = context.Process(target=_work, args=(trial, other), daemon=True)
    worker.start()
    other.close()  # so that a line falls silent with its worker
    return worker, line


def _work(trial: Trial, line: Connection) -> None:
    """Do trials until nobody asks for more."""
    while True:
        try:
            row, folder = line.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            line.send(fill_shard(trial, row, folder))
        except KeyboardInterrupt:
            return


def fill_shard(trial: Trial, row: dict[str, Any], folder: Path) -> str | None:
    """Do one trial; its folder appears when it is complete. What went wrong, or None."""
    part = folder.with_name(folder.name + PART)
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        result = json.dumps(dict(trial(dict(row), part) or {}))
        (part / RESULT).write_text(result + "\n", encoding="utf-8")
        (part / ROW).write_text(json.dumps(row) + "\n", encoding="utf-8")
        part.rename(folder)
    except Exception:
        return traceback.format_exc(limit=-4)
    return None
