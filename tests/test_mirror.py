"""A twin beside a hand in another process, on the hand's own wire: what differs is said in words."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from patience import free_domain, wait_for
from serving import end_with_parent

from thenar.errors import ThenarError
from thenar.twin.compare.finding import Finding
from thenar.twin.compare.mirroring import mirror
from thenar.wire.clients.listener import Place

PEER = Path(__file__).parent / "peers" / "hidden_hand.py"


@contextmanager
def hidden_hand(difference: str) -> Iterator[int]:
    """A hand that somebody moves, with something that the model does not have; yields its domain."""
    domain = free_domain()
    process = subprocess.Popen(
        [sys.executable, str(PEER), str(domain), difference],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_parent,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        yield domain
    finally:
        process.stdin.close()
        process.wait(60)


def test_a_mirror_names_fingers_that_are_in_another_order():
    told: list[Finding] = []
    with hidden_hand("finger order") as domain:
        twin, link = mirror(["inspire_right"], Place(domain=domain), on_finding=told.append)
        with twin:
            assert wait_for(lambda: told, 20.0)
            twin_rad, own = (
                twin.run_on_loop(lambda world: world.state("inspire_right").angle_rad),
                link.newest("inspire_right"),
            )
            assert twin.health().links[0].written == 0
    assert told[0].words.startswith("fingers are in another order: little moves as ring should")
    assert own[0].angle_rad.shape == twin_rad.shape
    assert own[2] is not None


@pytest.mark.timing
def test_a_mirror_of_a_perfect_twin_finds_nothing():
    with hidden_hand("nothing") as domain:
        twin, link = mirror(["inspire_right"], Place(domain=domain))
        with twin:
            time.sleep(12.0)
            apart_deg, found = link.apart_deg("inspire_right"), link.findings()
    assert len(apart_deg) > 3000
    assert np.median(apart_deg) < 0.3
    assert np.percentile(apart_deg, 99) < 2.0
    assert found == []


def test_a_mirror_without_a_hand_says_why(domain: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("thenar.twin.compare.beside.SILENCE_S", 0.3)
    with pytest.raises(ThenarError, match=r"nothing is heard of inspire_right: nobody publishes .*thenar inspect"):
        mirror(["inspire_right"], Place(domain=domain))
