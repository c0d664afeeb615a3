"""Calls that the compiled part refuses because of a type: which argument, what it was, what is expected."""

import ast
import functools
import operator
import os
import re
import sys
import warnings

from . import _core
from ._core import Error


class FileWarning(UserWarning):
    """Elements of a robot or scene file that have no effect here."""


def warn(text):
    """A FileWarning at the line of the user's that called us, through however many of our own."""
    ours, level = os.path.dirname(__file__) + os.sep, 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ours):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, FileWarning, stacklevel=level)


_WORDS = {
    "object": "a value",
    "float": "a number",
    "int": "a whole number",
    "str": "a text",
    "bool": "True or False",
    "bytes": "bytes",
    "dict": "a dict",
    "list[str]": "a list of texts",
    "collections.abc.Sequence[str]": "a list of texts",
    "collections.abc.Mapping[str, float]": "a dict of numbers by name",
    "str | os.PathLike[str]": "a path",
}
_RANGES = {"group": (0, 2**32), "mask": (0, 2**32)}  # others: int
_OBJECTS = {"path": "a path", "joint": "the name or the index of a joint", "follows": "the name or the index of a joint"}


def _words(kind):
    return _WORDS.get(kind, kind.replace("almond._core.", "an almond."))


def _fits(value, kind):
    if kind == "float":
        try:
            return not isinstance(value, (str, bytes)) and float(value) is not None
        except (TypeError, ValueError, OverflowError):
            return False
    if kind == "int":
        try:
            return -(2**63) <= operator.index(value) < 2**63
        except TypeError:
            return False
    if kind in ("str", "bool", "bytes", "dict"):
        return type(value).__name__.rstrip("_") == kind
    if kind in ("list[str]", "collections.abc.Sequence[str]"):
        return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
    wanted = getattr(_core, kind.removeprefix("almond._core."), None)
    return not isinstance(wanted, type) or isinstance(value, wanted)


def _shown(value):
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _refusal(function, args, named):
    """What to raise; None where nothing better can be said."""
    signature = re.sub(r"\\\d+", "...", function.__nb_signature__[0][0])
    spec = ast.parse(signature + ": ...").body[0].args
    places = [*spec.posonlyargs, *spec.args]
    kinds = {a.arg: ast.unparse(a.annotation) if a.annotation else "object" for a in [*places, *spec.kwonlyargs]}
    shown = signature.removeprefix("def ").split(" -> ")[0]
    if len(args) > len(places) and spec.vararg is None:
        return TypeError(f"{function.__name__}: {len(args)} arguments, expected {shown}")
    given = {place.arg: value for place, value in zip(places, args)}
    for name, value in named.items():
        if name not in kinds or name in given:
            return TypeError(f"{name}: {'given twice' if name in given else 'no such argument'}, expected {shown}")
        given[name] = value
    needed = [a.arg for a in places[: len(places) - len(spec.defaults)]]
    needed += [a.arg for a, default in zip(spec.kwonlyargs, spec.kw_defaults) if default is None]
    for name in needed:
        if name not in given:
            return TypeError(f"{name}: missing, expected {_words(kinds[name])}")
    for name, value in given.items():
        kind = kinds[name].removesuffix(" | None")
        if name != "self" and not (value is None and kind != kinds[name]) and not (kind == "object" and value is not None):
            if not _fits(value, kind):
                return Error(f"{name}: is {_shown(value)}, expected {_words(kind)}")
    for name, value in given.items():
        least, end = _RANGES.get(name, (-(2**31), 2**31))
        if kinds[name] == "int" and not least <= operator.index(value) < end:
            which = f"from {least} to {end - 1}" if least == 0 else f"below {end}"
            return Error(f"{name}: is {_shown(value)}, expected a whole number {which}")
        if value is None and not kinds[name].endswith("| None"):
            return Error(f"{name}: is None, expected {_OBJECTS.get(name) or _words(kinds[name])}")
    return None


def _explained(function):
    @functools.wraps(function)
    def call(*args, **named):
        try:
            return function(*args, **named)
        except TypeError as error:
            if "incompatible function arguments" not in str(error):
                raise
            better = _refusal(function, args, named)
            if better is None:
                raise
            raise better from None

    return call


def explain_refusals():
    """In place, for what users call: methods of the public classes, shapes, and what load(), simulate() and solve() end in."""
    ours = "Batch Certificate ContactProblem Model ModelBuilder Simulation StepReport".split()
    for kind in (getattr(_core, name) for name in ours):
        for name, member in vars(kind).copy().items():
            if name.startswith("_"):
                continue
            if type(member).__name__ == "nb_method":
                setattr(kind, name, _explained(member))
            elif type(member).__name__ == "nb_func":
                setattr(kind, name, staticmethod(_explained(member)))
    for name, thing in vars(_core).copy().items():
        if type(thing).__name__ == "nb_func" and not name.startswith("_"):
            setattr(_core, name, _explained(thing))
