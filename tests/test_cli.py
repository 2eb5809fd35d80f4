"""The command line as a user meets it."""

import json
import os
import signal
import subprocess
import sys

import pytest
from patience import free_domain, wait_for

import thenar
from thenar import __version__, hands
from thenar.cli import VERBS, main
from thenar.sim import scenes
from thenar.wire.rtps import Participant


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"]])
def test_thenar_alone_shows_every_verb_on_one_screen(args: list[str], capsys):
    main(args)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 50
    shown = {line.split()[0] for line in lines if line.strip()}
    assert {verb.__name__.lower() for group in VERBS.values() for verb in group} <= shown


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_thenar_tells_its_version(option: str, capsys):
    main([option])
    assert capsys.readouterr().out.split() == ["thenar", __version__]


def test_hands_lists_every_hand(capsys):
    main(["hands"])
    out = capsys.readouterr().out
    for name in hands.names():
        assert name in out


def test_hands_json_can_be_read_by_a_program(capsys):
    main(["hands", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert {row["hand"]: row["taxels"] for row in rows}["inspire_right"] == 1062


@pytest.mark.parametrize("name", hands.names())
def test_one_hand_tells_every_number_with_its_source(name: str, capsys):
    main(["hands", name, "--json"])
    told = json.loads(capsys.readouterr().out)
    spec = hands.load(name)
    assert [row["name"] for row in told["motors"]] == list(spec.actuator_names)
    assert [row["pos_m"] for row in told["joints"]] == [list(joint.pos_m) for joint in spec.joints]
    assert all(row["motor"]["source"] for row in told["motors"])
    for section in ("joints", "couplings", "tendons", "links", "pads"):
        assert all(row["source"] for row in told[section])
    main(["hands", name])
    assert "[1]" in capsys.readouterr().out


def test_a_variant_changes_the_couplings_that_are_shown(capsys):
    main(["hands", "inspire_right", "--variant", "xr_teleoperate", "--json"])
    laws = {row["joint"]: (row["ratio"], row["driver"]) for row in json.loads(capsys.readouterr().out)["couplings"]}
    assert laws["thumb_3"] == (1.6, "thumb_2")


def test_scenes_and_info_have_json(capsys):
    main(["scenes", "--json"])
    assert "table" in {row["scene"] for row in json.loads(capsys.readouterr().out)}
    main(["info", "--json"])
    assert json.loads(capsys.readouterr().out)["thenar"] == __version__


def test_snapshot_writes_a_picture(tmp_path, capsys):
    out = tmp_path / "pinch.png"
    main(["snapshot", "inspire_dfx_left", "--pose", "pinch", "--size", "200", "160", "-o", str(out)])
    assert out.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "wrote" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["gif", "mp4"])
def test_snapshot_films_a_scene(ending: str, tmp_path):
    import av

    out = tmp_path / f"grip.{ending}"
    options = ["--seconds", "1", "--fps", "5", "--size", "160", "120"]
    main(["snapshot", "--scene", "in_hand", *options, "-o", str(out)])
    with av.open(str(out)) as film:
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    assert len(frames) == 6
    assert frames[0].shape == (120, 160, 3)
    assert (frames[0] != frames[-1]).any(), "nothing moved"


def test_press_shows_what_was_felt_beside_theory(tmp_path, capsys):
    main(["touch", "press", "--pad", "index_top", "--object", "sphere:10mm", "--force", "1N", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["force_n"] + told["bare_skin_n"] == pytest.approx(1.0, rel=1e-6)
    assert told["relative_l2"] < 0.03
    assert len(told["pressure_pa"]) == 12
    main(["touch", "press", "--pad", "index_tip", "--object", "box:8mm:corner", "--plot", str(tmp_path / "map.png")])
    out = capsys.readouterr().out
    assert "felt, kPa" in out
    assert "on index_tip" in out
    assert (tmp_path / "map.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["hands", "inspire"], "no hand named 'inspire'; available: "),
        (["snapshot", "reflex", "--pose", "victory"], "no pose named 'victory'"),
        (["snapshot", "missing.toml"], "missing.toml: cannot be read"),
        (["demo", "--duration", "-1"], "--duration is -1.0; wanted"),
        (["serve", "--hands", "shadow_right"], "--hands is 'shadow_right'; wanted hands with a protocol"),
        (["serve", "--hands", "reflex,inspire_left"], "wanted hands that speak the same protocols"),
        (["drop", "--record", "/proc/nowhere/drops.csv"], "/proc/nowhere/drops.csv: cannot be written"),
        (["touch", "press", "--pad", "index"], "no pad named 'index'; available: "),
        (
            ["touch", "press", "--hand", "fourier_left"],
            "a hand with pads: inspire_left, inspire_right, shadow_left, shadow_right, reflex",
        ),
        (["touch", "press", "--object", "ball:3mm"], "wanted one of sphere:R"),
        (["touch", "press", "--object", "sphere:3mm:edge"], "wanted one of sphere:R"),
        (["touch", "press", "--force", "-1N"], "force is -1.0; wanted newtons above 0"),
        (["touch", "press", "--at", "3"], "two lengths such as"),
        (["hands", "--variant", "xr_teleoperate"], "the name of a hand before it"),
        (["snapshot", "reflex,shadow_left"], "one hand, or a --scene for several"),
        (["snapshot", "--scene", "moon"], "no scene named 'moon'"),
        (["snapshot", "reflex", "-o", "x.jpg"], "must end in .png"),
        (["serve", "--port", "8081"], "options is '--port'; wanted a page: --view"),
        (["body", "run", "--cameras", "none"], "options is '--cameras'; wanted a G1"),
        (["body", "reset", "--duration", "3"], "options is '--duration'; wanted body run"),
        (["replay", "missing.mcap", "--out", "x.txt"], "--out is 'x.txt'; wanted a name that ends in .mcap"),
        (["replay", "missing.mcap", "--report", "x.pdf"], "--report is 'x.pdf'; wanted a name that ends in .html"),
        (["replay", "missing.mcap", "--view", "--out", "x.mcap", "--no-touch"], "options is '--out --touch'"),
        (["report", "hardware", "missing.mcap", "-o", "x.html"], "wanted a name that ends in .md"),
        (["convert", "missing.mcap", "set", "--angles", "open"], "options is '--angles'; wanted a recording"),
        (
            ["convert", "set", "a.mcap", "--fps", "10", "--size", "9", "9"],
            "options is '--fps --size'; wanted a data set",
        ),
        (["convert", "missing.mcap", "set", "--format", "unitree", "--pad-forces"], "a data set of LeRobot"),
        (["calibrate", "protocol", "reflex", "--check", "/bin/true"], "/bin/true: no text; wanted rows"),
        (["touch", "press", "--at", "nanmm,0mm"], "--at is 'nanmm'; wanted a number of mm"),
        (["touch", "press", "--force", "1e9N"], "wanted one under which sphere:10mm stays on the skin"),
        (["snapshot", "--scene", "in_hand", "--seconds", "inf"], "--seconds and --fps is (inf, 20); wanted numbers"),
        (["snapshot", "--scene", "in_hand", "--azimuth", "nan"], "--azimuth and --elevation is (nan, -40.0)"),
        (["glove", "make", "x.csv", "--seed", "-1"], "seed is -1; wanted a whole number from 0 on"),
        (["drop", "--seed", "-1"], "seed is -1; wanted a whole number from 0 on"),
        (["calibrate", "make", "x.csv", "--hand", "reflex", "--seed", "-1"], "seed is -1; wanted a whole number"),
        (["serve", "--touch-hz", "nan"], "touch_hz is nan; wanted hertz"),
        (["watch", "state", "--seconds", "nan"], "--seconds is nan; wanted seconds"),
        (["record", "x.txt"], "FILE is 'x.txt'; wanted a name that ends in .mcap"),
        (["identify", "protocol", "shadow_right"], "HAND is 'shadow_right'; wanted a hand with lead screws"),
        (["retarget", "fit", "x.csv", "--report", "x.html"], "options is '--report'; wanted a motion"),
        (["retarget", "x.csv", "--kind", "scalar"], "options is '--kind'; wanted a map to fit"),
        (["retarget", "x.csv", "-o", "./x.csv"], "--out is 'x.csv'; wanted a file other than the one that is read"),
        (["replay", "x.mcap", "--out", "x.mcap"], "--out is 'x.mcap'; wanted a file other than the one that is read"),
    ],
)
def test_mistakes_get_one_clear_line_and_exit_code_2(args: list[str], said: str, capsys):
    with pytest.raises(SystemExit) as stop:
        main(args)
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_what_is_not_known_is_null_in_json(tmp_path, capsys):
    log = str(tmp_path / "open.csv")
    main(["glove", "make", log, "--gestures", "open"])  # pinches nothing
    capsys.readouterr()
    unknown = []
    for args in (["touch", "press", "--at", "30mm,0mm"], ["retarget", log]):
        main([*args, "--json"])
        told = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        unknown.append([name for name, value in told.items() if value in (None, [None, None])])
    assert unknown == [["centre_of_pressure_m", "relative_l2"], ["of those on the pads' side, %"]]
    main(["retarget", log, "--report", str(tmp_path / "report.html")])
    assert "nan" not in capsys.readouterr().out
    assert ">nan<" not in (tmp_path / "report.html").read_text()


def test_the_name_of_a_file_is_printed_as_it_is(tmp_path, capsys):
    out = tmp_path / "hand[red].urdf"
    main(["export", "reflex", "-o", str(out)])
    assert out.exists()
    assert out.name in "".join(capsys.readouterr().out.split())


def test_the_page_of_a_glove_plays_whatever_its_recording_is_called(tmp_path):
    log, page = tmp_path / "a <!-- <script>.csv", tmp_path / "page.html"
    main(["glove", "make", str(log), "--gestures", "open"])
    main(["glove", "animate", str(log), "--out", str(page)])
    text = page.read_text()
    assert (text.count("<script"), text.count("<!--")) == (1, 0)


def test_a_recording_that_tells_nothing_of_the_motors_is_said_to(tmp_path, capsys):
    world, path = thenar.World("inspire_right"), tmp_path / "short.mcap"
    with thenar.record(world, path):
        world.command("inspire_right", thenar.HandCommand.closing(0.5))
        for _ in range(50):
            world.advance(0.01)
    main(["identify", "--hand", "inspire_right", str(path)])
    assert "short.mcap: nothing" in capsys.readouterr().out
    main(["identify", str(path), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["values"] == []
    assert "cooling_s" in json.dumps(told["refused"])


def test_presses_on_a_bar_are_shown_alone(capsys):
    main(["identify", "protocol", "inspire_right", "--bar", "--json"])
    assert {"bar of" in row["before it"] for row in json.loads(capsys.readouterr().out)} == {True}


@pytest.mark.parametrize("verb", [verb.__name__.lower() for group in VERBS.values() for verb in group])
def test_every_verb_has_help_with_examples(verb: str, capsys):
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: thenar {verb}") or "usage: thenar" in shown
    examples = shown.count(f"thenar {verb}") - 1
    assert examples >= 2


# Where output goes.


def run_into(target: int, *words: str) -> tuple[int, str]:
    """Exit code and complaints of a command whose output goes to a descriptor."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-m", "thenar.cli", *words], stdout=target, stderr=subprocess.PIPE, env=env, text=True
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", ["--help", "hands", "hands --json", "serve --help"])
def test_a_reader_that_leaves_early_or_a_full_disk_ends_it_without_a_traceback(words: str):
    reader, writer = os.pipe()
    os.close(reader)  # as head does
    try:
        code, told = run_into(writer, *words.split())
    finally:
        os.close(writer)
    assert code != 0
    assert told == ""
    with open("/dev/full", "w") as full:
        code, told = run_into(full.fileno(), *words.split())
    assert code == 2
    assert " ".join(told.split()) == "thenar: standard output cannot be written: No space left on device"


@pytest.mark.parametrize("words", ["hands", "info --json"])
def test_an_output_that_is_closed_is_written_nowhere(words: str):
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m thenar.cli {words} >&-"], stderr=subprocess.PIPE, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("columns", [20, 30, 50, 80])
@pytest.mark.parametrize("words", ["hands", "scenes", "hands inspire_right"])
def test_names_are_whole_however_narrow_the_terminal_is(words: str, columns: int, capsys, monkeypatch):
    monkeypatch.setattr("thenar.cli.show.console.width", columns)
    monkeypatch.setattr("thenar.cli.about.hands.console.width", columns)
    main(words.split())
    out = capsys.readouterr().out
    shown = {"hands": hands.names(), "scenes": scenes.names()}
    for name in shown.get(words, hands.load("inspire_right").joint_names):
        assert name in out
    assert "…" not in out


def test_a_client_that_the_system_ends_says_farewell():
    domain = free_domain()
    with Participant(domain, name="observer") as observer:
        watch = subprocess.Popen([sys.executable, "-m", "thenar.cli", "watch", "state", "--domain", str(domain)])
        assert wait_for(lambda: any("thenar" in peer.description for peer in observer.peers()), 30.0)
        watch.send_signal(signal.SIGHUP)
        assert watch.wait(timeout=10) == 128 + signal.SIGHUP
        assert wait_for(lambda: not observer.peers(), 2.0)  # long before its lease runs out
