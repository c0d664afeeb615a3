"""No object, state or order of calls that Python allows ends the interpreter: what was never initialised, what is no state, and
what has no model yet is an exception. Each case runs in an interpreter of its own, whose end is the judge; states that are
accepted are used, and are to say what they said before."""

import os
import subprocess
import sys

import almond
import numpy as np
import pytest

PREAMBLE = """
import contextlib, copy, io, itertools, pickle, random, warnings
import almond, numpy as np
from almond import _core

warnings.simplefilter("ignore")
CLASSES = [kind for kind in vars(_core).values() if isinstance(kind, type) and not issubclass(kind, Exception)]
problem = almond.ContactProblem(np.diag([1.0, 2.0, 3.0]), [0.5, 0, -1.0], np.eye(3), np.zeros(3), [0.5], name="block")
solution = almond.solve(problem, settings={"trace": True})
sim = almond.load("ball")
report = sim.step(300)
KEPT = [problem, solution, solution.certificate, report]

def use(thing):
    repr(thing), [getattr(thing, name) for name in dir(thing) if not name.startswith("__")]
    if hasattr(thing, "as_dict"):
        thing.as_dict()
    if isinstance(thing, almond.ContactProblem):
        thing.fields(), almond.solve(thing, max_iterations=10), thing.certify(np.zeros(thing.num_rows))

def refuses(call, *args):
    try:
        call(*args)
    except Exception:
        return True
    return False
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", PREAMBLE + code], capture_output=True, text=True, env={**os.environ, "ALMOND_CACHE_DIR": "off"}, timeout=300)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def test_objects_without_init_refuse_everything():
    """All members of all classes, by themselves and as arguments of everything else."""
    out = run("""
def raws_of(kind):
    yield kind.__new__(kind)
    with contextlib.suppress(TypeError):  # a subclass that forgets the first __init__
        yield type("Broken", (kind,), {"__init__": lambda self: None})()

count = 0
values = [(), (1,), ("a",), (np.eye(3),), (1, 2), ("a", "b"), (1, 2, 3), ({},), ((),), (None,), (None, None)]
for kind in CLASSES:
    for name in sorted(set(dir(kind)) - set(dir(object)) | {"__repr__"}):
        if name.startswith("__") and name not in ("__repr__", "__len__", "__getstate__", "__copy__", "__deepcopy__"):
            continue
        if isinstance(vars(kind).get(name), staticmethod) or type(vars(kind).get(name)).__name__ == "nb_func":
            continue
        for raw in raws_of(kind):
            if name == "__repr__":
                with contextlib.suppress(Exception):
                    repr(raw)
            elif callable(getattr(kind, name)):
                assert all(refuses(getattr(raw, name), *args) for args in values), (kind, name)
            else:
                assert refuses(getattr, raw, name) and refuses(setattr, raw, name, 1), (kind, name)
        count += 1
    raw = kind.__new__(kind)
    for way in (copy.copy, copy.deepcopy, pickle.dumps, hash, str, dir, lambda x: x == x, len, iter, lambda x: x[0]):
        with contextlib.suppress(Exception):
            way(raw)
    del raw
assert count > 150, count

# As arguments, in every place.
raws = [kind.__new__(kind) for kind in CLASSES]
builder = almond.ModelBuilder()
builder.add_solid("ball", almond.Sphere(0.1), 1.0)
model = builder.build()
hosts = [builder, model, sim, problem, solution, report, almond.Batch(model, 2), almond.Workspace()]
for host in [*hosts, _core, almond]:
    for name in dir(host):
        member = getattr(host, name)
        if name.startswith("_") or not callable(member) or name == "set_mujoco_library" or name in ("show", "save_html"):
            continue
        for raw in raws:
            for args in ((raw,), ("a", raw), (raw, raw), ("a", raw, 1.0), (raw, {}, None, almond.Workspace()), (raw, 0, {})):
                with contextlib.suppress(Exception):
                    member(*args)
print("done")
""")
    assert out == "done\n"


def test_states_of_another_make_are_refused():
    """() was read past its end."""
    out = run("""
for thing in KEPT:
    kind, state = type(thing), thing.__getstate__()
    wrong = [(), state + (1,), state + state, [], None, 1, b"", "", {}, [*state], *(state[:k] for k in range(len(state)))]
    for k in range(len(state)):
        for value in (None, 1, 1.5, [], (), {}, object(), thing, almond, b"", "", "\\udc80", bytearray(5), memoryview(b"abc"), b"\\0" * 1000):
            if type(value) is not type(state[k]) or isinstance(value, bytes):
                wrong.append((*state[:k], value, *state[k + 1:]))
    for given in wrong:
        raw = kind.__new__(kind)
        try:
            raw.__setstate__(given)
        except (ValueError, TypeError) as error:
            assert str(error) and (isinstance(error, TypeError) or "\\n" not in str(error))
        else:
            raise SystemExit(f"{kind.__name__} took {given!r}")
        assert refuses(repr, raw) or "object at" in repr(raw)
    raw = kind.__new__(kind)
    raw.__setstate__(state)
    use(raw)
    assert refuses(raw.__setstate__, state), "what is in use is not made anew under its user"
    assert refuses(raw.__setstate__)
    assert refuses(raw.__setstate__, state, state)
print("done")
""")
    assert out == "done\n"


def test_damaged_states_are_refused_or_can_be_used():
    """Cut off anywhere, longer, and with any byte changed: numbers may differ, names and sizes are checked."""
    out = run("""
rng = random.Random(0)
taken = 0
for thing in KEPT:
    kind, (data, *rest) = type(thing), thing.__getstate__()
    damaged = [data[:k] for k in range(len(data))] + [data + b"\\0", data + data]
    for k in range(len(data)):
        for byte in (0, 1, 2, 127, 255, rng.randrange(256)):
            damaged.append(data[:k] + bytes([byte]) + data[k + 1:])
    for given in damaged[:len(data)] + rng.sample(damaged, min(len(damaged), 4000)):
        raw = kind.__new__(kind)
        try:
            raw.__setstate__((given, *rest))
        except ValueError as error:
            assert str(error).startswith("pickle") and "\\n" not in str(error), error
            continue
        except MemoryError:
            raise SystemExit(f"{kind.__name__} asked for memory that the state cannot fill")
        use(raw)
        taken += 1
assert taken > 100
print("done")
""")
    assert out == "done\n"


def test_problems_that_do_not_fit_together_are_refused():
    """The bytes of a problem are a file that can be read: what it says is judged as if it were one."""
    out = run("""
fields = problem.fields()
for name, value in [("A", np.eye(4)), ("b", np.zeros(7)), ("J", np.eye(2)), ("e", np.zeros(2)), ("mu", [-1.0]), ("mu", [np.nan]), ("A", np.full((3, 3), np.nan)), ("A", -np.eye(3)),
                    ("subsystem_offsets", [0, 9]), ("subsystem_offsets", [0, -1, 3])]:
    file = io.BytesIO()
    np.savez(file, **{**fields, name: np.asarray(value)})
    raw = almond.ContactProblem.__new__(almond.ContactProblem)
    assert refuses(raw.__setstate__, (file.getvalue(), "x")), name
print("done")
""")
    assert out == "done\n"


def test_parts_without_a_model_refuse():
    """The contact solve of MuJoCo's steps, before it has seen a model."""
    out = run("""
for name in dir(_core.MujocoSolver):
    if name.startswith("_"):
        continue
    for args in ((), (1,), (0.1,), (None,), ({},), (None, None), (1, 2)):
        solver = _core.MujocoSolver()
        with contextlib.suppress(Exception):
            member = getattr(solver, name)
            member(*args) if callable(member) else use(member)
print("done")
""")
    assert out == "done\n"


@pytest.mark.parametrize("name", ["StepReport", "Certificate"])
def test_every_figure_survives(name):
    """Also those that are added one day."""
    sim = almond.load("tower")
    report = sim.step(60)
    thing = {"StepReport": report, "Certificate": sim.certificate}[name]
    again = type(thing).__new__(type(thing))
    again.__setstate__(thing.__getstate__())
    names = [key for key, member in vars(type(thing)).items() if isinstance(member, property) or type(member).__name__ in ("getset_descriptor", "property")]
    assert len(names) >= 8
    for key in names:
        np.testing.assert_array_equal(getattr(again, key), getattr(thing, key))
    assert again.as_dict() == thing.as_dict()
