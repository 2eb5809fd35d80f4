"""Retargeting beside its peers: the same targets, the same run, one judge.

    python -m bench.retarget [LOG ...] [--out docs/bench]

Without logs it measures on recordings of the parametric person, and on those in ``../shared/data`` where they are.
The last two columns are judged on published meshes (`retarget_meshes.py`).
Peers run in an environment of their own under ``.cache/peers/retarget``, made from ``requirements-retarget.txt``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.retarget_meshes import MeshJudge, OnMeshes
from thenar import hands
from thenar.glove.files import read_log
from thenar.glove.log import GloveLog
from thenar.glove.make import make_log
from thenar.retarget.batch import retarget_recording, time_steps
from thenar.retarget.config import LIMITS_ALONE, RetargetConfig
from thenar.retarget.model.hand_model import HandModel, build_model
from thenar.retarget.solver import key_point_targets_m
from thenar.sim.collision_checker import CollisionChecker, with_outlines
from thenar.twin.reports.retarget_measure import Quality, measure, time_frames_us

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / ".cache" / "peers" / "retarget"
MESHES = HERE.parent / ".cache" / "peers" / "meshes"
SHARED = HERE.parents[1] / "shared" / "data"
LIFTED = 100.0
TITLE = "# Retargeting beside its peers\n"
FRAMES = 3000  # of each log: peers take milliseconds for each


@dataclass(frozen=True)
class Row:
    """One method on one log."""

    method: str
    quality: Quality
    cpu_us: np.ndarray
    on_meshes: OnMeshes


def peer_python() -> Path | None:
    """The Python of the peers' environment, made on first use; None where it cannot be made."""
    python, ready = PEERS / "bin" / "python", PEERS / "ready"
    wanted = (HERE / "requirements-retarget.txt").read_text()
    if ready.exists() and ready.read_text() == wanted:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(PEERS)], check=True)
    for line in (text.partition("#")[0].strip() for text in wanted.splitlines()):
        if line:
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", line], check=False)
    ready.write_text(wanted)
    return python


def our_rows(
    model: HandModel, checker: CollisionChecker, meshes: MeshJudge, nodes: np.ndarray, step_s: np.ndarray
) -> list[Row]:
    """Our solver with everything on, and with limits alone, at the motors' speed and without that limit."""
    rows = []
    for name, config in {
        "limits alone": LIMITS_ALONE,
        "everything on": RetargetConfig(),
        "limits alone, speed lifted": replace(LIMITS_ALONE, speed_scale=LIFTED),
        "everything on, speed lifted": RetargetConfig(speed_scale=LIFTED),
        "frames in random order": RetargetConfig(),
    }.items():
        shown = np.random.default_rng(0).permutation(nodes) if "random" in name else nodes  # must come out badly
        angles = retarget_recording(model, shown, step_s, config)
        cpu_us = time_frames_us(model, config, nodes, step_s)
        quality = measure(model, nodes, step_s, angles, speed_scale=config.speed_scale, checker=checker)
        rows.append(Row(f"thenar, {name}", quality, cpu_us, meshes.judge(model, nodes, angles)))
    return rows


def peer_rows(
    model: HandModel,
    checker: CollisionChecker,
    meshes: MeshJudge,
    nodes: np.ndarray,
    step_s: np.ndarray,
    python: Path,
) -> list[Row]:
    """Every peer on the same targets."""
    spec = hands.build_spec(with_outlines(model.hand))  # the same shapes for all
    arrays = model.record[0]
    links = {joint.name: joint.child for joint in model.hand.joints}
    names = [finger.landmarks for finger in model.fingers]
    number = 0
    for finger, landmarks in zip(model.fingers, names, strict=True):
        for n in range(1, len(landmarks)):
            link = finger.tip_link if n == len(landmarks) - 1 else links[_joint_name(model, landmarks[n].joint)]
            spec.body(link).add_site(name=f"key_{number}", pos=landmarks[n].pos_m.tolist())
            number += 1
    spec.compile()
    speeds = dict(zip(model.variables, arrays["speed_rad_s"][: len(model.variables)], strict=True))
    points = model.points_m(model.open_rad)[0]
    keys = np.concatenate([points[part][1:] for part in model.point_slices])
    targets = key_point_targets_m(model, nodes) - model.palm_m
    rows = []
    with TemporaryDirectory() as folder:
        job, answer = Path(folder) / "job.npz", Path(folder) / "answer.npz"
        np.savez(
            job,
            targets_m=targets,
            person_m=np.concatenate([nodes[:, list(f.nodes)[1:]] @ model.R_palm.T for f in model.fingers], axis=1),
            open_m=keys - model.palm_m,
            step_s=step_s,
            joint_names=np.array(model.hand.joint_names),
            speed_rad_s=np.array([speeds.get(name, 1e-6) for name in model.hand.joint_names]),
            xml=np.array(spec.to_xml()),
        )
        command = [str(python), str(HERE / "retarget_peers.py"), str(job), str(answer)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"the peers stopped: {done.stderr[-2000:]}")
        held = np.load(answer)
        at = [list(model.hand.joint_names).index(name) for name in model.variables]
        for name in dict.fromkeys(key.partition("|")[0] for key in held.files):
            if f"{name}|failed" in held.files:
                sys.stderr.write(f"{name}: {held[f'{name}|failed']}\n")
                continue
            angles = held[f"{name}|angle"][:, at]
            quality = measure(model, nodes, step_s, angles, checker=checker)
            rows.append(Row(name, quality, held[f"{name}|cpu"], meshes.judge(model, nodes, angles)))
    return rows


def _joint_name(model: HandModel, joint: int) -> str:
    """Spec name of a moving joint: each follows its own variable on this hand."""
    return model.variables[int(model.record[0]["variable"][joint])]


def table(title: str, rows: list[Row]) -> str:
    """Markdown of one log."""
    head = (
        "| method | CPU us median / 99 % | tip mm | segment deg | pinch closed % | on the pads % | > 1 mm deep % | "
        "deepest mm | over limits deg | speed / limit | reversals > 0.1 / 0.5 deg | swings > 0.5 deg | "
        "above 5 Hz deg | late ms | meshes: > 1 mm deep % | meshes: pinch closed % |\n|---|" + "---|" * 15
    )
    lines = [f"## {title}\n", head]
    for row in rows:
        q = row.quality
        speed = "-" if "lifted" in row.method else f"{q.speed_ratio:.2f}"
        palmar = "-" if np.isnan(q.pinch_palmar) else f"{100 * q.pinch_palmar:.0f}"
        lines.append(
            f"| {row.method} | {np.median(row.cpu_us):.0f} / {np.percentile(row.cpu_us, 99):.0f} | {q.tip_mm:.2f} | "
            f"{q.segment_deg:.2f} | {100 * q.pinch_ok:.1f} | {palmar} | {100 * q.penetrating:.2f} | "
            f"{q.max_penetration_mm:.1f} | {q.limit_excess_deg:.1f} | {speed} | "
            f"{q.reversals_per_s[0.1]:.2f} / {q.reversals_per_s[0.5]:.2f} | {q.swings_per_s:.2f} | "
            f"{q.fast_motion_deg:.2f} | {1e3 * q.lag_s:.0f} | {100 * row.on_meshes.deep:.2f} | "
            f"{100 * row.on_meshes.closed:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    logs: dict[str, GloveLog] = {path.name: read_log(path) for path in options.logs}
    if not logs:
        logs = {"made, 21 nodes": make_log(), "made, 25 nodes": make_log(layout="manus25")}
        logs |= {path.name: read_log(path) for path in sorted(SHARED.glob("manus*")) if path.suffix in (".csv", ".npz")}
    model = build_model(hands.load("shadow_right"))
    checker, python = CollisionChecker(model.hand), None if options.no_peers else peer_python()
    meshes = MeshJudge(MESHES)
    parts, nodes = [], np.empty((0, 21, 3))
    for name, log in logs.items():
        nodes = np.ascontiguousarray(log.finger_m[-FRAMES:])
        step_s = time_steps(log.stamp_s[-FRAMES:])
        rows = our_rows(model, checker, meshes, nodes, step_s)
        if python is not None:
            rows += peer_rows(model, checker, meshes, nodes, step_s, python)
        parts.append(table(f"{name} ({len(nodes)} frames)", rows))
        sys.stdout.write(parts[-1] + "\n")
    hour = np.concatenate([nodes, nodes[::-1]] * (1 + 414000 // (2 * len(nodes))))[:414000]
    start_s, busy_s = time.perf_counter(), time.process_time()
    retarget_recording(model, hour, np.full(len(hour), 1 / 115))
    took_s, busy_s = time.perf_counter() - start_s, time.process_time() - busy_s
    parts.append(
        f"One hour at 115 Hz (414000 frames), all cores of this machine: {took_s:.1f} s, {busy_s:.1f} s of CPU time.\n"
    )
    sys.stdout.write(parts[-1])
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "retarget.md").write_text("\n".join([TITLE, *parts]), encoding="utf-8")


if __name__ == "__main__":
    main()
