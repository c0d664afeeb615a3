"""A Panda with an Allegro hand piles dishes. What the scene says of itself is checked against the trajectory it leaves."""

import numpy as np
import pytest

PILE = ["bowl1", "bowl2", "plate", "pot"]


@pytest.fixture(scope="module")
def piled(almond, tmp_path_factory):
    path = tmp_path_factory.mktemp("piling") / "piling.npz"
    result = almond("run", "dish_piling", "--json", "-", "--trajectory", path)
    if "example-robot-data is not installed" in result.err:
        pytest.skip("example-robot-data is not installed")
    assert result.code == 0, result.err
    trajectory = np.load(path)
    names = [str(name) for name in trajectory["names"]]
    return result.json(), {name: trajectory["position"][:, names.index(name)] for name in PILE}, trajectory, names


def test_arm_hand_and_dishes_have_47_dofs(piled):
    assert piled[0]["dofs"] == 7 + 16 + 4 * 6


def test_the_pile_stands_in_order_and_at_rest(piled):
    report, position, trajectory, names = piled
    assert report["success"], report["task"]
    heights = [position[name][-1, 2] for name in PILE]
    assert all(low < high - 1e-3 for low, high in zip(heights, heights[1:])), heights
    assert all(np.hypot(*(position[name][-1, :2] - position["bowl1"][-1, :2])) < 5e-3 for name in PILE)
    for name in PILE:
        assert np.linalg.norm(trajectory["linear_velocity"][-1, names.index(name)]) < 1e-3


def test_every_dish_but_the_first_was_carried(piled):
    """Each went up to where the hand carries it, and far to the side; nothing else lifts it."""
    _, position, _, _ = piled
    for name in PILE[1:]:
        assert position[name][:, 2].max() > 0.15, name
        assert np.hypot(*(position[name][0, :2] - position[name][-1, :2])) > 0.2, name
    assert position["bowl1"][:, 2].max() < 0.01


def test_a_light_pot_is_piled_as_well(almond, piled):
    """A tenth of the weight: nothing but the grip's force holds it, and nothing presses it on the pile."""
    result = almond("run", "dish_piling", "--set", "pot=0.5", "--strict", "--json", "-")
    assert result.code == 0 and result.json()["success"], result.json()["task"]


def test_bad_values_are_named(almond):
    result = almond("run", "dish_piling", "--set", "pot=50", "--steps", 1)
    assert result.code == 2 and "pot is 50, expected 0.1 to 5" in result.err, result.err


def test_missing_robots_are_named(almond, tmp_path):
    result = almond("run", "dish_piling", "--steps", 1, env={"ALMOND_ROBOTS": str(tmp_path / "nowhere")})
    assert result.code == 2 and "ALMOND_ROBOTS is" in result.err and "example-robot-data" in result.err, result.err
