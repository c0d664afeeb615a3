"""Calls that are refused say why, calls that take long can be ended, and what comes back can be kept: names of drives, Ctrl-C, failed
steps, messages, recordings, pickles and masks. Against what was asked for, and against the same work done in another way."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import almond
import numpy as np
import pytest


def make_model():
    b = almond.ModelBuilder("arm")
    b.add_ground(almond.Plane())
    b.add_solid("ball", almond.Sphere(0.1), 1.0, [0, 0, 0.3])
    link = dict(joint="revolute", axis=[0, 1, 0], mass=1.0, com=[0.2, 0, 0], inertia=[1e-2] * 3)
    for k, (body, joint) in enumerate([("upper", "shoulder"), ("lower", "elbow"), ("loose", "wrist"), ("twin", "finger")]):
        b.add_body(body, joint_name=joint, position=[3.0 + k, 0, 3], **link)
    b.add_drive("upper", "position", stiffness=10.0, name="motor")
    b.add_drive("lower", "position", stiffness=10.0)
    for name in ("open", "close"):
        b.add_drive("twin", "position", stiffness=10.0, name=name)
    return b.build()


MODEL = make_model()


def test_controls_go_by_the_names_of_drives_and_of_joints():
    sim = almond.simulate(MODEL)
    sim.set_control({"motor": 0.1, "elbow": 0.2, "close": 0.3})
    assert sim.target.tolist() == [0.1, 0.2, 0.0, 0.3]
    sim.set_control({"shoulder": -0.1})
    assert sim.target.tolist() == [-0.1, 0.2, 0.0, 0.3]
    assert MODEL.drive("shoulder") == MODEL.drive("motor") == 0


def test_a_control_is_what_the_mode_of_the_drive_follows():
    """Wheels about an axis through their centres, in closed form."""
    b = almond.ModelBuilder()
    b.set_gravity([0, 0, 0])
    for k, mode in enumerate(["torque", "velocity", "position", "impedance"]):
        b.add_body(mode, joint="revolute", axis=[0, 1, 0], position=[k, 0, 0], mass=1.0, inertia=[0.5] * 3)
        b.add_drive(mode, mode, stiffness=0.0 if k < 2 else 50.0, damping=0.0 if k == 0 else 50.0)
    sim = almond.simulate(b.build(), dt=0.01)
    assert sim.model.drive_modes == ["torque", "velocity", "position", "impedance"]
    sim.set_control({name: 0.3 for name in sim.model.drive_names})
    sim.step(1000)
    assert sim.v[0] == pytest.approx(0.3 / 0.5 * 10.0, rel=1e-9)
    assert sim.v[1] == pytest.approx(0.3, rel=1e-9)
    np.testing.assert_allclose(sim.q[2:], 0.3, rtol=1e-3)


def test_controls_of_mjcf_files_by_name_and_by_number_agree(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text("""<mujoco><option gravity="0 0 0"/><worldbody>
    <body><joint name="a" axis="0 1 0"/><geom type="box" size=".1 .1 .1" mass="1"/></body>
    <body pos="1 0 0"><joint name="b" axis="0 1 0"/><geom type="box" size=".1 .1 .1" mass="1"/></body>
    <body pos="2 0 0"><joint name="c" axis="0 1 0"/><geom type="box" size=".1 .1 .1" mass="1"/></body>
    </worldbody><actuator><motor name="push" joint="a"/><velocity joint="b" kv="2"/><position joint="c" kp="5"/></actuator></mujoco>""")
    named, numbered, still = (almond.load(path) for _ in range(3))
    named.set_control({"push": 0.2, "b": 0.5, "c": 0.4})
    numbered.set_controls([0.2, 0.5, 0.4])
    for sim in (named, numbered, still):
        sim.step(100)
    np.testing.assert_array_equal(named.q, numbered.q)
    assert (named.q > 0.01).all() and not still.q.any()
    inertia = (0.2**2 + 0.2**2) / 12.0
    assert named.v[0] == pytest.approx(0.2 / inertia * named.time, rel=1e-9)


@pytest.mark.parametrize(
    "controls, message",
    [
        ({"sholder": 1.0}, '"sholder".*did you mean shoulder'),
        ({"elbow": 1.0, "wrist": 1.0}, '"wrist".*no drive.*motor'),
        ({"finger": 1.0}, '"finger".*2 drives.*open, close'),
        ({"elbow": None}, "controls: elbow is None, expected a finite number"),
        ({"elbow": np.nan}, "controls: elbow is nan"),
        ({"elbow": True}, "controls: elbow is True"),
        ({3: 1.0}, "controls: has the key 3"),
        ([1.0], "controls: is a list, expected a dict"),
        (None, "controls: is None, expected a dict"),
    ],
)
def test_controls_that_are_refused_change_nothing(controls, message):
    sim = almond.simulate(MODEL)
    with pytest.raises(ValueError, match=message):
        sim.set_control(controls)
    assert not sim.target.any()


CALLS = {
    "simulate(MODEL).step().as_dict(1)": (TypeError, "as_dict: 2 arguments, expected as_dict"),
    "Sphere(None)": (ValueError, "radius: is None, expected a number"),
    "Sphere('1')": (ValueError, "radius: is '1', expected a number"),
    "Sphere(10**400)": (ValueError, "radius: is 1000.*expected a number"),
    "Sphere()": (TypeError, "radius: missing"),
    "Sphere(1, 2)": (TypeError, r"expected Sphere\(radius: float\)"),
    "Sphere(size=1)": (TypeError, "size: no such argument"),
    "ModelBuilder(None)": (ValueError, "name: is None, expected a text"),
    "ModelBuilder().add_solid('a', None, 1.0)": (ValueError, "shape: is None, expected an almond.Shape"),
    "ModelBuilder().add_solid('a', Sphere(1), mass=None)": (ValueError, "mass: is None, expected a number"),
    "ModelBuilder().add_urdf('a', search=[1])": (ValueError, r"search: is \[1\], expected a list of texts"),
    "MODEL.body(3)": (ValueError, "name: is 3, expected a text"),
    "MODEL.q_slice(None)": (ValueError, "joint: is None, expected the name"),
    "simulate(MODEL).step(None)": (ValueError, "n: is None, expected a whole number of 0 or more"),
    "simulate(MODEL).step(10**30)": (ValueError, "n: is 1000.*expected a whole number"),
    "simulate(MODEL).step(1.5)": (ValueError, "n: is 1.5, expected a whole number"),
    "simulate(MODEL).step(-1)": (ValueError, "n: is -1"),
    "simulate(MODEL).reset(-1)": (ValueError, "seed: is -1"),
    "simulate(MODEL).restore(None)": (ValueError, "state: is None, expected bytes"),
    "simulate(MODEL).record(None)": (ValueError, "fps: is None, expected a number"),
    "simulate(MODEL).show(height=10**30)": (ValueError, "height: is 1000"),
    "simulate(MODEL).show(height=2**40)": (ValueError, "height: is 1099511627776, expected a whole number below"),
    "setattr(simulate(MODEL), 'scripted', 3)": (ValueError, "scripted: is 3, expected True or False"),
    "Batch(None, 1)": (ValueError, "model: is None, expected an almond.Model"),
    "Batch(MODEL, 10**30)": (ValueError, "n: is 1000"),
    "Batch(MODEL, 1, threads=1000)": (ValueError, "threads: is 1000, expected a whole number from 0 to 256"),
    "Batch(MODEL, 1, seed=None)": (ValueError, "seed: is None"),
    "Batch(MODEL, 1).step(None)": (ValueError, "n: is None"),
    "Batch(MODEL, 1).body_poses(1)": (ValueError, "body: is 1, expected a text"),
    "load(None)": (ValueError, "name: is None, expected the name of a scene"),
    "load('a.urdf', base=None)": (ValueError, "base: is None, expected a text"),
    "load('a.urdf', joints=3)": (ValueError, "joints: is 3, expected a dict"),
    "load('a.urdf', search='here')": (ValueError, "search: is 'here', expected a list of folders"),
    "solve([[1.0]], [1.0], workspace=5)": (ValueError, "workspace: is 5, expected an almond.Workspace"),
    "Sdf(None)": (ValueError, "description: is None, expected a dict"),
    "Sdf({'kind': object()})": (ValueError, "description"),
    "ContactProblem.load(None)": (ValueError, "path: is None, expected a path"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_of_a_wrong_type_names_the_argument_what_it_is_and_what_is_expected(call):
    kind, message = CALLS[call]
    with pytest.raises(kind, match=message):
        eval(call, {**vars(almond), "MODEL": MODEL})


def interrupted(code):
    """Runs code in a process of its own, interrupts it half a second after it says that it begins; what it prints after, and how long
    that took."""
    program = "import almond, numpy as np\n" + textwrap.dedent(code)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line == "begin\n", process.communicate(timeout=60)
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return out.split()


def test_ctrl_c_ends_long_steps_between_two_of_them():
    said = interrupted("""
        sim, fresh = almond.load("ball"), almond.load("ball")
        print("begin", flush=True)
        try:
            sim.step(10**15)
        except KeyboardInterrupt:
            fresh.step(sim.steps)
            print("interrupted", sim.steps > 0, fresh.save() == sim.save())
    """)
    assert said == ["interrupted", "True", "True"]


ENDLESS = [
    "solver='auto', tol=1e-300",
    "solver='auto', tol=1e-300, threads=2",
    "solver='pgs', tol=1e-300",
    "solver='pgs', fixed_iterations=True, max_iterations=10**9",
    "solver='subadmm', fixed_iterations=True, max_iterations=10**9",
    "solver='damped-sn', fixed_iterations=True, max_iterations=10**9",
]


@pytest.mark.parametrize("settings", ENDLESS)
def test_ctrl_c_ends_a_long_solve_and_the_workspace_serves_the_next(settings):
    """On random contacts these go on for minutes; the block after that has a closed form."""
    said = interrupted(f"""
        rng = np.random.default_rng(0)
        X, J = rng.standard_normal((300, 300)), rng.standard_normal((1200, 300))
        problem = almond.ContactProblem(X @ X.T + np.eye(300), rng.standard_normal(300), J, 0.1 * rng.standard_normal(1200), np.full(400, 0.5))
        print("begin", flush=True)
        try:
            almond.solve(problem, {settings})
        except KeyboardInterrupt:
            block = almond.solve(np.eye(3), [1.0, 0.0, -0.1], np.eye(3), np.zeros(3), [0.5])
            print("interrupted", np.allclose(block.impulses, [-0.05, 0.0, 0.1], atol=1e-9))
    """)
    assert said == ["interrupted", "True"]


def test_a_solve_goes_on_until_the_handler_of_a_signal_raises():
    """Alarms are handled while it runs, not after: the third one ends a solve that has no other end."""
    seen = []

    def handle(*_):
        seen.append(time.monotonic())
        if len(seen) == 3:
            raise TimeoutError

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        with pytest.raises(TimeoutError):
            almond.solve(np.eye(3), [1.0, 0.0, -0.1], np.eye(3), np.zeros(3), [0.5], solver="pgs", fixed_iterations=True, max_iterations=10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) == 3


def test_ctrl_c_leaves_a_batch_whose_worlds_have_taken_as_many_steps():
    said = interrupted("""
        b = almond.ModelBuilder("ball")
        b.add_ground(almond.Plane())
        b.add_solid("ball", almond.Sphere(0.1), 1.0, [0, 0, 0.3])
        model = b.build()
        batch = almond.Batch(model, 6, threads=2)
        batch.v[:, 0] = np.arange(6)
        print("begin", flush=True)
        try:
            batch.step(10**15)
        except KeyboardInterrupt:
            steps = np.rint(batch.time / batch.dt)
            print("interrupted", steps[0] > 0, (steps == steps[0]).all(), batch.solved.all())
            again = almond.Batch(model, 6, threads=1)
            again.v[:, 0] = np.arange(6)
            again.step(int(steps[0]))
            print((again.q == batch.q).all() and (again.v == batch.v).all())
    """)
    assert said == ["interrupted", "True", "True", "True", "True"]


@pytest.mark.parametrize("more", ["n=10**9, steps=10", "n=1, steps=10**9", "n=10**9, steps=10, folder='shards'"])
def test_a_rollout_of_any_size_begins_at_once_and_ends_with_ctrl_c(more, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = interrupted(f"""
        def setup(sim, index, rng):
            if index == 0:
                print("begin", flush=True)
        try:
            almond.rollout("ball", {more}, setup=setup, workers=2)
        except KeyboardInterrupt:
            print("interrupted")
    """)
    assert said == ["interrupted"]


def test_steps_of_a_batch_are_the_same_in_one_call_and_in_many():
    one, many = almond.Batch(MODEL, 3, threads=2), almond.Batch(MODEL, 3, threads=1)
    for batch in (one, many):
        batch.v[:, 0] = [0.0, 1.0, 2.0]
    one.step(300)
    worst, deepest = np.zeros(3), np.zeros(3)
    for _ in range(300):
        many.step()
        worst, deepest = np.maximum(worst, many.residual), np.maximum(deepest, many.penetration)
    assert one.q.tobytes() == many.q.tobytes()
    assert one.residual.tolist() == worst.tolist() and one.penetration.tolist() == deepest.tolist()


def test_a_step_that_failed_is_not_reported_as_exact():
    sim, batch = almond.simulate(MODEL), almond.Batch(MODEL, 2)
    sim.step(60)
    sim.feedforward[0] = batch.feedforward[1, 0] = 1e308
    report = sim.step()
    batch.step()
    assert report.status == "numerical-error" and report.residual == report.natural_map == np.inf
    assert sim.certificate.residual == np.inf
    assert batch.residual[0] < 1e-8 and batch.residual[1] == np.inf and batch.solved.tolist() == [True, False]


@pytest.mark.parametrize("mass", [5e-324, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("momentum", [1.0, 1e150, 1e300])
def test_an_answer_is_solved_or_its_certificate_is_not_small(mass, momentum):
    s = almond.solve(mass * np.eye(3), momentum * np.array([1.0, 0.0, -1.0]), np.eye(3), np.zeros(3), [0.5])
    worst = max(s.certificate.residual / 1e-8, s.certificate.natural_map / 1e-9)
    assert worst <= 1.0 if s.solved else worst > 1.0  # neither is NaN


def test_the_residual_of_a_step_that_gave_up_is_that_of_its_problem():
    sim = almond.load("tower", solver="pgs", max_iterations=1)
    report = sim.step(3)
    problem = sim.problem()
    assert not report.solved
    alone = almond.solve(problem, solver="pgs", settings={"max_iterations": 1, "warm_start": True})
    judged = problem.certify(alone.impulses).residual
    assert report.residual >= 0.5 * judged > 1e-8


def test_a_recording_goes_on_after_it_was_looked_at():
    sims = [almond.load("ball"), almond.load("ball")]
    try:
        for sim in sims:
            sim.record()
            sim.step(20)
        early = sims[0].html()
    except ValueError as error:
        pytest.skip(str(error))
    for sim in sims:
        sim.step(40)
    pages = [sim.html() for sim in sims]
    assert [len(frames(page)) for page in pages] == [len(frames(pages[1]))] * 2 and len(frames(pages[0])) > len(frames(early))
    sims[0].reset()
    sims[0].step(20)
    assert len(frames(sims[0].html())) == len(frames(early))
    sims[0].end_recording()
    assert len(frames(sims[0].html())) == 1


def frames(page):
    """Times of the frames of a page (viewer/FORMAT.md)."""
    import base64
    import gzip
    import json
    import re
    import struct

    for text in re.findall(r"[A-Za-z0-9+/=]{200,}", page):
        try:
            blob = gzip.decompress(base64.b64decode(text))
        except (ValueError, OSError):
            continue
        if blob.startswith(b"almondR1"):
            size = struct.unpack("<I", blob[8:12])[0]
            place = json.loads(blob[12 : 12 + size])["frames"]["time"]
            return np.frombuffer(blob, "<f8", place["length"], 12 + size + place["offset"])
    raise AssertionError("no replay in the page")


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_problems_and_answers_survive_pickling(way):
    sim = almond.load("gripper")
    sim.step(5)
    problem = sim.problem()
    other = way(problem)
    assert other.name == problem.name and other.num_rows == problem.num_rows
    for name, values in problem.fields().items():
        np.testing.assert_array_equal(other.fields()[name], values)
    solution = almond.solve(problem, settings={"trace": True})
    again = way(solution)
    assert again.v.tobytes() == solution.v.tobytes() and again.impulses.tobytes() == solution.impulses.tobytes()
    assert again.status == solution.status and again.iterations == solution.iterations and again.time_ms == solution.time_ms
    assert again.certificate.as_dict() == solution.certificate.as_dict() and again.certificate.modes == solution.certificate.modes
    np.testing.assert_array_equal(again.trace, solution.trace)
    np.testing.assert_array_equal(almond.solve(other).v, almond.solve(problem).v)
    assert way(sim.report).as_dict() == sim.report.as_dict()
    assert way(solution.certificate).as_dict() == solution.certificate.as_dict()
    changed = way(solution)
    changed.v[:] = 0.0
    assert solution.v.any()


@pytest.mark.parametrize("ending", ["npz", "json", "hdf5"])
@pytest.mark.parametrize("name", ["a problem", ""])
def test_problem_files_keep_the_name(ending, name, tmp_path):
    problem = almond.ContactProblem(2 * np.eye(3), np.ones(3), np.eye(3), np.zeros(3), [0.5], name=name)
    path = tmp_path / f"file.{ending}"
    try:
        problem.save(path)
    except ValueError as error:
        if "HDF5" in str(error):
            pytest.skip(str(error))
        raise
    assert almond.ContactProblem.load(path).name == (name or "file")


def test_a_mask_resets_the_worlds_it_names():
    masked, named, fresh = (almond.Batch(MODEL, 4, seed=5) for _ in range(3))
    for batch in (masked, named):
        batch.target[:] = 0.5
        batch.step(10)
    masked.reset(np.array([True, False, True, False]))
    named.reset([0, 2])
    for name in ("q", "v", "target", "time"):
        np.testing.assert_array_equal(getattr(masked, name), getattr(named, name))
        np.testing.assert_array_equal(getattr(masked, name)[[0, 2]], getattr(fresh, name)[[0, 2]])
    assert (masked.time[[1, 3]] > 0).all() and (masked.target[[1, 3]] == 0.5).all()
    masked.reset([False] * 4)
    assert (masked.time[[1, 3]] > 0).all()
    for wrong in ([True], np.ones((4, 1), bool), [0, 4], [-1], [0.0], "0"):
        with pytest.raises(ValueError, match="worlds"):
            masked.reset(wrong)
    assert masked.solved.dtype == bool


def test_rollouts_are_a_mapping_of_arrays():
    rollouts = almond.rollout("ball", n=3, steps=4, every=2, shard=2)
    assert list(rollouts.keys()) == rollouts.names and "q" in rollouts and "force" not in rollouts
    arrays = dict(rollouts)
    assert set(arrays) == set(rollouts.names) and arrays["q"].tobytes() == rollouts["q"].tobytes()
