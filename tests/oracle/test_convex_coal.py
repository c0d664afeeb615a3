"""Signed distances of random convex pairs of every kind, apart and overlapping, against the library Coal; and where Coal
gives up, against the definition: the normal found separates the shapes by the depth found."""

import os
import subprocess
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest

coal = pytest.importorskip("coal")

ROOT = Path(__file__).resolve().parents[2]
PROBE = Path(os.environ.get("ALMOND_CONVEX_PROBE", ROOT / "build" / "tests" / "convex_probe"))
pytestmark = pytest.mark.skipif(not PROBE.exists(), reason=f"{PROBE} is not built")

KINDS = ["sphere", "capsule", "box", "cylinder", "cone", "ellipsoid", "hull"]
PAIRS = list(combinations_with_replacement(KINDS, 2))
PER_PAIR = 180  # times 28 pairs of kinds: 5040


def random_rotation(rng):
    q = rng.normal(size=4)
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def random_shape(rng, kind):
    """The shape as the probe's words, as Coal's object, and its bounding radius."""
    size = 10.0 ** rng.uniform(-0.5, 0.3, size=3)
    if kind == "sphere":
        return ["sphere", size[0]], coal.Sphere(size[0]), size[0]
    if kind == "box":
        return ["box", *size], coal.Box(*(2 * size)), np.linalg.norm(size)
    if kind == "ellipsoid":
        return ["ellipsoid", *size], coal.Ellipsoid(*size), size.max()
    if kind == "hull":
        points = rng.normal(size=(rng.integers(4, 40), 3))
        points *= (rng.uniform(0.3, 1.0, size=len(points)) / np.linalg.norm(points, axis=1))[:, None]
        stack = coal.StdVec_Vec3s()
        for p in points:
            stack.append(p)
        return ["hull", len(points), *points.ravel()], coal.Convex.convexHull(stack, True, "Qt"), 1.0
    radius, half = size[0], size[1]
    objects = {"capsule": coal.Capsule, "cylinder": coal.Cylinder, "cone": coal.Cone}
    bound = radius + half if kind == "capsule" else np.hypot(radius, half)
    return [kind, radius, half], objects[kind](radius, 2 * half), bound


def reach_along(words, X, direction):
    """max of direction . x over the shape at X."""
    kind, *numbers = words
    d = X[0].T @ direction
    across = np.hypot(d[0], d[1])
    if kind == "sphere":
        height = numbers[0]
    elif kind == "box":
        height = np.dot(numbers, np.abs(d))
    elif kind == "ellipsoid":
        height = np.linalg.norm(numbers * d)
    elif kind == "hull":
        height = (np.reshape(numbers[1:], (-1, 3)) @ d).max()
    else:
        radius, half = numbers
        height = {
            "capsule": radius + half * abs(d[2]),
            "cylinder": radius * across + half * abs(d[2]),
            "cone": max(half * d[2], radius * across - half * d[2]),
        }[kind]
    return direction @ X[1] + height


def coal_distance(a, X_a, b, X_b):
    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    request.gjk_tolerance = 1e-9
    request.gjk_max_iterations = 1000
    request.epa_tolerance = 1e-8
    request.epa_max_iterations = 1000
    result = coal.DistanceResult()
    return coal.distance(a, coal.Transform3s(*X_a), b, coal.Transform3s(*X_b), request, result)


@pytest.fixture(scope="module")
def answers():
    """All pairs through both libraries: {(kind, kind): columns gap, converged, separation along n, Coal's gap, size}."""
    rng = np.random.default_rng(1)
    lines, pairs = [], []
    for kind_a, kind_b in PAIRS:
        for k in range(PER_PAIR):
            words_a, a, radius_a = random_shape(rng, kind_a)
            words_b, b, radius_b = random_shape(rng, kind_b)
            size = radius_a + radius_b
            X_a = (random_rotation(rng), rng.normal(size=3))
            direction = rng.normal(size=3)
            direction /= np.linalg.norm(direction)
            reach = rng.uniform(0.05, 0.6) if k % 3 == 0 else rng.uniform(0.3, 1.2)
            X_b = (random_rotation(rng), X_a[1] + reach * size * direction)
            numbers = [*words_a, *X_a[0].ravel(), *X_a[1], *words_b, *X_b[0].ravel(), *X_b[1]]
            lines.append(" ".join(f"{x:.17g}" if isinstance(x, float) else str(x) for x in numbers))
            pairs.append((words_a, X_a, words_b, X_b, coal_distance(a, X_a, b, X_b), size))
    done = subprocess.run([str(PROBE)], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=120)
    found = np.loadtxt(done.stdout.splitlines(), ndmin=2)
    assert len(found) == len(pairs)
    by_kind = {pair: [] for pair in PAIRS}
    for (gap, *n, converged), (words_a, X_a, words_b, X_b, coal_gap, size) in zip(found, pairs):
        n = np.array(n)
        separation = -reach_along(words_a, X_a, n) - reach_along(words_b, X_b, -n)
        by_kind[words_a[0], words_b[0]].append((gap, converged, separation, coal_gap, size))
    return {pair: np.array(rows).T for pair, rows in by_kind.items()}


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_gap(answers, pair):
    gap, converged, separation, coal_gap, size = answers[pair]
    assert converged.all()
    assert (np.abs(separation - gap) / size).max() < 1e-9
    apart = coal_gap > 0
    assert (np.abs(gap - coal_gap) / size)[apart].max(initial=0.0) < 1e-6
    # No way out that Coal knows is shorter. Where Coal's is longer, the separation above proves it wrong.
    assert ((gap - coal_gap) / size)[~apart].min(initial=0.0) > -1e-6
    assert np.count_nonzero(apart) > 10 and np.count_nonzero(~apart) > 10


def test_coal_agrees_mostly(answers):
    error = np.concatenate([np.abs(gap - coal_gap) / size for gap, _, _, coal_gap, size in answers.values()])
    assert len(error) >= 5000
    assert np.count_nonzero(error > 1e-6) < 0.03 * len(error)
