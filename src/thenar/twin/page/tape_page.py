"""The page of a recording: hands, objects and skins as they were, with a time line."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np

from thenar.recordings.recording import MotorColumns, Poses, Recording
from thenar.signals import FloatArray
from thenar.twin.page.page_link import MOTION_HZ, PageLink
from thenar.twin.recording.recipe import build_world
from thenar.twin.recording.replay import read_actions
from thenar.twin.serve_config import PageOptions
from thenar.twin.world import World
from thenar.view.page_scene import Message, PageScene
from thenar.view.shared_memory import STATE_FIELDS


class TapePage(PageLink):
    """Page of a recording with a time line, for viewing only."""

    touring = False

    def __init__(self, recording: Recording, *, options: PageOptions):
        """Start the page's process and wait until it answers.

        Args:
            recording: What is shown.
            options: Where it is and who may see it, complete.
        """
        self._tape = recording
        self._motors: dict[str, MotorColumns] = {hand: recording.motors(hand) for hand in recording.hands}
        self._joints = {hand: recording.joints(hand) for hand in recording.hands}
        self._touch = {hand: recording.touch(hand) for hand in recording.hands if recording.has_touch(hand)}
        stamps_s = [motors.stamp_s for motors in self._motors.values()]
        self.start_s = min(float(stamp_s[0]) for stamp_s in stamps_s)
        self.seconds = max(float(stamp_s[-1]) for stamp_s in stamps_s) - self.start_s
        self._at_s, self._pace = 0.0, 1.0
        world = build_world(read_actions(recording)[0]["arguments"]["recipe"])
        known = set(recording.bodies)
        bodies = {number: world.model.body(number).name for number in range(world.model.nbody)}
        self._poses = {number: recording.poses(name) for number, name in bodies.items() if name in known}
        super().__init__(world, scene="recording", options=options, title=f"thenar replay {recording.name}")

    def build_scene(self, world: World, *, number: int, scene: str) -> PageScene:
        """What does not move, and how long everything else does."""
        made = super().build_scene(world, number=number, scene=scene)
        tasks = tuple((episode.start_s - self.start_s, episode.task) for episode in self._tape.episodes)
        return replace(made, seconds=self.seconds, tasks=tasks, scenes=(), spawns=())

    def handle(self, message: Message) -> None:
        """Move in time, or let it pass."""
        match message["do"]:
            case "seek":
                self._at_s = float(np.clip(message["at_s"], 0.0, self.seconds))
            case "set_pace":
                self._pace = message["pace"]
            case "clients":
                super().handle(message)

    def run(self, stop: threading.Event) -> None:
        """Show what was, at its own pace, until told to stop."""
        shown_s, before_s = -1.0, time.perf_counter()
        while not stop.wait(1.0 / MOTION_HZ) and not self.process.failure:
            now_s = time.perf_counter()
            self._at_s = min(self._at_s + self._pace * (now_s - before_s), self.seconds)
            before_s = now_s
            if self._at_s != shown_s:
                shown_s = self._at_s
                self.show(shown_s)

    def show(self, at_s: float) -> None:
        """Show an instant, in seconds from the beginning."""
        then_s, data = self.start_s + at_s, self._world.data
        if self._poses:
            for number, poses in self._poses.items():
                data.xpos[number], data.xquat[number] = pose_at(poses, then_s)
        else:  # of a real hand nobody knows more than its joints
            rows = {hand: _last(joints.stamp_s, then_s) for hand, joints in self._joints.items()}
            self._world.physics.pose_bodies({hand: self._joints[hand].position_rad[row] for hand, row in rows.items()})
        record = self.process.motion.next()
        record["scene"], record["time_s"], record["contacts"] = self.page_scene.number, at_s, 0
        record["pos_m"][: len(data.xpos)], record["quat_wxyz"][: len(data.xquat)] = data.xpos, data.xquat
        for hand, motors in self._motors.items():
            row = _last(motors.stamp_s, then_s)
            for field in (*STATE_FIELDS, "target_rad"):
                record[hand][field] = getattr(motors, field)[row]
        self.process.motion.publish()
        self._written += 1
        if self._touch:
            record = self.process.skin.next()
            record["time_s"] = at_s
            for hand, touch in self._touch.items():
                row, own = _last(touch.stamp_s, then_s), record[hand]
                own["pressure_pa"], own["pad_n"] = touch.taxel_pressure_pa[row], touch.pad_force_n[row]
                own["counts"] = np.clip(touch.taxel_counts[row], -32768, 32767)
            self.process.skin.publish()


def _last(stamp_s: FloatArray, at_s: float) -> int:
    """Number of the newest reading at a time; of the first before there is any."""
    return max(int(np.searchsorted(stamp_s, at_s + 1e-9, side="right")) - 1, 0)  # stamps are rounded


def pose_at(poses: Poses, at_s: float) -> tuple[FloatArray, FloatArray]:
    """Position and quat_wxyz between two recorded poses."""
    row = _last(poses.stamp_s, at_s)
    after = min(row + 1, len(poses.stamp_s) - 1)
    gap_s = poses.stamp_s[after] - poses.stamp_s[row]
    share = float(np.clip((at_s - poses.stamp_s[row]) / gap_s, 0.0, 1.0)) if gap_s > 0.0 else 0.0
    first, second = poses.quat_wxyz[row], poses.quat_wxyz[after]
    turned = first + share * (np.copysign(1.0, first @ second) * second - first)
    return poses.pos_m[row] + share * (poses.pos_m[after] - poses.pos_m[row]), turned / np.linalg.norm(turned)
