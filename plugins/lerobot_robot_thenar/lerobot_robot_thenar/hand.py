"""A hand as a robot: motors in radians, forces in newtons, its skin by pads or by taxels."""

from functools import cached_property
from typing import Any

import numpy as np
from lerobot.robots import Robot

import thenar
from lerobot_robot_thenar.bodies import VIEW_PX, OwnTwin, WiredHand
from lerobot_robot_thenar.config_thenar import ThenarHandConfig


class ThenarHand(Robot):
    """A twin of its own, or a hand on a wire."""

    config_class = ThenarHandConfig
    name = "thenar_hand"

    def __init__(self, config: ThenarHandConfig):
        """Nothing is built or reached before `connect`."""
        super().__init__(config)
        for field, known in (("touch", ("none", "pads", "taxels")), ("wire", ("", "inspire"))):
            if getattr(config, field) not in known:
                raise ValueError(f"--robot.{field} is {getattr(config, field)!r}; wanted one of {known}")
        if config.view and config.wire:
            raise ValueError("--robot.view draws a twin of its own; leave --robot.wire empty")
        self.config, self.cameras = config, {}
        self._spec = thenar.hands.load(config.hand)
        self._body: OwnTwin | WiredHand | None = None

    @cached_property
    def _skin_names(self) -> list[str]:
        match self.config.touch if self._spec.pads else "none":
            case "pads":
                return [f"{pad.name}.touch" for pad in self._spec.pads]
            case "taxels":
                return [
                    f"{p.name}.{r}.{c}.touch" for p in self._spec.pads for r in range(p.rows) for c in range(p.cols)
                ]
        return []

    @property
    def observation_features(self) -> dict[str, Any]:
        """Angle [rad] and force [N] of every motor, then the skin [N], then the picture."""
        motors = self._spec.actuator_names
        names = [*(f"{m}.pos" for m in motors), *(f"{m}.force" for m in motors), *self._skin_names]
        view = {"view": (VIEW_PX[1], VIEW_PX[0], 3)} if self.config.view else {}
        return dict.fromkeys(names, float) | view

    @property
    def action_features(self) -> dict[str, Any]:
        """Target of every motor [rad]."""
        return {f"{motor}.pos": float for motor in self._spec.actuator_names}

    @property
    def is_connected(self) -> bool:
        """Whether there is a hand."""
        return self._body is not None

    @property
    def is_calibrated(self) -> bool:
        """A hand measures its own angles."""
        return True

    def calibrate(self) -> None:
        """Nothing to do."""

    def configure(self) -> None:
        """Nothing to do."""

    def connect(self, calibrate: bool = True) -> None:
        """Build the twin, with everything compiled, or reach the hand."""
        config = self.config
        if config.wire:
            self._body = WiredHand(self._spec, domain=config.domain, interface=config.interface)
        else:
            self._body = OwnTwin(
                self._spec,
                scene=config.scene,
                profile=config.profile,
                feels=config.touch != "none",
                view=config.view,
            )

    def get_observation(self) -> dict[str, Any]:
        """What the hand reports now."""
        body = self._connected()
        angle_rad, force_n, felt_n = body.read()
        if self.config.touch == "pads" and self._skin_names:
            felt_n = np.add.reduceat(felt_n, np.cumsum([0, *(pad.taxels for pad in self._spec.pads[:-1])]))
        values = [*angle_rad, *force_n, *(felt_n if self._skin_names else ())]
        names = [name for name in self.observation_features if name != "view"]
        seen: dict[str, Any] = {name: float(value) for name, value in zip(names, values, strict=True)}
        if isinstance(body, OwnTwin) and self.config.view:
            seen["view"] = body.draw()
        return seen

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Send the motors somewhere [rad]; what was sent, within their limits."""
        wanted = np.array([float(action[f"{motor}.pos"]) for motor in self._spec.actuator_names])
        if not np.isfinite(wanted).all():
            raise ValueError(f"an action of {self._spec.name} is not finite: {action}")
        lowest = np.array([actuator.lower_rad for actuator in self._spec.actuators])
        highest = np.array([actuator.upper_rad for actuator in self._spec.actuators])
        sent = np.clip(wanted, lowest, highest)
        self._connected().send(sent)
        return {name: float(value) for name, value in zip(self.action_features, sent, strict=True)}

    def disconnect(self) -> None:
        """Let go of it; a hand on a wire stays where it is."""
        if self._body is not None:
            self._body.close()
        self._body = None

    def _connected(self) -> "OwnTwin | WiredHand":
        if self._body is None:
            raise ConnectionError("call connect() first")
        return self._body
