"""What visitors can do: motors, surroundings, gloves, faults and who is in command."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from thenar.hands.spec import HandSpec
from thenar.view import status_html
from thenar.view.page_scene import Message, PageHand, PageScene

Send = Callable[[Message], None]

DEG = 180.0 / np.pi
FOLLOW_AFTER_S = 1.0  # a slider that nobody touches shows where others send its motor
PRESET_WORDS = {"open": "Open", "fist": "Fist", "pinch": "Pinch", "point": "Point", "thumbs_up": "Thumb"}
SLOW = 0.1
NOTHING = "nothing"
FAULTS = {"Stall": "jam", "Hot motor": "hot", "Lost motor": "communication", "Dead taxel": "taxel", "Lost link": "link"}


class HandControls:
    """Sliders and presets of one hand."""

    def __init__(self, gui: viser.GuiApi, spec: HandSpec, send: Send):
        """Lay them out in the current container."""
        self._spec, self._send = spec, send
        self._touched_s = -np.inf
        names = {PRESET_WORDS.get(name, name): name for name in spec.poses}
        presets = gui.add_button_group("Presets", tuple(names))
        presets.on_click(lambda event: self.take_pose(names[event.target.value]))
        self._sliders = []
        for number, actuator in enumerate(spec.actuators):
            low, high = sorted((actuator.lower_rad * DEG, actuator.upper_rad * DEG))
            slider = gui.add_slider(
                actuator.name.replace("_", " "),
                min=round(low, 1),
                max=round(high, 1),
                step=0.1,
                initial_value=round(float(np.clip(actuator.open_rad * DEG, low, high)), 1),
                hint=f"Where the motor is sent [degrees]; open {actuator.open_rad * DEG:.0f}, "
                f"closed {actuator.closed_rad * DEG:.0f}",
            )
            slider.on_update(lambda event, number=number: self._slide(event, number))
            self._sliders.append(slider)
        self.speed = gui.add_slider("speed [%]", min=1.0, max=100.0, step=1.0, initial_value=50.0)
        self.speed.on_update(self._limit)
        most_n = max((getattr(a.motor, "force_max_n", 0.0) for a in spec.actuators), default=0.0)
        self.force = None
        if most_n > 0.0:
            self.force = gui.add_slider("force limit [N]", min=0.5, max=round(most_n, 1), step=0.1, initial_value=5.0)
            self.force.on_update(self._limit)
        self.table = gui.add_html("")

    def take_pose(self, pose: str) -> None:
        """Go to a named posture."""
        spec = self._spec
        target = spec.open_rad + spec.pose_fractions(pose) * (spec.closed_rad - spec.open_rad)
        self._touched_s = -np.inf  # sliders show where they are sent
        self._send({"do": "command", "hand": spec.name, "target_rad": target, **self._limits()})

    def follow(self, own: NDArray[np.void]) -> None:
        """Sliders that nobody holds show where the motors have been sent."""
        if time.monotonic() - self._touched_s < FOLLOW_AFTER_S:
            return
        for slider, target in zip(self._sliders, own["target_rad"], strict=True):
            shown = float(np.clip(round(float(target) * DEG, 1), slider.min, slider.max))
            if abs(shown - slider.value) > 0.15:
                slider.value = shown

    def _slide(self, event: viser.GuiEvent, number: int) -> None:
        if event.client is None:
            return  # it was not a visitor who moved it
        self._touched_s = time.monotonic()
        target = np.full(len(self._sliders), np.nan)
        target[number] = event.target.value / DEG
        self._send({"do": "command", "hand": self._spec.name, "target_rad": target, **self._limits()})

    def _limit(self, event: viser.GuiEvent) -> None:
        if event.client is not None:
            self._send({"do": "command", "hand": self._spec.name, **self._limits()})

    def _limits(self) -> dict[str, Any]:
        limits: dict[str, Any] = {"speed_rad_s": self.speed.value / 100.0 * self._spec.top_speed_rad_s}
        if self.force is not None:
            limits["force_limit_n"] = np.full(len(self._sliders), self.force.value)
        return limits


class Gizmos:
    """Handles in the scene with which wrists and objects are moved."""

    def __init__(self, server: viser.ViserServer, send: Send):
        """None is shown yet."""
        self._server, self._send = server, send
        self._handles: list[viser.SceneNodeHandle] = []
        self._object: viser.TransformControlsHandle | None = None
        self._wrists: dict[str, viser.TransformControlsHandle] = {}
        self._held_s: dict[str, float] = {}
        self._stage: PageScene | None = None
        self.prop = ""

    def show(self, stage: PageScene) -> None:
        """For the wrists and objects of this stage; hidden until asked for."""
        for handle in self._handles:
            handle.remove()
        self._stage, self.prop = stage, ""
        scene = self._server.scene
        self._object = scene.add_transform_controls(
            "/drag", scale=0.07, disable_rotations=True, depth_test=False, visible=False
        )
        self._object.on_update(self._dragged)
        self._wrists = {}
        for hand in stage.hands:
            if hand.driven:
                gizmo = scene.add_transform_controls(
                    f"/wrist/{hand.spec.name}", scale=0.10, depth_test=False, opacity=0.7, visible=False
                )
                gizmo.on_update(lambda event, name=hand.spec.name: self._turned(name, event.target))
                self._wrists[hand.spec.name] = gizmo
        self._handles = [self._object, *self._wrists.values()]

    def hold(self, prop: str) -> None:
        """Take an object, or let go of the one that is held."""
        if self.prop and self.prop != prop:
            self._send({"do": "drag", "prop": self.prop, "to_m": None})
        self.prop = prop
        assert self._object is not None
        self._object.visible = bool(prop)
        self._held_s.pop("object", None)

    def show_wrists(self, on: bool) -> None:
        """Show or hide the handles of the wrists."""
        for gizmo in self._wrists.values():
            gizmo.visible = on

    def follow(self, motion: NDArray[np.void]) -> None:
        """Handles that nobody drags stay with what they move."""
        now_s = time.monotonic()
        assert self._stage is not None
        if self.prop and self._object is not None and "object" not in self._held_s:
            _place(self._object, motion["pos_m"][self._stage.props[self.prop]], None)
        for name, gizmo in self._wrists.items():
            if gizmo.visible and now_s - self._held_s.get(name, -np.inf) > 1.5:
                _place(gizmo, motion[name]["palm_m"], motion[name]["palm_quat_wxyz"])

    def _dragged(self, event: viser.TransformControlsEvent) -> None:
        self._held_s["object"] = time.monotonic()
        self._send({"do": "drag", "prop": self.prop, "to_m": np.array(event.target.position, dtype=float)})

    def _turned(self, name: str, gizmo: viser.TransformControlsHandle) -> None:
        self._held_s[name] = time.monotonic()
        quat = np.array(gizmo.wxyz, dtype=float)
        self._send(
            {
                "do": "wrist",
                "hand": name,
                "pos_m": np.array(gizmo.position, dtype=float),
                "quat_wxyz": quat / np.linalg.norm(quat),
            }
        )


def _place(gizmo: viser.TransformControlsHandle, pos_m: NDArray, quat_wxyz: NDArray | None) -> None:
    if np.abs(np.asarray(gizmo.position) - pos_m).max() > 5e-4:
        gizmo.position = pos_m
    if quat_wxyz is not None and np.abs(np.asarray(gizmo.wxyz) - quat_wxyz).max() > 2e-3:
        gizmo.wxyz = quat_wxyz


class Controls:
    """The panel on the right."""

    def __init__(self, server: viser.ViserServer, stage: PageScene, send: Send):
        """Lay everything out; it stays while scenes change."""
        gui = server.gui
        self._server, self._send, self._stage = server, send, stage
        self.gizmos = Gizmos(server, send)
        self._strip = gui.add_html("")
        self._caption = gui.add_html("")
        self._skip = gui.add_button("Take over", icon=viser.Icon.HAND_GRAB, visible=False)
        self._skip.on_click(lambda _: send({"do": "end_tour"}))
        self._labels = {"": status_html.ANYBODY, **stage.wires}
        self._commander = gui.add_dropdown(
            "In command", tuple(self._labels.values()), initial_value=status_html.ANYBODY
        )
        self._commander.on_update(self._take_command)
        self._tempo = gui.add_button_group("Time", ("Play", "Pause", "Step", "Slow", "Reset"))
        self._tempo.on_click(self._set_tempo)
        tabs = gui.add_tab_group()
        self.hands: dict[str, HandControls] = {}
        with tabs.add_tab("Hands", viser.Icon.HAND_STOP):
            self._lay_out_hands(gui, stage)
        with tabs.add_tab("Scene", viser.Icon.CUBE):
            self._lay_out_scene(gui, stage)
        if stage.recordings:
            with tabs.add_tab("Glove", viser.Icon.HAND_FINGER):
                self._lay_out_glove(gui, stage)
        with tabs.add_tab("Faults", viser.Icon.ALERT_TRIANGLE):
            self._faults = gui.add_html("")
            if stage.hands:
                self._lay_out_faults(gui, stage)
        with tabs.add_tab("Wires", viser.Icon.PLUG_CONNECTED):
            self._wires = gui.add_html("")
        self.show(stage)

    def show(self, stage: PageScene) -> None:
        """Another scene."""
        self._stage = stage
        self.gizmos.show(stage)
        if self._scene is not None:
            self._scene.value = stage.scene
        self._object.options = (NOTHING, *stage.props)
        self._object.value = NOTHING
        self._object.disabled = not stage.props
        self._move_wrists.disabled = not any(hand.driven for hand in stage.hands)
        self._move_wrists.value = False

    def pick(self, prop: str) -> None:
        """Give an object the arrows with which it is dragged, or take them away."""
        self._object.value = NOTHING if self._object.value == prop else prop

    def tell(self, status: Message, updates_hz: float) -> None:
        """Bring the words up to date."""
        health = status["health"]
        _put(self._strip, status_html.strip(status, self._labels, updates_hz))
        _put(self._caption, status_html.caption(status["caption"]))
        _put(self._wires, status_html.wires(health, self._labels))
        _put(self._faults, status_html.faults(status["faults"]))
        if self._skip.visible != bool(status["caption"]):
            self._skip.visible = bool(status["caption"])
        commander = self._labels.get(health["commander"], status_html.ANYBODY)
        if self._commander.value != commander:
            self._commander.value = commander

    def follow(self, motion: NDArray[np.void], *, tables: bool) -> None:
        """Sliders, handles and, where asked, the tables of motors."""
        self.gizmos.follow(motion)
        for name, controls in self.hands.items():
            if tables:
                controls.follow(motion[name])
                _put(controls.table, status_html.motors(controls._spec.actuator_names, motion[name]))

    def _take_command(self, event: viser.GuiEvent) -> None:
        if event.client is not None:
            wire = next(name for name, label in self._labels.items() if label == event.target.value)
            self._send({"do": "take_command", "wire": wire})

    def _set_tempo(self, event: viser.GuiEvent) -> None:
        match event.target.value:
            case "Play":
                self._send({"do": "pace", "pace": 1.0})
            case "Pause":
                self._send({"do": "pace", "pace": 0.0})
            case "Slow":
                self._send({"do": "pace", "pace": SLOW})
            case "Step":
                self._send({"do": "pace", "pace": 0.0})
                self._send({"do": "step", "steps": 5})
            case "Reset":
                self._send({"do": "reset"})

    def _lay_out_hands(self, gui: viser.GuiApi, stage: PageScene) -> None:
        if stage.states:
            numbers = {f"{name} ({number})": number for number, name in stage.states.items()}
            choice = gui.add_dropdown("Body state", tuple(numbers))
            go = gui.add_button("Ask for this state")
            go.on_click(lambda _: self._send({"do": "state", "number": numbers[choice.value]}))
        if len(stage.hands) > 1:
            poses = [name for name in stage.hands[0].spec.poses if all(name in h.spec.poses for h in stage.hands)]
            names = {PRESET_WORDS.get(name, name): name for name in poses}
            both = gui.add_button_group("Both", tuple(names))
            both.on_click(lambda event: self._take_pose(names[event.target.value]))
        for hand in sorted(stage.hands, key=lambda hand: hand.spec.side != "right"):
            with gui.add_folder(_name(hand), expand_by_default=hand.spec.side != "left" or len(stage.hands) == 1):
                self.hands[hand.spec.name] = HandControls(gui, hand.spec, self._send)

    def _take_pose(self, pose: str) -> None:
        for hand in self.hands.values():
            hand.take_pose(pose)

    def _choose_scene(self, event: viser.GuiEvent) -> None:
        if event.client is not None:
            self._send({"do": "scene", "name": event.target.value})

    def _lay_out_scene(self, gui: viser.GuiApi, stage: PageScene) -> None:
        self._scene: viser.GuiDropdownHandle[str] | None = None
        if stage.scenes:
            self._scene = gui.add_dropdown("Scene", stage.scenes, initial_value=stage.scene)
            self._scene.on_update(self._choose_scene)
            names = [hand.spec.name for hand in stage.hands]
            above = gui.add_dropdown("Above", tuple(names), initial_value=names[-1])
            kinds = gui.add_button_group("Add", stage.spawns)
            kinds.on_click(lambda event: self._send({"do": "spawn", "kind": event.target.value, "hand": above.value}))
        self._object = gui.add_dropdown(
            "Drag", (NOTHING, *stage.props), hint="An object gets arrows with which it can be pulled around."
        )
        self._object.on_update(
            lambda event: self.gizmos.hold("" if event.target.value == NOTHING else event.target.value)
        )
        self._move_wrists = gui.add_checkbox(
            "Move wrists", False, hint="Shows handles on wrists that can be moved: choose the scene table for some."
        )
        self._move_wrists.on_update(lambda event: self.gizmos.show_wrists(event.target.value))

    def _lay_out_glove(self, gui: viser.GuiApi, stage: PageScene) -> None:
        gui.add_markdown("A person's hand, recorded with a glove, drives the robot. Its skeleton is drawn beside it.")
        recording = gui.add_dropdown("Recording", stage.recordings)
        play = gui.add_button("Play", icon=viser.Icon.PLAYER_PLAY)
        play.on_click(lambda _: self._send({"do": "play", "recording": recording.value}))
        stop = gui.add_button("Stop", icon=viser.Icon.PLAYER_STOP)
        stop.on_click(lambda _: self._send({"do": "stop_playing"}))

    def _lay_out_faults(self, gui: viser.GuiApi, stage: PageScene) -> None:
        specs = {hand.spec.name: hand.spec for hand in stage.hands}
        wires = {label: wire for wire, label in stage.wires.items() if wire != "page"}
        cannot = {"taxel": not any(one.pads for one in specs.values()), "link": not wires}
        kind = gui.add_dropdown("What", tuple(name for name, fault in FAULTS.items() if not cannot.get(fault)))
        hand = gui.add_dropdown("Hand", tuple(specs), initial_value=list(specs)[-1])
        spec = specs[hand.value]
        motor = gui.add_dropdown("Motor", spec.actuator_names)
        pads = tuple(pad.name for pad in spec.pads) or ("none",)
        pad = gui.add_dropdown("Pad", pads)
        row, col = gui.add_number("Row", 0, min=0, step=1), gui.add_number("Column", 0, min=0, step=1)
        wire = gui.add_dropdown("Wire", tuple(wires) or ("none",))

        def show(_: object = None) -> None:
            chosen = FAULTS[kind.value]
            motor.visible = chosen in ("jam", "hot", "communication")
            pad.visible = row.visible = col.visible = chosen == "taxel"
            wire.visible = chosen == "link"
            hand.visible = chosen != "link"
            motor.options = specs[hand.value].actuator_names
            pad.options = tuple(one.name for one in specs[hand.value].pads) or ("none",)

        kind.on_update(show)
        hand.on_update(show)
        show()
        add = gui.add_button("Break it", color="red")
        add.on_click(
            lambda _: self._send(
                {
                    "do": "fault",
                    "kind": FAULTS[kind.value],
                    "hand": hand.value,
                    "motor": motor.value,
                    "pad": pad.value,
                    "row": int(row.value),
                    "col": int(col.value),
                    "wire": wires.get(wire.value, ""),
                }
            )
        )
        mend = gui.add_button("Mend everything", color="green")
        mend.on_click(lambda _: self._send({"do": "mend"}))


def _name(hand: PageHand) -> str:
    return hand.spec.name.replace("_", " ")


def _put(html: viser.GuiHtmlHandle, content: str) -> None:
    """Send words only when they have changed."""
    if html.content != content:
        html.content = content
