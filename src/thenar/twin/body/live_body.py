"""A humanoid that runs: the simulated body, the robot's own computer, and whoever is connected."""

from __future__ import annotations

from typing import Protocol

from thenar.humanoid.control.controller import BodyController
from thenar.humanoid.control.fsm import HUNG
from thenar.humanoid.control.report import report_of
from thenar.signals import BodyReport, BodyRequest
from thenar.twin.body.body_world import BodyWorld
from thenar.twin.world import World

REPORT_HZ = 100.0


class BodyLink(Protocol):
    """What moves requests to a humanoid in and its reports out."""

    def receive(self) -> list[BodyRequest]:
        """Requests since the last call."""
        ...

    def publish(self, report: BodyReport) -> None:
        """Send what the robot reports."""
        ...

    def close(self) -> None:
        """Leave."""
        ...


class BodyTwin:
    """One tick after the other: read the body, let its computer think, drive the motors, let time pass."""

    def __init__(
        self,
        body: BodyWorld,
        controller: BodyController | None = None,
        *,
        link: BodyLink | None = None,
        report_hz: float = REPORT_HZ,
    ):
        """Hanging from its gantry in the state Default.

        Args:
            body: The simulated robot.
            controller: Its computer.
            link: Somebody to listen and report to.
            report_hz: How often reports are sent.
        """
        self.body = body
        self.controller = controller or BodyController(body.robot)
        self.link = link
        self._every = max(1, round(1.0 / (report_hz * body.world.timestep_s)))
        self._ticks = 0
        body.hang(True)

    def tick(self, _world: World | None = None) -> None:
        """Everything of a tick but the physics, which follows it."""
        body, controller = self.body, self.controller
        body.read()
        if self.link is not None:
            for request in self.link.receive():
                controller.ask(request)
        body.drive(controller.tick())
        # On the gantry until something balances, and off it until it is put back: who falls, falls.
        if controller.whole in HUNG or controller.balances:
            body.hang(controller.whole in HUNG)
        for hand in body.scales:
            command = body.robot.board.read_hand(hand)
            if command is not None:
                body.drive_hand(hand, command)
        if self.link is not None and self._ticks % self._every == 0:
            self.link.publish(self.report())
        self._ticks += 1

    def reset(self) -> None:
        """Back to time 0 and to the gantry, its computer switched on anew."""
        self.body.world.reset()
        self.body.read()
        self.body.drive(self.controller.restart())
        self.body.hang(True)

    def stop(self) -> None:
        """The end: the robot's tasks end and its drives lose their power."""
        self.body.drive(self.controller.stop())

    def advance(self, seconds: float) -> None:
        """Let the robot live for some simulated time, as fast as the machine can."""
        for _ in range(round(seconds / self.body.world.timestep_s)):
            self.tick()
            self.body.advance(self.body.world.timestep_s)

    def report(self) -> BodyReport:
        """What the robot reports, with the simulator's truth about its feet."""
        return report_of(self.controller, true_contact_n=self.body.foot_forces()[:, 2])
