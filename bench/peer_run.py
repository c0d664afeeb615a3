"""One engine on one scene, in a process of its own; or what goes with it. All answers are JSON files.

  peer_run.py engines OUT                                 which engines this interpreter has: {"mujoco": "4.0.0" or null, ...}
  peer_run.py export FOLDER CASES SCENE...                SCENE.xml, SCENE.npz (random wrenches), scenes.json
  peer_run.py run ENGINE SCENE SECONDS CAP OUT            SECONDS of simulation (0: all), at most CAP seconds of wall clock
  peer_run.py again ENGINE SCENE SECONDS CAP OUT          the same once more for its times: nothing but steps
  peer_run.py cold ENGINE SCENE CASES OUT                 single steps under random wrenches from a settled state
  peer_run.py judge SCENE IN.npz OUT                      the referee, for poses and contacts of a run made elsewhere
"""

import importlib
import importlib.metadata
import json
import os
import sys
import time

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402  (after the thread counts, which are read at import)

import peer_scenes  # noqa: E402
from peer_law import bias_erp2, residual, scaled_residual  # noqa: E402
from peer_mjcf import to_mjcf  # noqa: E402

MODULES = {"mj": "peer_mujoco", "drake": "peer_drake", "bullet": "peer_bullet"}
PACKAGES = {"mujoco": "mujoco", "drake": "pydrake", "pybullet": "pybullet", "pin": "pinocchio", "siconos": "siconos.numerics"}
SAMPLES = 24  # states at which what is dear is looked at
LOOKS = 120  # steps whose contacts are looked at in engines where that is slow


def version_of(package, module):
    try:
        importlib.import_module(module)
        return importlib.metadata.version(package)
    except Exception:  # an engine that does not load is not there
        return None


def write_json(path, content):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)


def engines(out):
    write_json(out, {package: version_of(package, module) for package, module in PACKAGES.items()})


def export(folder, cases, *names):
    scenes = {}
    for name in names:
        scene = peer_scenes.make(name)
        with open(os.path.join(folder, name + ".xml"), "w", encoding="utf-8") as file:
            file.write(to_mjcf(scene))
        wrenches = np.array(peer_scenes.wrenches(scene, int(cases)))
        np.savez(os.path.join(folder, name + ".npz"), wrenches=wrenches.reshape(int(cases), -1))
        scenes[name] = {"steps": scene["steps"], "settle": scene["settle"], "bodies": [b["name"] for b in scene["bodies"]]}
    write_json(os.path.join(folder, "scenes.json"), scenes)


def spread(values):
    return {"median": float(np.median(values)), "p95": float(np.percentile(values, 95)), "max": float(np.max(values))} if len(values) else {}


def spreads(rows):
    return {key: spread([row[key] for row in rows]) for key in rows[0]} if rows else {}


def law(rows):
    """Medians over the second half of a run, and the worst of all steps."""
    rows = [row for row in rows if row is not None]
    late = rows[len(rows) // 2:]
    answer = {}
    for key in ("e0", "erp2"):
        values = [row[key] for row in rows]
        if values:
            answer[key] = float(np.median([row[key] for row in late]))
            answer[key + "_worst"] = float(np.max(values))
    scaled = [row["scaled"] for row in late if row.get("scaled") is not None]
    if scaled:
        answer["scaled_m_s"] = float(np.median(scaled))
    if late:
        answer["contacts"] = float(np.median([row["contacts"] for row in late]))
    return answer


def run(engine, name, seconds, cap, out, again=False):
    scene = peer_scenes.make(name)
    steps = min(round(float(seconds) / peer_scenes.DT) or scene["steps"], scene["steps"])
    made = importlib.import_module(MODULES[engine.split("_")[0].rstrip("0123456789")]).Run(scene, engine)
    growth = scene["kind"] == "growth"
    bare = growth or again  # what is looked at between two steps pushes the next one's data out of the caches
    poses, cpu, wall, laws, splits = [made.poses()], [], [], [], []
    begin = time.perf_counter()
    every = max(1, steps // SAMPLES)
    look = 1 if getattr(made, "judges_every_step", False) else max(1, steps // LOOKS)
    for k in range(steps):
        if not again and k % every == every - 1 and hasattr(made, "split"):
            splits.append(made.split())
        if hasattr(made, "push"):
            made.push()
        start, start_wall = time.thread_time_ns(), time.perf_counter_ns()
        made.step()
        cpu.append(1e-6 * (time.thread_time_ns() - start))
        wall.append(1e-6 * (time.perf_counter_ns() - start_wall))
        if not bare:
            poses.append(made.poses())
        if not bare and k % look == look - 1:
            laws.append(made.judge())
            if k % every == every - 1 and hasattr(made, "scaled"):
                laws[-1]["scaled"] = made.scaled()
        if time.perf_counter() - begin > float(cap):
            break
    cut = len(cpu) < steps
    first = len(cpu) // 2 if growth or cut else 0  # what falls freely costs nothing
    answer = {"steps": len(cpu), "cut": cut, "cpu": spread(cpu[first:]), "wall": spread(wall[first:]), "law": law(laws)}
    for key in ("collide", "solve"):
        if splits and key in splits[0]:
            answer[key] = float(np.median([s[key] for s in splits]))
    if hasattr(made, "blow_ups"):
        answer["blow_ups"] = made.blow_ups()
    write_json(out, answer)  # before the referee, which needs MuJoCo
    if again:
        return
    poses = np.array([made.poses()] if growth else poses)
    np.savez(out + ".npz", poses=poses, cpu_ms=np.array(cpu))
    if version_of("mujoco", "mujoco"):
        from peer_referee import judge

        answer["judged"] = judge(scene, poses)
        write_json(out, answer)


def again(*words):
    run(*words, again=True)


def cold(engine, name, cases, out):
    scene = peer_scenes.make(name)
    module = importlib.import_module(MODULES[engine.split("_")[0].rstrip("0123456789")])
    write_json(out, spreads(module.cold_cases(scene, engine, np.array(peer_scenes.wrenches(scene, int(cases))))))


def contact_laws(archive):
    """Residuals of contacts written as rows: step, impulse, velocity (t1, t2, n), bias, gap, mu, trace of W_ii.

    Of the bias that the engine itself used, only what holds a gap open is kept; what corrects overlaps is e0's and erp2's own."""
    table, rows = archive["contacts"].reshape(-1, 11), []
    for step in np.unique(archive["looked_at"]):
        at = table[table[:, 0] == step]
        impulse, velocity, own, gap, mu, trace = at[:, 1:4], at[:, 4:7], at[:, 7], at[:, 8], at[:, 9], at[:, 10]
        e0 = np.maximum(own, 0.0)
        erp2 = np.where(own > 0.0, own, np.minimum(bias_erp2(gap), 0.0))
        rows.append({"contacts": len(mu), "e0": residual(impulse, velocity, e0, mu), "erp2": residual(impulse, velocity, erp2, mu),
                     "scaled": scaled_residual(impulse, velocity, e0, mu, trace)})
    return rows


def judge_file(name, source, out):
    from peer_referee import judge

    scene = peer_scenes.make(name)
    with np.load(source) as archive:
        rows = contact_laws(archive) if "contacts" in archive else []
        if "poses" in archive:
            poses = archive["poses"].reshape(-1, len(scene["bodies"]), 7)
            answer = {"judged": judge(scene, poses), **({"law": law(rows)} if rows else {})}
        else:  # single steps
            answer = spreads(rows)
    write_json(out, answer)


COMMANDS = {"engines": engines, "export": export, "run": run, "again": again, "cold": cold, "judge": judge_file}


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    try:
        COMMANDS[sys.argv[1]](*sys.argv[2:])
    except Exception as error:  # one line for the row of the table
        first = (str(error).strip().splitlines() or [""])[0].split(". ")[0]
        sys.exit(f"{type(error).__name__}: {first[:200]}")


if __name__ == "__main__":
    main()
