"""``python -m bench``: speed, touch, the live twin and endurance, measured on this machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import tyro
from rich.progress import track

from bench import grip, live, skin, speed, touch
from bench.touch_report import short_rows, write_touch_report
from thenar import hands
from thenar.cli.show import console, print_json, print_table
from thenar.errors import BadValue, MissingExtra
from thenar.twin.drops import measure_drops


@dataclass(frozen=True)
class Bench:
    """Measure speed, touch, the live twin and endurance on this machine; ratios carry over, absolute figures do not.

    For example:

    python -m bench

    python -m bench --minutes 1 --json

    python -m bench --minutes 0 --out docs/bench
    """

    minutes: float = 10.0
    """Simulated minutes of random commands for every hand, and real minutes of the live twin; 0: none."""
    out: Path | None = None
    """Folder for the tables (Markdown) and the plot of touch (SVG)."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Measure and print."""
        if not 0.0 <= self.minutes < 1e4:
            raise BadValue("--minutes", self.minutes, "minutes from 0, below 10000")
        speeds = [asdict(row) for row in speed.measure_speed()]
        costs, accuracies = touch.measure_cost(), touch.measure_accuracy()
        cost, accuracy = [asdict(row) for row in costs], [asdict(row) for row in accuracies]
        written = [] if self.out is None else write_touch_report(self.out, accuracies, costs)
        meshes = [asdict(row) for row in skin.measure_accuracy(full=self.minutes > 0.0)]
        skins = [asdict(skin.measure_cost(tip)) for tip in skin.TIPS]
        message = [asdict(live.measure_message())]
        drops = [asdict(measure_drops(count=500 if self.minutes > 0.0 else 50))]
        grips = [asdict(row) for row in grip.measure_grips(60.0 if self.minutes > 0.0 else 2.0)]
        lives, calls, soaks, pages = [], [], [], []
        updates, stands, bodies, reports = _measure_body(self.minutes, self.out)
        written += reports
        if self.minutes > 0.0:
            with console.status(f"the live twin runs for {self.minutes:g} minutes"):
                lives.append(asdict(live.soak(self.minutes)))
                calls.append(asdict(live.soak_calls(6.0 * self.minutes)))
                pages += _measure_page(6.0 * self.minutes)
        soaked = hands.names() if self.minutes > 0.0 else ()
        for name in track(soaked, description="Soaking", console=console, disable=self.json or not soaked):
            soaks.append(asdict(speed.soak(name, seconds=60.0 * self.minutes)))
        if self.json:
            print_json(
                {
                    "speed": speeds,
                    "touch_cost": cost,
                    "touch_accuracy": accuracy,
                    "mesh_accuracy": meshes,
                    "skin_cost": skins,
                    "touch_message": message,
                    "drops": drops,
                    "grips": grips,
                    "live": lives,
                    "calls": calls,
                    "page": pages,
                    "soak": soaks,
                    "robot_data": updates,
                    "stand": stands,
                    "body": bodies,
                }
            )
            return
        print_table("World.advance beside a bare mj_step loop on the same model, one core", speeds)
        print_table("Touch: time of a frame", cost)
        title = "Touch: median difference to contact theory in percent (relative L2), same presses"
        print_table(title, short_rows(accuracies))
        print_table("Meshed skins: difference in percent (relative L2)", meshes)
        print_table("Twelve fingertips of any model, a ball on each", skins)
        print_table("Encoding and writing one touch message, beside the DDS library's own path", message)
        print_table("Random cubes that fall on the ReFlex hand, its sensors read at 40 Hz", drops)
        print_table("Twenty objects from 5 g to 1 kg in a fist", grips)
        if lives:
            rows = [{"what": name, "measured": value} for name, value in lives[0].items()]
            print_table("The live twin: both hands grasp, DDS at 100 Hz, Modbus polled", rows)
        if calls:
            print_table("Tienkung's services called 500 times a second", calls)
        if pages:
            print_table("A page that is open while both hands grasp", pages)
        if updates:
            print_table("RobotData: one update beside Pinocchio's bare calls and plain numpy", updates)
        if stands:
            rows = [{"what": name, "measured": value} for name, value in stands[0].items()]
            print_table("A humanoid on its feet, pushed with 50 N for 0.1 s from four sides", rows)
        if bodies:
            rows = [{"what": name, "measured": value} for name, value in bodies[0].items()]
            print_table("A humanoid in real time: 400 Hz, six tasks, the Aurora interface", rows)
        if soaks:
            print_table(f"{self.minutes:g} simulated minutes of random commands with objects in the hand", soaks)
        for path in written:
            console.print(f"wrote {path}")


Rows = list[dict[str, object]]


def _measure_page(seconds: float) -> Rows:
    """The page, where viser is installed."""
    from bench.page import measure_page

    try:
        return [asdict(measure_page(seconds))]
    except MissingExtra as error:
        console.print(f"left out: {error}")
        return []


def _measure_body(minutes: float, out: Path | None) -> tuple[Rows, Rows, Rows, list[Path]]:
    """The humanoid, where Pinocchio is installed: its updates, a minute on its feet, real time, pages written."""
    try:
        from bench.body import measure_stand, soak_body, write_body_report
        from bench.robot_data import measure_updates
    except MissingExtra as error:
        console.print(f"left out: {error}")
        return [], [], [], []
    updates, stand = measure_updates(), measure_stand()
    live = [soak_body(60.0 * minutes)] if minutes > 0.0 else []
    reports = [] if out is None else [write_body_report(out, updates, stand, live)]
    return [asdict(row) for row in updates], [asdict(stand)], [asdict(row) for row in live], reports


if __name__ == "__main__":
    tyro.cli(Bench, prog="python -m bench").run()
