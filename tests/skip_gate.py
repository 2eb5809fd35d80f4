"""In CI a test that is skipped for a reason not on this list fails: what nobody runs guards nothing."""

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

ALLOWED_SKIPS = (
    "network namespaces cannot be made here",  # containers may forbid it even to root
    "network namespaces need root",
    "needs root and the ip command",
    "ray is not installed",  # 240 MB, for one way to run a sweep
    "the machine is busy",  # the 400 Hz loop cannot be judged then
)


def is_allowed(reason: str) -> bool:
    """Whether a reason to skip is on the list, or no CI is looking."""
    return "CI" not in os.environ or any(allowed in reason for allowed in ALLOWED_SKIPS)


def _refuse_unknown_skip(report: Report) -> Report:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if report.skipped and not hasattr(report, "wasxfail") and not is_allowed(reason):
        report.outcome = "failed"
        report.longrepr = f"{reason}\nskipped in CI, and not on the list of tests/skip_gate.py"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Judge the skips of tests."""
    return _refuse_unknown_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Judge the skips of whole files."""
    return _refuse_unknown_skip((yield))
