"""What a batch has of a simulation: contacts, wrenches, states, controls by name. Each world against a simulation of its own, bit for
bit. And copies of simulations against the run they were taken from."""

import copy

import almond
import numpy as np
import pytest

NAMES = ("q", "v", "target", "target_velocity", "feedforward")


def make_model():
    """A box on the floor and an arm with drives of three modes."""
    builder = almond.ModelBuilder("batch")
    builder.add_ground(almond.Plane())
    builder.add_solid("box", almond.Box([0.1, 0.1, 0.1]), 2.0, [0, 0, 0.1])
    parent = None
    for name, mode in (("shoulder", "position"), ("elbow", "velocity"), ("wrist", "torque")):
        builder.add_body(name, parent, "revolute", joint_name=name + "_joint", axis=[0, 1, 0], position=[0.3, 0, 0 if parent else 2],
                         mass=1.0, inertia=[0.1, 0.1, 0.1], com=[0.1, 0, 0])  # fmt: skip
        builder.add_drive(name + "_joint", mode, stiffness=50.0 if mode == "position" else 0.0, damping=0.0 if mode == "torque" else 5.0)
        parent = name
    return builder.build()


MODEL = make_model()


def assert_same(batch, k, sim):
    for name in NAMES:
        assert np.array_equal(getattr(batch, name)[k], getattr(sim, name)), name


def test_wrenches_push_each_world_as_they_push_a_simulation_and_by_newtons_law():
    batch = almond.Batch(MODEL, 3, threads=2)
    assert batch.wrenches.shape == (3, MODEL.num_bodies, 6)
    batch.wrenches[:, MODEL.body("box"), 2] = [0.0, 30.0, 60.0]  # its weight is 19.62 N
    batch.wrenches[2, MODEL.body("box"), 5] = 0.1
    batch.step(50)
    for k in range(3):
        sim = almond.simulate(MODEL)
        sim.wrenches = batch.wrenches[k]
        sim.step(50)
        assert_same(batch, k, sim)
    accelerations = batch.body_velocities("box")[:, 2] / (50 * batch.dt)
    assert accelerations == pytest.approx([0.0, 30.0 / 2.0 - 9.81, 60.0 / 2.0 - 9.81], abs=1e-6)
    batch.reset([1])
    assert not batch.wrenches[1].any() and batch.wrenches[2].any()


def test_contacts_of_a_world_are_those_of_its_simulation_and_carry_the_weight():
    batch = almond.Batch(MODEL, 2, threads=1)
    assert len(batch.contacts(0)["gap"]) == 0
    batch.v[1, MODEL.v_slice("box")][0] = 1.0  # slides
    batch.step(20)
    for k in range(2):
        sim = almond.simulate(MODEL)
        sim.v[MODEL.v_slice("box")][0] = float(k)
        sim.step(20)
        ours, theirs = batch.contacts(k), sim.contacts()
        assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)
        assert ours["force"].sum(axis=0)[2] == pytest.approx(2.0 * 9.81, rel=1e-6)
    assert set(batch.contacts(0)["mode"]) == {"stick"} and set(batch.contacts(1)["mode"]) == {"slip"}
    batch.reset([0])
    assert len(batch.contacts(0)["gap"]) == 0 and len(batch.contacts(1)["gap"]) == 4
    for wrong in (2, -1, None, 0.5):
        with pytest.raises(ValueError, match="world: "):
            batch.contacts(wrong)


def disturbed():
    batch = almond.Batch(MODEL, 3, threads=2)
    batch.v[:] = 0.3 * np.random.default_rng(0).standard_normal(batch.v.shape)
    batch.target[:, 0] = [0.1, 0.2, 0.3]
    batch.wrenches[:, 0, 0] = [0.0, 1.0, 2.0]
    batch.step(10)
    return batch


def test_saved_worlds_go_on_with_the_same_bits_here_in_other_worlds_and_in_simulations():
    batch = disturbed()
    states = batch.save()
    batch.step(15)
    q, v = batch.q.copy(), batch.v.copy()

    again = almond.Batch(MODEL, 3, threads=1)
    again.restore(states)
    again.step(15)
    assert np.array_equal(again.q, q) and np.array_equal(again.v, v)

    batch.restore([states[2], states[0]], [0, 2])  # to other places; world 1 stays
    assert np.array_equal(batch.q[1], q[1])
    batch.step(15)
    assert np.array_equal(batch.q[0], q[2]) and np.array_equal(batch.q[2], q[0])

    batch.restore(states[1])  # one for all
    batch.step(15)
    assert all(np.array_equal(row, q[1]) for row in batch.q)

    sim = almond.simulate(MODEL)
    sim.restore(states[1])
    sim.step(15)
    assert np.array_equal(sim.q, q[1])
    batch.restore(sim.save(), [True, False, False])
    assert_same(batch, 0, sim)
    assert batch.save()[0] == sim.save()


def test_a_restore_that_is_refused_leaves_every_world_as_it_was():
    batch = disturbed()
    states, before = batch.save(), (batch.q.copy(), batch.v.copy(), batch.wrenches.copy())
    batch.step(5)
    after = batch.save()
    damaged = states[2][:-1] + bytes([states[2][-1] ^ 1])
    other = almond.load("ball").save()
    for wrong, message in (
        ([states[0], states[1], damaged], "damaged"),
        ([states[0], other, states[2]], "restore"),
        (states[:2], "states: "),
        ([states[0], "x", states[2]], "states: entry 1"),
        (None, "states: "),
        (3, "states: "),
        (other, "restore"),
    ):
        with pytest.raises(ValueError, match=message):
            batch.restore(wrong)
        assert batch.save() == after
    batch.restore(states)
    assert all(np.array_equal(x, y) for x, y in zip(before, (batch.q, batch.v, batch.wrenches)))


def test_controls_by_name_set_what_the_mode_of_each_drive_follows_in_all_worlds():
    batch = almond.Batch(MODEL, 3, threads=1)
    batch.set_control({"shoulder_joint": 0.4, "elbow_joint": [1.0, 2.0, 3.0], "wrist_joint": np.array([0.1, 0.2, 0.3])})
    assert np.array_equal(batch.target[:, 0], [0.4] * 3)
    batch.step(10)
    for k in range(3):
        sim = almond.simulate(MODEL)
        sim.set_control({"shoulder_joint": 0.4, "elbow_joint": k + 1.0, "wrist_joint": [0.1, 0.2, 0.3][k]})
        sim.step(10)
        assert_same(batch, k, sim)
    before = batch.save()
    for wrong in ({"elbow_joint": [1.0, 2.0]}, {"elbow_joint": [1.0, 2.0, np.nan]}, {"elbow_joint": "x"}, {"elbow_joint": True},
                  {"elbow_joint": None}, {"elbow_joint": [[1.0], [2.0], [3.0]]}, {"elbow_joint": ["a", "b", "c"]}, {3: 1.0}, 3,
                  {"shoulder_joint": 1.0, "nobody": 1.0}):  # fmt: skip
        with pytest.raises(ValueError):
            batch.set_control(wrong)
        assert batch.save() == before


def test_numbers_that_mean_nothing_in_wrenches_of_a_batch_are_named():
    batch = almond.Batch(MODEL, 2, threads=1)
    batch.wrenches[1, 2, 4] = np.nan
    with pytest.raises(ValueError, match=r"wrenches\[1\]\[2, 4\]: is nan"):
        batch.step()
    for wrong in (np.zeros((2, 6)), np.zeros((2, MODEL.num_bodies, 5)), None, "x"):
        with pytest.raises(ValueError, match="wrenches: "):
            batch.wrenches = wrong


@pytest.mark.parametrize("name", ["tower", "gripper", "pendulum", "cup"])
def test_a_copy_goes_on_as_the_original_does_and_neither_moves_the_other(name):
    sim = almond.load(name, seed=3, **({"balls": 6} if name == "cup" else {}))
    sim.step(12)
    sim.wrenches[0] = [0.1, 0, 0, 0, 0, 0.01]
    twin, copies = sim.clone(), [copy.copy(sim), copy.deepcopy(sim)]
    state = sim.save()
    twin.step(12)
    assert sim.save() == state
    sim.step(12)
    assert sim.save() == twin.save()
    assert str(sim.judge()) == str(twin.judge())
    for other in copies:
        other.step(12)
        assert other.save() == sim.save()
        other.reset()
        assert other.steps == 0 and sim.steps == 24
    assert twin.dt == sim.dt and twin.name == sim.name and twin.scripted == sim.scripted


def test_a_weld_holds_a_body_at_the_pose_it_names():
    """On the ground, against gravity and a torque; the closed form is the pose itself. A millionth of what gravity moves in a step is its give."""
    builder = almond.ModelBuilder("weld")
    half = np.sqrt(0.5)
    builder.add_solid("plate", almond.Box([0.1, 0.05, 0.02]), 1.0, [0.4, -0.2, 1.0], quaternion=[half, 0, 0, half])
    builder.add_weld("holds", None, "plate", [0.4, -0.2, 1.0], [half, 0, 0, half])
    sim = almond.simulate(builder.build())
    start = sim.body_poses()[0].copy()
    sim.wrenches[0, 3:] = [0.0, 0.5, 0.2]
    sim.step(240)
    assert sim.body_poses()[0] == pytest.approx(start, abs=1e-7)
    with pytest.raises(ValueError, match="quaternion"):
        builder.add_weld("wrong", None, "plate", quaternion=[0, 0, 0, 0])
    with pytest.raises(ValueError, match="body_b"):
        builder.add_weld("wrong", None, "nobody")


def test_two_welded_bodies_fall_as_one_and_turn_with_the_inertia_of_both():
    builder = almond.ModelBuilder("weld")
    builder.set_gravity([0, 0, 0])
    for name, x in (("a", 0.0), ("b", 0.5)):
        builder.add_solid(name, almond.Sphere(0.1), 1.0, [x, 0, 0])
    builder.add_weld("holds", "a", "b", [0.5, 0, 0])
    sim = almond.simulate(builder.build())
    sim.wrenches[0, 5] = 0.1  # 0.1 N m about z
    sim.step(24)
    inertia = 2 * (0.4 * 1.0 * 0.1**2 + 1.0 * 0.25**2)
    assert sim.body_velocities()[:, 5] == pytest.approx(0.1 * 24 * sim.dt / inertia, rel=1e-4)
