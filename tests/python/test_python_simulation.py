"""The simulator from Python: closed forms, views, recordings, batches, bad input."""

import base64
import gzip
import json
import re
import threading

import almond
import numpy as np
import pytest


def ball(height=1.0):
    b = almond.ModelBuilder("ball")
    b.add_ground(almond.Plane())
    b.add_solid("ball", almond.Sphere(0.1), 1.0, [0, 0, height])
    return b.build()


def arm():
    b = almond.ModelBuilder("arm")
    b.add_body("upper", joint="revolute", axis=[0, 1, 0], mass=1.0, com=[0.5, 0, 0], inertia=[1e-3, 1e-3, 1e-3])
    b.add_drive("upper", "position", stiffness=100.0, damping=20.0, name="shoulder")
    return b.build()


def test_free_fall_is_exact():
    sim = almond.simulate(ball(10.0), dt=0.01)
    sim.step(100)
    assert sim.time == pytest.approx(1.0)
    # Semi-implicit Euler: z = z0 - g dt² n (n + 1) / 2.
    assert sim.q[2] == pytest.approx(10.0 - 9.81 * 1e-4 * 100 * 101 / 2, abs=1e-12)
    assert sim.v[2] == pytest.approx(-9.81, abs=1e-12)


def test_ball_rests_on_the_floor():
    sim = almond.simulate(ball(0.3))
    report = sim.step(480)
    assert report.solved and report.residual < 1e-8
    assert sim.body_poses()[0, 2] == pytest.approx(0.1, abs=1e-8)
    contacts = sim.contacts()
    np.testing.assert_allclose(contacts["force"].sum(axis=0), [0, 0, 9.81], atol=1e-6)
    assert contacts["position"].shape == contacts["normal"].shape == (1, 3)
    assert sim.certificate.residual < 1e-8
    assert almond.solve(sim.problem()).solved


def test_drive_holds_the_arm():
    sim = almond.simulate(arm())
    sim.set_control({"shoulder": 0.3})
    sim.step(2000)
    # k (0.3 - q) + m g (l/2) cos q = 0 about +y: gravity turns the arm towards positive q.
    q = sim.q[0]
    assert 100.0 * (0.3 - q) + 9.81 * 0.5 * np.cos(q) == pytest.approx(0.0, abs=1e-6)
    assert sim.target.tolist() == [0.3]


def test_wrench_from_outside():
    sim = almond.simulate(ball(10.0), dt=0.01)
    sim.wrenches[0, 2] = 9.81
    sim.step(50)
    assert sim.q[2] == pytest.approx(10.0, abs=1e-12)


def test_state_in_and_out():
    sim = almond.simulate(ball())
    q = sim.q
    sim.q[2] = 3.0
    assert sim.q[2] == 3.0 and q[2] == 3.0
    sim.v = np.arange(6.0)
    np.testing.assert_array_equal(sim.v, np.arange(6.0))
    saved = sim.save()
    sim.step(30)
    there = sim.hash
    sim.restore(saved)
    assert q[2] == 3.0  # still a view of the state
    sim.step(30)
    assert sim.hash == there
    sim.reset()
    assert sim.time == 0.0 and sim.q[2] == 1.0


def test_scene_by_name_judges_itself():
    assert "tower" in almond.scenes()
    sim = almond.load("tower")
    sim.step(120)
    assert sim.report.solved
    verdict = sim.judge()
    assert verdict is None or "success" in verdict


def skip_without_page():
    try:
        almond.simulate(ball()).html()
    except ValueError as error:
        if "without its web page" not in str(error):
            raise
        pytest.skip(str(error))


def test_recording_is_a_page(tmp_path):
    skip_without_page()
    sim = almond.simulate(ball())
    sim.record()
    sim.step(60)
    sim.save_html(tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text()
    assert "<html" in text.lower() and len(text) > 100_000


def test_a_page_shows_every_body():
    """Unpacks the replay inside the page: it names the shapes that are drawn."""
    b = almond.ModelBuilder("shapes")
    b.add_ground(almond.Plane())
    b.add_solid("ball", almond.Sphere(0.1), 1.0, [0, 0, 1])
    b.add_solid("can", almond.Cylinder(0.1, 0.2), 1.0, [1, 0, 1])
    sim = almond.simulate(b.build())
    for recorded in (False, True):
        if recorded:
            sim.record()
            sim.step(4)
        texts = re.findall(r"[A-Za-z0-9+/=]{400,}", sim.html())
        packed = [base64.b64decode(t) for t in texts if t.startswith("H4sI")]
        assert len(packed) == 1
        data = gzip.decompress(packed[0])
        for shape in (b"plane", b"sphere", b"cylinder"):
            assert shape in data


def test_batch_is_the_same_for_any_number_of_threads(rng):
    model = ball(0.2)
    push = rng.standard_normal((8, 6))
    results = []
    for threads in (1, 2, 4):
        batch = almond.Batch(model, 8, threads=threads)
        batch.v = push
        batch.step(100)
        results.append((batch.q.copy(), batch.v.copy()))
        assert (batch.residual < 1e-8).all() and batch.solved.all()
    for q, v in results[1:]:
        np.testing.assert_array_equal(q, results[0][0])
        np.testing.assert_array_equal(v, results[0][1])
    # And each world is what a simulation of its own gives.
    sim = almond.simulate(model)
    sim.v = push[3]
    sim.step(100)
    np.testing.assert_array_equal(sim.q, results[0][0][3])


def test_batch_resets_single_worlds():
    batch = almond.Batch(ball(), 3)
    batch.step(10)
    batch.reset([1])
    assert batch.time[1] == 0.0 and batch.time[0] > 0.0
    np.testing.assert_array_equal(batch.q[1], batch.model.q0)


def test_two_threads_on_one_simulation_are_told():
    sim = almond.load("tower")
    errors = []

    def work():
        try:
            sim.step(3000)
        except RuntimeError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors or "another thread" in errors[0]
    assert np.isfinite(sim.q).all()


def test_mistakes_are_value_errors(tmp_path):
    b = almond.ModelBuilder()
    for call, words in [
        (lambda: almond.Sphere(-1.0), "radius"),
        (lambda: almond.Box([1, 2]), "half.*shape"),
        (lambda: b.add_solid("a", almond.Sphere(1.0), -1.0), "mass"),
        (lambda: b.add_body("x", parent="nobody"), "nobody"),
        (lambda: b.add_body("x", joint="hinge"), "hinge"),
        (lambda: almond.load("towr"), "tower"),
        (lambda: almond.load("tower", dtt=1), "dt"),
        (lambda: almond.load("tower", dt=-1), "dt"),
        (lambda: almond.load(tmp_path / "nothing.urdf"), "nothing.urdf"),
        (lambda: almond.load("tower", base="fixed"), "base"),
        (lambda: almond.simulate(ball()).set_state(q=[1.0]), "q.*shape"),
        (lambda: almond.simulate(ball()).set_state(q=np.zeros(7)), "quaternion"),
        (lambda: almond.simulate(ball()).set_state(v=np.full(6, np.nan)), "v"),
        (lambda: almond.simulate(ball()).step(-1), "n"),
        (lambda: almond.simulate(ball()).restore(b"nonsense"), "restore"),
        (lambda: almond.Batch(ball(), 0), "n"),
        (lambda: almond.Batch(ball(), 2).reset([5]), "worlds"),
        (lambda: almond.Sdf({"kind": "bowll"}), "bowl"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


def test_what_collides_is_drawn():
    """Geoms in the header of a page (viewer/FORMAT.md), of a recording and of a world as it is, are those of the model."""

    def drawn(page):
        (text,) = re.findall(r'<script type="application/x-almond-replay">([^<]*)</script>', page)
        data = gzip.decompress(base64.b64decode(text))
        return json.loads(data[12 : 12 + int.from_bytes(data[8:12], "little")])["geoms"]

    builder = almond.ModelBuilder("two")
    builder.add_ground(almond.Plane())
    builder.add_solid("block", almond.Box([0.1, 0.1, 0.05]), mass=1.0, position=[0, 0, 0.05])
    sim = almond.simulate(builder.build())
    skip_without_page()
    still = sim.html()
    sim.record()
    sim.step(3)
    for page in (still, sim.html()):
        assert sorted(geom["body"] for geom in drawn(page)) == [-1, 0]
