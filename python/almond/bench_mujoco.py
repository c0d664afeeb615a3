"""MuJoCo beside MuJoCo with Almond's contact solve, on the same files.

    python -m almond.bench_mujoco [--json FILE] [--only slope ant ...] [--seconds 1.0]

Prints two tables, scenes whose exact answer is known and robots of gymnasium and dm_control (where these are installed) that
move at random, and writes all figures as JSON.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import platform
import sys
import time

import mujoco
import numpy as np

from . import __version__
from . import mujoco as almond_mujoco

FLOOR = '<geom type="plane" size="50 50 .1" friction=".5"/>'
BOX = '<body pos="0 0 {z}"><freejoint/><geom type="box" size="{h} {h} {h}" mass="{m}" friction=".5"/></body>'


def _scene(world, gravity="0 0 -9.81", rest="", options=""):
    xml = f'<mujoco><option gravity="{gravity}" {options}/><worldbody>{world}</worldbody>{rest}</mujoco>'
    model = mujoco.MjModel.from_xml_string(xml)
    return model, mujoco.MjData(model)


def _slope(share):
    """A box on a slope, at a share of the steepest on which friction holds it; gravity is tilted instead of the floor."""
    angle = np.arctan(0.5 * share)
    return _scene(FLOOR + BOX.format(z=0.1, h=0.1, m=1), f"{9.81 * np.sin(angle)} 0 {-9.81 * np.cos(angle)}")


def _sliding():
    model, data = _scene(FLOOR + BOX.format(z=0.1, h=0.1, m=1))
    data.qvel[0] = 3.0
    return model, data


def _stack():
    masses = [0.1] * 9 + [5.0]
    return _scene(FLOOR + "".join(BOX.format(z=0.05 + 0.1 * k, h=0.05, m=m) for k, m in enumerate(masses)))


def _pair():
    return _scene(FLOOR + BOX.format(z=0.05, h=0.05, m=0.1) + BOX.format(z=0.15, h=0.05, m=100))


def _grasp():
    """A cube of 0.2 kg between two pads that press with 1.1 times the force that friction needs."""
    press = 1.1 * 0.2 * 9.81 / (2 * 0.5)
    pad = '<body pos="{x} 0 1"><joint name="{name}" type="slide" axis="{axis} 0 0"/><geom type="box" size=".01 .02 .02" mass=".1" friction=".5"/></body>'
    world = pad.format(x=-0.03, name="left", axis=1) + pad.format(x=0.03, name="right", axis=-1)
    world += '<body name="cube" pos="0 0 1"><freejoint/><geom type="box" size=".02 .02 .02" mass=".2" friction=".5"/></body>'
    motors = "".join(f'<motor joint="{name}" gear="1"/>' for name in ("left", "right"))
    model, data = _scene(world, rest=f"<actuator>{motors}</actuator>")
    data.ctrl[:] = press
    return model, data


SETTLE = 0.2  # files may begin with overlaps; they do not count [s]

# name: (what is measured, unit, scale, scene, seconds, measure(model, data, start of q, seconds)); the exact answer is 0.
SCENES = {
    "slope": ("creep at 90 % of the friction angle", "µm/s", 1e6, lambda: _slope(0.9), 2.0, lambda d, q, s: abs(d.qpos[0] - q[0]) / s),
    "steep": ("creep at 99 %", "µm/s", 1e6, lambda: _slope(0.99), 2.0, lambda d, q, s: abs(d.qpos[0] - q[0]) / s),
    "sliding": ("lift of a box that slides at 3 m/s", "µm", 1e6, _sliding, 0.4, lambda d, q, s: abs(d.qpos[2] - q[2])),
    "stack": ("sink of 9 cubes under 50 times their mass", "µm", 1e6, _stack, 2.0, lambda d, q, s: q[-5] - d.qpos[-5]),
    "pair": ("sink of 0.1 kg under 100 kg", "µm", 1e6, _pair, 2.0, lambda d, q, s: q[-5] - d.qpos[-5]),
    "grasp": ("slip of a grasp at 1.1 times the force", "µm/s", 1e6, _grasp, 2.0, lambda d, q, s: abs(d.qpos[4] - q[4]) / s),
}

GYMNASIUM = "ant half_cheetah hopper humanoid humanoidstandup inverted_pendulum inverted_double_pendulum pusher_v5 reacher swimmer walker2d".split()
SUITE = "acrobot ball_in_cup cartpole cheetah dog finger fish hopper humanoid humanoid_CMU manipulator pendulum point_mass quadruped reacher stacker swimmer walker".split()


def find_robots():
    """{name: file} of gymnasium and dm_control; their code is not imported."""
    found = {}
    for package, folder, names in (("gymnasium", "envs/mujoco/assets", GYMNASIUM), ("dm_control", "suite", SUITE)):
        spec = importlib.util.find_spec(package)
        for name in names if spec else []:
            file = pathlib.Path(spec.submodule_search_locations[0]) / folder / f"{name}.xml"
            if file.exists():
                found[f"{'gym' if package == 'gymnasium' else 'dm'}/{name}"] = str(file)
    return found


def _times(seconds):
    p50, p95 = np.percentile(seconds, [50, 95]) * 1e6
    return {"p50_us": p50, "p95_us": p95}


def _overlap(data):
    """Deepest of the contacts at the start of the last step [m]."""
    contact = data.contact
    return max(0.0, float(np.max(contact.includemargin - contact.dist, where=contact.efc_address >= 0, initial=0.0)))


def run(model, data, steps, exact, controls=None, certify=False):
    """Steps one of the two and looks at it; returns the figures that both have."""
    stepper = almond_mujoco.Stepper()
    times, residuals, overlap, unsolved = [], [], 0.0, 0
    for k in range(steps):
        if controls is not None:
            data.ctrl[:] = controls[k]
        if certify and not exact:  # how exact the forces are that it will use
            mujoco.mj_forward(model, data)
            if data.nefc:
                residuals.append(almond_mujoco.certify(model, data).residual)
        start = time.thread_time()  # of this thread: other work on the machine does not count
        if exact:
            stepper.step(model, data)
        else:
            mujoco.mj_step(model, data)
        times.append(time.thread_time() - start)
        if k * model.opt.timestep >= SETTLE:
            overlap = max(overlap, stepper.overlap if exact else _overlap(data))
        if exact and data.nefc:
            residuals.append(stepper.solution.certificate.residual)
            unsolved += not stepper.solution.solved
    figures = {**_times(times), "overlap_mm": 1e3 * overlap, "steps": steps, "seconds": steps * model.opt.timestep}
    if residuals:
        figures["residual"] = {"median": float(np.median(residuals)), "worst": float(np.max(residuals))}
    if exact:
        figures["unsolved"] = int(unsolved)
    figures["finite"] = bool(np.isfinite(data.qpos).all() and not any(w.number for w in data.warning))
    return figures


def bench_scene(name):
    what, unit, scale, make, seconds, measure = SCENES[name]
    result = {"name": name, "what": what, "unit": unit}
    for key, exact in (("mujoco", False), ("almond", True)):
        model, data = make()
        start = data.qpos.copy()
        figures = run(model, data, round(seconds / model.opt.timestep), exact)
        result[key] = {**figures, "value": float(scale * measure(data, start, seconds))}
    return result


def bench_robot(name, file, seconds):
    model = mujoco.MjModel.from_xml_path(file)
    steps = round(seconds / model.opt.timestep)
    random = np.random.default_rng(1)
    low, high = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, [[-1.0, 1.0]]).T if model.nu else (0.0, 0.0)
    controls = random.uniform(0.5 * low, 0.5 * high, (steps, model.nu)) if model.nu else None
    result = {"name": name, "dofs": int(model.nv)}
    for key, exact in (("mujoco", False), ("almond", True)):
        data = mujoco.MjData(model)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        result[key] = run(model, data, steps, exact, controls, certify=True)
    return result


def _print_scenes(results):
    print(f"{'scene: what should be 0':52}{'MuJoCo':>11}{'+ Almond':>11}        {'CPU µs a step, p50 (p95)':>24}")
    for r in results:
        a, b = r["mujoco"], r["almond"]
        speed = f"{a['p50_us']:.0f} ({a['p95_us']:.0f}) | {b['p50_us']:.0f} ({b['p95_us']:.0f})"
        print(f"{r['name'] + ': ' + r['what']:52}{a['value']:11.3g}{b['value']:11.3g} {r['unit']:6}{speed:>25}")


def _print_robots(results):
    print(f"{'robot':28}{'dofs':>5}   {'deepest overlap [mm]':^19}  {'residual, median [N s]':^21}   {'CPU µs a step, p50 (p95)':>24}")
    for r in results:
        a, b = r["mujoco"], r["almond"]
        residual = [f"{x['residual']['median']:.0e}" if "residual" in x else "-" for x in (a, b)]
        speed = f"{a['p50_us']:.0f} ({a['p95_us']:.0f}) | {b['p50_us']:.0f} ({b['p95_us']:.0f})"
        overlap = f"{a['overlap_mm']:8.3f} | {b['overlap_mm']:8.5f}"
        odd = ("" if b["finite"] else "  not finite") + (f"  {b['unsolved']} of {b['steps']} unsolved" if b["unsolved"] else "")
        print(f"{r['name']:28}{r['dofs']:5}   {overlap:^19}  {residual[0]:>9} | {residual[1]:<9}   {speed:>24}{odd}")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m almond.bench_mujoco", description="MuJoCo beside MuJoCo with Almond's contact solve.")
    parser.add_argument("--json", default="bench_mujoco.json", help="where to write all figures (%(default)s)")
    parser.add_argument("--only", nargs="*", default=[], help="names of scenes and robots (all)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of simulated time for robots (%(default)s)")
    given = parser.parse_args(arguments)
    robots = find_robots()
    unknown = [name for name in given.only if name not in SCENES and name not in robots]
    if unknown:
        parser.error(f"{unknown[0]}: no such scene or robot; there are {', '.join([*SCENES, *robots])}")
    if not given.seconds > 0:
        parser.error(f"--seconds: is {given.seconds}, expected a positive time")
    chosen = set(given.only) or {*SCENES, *robots}
    scenes = [bench_scene(name) for name in SCENES if name in chosen]
    if scenes:
        _print_scenes(scenes)
    moved = []
    for name in robots:
        if name in chosen:
            if sys.stderr.isatty():
                print(f"{name:30}", end="\r", file=sys.stderr, flush=True)
            moved.append(bench_robot(name, robots[name], given.seconds))
    if moved:
        _print_robots(moved)
    if not robots and not given.only:
        print("no robots: neither gymnasium nor dm_control is installed")
    report = {"almond": __version__, "mujoco": mujoco.__version__, "machine": platform.processor() or platform.machine(), "cpus": os.cpu_count()}
    text = json.dumps({**report, "scenes": scenes, "robots": moved}, indent=1)
    partial = pathlib.Path(given.json + ".part")
    partial.write_text(text)
    os.replace(partial, given.json)
    print(f"all figures: {given.json}")


if __name__ == "__main__":
    main()
