"""What the oracles on robot files share: the probe that answers for us, and bench/peers_robots.py that knows the other libraries."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROBE = Path(os.environ.get("ALMOND_ROBOT_PROBE", ROOT / "build" / "tests" / "robot_probe"))
sys.path.insert(0, str(ROOT / "bench"))

needs_probe = pytest.mark.skipif(not PROBE.exists(), reason=f"{PROBE} is not built")

TOLERANCE = 1e-9


def free_motion(seconds=1.0):
    """A request for the ends of a motion, in 240 steps and more."""
    return {"seed": 1, "seconds": seconds, "thetas": [0.0, 0.5], "steps": 240, "most": 15360}


def ask(requests, timeout=300):
    """Our answers, as bench/robot_answers.hpp describes them."""
    text = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([str(PROBE)], input=text, capture_output=True, text=True, timeout=timeout, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(requests)
    return answers


def check_motion(motion):
    """The ends converge to the true one with order 1 at theta 0, with order 2 at theta 1/2."""
    for end in motion["orders"]:
        assert end["agrees"], (end, motion["growth"], motion["fastest"])
