# type: ignore  # Warp compiles these functions: what they mean is not what a type checker reads
"""Pressures of every world into counts: `thenar.touch.sensor` as Warp kernels, a thread a taxel, on any device."""

from typing import Any

import numpy as np
import warp as wp

from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.touch.sensor.calibration import Calibration
from thenar.touch.sensor.noise import dead_taxels
from thenar.touch.solver.pads import taxel_areas_m2

MAX_PA = 1e9
GAIN, OFFSET, NOISE = wp.constant(3), wp.constant(4), wp.constant(5)  # streams of random numbers, behind the motors'


@wp.struct
class Taxel:
    """Parameters of one taxel's sensor, see `thenar.touch.sensor.calibration.PadCalibration`.

    Of a barometer the load is the stress at its die, and its area 1.
    """

    area_m2: float
    gain: float
    gain_spread: float
    offset: float
    offset_spread: float
    noise: float
    lowest_counts: float
    saturation_counts: float
    hysteresis: float
    hysteresis_s: float
    play: float
    play_width: float
    drift: float
    drift_s: float
    inverse_ceiling: float
    knee: float
    dead: int


def is_buried(hand: HandSpec) -> bool:
    """Whether its taxels are barometers, which feel stress under the skin and no force on it."""
    return any(pad.sensor == "barometer" for pad in hand.pads)


def taxel_records(hand: HandSpec, calibration: Calibration) -> Any:
    """Records of `Taxel`; sensors that the device cannot do are refused. Shape (taxels,)."""
    buried = is_buried(hand)
    for pad in hand.pads:
        own = calibration.pad(pad.name)
        if (
            (own.taxel_depth_m > 0.0 and not buried)
            or np.any(np.asarray(own.crosstalk) > 0.0)
            or own.learned is not None
        ):
            raise BadValue(
                f"calibration of {pad.name}", own, "taxels at the surface, without cross-talk and learned models: "
                "those are for the CPU so far",
            )  # fmt: skip
    records = np.zeros(hand.taxels, dtype=Taxel.numpy_dtype())
    for name in set(records.dtype.names) - {"area_m2", "inverse_ceiling", "dead"}:
        records[name] = calibration.per_taxel(hand.pads, name)
    if buried:  # stress is read as it is, and no reading is cut off
        records["area_m2"], records["lowest_counts"], records["saturation_counts"] = 1.0, -MAX_PA, MAX_PA
    elif hand.pads:
        records["area_m2"] = np.concatenate([taxel_areas_m2(hand, pad).ravel() for pad in hand.pads])
    records["inverse_ceiling"] = 1.0 / calibration.per_taxel(hand.pads, "ceiling")
    records["dead"] = dead_taxels(hand, calibration)
    return records


@wp.func
def _normal(seed: int, stream: int, count: int, number: int) -> float:
    """A normal number that depends on nothing but these: of each kind there are as many as readings and taxels."""
    return wp.randn(wp.rand_init(seed * 16 + stream, number) + wp.uint32(count) * wp.uint32(2654435761))


@wp.kernel(enable_backward=False)
def draw_taxels(
    taxels: wp.array[Taxel],
    seed: int,
    skin: wp.array[int],
    factor: wp.array[float],
    gain: wp.array2d[float],
    offset: wp.array2d[float],
):
    """Gain and offset of every taxel, spread about those of its calibration; ``factor`` of gains is the world's."""
    world, k = wp.tid()
    t, number = taxels[k], skin[world] * taxels.shape[0] + k
    gain[world, k] = t.gain * factor[world] * (1.0 + t.gain_spread * _normal(seed, GAIN, 0, number))
    offset[world, k] = t.offset + t.offset_spread * _normal(seed, OFFSET, 0, number)


@wp.kernel(enable_backward=False)
def begin_reading(time_s: wp.array[float], last_s: wp.array[float], step_s: wp.array[float], count: wp.array[int]):
    """How long ago the last reading of each world was."""
    world = wp.tid()
    step_s[world] = wp.where(last_s[world] < 0.0, 0.0, wp.max(time_s[world] - last_s[world], 0.0))
    last_s[world] = time_s[world]
    count[world] = count[world] + 1


@wp.kernel(enable_backward=False)
def read_counts(
    taxels: wp.array[Taxel],
    gain: wp.array2d[float],
    offset: wp.array2d[float],
    noise_factor: wp.array[float],
    seed: int,
    time_s: wp.array[float],
    step_s: wp.array[float],
    count: wp.array[int],
    load_pa: wp.array2d[float],
    past_n: wp.array2d[float],
    stuck_n: wp.array2d[float],
    counts: wp.array2d[int],
):
    """Creep, play, gain, ceiling, drift, noise and rounding of every taxel, see `response.Response`."""
    world, k = wp.tid()
    t = taxels[k]
    drive = load_pa[world, k] * t.area_m2
    if t.hysteresis > 0.0:
        past = past_n[world, k]
        past = past + (1.0 - wp.exp(-step_s[world] / t.hysteresis_s)) * (drive - past)
        past_n[world, k] = past
    else:
        past = float(drive)
    if t.play > 0.0:
        stuck = wp.min(wp.max(stuck_n[world, k], drive - t.play_width), drive + t.play_width)
        stuck_n[world, k] = stuck
    else:
        stuck = float(drive)
    signal = gain[world, k] * (drive + t.hysteresis * (past - drive) + t.play * (stuck - drive))
    if t.inverse_ceiling > 0.0:
        steep = t.knee * wp.log(wp.clamp(wp.abs(signal) * t.inverse_ceiling, 1.0e-12, 1.0e6))
        signal = signal * wp.exp(-(wp.max(steep, 0.0) + wp.log(1.0 + wp.exp(-wp.abs(steep)))) / t.knee)
    reading = offset[world, k] + wp.where(t.dead != 0, 0.0, signal)
    if t.drift != 0.0:
        reading = reading + t.drift * (1.0 - wp.exp(-time_s[world] / t.drift_s))
    if t.noise > 0.0:
        number = world * taxels.shape[0] + k
        reading = reading + t.noise * noise_factor[world] * _normal(seed, NOISE, count[world], number)
    counts[world, k] = int(wp.clamp(wp.rint(reading), t.lowest_counts, t.saturation_counts))


@wp.kernel(enable_backward=False)
def forget_loads(
    mask: wp.array[bool],
    taxels: wp.array[Taxel],
    offset: wp.array2d[float],
    past_n: wp.array2d[float],
    stuck_n: wp.array2d[float],
    last_s: wp.array[float],
    pressure_pa: wp.array2d[float],
    shear_pa: wp.array2d[wp.vec2],
    stress_pa: wp.array2d[float],
    counts: wp.array2d[int],
):
    """Skins of some worlds start without a past, and read as if nothing had ever touched them."""
    world, k = wp.tid()
    if mask[world]:
        past_n[world, k] = 0.0
        stuck_n[world, k] = 0.0
        pressure_pa[world, k] = 0.0
        shear_pa[world, k] = wp.vec2()
        if k < stress_pa.shape[1]:
            stress_pa[world, k] = 0.0
        counts[world, k] = int(
            wp.clamp(wp.rint(offset[world, k]), taxels[k].lowest_counts, taxels[k].saturation_counts)
        )
        if k == 0:
            last_s[world] = -1.0


@wp.kernel(enable_backward=False)
def clear_pads(
    mask: wp.array[bool],
    pad_force_n: wp.array2d[float],
    pad_centre_m: wp.array2d[wp.vec2],
    contact_n: wp.array[float],
    bare_skin_n: wp.array[float],
):
    """Nothing touches the pads of some worlds."""
    world, k = wp.tid()
    if mask[world]:
        pad_force_n[world, k] = 0.0
        pad_centre_m[world, k] = wp.vec2(wp.nan, wp.nan)
        contact_n[world] = 0.0
        bare_skin_n[world] = 0.0


class TaxelSensor:
    """All taxels of a hand in every world, and what they remember."""

    def __init__(self, hand: HandSpec, calibration: Calibration, worlds: int, *, seed: int):
        """On the current device. Every taxel's own gain and offset are drawn, from the seed."""
        self._seed, shape = seed, (worlds, hand.taxels)
        self._taxels = wp.array(taxel_records(hand, calibration), dtype=Taxel)
        self._gain, self._offset = wp.zeros(shape, dtype=float), wp.zeros(shape, dtype=float)
        self._past_n, self._stuck_n = wp.zeros(shape, dtype=float), wp.zeros(shape, dtype=float)
        self._last_s, self._step_s = wp.full(worlds, -1.0, dtype=float), wp.zeros(worlds, dtype=float)
        self._count, self._noise_factor = wp.zeros(worlds, dtype=int), wp.ones(worlds, dtype=float)
        self._gain_factor, self._skin = wp.ones(worlds, dtype=float), wp.array(np.arange(worlds), dtype=int)
        self._draw()

    @property
    def memory(self) -> tuple[Any, ...]:
        """What taxels remember of earlier loads, a row per world."""
        return self._past_n, self._stuck_n, self._last_s

    def restart_noise(self, number: int) -> None:
        """Let noise go on from a number; the same one gives the same noise again."""
        self._count.fill_(number)

    def scale(self, gain: Any, noise: Any) -> None:
        """Give worlds gains and noises of their own, as factors. Shapes (worlds,)."""
        self._noise_factor.assign(np.asarray(noise, dtype=np.float32))
        self._gain_factor.assign(np.asarray(gain, dtype=np.float32))
        self._draw()

    def number_skins(self, numbers: Any) -> None:
        """Draw every taxel's own gain and offset by these numbers in place of those of worlds. Shape (worlds,)."""
        self._skin.assign((np.asarray(numbers) % (2**31 // self._gain.shape[1])).astype(np.int32))
        self._draw()

    def _draw(self) -> None:
        drawn = [self._gain_factor, self._gain, self._offset]
        self._launch(draw_taxels, [self._taxels, self._seed, self._skin, *drawn])

    def read(self, time_s: Any, load_pa: Any, counts: Any) -> None:
        """Counts of every taxel under these pressures, or stresses at its die, at each world's time."""
        began = [time_s, self._last_s, self._step_s, self._count]
        wp.launch(begin_reading, dim=len(self._count), inputs=began, device=self._gain.device)
        self._launch(
            read_counts,
            [self._taxels, self._gain, self._offset, self._noise_factor, self._seed, time_s, self._step_s, self._count,
             load_pa, self._past_n, self._stuck_n, counts],
        )  # fmt: skip

    def forget(self, mask: Any, arrays: Any) -> None:
        """Let worlds start without a past; what they were reading is gone from ``arrays`` too."""
        self._launch(
            forget_loads,
            [mask, self._taxels, self._offset, self._past_n, self._stuck_n, self._last_s, arrays.pressure_pa,
             arrays.shear_pa, arrays.stress_pa, arrays.counts],
        )  # fmt: skip
        pads = [arrays.pad_force_n, arrays.pad_centre_m, arrays.contact_n, arrays.bare_skin_n]
        wp.launch(clear_pads, dim=arrays.pad_force_n.shape, inputs=[mask, *pads], device=self._gain.device)

    def _launch(self, kernel: Any, inputs: list[Any]) -> None:
        wp.launch(kernel, dim=self._gain.shape, inputs=inputs, device=self._gain.device)
