"""Reading of a hand's tactile skin at one instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thenar import display
from thenar.arrays import FloatArray, IntArray
from thenar.errors import UnknownName
from thenar.signals.value import Value

MAX_MAPS = 3  # heat maps in a printed frame; the other pads are a line each


@dataclass(frozen=True, kw_only=True)
class PadLayout:
    """Where a pad's taxels stand in flat arrays."""

    name: str
    first: int
    rows: int
    cols: int

    def of(self, flat: NDArray[Any]) -> NDArray[Any]:
        """The pad's part of a flat array. Shape (rows, cols, ...)."""
        return flat[self.first : self.first + self.rows * self.cols].reshape(self.rows, self.cols, *flat.shape[1:])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TouchFrame(Value):
    """What the skin of a hand feels at one instant; ``frame["index_top"]`` is that pad's pressure map."""

    stamp_s: float
    """Time of the contacts it was computed from [s]."""
    layout: tuple[PadLayout, ...]
    """Pads, in the order of the arrays."""
    taxel_pressure_pa: FloatArray
    """Normal pressure of every taxel of every pad, one after the other [Pa]."""
    taxel_shear_pa: FloatArray
    """Friction along rows and columns of every taxel [Pa]. Shape (taxels, 2)."""
    pad_force_n: FloatArray
    """Normal force on each pad [N]."""
    pad_centre_m: FloatArray
    """Where each pad is pressed, along rows and columns from its centre [m]; NaN where nothing touches."""
    bare_skin_n: float
    """Normal force that fell beside every pad [N]."""
    contact_n: float
    """Normal force of all contacts on the skin [N]: the sum of `force_n` and `bare_skin_n`."""
    taxel_counts: IntArray
    """What the sensor of every taxel reads, pad after pad [counts]; of barometers: pascals above ambient."""
    die_pressure_pa: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Absolute pressure at every barometer's die, pad after pad [Pa]; empty for a hand without barometers.

    The ReFlex hand has 38, in the order of its driver: finger 1 from base to tip (9), finger 2, finger 3, palm (11). So
    ``die_pressure_pa[:27].reshape(3, 9)`` are the fingers' and ``die_pressure_pa[27:]`` the palm's. What the chip and
    the firmware make of them is the wire's business.
    """
    die_temperature_c: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Temperature of every barometer's die, in the same order [degrees Celsius]."""
    pad_slip: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Share of what is touched of each pad that is at its friction limit: 0 all of it sticks, 1 it slides.

    Empty where it is not known, as of a real hand's readings.
    """

    taxel_shear_counts: IntArray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    """What sensors with three axes read along rows and columns of every taxel [counts]; empty for others."""

    pad_proximity_m: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Distance from each pad's face to the nearest thing in front of it [m]; empty where no pad has such a sensor.

    0 where it touches, the sensor's range where nothing is nearer, NaN for pads without one.
    """

    def __getitem__(self, pad: str) -> FloatArray:
        """Pressure map of a pad [Pa]. Shape (rows, cols)."""
        if pad not in self.pressure_pa:
            raise UnknownName("pad", pad, self.pressure_pa)
        return self.pressure_pa[pad]

    @cached_property
    def pressure_pa(self) -> dict[str, FloatArray]:
        """Normal pressure of every taxel [Pa], by pad. Shape (rows, cols)."""
        return {pad.name: pad.of(self.taxel_pressure_pa) for pad in self.layout}

    @cached_property
    def shear(self) -> dict[str, FloatArray]:
        """Friction on every taxel along rows and columns [Pa], by pad. Shape (rows, cols, 2)."""
        return {pad.name: pad.of(self.taxel_shear_pa) for pad in self.layout}

    @cached_property
    def force_n(self) -> dict[str, float]:
        """Normal force on each pad [N]."""
        return {pad.name: float(force) for pad, force in zip(self.layout, self.pad_force_n, strict=True)}

    @cached_property
    def centre_of_pressure_m(self) -> dict[str, tuple[float, float]]:
        """Where a pad is pressed, along rows and columns from its centre [m]; NaN where nothing touches."""
        return {pad.name: (float(u), float(v)) for pad, (u, v) in zip(self.layout, self.pad_centre_m, strict=True)}

    @cached_property
    def slip(self) -> dict[str, float]:
        """Share of what is touched of each pad that is at its friction limit: 0 all of it sticks, 1 it slides."""
        shares = self.pad_slip if len(self.pad_slip) else np.full(len(self.layout), np.nan)
        return {pad.name: float(share) for pad, share in zip(self.layout, shares, strict=True)}

    @cached_property
    def proximity_m(self) -> dict[str, float]:
        """Distance from the face of each pad with a proximity sensor to the nearest thing in front of it [m].

        0 where it touches, and the sensor's range where nothing is nearer.
        """
        if not len(self.pad_proximity_m):
            return {}
        named = zip(self.layout, self.pad_proximity_m, strict=True)
        return {pad.name: float(away) for pad, away in named if not np.isnan(away)}

    @cached_property
    def counts(self) -> dict[str, IntArray]:
        """What the sensor says, by pad. Shape (rows, cols)."""
        return {pad.name: pad.of(self.taxel_counts) for pad in self.layout}

    @cached_property
    def shear_counts(self) -> dict[str, IntArray]:
        """What a sensor with three axes says along rows and columns, by pad; none for others. Shape (rows, cols, 2)."""
        flat = self.taxel_shear_counts
        return {pad.name: pad.of(flat) for pad in self.layout} if len(flat) else {}

    def __repr__(self) -> str:
        pressed = self._pressed()
        top = max(map(self._peak_pa, pressed), default=0.0)
        blocks = [self._headline()]
        for pad in pressed[:MAX_MAPS]:
            blocks.append("\n".join([self._caption(pad), *display.map_text(self[pad], top)]))
        blocks += [self._caption(pad) for pad in pressed[MAX_MAPS:]]
        return "\n".join(blocks)

    def _repr_html_(self) -> str:
        top = max(map(self._peak_pa, self._pressed()), default=0.0)
        maps = [display.map_html(self._caption(pad.name), self[pad.name], top) for pad in self.layout]
        return f"<p>{self._headline()}</p>{''.join(maps)}"

    def _pressed(self) -> list[str]:
        """Pads with force on them, the strongest first."""
        return sorted((pad for pad, force in self.force_n.items() if force > 0.0), key=lambda pad: -self.force_n[pad])

    def _peak_pa(self, pad: str) -> float:
        """Largest pressure on a pad; a real hand's taxels that were not read are NaN."""
        return float(np.max(self[pad], initial=0.0, where=~np.isnan(self[pad])))

    def _headline(self) -> str:
        bare = "" if np.isnan(self.bare_skin_n) else f", {self.bare_skin_n:.2f} N on bare skin"
        return (
            f"TouchFrame at {self.stamp_s:.3f} s: {np.nansum(self.pad_force_n):.2f} N on {len(self._pressed())} of "
            f"{len(self.layout)} pads{bare}"
        )

    def _caption(self, pad: str) -> str:
        return f"{pad} {self.force_n[pad]:.2f} N, up to {self._peak_pa(pad) / 1e3:.1f} kPa"
