"""The page about a real hand: what was checked, and how far its twin was off before and after identification."""

import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from patience import wait_for

import thenar
from thenar import hands
from thenar.cli import main
from thenar.errors import BadValue
from thenar.twin.compare.hardware_report import hardware_report
from thenar.twin.recording.listen import WireRecorder
from thenar.twin.serving import serve
from thenar.wire.clients.listener import Place
from thenar.wire.codecs.inspire_codec import Ctrl, Mode
from thenar.wire.rtps import Participant

ROOT = Path(__file__).parents[1]
HAND = "inspire_right"
SPEC = hands.load(HAND)


def session(path: Path, spec: thenar.HandSpec, *, seed: int, moves: int) -> thenar.Recording:
    """Fingers of a hand that go to and fro, recorded as if it had been on a wire."""
    world, rng = thenar.World(spec, seed=seed), np.random.default_rng(seed)
    with thenar.record(world, path, touch=False):
        for n in range(moves):
            closed = np.where(np.arange(6) < 4, rng.uniform(0.5, 0.9) if n % 2 == 0 else rng.uniform(0.0, 0.2), 0.0)
            world.command(HAND, thenar.HandCommand.closing(closed, speed=1.0, force_limit_n=3.0))
            world.advance(1.3)
    recording = thenar.Recording(path)
    recording.about.update({"source": "wire", "wire": "inspire", "passive": "yes"})
    return recording


def test_the_page_says_how_far_the_twin_was_off_before_and_after(tmp_path: Path):
    late = replace(SPEC, actuators=tuple(replace(a, motor=replace(a.motor, latency_s=0.11)) for a in SPEC.actuators))
    teaching = session(tmp_path / "steps.mcap", late, seed=3, moves=16)
    judged = session(tmp_path / "other.mcap", late, seed=4, moves=5)
    report = hardware_report([teaching, judged], firmware="1.0.7")
    angle = next(row for row in report.apart if row["field"] == "angle")
    assert float(str(angle["before, 99 %"])) > 3.0 * float(str(angle["after, 99 %"]))
    assert any(finding.kind == "latency" for finding in report.findings)
    assert not any(finding.kind == "latency" for finding in report.left)
    report.save(tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("---\nhand: inspire_right\nfirmware: 1.0.7\nwire: inspire\n")
    assert "latency_s" in page


def test_a_hand_on_a_wire_gets_its_page_by_one_command(domain: int, tmp_path: Path, capsys):
    path, page = tmp_path / "real.mcap", tmp_path / "page.md"
    config = thenar.ServeConfig(hands=(HAND,), wires=("inspire",), domain=domain, scene="empty", seed=7)
    with serve(config), Participant(domain) as me:
        client = thenar.InspireClient(me, SPEC)
        with WireRecorder(path, [HAND], Place(domain=domain)):
            assert wait_for(lambda: len(client._command.readers) == 2)
            for share in (500, 900, 400):
                client.send(Ctrl(angle=[share] * 4 + [-1, -1], mode=int(Mode.ANGLE)))
                time.sleep(0.4)
    main(["report", "hardware", str(path), "-o", str(page)])
    assert "apart" in capsys.readouterr().out
    text = page.read_text()
    assert "firmware: not told" in text
    assert "taught by: nothing" in text
    assert "| angle | degrees |" in text


def test_a_recording_of_a_world_is_no_hardware(tmp_path: Path):
    world = thenar.World(HAND)
    with thenar.record(world, tmp_path / "own.mcap", touch=False):
        world.advance(0.1)
    with pytest.raises(BadValue, match="thenar record"):
        hardware_report([thenar.Recording(tmp_path / "own.mcap")])


def test_the_readme_says_checked_on_hardware_what_the_pages_say(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    sys.modules.pop("honesty", None)
    from honesty import checked_on_hardware  # pyright: ignore[reportMissingImports]

    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if re.match(r"\| `\w+`", line)]
    told = {tuple(re.findall(r"`(\w+)`", row.split(":")[0])): row.strip("| ").split("|")[-1].strip() for row in rows}
    assert len(told) >= 9
    assert {names: checked_on_hardware(*names) for names in told} == told
