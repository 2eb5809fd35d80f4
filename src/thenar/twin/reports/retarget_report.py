"""What a hand did after a glove, written down: its motion, and a report as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import html
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from thenar.errors import NoRenderer, writing
from thenar.retarget.model.hand_model import HandModel
from thenar.signals import FloatArray
from thenar.sim.drawing import render
from thenar.twin.reports.retarget_measure import Quality

STYLE = (
    "body{font:15px system-ui;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "td{padding:.15em .9em;text-align:right;border-bottom:1px solid #ddd}td:first-child{text-align:left}"
    "figure{display:inline-block;margin:.4em}figcaption{font-size:13px;color:#555}"
)
WORST = 3


def quality_rows(quality: Quality, cpu_us: FloatArray) -> list[dict[str, object]]:
    """What was measured, as rows of a table."""
    rows = [
        ("frames", quality.frames),
        ("fingertip error off-pinch, mm", round(quality.tip_mm, 2)),
        *((f"  {finger}", round(error, 2)) for finger, error in quality.tip_of_finger_mm.items()),
        ("segment angle error off-pinch, degrees", round(quality.segment_deg, 2)),
        ("pinches of the person that the hand can reach", quality.pinches),
        ("  closed (2 mm deep to 3 mm apart), %", round(100 * quality.pinch_ok, 1)),
        ("  of those on the pads' side, %", round(100 * quality.pinch_palmar, 1)),
        ("frames with parts more than 1 mm deep, %", round(100 * quality.penetrating, 2)),
        ("deepest, mm", round(quality.max_penetration_mm, 2)),
        ("over a limit or coupling, degrees", round(quality.limit_excess_deg, 6)),
        ("largest motor speed, of its limit", round(quality.speed_ratio, 6)),
        *(
            (f"turns back by more than {deg} degrees, per joint and second", round(count, 2))
            for deg, count in quality.reversals_per_s.items()
        ),
        ("motion faster than 5 Hz, degrees", round(quality.fast_motion_deg, 3)),
        ("fingertips late by, ms", round(1e3 * quality.lag_s, 1)),
        ("largest joint step, degrees", round(quality.largest_step_deg, 1)),
        ("CPU time per frame, median, us", round(float(np.median(cpu_us)), 1)),
        ("CPU time per frame, 99 %, us", round(float(np.percentile(cpu_us, 99)), 1)),
    ]
    return [{"what": what, "value": value} for what, value in rows]


def write_report(
    path: Path,
    title: str,
    model: HandModel,
    stamp_s: FloatArray,
    variable_rad: FloatArray,
    quality: Quality,
    cpu_us: FloatArray,
) -> None:
    """Write the page: a table, the errors over time, and pictures of the frames with the largest errors."""
    rows = "".join(
        f"<tr><td>{html.escape(str(what))}</td><td>{value if value == value else '-'}</td></tr>"  # NaN: of nothing
        for what, value in (row.values() for row in quality_rows(quality, cpu_us))
    )
    worst = _worst_frames(quality.tip_frame_mm)
    try:
        pictures = "".join(
            f'<figure><img width=300 src="data:image/png;base64,{_picture(model, variable_rad[n])}">'
            f"<figcaption>frame {n}, {stamp_s[n] - stamp_s[0]:.2f} s: {quality.tip_frame_mm[n]:.1f} mm</figcaption>"
            "</figure>"
            for n in worst
        )
    except NoRenderer as error:
        pictures = f"<p>{html.escape(str(error))}</p>"
    time_s = stamp_s - stamp_s[0]
    page = (
        f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><style>{STYLE}</style>"
        f"<h1>{html.escape(title)}</h1><table>{rows}</table>"
        f"<h2>Mean fingertip error, mm</h2>{_curve(time_s, quality.tip_frame_mm, quality.pinching)}"
        "<p>Shaded: the person pinches, and the hand closes the gap that its other proportions leave.</p>"
        f"<h2>Frames with the largest error</h2>{pictures}"
    )
    with writing(path):
        path.write_text(page, encoding="utf-8")


def write_motion(path: Path, model: HandModel, stamp_s: FloatArray, variable_rad: FloatArray) -> None:
    """Write joint and motor angles with a name for every column, as .npz or .csv: the whole file or none."""
    joint_rad, motor_rad = model.joint_rad(variable_rad), model.motor_rad(variable_rad)
    joints, motors = model.hand.joint_names, model.hand.actuator_names
    unfinished = path.with_name(f".{path.name}.part{path.suffix}")
    with writing(path), ExitStack() as ended:
        ended.callback(unfinished.unlink, missing_ok=True)
        if path.suffix == ".npz":
            angles = {"joint_names": joints, "joint_rad": joint_rad, "motor_names": motors, "motor_rad": motor_rad}
            np.savez_compressed(unfinished, allow_pickle=False, stamp_s=stamp_s, **angles)
        else:
            header = ",".join(("stamp_s", *joints, *(f"motor:{name}" for name in motors)))
            table = np.concatenate([stamp_s[:, None], joint_rad, motor_rad], axis=1)
            np.savetxt(unfinished, table, delimiter=",", header=header, comments="", fmt="%.7f")
        unfinished.replace(path)


def _worst_frames(error_mm: FloatArray) -> list[int]:
    """Frames with the largest errors, at row_lower a twentieth of the recording apart."""
    left, found = error_mm.copy(), []
    while len(found) < WORST and np.any(left >= 0.0):
        n = int(np.argmax(left))
        found.append(n)
        away = max(1, len(left) // 20)
        left[max(0, n - away) : n + away] = -1.0
    return found


def _picture(model: HandModel, variable_rad: FloatArray) -> str:
    """One posture as a PNG in base64."""
    image = render.draw_posture(model.hand, model.joint_rad(variable_rad), size_px=(480, 480))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "posture.png"
        render.write_png(file, image)
        return base64.b64encode(file.read_bytes()).decode()


def _curve(time_s: FloatArray, error_mm: FloatArray, pinching: NDArray[np.bool_]) -> str:
    """Errors over time as an SVG, at most 1500 points, the largest of each stretch."""
    width, height = 900, 180
    stretch = max(1, len(error_mm) // 1500)
    count = len(error_mm) // stretch
    peaks = error_mm[: count * stretch].reshape(count, stretch).max(axis=1)
    pinch = pinching[: count * stretch].reshape(count, stretch).any(axis=1)
    x = np.linspace(40, width - 10, count)
    top = max(float(peaks.max(initial=1.0)), 1.0)
    y = height - 20 - (height - 40) * peaks / top
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    edges = np.flatnonzero(np.diff(np.concatenate([[0], pinch.astype(int), [0]])))
    shade = "".join(
        f'<rect x="{x[a]:.1f}" y="10" width="{max(1.0, x[b - 1] - x[a]):.1f}" height="{height - 30}" fill="#f3e6c8"/>'
        for a, b in zip(edges[::2], edges[1::2], strict=True)
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" width="100%">{shade}'
        f'<polyline points="{line}" fill="none" stroke="#25507f"/>'
        f'<text x="4" y="16" font-size="12">{top:.0f} mm</text><text x="4" y="{height - 20}" font-size="12">0</text>'
        f'<text x="{width - 60}" y="{height - 4}" font-size="12">{time_s[-1]:.1f} s</text></svg>'
    )
