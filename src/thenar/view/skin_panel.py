"""The panel on the left: the map of all taxels, the loaded pads, and what the 3D view shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import viser
from numpy.typing import NDArray

from thenar.hands.spec import HandSpec
from thenar.view import status_html
from thenar.view.gui_updates import Throttle, set_html
from thenar.view.pad_map import PadMap, Picture
from thenar.view.scene3d import Scene3d

FULL_SCALE_KPA = 60.0
TILES_S, PICTURE_S = 0.02, 0.08
COUNTS, MOST_LOADED = "sensor counts", "the most loaded one"
MIN_FORCE_N, MAX_PADS = 0.01, 6  # pads that are listed


class SkinPanel:
    """Taxel map, its scale and the options of the view."""

    def __init__(
        self, server: viser.ViserServer, panel: viser.PanelHandle, hands: Sequence[HandSpec], scene3d: Scene3d
    ):
        """Lay it out as a tab of a panel.

        Args:
            server: Where it is shown.
            panel: What the tab is added to.
            hands: All hands of the twin; those without pads are left out.
            scene3d: Whose taxels are colored.
        """
        self._server, self._scene3d = server, scene3d
        self._pads = {hand.name: [pad.name for pad in hand.pads] for hand in hands if hand.pads}
        self._tiles_due, self._picture_due = Throttle(TILES_S), Throttle(PICTURE_S)
        gui = server.gui
        with panel.add_tab("Skin", viser.Icon.GRID_DOTS) if self._pads else panel.add_tab("View", viser.Icon.EYE):
            if self._pads:
                self._map = PadMap(hands)
                self._picture = gui.add_image(self._map.paint({}, {}), format="jpeg", jpeg_quality=88)
                self._forces, self._legend = gui.add_html(""), gui.add_html("")
                self._full = gui.add_slider("full scale", min=5.0, max=400.0, step=5.0, initial_value=FULL_SCALE_KPA)
                self._quantity = gui.add_dropdown("Quantity", ("pressure", COUNTS))
            hint = "Force of each contact on the hand: an arrow of 12 mm per newton, 60 mm at most."
            self.arrows = gui.add_checkbox("Contact forces", True, hint=hint)
            clear = gui.add_checkbox("Transparent", True, hint="The skin under objects is seen through the objects.")
            clear.on_update(lambda event: scene3d.set_transparent(event.target.value))
        if self._pads:
            self._choices = {_label(name, pad): (name, pad) for name, pads in self._pads.items() for pad in pads}
            with panel.add_tab("Pad", viser.Icon.ZOOM_IN):
                self._choice = gui.add_dropdown("Pad", (MOST_LOADED, *self._choices))
                self._shown = list(self._choices)[-1]
                self._large = gui.add_image(self._enlarge(), format="png")
                self._reading = gui.add_html("")

    def show(self, record: NDArray[np.void], dead: Mapping[str, NDArray[np.int64]]) -> None:
        """Color the taxels in 3D and on the map, at the rate of each."""
        if not self._pads or not self._tiles_due():
            return
        counts = self._quantity.value == COUNTS
        full = self._full.value if self._full.value > 0.0 else FULL_SCALE_KPA  # controls take what a visitor sends
        share = {
            name: record[name]["counts"] / (status_html.COUNTS_PER_KPA * full)
            if counts
            else record[name]["pressure_pa"] / (1e3 * full)
            for name in self._pads
        }
        with self._server.atomic():
            for name in self._pads:
                self._scene3d.color_taxels(name, share[name], dead.get(name, np.zeros(0, dtype=int)))
        if not self._picture_due():
            return
        picture = self._map.paint(share, dead)
        if not np.array_equal(picture, self._picture.image):
            self._picture.image = picture
        forces = {
            _label(name, pad): float(force_n)
            for name, pads in self._pads.items()
            for pad, force_n in zip(pads, record[name]["pad_n"], strict=True)
            if force_n > MIN_FORCE_N
        }
        loaded = sorted(forces, key=lambda pad: -forces[pad])
        set_html(self._forces, status_html.pad_forces({pad: forces[pad] for pad in loaded[:MAX_PADS]}))
        set_html(self._legend, status_html.legend(full, counts))
        if self._choice.value in self._choices:
            self._shown = self._choice.value
        elif loaded:
            self._shown = loaded[0]  # one that is let go stays in the picture until another is pressed
        large = self._enlarge()
        if not np.array_equal(large, self._large.image):
            self._large.image = large
        set_html(self._reading, status_html.pad_forces({self._shown: forces.get(self._shown, 0.0)}))

    def _enlarge(self) -> Picture:
        return self._map.enlarge(self._picture.image, *self._choices[self._shown])


def _label(hand: str, pad: str) -> str:
    return f"{hand.rpartition('_')[2]} {pad}"
