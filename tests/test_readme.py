"""Every command of the README runs. Those that run forever are started, and asked something."""

import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from patience import free_port, wait_for
from serving import answers, served

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
LINES = [
    re.split(r"\s{2,}#", line)[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
]
COMMANDS = [line for line in LINES if line and not line.startswith("#")]
SERVE = "thenar serve"
CLIENTS = {"thenar watch touch": ["--once"], "thenar command": [], "thenar inspect": ["--seconds", "1"]}
"""Commands that need a served hand, and what makes them end."""
FOREVER = {"thenar body run": ["--duration", "1"]}
"""Other commands that run until they are stopped."""


def run(command: str, *more: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "thenar.cli", *shlex.split(command.removeprefix("thenar ")), *more],
        cwd=cwd, capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def kind(command: str) -> str:
    """Which of the tests below runs a command."""
    if command.startswith("make "):
        return "make"
    if any(command.startswith(client) for client in CLIENTS) or command.startswith(SERVE):
        return "served"
    return "forever" if any(command.startswith(verb) for verb in FOREVER) else "once"


def test_readme_begins_with_its_film_a_sentence_and_one_command():
    head = [line for line in README.splitlines() if line][:6]
    assert head[1].startswith("![")
    assert head[1].endswith(".gif)")
    assert head[2].startswith("**A digital twin")
    assert "make demo" in README[: README.index("```python")]
    film = ROOT / re.findall(r"\((\S+\.gif)\)", README)[0]
    assert film.stat().st_size < 1_500_000


@pytest.mark.parametrize("command", [c for c in COMMANDS if kind(c) == "make"])
def test_make_command_of_the_readme_exists(command: str):
    told = subprocess.run(
        ["make", "-n", *shlex.split(command)[1:]], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "thenar" in told.stdout


def test_make_demo_opens_a_page_that_answers():
    told = subprocess.run(["make", "-n", "demo"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert ".venv/bin/thenar demo" in told
    port = free_port()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with served(f"thenar demo --no-open --port {port} --token mine"):
        assert wait_for(lambda: answers(port), 60.0)
        with browser.open(f"http://127.0.0.1:{port}/?token=mine", timeout=30) as page:
            assert page.status == 200
            assert b"<html" in page.read().lower()


def test_served_hand_of_the_readme_answers_every_client(tmp_path):
    wanted = [c for c in COMMANDS if kind(c) == "served"]
    assert SERVE in wanted
    with served(SERVE) as (domain, _):
        for command in (c for c in wanted if c != SERVE):
            ends = next(options for client, options in CLIENTS.items() if command.startswith(client))
            said = run(command, "--domain", str(domain), *ends, cwd=tmp_path)
            assert re.search(r"counts on \w+|FORCE|force_g|thenar twin|inspire_hand", said), said


def test_commands_of_the_readme_that_end_do_what_they_say(tmp_path):
    once = [c for c in COMMANDS if kind(c) == "once"]
    assert len(once) >= 5
    for command in once:  # in order: the later ones use what the first ones wrote
        shorter = ["--size", "160", "120", "--fps", "4"] if "snapshot" in command else []
        if "teleop" in command:
            shorter = ["--duration", "1", "--json"]
        assert run(command, *shorter, cwd=tmp_path)
        for name in re.findall(r"\S+\.(?:gif|png|csv|npz|html)\b", command):
            assert (tmp_path / name).stat().st_size > 100, f"{command} did not write {name}"


def test_body_of_the_readme_runs(tmp_path, domain: int):
    (command,) = [c for c in COMMANDS if c.startswith("thenar body run")]
    run(command, *FOREVER["thenar body run"], "--domain", str(domain), cwd=tmp_path)
