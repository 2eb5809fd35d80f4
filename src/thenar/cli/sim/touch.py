"""``thenar touch``: press something on a pad and see what it feels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro
from rich.columns import Columns

from thenar import hands
from thenar.cli.show import console, heat_map, heat_picture, print_json, quantity
from thenar.errors import BadValue


@dataclass(frozen=True)
class Touch:
    """Press an object on a pad with a known force and see what every taxel feels, with theory beside it.

    For example:

    thenar touch press --pad index_top --object sphere:10mm --force 1N

    thenar touch press --pad palm --object punch:6mm --force 2N --at 2mm,-3mm --plot palm.png

    thenar touch press --pad thumb_top --object box:12mm:edge --json
    """

    action: tyro.conf.Positional[Literal["press"]]
    """What to do: press."""
    hand: str = "inspire_right"
    """Hand to press on; it must have pads."""
    pad: str = "index_top"
    """Pad to press on."""
    object: str = "sphere:10mm"
    """sphere:R, cylinder:R[:L], punch:R, capsule:R[:L], box:EDGE[:face|edge|corner], ellipsoid:A,B,C or mesh:FILE."""
    force: str = "1N"
    """How hard."""
    at: str = "0mm,0mm"
    """Where: along rows and columns from the pad's centre."""
    calibration: Path | None = None
    """TOML file with the skin's stiffness, thickness and sensor."""
    plot: Path | None = None
    """PNG file for the maps."""
    json: bool = False
    """Print JSON instead of maps."""

    def run(self) -> None:
        """Press and print."""
        from thenar.sim.drawing import render
        from thenar.sim.press import parse_indenter
        from thenar.touch.sensor.calibration import IDEAL, load_calibration
        from thenar.twin.reports.press_report import press_pad

        spec = hands.load(self.hand)
        if not spec.pads:
            with_pads = ", ".join(name for name in hands.names() if hands.load(name).pads)
            raise BadValue("--hand", self.hand, f"a hand with pads: {with_pads}")
        calibration = IDEAL if self.calibration is None else load_calibration(self.calibration, spec)
        u, v = (quantity("--at", part, "mm", 1e-3) for part in _two("--at", self.at))
        result = press_pad(
            spec,
            self.pad,
            parse_indenter(self.object),
            force_n=quantity("--force", self.force, "N", 1.0),
            at_m=(u, v),
            calibration=calibration,
        )
        frame = result.frame
        if not frame.contact_n > 0.0:
            raise BadValue("--force", self.force, f"one under which {self.object} stays on the skin; it went through")
        answer = {
            "pad": self.pad,
            "force_n": frame.force_n[self.pad],
            "bare_skin_n": frame.bare_skin_n,
            "contact_n": frame.contact_n,
            "centre_of_pressure_m": frame.centre_of_pressure_m[self.pad],
            "relative_l2": result.relative_l2,
            "pressure_pa": frame[self.pad],
            "theory_pa": result.theory_pa,
            "counts": frame.counts[self.pad],
        }
        maps = [("felt, kPa", frame[self.pad])]
        if result.theory_pa is not None:
            maps.append(("theory, kPa", result.theory_pa))
        if self.plot is not None:
            render.write_png(self.plot, heat_picture([values for _, values in maps]))
        if self.json:
            print_json(answer)
            return
        console.print(Columns([heat_map(title, values) for title, values in maps]))
        felt_n, at_m = frame.force_n[self.pad], frame.centre_of_pressure_m[self.pad]
        centre = f"; centre {', '.join(f'{1e3 * x + 0.0:.2f}' for x in at_m)} mm" if felt_n > 0.0 else ""
        console.print(f"{felt_n:.4f} N on {self.pad}, {abs(frame.bare_skin_n):.4f} N beside it{centre}")
        if not math.isnan(result.relative_l2):
            console.print(f"difference to theory {100 * result.relative_l2:.2f} %")


def _two(option: str, text: str) -> list[str]:
    parts = text.split(",")
    if len(parts) != 2:
        raise BadValue(option, text, "two lengths such as 2mm,-3mm")
    return parts
