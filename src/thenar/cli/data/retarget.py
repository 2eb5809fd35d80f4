"""``thenar retarget``: a recorded glove into the motion of a hand."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import tyro
from rich.progress import Progress

from thenar import hands
from thenar.cli.show import console, print_json, print_table
from thenar.errors import BadFile, BadValue

if TYPE_CHECKING:
    from thenar.glove.log import GloveLog
    from thenar.retarget.config import RetargetConfig
    from thenar.retarget.model.hand_model import HandModel
    from thenar.signals import FloatArray

TIMED_FRAMES = 2000


@dataclass(frozen=True)
class Following:
    """How the hand follows."""

    tips_only: bool = False
    """Follow fingertips and nothing else."""
    pinch: bool = True
    """Keep pinches closed."""
    contact: bool = True
    """Keep the hand from running into itself."""
    speed_scale: float = 1.0
    """Multiple of the motors' speed that is allowed."""
    smooth_s: float = 0.0
    """Low pass on the glove [s]; adds as much latency."""
    mirror: bool = False
    """Let a glove of the other side drive the hand."""

    def config(self) -> RetargetConfig:
        """The same as the retargeter takes it."""
        from thenar.retarget.config import RetargetConfig

        joints = 0.0 if self.tips_only else 0.5
        return RetargetConfig(
            weight_middle=joints,
            weight_last=joints,
            pinch=self.pinch,
            contact=self.contact,
            speed_scale=self.speed_scale,
            smooth_s=self.smooth_s,
            mirror=self.mirror,
        )


@dataclass(frozen=True)
class Retarget:
    """Make a hand follow a recorded glove, within all its limits, or fit the linear map of the original method to it.

    For example:

    thenar glove make person.csv

    thenar retarget person.csv --hand shadow_right -o motion.npz --report report.html

    thenar retarget fit person.csv --hand shadow_right -o map.json

    thenar retarget person.csv --hand shadow_right --map map.json -o motion.csv
    """

    words: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="[fit] LOG")]
    """The recording (.csv with 21 nodes or .npz with 25); fit before it fits a map."""
    hand: str = "shadow_right"
    """Hand that follows; thenar hands lists them."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Motion as .npz or .csv; for fit, the map as .json."""
    report: Path | None = None
    """Page (.html) with errors, limits, collisions, pinches, timing and pictures of the worst frames."""
    map: Path | None = None
    """Map that fit wrote; without one, segment directions are followed."""
    kind: Literal["scalar", "diagonal", "full", "finger"] = "finger"
    """What fit may choose: one factor, one per axis, a matrix, or factors and a shift for each finger."""
    side: Literal["left", "right"] | None = None
    """Side of the glove, where the recording does not tell."""
    following: Annotated[Following, tyro.conf.arg(name="")] = field(default_factory=Following)
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Read, follow, write."""
        fitting = len(self.words) == 2 and self.words[0] == "fit"
        if not fitting and len(self.words) != 1:
            raise BadValue("LOG", " ".join(self.words), "one recording, or fit and one recording")
        self._check_names(fitting)
        from thenar.glove.files import read_log
        from thenar.retarget.model.hand_model import build_model

        path = Path(self.words[-1])
        log = read_log(path, side=self.side)
        if not self.json:
            for note in log.notes:
                console.print(f"{path}: {note}", highlight=False)
        model = build_model(hands.load(self.hand))
        nodes = self._nodes(path, log, model)
        if fitting:
            self._fit(model, log, nodes)
        else:
            self._follow(path, model, log, nodes)

    def _check_names(self, fitting: bool) -> None:
        """Refuse names before any work is done."""
        endings = (".json",) if fitting else (".npz", ".csv")
        if self.out is not None and self.out.suffix not in endings:
            raise BadValue("--out", str(self.out), f"a name that ends in {' or '.join(endings)}")
        if self.report is not None and self.report.suffix != ".html":
            raise BadValue("--report", str(self.report), "a name that ends in .html")

    def _nodes(self, path: Path, log: GloveLog, model: HandModel) -> FloatArray:
        from thenar.retarget.retargeter import aligned_nodes

        if model.hand.side not in ("none", log.side) and not self.following.mirror:
            raise BadFile(
                path,
                f"row 1 on: a {log.side} hand's recording; expected a {model.hand.side} one for {model.hand.name} "
                f"(--mirror lets it drive the hand all the same, --side {model.hand.side} corrects the side)",
            )
        return aligned_nodes(model, log.finger_m, log.side, mirror=self.following.mirror)

    def _fit(self, model: HandModel, log: GloveLog, nodes: FloatArray) -> None:
        from thenar.retarget.batch import time_steps
        from thenar.retarget.fit import fit_map, save_map

        fitted = fit_map(model, nodes, time_steps(log.stamp_s), self.kind)
        if self.out is not None:
            save_map(self.out, fitted)
        rows: list[dict[str, object]] = [
            {
                "finger": finger,
                "matrix": " ".join(f"{value:.3f}" for value in (np.diag(S) if self.kind != "full" else S.ravel())),
                "shift_mm": " ".join(f"{1e3 * value:.1f}" for value in t),
            }
            for finger, S, t in zip(fitted.fingers, fitted.matrix, fitted.shift_m, strict=True)
        ]
        if self.json:
            print_json({"residual_mm": fitted.residual_mm, "condition": fitted.condition, "fingers": rows})
            return
        print_table(f"{self.kind} map for {self.hand}", rows)
        console.print(f"mean residual {fitted.residual_mm:.2f} mm, condition {fitted.condition:.0f}", highlight=False)
        if fitted.residual_mm > 5.0:
            console.print("[yellow]more than 5 mm: --kind finger, or no map at all, follows far better[/]")

    def _follow(self, path: Path, model: HandModel, log: GloveLog, nodes: FloatArray) -> None:
        from thenar.retarget.batch import follow_recording, time_steps
        from thenar.retarget.fit import load_map
        from thenar.retarget.retargeter import direction_targets
        from thenar.twin.retarget_measure import measure
        from thenar.twin.retarget_report import quality_rows, write_report

        config, step_s = self.following.config(), time_steps(log.stamp_s)
        targets = direction_targets() if self.map is None else load_map(self.map).targets(model)
        with Progress(console=console, disable=self.json, transient=True) as bar:
            task = bar.add_task(f"{self.hand} follows {len(log)} frames", total=len(log))
            follow_recording(model, nodes[:1], step_s[:1], config, targets=targets)  # compiled before the clock runs
            start_s = time.perf_counter()
            angles = follow_recording(
                model, nodes, step_s, config, targets=targets, progress=lambda frames: bar.advance(task, frames)
            )
            took_s = time.perf_counter() - start_s
        if self.out is not None:
            _write_motion(self.out, model, log.stamp_s, angles)
        cpu_us = _time_frames(model, config, nodes[:TIMED_FRAMES], step_s)
        quality = measure(model, nodes, step_s, angles, targets=targets, speed_scale=config.speed_scale)
        rows = quality_rows(quality, cpu_us)
        if self.report is not None:
            write_report(self.report, f"{self.hand} follows {path.name}", model, log.stamp_s, angles, quality, cpu_us)
        if self.json:
            print_json({str(row["what"]).strip(): row["value"] for row in rows})
            return
        print_table(f"{self.hand} follows {path.name}", rows)
        console.print(f"{len(log)} frames in {took_s:.2f} s", highlight=False)
        for written in (self.out, self.report):
            if written is not None:
                console.print(f"wrote {written}", highlight=False)


def _write_motion(path: Path, model: HandModel, stamp_s: FloatArray, angles: FloatArray) -> None:
    """Joint angles and motor commands, with a name for every column."""
    joint_rad, motor_rad = model.joint_rad(angles), model.motor_rad(angles)
    unfinished = path.with_name(f".{path.name}.part{path.suffix}")
    try:
        if path.suffix == ".npz":
            np.savez_compressed(
                unfinished,
                stamp_s=stamp_s,
                joint_names=np.array(model.hand.joint_names),
                joint_rad=joint_rad,
                motor_names=np.array(model.hand.actuator_names),
                motor_rad=motor_rad,
            )
        else:
            names = ["stamp_s", *model.hand.joint_names, *(f"motor:{name}" for name in model.hand.actuator_names)]
            table = np.concatenate([stamp_s[:, None], joint_rad, motor_rad], axis=1)
            np.savetxt(unfinished, table, delimiter=",", header=",".join(names), comments="", fmt="%.7f")
        unfinished.replace(path)  # whole or not at all
    except OSError as error:
        raise BadFile(path, f"cannot be written: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _time_frames(model: HandModel, config: RetargetConfig, nodes: FloatArray, step_s: FloatArray) -> FloatArray:
    """CPU time of each frame on one core [us], the least of three passes."""
    from thenar.retarget.retargeter import Retargeter

    passes = []
    for _ in range(3):
        retargeter, took = Retargeter(model, config), []
        for frame, step in zip(nodes, step_s, strict=False):
            start_ns = time.thread_time_ns()
            retargeter.follow(frame, float(step))
            took.append(1e-3 * (time.thread_time_ns() - start_ns))
        passes.append(took)
    return np.min(passes, axis=0)
