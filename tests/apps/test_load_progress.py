"""Meshes are counted on a terminal while a robot takes long to load, and nowhere else."""

import os
import pty
import re
import subprocess

import numpy as np

from conftest import PROGRAM


def write_robot(folder, meshes):
    """One link with `meshes` balls of 6400 vertices each, no two alike."""
    a, b = np.meshgrid(np.pi * (np.arange(80) + 0.5) / 80, 2 * np.pi * np.arange(80) / 80, indexing="ij")
    points = np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)], axis=-1).reshape(-1, 3)
    faces = [f"f {80 * i + j + 1} {80 * i + 80 + j + 1} {80 * i + 80 + (j + 1) % 80 + 1}" for i in range(79) for j in range(80)]
    shapes = ""
    for k in range(meshes):
        rows = [f"v {x:.9f} {y:.9f} {z:.9f}" for x, y, z in points * (0.1 + 0.001 * k)]
        (folder / f"ball{k}.obj").write_text("\n".join(rows + faces))
        shapes += f'<collision><geometry><mesh filename="ball{k}.obj"/></geometry></collision>'
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    path = folder / "balls.urdf"
    path.write_text(f'<robot name="r"><link name="base">{inertial}{shapes}</link></robot>')
    return path


def on_terminal(*arguments):
    """What the program writes to a terminal as standard error."""
    master, slave = pty.openpty()
    with subprocess.Popen([str(PROGRAM), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=slave) as process:
        os.close(slave)
        text = b""
        while True:
            try:
                block = os.read(master, 4096)
            except OSError:  # the other end is closed
                break
            if not block:
                break
            text += block
        os.close(master)
    assert process.returncode == 0, text
    return text.decode()


def test_only_slow_files_and_only_on_a_terminal(almond, tmp_path):
    slow = write_robot(tmp_path, 24)
    text = on_terminal("inspect", slow)
    shown = [(int(done), int(all_)) for done, all_ in re.findall(r"balls\.urdf: meshes (\d+) of (\d+)", text)]
    assert shown and all(all_ == 24 for _, all_ in shown)
    assert shown == sorted(shown) and shown[0][0] > 0
    assert text.endswith("\r\x1b[K"), "the line is wiped"
    result = almond("inspect", slow)
    assert result.code == 0 and result.err == ""
    (tmp_path / "quick").mkdir()
    assert on_terminal("inspect", write_robot(tmp_path / "quick", 1)) == ""
