"""``thenar glove``: recordings of a person's hand, made and shown."""

from __future__ import annotations

import json as json_text
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import tyro
from rich.live import Live
from rich.text import Text

from thenar.cli.show import check_unused, console, listed
from thenar.errors import BadValue, writing

if TYPE_CHECKING:
    from thenar.glove.log import GloveLog
    from thenar.signals import FloatArray

BONES = tuple((0 if node % 4 == 1 else node - 1, node) for node in range(1, 21))
WIDE, HIGH = 72, 24  # characters; a character is two dots wide and four high
PAGE = Path(__file__).with_name("glove_page.html")
Recording = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]


@dataclass(frozen=True)
class Make:
    """Make a recording of gestures."""

    file: Recording
    """The recording: .csv has 21 nodes, .npz has 25."""
    gestures: str = ""
    """Names separated by commas, all of them by default: open, fist, pinch_index, pinch_middle, pinch_ring,
    pinch_little, spread, point, wave, thumbs_up, random."""
    side: Literal["left", "right"] = "right"
    """Which hand."""
    rate_hz: float = 60.0
    """Frames per second."""
    size: float = 1.0
    """Size of the hand, 1 is usual."""
    seed: int = 0
    """Of tremor and of random gestures."""
    speed: float = 1.0
    """How fast the person moves, 1 is usual."""

    def run(self) -> None:
        """Make it."""
        from thenar.glove.files import write_log
        from thenar.glove.make import GESTURES, make_log

        if self.file.suffix not in (".csv", ".npz"):
            raise BadValue("FILE", str(self.file), "a name that ends in .csv (21 nodes) or .npz (25 nodes)")
        if not 1.0 <= self.rate_hz <= 1000.0:
            raise BadValue("--rate-hz", self.rate_hz, "frames per second from 1 to 1000")
        names = listed(self.gestures) or GESTURES
        layout = "nodes21" if self.file.suffix == ".csv" else "manus25"
        person = {"side": self.side, "rate_hz": self.rate_hz, "size": self.size, "seed": self.seed}
        log = make_log(names, layout=layout, pace=self.speed, **person)
        write_log(self.file, log)
        seconds = len(log) / self.rate_hz
        console.print(f"{self.file}: {len(log)} frames, {seconds:.1f} s, a {self.side} hand: {', '.join(names)}")


@dataclass(frozen=True)
class Animate:
    """Show a recording in the terminal, or make a page of it."""

    file: Recording
    """The recording: .csv has 21 nodes, .npz has 25."""
    speed: float = 1.0
    """How fast it is shown, 1 is as it was."""
    out: Path | None = None
    """A page (.html) to turn and play it in a browser, instead of the terminal."""

    def run(self) -> None:
        """Show it."""
        from thenar.glove.files import read_log

        log = read_log(self.file)
        if self.out is not None:
            if self.out.suffix != ".html":
                raise BadValue("--out", str(self.out), "a name that ends in .html")
            check_unused(self, ("speed",), "the terminal; the page has a time line")
            _write_page(self.out, self.file.name, log)
            console.print(f"wrote {self.out}: open it in a browser")
            return
        if not 0.0 < self.speed <= 100.0:
            raise BadValue("--speed", self.speed, "above 0, up to 100")
        start_s, shown = time.perf_counter(), -1
        with Live(console=console, auto_refresh=False) as live:
            while shown < len(log) - 1:
                now_s = log.stamp_s[0] + self.speed * (time.perf_counter() - start_s)
                shown = min(int(np.searchsorted(log.stamp_s, now_s)), len(log) - 1)
                head = f"{self.file.name}  {log.side} hand  {log.stamp_s[shown] - log.stamp_s[0]:6.2f} s\n"
                live.update(Text(head + draw_dots(log.finger_m[shown])), refresh=True)
                time.sleep(1 / 25)


@dataclass(frozen=True)
class Glove:
    """Make a recording of gestures, or show one.

    For example:

    thenar glove make person.csv

    thenar glove make pinches.npz --gestures pinch_index,pinch_ring,fist --side left --size 0.9 --speed 1.3 --seed 3

    thenar glove animate person.csv

    thenar glove animate person.csv --out person.html
    """

    action: tyro.conf.OmitSubcommandPrefixes[
        Annotated[Make, tyro.conf.subcommand("make")] | Annotated[Animate, tyro.conf.subcommand("animate")]
    ]

    def run(self) -> None:
        """Make or show."""
        self.action.run()


def draw_dots(finger_m: FloatArray) -> str:
    """A skeleton as braille dots, seen from the palm at a slant."""
    turn = 0.5
    right = np.array([np.cos(turn), np.sin(turn), 0.0])  # the palm towards the viewer
    flat = np.stack([finger_m @ right, finger_m[:, 2]], axis=1)
    dots = np.zeros((4 * HIGH, 2 * WIDE), dtype=bool)
    scale = 4 * HIGH / 0.24  # dots per metre
    for a, b in BONES:
        for share in np.linspace(0.0, 1.0, 40):
            x, z = flat[a] + share * (flat[b] - flat[a])
            row, column = int(4 * HIGH - 6 - z * scale), int(WIDE + x * scale)
            if 0 <= row < 4 * HIGH and 0 <= column < 2 * WIDE:
                dots[row, column] = True
    weight = np.array([[1, 8], [2, 16], [4, 32], [64, 128]])
    cells = (dots.reshape(HIGH, 4, WIDE, 2) * weight[None, :, None, :]).sum(axis=(1, 3))
    return "\n".join("".join(chr(0x2800 + cell) for cell in row).rstrip("⠀") for row in cells)


def _write_page(path: Path, name: str, log: GloveLog) -> None:
    every = max(1, len(log) // 3000)  # a page of a few megabytes at most
    data = {
        "name": name,
        "bones": BONES,
        "frames": np.round(1e3 * log.finger_m[::every], 1).tolist(),
        "seconds": np.round(log.stamp_s[::every] - log.stamp_s[0], 3).tolist(),
    }
    text = json_text.dumps(data).replace("<", "\\u003c")  # names may look like tags
    with writing(path):
        path.write_text(PAGE.read_text(encoding="utf-8").replace("DATA", text), encoding="utf-8")
