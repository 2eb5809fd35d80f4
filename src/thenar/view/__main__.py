"""The page's process; `thenar.view.launch` starts it."""

import sys

from thenar.view.app import run

run(sys.argv[1:])
