"""Parsers of files: recordings, calibrations, mappings, configurations, what a hand has saved."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.fuzz.search import Target
from thenar import HandCommand, World, hands
from thenar.glove.files import read_log, write_log
from thenar.glove.make import make_log
from thenar.hands.export import write_model
from thenar.humanoid import load_config, load_npz, save_npz
from thenar.humanoid.control.robot_config import DEFAULT
from thenar.retarget.fit import load_map
from thenar.touch.calibrate.press_recording import read_recording, write_recording
from thenar.touch.calibrate.synthetic import make_recording
from thenar.touch.sensor.calibration import load_calibration
from thenar.wire.links.inbox import Inbox
from thenar.wire.links.registers.hand_registers import HandRegisters

FILE_S = 1.0
"""What reading a file of 64 kB may cost [s of the processor]: nobody's hand waits for it."""
