"""A Unitree G1 on the network: its body, the hands on its wrists, Unitree's topics and a scene, in real time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from thenar import hands as catalogue
from thenar.arrays import FloatArray
from thenar.errors import BadValue
from thenar.hands.spec import HandSpec
from thenar.humanoid.control.idle_balance import IdleBalance
from thenar.humanoid.control.low_level import LowLevel, at_midstep
from thenar.humanoid.model.g1 import G1, G1_RUBBER, MODE_MACHINE, STANDING_RAD
from thenar.pace import Pace
from thenar.signals import MotorReadings, SceneRequest
from thenar.sim.props import Prop
from thenar.twin.body.body_world import BodyWorld
from thenar.twin.body.cameras import CameraOptions, Cameras
from thenar.twin.body.g1_scenes import G1Scene, load_scene, shifted
from thenar.twin.live_twin import LiveTwin, warm_up
from thenar.twin.serve_config import PageOptions, complete
from thenar.twin.world import World
from thenar.wire.links.registry import PROTOCOLS, SIM, LinkContext, default_wires, find_protocols
from thenar.wire.links.unitree.g1_link import G1Topics
from thenar.wire.wire_config import WireConfig

if TYPE_CHECKING:
    from thenar.twin.page.page_link import PageLink

TIMESTEP_S = 0.002
"""One step of the physics for one state: the robot publishes 500 a second."""
REWARD_HZ = 10.0
HOLDING = "teleop"
"""Gains with which the robot holds itself."""
TELEOP_HANDS = {"inspire": "Inspire", "dex3": "Dex3", "dex1": "Dex1", "brainco": "BrainCo"}
"""Hands by their short names, as in the names of Unitree's tasks."""
# Assumed: a motor at its full torque warms by 50 degrees, with a time constant of a minute.
AMBIENT_C, FULL_TORQUE_C, WARMING_S = 30.0, 50.0, 60.0


class G1Robot:
    """The robot's own computer, tick by tick: take the newest command, drive the motors, and tell what they measure."""

    def __init__(self, body: BodyWorld, scene: G1Scene, *, seed: int = 0):
        """Holding its pose, or standing in balance where its pelvis is free; nobody can reach it yet."""
        self.body, self.scene = body, scene
        self.link: G1Topics | None = None
        self.low_level = LowLevel(body.body, gains=HOLDING)
        self.balance = None if body.hangs else IdleBalance(body.robot, gains=HOLDING)
        """Of a robot whose pelvis is free; None for a fixed one."""
        self.cameras: Cameras | None = None
        self.reward = 0.0
        self._effort_nm = body.body.per_joint("effort_nm")
        self._temperature_c = np.full_like(self._effort_nm, AMBIENT_C)
        self._reward_pace = Pace(REWARD_HZ)
        self._rng = np.random.default_rng(seed)
        self.tick()

    def tick(self, _world: World | None = None) -> None:
        """Drive the motors with the newest command."""
        whole = arms = None
        if self.link is not None:
            for mode in self.link.modes():
                self.low_level.mode = mode
            whole, arms = self.link.targets(time.perf_counter())
        machine, stance = self.body.machine, None
        warm_c = AMBIENT_C + FULL_TORQUE_C * np.square(machine.torques() / self._effort_nm)
        self._temperature_c = self._temperature_c + (warm_c - self._temperature_c) * (TIMESTEP_S / WARMING_S)
        if self.balance is not None:
            self.body.read()
            stance = self.balance.step(whole is None and self.low_level.mode == "hold")
        motion = machine.motion()
        command = self.low_level.choose(
            whole, arms, q_rad=motion.q[7:], gravity_nm=machine.carrying_torques(), stance=stance
        )
        self.body.drive(
            at_midstep(command, qd_rad_s=motion.qd[6:], step_s=TIMESTEP_S, inertia_kgm2=machine.inertia_kgm2)
        )

    def hold(self, q_rad: FloatArray) -> None:
        """Go to these angles, in the order of the motors, as stiffly as xr_teleoperate does, and stay there [rad].

        The legs of a robot that balances stay with its balance.
        """
        self.low_level.hold(q_rad)

    def readings(self) -> MotorReadings:
        """What the motors and the IMUs measure now."""
        machine = self.body.machine
        motion = machine.motion()
        return MotorReadings(
            stamp_s=self.body.world.time_s,
            position_rad=motion.q[7:],
            velocity_rad_s=motion.qd[6:],
            acceleration_rad_s2=motion.qdd[6:],
            torque_nm=machine.torques(),
            temperature_c=self._temperature_c,
            imus=tuple(machine.imu(name) for name in self.body.body.imus),
        )

    def publish(self) -> None:
        """Send what is measured, and how well the scene's task goes; an object that has left its area is put back."""
        world, task = self.body.world, self.scene.task
        if self.link is not None:
            self.link.publish(self.readings())
        if self.cameras is not None:
            self.cameras.tell()
        if task is not None and self._reward_pace.is_due(world.time_s):
            places = {name: world.props.pose(name)[0] for name in task.objects}
            self.reward = task.reward(places)
            if self.link is not None:
                self.link.publish_reward(world.time_s, self.reward)
            if task.left(places):
                self.reset_objects()

    def reset_objects(self) -> None:
        """Put the scene's objects back, a little beside their places as Unitree's simulator does."""
        world, task = self.body.world, self.scene.task
        world.props.reset()
        if task is not None:
            starts = {name: world.props.pose(name)[0] for name in task.objects}
            places = shifted(task, starts, self._rng)
            world.place(objects={name: (pos_m, world.props.pose(name)[1]) for name, pos_m in places.items()})

    def advance(self, seconds: float) -> None:
        """Let the robot live for some simulated time, as fast as the machine can."""
        for _ in range(round(seconds / TIMESTEP_S)):
            self.tick()
            self.body.advance(TIMESTEP_S)
            self.publish()

    def reset(self) -> None:
        """Back to time 0, joints and objects, with the motors cold and holding; a robot that fell stands again."""
        self.body.world.reset()
        self.low_level.restart()
        self._temperature_c = np.full_like(self._effort_nm, AMBIENT_C)
        if self.link is not None:
            self.link.restart()
        if self.balance is not None:
            self.balance.restart()


class LiveG1(LiveTwin):
    """A G1 that runs in real time. Use it in a ``with``."""

    def __init__(self, robot: G1Robot, links: Sequence[Any], **options: Any):
        """Prepare; nothing runs yet."""
        super().__init__(robot.body.world, links, pre_step=robot.tick, **options)
        self.robot = robot

    def reset(self) -> None:
        """Back to time 0."""
        self.run_on_loop(lambda _: self.robot.reset())

    def _step_world(self) -> None:
        super()._step_world()
        self.robot.publish()  # what this step measured, not what the one before it did

    def _apply_scene(self, request: SceneRequest) -> None:
        if request.reset == "objects":
            self.robot.reset_objects()
            self._resets += 1
            return
        super()._apply_scene(request)


@dataclass(frozen=True, kw_only=True)
class G1Config(WireConfig):
    """What a G1 is made from."""

    hands: tuple[str, ...] = ()
    """Short name for a pair (inspire, dex3, dex1, brainco), names of the catalogue, or nothing for rubber hands."""
    scene: str = "flat"
    """Surroundings: flat, pick_place_cylinder, pick_place_redblock or stack_rgyblock."""
    pelvis: Literal["fixed", "free"] = "fixed"
    """Fixed in the world as in Unitree's simulator, or free: the robot stands in balance on its feet, and can fall."""
    wires: tuple[str, ...] = ()
    """Protocols of the hands; empty: those on DDS that they usually speak."""
    cameras: CameraOptions | None = None
    """Pictures that are served; None for none."""
    seed: int = 0


def build_g1(config: G1Config | None = None, *, props: Iterable[Prop] = ()) -> G1Robot:
    """A G1 in simulated time, for programs of your own: command its hands in ``body.world``, its joints by `hold`.

    Args:
        config: What it is made from; None for a G1 with rubber hands on flat ground.
        props: Things to touch, besides those of the scene.
    """
    config = config or G1Config()
    scene = load_scene(config.scene)
    specs = g1_hands(config.hands)
    label = next((name for hand, name in TELEOP_HANDS.items() if specs and specs[0].name.startswith(hand)), "Joint")
    free, stand = config.pelvis == "free", scene.stand
    model = G1 if specs else G1_RUBBER
    body = BodyWorld(
        replace(model, default_rad=STANDING_RAD) if free else model,
        hands=specs,
        scene=scene.for_hand(label),
        props=props,
        fixed_at=None if free else stand,
        start_xy_yaw=(*stand.xy_m, stand.yaw_rad),
        timestep_s=TIMESTEP_S,
        seed=config.seed,
    )
    return G1Robot(body, scene, seed=config.seed)


def serve_g1(
    config: G1Config | None = None,
    *,
    props: Iterable[Prop] = (),
    network: bool = True,
    page: PageOptions | None = None,
) -> LiveG1:
    """A G1 that xr_teleoperate and Unitree's SDKs connect to as to the robot. Use the result in a ``with``.

    Args:
        config: What runs; None for a G1 with rubber hands on flat ground.
        props: Things to touch, besides those of the scene.
        network: False keeps it to itself.
        page: Where to show it in a browser; None for nowhere.
    """
    config = config or G1Config()
    options = None if page is None else complete(page)
    robot = build_g1(config, props=props)
    body = robot.body
    specs = [body.world.hand(name) for name in body.world.hand_names]
    warm_up(body.world)  # before anybody can connect: a command must not wait for code to be compiled
    with ExitStack() as opened:  # what was opened is closed again if the next thing fails
        links: list[Any] = []
        if network:
            context = LinkContext(hands=specs, config=config, opened=opened)
            robot.link = link = G1Topics(context.participant, mode_machine=MODE_MACHINE)
            wires = config.wires or tuple(name for name in default_wires(specs) if PROTOCOLS[name].states)
            links = [link, *(protocol.open(context) for protocol in find_protocols((*wires, SIM)))]
        if config.cameras is not None and config.cameras.names:
            robot.cameras = Cameras(body.world, config.cameras, interface=config.interface)
            opened.callback(robot.cameras.close)
            links.append(robot.cameras)
        shown = None
        if options is not None:
            shown = _open_page(body, config.scene, options)
            opened.callback(shown.close)
            links.append(shown)
        twin = LiveG1(
            robot,
            links,
            state_hz=config.state_hz,
            touch_hz=config.touch_hz,
            publish_status=None if robot.link is None else robot.link.publish_status,
        )
        if shown is not None:
            shown.attach(twin)
        opened.pop_all()
    return twin


def g1_hands(names: Sequence[str]) -> list[HandSpec]:
    """Hands for both wrists, or for those that are named."""
    known = catalogue.names()
    found = []
    for name in names:
        pair = [f"{name}_{side}" for side in ("left", "right")]
        if name in known:
            found.append(catalogue.load(name))
        elif all(one in known for one in pair):
            found += [catalogue.load(one) for one in pair]
        else:
            raise BadValue("--hands", name, f"a hand of the catalogue, or a pair such as inspire: {', '.join(known)}")
    return found


def _open_page(body: BodyWorld, scene: str, options: PageOptions) -> PageLink:
    from thenar.twin.page.page_link import PageLink

    return PageLink(body.world, scene=scene, title="thenar", options=options)
