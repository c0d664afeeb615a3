#!/usr/bin/env python3
"""Writes docs/benchmarks.md from the JSON of `almond bench fclib --json FILE`."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


TABLES = {
    "times": ("Time to a natural map of 1e-9 [ms]", "Our solvers and other people's on the same problems; in parentheses the natural map where 1 s was not enough."),
    "summary": ("Summary", "Problems brought to a natural map of 1e-3 / 1e-6 / 1e-9 in a given time, and geometric means [ms]."),
    "nut": ("100 nuts", "6 dofs, 120 contacts on a thread; time per solve [ms]."),
    "subadmm": ("100 iterations of SubADMM", "Against a dense 300x300 Cholesky in the same run [ms]."),
}


def is_number(value):
    try:
        float(value)
    except ValueError:
        return False
    return True


def text(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if value == int(value) else f"{value:.3g}"
    return f"({value})" if is_number(value) else str(value)  # numbers as text: what an unsolved run reached


def table(rows, header):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(text(cell) for cell in row) + " |" for row in rows]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/benchmark_table.py BENCH.json")
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    facts = report["facts"]
    lines = [
        "# Benchmarks",
        "",
        "What `almond bench fclib` measured: problem files that others wrote (FCLIB), steps of robot scenes, and generated",
        "families. Cold start, one thread, default settings for all. How times are taken and peers are treated:",
        "[commands.md](commands.md). On your machine: `make peers`, then `make bench ARGS=\"FOLDER --html page.html\"`;",
        "`tools/benchmark_table.py` makes this page from its JSON.",
        "",
        f"{facts['processor']}, {facts['cores']} cores, {facts['vector unit']}, {facts['system']}, {facts['compiler']};"
        f" Almond {facts['almond']}, {facts['date']}.",
        "",
        "## Targets",
        "",
    ]
    claims = [(c["claim"], c["expected"], c["measured"], "yes" if c["holds"] else "**no**") for c in report["claims"]]
    lines += table(claims, ("target", "expected", "measured", "holds"))
    for key, (title, note) in TABLES.items():
        rows = report["tables"].get(key, [])
        if rows:
            lines += ["", f"## {title}", "", note, "", *table([row.values() for row in rows], list(rows[0]))]
    (ROOT / "docs/benchmarks.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
