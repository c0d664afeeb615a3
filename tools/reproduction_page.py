#!/usr/bin/env python3
"""Writes docs/reproduction.md and its pictures from the JSON and the page of `almond bench paper --json J --html H`.

Parts of it that were run again with --part replace those of the whole run."""

import base64
import html as markup
import json
import re
import sys
from pathlib import Path

from benchmark_table import ROOT

LEAD = """# The paper's evaluation, run here

The method of Almond is that of J. Lee, M. Lee, S. Park, J. Yun and D. Lee, *Variations of Augmented Lagrangian for Robotic Multi-Contact
Simulation*. This page goes through the evaluation in its Sec. VII: what the paper says of each table and figure, what this program measured, and
whether the claim holds. It is the last full run of

```sh
build/almond bench paper --html paper.html --json paper.json --save problems
```

which takes {minutes} minutes on the machine below (`--quick` two or three), and `tools/reproduction_page.py paper.json paper.html` made the page of
its figures. A claim is judged by the criterion that stands beside it; where it does not hold, the cause stands there, too. `--save` writes its contact problems as files (of the larger pourings one in ten), so that other solvers can be tried on the same ones: `build/almond solve
problems/dish_00.npz --solver all`. The Laikago comes from `example-robot-data` (`make peers`); without it that part says so and the others run.

Times are of one thread; the yardstick, a dense Cholesky of 300x300, took {yardstick} here, so that they can be compared with those of
another machine. Residuals are the paper's: ‖Jv̂ − z‖ / contacts, with v̂ = A⁻¹(b + Jᵀλ) from the impulses that a solver returns.
"""


def section_of(html, part):
    return re.search(rf'<section id="{part}">(.*?)</section>', html, re.S).group(1)


def clean(text):
    """What is shown of a piece of HTML."""
    return markup.unescape(re.sub(r"<[^>]*>", "", text)).strip()


def tables(section):
    """(title, caption, header, rows) of each table as the page shows it: the paper's numbers with all their digits."""
    for title, rest in re.findall(r'<h3 id="[^"]*">(.*?)</h3>(.*?</table>)', section, re.S):
        caption = re.search(r'<p class="caption">(.*?)</p>', rest, re.S)
        header = [clean(cell) for cell in re.findall(r"<th.*?>(.*?)</th>", rest, re.S)]
        rows = [[clean(cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row, re.S)] for row in re.findall(r"<tr><td.*?</tr>", rest, re.S)]
        yield clean(title), clean(caption.group(1)) if caption else "", header, rows


def plain_table(rows, header):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def part_lines(report, html, part):
    images = ROOT / "docs/images"
    section = section_of(html, part["name"])
    lines = ["", f"## {part['title']}", "", part["lead"], ""]
    for k, (caption, data) in enumerate(re.findall(r'<img alt="([^"]*)" src="data:image/png;base64,([^"]*)"', section)):
        file = f"paper_{part['name']}{k or ''}.png"
        (images / file).write_bytes(base64.b64decode(data))
        lines += [f"![{markup.unescape(caption)}](images/{file})", ""]
    claims = [c for c in report["claims"] if c.get("part") == part["name"]]
    if claims:
        rows = [(c["claim"], c["expected"], c["measured"], ("yes" if c["holds"] else "**no**") + (f", if {c['criterion']}" if "criterion" in c else "")
                 + (f". Why not: {c['cause']}" if "cause" in c else ""))
                for c in claims]
        lines += [*plain_table(rows, ("claim", "the paper", "here", "holds")), ""]
    drawn = re.findall(r'<figure id="([^"]*)">(<svg.*?</svg>)</figure>', section, re.S)
    for name, svg in drawn:
        (images / f"paper_{name}.svg").write_text(svg + "\n", encoding="utf-8")
    if drawn:
        lines += [" ".join(f"![{name.replace('_', ' ')}](images/paper_{name}.svg)" for name, _ in drawn), ""]
    for title, caption, header, rows in tables(section):
        lines += [f"**{title}.** {caption}".strip(), "", *plain_table(rows, header), ""]
    notes = re.findall(r"<li>(.*?)</li>", section, re.S)
    return lines + [f"- {clean(note)}" for note in notes]


def main():
    if len(sys.argv) < 3 or len(sys.argv) % 2 == 0:
        sys.exit("usage: tools/reproduction_page.py PAPER.json PAPER.html [PART.json PART.html]...")
    runs = [(json.loads(Path(j).read_text(encoding="utf-8")), Path(h).read_text(encoding="utf-8")) for j, h in zip(sys.argv[1::2], sys.argv[2::2])]
    for (run, _), file in zip(runs, sys.argv[1::2]):
        if not run["facts"]["size"].startswith("full"):
            sys.exit(f"{file} is of a run with --quick, expected a full one")
    report, facts = runs[0][0], runs[0][0]["facts"]
    latest = {part["name"]: k for k, (run, _) in enumerate(runs) for part in run["parts"]}
    report["claims"] = [c for part in report["parts"] for c in runs[latest[part["name"]]][0]["claims"] if c.get("part") == part["name"]]
    held = sum(c["holds"] for c in report["claims"])
    minutes = max(1, round(float(facts["duration"].split()[0]) / 60))
    lines = [
        LEAD.format(minutes=minutes, yardstick=facts["yardstick"].split(" for")[0]),
        f"{facts['processor']}, {facts['cores']} cores, {facts['vector unit']}, {facts['compiler']}; Almond {facts['almond']},"
        f" {facts['date']}. **{held} of {len(report['claims'])} claims hold.**",
    ]
    for name in (part["name"] for part in report["parts"]):
        run, html = runs[latest[name]]
        lines += part_lines(run, html, next(part for part in run["parts"] if part["name"] == name))
        if latest[name] > 0:
            lines += ["", f"This part was run again by itself, {run['facts']['date']}."]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    (ROOT / "docs/reproduction.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
