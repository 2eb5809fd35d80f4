"""Which mjlab and which MuJoCo work together, and the command that installs both; imported first."""

from __future__ import annotations

import importlib

import mujoco

from thenar.errors import MissingPackage

INSTALL = (
    "uv pip install 'thenar[gpu]' 'mjlab==1.6.0' --override <(printf 'mujoco>=4,<5\\nmujoco-warp>=4,<5\\n')"
    " (mjlab asks for MuJoCo 3.11, and works with the 4 that thenar needs)"
)

if not hasattr(mujoco.mjtIntegrator, "mjINT_DISCRETE"):
    raise MissingPackage("thenar.batch.mjlab", f"mujoco 4, not {mujoco.__version__}", INSTALL)
try:
    importlib.import_module("mjlab")
except ImportError as error:
    raise MissingPackage("thenar.batch.mjlab", error.name or "mjlab", INSTALL) from error
