#!/usr/bin/env python3
"""Writes docs/robots.md from the JSON of `almond bench robots --json FILE`."""

import json
import re
import sys
from pathlib import Path

from benchmark_table import ROOT, table

LEAD = """# Robots in figures

What `almond bench robots` measured on the robot files of four packages; `tools/robots_table.py` makes this page from its JSON. On your
machine: `make peers`, then `build/almond bench robots --html page.html`.

Every file is read by us and by Pinocchio (URDF, on a floating base) or MuJoCo (MJCF):

- **limits** are the same when mass, degrees of freedom and joint limits are; **pose**, **M** and **bias error** are the largest relative
  differences of link poses, mass matrix and gravity, Coriolis and centrifugal forces at two random states.
- **motion error** is how far poses are off (metres, or entries of rotations) after 1 s at 240 Hz under gravity and inertia alone,
  from a random state with the default time stepping; **order** is how the error falls when the step is halved, at a step where it falls
  regularly: 1 is expected, 2 for **leapfrog** (`theta` ½). The true motion comes from an adaptive method of order 8 on the other library's
  accelerations. **fastest** is the largest speed of a joint on the way, the base included; **growth** says how many times a small
  error of the start has grown by the end, whatever computes it. Without friction and limits light links whirl: where they turn at
  hundreds of radians per second, or errors grow by thousands, no order is to be seen at 15360 Hz.

Then each falls on a floor for 2 s, limp, at 240 Hz (URDF) or at its own time step (MJCF). A floor is put below where the file has
none. **contacts** is the largest number at once. A few files start with bodies inside each other: **deepest overlap** is what came
after that was gone.
"""


def clean(value):
    """Without the folders of the machine it ran on."""
    return re.sub(r"/\S*site-packages/", "", value) if isinstance(value, str) else value


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/robots_table.py ROBOTS.json")
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    facts = report["facts"]
    lines = [LEAD, f"{facts['processor']}, {facts['compiler']}; Almond {facts['almond']}, {facts['date']}.", "", "## Targets", ""]
    claims = [(c["claim"], c["expected"], c["measured"], "yes" if c["holds"] else "**no**") for c in report["claims"]]
    lines += table(claims, ("target", "expected", "measured", "holds"))
    for name, rows in report["tables"].items():
        if rows:
            title = "Not read, or not compared" if name == "refused" else name
            lines += ["", f"## {title}", "", *table([[clean(value) for value in row.values()] for row in rows], list(rows[0]))]
    lines += ["", *[f"- {note}" for note in report["notes"]]]
    (ROOT / "docs/robots.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
