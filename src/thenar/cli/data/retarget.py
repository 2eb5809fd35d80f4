"""``thenar retarget``: a recorded glove into the motion of a hand."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import tyro
from rich.progress import Progress

from thenar import hands
from thenar.cli.show import check_ending, check_other, check_unused, console, listed, print_json, print_table
from thenar.errors import BadFile, BadValue

if TYPE_CHECKING:
    from thenar.glove.log import GloveLog
    from thenar.hands.spec import HandSpec
    from thenar.retarget.config import RetargetConfig
    from thenar.retarget.fit import LinearMap
    from thenar.retarget.model.hand_model import HandModel
    from thenar.signals import FloatArray, GloveSide

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

        config = RetargetConfig(**{name: value for name, value in vars(self).items() if name != "tips_only"})
        return replace(config, weight_middle=0.0, weight_last=0.0) if self.tips_only else config


@dataclass(frozen=True)
class Retarget:
    """Make a hand follow a recorded glove, within all its limits, or fit the linear map of the original method to it.

    For example:

    thenar glove make person.csv

    thenar retarget person.csv --hand shadow_right -o motion.npz --report report.html

    thenar retarget fit person.csv --hand shadow_right -o map.json

    thenar retarget person.csv --hand shadow_right --map map.json -o motion.csv

    thenar retarget person.csv --hand shadow_right --map 1.7,1.4,1.55

    thenar retarget person.csv --hand shadow_right --view person.html --film person.mp4
    """

    words: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="[fit] LOG")]
    """The recording (.csv with 21 nodes or .npz with 25); fit before it fits a map."""
    hand: str = "shadow_right"
    """Hand that follows; thenar hands lists them."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Motion as .npz or .csv; for fit, the map as .json."""
    report: Path | None = None
    """Page (.html) with errors, limits, collisions, pinches, timing and pictures of the worst frames."""
    view: Path | None = None
    """Page (.html) that plays the person beside the robot in a browser, with error and contact over time."""
    film: Path | None = None
    """The same as a film (.mp4 or .gif), the robot as it looks."""
    map: str = ""
    """Map that fit wrote, or factors by hand: 1.5, or 1.7,1.4,1.55 along thumb, back and fingers, or nine of a matrix;
    without one, segment directions are followed."""
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
        if fitting:
            check_unused(self, ("report", "view", "film", "map"), "a motion: thenar retarget LOG, without fit")
        else:
            check_unused(self, ("kind",), "a map to fit: thenar retarget fit LOG")
        check_ending("--out", self.out, *((".json",) if fitting else (".npz", ".csv")))
        check_other("--out", self.out, Path(self.words[-1]))
        check_ending("--report", self.report, ".html")
        check_ending("--view", self.view, ".html")
        if self.film is not None:
            from thenar.recordings.film import film_kind

            film_kind(self.film)
        from thenar.retarget.batch import time_steps
        from thenar.retarget.model.hand_model import build_model
        from thenar.retarget.retargeter import aligned_nodes

        path, spec = Path(self.words[-1]), hands.load(self.hand)
        log = read_own_side(path, spec, side=self.side, mirror=self.following.mirror)
        if not self.json:
            for note in log.notes:
                console.print(f"{path}: {note}")
        model = build_model(spec)
        nodes = aligned_nodes(model, log.finger_m, log.side, mirror=self.following.mirror)
        if fitting:
            self._fit(model, nodes, time_steps(log.stamp_s))
        else:
            self._follow(path.name, model, log.stamp_s, nodes, time_steps(log.stamp_s))

    def _fit(self, model: HandModel, nodes: FloatArray, step_s: FloatArray) -> None:
        from thenar.retarget.fit import MAX_CONDITION, fit_map, save_map

        fitted = fit_map(model, nodes, step_s, self.kind)
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
        console.print(f"mean residual {fitted.residual_mm:.2f} mm, condition {fitted.condition:.0f}")
        if fitted.condition > MAX_CONDITION:
            console.print(
                f"the recording does not determine this map (condition {fitted.condition:.2g}, fine below "
                f"{MAX_CONDITION:g}): record more postures, or take --kind scalar",
                style="yellow",
            )
        if fitted.residual_mm > 5.0:
            console.print("more than 5 mm: --kind finger, or no map at all, follows far better", style="yellow")

    def _follow(self, name: str, model: HandModel, stamp_s: FloatArray, nodes: FloatArray, step_s: FloatArray) -> None:
        from thenar.retarget.batch import retarget_recording
        from thenar.twin.reports.retarget_measure import measure, time_frames_us
        from thenar.twin.reports.retarget_report import quality_rows, write_motion, write_report

        config, title = self.following.config(), f"{self.hand} follows {name}"
        linear_map = choose_map(self.map, model)
        with Progress(console=console, disable=self.json, transient=True) as bar:
            task = bar.add_task(f"{self.hand} follows {len(nodes)} frames", total=len(nodes))
            retarget_recording(model, nodes[:1], step_s[:1], config, linear_map=linear_map)  # compiled first
            start_s = time.perf_counter()
            angles = retarget_recording(
                model, nodes, step_s, config, linear_map=linear_map, progress=lambda frames: bar.advance(task, frames)
            )
            took_s = time.perf_counter() - start_s
        if self.out is not None:
            write_motion(self.out, model, stamp_s, angles)
        cpu_us = time_frames_us(model, config, nodes[:TIMED_FRAMES], step_s[:TIMED_FRAMES])
        quality = measure(model, nodes, step_s, angles, linear_map=linear_map, speed_scale=config.speed_scale)
        rows = quality_rows(quality, cpu_us)
        if self.report is not None:
            write_report(self.report, title, model, stamp_s, angles, quality, cpu_us)
        if self.view is not None or self.film is not None:
            from thenar.twin.reports.retarget_view import Followed, film_follow, write_page

            seen = {"nodes_m": nodes, "variable_rad": angles, "error_mm": quality.tip_frame_mm}
            followed = Followed(title=title, model=model, time_s=stamp_s - stamp_s[0], **seen)
            if self.view is not None:
                write_page(self.view, followed)
            if self.film is not None:
                with Progress(console=console, disable=self.json, transient=True) as bar:
                    task = bar.add_task("filming", total=None)
                    film_follow(self.film, followed, lambda frames: bar.advance(task, frames))
        if self.json:
            print_json({str(row["what"]).strip(): row["value"] for row in rows})
            return
        print_table(title, rows)
        console.print(f"{len(nodes)} frames in {took_s:.2f} s")
        for written in (self.out, self.report, self.view, self.film):
            if written is not None:
                console.print(f"wrote {written}")


def choose_map(text: str, model: HandModel) -> LinearMap | None:
    """A map by hand (one factor, three, or nine numbers), the one in a file, or none."""
    from thenar.retarget.fit import load_map, map_by_hand

    try:
        factors = [float(word) for word in listed(text)]
    except ValueError:
        return load_map(Path(text))
    return map_by_hand(model, factors) if factors else None


def read_own_side(path: Path, hand: HandSpec, *, mirror: bool, side: GloveSide | None = None) -> GloveLog:
    """A recording for a hand of its side, or of the other one if it is to be mirrored."""
    from thenar.glove.files import read_log

    log = read_log(path, side=side)
    if hand.side not in ("none", log.side) and not mirror:
        raise BadFile(
            path,
            f"a {log.side} hand's recording; expected a {hand.side} one for {hand.name} (--mirror lets it drive the "
            f"hand all the same; thenar retarget --side {hand.side} corrects a side that is wrong)",
        )
    return log
