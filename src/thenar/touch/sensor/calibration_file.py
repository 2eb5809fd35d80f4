"""Write calibration files, as `calibration.load_calibration` reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path

from thenar.errors import BadFile
from thenar.touch.sensor.calibration import PadCalibration
from thenar.touch.sensor.learned import learned_table

FITTED = {
    # what a fit found or makes certain, for both kinds of sensor ...
    "force": (
        *("taxel_depth_m", "gain_counts_per_n", "gain_spread", "offset_counts", "offset_spread_counts", "noise_counts"),
        *("lowest_counts", "saturation_counts", "remove_offset"),
    ),
    "barometer": ("depth_m", "die_gain", "gain_spread", "die_offset_pa", "die_offset_spread_pa", "die_noise_pa"),
    # ... and for each
    "both": (
        *("crosstalk", "hysteresis", "hysteresis_s", "play", "play_width"),
        *("ceiling", "knee", "drift", "drift_s"),
    ),
}


def write_calibration(
    path: Path, pads: Mapping[str, PadCalibration], sensors: Mapping[str, str], notes: Iterable[str]
) -> None:
    """Write a file that holds what was fitted to these pads, and nothing else.

    Args:
        path: The TOML file.
        pads: Pads by name.
        sensors: Kind of sensor of each pad.
        notes: Lines of comment for its head.
    """
    lines = [f"# {note}" for note in notes]
    for name, own in pads.items():
        lines += ["", f"[pads.{name}]"]
        lines += [f"{key} = {_toml(getattr(own, key))}" for key in (*FITTED[sensors[name]], *FITTED["both"])]
        if own.learned is not None:
            lines += ["", f"[pads.{name}.learned]"]
            lines += [f"{key} = {_toml(value)}" for key, value in learned_table(own.learned).items()]
    assert {key for part in FITTED.values() for key in part} <= {field.name for field in fields(PadCalibration)}
    try:
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    except OSError as error:
        raise BadFile(path, f"cannot be written: {error.strerror}") from error


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(part) for part in value)}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
