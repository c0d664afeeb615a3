#!/usr/bin/env python3
"""Lets every robot file of the installed packages fall on a floor for 2 s and writes docs/robots.md.

    tools/robots_table.py build/almond

Packages: example-robot-data (URDF, floating base), gymnasium, dm_control, robosuite (MJCF). Those that are absent are left out.
"""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 120


def package(name):
    spec = importlib.util.find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def find_files():
    """(group, file, words) of everything there is to run."""
    found = []
    for site in map(Path, sys.path):
        robots = site / "cmeel.prefix/share/example-robot-data/robots"
        if robots.is_dir():
            found += [("URDF, example-robot-data", path, ("--base", "floating", "--floor", "below")) for path in sorted(robots.rglob("*.urdf"))]
    for name in ("gymnasium", "dm_control", "robosuite"):
        folder = package(name)
        if folder:
            found += [(f"MJCF, {name}", path, ()) for path in sorted(folder.rglob("*.xml"))]
    return found


def fall(program, path, words):
    """Figures of a run of 2 s, or why there is none."""
    try:
        done = subprocess.run([program, "run", str(path), *words, "--json", "-"], capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return None, f"not done in {TIMEOUT} s"
    if done.returncode != 0:
        return None, re.sub(r"/\S*site-packages/", "", done.stderr.strip().splitlines()[-1].split(": ", 2)[-1])[:100]
    return json.loads(done.stdout), None


def main():
    program = sys.argv[1]
    rows, refused = {}, {}
    for group, path, words in find_files():
        report, error = fall(program, path, words)
        print(path.name, error or "", file=sys.stderr)
        if error:
            refused.setdefault(group, []).append((path.name, error))
        elif report["dofs"] > 0:
            rows.setdefault(group, []).append((path, report))
    page = [
        "# Robots in figures", "",
        "Written by `tools/robots_table.py build/almond`: every robot file of these packages falls on a floor for 2 s, limp, at 240 Hz (URDF) or at its own time step (MJCF, where the file has a floor). Files "
        "without degrees of freedom are left out. Masses, poses, mass matrices and bias forces of the same files are compared with Pinocchio and MuJoCo by `tests/oracle`.", "",
    ]
    for group, entries in rows.items():
        good = sum(r["unconverged_steps"] == 0 and r["penetration_mm"]["max"] <= 1.0 for _, r in entries)
        page += [f"## {group}", "", f"{good} of {len(entries)} with every step solved and no overlap above 1 mm.", "",
                 "| file | bodies | dofs | contacts | steps not solved | deepest overlap [mm] | median step [ms] |", "|---|---|---|---|---|---|---|"]
        page += [f"| {path.parent.name}/{path.name} | {r['bodies']} | {r['dofs']} | {r['contacts']['max']:.0f} | {r['unconverged_steps']} of {r['steps']} | {r['penetration_mm']['max']:.3g} | {r['step_ms']['median']:.3g} |"
                 for path, r in entries]
        page += ["", *[f"- `{name}` is refused: {error}" for name, error in refused.get(group, [])], ""]
    (ROOT / "docs/robots.md").write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
