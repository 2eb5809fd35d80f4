"""``python -m thenar.cli`` is the ``thenar`` command."""

from thenar.cli import main

main()
