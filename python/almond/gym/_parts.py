"""Parts that several tasks share."""

import os
import pathlib
import sys

import gymnasium
import numpy as np


def find_robot(file):
    """Path of a robot of the package example-robot-data, "go2_description/urdf/go2.urdf"."""
    named = os.environ.get("ALMOND_ROBOTS")
    inside = "lib/python3*/site-packages/cmeel.prefix/share/example-robot-data/robots"
    folders = [pathlib.Path(named)] if named else sorted(pathlib.Path(sys.prefix).glob(inside))
    for folder in folders:
        if (folder / file).is_file():
            return folder / file
    raise gymnasium.error.DependencyNotInstalled(
        f"{file}: not found; `pip install example-robot-data` brings it, or ALMOND_ROBOTS names the folder that has it"
    )


def rotate_back(quaternion, vector):
    """Vectors of the world in the axes of bodies; rows of quaternions w x y z and of vectors."""
    w, x, y, z = -quaternion[..., 0], quaternion[..., 1], quaternion[..., 2], quaternion[..., 3]
    a, b, c = vector[..., 0], vector[..., 1], vector[..., 2]
    # v' = v + 2 w (u × v) + 2 u × (u × v), with the conjugate's w and u up to a common sign
    tx, ty, tz = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return np.stack([a + w * tx + y * tz - z * ty, b + w * ty + z * tx - x * tz, c + w * tz + x * ty - y * tx], axis=-1)


def up_of(quaternion):
    """The world's up in the axes of bodies."""
    up = np.zeros((*quaternion.shape[:-1], 3))
    up[..., 2] = 1.0
    return rotate_back(quaternion, up)


def from_rotation_vector(r):
    """Quaternion w x y z of a rotation vector."""
    angle = np.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    s = 0.5 * np.sinc(0.5 * angle / np.pi)
    return np.array([np.cos(0.5 * angle), s * r[0], s * r[1], s * r[2]])


def hypot3(v):
    """Lengths of rows of three, the same bits for any number of rows."""
    return np.sqrt(v[..., 0] * v[..., 0] + v[..., 1] * v[..., 1] + v[..., 2] * v[..., 2])


def mean_square(rows):
    """Of each row, summed from left to right: the same bits for any number of rows."""
    total = rows[:, 0] * rows[:, 0]
    for j in range(1, rows.shape[1]):
        total = total + rows[:, j] * rows[:, j]
    return total / rows.shape[1]


def add_gantry(builder, joints, position=(0.0, 0.0, 0.0), mass=0.5):
    """A hand on sliders and hinges, one body per joint, held by impedance drives: {"x": (stiffness, damping, effort limit)}.

    Joints are x, y, z (sliders) and rx, ry, rz (hinges), in the order given; returns the name of the last body."""
    parent, axes = None, {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}
    for name, (stiffness, damping, limit) in joints.items():
        kind = "continuous" if name[0] == "r" else "prismatic"
        here = position if parent is None else (0.0, 0.0, 0.0)
        inertia = [1e-3 * mass] * 3
        builder.add_body("gantry_" + name, parent, kind, axis=axes[name[-1]], position=here, mass=mass, inertia=inertia)
        parent = "gantry_" + name
        builder.add_drive(parent, "impedance", stiffness=stiffness, damping=damping, effort_limit=limit, name=name)
    return parent
