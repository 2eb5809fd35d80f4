"""``thenar demo``: both hands on the network and in the browser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thenar.cli.run.serve import Serve

if TYPE_CHECKING:
    from thenar.twin.page.page_link import PageLink


@dataclass(frozen=True)
class Demo(Serve):
    """Two hands with something in them, on the network and in your browser. A minute shows what they can do.

    For example:

    thenar demo

    thenar demo --port 8081 --no-open

    thenar demo --no-view --play --duration 60 --domain 0

    In a second terminal: thenar watch touch, thenar command inspire_right --close 0.8 --speed 500, thenar inspect
    """

    view: bool = True
    """Show it in a browser: a page with the hands, their skin, plots and controls."""
    open: bool = True
    """Open the page in a browser window of this machine."""
    tour: bool = True
    """Begin with a minute that shows what there is to see; any command ends it."""

    def begin(self, page: PageLink) -> None:
        """The scripted minute."""
        if self.tour and page.tour is not None:
            page.tour.begin()
