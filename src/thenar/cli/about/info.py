"""``thenar info``: what is installed."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata

from thenar import __version__
from thenar.cli.show import print_json, print_table

PACKAGES = (
    *("numpy", "mujoco-core", "numba", "tyro", "rich", "pyopengl"),
    *("pymodbus", "pin", "viser", "av", "mcap"),  # of the extras
)


@dataclass(frozen=True)
class Info:
    """Print what is installed: include it when you report a problem.

    For example:

    thenar info

    thenar info --json
    """

    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Print versions."""
        versions = {"python": platform.python_version(), "system": platform.platform(), "thenar": __version__}
        for package in PACKAGES:
            try:
                versions[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                versions[package] = "not installed"
        if self.json:
            print_json(versions)
        else:
            print_table("Installed", [{"what": what, "version": version} for what, version in versions.items()])
