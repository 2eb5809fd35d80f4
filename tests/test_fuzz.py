"""Wrong bytes never do more than be refused, whoever reads them; `make fuzz` does the same for as long as asked."""

import contextlib
import inspect
import logging
import pkgutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from types import FrameType, ModuleType

import pytest
from patience import domains, free_port

from bench.fuzz.__main__ import CORPUS, corpus_folder
from bench.fuzz.file_targets import file_targets
from bench.fuzz.mutator import MAX_BYTES
from bench.fuzz.search import HANGS, TOO_SLOW, Target, check, search, shrink
from bench.fuzz.wire_targets import DOMAINS, wire_targets
from thenar import cdr
from thenar.errors import ThenarError
from thenar.glove import files, glove_socket
from thenar.hands import motors_file, own_model
from thenar.recordings import container, ros_messages
from thenar.recordings import lerobot as recordings_lerobot
from thenar.recordings import unitree as recordings_unitree
from thenar.retarget import fit
from thenar.touch import taxel_files
from thenar.touch.calibrate import press_recording
from thenar.touch.sensor import calibration
from thenar.wire import codecs
from thenar.wire.codecs import inspire_codec, registers, serial_bus, unitree
from thenar.wire.rtps import discovery, messages

_domains = domains(180, DOMAINS)


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Target]]:
    """Every parser that reads from outside."""
    logging.disable(logging.WARNING)
    with ExitStack() as opened:
        yield [
            *wire_targets(opened, domain=next(_domains), port=free_port()),
            *file_targets(tmp_path_factory.mktemp("files")),
        ]
    logging.disable(logging.NOTSET)


@pytest.mark.xdist_group("fuzz")
def test_wrong_bytes_break_no_parser_and_cost_no_time(targets: list[Target]):
    found = []
    for target in targets:
        slow = any(word in target.name for word in ("long", "URDF", "yaml", "recording"))
        found += [str(finding) for finding in search(target, inputs=5 if slow else 25).findings]
    assert not found, "\n".join(found)


@pytest.mark.xdist_group("fuzz")
def test_what_was_found_before_does_no_harm_any_more(targets: list[Target]):
    by_folder = {corpus_folder(target.name): target for target in targets}
    cases = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert len(cases) >= 8
    assert {path.parent for path in cases} <= by_folder.keys()
    harm = {path.name: check(by_folder[path.parent], path.read_bytes())[:200] for path in cases}
    assert not {name: what for name, what in harm.items() if what}


# Functions that read from outside, by how they are called.
READERS = ("decode", "read_", "load_", "take_", "answer", "flexible_", "six_ratios", "policy_re")
MODULES = (
    *(import_module(f"thenar.wire.codecs.{found.name}") for found in pkgutil.iter_modules(codecs.__path__)),
    *(
        import_module(f"{package.__name__}.{found.name}")
        for package in (registers, serial_bus, unitree)
        for found in pkgutil.iter_modules(package.__path__)
    ),
    *(discovery, messages, files, glove_socket, press_recording, calibration, own_model, fit, container, ros_messages),
    *(motors_file, taxel_files, recordings_lerobot, recordings_unitree),
)
# What only tests take apart; the last two read nothing from outside.
UNREAD = {"decode_hand", "decode_states", "decode_hand_state", "decode_low_state", "read_board", "load_counts"}


def readers(modules: tuple[ModuleType, ...]) -> set[str]:
    """Names of the functions of these modules that read from outside."""
    return {
        name
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if name.startswith(READERS) and function.__module__ == module.__name__
    }


@pytest.mark.xdist_group("fuzz")
def test_every_function_that_reads_from_outside_is_among_the_parsers(targets: list[Target]):
    entered: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            entered.add(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        for target in [target for target in targets if "long" not in target.name]:
            for data in target.seeds:
                with contextlib.suppress(ThenarError):
                    target.read(data)
    finally:
        sys.setprofile(None)
    assert readers(MODULES) - entered == UNREAD


# Controls: faults that must be found.


def planted(read, *, limit_s: float = 0.05) -> Target:
    ctrl = inspire_codec.encode_ctrl(inspire_codec.Ctrl(angle=[600] * 6, mode=1))
    return Target(name="planted", read=read, seeds=(ctrl,), limit_s=limit_s)


def cost_s(read, message: bytes) -> float:
    began_s = time.thread_time()
    read(message)
    return time.thread_time() - began_s


def test_a_length_that_is_believed_is_found_and_shown_short():
    def read(message: bytes) -> None:
        ctrl = inspire_codec.decode_ctrl(message)
        if ctrl.mode == 2:
            raise IndexError("believed")

    (finding,) = search(planted(read), inputs=20_000, until_found=True).findings
    assert "IndexError" in finding.what
    with pytest.raises(IndexError):
        read(shrink(planted(read), finding).data)


def test_a_cost_that_grows_with_the_square_of_the_length_is_found():
    def read(message: bytes) -> None:
        reader = cdr.Reader(message)
        rest = bytes(reader._body)
        while rest[:1] == b"\0":  # copies all that is left, byte by byte
            rest = bytes(rest[1:])

    # A quick machine reads the longest message within the usual limit: half of that length is too much here.
    limit_s = min(cost_s(read, cdr.HEADER + bytes(MAX_BYTES // 2)) for _ in range(5))
    (finding,) = search(planted(read, limit_s=limit_s), inputs=20_000, until_found=True).findings
    assert finding.what.partition(":")[0] == TOO_SLOW


def test_a_loop_without_an_end_is_stopped_and_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bench.fuzz.search.HANG_S", 0.05)

    def read(message: bytes) -> None:
        while message[4:5] == b"\xff":
            pass

    (finding,) = search(planted(read), inputs=20_000, until_found=True).findings
    assert finding.what == HANGS


def test_corpus_is_small():
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < 100_000
