"""Worlds by name, from files and from models."""

from __future__ import annotations

import importlib.util
import json
import math
import numbers
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from . import _core
from ._core import Batch, Error, Model, Shape, Simulation


def _find_mujoco() -> None:
    """MJCF files are compiled by the library inside the package mujoco, if there is one."""
    spec = importlib.util.find_spec("mujoco")
    for folder in spec.submodule_search_locations or [] if spec else []:
        for library in sorted(pathlib.Path(folder).glob("libmujoco.so.*")):
            _core.set_mujoco_library(str(library))
            return


_find_mujoco()


def scenes() -> dict[str, tuple[str, dict[str, tuple[float, str]]]]:
    """All scenes that load() knows by name: {name: (summary, {parameter: (default, meaning)})}."""
    return {name: (summary, parameters) for name, summary, parameters in _core.scenes()}


def _check_seed(seed):
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or not 0 <= seed < 2**64:
        raise Error(f"seed: is {seed!r}, expected a whole number from 0 to 2**64 - 1")
    return int(seed)


def _check_path(path, name, expected):
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise Error(f"{name}: is {path!r}, expected {expected}")
    if not os.fspath(path):
        raise Error(f"{name}: is empty, expected {expected}")
    return os.fspath(path)


def load(
    name: str | os.PathLike[str],
    *,
    seed: int = 0,
    base: str = "",
    floor: float | str | None = None,
    hold: bool = False,
    keyframe: str = "",
    search: Iterable[str | os.PathLike[str]] = (),
    joints: Mapping[str, float] | None = None,
    **options: Any,
) -> Simulation:
    """A simulation of a scene by name, or of a URDF, MJCF (.xml) or scene (.json) file.

    options: parameters of the scene (see scenes()), options of the step (dt, theta, margin, ...) and of the solver (solver,
    tol, budget_ms, ...). For files: base "fixed" or "floating", floor a height or "below", hold=True to keep joints where
    they start, keyframe, search folders for meshes and for robots of scene files, joints {name: start value}.
    """
    name, seed = _check_path(name, "name", "the name of a scene or a path"), _check_seed(seed)
    if joints is not None and not isinstance(joints, Mapping):
        raise Error(f"joints: is {joints!r}, expected a dict of start values by name")
    if isinstance(search, (str, bytes, os.PathLike)) or not isinstance(search, Iterable):
        raise Error(f"search: is {search!r}, expected a list of folders")
    if not _core.is_scene_file(name):
        file_only = {"base": base, "floor": floor, "hold": hold, "keyframe": keyframe, "search": search, "joints": joints}
        for key, value in file_only.items():
            if value not in ("", None, False, ()):
                raise Error(f"{key}: {name} is a scene by name, expected a file for this")
        return _core.simulation_of_scene(name, seed, options)
    return _core.simulation_of_file(
        name, seed, base, floor, hold, keyframe, [_check_path(s, "search", "folders") for s in search], dict(joints or {}), options
    )


def simulate(model: Model, *, seed: int = 0, **options: Any) -> Simulation:
    """A simulation of a model that was built in code, with options of the step and of the solver."""
    if not isinstance(model, Model):
        raise TypeError(f"model: is a {type(model).__name__}, expected an almond.Model; almond.load reads files and scenes")
    return _core.simulation_of_model(model, _check_seed(seed), options)


def Sdf(description: Mapping[str, Any], folder: str | os.PathLike[str] = "") -> Shape:
    """A solid given by a signed distance function, as in scene files: Sdf({"kind": "bowl", "rim_radius": 0.07, ...})."""
    if not isinstance(description, Mapping):
        raise Error(f"description: is {description!r}, expected a dict as in scene files")
    try:
        text = json.dumps(description)
    except (TypeError, ValueError) as error:
        raise Error(f"description: {error}; expected numbers, texts, lists and dicts") from None
    return _core.sdf_from_json(text, folder and _check_path(folder, "folder", "a path"))


def _show(self: Simulation, title: str = "", height: int = 600) -> str | None:
    """Show what was recorded, or the world as it is: inside a notebook, or in the browser."""
    html = self.html(title or self.name)
    try:
        from IPython import get_ipython
        from IPython.display import IFrame, display
    except ImportError:
        get_ipython = None
    if get_ipython is not None and get_ipython() is not None and "IPKernelApp" in get_ipython().config:
        import base64

        data = base64.b64encode(html.encode()).decode()
        display(IFrame(f"data:text/html;base64,{data}", width="100%", height=height))
        return None
    import tempfile
    import webbrowser

    with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="almond_", delete=False) as file:
        file.write(html)
    webbrowser.open(pathlib.Path(file.name).as_uri())
    return file.name


def _save_html(self: Simulation, path: str | os.PathLike[str], title: str = "") -> None:
    """Write the page of html() to a file; an earlier one is replaced only by a whole one."""
    path = pathlib.Path(_check_path(path, "path", "a path"))
    if not path.name or path.is_dir():
        raise Error(f"path: {str(path)!r} is a folder, expected the name of a file")
    if not path.parent.is_dir():
        raise Error(f"path: is {str(path)!r}, expected a file in a folder that exists")
    page = self.html(title or self.name)
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(page)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


_INPUTS = {"torque": "feedforward", "velocity": "target_velocity", "position": "target", "impedance": "target"}


def _read_control(name, value, worlds):
    """A number; in a batch also one per world."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value):
        return value
    import numpy as np  # only where arrays are given: the package is imported without it

    expected = "a finite number" if worlds is None else f"a finite number, or an array of {worlds}"
    if worlds is not None and not isinstance(value, (str, bytes, bool, Mapping)):
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.shape == (worlds,) and np.isfinite(array).all():
            return array
        if array.size and np.ndim(value):
            is_finite = "" if np.isfinite(array).all() else ", not all finite"
            raise Error(f"controls: {name} has shape {array.shape}{is_finite}, expected {expected}")
    raise Error(f"controls: {name} is {value!r}, expected {expected}")


def _set_control(self: Simulation | Batch, controls: Mapping[str, Any]) -> None:
    """The input that the mode of each drive follows, by the names of drives or of the joints they move. All of them, or none."""
    if not isinstance(controls, Mapping):
        raise Error(f"controls: is a {type(controls).__name__}, expected a dict of numbers by name; target takes an array")
    modes, changes = self.model.drive_modes, []
    worlds = len(self) if isinstance(self, Batch) else None
    for name, value in controls.items():
        if not isinstance(name, str):
            raise Error(f"controls: has the key {name!r}, expected names of drives or joints")
        value = _read_control(name, value, worlds)
        drive = self.model.drive(name)
        changes.append((_INPUTS[modes[drive]], drive, value))
    for array in {change[0] for change in changes}:
        values = getattr(self, array).copy()
        for _, drive, value in filter(lambda change: change[0] == array, changes):
            values[..., drive] = value
        setattr(self, array, values)
