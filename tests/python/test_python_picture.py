"""Pictures of a simulation: where bodies are seen, how large, and which hides which, against the projection worked out by hand."""

import almond
import numpy as np
import pytest

W, H = 400, 300
SLOPE = 0.41  # tangent of half of the vertical angle of view


def simulation(*solids):
    """Solids (shape, position), without gravity's having had time to act."""
    builder = almond.ModelBuilder()
    for k, (shape, position) in enumerate(solids):
        builder.add_solid(f"solid{k}", shape, 1.0, position)
    return almond.simulate(builder.build())


def mask(picture):
    """Pixels that are not the sky's."""
    return (np.abs(picture.astype(int) - picture[0, 0]) > 2).any(axis=2)


def pixel(point, distance):
    """Of a point, seen by a camera at (0, -distance, 0) that looks along y."""
    scale = 0.5 * H / SLOPE
    depth = point[1] + distance
    return 0.5 * W + scale * point[0] / depth, 0.5 * H - scale * point[2] / depth


@pytest.mark.parametrize("at", [(0, 0, 0), (0.5, 0, 0.3), (-0.6, 0.5, -0.2)])
def test_a_ball_is_where_and_as_large_as_it_should_be(at):
    """A sphere of radius r at depth d covers r / sqrt(d^2 - r^2) of the unit picture where it is in the middle; its middle is seen where its centre is."""
    radius, distance = 0.1, 4.0
    seen = mask(simulation((almond.Sphere(radius), at)).picture(W, H, [0, -distance, 0, 0, 0, 0]))
    y, x = np.nonzero(seen)
    expected = pixel(at, distance)
    assert abs(x.mean() + 0.5 - expected[0]) < 0.6 and abs(y.mean() + 0.5 - expected[1]) < 0.6
    depth = at[1] + distance
    half = 0.5 * H / SLOPE * radius / np.sqrt(depth**2 - radius**2)
    assert abs(np.ptp(y) + 1 - 2 * half) <= 2.0 and np.ptp(x) + 1 >= 2 * half - 2.0


def test_a_box_covers_its_face():
    """The face towards the camera, at depth d - half: corners where the projection has them."""
    half, distance = np.array([0.3, 0.1, 0.2]), 3.0
    seen = mask(simulation((almond.Box(half), (0, 0, 0))).picture(W, H, [0, -distance, 0, 0, 0, 0]))
    left, top = pixel((-half[0], -half[1], half[2]), distance)
    right, bottom = pixel((half[0], -half[1], -half[2]), distance)
    y, x = np.nonzero(seen)
    np.testing.assert_allclose([x.min(), x.max() + 1, y.min(), y.max() + 1], [left, right, top, bottom], atol=1.0)
    assert seen.sum() == pytest.approx((right - left) * (bottom - top), rel=0.02)


def test_what_is_in_front_hides_what_is_behind():
    near, far = simulation((almond.Sphere(0.1), (0, -1, 0)), (almond.Box([0.1, 0.1, 0.1]), (0, 1, 0))), simulation((almond.Sphere(0.1), (0, -1, 0)))
    np.testing.assert_array_equal(near.picture(W, H, [0, -4, 0, 0, 0, 0]), far.picture(W, H, [0, -4, 0, 0, 0, 0]))


SHAPES = {
    "sphere": almond.Sphere(0.2), "capsule": almond.Capsule(0.1, 0.2), "box": almond.Box([0.1, 0.2, 0.3]), "cylinder": almond.Cylinder(0.1, 0.2), "cone": almond.Cone(0.1, 0.2),
    "ellipsoid": almond.Ellipsoid([0.1, 0.2, 0.3]), "hull": almond.Hull([[0, 0, 0], [0.2, 0, 0], [0, 0.3, 0], [0, 0, 0.4]]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_seen_whole_without_a_camera(name):
    """Nothing of it is cut off at the edge, and it has no holes: each row of a convex shape is one run of pixels."""
    seen = mask(simulation((SHAPES[name], (3, 2, 1))).picture(W, H))
    assert seen.sum() > 1000 and not (seen[0].any() or seen[-1].any() or seen[:, 0].any() or seen[:, -1].any())
    for row in seen[seen.any(axis=1)]:
        assert np.ptp(np.flatnonzero(row)) + 1 == row.sum()


def test_scenes_are_drawn_as_they_are():
    sim = almond.load("tower")
    before = sim.picture()
    assert before.shape == (360, 480, 3) and before.dtype == np.uint8
    np.testing.assert_array_equal(before, sim.picture())
    sim.q[0] += 0.5
    assert (before != sim.picture()).any()
    for wrong in (dict(width=5), dict(height=10**6), dict(width="a"), dict(camera=[1, 2, 3]), dict(camera=[0, 0, 1, 0, 0, 1]), dict(camera=[np.nan] * 6)):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            sim.picture(**wrong)
