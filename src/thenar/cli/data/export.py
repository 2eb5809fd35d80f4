"""``thenar export``: a hand as a model file for other simulators."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from thenar import hands
from thenar.cli.show import console
from thenar.errors import writing


@dataclass(frozen=True)
class Export:
    """Write a hand as URDF, SDF or MJCF, with a link or site for every touch sensor.

    For example:

    thenar export reflex --format urdf --sensor contact -o reflex.urdf

    thenar export shadow_right --format mjcf -o shadow.xml

    thenar export inspire_right --format sdf --sensor pressure -o inspire.sdf

    Masses, inertias, limits, couplings and shapes are those of the twin; thenar hands NAME shows them.
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="HAND")]
    """Hand of the catalogue: thenar hands lists them."""
    format: Literal["urdf", "sdf", "mjcf"] = "urdf"
    """urdf and sdf carry Gazebo's sensor blocks; mjcf also has tendons, springs and servos."""
    sensor: Literal["contact", "pressure"] = "contact"
    """contact says what touches a sensor; pressure reads the force on it as well."""
    variant: str | None = None
    """Another published coupling law of that hand."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """File to write; the hand's name in this folder if not given."""

    def run(self) -> None:
        """Write the file."""
        from thenar.hands.export import export_hand

        spec = hands.load(self.name, variant=self.variant)
        out = self.out or Path(f"{spec.name}.{'xml' if self.format == 'mjcf' else self.format}")
        model = export_hand(spec, format=self.format, sensor=self.sensor)
        with writing(out):
            out.write_text(model, encoding="utf-8")
        console.print(f"wrote {out}: {len(spec.links)} links, {len(spec.joints)} joints, {len(spec.pads)} pads")
