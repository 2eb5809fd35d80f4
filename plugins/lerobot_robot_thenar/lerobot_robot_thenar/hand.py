"""A hand as a robot: motors in radians, forces in newtons, its skin by pads or by taxels."""

import time
from functools import cached_property
from typing import Any

import numpy as np
from lerobot.robots import Robot

import thenar
from lerobot_robot_thenar.config_thenar import ThenarHandConfig
from thenar.wire import inspire_codec, inspire_counts

MAX_LATE_S = 0.1  # a machine that cannot keep up is not run after
VIEW_PX = (320, 240)
GRAM_N = 9.80665e-3
OPEN_COUNTS = 1000


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
        self._body: _Twin | _Wire | None = None

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
        body = _Wire(self._spec, self.config) if self.config.wire else _Twin(self._spec, self.config)
        self._body = body

    def get_observation(self) -> dict[str, Any]:
        """What the hand reports now."""
        body = self._connected()
        angle_rad, force_n, felt_n = body.read()
        if self.config.touch == "pads" and self._skin_names:
            felt_n = np.add.reduceat(felt_n, np.cumsum([0, *(pad.taxels for pad in self._spec.pads[:-1])]))
        values = [*angle_rad, *force_n, *(felt_n if self._skin_names else ())]
        names = [name for name in self.observation_features if name != "view"]
        seen: dict[str, Any] = {name: float(value) for name, value in zip(names, values, strict=True)}
        if isinstance(body, _Twin) and self.config.view:
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

    def _connected(self) -> "_Twin | _Wire":
        if self._body is None:
            raise ConnectionError("call connect() first")
        return self._body


class _Twin:
    """A twin in this process; its time passes as ours does."""

    def __init__(self, spec: thenar.HandSpec, config: ThenarHandConfig):
        self._world = thenar.World(spec, scene=config.scene, profile=config.profile)
        self._feels = bool(spec.pads) and config.touch != "none"
        self._name, self._pictures = spec.name, None
        # Once round, so that nothing is compiled while somebody waits.
        self._world.command(self._name, thenar.HandCommand.closing(0.9, speed=1.0))
        self._world.advance(0.4)
        self.read()
        if config.view:
            self.draw()
        self._world.reset()
        self._at_s = time.perf_counter()

    def _catch_up(self) -> None:
        now_s = time.perf_counter()
        self._world.advance(min(now_s - getattr(self, "_at_s", now_s), MAX_LATE_S))
        self._at_s = now_s

    def read(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self._catch_up()
        state = self._world.state(self._name)
        felt = np.zeros(0)
        if self._feels:
            frame, skin = self._world.touch(self._name), self._world.calibration(self._name)
            pads = self._world.hand(self._name).pads
            felt = (frame.taxel_counts - skin.per_taxel(pads, "offset")) / skin.per_taxel(pads, "gain")
        return state.angle_rad, np.nan_to_num(state.force_n), felt

    def draw(self) -> np.ndarray:
        return self._world.show(size_px=VIEW_PX).image

    def send(self, target_rad: np.ndarray) -> None:
        self._catch_up()
        self._world.command(self._name, thenar.HandCommand.to(target_rad))

    def close(self) -> None:
        pass


class _Wire:
    """A tactile Inspire hand on DDS."""

    def __init__(self, spec: thenar.HandSpec, config: ThenarHandConfig):
        self._spec, self._scale = spec, inspire_counts.Scale.of(spec)
        self._participant = thenar.Participant(config.domain, interface=config.interface)
        self._participant.__enter__()
        self._client = thenar.InspireClient(self._participant, spec)
        heard = self._client.wait_until_heard(10.0) and self._client.wait_for_news(touch=False, timeout_s=5.0)
        if heard and spec.pads:
            heard = self._client.wait_for_news(touch=True, timeout_s=5.0)
        if not heard:
            self.close()
            where = f"domain {config.domain} at {config.interface}"
            raise ConnectionError(f"no {spec.name} on DDS, {where}; thenar inspect says why")
        # Untouched taxels read offsets of their own.
        self._rest = self._client.taxel_counts if spec.pads else np.zeros(0)

    def read(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        readings, order = self._client.readings, self._scale.actuators
        opened, closed = self._spec.open_rad, self._spec.closed_rad
        angle_rad, force_n = np.zeros(len(opened)), np.zeros(len(opened))
        angle_rad[order] = closed[order] + (opened - closed)[order] * readings.angle / OPEN_COUNTS
        force_n[order] = GRAM_N * readings.force
        felt = (self._client.taxel_counts - self._rest) / 1000.0 if self._spec.pads else np.zeros(0)
        return angle_rad, force_n, felt

    def send(self, target_rad: np.ndarray) -> None:
        angle = inspire_counts.angle_counts(self._scale, target_rad)
        self._client.send(inspire_codec.Ctrl(angle=angle, mode=inspire_codec.Mode.ANGLE))

    def close(self) -> None:
        self._participant.__exit__(None, None, None)
