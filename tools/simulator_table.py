#!/usr/bin/env python3
"""Runs the laws and the scenes and writes docs/simulator.md, and the short table of the README.

    tools/simulator_table.py PROGRAM [--laws FILE.json]

The peers' figures were measured on an AMD EPYC with MuJoCo 4.0.0, Drake 1.51.1 and PyBullet 3.2.7 at the same time step; the best
of all their settings stands in each row, each row by whichever setting is best there.
"""

import json
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(program, *arguments):
    return json.loads(subprocess.run([program, *arguments, "--json", "-"], check=False, stdout=subprocess.PIPE, text=True).stdout)


def text(value):
    return "0" if value == 0 else f"{value:.2g}" if abs(value) < 1e4 else f"{value:.3g}"


def machine():
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    name = next((line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")), platform.machine())
    return name


def main():
    program = sys.argv[1]
    laws = json.loads(Path(sys.argv[3]).read_text()) if len(sys.argv) > 3 else run(program, "verify")
    law = {row["what"]: row["measured"] for row in laws}

    def find(start):
        return next(value for what, value in law.items() if what.startswith(start))

    scenes = {}
    for name, arguments in {
        "tower 4": ("tower", "--set", "cubes=4"), "tower 10": ("tower",), "dishes": ("dishes",), "cup 45": ("cup",),
        "spheres 45": ("spheres", "--set", "count=45"), "spheres 200": ("spheres",),
        "spheres 1000": ("spheres", "--set", "count=1000"),
        "quadrupeds 8": ("quadrupeds",), "quadrupeds 27": ("quadrupeds", "--set", "robots=27"),
        "spheres 10000": ("spheres", "--set", "count=10000", "--steps", "30"),
    }.items():
        print(name, file=sys.stderr)
        scenes[name] = run(program, "run", *arguments)

    print("the referee", file=sys.stderr)
    peers = run(program, "bench", "peers", "--part", "quads", "--engines", "almond")
    referee = next(row["residual e0 [N s]"] for row in peers["tables"]["quads"] if row["scene"] == "quad8")

    metric = lambda scene, key: scenes[scene]["metrics"][key]
    rows = [  # what, ours, best peer, whose
        ("creep on a slope at 95 % of the friction angle [mm/s]", find("creep in 60 s at tan/mu = 0.95"), 5.2e-11, "Bullet, 1000 iterations"),
        ("creep at 99 % [mm/s]", find("creep in 60 s at tan/mu = 0.99"), 1.4e-9, "Bullet, 1000 iterations"),
        ("lift of a block sliding at 3 m/s [mm]", find("lift on the way from 3"), 5.7e-4, "Drake TAMSI (sinks)"),
        ("slip of a grasp at 1.1x, 0.2 kg [mm in 10 s]", 10 * find("slip rate over 10 s, 0.2 kg"), 0.17, "MuJoCo hard + noslip"),
        ("slip rate of a grasp at 1.1x, 2 kg [mm/s]", find("slip rate over 10 s, 2 kg"), 4e-5, "MuJoCo hard + noslip at 1.5x"),
        ("cup with 45 balls held at 1.5x: slip [mm in 5 s]", abs(metric("cup 45", "slip_mm")), 0.057, "MuJoCo noslip"),
        ("its slip rate at rest [mm/s]", abs(metric("cup 45", "slip_rate_mm_per_s")), 1.6e-5, "MuJoCo hard + noslip"),
        ("sink of 4 cubes under 5 kg [mm]", abs(find("sink of the top in 3 s, 4 cubes")), 0.064, "Bullet, 1000 iterations"),
        ("sink of 10 cubes under 5 kg [mm]", abs(find("sink of the top in 3 s, 10 cubes")), 0.46, "Bullet, 1000 iterations"),
        ("jitter of 10 cubes under 5 kg [mm/s]", find("jitter at the end, 10 cubes"), 6.2e-10, "MuJoCo firm"),
        ("two boxes, mass ratio 1000: overlap [um]", find("overlap of two boxes in 3 s, mass ratio 1000"), 68.0, "Newton Kamino after 1 s"),
        ("dropped ball: overlap at impact [mm]", find("restitution 0: overlap"), 0.01, "Bullet"),
        ("rolling ball: error of the speed [%]", 100 * abs(find("speed once it rolls") - 5 / 7) * 7 / 5, 7.1e-12, "Bullet"),
        ("dish pile at rest: jitter [mm/s]", metric("dishes", "jitter_mm_per_s"), 1.5e-8, "MuJoCo default (0.74 mm deep)"),
        ("45 balls: mean overlap [mm]", metric("spheres 45", "mean_depth_mm"), 0.01, "Bullet, 1000 iterations"),
        ("45 balls: jitter [mm/s]", metric("spheres 45", "jitter_mm_per_s"), 0.0034, "MuJoCo hard"),
        ("200 balls: mean overlap [mm]", metric("spheres 200", "mean_depth_mm"), 0.011, "Bullet, 1000 iterations"),
        ("200 balls: jitter [mm/s]", metric("spheres 200", "jitter_mm_per_s"), 0.094, "Bullet, 1000 iterations"),
        ("1000 balls: mean overlap [mm]", metric("spheres 1000", "mean_depth_mm"), 0.05, "Bullet, 1000 iterations"),
        ("1000 balls: jitter [mm/s]", metric("spheres 1000", "jitter_mm_per_s"), 1.3, "MuJoCo CG"),
        ("8 quadrupeds: deepest overlap [mm]", metric("quadrupeds 8", "deepest_mm"), 8.78, "Bullet, 1000 iterations"),
        ("8 quadrupeds: residual e0 by the referee of `bench peers`, median [N s]", referee, 7.9e-6, "Bullet, 1000 iterations"),
        ("27 quadrupeds: deepest overlap [mm]", metric("quadrupeds 27", "deepest_mm"), 20.8, "Bullet, 50 iterations"),
    ]
    short = ["creep at 99 %", "lift of a block", "slip of a grasp", "sink of 10 cubes", "1000 balls: mean", "8 quadrupeds: residual"]
    table = "\n".join(f"| {what} | {text(ours)} | {text(peer)} ({who}) |" for what, ours, peer, who in rows
                      if any(what.startswith(start) for start in short))
    readme = ROOT / "README.md"
    content = readme.read_text(encoding="utf-8")
    if "@TABLE@" in content:
        content = content.replace("@TABLE@", table)
    else:
        head, rest = content.split("| best of MuJoCo, Drake, Bullet |\n|---|---|---|\n", 1)
        content = head + "| best of MuJoCo, Drake, Bullet |\n|---|---|---|\n" + table + "\n\n" + rest.split("\n\n", 1)[1]
    readme.write_text(content, encoding="utf-8")

    page = [
        "# The simulator in figures", "",
        f"Written by `tools/simulator_table.py build/almond` on {machine()}, one thread, the default setting everywhere: 240 Hz, θ = 0, residual 1e-8 (1e-6 in models of more than 120 degrees of freedom: balls, cup, quadrupeds; `crowd_tol` 0 asks for 1e-8 there, too).", "",
        "## Beside the peers", "",
        "Each row names the best cell of all settings of MuJoCo 4.0.0 (9 settings), Drake 1.51.1 (3) and PyBullet 3.2.7 (3) on a scene of the same kind; no single setting of any of them is good in every row. "
        "Their figures were measured earlier on a machine of the same make, with models of their own. A ball that rolls on one or two points rolls on for ever, as nothing in the law stops it: our jitter is that of balls held by three or more.", "",
        "| what | Almond | best peer | which | at least as good |", "|---|---|---|---|---|",
        *[f"| {what} | {text(ours)} | {text(peer)} | {who} | {'yes' if ours <= peer else 'tie, both below 1e-6' if max(ours, peer) < 1e-6 else 'NO'} |" for what, ours, peer, who in rows], "",
        "## Times", "", "Median, 95th percentile and maximum of whole steps, in ms, with everything in it: falling, impact, rest.", "",
        "| scene | dofs | contacts | step | p95 | max | collide | solve | steps not converged | largest residual | peak memory [MB] |", "|---|---|---|---|---|---|---|---|---|---|---|",
        *[f"| {name} | {s['dofs']} | {s['contacts']['max']} | {text(s['step_ms']['median'])} | {text(s['step_ms']['p95'])} | {text(s['step_ms']['max'])} | {text(s['collide_ms']['median'])} | {text(s['solve_ms']['median'])} | "
          f"{s['unconverged_steps']} of {s['steps']} | {text(s['residual']['max'])} | {text(s['peak_rss_mb'])} |" for name, s in scenes.items()], "",
        "## Laws", "", "What `almond verify` prints: each against a closed form or a conservation law.", "",
        "| law | what | measured | exact | tolerance | unit | holds |", "|---|---|---|---|---|---|---|",
        *[f"| {r['law']} | {r['what']} | {r['measured']:.8g} | {r['exact']:.8g} | {text(r['tolerance'])} | {r['unit']} | {'yes' if r['holds'] else 'NO'} |" for r in laws], "",
    ]
    (ROOT / "docs/simulator.md").write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
