"""The program almond: `python -m almond run tower`, or the command `almond` that comes with the package."""

import os
import pathlib
import signal
import sys

from . import _core


def main() -> int:
    # As in a program of its own: Ctrl-C ends it, and it ends quietly when nobody reads the rest of what it says.
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    # Other engines and robots are looked for where this package is installed.
    for variable in ("ALMOND_PEERS_PYTHON", "ALMOND_PINOCCHIO_PYTHON"):
        os.environ.setdefault(variable, sys.executable)
    scripts = pathlib.Path(__file__).resolve().parent / "bench"
    return _core.run_program([os.fsencode(word) for word in sys.argv[1:]], str(scripts))


if __name__ == "__main__":
    sys.exit(main())
