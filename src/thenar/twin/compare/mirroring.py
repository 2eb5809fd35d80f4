"""A twin that does what real hands are told, at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from thenar.hands import load
from thenar.hands.motors_file import MotorValues
from thenar.twin.compare.finding import Finding
from thenar.twin.compare.mirror_link import MirrorLink
from thenar.twin.live_twin import LiveTwin, warm_up
from thenar.twin.recording.listen import world_at
from thenar.twin.serve_config import PageOptions, complete
from thenar.twin.world import World, identified
from thenar.wire.clients.listener import Place


def mirror(
    hands: Sequence[str],
    place: Place,
    *,
    motors: Path | str | Mapping[str, MotorValues | Path | str] | None = None,
    on_finding: Callable[[Finding], None] | None = None,
    page: PageOptions | None = None,
) -> tuple[LiveTwin, MirrorLink]:
    """A twin that does what real hands are told, from where they stand now; nothing is sent to them.

    Args:
        hands: Names of the hands.
        place: The wire, and where it is.
        motors: What the motors of the hands are like where they differ from the catalogue, as `World` takes it.
        on_finding: Is called with everything new that differs.
        page: Where a page shows both; None: nowhere.

    Returns:
        The twin, to be used in a ``with``, and what it hears and finds.
    """
    specs = list(identified(tuple(load(name) for name in hands), motors))
    warm_up(World(specs))  # before it listens: what is compiled once is not waited for with the hand
    link = MirrorLink(specs, place, on_finding=on_finding)
    with ExitStack() as opened:  # what was opened is closed again if the next thing fails
        opened.callback(link.close)
        world = world_at(specs, link.first_rad)
        pages = []
        if page is not None:
            from thenar.twin.page.mirror_page import MirrorPage

            pages.append(MirrorPage(world, link, options=complete(page)))
            opened.callback(pages[0].close)
        twin = LiveTwin(world, [link, *pages], active_link=link.wire)
        link.attach(twin)
        for shown in pages:
            shown.attach(twin)
        opened.pop_all()
    return twin, link
