"""The rows of a sweep on a Ray cluster: actors that own cores or GPUs fill the same folders. Extra ``cluster``."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thenar.batch.sweeping import TRIES, Trial, fill_shard, shard
from thenar.errors import BadValue, MissingExtra


def load_ray() -> Any:
    """The module ``ray``, or an error that says what to install."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("a sweep on a cluster", "ray", "cluster") from error
    return ray


class Filler:
    """Fills folders in a process of the cluster."""

    def __init__(self, trial: Trial):
        """Do this for every row."""
        self._trial = trial

    def fill(self, row: dict[str, Any], folder: Path) -> str | None:
        """What went wrong, or None."""
        return fill_shard(self._trial, row, folder)


def work_off(
    trial: Trial,
    table: list[dict[str, Any]],
    missing: list[int],
    out: Path,
    *,
    workers: int | None,
    done: Callable[[int, int], None],
    cluster: str,
    cores: float,
    gpus: float,
) -> dict[int, str]:
    """Rows that failed, with the reasons.

    Args:
        trial: What to do with each row.
        table: All rows.
        missing: Numbers of those to do.
        out: Folder that every node sees by this path.
        workers: Actors; None: as many as the cluster has room for.
        done: Told how many rows are finished, of how many.
        cluster: Address of Ray, or ``auto``; not used where the program is connected already.
        cores: Cores of each actor.
        gpus: GPUs of each actor.
    """
    ray, out = load_ray(), out.resolve()
    mine = not ray.is_initialized()
    if mine:
        try:
            ray.init(address=cluster, log_to_driver=False)
        except ConnectionError as error:
            raise BadValue("cluster", cluster, f"the address of a Ray that runs ({error})") from error
    try:
        room = _room(ray.cluster_resources(), cores, gpus)
        hire = ray.remote(num_cpus=cores, num_gpus=gpus)(Filler).remote
        return _work_off(ray, lambda: hire(trial), table, missing, out, min(workers or room, room), done)
    finally:
        if mine:
            ray.shutdown()


def _room(resources: dict[str, float], cores: float, gpus: float) -> int:
    """Actors that fit; a cluster in which none does is refused: Ray would wait for ever."""
    asked = {"CPU": cores, "GPU": gpus}
    room = min(int(resources.get(name, 0.0) / wanted) for name, wanted in asked.items() if wanted)
    if room < 1:
        has = ", ".join(f"{resources.get(name, 0.0):g} {name}" for name in asked)
        raise BadValue("cores and gpus", (cores, gpus), f"what the cluster has ({has})")
    return room


def _work_off(
    ray: Any,
    hire: Callable[[], Any],
    table: list[dict[str, Any]],
    missing: list[int],
    out: Path,
    workers: int,
    done: Callable[[int, int], None],
) -> dict[int, str]:
    todo, idle = deque(missing), list[Any]()
    busy: dict[Any, tuple[Any, int]] = {}
    deaths: Counter[int] = Counter()
    failed: dict[int, str] = {}
    while todo or busy:
        while todo and len(busy) < workers:
            filler, number = idle.pop() if idle else hire(), todo.popleft()
            busy[filler.fill.remote(table[number], shard(out, number))] = filler, number
        for answer in ray.wait(list(busy))[0]:
            filler, number = busy.pop(answer)
            try:
                problem = ray.get(answer)
                idle.append(filler)
            except ray.exceptions.RayActorError as error:  # killed, or its node is gone: another begins that row again
                ray.kill(filler)  # it may only be out of reach
                deaths[number] += 1
                if deaths[number] < TRIES and not shard(out, number).exists():
                    todo.appendleft(number)
                    continue
                problem = f"its worker ended {TRIES} times, last by {error}"
            if not shard(out, number).exists():
                failed[number] = problem or f"{shard(out, number)} is not to be seen here: give a folder that all share"
            done(len(table) - len(todo) - len(busy) - len(failed), len(table))
    return failed
