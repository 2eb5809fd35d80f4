"""Handles in the 3D scene with which users drag objects and move wrists."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import viser
from numpy.typing import NDArray

from thenar.view.page_scene import PageScene

HOLD_S = 1.5  # a handle that was moved this long ago follows its wrist again


class Gizmos:
    """One handle for an object and one for each wrist that can be moved."""

    def __init__(self, server: viser.ViserServer, scene: PageScene, send: Callable[..., None]):
        """Hidden handles for the wrists and objects of a scene."""
        self._server, self._send = server, send
        self._wrists: dict[str, viser.TransformControlsHandle] = {}
        self._object: viser.TransformControlsHandle | None = None
        self.show(scene)

    def show(self, scene: PageScene) -> None:
        """Replace the handles by those of another scene; they are hidden at first."""
        for handle in (self._object, *self._wrists.values()):
            if handle is not None:
                handle.remove()
        self._scene, self._prop = scene, ""
        self._dragging, self._moved_s = False, dict[str, float]()
        add = self._server.scene.add_transform_controls
        self._object = add("/drag", scale=0.07, disable_rotations=True, depth_test=False, visible=False)
        self._object.on_update(self._on_drag)
        self._wrists = {
            hand.spec.name: add(f"/wrist/{hand.spec.name}", scale=0.10, depth_test=False, opacity=0.7, visible=False)
            for hand in scene.hands
            if hand.driven
        }
        for name, gizmo in self._wrists.items():
            gizmo.on_update(lambda event, name=name: self._on_wrist(name, event.target))

    def drag(self, prop: str) -> None:
        """Put the handle on an object, or on none; the one that had it is dropped."""
        prop = prop if prop in self._scene.props else ""  # a visitor may send any name
        if self._prop and self._prop != prop:
            self._send("drag", prop=self._prop, to_m=None)
        self._prop, self._dragging = prop, False
        assert self._object is not None
        self._object.visible = bool(prop)

    def show_wrists(self, on: bool) -> None:
        """Show or hide the handles of the wrists."""
        for gizmo in self._wrists.values():
            gizmo.visible = on

    def follow(self, motion: NDArray[np.void]) -> None:
        """Keep handles that nobody drags on what they move."""
        if self._prop and self._object is not None and not self._dragging:
            _place(self._object, motion["pos_m"][self._scene.props[self._prop]], None)
        for name, gizmo in self._wrists.items():
            if gizmo.visible and time.monotonic() - self._moved_s.get(name, -np.inf) > HOLD_S:
                _place(gizmo, motion[name]["palm_m"], motion[name]["palm_quat_wxyz"])

    def _on_drag(self, event: viser.TransformControlsEvent) -> None:
        self._dragging = True
        self._send("drag", prop=self._prop, to_m=np.array(event.target.position, dtype=float))

    def _on_wrist(self, name: str, gizmo: viser.TransformControlsHandle) -> None:
        self._moved_s[name] = time.monotonic()
        quat = np.array(gizmo.wxyz, dtype=float)
        pos_m = np.array(gizmo.position, dtype=float)
        self._send("move_wrist", hand=name, pos_m=pos_m, quat_wxyz=quat / np.linalg.norm(quat))


def _place(gizmo: viser.TransformControlsHandle, pos_m: NDArray, quat_wxyz: NDArray | None) -> None:
    if np.abs(np.asarray(gizmo.position) - pos_m).max() > 5e-4:
        gizmo.position = pos_m
    if quat_wxyz is not None and np.abs(np.asarray(gizmo.wxyz) - quat_wxyz).max() > 2e-3:
        gizmo.wxyz = quat_wxyz
