"""The panel on the right: what users can do with motors, scene, gloves, faults and the active link."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import viser
from numpy.typing import NDArray

from thenar.hands.spec import HandSpec
from thenar.signals import FloatArray, HandCommand
from thenar.signals.fault_kinds import FAULTS, Fault
from thenar.view import status_html
from thenar.view.gizmos import Gizmos
from thenar.view.gui_updates import set_html
from thenar.view.page_scene import Message, PageScene

Send = Callable[..., None]
"""Sends a verb with its fields to the twin."""

DEG = 180.0 / np.pi
FOLLOW_AFTER_S = 1.0  # a slider that nobody touches shows the target that others set
POSE_LABELS = {"open": "Open", "fist": "Fist", "pinch": "Pinch", "point": "Point", "thumbs_up": "Thumb"}
TIME_BUTTONS: dict[str, tuple[Message, ...]] = {
    "Play": ({"do": "set_pace", "pace": 1.0},),
    "Pause": ({"do": "set_pace", "pace": 0.0},),
    "Step": ({"do": "set_pace", "pace": 0.0}, {"do": "step", "steps": 5}),
    "Slow": ({"do": "set_pace", "pace": 0.1},),
    "Reset": ({"do": "reset"},),
}
TAPE_BUTTONS: dict[str, tuple[Message, ...]] = {
    **{name: TIME_BUTTONS[name] for name in ("Play", "Pause", "Slow")},
    "From the start": ({"do": "seek", "at_s": 0.0}, {"do": "set_pace", "pace": 1.0}),
}
NONE: str = "none"
RECORD = "Record"
ALL_WIRES = "all"


class HandControls:
    """Presets, motor sliders, limits and the motor table of one hand."""

    def __init__(self, gui: viser.GuiApi, spec: HandSpec, send: Send):
        """Lay them out in the current container."""
        self._spec, self._send = spec, send
        self._touched_s = -np.inf
        _add_poses(gui, "Presets", list(spec.poses), self.take_pose)
        self._sliders = []
        for number, actuator in enumerate(spec.actuators):
            low, high = sorted((actuator.lower_rad * DEG, actuator.upper_rad * DEG))
            slider = gui.add_slider(
                actuator.name.replace("_", " "),
                min=round(low, 1),
                max=round(high, 1),
                step=0.1,
                initial_value=round(float(np.clip(actuator.open_rad * DEG, low, high)), 1),
                hint=f"Target of the motor [degrees]; open {actuator.open_rad * DEG:.0f}, "
                f"closed {actuator.closed_rad * DEG:.0f}",
            )
            slider.on_update(lambda event, number=number: self._on_slide(event, number))
            self._sliders.append(slider)
        self._speed = gui.add_slider("speed [%]", min=1.0, max=100.0, step=1.0, initial_value=50.0)
        self._speed.on_update(self._on_limit)
        max_n = max((getattr(a.motor, "force_max_n", 0.0) for a in spec.actuators), default=0.0)
        self._force = None
        if max_n > 0.0:
            self._force = gui.add_slider("force limit [N]", min=0.5, max=round(max_n, 1), step=0.1, initial_value=5.0)
            self._force.on_update(self._on_limit)
        self._table = gui.add_html("")

    def take_pose(self, pose: str) -> None:
        """Go to a named posture."""
        spec = self._spec
        self._touched_s = -np.inf  # the sliders follow at once
        self._command(spec.open_rad + spec.pose_fractions(pose) * (spec.closed_rad - spec.open_rad))

    def follow(self, own: NDArray[np.void]) -> None:
        """Show the motors' states, and their targets on sliders that nobody holds."""
        set_html(self._table, status_html.motors(self._spec.actuator_names, own))
        if time.monotonic() - self._touched_s < FOLLOW_AFTER_S:
            return
        for slider, target in zip(self._sliders, own["target_rad"], strict=True):
            shown = float(np.clip(round(float(target) * DEG, 1), slider.min, slider.max))
            if abs(shown - slider.value) > 0.15:
                slider.value = shown

    def _on_slide(self, event: viser.GuiEvent, number: int) -> None:
        if event.client is None:
            return  # moved by `follow`
        self._touched_s = time.monotonic()
        target_rad = np.full(len(self._sliders), np.nan)
        target_rad[number] = event.target.value / DEG
        self._command(target_rad)

    def _on_limit(self, event: viser.GuiEvent) -> None:
        if event.client is not None:
            self._command(np.full(len(self._sliders), np.nan))

    def _command(self, target_rad: FloatArray) -> None:
        """Send a target with the limits of the sliders."""
        speed_rad_s = self._speed.value / 100.0 * self._spec.top_speed_rad_s
        limit_n = np.nan if self._force is None else self._force.value
        command = HandCommand.to(target_rad, speed_rad_s=speed_rad_s, force_limit_n=limit_n)
        self._send("command", hand=self._spec.name, command=command)


class ReadOnlyPanel:
    """In place of `Controls`, where there is one scene and nothing can be commanded."""

    def show(self, scene: PageScene) -> None:
        """There is one scene."""

    def toggle_drag(self, prop: str) -> None:
        """What was, or is real, cannot be dragged."""

    def show_status(self, status: Message, updates_hz: float) -> None:
        """A recording has no health."""

    def follow(self, motion: NDArray[np.void], *, tables: bool) -> None:
        """A mirror's values come with the status."""


class TimeLine(ReadOnlyPanel):
    """For a recording: time, and what the motors reported."""

    def __init__(self, server: viser.ViserServer, scene: PageScene, send: Send):
        """Lay everything out."""
        gui, self._send, self._tasks = server.gui, send, scene.tasks
        self._touched_s = -np.inf
        self._task = gui.add_html("")
        end_s = max(round(scene.seconds, 2), 0.01)
        self._time = gui.add_slider("time [s]", min=0.0, max=end_s, step=0.01, initial_value=0.0)
        self._time.on_update(self._on_slide)
        gui.add_button_group("Playback", tuple(TAPE_BUTTONS)).on_click(self._on_button)
        self._specs = [hand.spec for hand in scene.hands]
        self._tables = {}
        for spec in self._specs:
            with gui.add_folder(spec.name.replace("_", " ")):
                self._tables[spec.name] = gui.add_html("")

    def follow(self, motion: NDArray[np.void], *, tables: bool) -> None:
        """Show the instant that is shown."""
        at_s = float(motion["time_s"])
        if time.monotonic() - self._touched_s > FOLLOW_AFTER_S:
            self._time.value = round(min(at_s, self._time.max), 2)
        if tables:
            task = next((task for since_s, task in reversed(self._tasks) if since_s <= at_s), "")
            set_html(self._task, status_html.caption(task))
            for spec in self._specs:
                set_html(self._tables[spec.name], status_html.motors(spec.actuator_names, motion[spec.name]))

    def _on_slide(self, event: viser.GuiEvent) -> None:
        if event.client is not None:
            self._touched_s = time.monotonic()
            self._send("seek", at_s=float(event.target.value))

    def _on_button(self, event: viser.GuiEvent) -> None:
        for message in TAPE_BUTTONS[event.target.value]:
            self._send(**message)


class MirrorPanel(ReadOnlyPanel):
    """For a mirror: what differs, in words and in numbers."""

    def __init__(self, server: viser.ViserServer, scene: PageScene, send: Send):
        """Lay everything out."""
        gui = server.gui
        self._labels = scene.wires
        self._status, self._caption, self._values = gui.add_html(""), gui.add_html(""), gui.add_html("")
        with gui.add_folder("Wires", expand_by_default=False):
            self._wires = gui.add_html("")

    def show_status(self, status: Message, updates_hz: float) -> None:
        """Bring the texts up to date."""
        set_html(self._status, status_html.status_line(status["health"], updates_hz))
        set_html(self._caption, status_html.caption(status["caption"]))
        set_html(self._values, status_html.beside(status["beside"]))
        set_html(self._wires, status_html.wires(status["health"], self._labels))


class Controls:
    """Status line, active link, time and a tab for each subject."""

    def __init__(self, server: viser.ViserServer, scene: PageScene, send: Send):
        """Lay everything out; it stays while scenes change."""
        gui = server.gui
        self._send = send
        self._gizmos = Gizmos(server, scene, send)
        self._status, self._caption = gui.add_html(""), gui.add_html("")
        self._end_tour = gui.add_button("End tour", icon=viser.Icon.HAND_GRAB, visible=False)
        self._end_tour.on_click(lambda _: send("end_tour"))
        self._labels = {"": status_html.ANY_LINK, **scene.wires}
        self._active = gui.add_dropdown(
            "Active link", tuple(self._labels.values()), hint="Only this link's commands move the hands."
        )
        self._active.on_update(self._on_active_link)
        gui.add_button_group("Time", tuple(TIME_BUTTONS)).on_click(self._on_time)
        self._recording = False
        self._record = gui.add_button(RECORD, icon=viser.Icon.PLAYER_RECORD, hint="Everything, into one file (.mcap).")
        self._record.on_click(lambda _: send("record", on=not self._recording))
        tabs = gui.add_tab_group()
        self._hands: dict[str, HandControls] = {}
        with tabs.add_tab("Hands", viser.Icon.HAND_STOP):
            self._add_hands(gui, scene)
        with tabs.add_tab("Scene", viser.Icon.CUBE):
            self._add_scene(gui, scene)
        if scene.recordings:
            with tabs.add_tab("Glove", viser.Icon.HAND_FINGER):
                self._add_glove(gui, scene)
        with tabs.add_tab("Faults", viser.Icon.ALERT_TRIANGLE):
            self._faults = gui.add_html("")
            if scene.hands:
                self._add_faults(gui, scene)
        with tabs.add_tab("Wires", viser.Icon.PLUG_CONNECTED):
            self._wires = gui.add_html("")
        self._update_scene(scene)

    def show(self, scene: PageScene) -> None:
        """Another scene."""
        self._gizmos.show(scene)
        self._update_scene(scene)

    def toggle_drag(self, prop: str) -> None:
        """Give an object the handle with which it is dragged, or take it away."""
        self._object.value = NONE if self._object.value == prop else prop

    def show_status(self, status: Message, updates_hz: float) -> None:
        """Bring the texts up to date."""
        health = status["health"]
        set_html(self._status, status_html.status_line(health, updates_hz))
        set_html(self._caption, status_html.caption(status["caption"]))
        set_html(self._wires, status_html.wires(health, self._labels))
        set_html(self._faults, status_html.faults(status["faults"]))
        touring = bool(status["caption"]) and status["touring"]
        if self._end_tour.visible != touring:
            self._end_tour.visible = touring
        recording = health["recording"]
        label = RECORD if recording is None else f"Stop recording ({recording['seconds']:.0f} s)"
        if self._record.label != label:
            self._record.label, self._recording = label, recording is not None
        active = self._labels.get(health["active_link"], status_html.ANY_LINK)
        if self._active.value != active:
            self._active.value = active

    def follow(self, motion: NDArray[np.void], *, tables: bool) -> None:
        """Move handles along, and where asked the sliders and tables of motors."""
        self._gizmos.follow(motion)
        if tables:
            for name, controls in self._hands.items():
                controls.follow(motion[name])

    def _on_active_link(self, event: viser.GuiEvent) -> None:
        if event.client is not None:
            wire = next(name for name, label in self._labels.items() if label == event.target.value)
            self._send("set_active_link", wire=wire)

    def _on_time(self, event: viser.GuiEvent) -> None:
        for message in TIME_BUTTONS[event.target.value]:
            self._send(**message)

    def _add_hands(self, gui: viser.GuiApi, scene: PageScene) -> None:
        if scene.states:
            numbers = {f"{name} ({number})": number for number, name in scene.states.items()}
            choice = gui.add_dropdown("Body state", tuple(numbers))
            request = gui.add_button("Request this state")
            request.on_click(lambda _: self._send("request_state", number=numbers[choice.value]))
        specs = [hand.spec for hand in scene.hands]
        if len(specs) > 1:
            shared = [pose for pose in specs[0].poses if all(pose in spec.poses for spec in specs)]
            _add_poses(gui, "Both", shared, self._take_pose)
        for spec in sorted(specs, key=lambda spec: spec.side != "right"):
            expanded = spec.side != "left" or len(specs) == 1
            with gui.add_folder(spec.name.replace("_", " "), expand_by_default=expanded):
                self._hands[spec.name] = HandControls(gui, spec, self._send)

    def _take_pose(self, pose: str) -> None:
        for hand in self._hands.values():
            hand.take_pose(pose)

    def _add_scene(self, gui: viser.GuiApi, scene: PageScene) -> None:
        self._scene: viser.GuiDropdownHandle[str] | None = None
        if scene.scenes:
            self._scene = gui.add_dropdown("Scene", scene.scenes, initial_value=scene.scene)
            self._scene.on_update(self._on_scene)
            names = [hand.spec.name for hand in scene.hands]
            above = gui.add_dropdown("Add above", tuple(names), initial_value=names[-1])
            kinds = gui.add_button_group("Add object", scene.spawns)
            kinds.on_click(lambda event: self._send("spawn", kind=event.target.value, hand=above.value))
        self._object = gui.add_dropdown("Drag object", (NONE, *scene.props), hint="Shows arrows that pull the object.")
        self._object.on_update(lambda event: self._gizmos.drag(event.target.value))
        self._move_wrists = gui.add_checkbox(
            "Move wrists", False, hint="Shows handles on wrists that can be moved; the scene table has some."
        )
        self._move_wrists.on_update(lambda event: self._gizmos.show_wrists(event.target.value))

    def _update_scene(self, scene: PageScene) -> None:
        if self._scene is not None:
            self._scene.value = scene.scene
        self._object.options = (NONE, *scene.props)
        self._object.value = NONE
        self._object.disabled = not scene.props
        self._move_wrists.disabled = not any(hand.driven for hand in scene.hands)
        self._move_wrists.value = False

    def _on_scene(self, event: viser.GuiEvent) -> None:
        if event.client is not None:
            self._send("load_scene", name=event.target.value)

    def _add_glove(self, gui: viser.GuiApi, scene: PageScene) -> None:
        gui.add_markdown("A recorded human hand drives the robot. Its skeleton is drawn beside it.")
        recording = gui.add_dropdown("Recording", scene.recordings)
        play = gui.add_button("Play", icon=viser.Icon.PLAYER_PLAY)
        play.on_click(lambda _: self._send("play", recording=recording.value))
        stop = gui.add_button("Stop", icon=viser.Icon.PLAYER_STOP)
        stop.on_click(lambda _: self._send("stop_playing"))

    def _add_faults(self, gui: viser.GuiApi, scene: PageScene) -> None:
        specs = {hand.spec.name: hand.spec for hand in scene.hands}
        wires = {label: wire for wire, label in scene.wires.items() if wire != "page"}
        possible = {
            found.label: name
            for name, found in FAULTS.items()
            if not (found.of == "taxel" and not any(one.pads for one in specs.values()))
            and not (found.of == "messages" and not wires)
        }
        kind = gui.add_dropdown("Fault", tuple(possible))
        hand = gui.add_dropdown("Hand", tuple(specs), initial_value=list(specs)[-1])
        motor = gui.add_dropdown("Motor", specs[hand.value].actuator_names)
        pad = gui.add_dropdown("Pad", (NONE,))
        row, col = gui.add_number("Row", 0, min=0, step=1), gui.add_number("Column", 0, min=0, step=1)
        wire = gui.add_dropdown("Link", (ALL_WIRES, *wires))
        amount = gui.add_number("Amount", 0.0, min=0.0, max=1.0)

        def update_fields(_: object = None) -> None:
            chosen = FAULTS[possible[kind.value]]
            hand.visible = chosen.of in ("motor", "taxel")
            motor.visible, wire.visible = chosen.of == "motor", chosen.of == "messages"
            pad.visible = row.visible = col.visible = chosen.of == "taxel"
            amount.visible, amount.hint = bool(chosen.unit), chosen.unit
            amount.max, amount.value = chosen.most, chosen.amount
            motor.options = specs[hand.value].actuator_names
            pad.options = tuple(one.name for one in specs[hand.value].pads) or (NONE,)

        def chosen_fault() -> Fault:
            name = possible[kind.value]
            chosen = FAULTS[name]
            parts = {
                "motor": motor.value,
                "taxel": f"{pad.value} {int(row.value)} {int(col.value)}",
                "messages": wires.get(wire.value, ""),
                "power": "",
            }
            return Fault(
                kind=name,
                hand=hand.value if chosen.of in ("motor", "taxel") else "",
                part=parts[chosen.of],
                amount=float(amount.value) if chosen.unit else None,
            )

        kind.on_update(update_fields)
        hand.on_update(update_fields)
        update_fields()
        inject = gui.add_button("Inject fault", color="red")
        inject.on_click(lambda _: self._send("inject_fault", fault=chosen_fault()))
        gui.add_button("Clear all faults", color="green").on_click(lambda _: self._send("clear_faults"))


def _add_poses(gui: viser.GuiApi, label: str, poses: list[str], take: Callable[[str], None]) -> None:
    """A row of buttons, one for each posture."""
    names = {POSE_LABELS.get(name, name): name for name in poses}
    gui.add_button_group(label, tuple(names)).on_click(lambda event: take(names[event.target.value]))
