"""What the tests of this folder share: the program, and how much they look at."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("ALMOND_PROGRAM", ROOT / "build" / "almond"))
# `make faults` looks at every moment and byte, `make test` at some of them.
LONG = os.environ.get("ALMOND_FAULTS") == "long"


def run(*words, **options):
    """Messages may quote what a damaged file holds."""
    words = [str(PROGRAM), *map(str, words)]
    return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=120, check=False, **options)
