"""Sweeps: the same bytes whoever works, nothing done twice, and a worker that dies costs one shard."""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from thenar.batch import sweep
from thenar.batch.sweeping import TrialFile, TrialsFailed
from thenar.cli import main
from thenar.errors import BadFile, BadValue, MissingExtra

# A world that a seed makes; what is in ``log`` says which rows were begun, in the order of processes.
TRIAL = """
import os, signal, random
from pathlib import Path

HERE = Path(__file__).parent
rows = [{"seed": seed, "force_n": 0.5 * seed} for seed in range(6)]

def trial(row, folder):
    with open(HERE / "log", "a") as log:
        print(row["seed"], os.getpid(), file=log)
    drawn = random.Random(row["seed"])
    (folder / "noise.bin").write_bytes(drawn.randbytes(1000))
    if row["seed"] == 3 and not (HERE / "killed").exists() and (HERE / "deadly").exists():
        (HERE / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if row["seed"] == 4 and (HERE / "faulty").exists():
        raise ValueError("no such grasp")
    return {"grip_n": drawn.random()}
"""
ROWS = [{"seed": seed, "force_n": 0.5 * seed} for seed in range(6)]


@pytest.fixture
def trial(tmp_path: Path) -> TrialFile:
    (tmp_path / "grasps.py").write_text(TRIAL)
    return TrialFile(tmp_path / "grasps.py")


def begun(trial: TrialFile) -> Counter[int]:
    return Counter(int(line.split()[0]) for line in (trial.path.parent / "log").read_text().splitlines())


def content(out: Path) -> dict[str, bytes]:
    return {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file()}


def test_one_two_and_four_workers_write_the_same_bytes(trial: TrialFile, tmp_path: Path):
    made = []
    for workers in (1, 2, 4):
        results = sweep(trial, ROWS, out=tmp_path / str(workers), workers=workers)
        assert [result["seed"] for result in results] == list(range(6))
        made.append(content(tmp_path / str(workers)))
    assert len(made[0]) == 6 * 3 + 1
    assert made[0] == made[1] == made[2]
    pids = {line.split()[1] for line in (tmp_path / "log").read_text().splitlines()}
    assert len(pids) > 3, "workers should share the rows"


def test_a_worker_that_is_killed_costs_one_shard_and_nothing_is_done_twice(trial: TrialFile, tmp_path: Path):
    (tmp_path / "deadly").touch()
    sweep(trial, ROWS, out=tmp_path / "out", workers=2)
    assert begun(trial) == {0: 1, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1}
    whole = content(tmp_path / "out")
    for lost in (tmp_path / "out" / "000005").iterdir():  # as a sweep leaves it that was ended in its middle
        lost.unlink()
    (tmp_path / "out" / "000005").rmdir()
    (tmp_path / "out" / "000005.part").mkdir()
    main(["sweep", str(trial.path), "-o", str(tmp_path / "out"), "--workers", "1"])
    assert begun(trial)[5] == 2
    assert begun(trial).total() == 8
    assert content(tmp_path / "out") == whole


def test_a_cluster_writes_the_same_bytes_and_repeats_the_row_of_a_killed_worker(trial: TrialFile, tmp_path: Path):
    ray: Any = pytest.importorskip("ray", reason="ray is not installed")
    sweep(trial, ROWS, out=tmp_path / "processes", workers=2)
    (tmp_path / "log").unlink()
    (tmp_path / "deadly").touch()
    finished = []
    with pytest.raises(BadValue, match="the address of a Ray that runs"):
        sweep(trial, ROWS, out=tmp_path / "ray", cluster="auto")
    with ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False):
        results = sweep(trial, ROWS, out=tmp_path / "ray", cluster="auto", done=lambda count, _: finished.append(count))
        assert [result["seed"] for result in results] == list(range(6))
        assert content(tmp_path / "ray") == content(tmp_path / "processes")
        assert begun(trial) == {0: 1, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1}
        assert finished[-1] == 6
        (tmp_path / "faulty").touch()
        for gpus, wanted in ((0.0, "no such grasp"), (64.0, "what the cluster has")):
            with pytest.raises((TrialsFailed, BadValue), match=wanted):
                sweep(trial, ROWS, out=tmp_path / "other", cluster="auto", workers=1, gpus=gpus)


def test_without_ray_a_cluster_names_the_extra(
    trial: TrialFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'thenar\[cluster\]'"):
        sweep(trial, ROWS, out=tmp_path / "out", cluster="auto")
    with pytest.raises(BadValue, match="without a cluster"):
        sweep(trial, ROWS, out=tmp_path / "out", gpus=1)
    with pytest.raises(BadValue, match="not both 0"):
        sweep(trial, ROWS, out=tmp_path / "out", cores=0.0)
    with pytest.raises(SystemExit):
        main(["sweep", str(trial.path), "-o", str(tmp_path / "out"), "--cluster", "auto"])
    assert "thenar[cluster]" in capsys.readouterr().err


def test_a_row_that_fails_is_told_and_the_others_are_kept(trial: TrialFile, tmp_path: Path):
    (tmp_path / "faulty").touch()
    with pytest.raises(TrialsFailed, match=r"(?s)1 of 6 rows failed.*Row 4.*no such grasp"):
        sweep(trial, ROWS, out=tmp_path / "out", workers=1)
    (tmp_path / "faulty").unlink()
    assert len(sweep(trial, ROWS, out=tmp_path / "out", workers=1)) == 6
    assert begun(trial) == {0: 1, 1: 1, 2: 1, 3: 1, 4: 2, 5: 1}


def test_what_is_no_sweep_is_refused(trial: TrialFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for rows, wanted in (
        ([], "at least one row"),
        ([{"at": os}], "JSON"),
        ([{"at": float("nan")}], "JSON"),
        ([3], "JSON"),
    ):
        with pytest.raises(BadValue, match=wanted):
            sweep(trial, rows, out=tmp_path / "out")  # pyright: ignore[reportArgumentType]
    with pytest.raises(BadValue, match="workers is 0"):
        sweep(trial, ROWS, out=tmp_path / "out", workers=0)
    with pytest.raises(BadValue, match="top of a module"):
        sweep(lambda row, folder: None, ROWS, out=tmp_path / "out")
    sweep(trial, ROWS[:1], out=tmp_path / "out", workers=1)
    with pytest.raises(BadFile, match="holds another row"):
        sweep(trial, [{"seed": 9}], out=tmp_path / "out", workers=1)
    for text, wanted in (
        ("rows = []", "has no 'trial'"),
        ("1 / 0", "ZeroDivisionError"),
        ("rows = trial = [1]", "trial is"),
    ):
        trial.path.write_text(text)
        with pytest.raises(SystemExit):
            main(["sweep", str(trial.path), "-o", str(tmp_path / "other")])
        assert wanted in capsys.readouterr().err
