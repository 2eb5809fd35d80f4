"""Put a humanoid on the network: its body, its computer and the Aurora interface, in real time."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from thenar.errors import BadFile
from thenar.humanoid.control.controller import BodyController
from thenar.humanoid.control.joystick import Gamepad, Joystick
from thenar.humanoid.control.robot_config import BodyConfig, load_config
from thenar.twin.body.body_loop import BodyTwin
from thenar.twin.body.body_world import BodyWorld
from thenar.twin.live_twin import LiveTwin
from thenar.twin.serve_config import PageOptions, complete
from thenar.wire.links.aurora_link import AuroraNode

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from thenar.twin.page.page_link import PageLink


class LiveBody(LiveTwin):
    """A humanoid that runs in real time. Use it in a ``with``."""

    def __init__(self, twin: BodyTwin, node: AuroraNode | None, page: PageLink | None = None):
        """Prepare; nothing runs yet."""
        super().__init__(twin.body.world, links=() if page is None else (page,), touch_hz=0.0, pre_step=twin.tick)
        self.body = twin
        self.node = node
        self.monitored = self.links if node is None else (*self.links, node)
        twin.controller.timed = True
        if page is not None:
            page.attach(self)

    def reset(self) -> None:
        """Back to time 0, the robot's computer too."""
        self.run_on_loop(lambda _: self.body.reset())

    def stop(self) -> None:
        """Stop the loop and the robot's tasks, then leave the network."""
        with ExitStack() as last:  # each of them, whatever goes wrong before
            if self.node is not None:
                last.callback(self.node.close)
            last.callback(self.body.stop)
            super().stop()


def serve_body(
    config: BodyConfig | Path | None = None,
    *,
    interface: str = "lo",
    peers: tuple[str, ...] = (),
    domain: int | None = None,
    ros: bool = False,
    network: bool = True,
    joystick: Joystick | None = None,
    page: PageOptions | None = None,
) -> LiveBody:
    """A humanoid that `fourier-aurora-client` connects to as to the robot.

    Args:
        config: What runs, as a value or a YAML file; None for a GR-2 with its hands and the example tasks.
        interface: Network interface. Loopback unless something else is chosen.
        peers: Addresses to look for clients at where multicast does not reach.
        domain: DDS domain, in place of the configuration's.
        ros: Whether names are spelled as ROS 2 does.
        network: False keeps it to itself.
        joystick: The operator; a configuration with ``UseJoyStick`` has a gamepad when nobody else is named.
        page: Where to show it in a browser; None for nowhere.
    """
    chosen = config if isinstance(config, BodyConfig) else load_config(config)
    if joystick is None and chosen.use_joystick:
        try:
            joystick = Gamepad()
        except BadFile as error:
            logger.warning("UseJoyStick is true, but there is %s; the robot runs without", error)
    options = None if page is None else complete(page)
    world = BodyWorld(hands=chosen.hands, scene=chosen.scene)
    controller = BodyController(world.robot, states=chosen.states, fixed=chosen.fixed, joystick=joystick)
    node = None
    if network:
        node = AuroraNode(
            domain=chosen.domain if domain is None else domain,
            namespace=chosen.namespace,
            ros=ros,
            interface=interface,
            peers=peers,
        )
    shown = None
    try:
        if options is not None:
            shown = _open_page(world, controller, options)
        return LiveBody(BodyTwin(world, controller, link=node), node, shown)
    except BaseException:
        for opened in (shown, node):
            if opened is not None:
                opened.close()
        raise


def _open_page(body: BodyWorld, controller: BodyController, options: PageOptions) -> PageLink:
    from thenar.twin.page.page_link import PageLink

    return PageLink(
        body.world,
        scene="ground",
        states={int(state): state.name for state, tasks in controller.states.items() if tasks.tasks},
        change_state=controller.change,
        title="thenar",
        options=options,
    )
