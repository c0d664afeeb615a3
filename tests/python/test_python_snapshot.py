"""save, restore and reset give all back that the next step depends on: stepping on repeats every bit, in this simulation and in a
new one. Against the run that was never interrupted."""

import numpy as np
import pytest

import almond

BEFORE, AFTER = 12, 12
SMALL = {"spheres": {"count": 30}, "pour": {"balls": 8}, "bottle": {"balls": 6}, "cup": {"balls": 6}, "gripper": {"shake": 1.0}, "pouring": {"balls": 8}}
TASKS = {  # step of the snapshot, shortly before a phase ends
    "bolt_nut_assembly": 230,
    "bolt_nut_regrasp": 490,
    "dish_piling": 250,
    "pouring": 275,
}
SCENES = sorted(set(almond.scenes()) - set(TASKS))


def load(name, **more):
    try:
        return almond.load(name, **SMALL.get(name, {}), **more)
    except ValueError as error:
        if "example-robot-data" in str(error):
            pytest.skip(f"{name}: needs example-robot-data")
        raise


def run(sim, n):
    """Every state on the way, and what the scene says of it."""
    rows = []
    for _ in range(n):
        sim.step()
        rows.append(np.concatenate([sim.q, sim.v, sim.target, sim.target_velocity, sim.feedforward, [sim.time]]))
    return np.array(rows).tobytes(), str(sim.judge())


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_goes_on_from_a_snapshot_and_from_its_start_with_the_same_bits(name):
    sim = load(name, seed=3)
    start = run(sim, BEFORE)
    state = sim.save()
    expected = run(sim, AFTER)
    sim.restore(state)
    assert sim.save() == state
    assert run(sim, AFTER) == expected
    sim.reset()
    assert run(sim, BEFORE) == start
    assert sim.save() == state
    assert run(sim, AFTER) == expected


@pytest.mark.parametrize("name", TASKS)
def test_a_task_goes_on_from_a_snapshot_in_a_new_simulation(name):
    sim = load(name)
    sim.step(TASKS[name])
    state = sim.save()
    expected = run(sim, 40)
    sim.restore(state)
    assert run(sim, 40) == expected
    other = load(name)
    other.restore(state)
    assert run(other, 40) == expected


def test_a_task_begins_anew_after_reset():
    sim = load("dish_piling")
    start = run(sim, 60)
    sim.step(220)  # into the next phase
    sim.reset()
    assert run(sim, 60) == start


def test_asking_how_a_task_went_changes_nothing():
    both = [load("dish_piling") for _ in range(2)]
    for _ in range(20):
        both[0].judge()
        for sim in both:
            sim.step()
    assert both[0].save() == both[1].save()


def make_arm():
    b = almond.ModelBuilder("arm")
    b.add_body("link", joint="revolute", axis=[0, 1, 0], mass=1.0, com=[0.2, 0, 0], inertia=[0.01] * 3)
    b.add_drive("link", "impedance", stiffness=50.0, damping=2.0)
    b.add_ground(almond.Plane())
    b.add_solid("ball", almond.Sphere(0.1), mass=1.0, position=[1, 0, 0.1])
    return almond.simulate(b.build())


def test_targets_and_wrenches_are_part_of_a_snapshot_and_of_the_start():
    sim, fresh = make_arm(), make_arm()
    start = sim.save()
    target, wrenches = sim.target, sim.wrenches  # views that stay
    target[:], sim.feedforward[:], wrenches[1, 0] = 0.3, 0.5, 2.0
    sim.step(20)
    state = sim.save()
    sim.step(20)
    expected = sim.save()
    target[:], sim.target_velocity[:], sim.feedforward[:], wrenches[:] = 0.0, 1.0, 2.0, -1.0
    sim.step(5)
    sim.restore(state)
    assert target[0] == 0.3 and sim.target_velocity[0] == 0.0 and sim.feedforward[0] == 0.5
    assert wrenches[1, 0] == 2.0 and np.count_nonzero(wrenches) == 1
    sim.step(20)
    assert sim.save() == expected
    sim.reset()
    assert sim.save() == start
    assert run(sim, 20) == run(fresh, 20)


def test_a_snapshot_of_another_world_is_refused_and_changes_nothing():
    sim, other = make_arm(), almond.load("tower")
    before = sim.save()
    with pytest.raises(ValueError, match="restore"):
        sim.restore(other.save())
    with pytest.raises(ValueError, match="restore"):
        sim.restore(b"")
    assert sim.save() == before


def test_a_task_of_other_phases_is_refused():
    three, two = load("bolt_nut_regrasp"), load("bolt_nut_regrasp", grasps=2)
    before = two.save()
    with pytest.raises(ValueError, match="phases"):
        two.restore(three.save())
    assert two.save() == before
