"""The page's process; `thenar.view.page_process` starts it."""

import sys

from thenar.view.app import run

run(sys.argv[1:])
