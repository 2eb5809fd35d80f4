"""The ``thenar`` command: one dataclass per verb, and nothing here that another program could want."""

from __future__ import annotations

import json
import math
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import tyro
from numpy.typing import NDArray
from rich import box
from rich.columns import Columns
from rich.console import Console
from rich.live import Live
from rich.progress import track
from rich.table import Table
from rich.text import Text

from thenar import hands
from thenar.errors import BadValue, ThenarError

if TYPE_CHECKING:
    from thenar.hands.spec import Actuator, HandSpec
    from thenar.signals import HandState

console = Console()
POSES = ("open", "fist")


@dataclass(frozen=True)
class Hands:
    """List the hands of the catalogue, or everything about one of them.

    For example:

    thenar hands

    thenar hands inspire_right

    thenar hands inspire_right --json
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")] = ""
    """Hand to describe; empty lists all."""
    variant: str | None = None
    """Another published coupling law of that hand."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Print the tables."""
        if not self.name:
            if self.variant:
                raise BadValue("--variant", self.variant, "the name of a hand before it")
            rows = [_summary(hands.load(name)) for name in hands.names()]
            if self.json:
                _print_json(rows)
            else:
                _print_table("Hands", [{key: row[key] for key in row if key != "maker"} for row in rows])
                console.print("thenar hands NAME tells everything about one of them.")
            return
        spec = hands.load(self.name, variant=self.variant)
        if self.json:
            _print_json(_everything(spec))
            return
        sections = _description(spec)
        console.print(f"[bold]{spec.name}[/bold]  {spec.maker} {spec.model}, {spec.mass_kg:.3f} kg. {spec.summary}")
        sources: dict[object, int] = {}
        for title, rows in sections.items():
            for row in rows:  # long sources become numbers, explained below
                row["source"] = f"[{sources.setdefault(row['source'], len(sources) + 1)}]"
            if rows:
                _print_table(title.capitalize(), rows)
        for source, number in sources.items():
            console.print(f"[{number}] {source}", markup=False, highlight=False)
        for note in spec.notes:
            console.print(f"- {note}", highlight=False)


@dataclass(frozen=True)
class Scenes:
    """List the named scenes."""

    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Print the table."""
        from thenar.sim import scenes

        rows = [
            {
                "scene": name,
                "objects": [prop.name for prop in scenes.load(name).props],
                "what": scenes.load(name).summary,
            }
            for name in scenes.names()
        ]
        if self.json:
            _print_json(rows)
        else:
            _print_table("Scenes", rows)


@dataclass(frozen=True)
class Render:
    """Draw a hand in a posture that its motors took by themselves, as a PNG file.

    For example:

    thenar render inspire_right --pose fist -o fist.png

    thenar render shadow_right --pose pinch --view thumb -o pinch.png

    thenar render inspire_right --pose 0,0,0,1,0.5,1 -o custom.png
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """Hand to draw, or a mapping file for a model of your own."""
    pose: str = "open"
    """open, fist, pinch, point, or closing fractions from 0 to 1: one for all or one per motor."""
    view: Literal["palm", "back", "thumb", "front"] = "palm"
    """Side to look from."""
    variant: str | None = None
    """Another published coupling law of that hand."""
    size: tuple[int, int] = (640, 640)
    """Width and height in pixels."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("hand.png")
    """File to write."""

    def run(self) -> None:
        """Draw and write."""
        from thenar.sim import picture

        spec = hands.load(self.name, variant=self.variant)
        picture.write_png(self.out, picture.draw_hand(spec, pose=self.pose, view=self.view, size_px=self.size))
        console.print(f"wrote {self.out}")


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
        from thenar.sim import picture
        from thenar.sim.press import parse_indenter
        from thenar.touch.calibration import IDEAL, load_calibration
        from thenar.twin.press import press_pad

        spec = hands.load(self.hand)
        if not spec.pads:
            with_pads = ", ".join(name for name in hands.names() if hands.load(name).pads)
            raise BadValue("--hand", self.hand, f"a hand with pads: {with_pads}")
        calibration = IDEAL if self.calibration is None else load_calibration(self.calibration, spec)
        u, v = (_quantity("--at", part, "mm", 1e-3) for part in _two("--at", self.at))
        result = press_pad(
            spec,
            self.pad,
            parse_indenter(self.object),
            force_n=_quantity("--force", self.force, "N", 1.0),
            at_m=(u, v),
            calibration=calibration,
        )
        frame = result.frame
        answer = {
            "pad": self.pad,
            "force_n": frame.force_n[self.pad],
            "bare_skin_n": frame.bare_skin_n,
            "contact_n": frame.contact_n,
            "centre_of_pressure_m": frame.centre_of_pressure_m[self.pad],
            "relative_l2": None if math.isnan(result.relative_l2) else result.relative_l2,
            "pressure_pa": frame[self.pad].tolist(),
            "theory_pa": None if result.theory_pa is None else result.theory_pa.tolist(),
            "counts": frame.counts[self.pad].tolist(),
        }
        maps = [("felt, kPa", frame[self.pad])]
        if result.theory_pa is not None:
            maps.append(("theory, kPa", result.theory_pa))
        if self.plot is not None:
            picture.write_png(self.plot, _heat_picture([values for _, values in maps]))
        if self.json:
            _print_json(answer)
            return
        console.print(Columns([_heat_map(title, values) for title, values in maps]))
        centre = ", ".join(f"{1e3 * x + 0.0:.2f}" for x in frame.centre_of_pressure_m[self.pad])
        console.print(
            f"{frame.force_n[self.pad]:.4f} N on {self.pad}, {abs(frame.bare_skin_n):.4f} N beside it; "
            f"centre {centre} mm",
            highlight=False,
        )
        if answer["relative_l2"] is not None:
            console.print(f"difference to theory {100 * result.relative_l2:.2f} %", highlight=False)


@dataclass(frozen=True)
class Demo:
    """One hand closes on a ball, live in the terminal; then a tour of the hands as pictures.

    For example:

    thenar demo

    thenar demo --hand fourier_right --out pictures --seconds 5
    """

    hand: str = "inspire_right"
    """Hand that closes on the ball."""
    out: Path = Path("demo")
    """Folder for the pictures."""
    seconds: float = 4.0
    """Simulated seconds of the live table."""
    pictures: bool = True
    """Draw pictures; --no-pictures shows only the live table."""

    def run(self) -> None:
        """Show the table, then draw the tour."""
        if not (0.0 < self.seconds <= 3600.0):
            raise BadValue("--seconds", self.seconds, "seconds above 0 and up to 3600")
        self._close_on_a_ball()
        if self.pictures:
            self._tour()

    def _tour(self) -> None:
        from thenar.sim import picture

        shots = [(name, pose) for name in hands.names() for pose in POSES]
        for name, pose in track(shots, description="Drawing the hands", console=console):
            spec = hands.load(name)
            world = picture.posed_world(spec, pose)
            views = [picture.draw_posed(world, spec, view=view, size_px=(440, 440)) for view in ("palm", "back")]
            picture.write_png(self.out / f"{name}_{pose}.png", picture.side_by_side([views]))
        console.print(f"{len(shots)} pictures in {self.out}/")

    def _close_on_a_ball(self) -> None:
        from thenar.signals import HandCommand
        from thenar.sim import picture
        from thenar.sim.props import Sphere
        from thenar.twin.world import World

        ball = Sphere(name="ball", radius_m=0.030, mass_kg=0.06, pos_m=(0.0, 0.04, 0.032))
        spec = hands.load(self.hand)
        world = World(spec, props=[ball])
        hand = spec.name
        # The thumb goes round first, so that it meets the ball and not the fingers.
        around = np.array([actuator.name in ("thumb_rotation", "THJ5", "THJ4") for actuator in spec.actuators])
        bend = np.array([actuator.name == "thumb_bend" for actuator in spec.actuators])
        world.command(hand, HandCommand.closing(np.where(around, 1.0, 0.0)))
        grip = HandCommand.closing(np.where(around, 1.0, np.where(bend, 0.6, 0.9)), speed=0.35, force_limit_n=3.0)
        tick_s = 0.05
        with Live(_state_table(spec, world.state(hand), 0.0), console=console) as live:
            began = time.perf_counter()
            for tick in range(round(self.seconds / tick_s)):
                if tick == 14:
                    world.command(hand, grip)
                world.advance(tick_s)
                touching = world.contacts(hand)
                on_ball = touching.where([partner == "ball" for partner in touching.partner])
                live.update(_state_table(spec, world.state(hand), float(on_ball.normal_force_n.sum())))
                if console.is_terminal:  # at the pace of the real hand
                    time.sleep(max(0.0, began + world.time_s - time.perf_counter()))
        console.print(
            "Force stops at 3 N, with the overshoot measured on a real hand (docs/motors.md).", highlight=False
        )
        if self.pictures:
            shot = picture.draw(
                world,
                look_at_m=world.wrist(hand)[0] + [0.0, 0.02, 0.02],
                distance_m=0.42,
                azimuth_deg=145.0,
                elevation_deg=-28.0,
            )
            picture.write_png(self.out / f"{hand}_ball.png", shot)
            console.print(f"wrote {self.out / f'{hand}_ball.png'}")


@dataclass(frozen=True)
class Bench:
    """Measure speed, touch and endurance on this machine; ratios carry over, absolute figures do not.

    For example:

    thenar bench

    thenar bench --minutes 1 --json

    thenar bench --minutes 0 --out docs/bench
    """

    minutes: float = 10.0
    """Simulated minutes of random commands for every hand; 0: none."""
    out: Path | None = None
    """Folder for the touch tables (Markdown) and their plot (SVG)."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Measure and print."""
        from thenar.sim import bench
        from thenar.twin import bench as touch_bench
        from thenar.twin.bench_report import short_rows, write_touch_report

        if not 0.0 <= self.minutes < 1e4:
            raise BadValue("--minutes", self.minutes, "minutes from 0, below 10000")
        speed = [asdict(row) for row in bench.measure_speed()]
        costs, accuracies = touch_bench.measure_cost(), touch_bench.measure_accuracy()
        cost, accuracy = [asdict(row) for row in costs], [asdict(row) for row in accuracies]
        written = [] if self.out is None else write_touch_report(self.out, accuracies, costs)
        soaks = []
        soaked = hands.names() if self.minutes > 0.0 else ()
        for name in track(soaked, description="Soaking", console=console, disable=self.json or not soaked):
            soaks.append(asdict(bench.soak(name, seconds=60.0 * self.minutes)))
        if self.json:
            _print_json({"speed": speed, "touch_cost": cost, "touch_accuracy": accuracy, "soak": soaks})
            return
        _print_table("World.advance beside a bare mj_step loop on the same model, one core", speed)
        _print_table("Touch: time of a frame", cost)
        title = "Touch: median difference to contact theory in percent (relative L2), same presses"
        _print_table(title, short_rows(accuracies))
        if soaks:
            _print_table(f"{self.minutes:g} simulated minutes of random commands with objects in the hand", soaks)
        for path in written:
            console.print(f"wrote {path}")


@dataclass(frozen=True)
class Info:
    """Print what is installed: include it when you report a problem."""

    json: bool = False
    """Print JSON instead of a table."""
    packages: tyro.conf.Suppress[tuple[str, ...]] = field(
        default=("thenar", "numpy", "mujoco-core", "numba", "tyro", "rich", "pyopengl")
    )

    def run(self) -> None:
        """Print versions."""
        versions = {"python": platform.python_version(), "system": platform.platform()}
        for package in self.packages:
            try:
                versions[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                versions[package] = "not installed"
        if self.json:
            _print_json(versions)
        else:
            _print_table("Installed", [{"what": what, "version": version} for what, version in versions.items()])


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of the ``thenar`` console script."""
    verb = tyro.cli(
        Hands | Scenes | Render | Touch | Demo | Bench | Info,
        prog="thenar",
        description="A digital twin for dexterous robot hands.",
        args=args,
    )
    try:
        verb.run()
    except ThenarError as error:
        Console(stderr=True).print(Text("thenar:", style="red"), Text(str(error)), highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _summary(spec: HandSpec) -> dict[str, object]:
    return {
        "hand": spec.name,
        "maker": spec.maker,
        "model": spec.model,
        "motors": len(spec.actuators),
        "joints": len(spec.joints),
        "pads": len(spec.pads),
        "taxels": spec.taxels,
        "mass_kg": round(spec.mass_kg, 4),
    }


def _everything(spec: HandSpec) -> dict[str, object]:
    """Every number of a spec with its source; shapes that are only seen are left out."""
    return {
        **{key: getattr(spec, key) for key in ("name", "maker", "model", "side", "summary", "root", "poses", "notes")},
        "mass_kg": spec.mass_kg,
        "taxels": spec.taxels,
        "motors": [asdict(actuator) for actuator in spec.actuators],
        "links": [{key: value for key, value in asdict(link).items() if key != "looks"} for link in spec.links],
        **{
            key: [asdict(row) for row in getattr(spec, key)]
            for key in ("joints", "couplings", "tendons", "pads", "tips")
        },
        "variants": {name: [asdict(law) for law in laws] for name, laws in spec.variants.items()},
    }


def _description(spec: HandSpec) -> dict[str, list[dict[str, object]]]:
    """What a spec holds, as rows of tables: motors, joints, couplings, tendons, links, pads."""
    return {
        "motors": [_motor_row(actuator) for actuator in spec.actuators],
        "joints": [
            {
                "joint": joint.name,
                "parent": joint.parent,
                "child": joint.child,
                "lower_rad": joint.lower_rad,
                "upper_rad": joint.upper_rad,
                "source": joint.source,
            }
            for joint in spec.joints
        ],
        "couplings": [
            {
                "joint": c.joint,
                "law": f"{c.ratio:g} * {c.driver}" + (f" {c.offset_rad:+g}" if c.offset_rad else ""),
                "source": c.source,
            }
            for c in spec.couplings
        ],
        "tendons": [
            {
                "tendon": t.name,
                "sum": " + ".join(f"{weight:g} * {joint}" for joint, weight in t.joints),
                "lower_rad": t.lower_rad,
                "upper_rad": t.upper_rad,
                "source": t.source,
            }
            for t in spec.tendons
        ],
        "links": [{"link": x.name, "mass_kg": round(x.mass_kg, 5), "source": x.source} for x in spec.links],
        "pads": [
            {
                "pad": pad.name,
                "link": pad.link,
                "rows": pad.rows,
                "cols": pad.cols,
                "pitch_mm": [round(pad.row_pitch_m * 1e3, 2), round(pad.col_pitch_m * 1e3, 2)],
                "source": pad.source,
            }
            for pad in spec.pads
        ],
        "variants": [{"variant": name, "source": laws[0].source} for name, laws in spec.variants.items()],
    }


def _motor_row(actuator: Actuator) -> dict[str, object]:
    return {
        "motor": actuator.name,
        "drives": actuator.drives,
        "open_rad": actuator.open_rad,
        "closed_rad": actuator.closed_rad,
        "top_speed_rad_s": round(actuator.top_speed_rad_s, 3),
        "source": actuator.motor.source,
    }


def _state_table(spec: HandSpec, state: HandState, grip_n: float) -> Table:
    """A hand's state as a table that can be redrawn."""
    from thenar.signals import MotorError, MotorStatus

    title = f"{spec.name}   t = {state.stamp_s:.2f} s   force on the ball {grip_n:.2f} N"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1))
    for column in ("motor", "closed", "N", "A", "°C"):
        table.add_column(column, justify="left" if column in ("motor", "closed") else "right", no_wrap=True)
    table.add_column("status", no_wrap=True, min_width=16)
    for n, actuator in enumerate(spec.actuators):
        stroke = actuator.closed_rad - actuator.open_rad
        closed = (state.angle_rad[n] - actuator.open_rad) / stroke if stroke else 0.0
        bar = "█" * round(12 * min(max(closed, 0.0), 1.0))
        status = MotorStatus(state.status[n]).name.lower()
        error = f" ({MotorError(state.error[n]).name})".lower() if state.error[n] else ""
        table.add_row(
            actuator.name,
            f"{bar:<12} {abs(round(100 * closed)):4d} %",
            f"{state.force_n[n]:.2f}",
            _known(state.current_a[n], "{:.2f}"),
            _known(state.temperature_c[n], "{:.1f}"),
            status + error,
        )
    return table


def _heat_map(title: str, pressure_pa: NDArray[np.float64]) -> Table:
    """A pad as coloured cells, pressure in kilopascals."""
    table = Table(title=title, box=None, padding=0, show_header=False)
    top = max(float(pressure_pa.max()), 1e-9)
    for row in pressure_pa:
        cells = []
        for value in row:
            level = float(value) / top
            red, green, blue = (round(255 * shade) for shade in _shade(level))
            ink = "black" if level > 0.5 else "white"
            text = f"{value / 1e3:5.1f} " if value > 0.0 else "    . "
            cells.append(Text(text, style=f"{ink} on rgb({red},{green},{blue})"))
        table.add_row(*cells)
    return table


def _heat_picture(maps: list[NDArray[np.float64]]) -> NDArray[np.uint8]:
    """Pads side by side as coloured squares, all on one scale."""
    top = max(float(values.max()) for values in maps) or 1.0
    tiles = []
    for values in maps:
        colours = np.array([[_shade(float(value) / top) for value in row] for row in values])
        squares = np.kron(colours, np.ones((28, 28, 1)))
        squares[::28] = squares[:, ::28] = 0.25  # lines between taxels
        tiles.append(np.pad(squares, ((14, 14), (14, 14), (0, 0)), constant_values=1.0))
    return np.round(255 * np.concatenate(tiles, axis=1)).astype(np.uint8)


def _shade(level: float) -> tuple[float, float, float]:
    """Dark blue through red to yellow, ever brighter: a scale the eye reads in order."""
    stops = ((0.05, 0.03, 0.20), (0.45, 0.10, 0.43), (0.85, 0.30, 0.25), (0.99, 0.70, 0.25), (0.99, 0.99, 0.75))
    place = min(max(level, 0.0), 1.0) * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    share = place - low
    red, green, blue = (a + share * (b - a) for a, b in zip(stops[low], stops[low + 1], strict=True))
    return red, green, blue


def _two(option: str, text: str) -> list[str]:
    parts = text.split(",")
    if len(parts) != 2:
        raise BadValue(option, text, "two lengths such as 2mm,-3mm")
    return parts


def _quantity(option: str, text: str, unit: str, factor: float) -> float:
    """A number with its unit, in SI."""
    try:
        return float(text.strip().removesuffix(unit)) * factor
    except ValueError:
        raise BadValue(option, text, f"a number of {unit}, such as 1.5{unit}") from None


def _known(value: float, style: str) -> str:
    """A number, or a dash for what this hand does not measure."""
    return "-" if math.isnan(value) else style.format(value)


def _print_table(title: str, rows: Sequence[dict[str, object]]) -> None:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1))
    for number, column in enumerate(rows[0]):
        numeric = all(isinstance(row[column], (int, float)) for row in rows)
        table.add_column(
            Text(column), justify="right" if numeric else "left", overflow="fold", no_wrap=number == 0 or numeric
        )
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    console.print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(_cell(part) for part in value)
    return str(value)


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


if __name__ == "__main__":
    main()
