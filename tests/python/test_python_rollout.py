"""Rollouts: the same bits by threads and by Ray, for any number of workers, after interruptions and after a worker's death."""

import concurrent.futures
import os
import signal

import almond
import numpy as np
import pytest


def make(seed):
    """A pendulum with a drive, and a ball that falls."""
    b = almond.ModelBuilder("pair")
    b.add_ground(almond.Plane(), [0, 0, -2])
    b.add_body("arm", joint="revolute", axis=[0, 1, 0], mass=1.0, com=[0.5, 0, 0], inertia=[1e-3, 1e-3, 1e-3])
    b.add_drive("arm", "position", stiffness=50.0, damping=5.0, name="arm")
    b.add_solid("ball", almond.Sphere(0.1), 1.0, [2, 0, -1.8])
    return almond.simulate(b.build(), seed=seed, dt=0.01)


def setup(sim, index, rng):
    sim.v[:] = 0.3 * rng.standard_normal(len(sim.v))
    return {"number": index, "push": float(sim.v[0])}


def policy(observation):
    noise = np.array([rng.uniform(-0.1, 0.1) for rng in observation["rng"]])
    return (-observation["q"][:, :1] + 0.1 * observation["index"][:, None]) + noise[:, None]


ARGUMENTS = dict(n=10, steps=40, every=4, seed=5, setup=setup, shard=3)


def same(a, b):
    assert a.names == b.names
    for name in a.names:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def test_any_number_of_threads_gives_the_same_bits():
    one = almond.rollout(make, policy, workers=1, **ARGUMENTS)
    same(one, almond.rollout(make, policy, workers=4, **ARGUMENTS))
    assert one["q"].shape == (10, 11, 8) and one["target"].shape == (10, 10, 1) and len(one) == 10
    np.testing.assert_array_equal(one["param_number"], np.arange(10))
    assert one["solved"].all() and (one["residual"] < 1e-8).all()
    other = almond.rollout(make, policy, workers=1, **{**ARGUMENTS, "seed": 6})
    assert not np.array_equal(one["q"], other["q"])


def test_a_world_is_a_simulation_of_its_own():
    """World 7 again by hand, from the seeds that the documentation promises."""
    rollouts = almond.rollout(make, policy, **ARGUMENTS)
    world = np.random.SeedSequence([5, 7])
    sim, rng = make(int(world.generate_state(1, np.uint64)[0] >> np.uint64(1))), np.random.default_rng(world)
    setup(sim, 7, rng)
    for k in range(10):
        np.testing.assert_array_equal(sim.q, rollouts["q"][7, k])
        sim.target[:] = -sim.q[0] + 0.1 * 7 + rng.uniform(-0.1, 0.1)
        sim.step(4)
    np.testing.assert_array_equal(sim.q, rollouts["q"][7, 10])
    assert rollouts["time"][7, 10] == sim.time


def test_an_array_of_controls_is_what_the_mode_of_each_drive_follows():
    """Against a simulation that is told by name."""

    def arm(seed):
        b = almond.ModelBuilder("arm")
        for k, mode in enumerate(["position", "velocity", "torque", "impedance"]):
            b.add_body(mode, k - 1 if k else None, "revolute", axis=[0, 1, 0], position=[0.2, 0, 0], mass=1.0, inertia=[0.1] * 3)
            b.add_drive(mode, mode, stiffness=20.0 if mode in ("position", "impedance") else 0.0, damping=0.0 if mode == "torque" else 3.0)
        return almond.simulate(b.build(), seed=seed, dt=0.01)

    numbers = {"position": 0.3, "velocity": 0.5, "torque": 2.0, "impedance": -0.2}
    rollouts = almond.rollout(arm, lambda o: np.tile(list(numbers.values()), (len(o["index"]), 1)), n=3, steps=20, shard=2)
    sim = arm(0)
    sim.set_control(numbers)
    sim.step(20)
    for row in rollouts["q"]:
        np.testing.assert_array_equal(row[-1], sim.q)
    np.testing.assert_array_equal(rollouts["feedforward"][0, 0], [0.0, 0.0, 2.0, 0.0])
    for wrong in (np.zeros((2, 3)), [["x"] * 4] * 2, None, {"targets": np.zeros((2, 4))}):
        with pytest.raises(ValueError, match="policy: "):
            almond.rollout(arm, lambda o, wrong=wrong: wrong, n=2, steps=2)


def test_shards_that_end_together_with_one_that_fails_are_written(tmp_path, monkeypatch):
    """All end before anybody looks, and the one that failed is looked at first."""

    def wait(futures, **_):
        ready, rest = wait_for(futures)
        return sorted(ready, key=lambda future: future.cancelled() or future.exception() is None), rest

    wait_for = concurrent.futures.wait
    monkeypatch.setattr(concurrent.futures, "wait", wait)

    def fails(sim, index, rng):
        if index == 4:  # of the second shard
            raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        almond.rollout(make, policy, **{**ARGUMENTS, "setup": fails, "folder": tmp_path, "workers": 2})
    assert sorted(p.name for p in tmp_path.glob("shard_*")) == [f"shard_00000{k}.npz" for k in (0, 2, 3)]


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_a_folder_is_gone_on_with(tmp_path, kind):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    whole = almond.rollout(make, policy, **ARGUMENTS)
    calls = []

    def counted(sim, index, rng):
        calls.append(index)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return setup(sim, index, rng)

    given = {**ARGUMENTS, "folder": tmp_path / "out", "format": kind, "workers": 1}
    with pytest.raises(KeyboardInterrupt):
        almond.rollout(make, policy, **{**given, "setup": counted})
    shards = sorted(p.name for p in (tmp_path / "out").glob("shard_*"))
    assert shards == [f"shard_000000.{kind}", f"shard_000001.{kind}"]
    (tmp_path / "out" / shards[1]).write_bytes(b"cut off")  # by a full disk
    calls.clear()
    resumed = almond.rollout(make, policy, **{**given, "setup": lambda *a: calls.append(a[1]) or setup(*a)})
    assert sorted(calls) == list(range(3, 10))  # the first shard was not done again
    same(whole, resumed)
    assert len(resumed.files) == 4 and not list((tmp_path / "out").glob("*.part"))
    again = almond.rollout(make, None, **{**given, "setup": lambda *a: pytest.fail("done again")})
    same(whole, again)
    with pytest.raises(ValueError, match="seed"):
        almond.rollout(make, policy, **{**given, "seed": 1})


def test_scenes_by_name_and_models_and_what_is_observed():
    by_name = almond.rollout("tower", n=2, steps=4, observe=lambda sim: {"energy": sim.energy()}, dt=0.002)
    assert by_name["energy"].shape == (2, 5, 2) and by_name["time"][0, -1] == pytest.approx(0.008)
    model = make(0).model
    by_model = almond.rollout(model, n=2, steps=4, dt=0.01)
    sim = almond.simulate(model, dt=0.01)
    sim.step(4)
    np.testing.assert_array_equal(by_model["q"][1, -1], sim.q)
    by_dict = almond.rollout(model, lambda o: {"feedforward": np.full((len(o["q"]), 1), 2.0)}, n=2, steps=4, dt=0.01)
    np.testing.assert_array_equal(by_dict["feedforward"], 2.0)


def test_progress_is_shown_only_when_asked(capsys):
    almond.rollout(make, n=2, steps=1)
    assert capsys.readouterr().err == ""
    almond.rollout(make, n=2, steps=1, progress=True)
    assert "2 of 2 worlds" in capsys.readouterr().err


def test_mistakes_are_named(tmp_path):
    for change, words in [
        (dict(n=0), "n: is 0"),
        (dict(n=2.5), "n: is 2.5"),
        (dict(steps=0), "steps"),
        (dict(every=3), "every"),
        (dict(shard=0), "shard"),
        (dict(seed=-1), "seed"),
        (dict(workers=0), "workers"),
        (dict(backend="mpi"), "backend"),
        (dict(format="csv"), "format"),
        (dict(policy=3), "policy"),
        (dict(setup="x"), "setup"),
        (dict(setup=lambda *_: 3), "setup"),
        (dict(model=3), "model"),
        (dict(model="towr"), "tower"),
        (dict(model=tmp_path / "no.urdf"), "no.urdf"),
        (dict(model=lambda seed: None), "model.*NoneType"),
        (dict(policy=lambda o: np.zeros(3)), "policy.*shape"),
        (dict(policy=lambda o: np.full((2, 1), np.nan)), "policy.*finite"),
        (dict(policy=lambda o: {"torque": 1}), "torque"),
        (dict(observe=lambda s: {"q": 1}), "observe.*q"),
        (dict(model=make(0).model, backend="ray"), "sent"),
        (dict(dtt=1, model="tower"), "dt"),
    ]:
        with pytest.raises(ValueError, match=words):
            almond.rollout(**{**dict(model=make, n=2, steps=4), **change})
    with pytest.raises(KeyError, match="there are"):
        almond.rollout(make, n=1, steps=1)["p"]


def test_ray_gives_the_same_bits_also_after_a_workers_death(tmp_path):
    pytest.importorskip("ray")
    want = almond.rollout(make, policy, **ARGUMENTS)
    flag = str(tmp_path / "died")

    def deadly(sim, index, rng):
        if index == 4 and not os.path.exists(flag):
            open(flag, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return setup(sim, index, rng)

    given = {**ARGUMENTS, "setup": deadly, "backend": "ray", "workers": 2, "folder": tmp_path / "out"}
    got = almond.rollout(make, policy, **given)
    assert os.path.exists(flag)
    same(want, got)
    np.testing.assert_array_equal(got["index"], np.arange(10))  # nothing lost, nothing twice


def test_bench_measures_equal_bits(tmp_path, capsys):
    import json

    from almond import bench_rollout

    bench_rollout.main(["--backends", "threads", "--scene", "tower", "--worlds", "3", "--steps", "2", "--json", str(tmp_path / "b.json")])
    rows = json.loads((tmp_path / "b.json").read_text())["rows"]
    assert [row["workers"] for row in rows] == [1, 2] and all(row["worlds_per_second"] > 0 for row in rows)
    assert "threads" in capsys.readouterr().out
