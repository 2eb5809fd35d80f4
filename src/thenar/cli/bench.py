"""``thenar bench``: measured on this machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rich.progress import track

from thenar import hands
from thenar.cli.show import console, print_json, print_table
from thenar.errors import BadValue


@dataclass(frozen=True)
class Bench:
    """Measure speed, touch and endurance on this machine; ratios carry over, absolute figures do not.

    For example:

    thenar bench

    thenar bench --minutes 1 --json
    """

    minutes: float = 10.0
    """Simulated minutes of random commands for every hand."""
    json: bool = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        """Measure and print."""
        from thenar.sim import bench
        from thenar.twin import bench as touch_bench

        if not 0.0 < self.minutes < 1e4:
            raise BadValue("--minutes", self.minutes, "minutes above 0, below 10000")
        speed = [asdict(row) for row in bench.measure_speed()]
        cost = [asdict(row) for row in touch_bench.measure_cost()]
        accuracy = [asdict(row) for row in touch_bench.measure_accuracy()]
        soaks = []
        for name in track(hands.names(), description="Soaking", console=console, disable=self.json):
            soaks.append(asdict(bench.soak(name, seconds=60.0 * self.minutes)))
        if self.json:
            print_json({"speed": speed, "touch_cost": cost, "touch_accuracy": accuracy, "soak": soaks})
            return
        print_table("World.advance beside a bare mj_step loop on the same model, one core", speed)
        print_table("Touch: time of a frame", cost)
        print_table("Touch: difference to contact theory in percent (relative L2), same presses", accuracy)
        print_table(f"{self.minutes:g} simulated minutes of random commands with objects in the hand", soaks)
