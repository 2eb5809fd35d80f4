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
    """Write a hand as URDF, xacro, SDF or MJCF, with a link or site for every touch sensor.

    For example:

    thenar export reflex --format urdf --sensor contact -o reflex.urdf

    thenar export shadow_right --format mjcf -o shadow.xml

    thenar export inspire_right --format sdf --sensor pressure -o inspire.sdf

    thenar export reflex --format sdf1.7 --prefix left_ -o left.sdf

    Masses, inertias, limits, couplings and shapes are those of the twin; thenar hands NAME shows them.
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="HAND")]
    """Hand of the catalogue: thenar hands lists them."""
    format: Literal["urdf", "xacro", "sdf", "sdf1.7", "mjcf"] = "urdf"
    """urdf, xacro and sdf carry Gazebo's sensor blocks, sdf1.7 those of Gazebo 11; mjcf also has tendons and servos."""
    sensor: Literal["contact", "pressure", "none"] = "contact"
    """contact says what touches a sensor; pressure reads the force on it as well; none leaves sensors out."""
    prefix: str = ""
    """Stands before every name, so that several hands fit into one world."""
    flexures: Literal["chain", "hinge"] = "chain"
    """hinge has one hinge in place of each chain of them: lighter to simulate, and firm at its limits."""
    explicit_step: float = 0.0
    """Step [s] of an engine that adds damping as a force (PyBullet): joints are damped no more than it withstands."""
    variant: str | None = None
    """Another published coupling law of that hand."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """File to write; the hand's name in this folder if not given."""

    def run(self) -> None:
        """Write the file."""
        from thenar.hands.export import export_hand

        spec = hands.load(self.name, variant=self.variant)
        ending = {"mjcf": "xml", "xacro": "urdf.xacro", "sdf1.7": "sdf"}.get(self.format, self.format)
        out = self.out or Path(f"{self.prefix}{spec.name}.{ending}")
        model = export_hand(
            spec,
            format=self.format,
            sensor=self.sensor,
            prefix=self.prefix,
            flexures=self.flexures,
            explicit_step_s=self.explicit_step,
        )
        with writing(out):
            out.write_text(model, encoding="utf-8")
        console.print(f"wrote {out}: {len(spec.links)} links, {len(spec.joints)} joints, {len(spec.pads)} pads")
