"""Signed distance shapes in scene files through the program: mistakes end with one line in time, notes are said once."""

import json

import pytest

CUBE = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def write_scene(folder, shape, count=1):
    """`shape` is JSON text or a value."""
    text = shape if isinstance(shape, str) else json.dumps(shape)
    objects = ", ".join(f'{{"name": "o{k}", "mass": 1, "position": [{k}, 0, 1], "shape": {text}}}' for k in range(count))
    path = folder / "scene.json"
    path.write_text(f'{{"almond_scene": 1, "floor": true, "objects": [{objects}]}}', encoding="utf-8")
    return path


def write_cube(folder, turned=False):
    lines = [f"v {x} {y} {z}" for x, y, z in CUBE]
    for number, face in enumerate(FACES):
        corners = face[::-1] if turned and number == 0 else face
        lines.append("f " + " ".join(str(v + 1) for v in corners))
    (folder / "cube.obj").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    "shape, words",
    [
        ('{"kind":"union","of":[' * 50000, "has more than 200 brackets inside each other"),
        ('{"kind": "sphere", "radius": 1, "radius": 2}', "objects[0].shape.radius: is given twice"),
        ({"kind": "sphere", "radius": 0.1, "surface": {"max_edge": 1e-9}}, "surface: max_edge is 1e-09 m"),
        ({"kind": "bolt", "thread": "M20", "length": 100, "thread_length": 100}, "a shorter thread"),
        ({"kind": "bolt", "thread": "M20", "length": -0.03}, "shape.length: is -0.03, expected > 0"),
        ({"kind": "difference", "of": [{"kind": "sphere", "radius": 0.1}] * 2}, "is empty, expected a solid"),
        ({"kind": "mesh_sdf", "file": "turned.obj"}, "disagree in orientation"),
    ],
)
def test_mistakes_are_one_line(almond, tmp_path, shape, words):
    write_cube(tmp_path, turned=True)
    (tmp_path / "cube.obj").rename(tmp_path / "turned.obj")
    result = almond("run", write_scene(tmp_path, shape), "--steps", 1, timeout=60)
    assert result.code == 2, (result.code, result.err[:500])
    assert words in result.err and result.err.count("\n") == 1 and len(result.err) < 1000, result.err[:1000]


def test_a_mesh_of_many_objects_is_spoken_of_once(almond, tmp_path):
    write_cube(tmp_path)
    scene = write_scene(tmp_path, {"kind": "mesh_sdf", "file": "cube.obj", "scale": 0.1, "cell": 0.01}, count=3)
    result = almond("run", scene, "--steps", 1)
    assert result.code == 0, result.err
    assert result.err.count("triangles as distances on cells") == 1, result.err


def test_shallow_dishes_and_shapes_on_themselves_run(almond, tmp_path):
    ball = {"kind": "sphere", "radius": 0.1}
    for shape in (
        {"kind": "dish", "path": [[0, 0, 0.001], [0.03, 0]], "padding": 0.003},
        {"kind": "union", "of": [{"kind": "box", "size": [0.2, 0.2, 0.2]}] * 2},
        {"kind": "union", "of": [ball, ball, ball]},
        {"kind": "nut", "thread": {"diameter": 0.015, "pitch": 0.001}},
    ):
        result = almond("run", write_scene(tmp_path, shape), "--steps", 2)
        assert result.code == 0, (shape, result.err)
