"""``thenar demo``: both hands on the network, playing."""

from __future__ import annotations

from dataclasses import dataclass

from thenar.cli.serve import Serve


@dataclass(frozen=True)
class Demo(Serve):
    """Two hands with something in them, on the network, opening and closing until you command them.

    For example:

    thenar demo

    thenar demo --duration 60 --domain 0

    In a second terminal: thenar watch touch, thenar command inspire_right --close 0.8 --speed 500, thenar inspect
    """

    play: bool = True
    """Let the hands open and close by themselves until somebody commands them."""
