"""Bad input for the whole Python surface: an exception that names the argument, never a crash, never a silent wrong answer."""

import copy
import gc
import pickle
import threading
import time

import almond
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

QUICK = settings(deadline=None, max_examples=40)


def make_ball():
    b = almond.ModelBuilder("ball")
    b.add_ground(almond.Plane())
    b.add_solid("ball", almond.Sphere(0.1), 1.0, [0, 0, 0.3])
    b.add_body("arm", joint="revolute", axis=[0, 1, 0], position=[5, 0, 2], mass=1.0, com=[0.5, 0, 0], inertia=[1e-3] * 3)
    b.add_drive("arm", "position", stiffness=10.0, name="arm")
    return b.build()


MODEL = make_ball()
NUMBERS = st.floats(width=64) | st.sampled_from([0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e308, 1e-308, 1e154])
SHAPES = st.lists(st.integers(0, 8), max_size=3).map(tuple)
DTYPES = ["f8", ">f8", "f4", "f2", "i8", "u1", "?", "c16", "U3", "O", "M8[s]", "longdouble"]


@st.composite
def arrays(draw):
    """Any shape, dtype, content and layout."""
    shape = draw(SHAPES)
    values = np.full(int(np.prod(shape)), 0.5)
    for k in range(min(3, values.size)):
        values[draw(st.integers(0, values.size - 1))] = draw(NUMBERS)
    with np.errstate(all="ignore"):
        array = values.reshape(shape).astype(draw(st.sampled_from(DTYPES)), copy=True) if values.size else np.zeros(shape)
    layout = draw(st.sampled_from(["C", "F", "strided", "backwards", "frozen", "list"]))
    if layout == "F":
        array = np.asfortranarray(array)
    elif layout == "strided" and array.ndim:
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    elif layout == "backwards" and array.ndim:
        array = array[::-1]
    elif layout == "frozen":
        array.flags.writeable = False
    elif layout == "list":
        array = array.tolist()
    return array


THINGS = arrays() | st.none() | st.text(max_size=3) | st.integers() | NUMBERS | st.just({}) | st.just([[1.0], [1.0, 2.0]]) | st.just(object())


def solve_with(name):
    def call(x):
        given = dict(A=2 * np.eye(3), b=np.ones(3), J=np.eye(3), e=np.zeros(3), mu=[0.5])
        given[name] = x
        return almond.solve(given.pop("A"), **given)

    return call


def solve_more(**others):
    (name,) = [key for key, value in others.items() if value is None]
    return lambda x: almond.solve(2 * np.eye(3), np.ones(3), **{**others, name: x})


def sim_set(name):
    return lambda x: setattr(almond.simulate(MODEL), name, x)


def batch_set(name):
    return lambda x: setattr(almond.Batch(MODEL, 2), name, x)


ENTRIES = {
    **{f"solve {name}": (name, solve_with(name)) for name in ("A", "b", "J", "e", "mu")},
    "solve Jh": ("Jh", solve_more(Jh=None, eh=np.zeros(1))),
    "solve eh": ("eh", solve_more(Jh=np.ones((1, 3)), eh=None)),
    "solve limit": ("limit", solve_more(Jb=np.ones((1, 3)), eb=np.zeros(1), limit=None)),
    "solve ks": ("ks", solve_more(Js=np.ones((1, 3)), es=np.zeros(1), bs=np.ones(1), ks=None)),
    "solve subsystem_offsets": ("subsystem_offsets", solve_more(subsystem_offsets=None)),
    "solve start": ("start", lambda x: almond.solve(np.eye(3), np.ones(3), np.eye(3), np.zeros(3), [0.5], start=x)),
    "certify": ("impulses", lambda x: almond.ContactProblem(np.eye(3), np.ones(3), np.eye(3), np.zeros(3), [0.5]).certify(x)),
    **{f"sim {name}": (name, sim_set(name)) for name in ("q", "v", "target", "target_velocity", "feedforward")},
    "sim set_controls": ("ctrl", lambda x: almond.simulate(MODEL).set_controls(x)),
    **{f"batch {name}": (name, batch_set(name)) for name in ("q", "v", "target", "target_velocity", "feedforward")},
    "batch reset": ("worlds", lambda x: almond.Batch(MODEL, 2).reset(x)),
    "Box": ("half|Box", almond.Box),
    "Ellipsoid": ("radii|Ellipsoid", almond.Ellipsoid),
    "Hull": ("points|hull", almond.Hull),
    "Mesh vertices": ("vertices|mesh|Mesh", lambda x: almond.Mesh(x, [[0, 1, 2]])),
    "Mesh triangles": ("triangles|mesh|Mesh", lambda x: almond.Mesh(np.eye(3), x)),
    "HeightField": ("heights|HeightField", lambda x: almond.HeightField(x, 1.0, 1.0)),
    "gravity": ("gravity", lambda x: almond.ModelBuilder().set_gravity(x)),
    "position": ("position|body", lambda x: almond.ModelBuilder().add_solid("a", almond.Sphere(1.0), 1.0, x)),
    "quaternion": ("quaternion", lambda x: almond.ModelBuilder().add_solid("a", almond.Sphere(1.0), 1.0, quaternion=x)),
    "axis": ("axis", lambda x: almond.ModelBuilder().add_body("a", joint="revolute", axis=x, mass=1.0, inertia=[1.0] * 3)),
    "inertia": ("inertia", lambda x: almond.ModelBuilder().add_body("a", mass=1.0, inertia=x)),
    "start": ("q|start|joint", lambda x: started(x)),
}


def started(x):
    b = almond.ModelBuilder()
    b.add_body("a", joint="ball", mass=1.0, inertia=[1.0] * 3)
    b.set_start("a", x)
    return b.build()


@pytest.mark.parametrize("entry", ENTRIES)
@QUICK
@given(x=THINGS)
def test_any_argument_is_taken_or_named(entry, x):
    words, call = ENTRIES[entry]
    try:
        result = call(x)
    except ValueError as error:
        assert any(word in str(error) for word in words.split("|")) or "positive definite" in str(error), error
        return
    except TypeError as error:  # None and the like, where the signature says what is expected
        assert "incompatible function arguments" in str(error) and x is None, error
        return
    if isinstance(result, almond.Solution):
        assert np.isfinite(result.v).all() and np.isfinite(result.impulses).all()


@QUICK
@given(x=THINGS | st.binary(max_size=4), name=st.sampled_from(["dt", "theta", "tol", "margin", "budget_ms", "max_iterations", "threads", "solver"]))
def test_options_are_taken_or_named(x, name):
    try:
        almond.simulate(MODEL, **{name: x})
    except ValueError as error:
        assert name in str(error) or "solver" in str(error), error


@QUICK
@given(x=THINGS, call=st.sampled_from([almond.Sphere, lambda x: almond.Capsule(x, 1.0), lambda x: almond.ModelBuilder().add_solid("a", almond.Sphere(1.0), x), lambda x: almond.Batch(MODEL, 2, x), lambda x: almond.simulate(MODEL).record(x)]))  # fmt: skip
def test_scalars_are_taken_or_refused(x, call):
    try:
        call(x)
    except (ValueError, TypeError) as error:
        assert str(error)


def test_sparse_matrices_that_lie():
    for damage in ("indices", "indptr"):
        for value in (99, -1):
            A = sp.csr_matrix(np.eye(3))
            getattr(A, damage)[1] = value
            with pytest.raises(ValueError, match="A_"):
                almond.solve(A, np.zeros(3))
    with pytest.raises(ValueError, match="A"):
        almond.solve(sp.csr_matrix((3, 2**40)), np.zeros(3))
    with pytest.raises(ValueError, match="A.*complex"):
        almond.solve(sp.eye(3) * 1j, np.zeros(3))


@settings(deadline=None, max_examples=60)
@given(where=st.integers(0, 10**6), change=st.integers(1, 255), cut=st.integers(0, 40))
def test_damaged_states_are_refused(where, change, cut):
    sim = almond.simulate(MODEL)
    sim.step(3)
    data = bytearray(sim.save())
    data[where % len(data)] ^= change
    before = sim.hash
    with pytest.raises(ValueError, match="restore"):
        sim.restore(bytes(data))
    with pytest.raises(ValueError, match="restore"):
        sim.restore(sim.save()[: -1 - cut])
    assert sim.hash == before


@QUICK
@given(numbers=st.lists(st.tuples(st.sampled_from(["q", "v", "target", "feedforward", "wrenches"]), st.integers(0, 100), NUMBERS), min_size=1, max_size=4))
def test_any_number_in_a_view_leaves_a_simulation_that_can_be_reset(numbers):
    sim = almond.simulate(MODEL)
    fresh = almond.simulate(MODEL)
    inputs = {name: getattr(sim, name).copy() for name in ("target", "feedforward", "wrenches")}
    for name, index, value in numbers:
        view = getattr(sim, name)
        view.reshape(-1)[index % view.size] = value
    try:
        report = sim.step(3)
        assert report.status in ("solved", "numerical-error", "infeasible", "stalled", "max-iterations", "time-budget")
        assert sim.steps == 3
    except ValueError as error:
        assert any(str(error).startswith(name + "[") for name, _, _ in numbers), error
        assert sim.steps == 0
    sim.energy(), sim.contacts(), sim.body_poses(), sim.body_velocities(), sim.hash, sim.save()
    for name, values in inputs.items():
        getattr(sim, name)[:] = values
    sim.reset()
    sim.step(20)
    fresh.step(20)
    np.testing.assert_array_equal(sim.q, fresh.q)


def test_a_world_that_breaks_leaves_the_others_alone():
    batch, alone = almond.Batch(MODEL, 3), almond.Batch(MODEL, 3)
    batch.q[1, 0], batch.v[1, :3] = 9.999e11, 1e12  # leaves the range of positions within the step
    batch.step(50)
    alone.step(50)
    assert batch.solved.tolist() == [1.0, 0.0, 1.0]
    np.testing.assert_array_equal(batch.q[[0, 2]], alone.q[[0, 2]])


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["q", "v", "target", "target_velocity", "feedforward", "wrenches"])
def test_numbers_in_a_view_that_are_not_finite_are_named(name, value):
    sim = almond.simulate(MODEL)
    getattr(sim, name)[(1, 4) if name == "wrenches" else -1] = value
    place = "1, 4" if name == "wrenches" else str(len(getattr(sim, name)) - 1)
    with pytest.raises(ValueError, match=rf"^{name}\[{place}\]: is {value}, expected a finite number"):
        sim.step(5)
    assert sim.steps == 0
    if name == "wrenches":
        return
    batch = almond.Batch(MODEL, 3)
    getattr(batch, name)[1, -1] = value
    with pytest.raises(ValueError, match=rf"^{name}\[1, {place}\]: is {value}, expected a finite number"):
        batch.step(5)
    assert not batch.time.any()


@pytest.mark.parametrize("quaternion", [[0, 0, 0, 0], [2, 0, 0, 0], [0.9, 0, 0, 0]])
def test_quaternions_in_a_view_must_have_length_1(quaternion):
    sim, batch = almond.simulate(MODEL), almond.Batch(MODEL, 2)
    sim.q[3:7] = batch.q[1, 3:7] = quaternion
    with pytest.raises(ValueError, match=rf"^q\[3:7\]: the quaternion of joint .* has length {max(quaternion)}, expected 1"):
        sim.step()
    with pytest.raises(ValueError, match=rf"^q\[1, 3:7\]: .* has length {max(quaternion)}, expected 1"):
        batch.step()
    sim.q[3:7] = batch.q[1, 3:7] = np.float32([0.6, 0, 0.8, 0])  # as exact as float32
    sim.step()
    batch.step()
    with pytest.raises(ValueError, match=r"^q\[0, 0\]: is 1e\+13, expected a number within"):
        batch.q[0, 0] = 1e13
        batch.step()


def use_while_busy(start, busy, calls):
    """Runs `start` in a thread and everything else meanwhile; whoever comes second is told."""
    thread = threading.Thread(target=start)
    thread.start()
    try:
        deadline = time.monotonic() + 30
        while not busy():
            assert time.monotonic() < deadline
            time.sleep(1e-4)
        for call in calls:
            with pytest.raises(RuntimeError, match="another thread"):
                call()
    finally:
        thread.join()


def test_one_simulation_is_for_one_thread_at_a_time():
    sim = almond.simulate(MODEL)
    state = sim.save()
    calls = [sim.step, sim.energy, sim.contacts, sim.body_poses, sim.body_velocities, sim.problem, sim.save, sim.reset, sim.judge]
    calls += [sim.html, sim.record, lambda: sim.restore(state), lambda: sim.hash, lambda: sim.report, lambda: sim.certificate]
    calls += [lambda: sim.set_state(v=np.zeros(7)), lambda: setattr(sim, "target", [0.0]), lambda: sim.set_controls([])]
    use_while_busy(lambda: sim.step(300_000), lambda: sim.time > 0, calls)
    assert sim.steps == 300_000 and np.isfinite(sim.q).all()


def is_refused(call):
    try:
        call()
    except RuntimeError:
        return True
    return False


def test_one_batch_is_for_one_thread_at_a_time():
    batch = almond.Batch(MODEL, 4, threads=1)
    calls = [batch.step, batch.reset, lambda: setattr(batch, "q", np.zeros((4, 8))), lambda: batch.body_poses("ball")]
    use_while_busy(lambda: batch.step(60_000), lambda: is_refused(lambda: batch.body_poses("ball")), calls)
    assert batch.solved.all()


def test_one_workspace_is_for_one_thread_at_a_time(rng):
    workspace = almond.Workspace()
    small = almond.ContactProblem(np.eye(3), np.ones(3), np.eye(3), np.zeros(3), [0.5])
    large = almond.ContactProblem(np.eye(60), rng.standard_normal(60), rng.standard_normal((90, 60)), np.ones(90), np.full(30, 0.5))
    slow = {"fixed_iterations": True, "max_iterations": 20_000}

    def again():
        return almond.solve(small, workspace=workspace)

    use_while_busy(lambda: almond.solve(large, solver="pgs", settings=slow, workspace=workspace), lambda: is_refused(again), [again])
    assert again().solved


def test_what_is_freed_is_not_used():
    sim = almond.simulate(MODEL)
    q, model, wrenches, target = sim.q, sim.model, sim.wrenches, sim.target
    sim.step(5)
    want = q.copy()
    del sim
    gc.collect()
    np.testing.assert_array_equal(q, want)
    assert model.num_q == 8 and wrenches.shape == (2, 6) and target.shape == (1,)
    batch = almond.Batch(MODEL, 2)
    rows = batch.q
    del batch
    gc.collect()
    assert np.isfinite(rows).all()
    solution = almond.solve(np.eye(3), np.ones(3))
    v, certificate = solution.v, solution.certificate
    del solution
    gc.collect()
    np.testing.assert_array_equal(v, 1.0)
    assert certificate.residual == 0.0


def test_builders_go_on_after_building():
    b = almond.ModelBuilder()
    b.add_solid("a", almond.Sphere(0.1), 1.0)
    first = b.build()
    b.add_solid("b", almond.Sphere(0.1), 1.0, [1, 0, 0])
    assert first.num_bodies == 1 and b.build().num_bodies == 2


def test_what_cannot_be_copied_says_so():
    ways = {pickle.dumps: (MODEL, almond.simulate(MODEL), almond.Batch(MODEL, 1)), copy.copy: (MODEL, almond.Batch(MODEL, 1))}
    for way, things in ways.items():
        for thing in things:
            with pytest.raises(TypeError, match="pickle"):
                way(thing)


def test_names_that_are_no_names():
    with pytest.raises(ValueError, match="settings.*3"):
        almond.solve(np.eye(1), [1.0], settings={3: 1})
    with pytest.raises(ValueError, match="settings"):
        almond.solve(np.eye(1), [1.0], settings=[1])
    with pytest.raises(ValueError, match="seed"):
        almond.load("tower", seed=-1)
    with pytest.raises(ValueError, match="seed"):
        almond.simulate(MODEL, seed=1.5)
    with pytest.raises(TypeError, match="model"):
        almond.simulate("tower")
    with pytest.raises(ValueError, match="joint"):
        MODEL.q_slice(-1)
    with pytest.raises(ValueError, match="triangles.*1.5"):
        almond.Mesh(np.eye(3), [[0, 1, 1.5]])
    with pytest.raises(TypeError, match="initialised"):
        with pytest.warns(RuntimeWarning):
            almond.Simulation.__new__(almond.Simulation).q
