#!/usr/bin/env python3
"""Writes docs/reproduction.md and its pictures from the JSON and the page of `almond bench paper --json J --html H`."""

import base64
import json
import re
import sys
from pathlib import Path

from benchmark_table import ROOT, table

LEAD = """# The paper's evaluation, run here

The method of Almond is that of J. Lee, M. Lee, S. Park, J. Yun and D. Lee, *Variations of Augmented Lagrangian for Robotic Multi-Contact
Simulation*. This page goes through the evaluation in its Sec. VII: what the paper says of each table and figure, what this program measured, and
whether the claim holds. It is the last full run of

```
build/almond bench paper --html paper.html --json paper.json --save problems
```

which takes {minutes} minutes on the machine below (`--quick` two or three), and `tools/reproduction_page.py paper.json paper.html` made the page of
its figures. `--save` writes every contact problem as a file, so that other solvers can be tried on the same ones: `build/almond solve
problems/dish_00.npz --solver all`. The Laikago comes from `example-robot-data` (`make peers`); without it that part says so and the others run.

Times are of one thread; the yardstick, a dense Cholesky of 300x300, took {yardstick} here, so that they can be compared with those of
another machine. Residuals are the paper's: ‖Jv̂ − z‖ / contacts, with v̂ = A⁻¹(b + Jᵀλ) from the impulses that a solver returns.
"""


def pictures(html, part):
    """The PNG files of a part, as (caption, bytes)."""
    section = re.search(rf'<section id="{part}">(.*?)</section>', html, re.S)
    found = re.findall(r'<img alt="([^"]*)" src="data:image/png;base64,([^"]*)"', section.group(1)) if section else []
    return [(caption, base64.b64decode(data)) for caption, data in found]


def figures(html, part):
    section = re.search(rf'<section id="{part}">(.*?)</section>', html, re.S)
    return re.findall(r'<figure id="([^"]*)">(<svg.*?</svg>)</figure>', section.group(1), re.S) if section else []


def titles(html, name):
    found = re.search(rf'<h3 id="{name}">(.*?)</h3>', html)
    return found.group(1) if found else name


def part_lines(report, html, part):
    images = ROOT / "docs/images"
    lines = ["", f"## {part['title']}", "", part["lead"], ""]
    for k, (caption, png) in enumerate(pictures(html, part["name"])):
        file = f"paper_{part['name']}{k or ''}.png"
        (images / file).write_bytes(png)
        lines += [f"![{caption}](images/{file})", ""]
    claims = [c for c in report["claims"] if c.get("part") == part["name"]]
    if claims:
        rows = [(c["claim"], c["expected"], c["measured"], "yes" if c["holds"] else "**no**") for c in claims]
        lines += [*table(rows, ("claim", "the paper", "here", "holds")), ""]
    drawn = figures(html, part["name"])
    for name, svg in drawn:
        (images / f"paper_{name}.svg").write_text(svg + "\n", encoding="utf-8")
    if drawn:
        lines += [" ".join(f"![{name.replace('_', ' ')}](images/paper_{name}.svg)" for name, _ in drawn), ""]
    section = re.search(rf'<section id="{part["name"]}">(.*?)</section>', html, re.S).group(1)
    for name in re.findall(r'<h3 id="([^"]*)">', section):
        rows = report["tables"].get(name)
        if rows:
            lines += [f"**{titles(html, name)}**", "", *table([list(row.values()) for row in rows], list(rows[0])), ""]
    return lines


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: tools/reproduction_page.py PAPER.json PAPER.html")
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    html = Path(sys.argv[2]).read_text(encoding="utf-8")
    facts = report["facts"]
    held = sum(c["holds"] for c in report["claims"])
    minutes = max(1, round(float(facts["duration"].split()[0]) / 60))
    lines = [
        LEAD.format(minutes=minutes, yardstick=facts["yardstick"].split(" for")[0]),
        f"{facts['processor']}, {facts['cores']} cores, {facts['vector unit']}, {facts['compiler']}; Almond {facts['almond']},"
        f" {facts['date']}. **{held} of {len(report['claims'])} claims hold.**",
    ]
    for part in report["parts"]:
        lines += part_lines(report, html, part)
    if report["notes"]:
        lines += ["", "## Notes", "", *[f"- {note}" for note in report["notes"]]]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    (ROOT / "docs/reproduction.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
