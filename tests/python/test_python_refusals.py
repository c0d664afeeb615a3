"""Files that cannot be written or found, arguments that are missing, of another kind or given twice: named, and nothing changed."""

import os

import almond
import numpy as np
import pytest
from scipy import sparse


def make_model():
    b = almond.ModelBuilder("ball")
    b.add_solid("ball", almond.Sphere(0.1), 1.0, [0, 0, 0.3])
    b.add_solid("other", almond.Sphere(0.1), 1.0, [1, 0, 0.3])
    return b.build()


MODEL = make_model()


@pytest.mark.parametrize("path, words", [("", "path: is empty"), (None, "path: is None"), (3, "path: is 3"), (b"x", "path: is b'x'"), (".", "path: .* is a folder"), ("no/x.html", "path: .* a folder that exists")])
def test_pages_go_to_files_only_and_leave_nothing_else(path, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        almond.simulate(MODEL).save_html(path)
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_leaves_the_earlier_one(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    (tmp_path / "x.html").write_text("earlier")
    sim = almond.simulate(MODEL)
    try:
        sim.html()
    except ValueError as error:
        if "without its web page" not in str(error):
            raise
        pytest.skip(str(error))
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        sim.save_html(tmp_path / "x.html")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("x.html", "earlier")]


def test_robots_of_scene_files_are_found_in_the_folders_of_search(tmp_path):
    robots, scenes = tmp_path / "robots", tmp_path / "scenes"
    (robots / "arm").mkdir(parents=True)
    scenes.mkdir()
    (robots / "arm" / "arm.urdf").write_text(
        '<robot name="arm"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    (scenes / "one.json").write_text('{"almond_scene": 1, "robots": [{"file": "arm/arm.urdf", "base": "floating"}]}')
    assert almond.load(scenes / "one.json", search=[tmp_path, robots]).model.num_v == 6
    with pytest.raises(ValueError, match="arm.urdf"):
        almond.load(scenes / "one.json", search=[tmp_path])


def test_wrenches_are_taken_as_a_whole():
    sim = almond.simulate(MODEL)
    wrenches = np.zeros((sim.model.num_bodies, 6))
    wrenches[0, 0] = 2.0  # N, on a ball of 1 kg that falls freely
    sim.wrenches = wrenches
    np.testing.assert_array_equal(sim.wrenches, wrenches)
    sim.step(10)
    assert sim.body_velocities()[0, 0] == pytest.approx(2.0 * sim.time, rel=1e-9)
    for wrong in (None, wrenches[:1], np.full_like(wrenches, np.nan), "none"):
        with pytest.raises(ValueError, match="^wrenches: "):
            sim.wrenches = wrong
    np.testing.assert_array_equal(sim.wrenches, wrenches)


BLOCK = dict(A=np.eye(3), b=np.ones(3), J=np.eye(3), e=np.zeros(3), mu=[0.5])
REFUSED = {
    "n: is None, expected a whole number from 1": lambda: almond.Batch(MODEL),
    "model: is None, expected an almond.Model": lambda: almond.Batch(),
    "mask: is -1, expected a whole number from 0 to 4294967295": lambda: almond.ModelBuilder().add_geom(None, almond.Plane(), mask=-1),
    "group: is 4294967296, expected a whole number from 0": lambda: almond.ModelBuilder().add_geom(None, almond.Plane(), group=2**32),
    '"cube": no such option; did you mean cubes': lambda: almond.load("tower", cube=3),
    '"xyzzy": no such option; there are cubes, ': lambda: almond.load("tower", xyzzy=3),
    "b: is a .*csr.*, expected an array": lambda: almond.solve(**{**BLOCK, "b": sparse.csr_matrix(np.ones((3, 1)))}),
    "mu: is 0.5, expected an array with a number per contact": lambda: almond.solve(**{**BLOCK, "mu": 0.5}),
    'solver: unknown solver "cannal", did you mean "canal"': lambda: almond.solve(**BLOCK, solver="cannal"),
    "threads: given twice": lambda: almond.solve(**BLOCK, settings={"threads": 1}, threads=2),
    "tol: given twice": lambda: almond.solve(**BLOCK, settings={"tol": 1e-3}, tol=1e-4),
    "A: missing": lambda: almond.ContactProblem(),
    "b: missing": lambda: almond.ContactProblem(np.eye(3)),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refusals_name_the_argument(words):
    with pytest.raises(ValueError, match="^" + words):
        REFUSED[words]()


def test_masks_of_all_bits_are_taken():
    b = almond.ModelBuilder()
    b.add_geom(None, almond.Plane(), group=2**31, mask=2**32 - 1)
    b.build()


def test_more_worlds_than_memory_are_told():
    with pytest.raises(MemoryError, match="n: 2147483647 worlds do not fit"):
        almond.Batch(MODEL, 2**31 - 1)


def test_dir_has_what_is_offered():
    assert set(almond.__all__) <= set(dir(almond)) and "TYPE_CHECKING" not in dir(almond)
    assert all(hasattr(almond, name) for name in dir(almond))
