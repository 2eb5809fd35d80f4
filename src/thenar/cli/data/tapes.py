"""``thenar recording``, ``replay`` and ``convert``: what was recorded, looked at, done again, made into data sets."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.progress import Progress
from rich.text import Text

from thenar.cli.run.running import stop_on_signals
from thenar.cli.show import check_ending, check_other, check_unused, console, make_table, print_json
from thenar.cli.wire.wires import AnyWire, ConnectionOptions
from thenar.errors import BadValue, ThenarError
from thenar.twin.serve_config import PageOptions, complete

if TYPE_CHECKING:
    from thenar.recordings.recording import Recording as Tape


@dataclass(frozen=True, kw_only=True)
class Recording:
    """Say what is in a recording; mend one whose writer was killed.

    For example:

    thenar recording session.mcap

    thenar recording killed.mcap --recover whole.mcap

    Others open it too: ros2 bag info session.mcap, ros2 bag play session.mcap, rerun session.mcap, Foxglove.
    """

    file: Annotated[Path, tyro.conf.Positional]
    """An MCAP file of thenar serve --record, thenar record or thenar.record."""
    recover: Path | None = None
    """Write what can be read into this file, which is whole again."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Print what is in it."""
        from thenar.recordings.container import recover
        from thenar.recordings.recording import Recording as Opened

        check_ending("--recover", self.recover, ".mcap")
        recording = Opened(self.file)
        found = {
            "file": str(self.file),
            "seconds": round(recording.duration_s, 3),
            "about": recording.about,
            "damage": recording.damage,
            "episodes": [asdict(episode) for episode in recording.episodes],
            "topics": [asdict(topic) for topic in recording.topics],
        }
        if self.recover is not None:
            found["recovered"] = recover(self.file, self.recover)
        if self.json:
            print_json(found)
            return
        about = ", ".join(f"{name} {value}" for name, value in recording.about.items())
        console.print(Text(f"{self.file}: {recording.duration_s:.1f} s of {', '.join(recording.hands)}"))
        console.print(Text(about, style="dim"))
        if recording.topics:
            console.print(make_table("", found["topics"]))
        if recording.episodes:
            console.print(make_table("episodes", found["episodes"]))
        if recording.damage:
            mend = f"thenar recording {self.file} --recover whole.mcap makes a file that every reader opens"
            console.print(Text(f"{recording.damage}; what is above could be read. {mend}", style="yellow"))
        if self.recover is not None:
            console.print(Text(f"{found['recovered']} messages are in {self.recover}"))


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Do a recording again and say whether every byte came out the same.

    For example:

    thenar replay session.mcap

    thenar replay session.mcap --no-touch

    thenar replay session.mcap --out again.mcap

    thenar replay session.mcap --view

    thenar replay real.mcap --report gap.html

    thenar replay session.mcap --to inspire --interface eth0 --domain 0
    """

    file: Annotated[Path, tyro.conf.Positional]
    """A recording of a twin, or of a real hand by thenar record."""
    report: Path | None = None
    """Write a page (.html) that says how far what was recorded and the replay differ, and in what."""
    to: AnyWire | None = None
    """Send what was commanded to the hands on this wire, in place of a twin: slowly from where they stand, then as it
    was. Ctrl-C and a hand that falls silent end it. The interface must be named."""
    interface: str = ""
    """Network interface of the hands that it is sent to."""
    domain: int = 0
    """DDS domain of those hands: robots use 0."""
    modbus: str = ""
    """HOST:PORT of a Modbus hand, of two with a comma between them."""
    touch: bool = True
    """Read the skins again; without them it is several times faster."""
    out: Path | None = None
    """Write the replay into this file."""
    view: bool = False
    """Show what was recorded in a browser, skins too, with a time line; nothing is simulated."""
    page: Annotated[PageOptions, tyro.conf.arg(name="")] = field(default_factory=PageOptions)
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Replay."""
        from thenar.recordings.container import write_contents
        from thenar.recordings.recording import Recording as Opened
        from thenar.twin.compare.gap_report import compare
        from thenar.twin.recording.replay import replay

        check_ending("--out", self.out, ".mcap")
        check_other("--out", self.out, self.file)
        check_ending("--report", self.report, ".html")
        if self.to is not None or self.view:
            check_unused(self, ("out", "report", "touch"), "a replay in a twin, without --to and --view")
        if not self.view:
            check_unused(self.page, tuple(vars(self.page)), "a page: --view")
        recording = Opened(self.file)
        if self.to is not None:
            self._send(recording)
            return
        if self.view:
            self._show(recording)
            return
        began_s = time.perf_counter()
        with Progress(console=console, disable=self.json, transient=True) as bar:
            task = bar.add_task("replaying", total=1.0)
            again = replay(recording, touch=self.touch, on_progress=lambda done: bar.update(task, completed=done))
        took_s = time.perf_counter() - began_s
        if self.out is not None:
            write_contents(again.contents, self.out)
        gap = None
        if self.report is not None:
            gap = compare(recording, again)
            gap.save(self.report)
        hand = recording.hands[0]
        twin_s = float(recording.motors(hand).stamp_s[-1] - recording.motors(hand).stamp_s[0])
        found = {
            "file": str(self.file),
            "identical": not again.differs_at,
            "differs_at": again.differs_at,
            "seconds": round(twin_s, 3),
            "times_real_time": round(twin_s / took_s, 2),
        }
        if gap is not None:
            found["findings"] = [asdict(finding) for finding in gap.findings]
        if self.json:
            print_json(found)
        elif gap is not None:
            console.print(Text(str(gap)))
            console.print(Text(f"{self.report} shows it", style="dim"))
        elif not again.differs_at:
            messages = sum(topic.messages for topic in again.topics)
            console.print(f"identical: {messages} messages, {twin_s:.1f} s at {twin_s / took_s:.1f} x real time")
        if again.differs_at and gap is None:
            made, here = recording.about.get("mujoco_core", "?"), version("mujoco-core")
            why = "" if made == here else f"; it was recorded with MuJoCo {made}, this is {here}"
            raise ThenarError(f"not the same: {again.differs_at}{why}")

    def _show(self, recording: Tape) -> None:
        from thenar.twin.page.tape_page import TapePage

        stop = stop_on_signals()
        page = TapePage(recording, options=complete(self.page))
        try:
            console.print("the page is at", Text(page.url, style="bold"), soft_wrap=True)
            page.run(stop)
        finally:
            page.close()

    def _send(self, recording: Tape) -> None:
        from thenar.twin.recording.replay_to_hand import send_recording

        assert self.to is not None
        if not self.interface:
            raise BadValue("--to", self.to, "--interface too: nothing is sent to a hand on a network nobody named")
        options = ConnectionOptions(domain=self.domain, interface=self.interface, modbus=self.modbus)
        stop = stop_on_signals()
        with Progress(console=console, disable=self.json, transient=True) as bar:
            task = bar.add_task("sending; Ctrl-C stops the hand", total=1.0)
            send_recording(recording, options.place(self.to), stop, on_progress=lambda d: bar.update(task, completed=d))
        if not self.json:
            console.print("stopped" if stop.is_set() else "sent to its end")


def _camera(text: str) -> tuple[str, str | None]:
    """Name of a camera, and which wrist carries it."""
    name, named, wrist = text.partition("=")
    return name, wrist if named else name if name.endswith("_wrist") else None


@dataclass(frozen=True, kw_only=True)
class Convert:
    """Make data sets for learning out of recordings, or the reverse.

    For example:

    thenar convert a.mcap b.mcap grasps --fps 30

    thenar convert a.mcap grasps --format unitree --camera color_0,color_2=right_wrist

    thenar convert grasps again.mcap

    thenar convert somebodys_data again.mcap --angles closed --hands inspire_right

    A folder is a LeRobot data set (version 3.0) or episodes of xr_teleoperate; a twin acts out what it says, recorded.
    """

    files: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FILE [FILE ...] OUT")]
    """What there is, and last what to make of it."""
    fps: int = 30
    """Frames a second of the data set."""
    format: Literal["lerobot", "unitree"] = "lerobot"
    """Of the data set: LeRobot's version 3.0, or xr_teleoperate's episodes."""
    task: str = ""
    """What is done in it, where recordings name no episodes."""
    pad_forces: bool = False
    """Put motor and pad forces into observation.state, where every policy sees them."""
    camera: tuple[str, ...] = ()
    """Names of cameras, separated by commas, drawn in a replay: left_wrist and right_wrist are carried by the hands
    (or color_2=left_wrist, for another name), every other one sees everything."""
    size: tuple[int, int] = (640, 480)
    """Width and height of the pictures."""
    hands: tuple[str, ...] = ("inspire_left", "inspire_right")
    """Hands that act a data set out."""
    angles: Literal["rad", "open", "closed"] | None = None
    """What numbers of somebody's data set mean: radians, or shares with 1 open or 1 closed."""
    scene: str = "in_hand"
    """Surroundings of the twin that acts a data set out."""
    json: bool = False
    """Print JSON."""

    def run(self) -> None:
        """Convert."""
        from thenar.twin.recording.convert import act_out, convert

        if len(self.files) < 2:
            raise BadValue("files", " ".join(map(str, self.files)), "what to convert, and last what to make of it")
        *sources, out = self.files
        if out.suffix == ".mcap":
            making = ("fps", "format", "task", "pad_forces", "camera", "size")
            check_unused(self, making, "a data set to write; what a twin acts out is a recording")
        else:
            check_unused(self, ("hands", "angles", "scene"), "a recording (.mcap) to write: a twin that acts out")
            if self.format == "unitree":
                check_unused(self, ("pad_forces",), "a data set of LeRobot")
        with Progress(console=console, disable=self.json, transient=True) as bar:
            task = bar.add_task("converting", total=1.0)

            def show(done: float) -> None:
                bar.update(task, completed=done)

            if out.suffix == ".mcap":
                if len(sources) != 1 or not sources[0].is_dir():
                    raise BadValue("files", " ".join(map(str, sources)), "one folder with a data set")
                options = {"hands": self.hands, "angles": self.angles, "scene": self.scene}
                episodes = act_out(sources[0], out, on_progress=show, **options)
                frames = 0
            else:
                made = convert(
                    sources,
                    out,
                    fps=self.fps,
                    format=self.format,
                    task=self.task,
                    pad_forces=self.pad_forces,
                    cameras=dict(map(_camera, self.camera)),
                    size_px=self.size,
                    on_progress=show,
                )
                episodes, frames = len(made), sum(len(one.time_s) for one in made)
        if self.json:
            print_json({"out": str(out), "episodes": episodes, "frames": frames})
        else:
            console.print(Text(f"{out}: {episodes} episodes" + (f", {frames} frames" if frames else "")))
