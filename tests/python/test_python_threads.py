"""Python from several threads: worlds of one model give the bits of one thread alone; whoever reaches into a world that is
running is told so, by every call there is, and changes no bit of it."""

import _thread
import threading
import time

import numpy as np
import pytest

almond = pytest.importorskip("almond")


def make_model():
    b = almond.ModelBuilder("heap")
    b.add_ground(almond.Plane())
    for k in range(6):
        b.add_solid(f"ball{k}", almond.Sphere(0.1), 1.0 + k, [0.05 * (k % 2), 0.03 * (k % 3), 0.2 + 0.22 * k])
    return b.build()


MODEL = make_model()


def together(*works):
    """Runs them at once; raises what the first that failed has raised."""
    gate, errors = threading.Barrier(len(works)), []

    def guarded(work):
        gate.wait()
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def pushed(seed):
    """A world of the model that all share, pushed in its own way, recorded, saved, restored and cloned on the way."""
    rng = np.random.default_rng(seed)
    sim = almond.simulate(MODEL)
    sim.record()
    for _ in range(20):
        sim.wrenches = rng.normal(0, 20, (6, 6))
        sim.step(3)
        twin = sim.clone()
        state = sim.save()
        sim.step(2)
        sim.restore(state)
        sim.step(2)
        twin.step(2)
        assert twin.hash == sim.hash
    return sim.save(), sim.certificate.residual, sim.contacts()["force"].tobytes()


def test_threads_with_worlds_of_their_own_give_the_bits_of_one():
    alone = [pushed(seed) for seed in range(4)]
    at_once = [None] * 4

    def work(seed):
        at_once[seed] = pushed(seed)

    together(*(lambda seed=seed: work(seed) for seed in range(4)))
    assert at_once == alone


def test_threads_that_load_solve_and_write_files_do_not_mix(tmp_path):
    """Readers and writers of every kind, and batches that have threads themselves."""
    sim = almond.simulate(MODEL)
    sim.step(60)
    problem = sim.problem()
    endings = [".npz", ".json", ".hdf5"]
    exact = almond.solve(problem).v.tobytes()
    alone = almond.Batch(MODEL, 5, threads=1)
    alone.step(40)

    def files(k):
        for turn in range(5):
            path = tmp_path / f"{k}{endings[(k + turn) % len(endings)]}"
            problem.save(path)
            read = almond.ContactProblem.load(path)
            assert read.b.tobytes() == problem.b.tobytes()
            assert almond.solve(read).v.tobytes() == exact

    def batches():
        batch = almond.Batch(MODEL, 5, threads=2)
        batch.step(40)
        assert batch.q.tobytes() == alone.q.tobytes()

    def scenes():
        assert almond.load("tower").hash == tower

    tower = almond.load("tower").hash
    together(*(lambda k=k: files(k) for k in range(3)), batches, batches, scenes, scenes)


def reach_in(calls, is_running):
    """From another thread, each of these calls while the main thread is in a call; then interrupts that one. What they came to."""
    came_to = {}

    def work():
        try:
            end = time.monotonic() + 60
            while not is_running() and time.monotonic() < end:
                time.sleep(0.001)
            for name, call in calls.items():
                try:
                    call()
                    came_to[name] = "went through"
                except RuntimeError as error:
                    came_to[name] = str(error)
        finally:
            _thread.interrupt_main()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread, came_to


def is_in_use(call):
    def ask():
        try:
            call()
        except RuntimeError:
            return True
        return False

    return ask


def test_every_call_into_a_running_simulation_is_refused_and_changes_nothing(tmp_path):
    sim = almond.simulate(MODEL)
    state, n = sim.save(), MODEL.num_bodies
    calls = {
        "step": lambda: sim.step(), "reset": lambda: sim.reset(), "restore": lambda: sim.restore(state), "save": lambda: sim.save(),
        "clone": lambda: sim.clone(), "report": lambda: sim.report, "certificate": lambda: sim.certificate, "hash": lambda: sim.hash,
        "contacts": lambda: sim.contacts(), "problem": lambda: sim.problem(), "energy": lambda: sim.energy(), "judge": lambda: sim.judge(),
        "body_poses": lambda: sim.body_poses(), "body_velocities": lambda: sim.body_velocities(), "record": lambda: sim.record(),
        "end_recording": lambda: sim.end_recording(), "html": lambda: sim.html(), "save_html": lambda: sim.save_html(tmp_path / "x.html"),
        "set_state": lambda: sim.set_state(v=np.ones(6 * n)), "set_controls": lambda: sim.set_controls([]),
        "q": lambda: setattr(sim, "q", MODEL.q0), "v": lambda: setattr(sim, "v", np.ones(6 * n)),
        "wrenches": lambda: setattr(sim, "wrenches", np.ones((n, 6))), "target": lambda: setattr(sim, "target", []),
    }  # fmt: skip
    thread, came_to = reach_in(calls, is_in_use(lambda: sim.hash))
    with pytest.raises(KeyboardInterrupt):
        sim.step(10**12)
    thread.join()
    refused = {name: "another thread" in said for name, said in came_to.items()}
    assert refused == dict.fromkeys(calls, True)
    assert not list(tmp_path.iterdir())
    alone = almond.simulate(MODEL)
    alone.step(sim.steps)
    assert alone.hash == sim.hash and sim.steps > 0


def test_every_call_into_a_running_batch_is_refused_and_changes_nothing():
    batch = almond.Batch(MODEL, 3, threads=2)
    states, n = batch.save(), MODEL.num_bodies
    calls = {
        "step": lambda: batch.step(), "reset": lambda: batch.reset(), "save": lambda: batch.save(), "restore": lambda: batch.restore(states),
        "contacts": lambda: batch.contacts(0), "body_poses": lambda: batch.body_poses("ball0"),
        "body_velocities": lambda: batch.body_velocities("ball0"), "q": lambda: setattr(batch, "q", np.tile(MODEL.q0, (3, 1))),
        "v": lambda: setattr(batch, "v", np.ones((3, 6 * n))), "wrenches": lambda: setattr(batch, "wrenches", np.ones((3, n, 6))),
    }  # fmt: skip
    thread, came_to = reach_in(calls, is_in_use(lambda: batch.save()))
    with pytest.raises(KeyboardInterrupt):
        batch.step(10**12)
    thread.join()
    assert {name: "another thread" in said for name, said in came_to.items()} == dict.fromkeys(calls, True)
    alone = almond.Batch(MODEL, 3, threads=1)
    alone.step(int(np.rint(batch.time[0] / batch.dt)))
    assert alone.q.tobytes() == batch.q.tobytes() and batch.time[0] > 0


def test_a_workspace_in_use_is_refused_to_others():
    workspace = almond.Workspace()
    block = (np.eye(3), [1.0, 0.0, -0.1], np.eye(3), np.zeros(3), [0.5])
    share = lambda: almond.solve(*block, workspace=workspace)  # noqa: E731
    thread, came_to = reach_in({"solve": share}, is_in_use(share))
    with pytest.raises(KeyboardInterrupt):
        while True:
            try:
                almond.solve(*block, workspace=workspace, solver="pgs", fixed_iterations=True, max_iterations=2**31 - 1)
            except RuntimeError as error:  # the other one was first
                assert "another thread" in str(error)
    thread.join()
    assert "another thread" in came_to["solve"]
    np.testing.assert_allclose(share().impulses, [-0.05, 0.0, 0.1], atol=1e-9)


def test_views_of_a_running_world_may_be_read_at_any_time():
    """They show some moment; the world neither waits nor takes another way."""
    sim = almond.simulate(MODEL)
    end = threading.Event()

    def read():
        while not end.is_set():
            assert np.isfinite(sim.q).all() and np.isfinite(sim.v).all() and sim.time >= 0 and sim.steps >= 0 and "heap" in repr(sim)

    def run():
        try:
            sim.step(2000)
        finally:
            end.set()

    together(run, read, read)
    alone = almond.simulate(MODEL)
    alone.step(2000)
    assert alone.hash == sim.hash
