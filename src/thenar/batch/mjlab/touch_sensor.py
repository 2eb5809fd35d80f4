"""The skin of a hand as a sensor of mjlab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import warp as wp
from mjlab.entity import Entity
from mjlab.sensor import Sensor, SensorCfg

from thenar.batch.mjlab.hand_entity import HandModel, hand_of
from thenar.batch.touch.device_touch import Touch
from thenar.batch.touch.sampled_touch import SampledTouch
from thenar.errors import look_up
from thenar.touch.sensor.calibration import profile_of


@dataclass
class TouchCfg(SensorCfg):
    """The skin of a hand of `hand_cfg`; ``env.scene[name].data`` is `TouchData`.

    In the ``measured`` profile it is read 50 times a second and delivered 10 ms later, in the ``ideal`` one whenever
    it is asked.
    """

    entity: str = "hand"
    """Name of the hand in the scene."""
    seed: int = 0
    """Of what differs from taxel to taxel and from reading to reading."""

    def build(self) -> TouchSensor:
        """The sensor."""
        return TouchSensor(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class TouchData:
    """Touch of a hand in all worlds, as `thenar.batch.TouchArrays` has it; written over by the next reading.

    Shapes use w = worlds, n = taxels, p = pads.
    """

    pressure_pa: torch.Tensor
    """Shape (w, n)."""
    shear_pa: torch.Tensor
    """Along rows and columns. Shape (w, n, 2)."""
    pad_force_n: torch.Tensor
    """Shape (w, p)."""
    contact_n: torch.Tensor
    """All normal force on the skin. Shape (w,)."""
    bare_skin_n: torch.Tensor
    """The part of it beside every pad. Shape (w,)."""
    counts: torch.Tensor
    """What the sensor says. Shape (w, n)."""


class TouchSensor(Sensor[TouchData]):
    """Tactile sensor of a hand in every world, solved on the device."""

    def __init__(self, cfg: TouchCfg):
        """Nothing is laid out yet."""
        super().__init__()
        self.cfg = cfg
        self._graphs: dict[int, Any] = {}
        self._steps = 0

    def edit_spec(self, scene_spec: Any, entities: dict[str, Entity]) -> None:
        """Find the hand; its model has all that is needed."""
        self._model: HandModel = hand_of(look_up(entities, self.cfg.entity, "entity of the scene"))

    def initialize(self, mj_model: Any, model: Any, data: Any, device: str) -> None:
        """Lay out the skin in every world."""
        hand, calibration = self._model.hand, profile_of(self._model.hand, self._model.profile)
        touch = Touch(
            mj_model, hand, model.struct, data.struct, prefix=f"{self.cfg.entity}/", calibration=calibration,
            seed=self.cfg.seed,
        )  # fmt: skip
        self.flags = wp.to_torch(touch.flags)
        """What went wrong in each world, as bits of `thenar.batch.Flag`."""
        self._skin = SampledTouch(touch, calibration, float(mj_model.opt.timestep))
        self._mask = wp.zeros(data.nworld, dtype=bool, device=touch.device)
        self._chosen = wp.to_torch(self._mask)
        arrays = self._skin.arrays
        self._data = TouchData(**{name: wp.to_torch(getattr(arrays, name)) for name in TouchData.__dataclass_fields__})

        def tensor(values: Any) -> torch.Tensor:
            return torch.tensor(np.asarray(values), dtype=torch.float32, device=device)

        self._resting, self._gain = (tensor(calibration.per_taxel(hand.pads, name)) for name in ("offset", "gain"))
        numbers = np.repeat(np.arange(len(hand.pads)), [pad.taxels for pad in hand.pads])
        self._pad_of = tensor(numbers[:, None] == np.arange(len(hand.pads)))

    def taxel_n(self) -> torch.Tensor:
        """Force on every taxel as the sensor says [N]. Shape (w, n)."""
        return (self.data.counts - self._resting) / self._gain

    def pad_n(self) -> torch.Tensor:
        """Force on every pad as the sensor says [N]. Shape (w, p)."""
        return self.taxel_n() @ self._pad_of

    def update(self, dt: float) -> None:
        """A step has been made: read and deliver what is due."""
        super().update(dt)
        self._steps += 1
        if self._skin.period:
            self._run(self._steps % self._skin.period, last=False)

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        """Skins of some worlds start without a past."""
        super().reset(env_ids)
        self._chosen.fill_(False)
        self._chosen[slice(None) if env_ids is None else env_ids] = True
        self._skin.forget(self._mask)

    def _compute_data(self) -> TouchData:
        if not self._skin.period:
            self._run(0, last=True)
        return self._data

    def _run(self, phase: int, *, last: bool) -> None:
        """What is due in this phase of the skin's clock: on a GPU a graph, captured when it comes up again."""
        if not self._skin.is_due(phase):
            return
        device = self._skin.touch.device
        with wp.ScopedDevice(device):
            if not device.is_cuda or phase not in self._graphs:
                self._skin.after_step(phase, last=last)  # the first time modules are loaded on the way
                self._graphs[phase] = None
                return
            if self._graphs[phase] is None:
                with wp.ScopedCapture(device=device) as capture:
                    self._skin.after_step(phase, last=last)
                self._graphs[phase] = capture.graph
            wp.capture_launch(self._graphs[phase])
