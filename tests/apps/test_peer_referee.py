"""The referee of `almond bench peers` against closed forms, and the exported scenes: every engine starts from the same poses, falls as
semi-implicit Euler says, and MuJoCo's contact impulses carry the weight."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import peer_law  # noqa: E402
import peer_scenes  # noqa: E402
from peer_scenes import CUBE, DT, G, NO_TURN  # noqa: E402

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("mujoco"), reason="MuJoCo is not installed")
ENGINES = [("peer_mujoco", "mj_default", "mujoco"), ("peer_bullet", "bullet50", "pybullet"), ("peer_drake", "drake_lagged", "pydrake")]


@pytest.fixture(params=ENGINES, ids=lambda engine: engine[1])
def engine(request):
    module, setting, package = request.param
    if not importlib.util.find_spec(package):
        pytest.skip(f"{package} is not installed")
    return lambda scene: importlib.import_module(module).Run(scene, setting)


def referee():
    import peer_referee

    return peer_referee


def still(scene, frames):
    pose = [[*b["pos"], *b["quat"]] for b in scene["bodies"]]
    return np.tile(np.array(pose), (frames, 1, 1))


def test_depth_of_two_balls_and_of_a_box_in_the_ground():
    balls = [peer_scenes.ball(f"ball{i}", 1.0, 0.05, (0.0, 0.0, 1.0 + 0.1 * i - 0.003 * i)) for i in range(2)]
    scene = peer_scenes.scene("two", "x", "pile", 1.0, 0.5, balls)
    assert referee().Overlaps(scene).depths(still(scene, 1)[0]) == pytest.approx([0.003], abs=1e-12)
    cube = peer_scenes.scene("box", "x", "pile", 1.0, 0.5, [peer_scenes.box("cube", 1.0, (CUBE,) * 3, (0.0, 0.0, CUBE - 2e-4))])
    assert referee().Overlaps(cube).depths(still(cube, 1)[0]) == pytest.approx([2e-4] * 4, abs=1e-12)
    found = referee().judge(cube, still(cube, 300))
    assert found["pen_mean_mm"] == pytest.approx(0.2, abs=1e-9) and found["jitter_mm_s"] == found["energy_gain_J"] == 0.0


def test_links_that_a_joint_joins_do_not_overlap():
    scene = peer_scenes.quads(1)
    poses = importlib.import_module("peer_mujoco").Run(scene, "mj_default").poses()
    assert referee().Overlaps(scene).depths(poses).size == 0


def test_known_creep_slip_lift_and_stop():
    scene = peer_scenes.slope(0.95)
    angle = math.atan(0.95 * 0.5)
    poses = still(scene, 1201)
    way = 0.002 * DT * np.arange(1201)  # 2 mm/s down the slope
    poses[:, 0, 0] += way * math.cos(angle)
    poses[:, 0, 2] -= way * math.sin(angle)
    found = referee().slope(scene, poses)
    assert found["creep_mm_s"] == pytest.approx(2.0, rel=1e-9) and found["lift_mm"] == pytest.approx(0.0, abs=1e-9)

    scene = peer_scenes.slide()
    poses = still(scene, 361)
    speed = np.maximum(0.0, 3.0 - 0.5 * G * DT * np.arange(1, 361))
    poses[1:, 0, 0] += DT * np.cumsum(speed)
    poses[100, 0, 2] += 0.004
    found = referee().slide(scene, poses)
    assert found["way_error_pct"] == pytest.approx(0.0, abs=1e-9) and found["lift_mm"] == pytest.approx(4.0, rel=1e-9)

    scene = peer_scenes.grip(0.2, 1.5)
    poses = still(scene, 2401)
    poses[:, 0, 2] -= 1e-4 * DT * np.arange(2401)  # 0.1 mm/s
    found = referee().grip(scene, poses)
    assert found["slip_mm"] == pytest.approx(1.0, rel=1e-9) and found["slip_rate_mm_s"] == pytest.approx(0.1, rel=1e-9)
    assert not found["dropped"]


def test_energy_of_free_fall_is_kept_and_a_push_is_seen():
    scene = peer_scenes.scene("free", "x", "pile", 1.0, 0.5, [peer_scenes.ball("ball", 2.0, 0.05, (0.0, 0.0, 100.0))], [])
    n = np.arange(241)
    poses = still(scene, 241)
    poses[:, 0, 2] -= 0.5 * G * DT * DT * n * (n + 1)
    angle = 7.0 * DT * n
    poses[:, 0, 3:] = np.column_stack((np.cos(0.5 * angle), np.sin(0.5 * angle), 0.0 * n, 0.0 * n))
    assert np.ptp(referee().energies(scene, poses)) < 1e-8
    assert referee().spins(poses)[:, 0] == pytest.approx(np.tile([7.0, 0.0, 0.0], (240, 1)), abs=1e-9)
    poses[121:, 0, 0] += 3.0 * DT * np.arange(1, 121)  # from then on 3 m/s to the side: m v^2 / 2
    assert referee().judge(scene, poses)["energy_gain_J"] == pytest.approx(9.0, rel=1e-9)


def test_residual_of_one_contact():
    """Closed forms: the law gives zero; too much impulse, a missing friction and an approach give what is wrong with them."""
    mu, push = np.array([0.5]), 0.1

    def residual(impulse, velocity, bias=0.0):
        return peer_law.residual(np.array([impulse]), np.array([velocity]), np.array([bias]), mu)

    assert residual((0.0, 0.0, push), (0.0, 0.0, 0.0)) == 0.0  # rests
    assert residual((-0.05, 0.0, push), (2.0, 0.0, 0.0)) == pytest.approx(0.0, abs=1e-15)  # slides, friction at its limit
    assert residual((0.0, 0.0, 0.0), (0.3, 0.0, 0.7)) == 0.0  # flies off
    assert residual((0.0, 0.0, push), (0.0, 0.0, 0.02)) == pytest.approx(0.02)  # pushed up
    assert residual((0.0, 0.0, push), (0.03, 0.0, 0.0)) == pytest.approx(0.03)  # creeps below the limit
    assert residual((0.0, 0.0, push), (2.0, 0.0, 0.0)) == pytest.approx(0.05)  # slides without friction: mu lambda_n is missing
    assert residual((0.0, 0.0, 0.0), (0.0, 0.0, -0.4)) == pytest.approx(0.4)  # falls through
    assert residual((0.0, 0.0, 0.0), (0.0, 0.0, -0.4), 0.4) == 0.0  # closes a gap
    # In m/s it does not depend on the units of mass: of a mass m on the ground tr W = 3 / m.
    for mass in (1e-3, 1.0, 1e3):
        scaled = peer_law.scaled_residual(np.array([[0.0, 0.0, mass * push]]), np.array([[0.0, 0.0, 0.02]]), np.zeros(1), mu,
                                          np.array([3.0 / mass]))
        assert scaled == pytest.approx(0.02)


def test_biases():
    gap = np.array([1e-3, -1e-3])
    assert peer_law.bias_e0(gap) == pytest.approx([240e-3, 0.0]) and peer_law.bias_erp2(gap) == pytest.approx([240e-3, -48e-3])


def test_inertia_at_a_contact_is_that_of_the_matrices():
    """Two free boxes, turned, with their centres of mass off the origin: tr of sum_b J_b M_b^-1 J_b^T."""
    rng = np.random.default_rng(3)
    quats = rng.normal(size=(2, 4))
    quats /= np.linalg.norm(quats, axis=1, keepdims=True)
    boxes = [peer_scenes.body(f"b{k}", 0.5 + k, (0.01, 0.02 + k, 0.03), [], com=(0.01, -0.02 * k, 0.03)) for k in range(2)]
    poses, point = np.hstack((rng.normal(size=(2, 3)), quats)), rng.normal(size=3)
    expected = 0.0
    for body, pose in zip(boxes, poses):
        R = np.column_stack([referee().rotate(pose[3:], axis) for axis in np.eye(3)])
        r = point - pose[:3] - R @ body["com"]
        cross = np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
        W = np.eye(3) / body["mass"] - cross @ R @ np.diag(1.0 / np.array(body["inertia"])) @ R.T @ cross
        expected += np.trace(W)
    scene = peer_scenes.scene("two", "x", "pile", 1.0, 0.5, boxes)
    found = peer_law.free_traces(scene, poses, np.array([[0, 1], [0, -1]]), np.array([point, point]))
    assert found[0] == pytest.approx(expected, rel=1e-12) and 0.0 < found[1] < found[0]


def test_all_engines_tell_the_impulse_of_a_ball_at_rest(engine):
    """Where forces are told they carry the weight, so that the law holds but for the overlap: e0 is small, erp.2 sees the overlap."""
    scene = peer_scenes.scene("ball", "x", "drop", 1.0, 0.5, [peer_scenes.ball("ball", 1.0, 0.05, (0.0, 0.0, 0.05))])
    made = engine(scene)
    for _ in range(240):
        if hasattr(made, "push"):
            made.push()
        made.step()
    found = made.judge()
    assert found["contacts"] == 1 and found["e0"] < 1e-4 < found["erp2"]
    assert found.get("scaled", 0.0) < 1e-4


def test_impulses_of_mujoco_carry_the_weight():
    run = importlib.import_module("peer_mujoco").Run(peer_scenes.stack(4), "mj_hard")
    for _ in range(480):
        run.step()
    impulse, velocity, gap, mu, _ = run.contacts()
    assert len(mu) == 16 and np.all(mu == 0.6) and np.all(gap < 0.0) and np.abs(velocity).max() < 1e-9
    # The ground carries all four cubes, each interface what is above it: in all 4 x 5 + (3 + 2 + 1) x 0.1 kg.
    assert impulse[:, 2].sum() == pytest.approx((4 * 5.0 + 6 * 0.1) * G * DT, rel=1e-6)
    assert run.judge()["e0"] < 1e-9 and run.scaled() < 1e-8


@pytest.mark.parametrize("name", ["stack4", "dish", "quad8", "grip0.2x1.5", "slope0.95"])
def test_all_engines_start_alike(engine, name):
    from peer_mujoco import Run

    scene = peer_scenes.make(name)
    ours, theirs = Run(scene, "mj_default").poses(), engine(scene).poses()
    # PyBullet takes places of links in single precision.
    assert theirs[:, :3] == pytest.approx(ours[:, :3], abs=1e-6)
    assert np.abs(np.sum(ours[:, 3:] * theirs[:, 3:], axis=1)) == pytest.approx(np.ones(len(ours)), abs=1e-6)


def test_all_engines_fall_alike(engine):
    run = engine(peer_scenes.drop())
    for _ in range(40):
        run.step()
    assert run.poses()[0, 2] == pytest.approx(0.55 - 0.5 * G * DT * DT * 40 * 41, abs=1e-9)


def test_legs_swing_alike(engine):
    """Springs, dampers and inertias of a robot in the air: links move by centimetres against the trunk, and engines differ by how they
    step in time only."""
    from peer_mujoco import Run

    ours, theirs = Run(peer_scenes.quads(1), "mj_default"), engine(peer_scenes.quads(1))
    start = ours.poses()[:, :3]
    for _ in range(24):
        ours.step()
        if hasattr(theirs, "push"):
            theirs.push()
        theirs.step()
    moved = ours.poses()[:, :3] - start
    assert np.abs(moved - moved[0]).max() > 5e-3
    assert theirs.poses()[:, :3] == pytest.approx(ours.poses()[:, :3], abs=5e-4)


def test_all_engines_start_with_the_speed_of_the_scene(engine):
    run = engine(peer_scenes.scene("thrown", "x", "pile", 1.0, 0.5, [peer_scenes.ball("ball", 1.0, 0.05, (0, 0, 9), velocity=(1, 2, 0))]))
    for _ in range(24):
        run.step()
    assert run.poses()[0, :2] == pytest.approx([0.1, 0.2], abs=1e-9)


def test_bullet_has_friction_and_inertia_of_the_scene():
    p = pytest.importorskip("pybullet", reason="pybullet is not installed")
    from peer_bullet import Run

    for name in ("quad8", "grip0.2x1.5", "dish"):
        scene = peer_scenes.make(name)
        run = Run(scene, "bullet50")
        for b in scene["bodies"]:
            number, link, _ = run.places[b["name"]]
            mass, friction, inertia, com, *_ = p.getDynamicsInfo(number, link)
            assert (mass, friction**2) == pytest.approx((b["mass"], scene["mu"])), b["name"]
            assert inertia == pytest.approx(b["inertia"]) and com == pytest.approx(b["com"], abs=1e-6), b["name"]


def test_scenes_weigh_what_they_say():
    assert sum(b["mass"] for b in peer_scenes.stack(10)["bodies"]) == pytest.approx(5.9)
    assert sum(b["mass"] for b in peer_scenes.dish()["bodies"]) == pytest.approx(5.3)
    assert len(peer_scenes.quads(8)["bodies"]) == 8 * 13 and len(peer_scenes.dish()["bodies"][0]["geoms"]) == 13
    assert peer_scenes.make("growth300")["steps"] == 120
    with pytest.raises(ValueError, match="no scene 'stack5'"):
        peer_scenes.make("stack5")
    with pytest.raises(ValueError, match="no field wheel"):
        peer_scenes.body("x", 1.0, (1, 1, 1), [], wheel=1)


def test_wrenches_are_the_same_every_time():
    scene = peer_scenes.quads(1)
    first, again = (np.array(peer_scenes.wrenches(scene, 3)) for _ in range(2))
    assert first.shape == (3, 13, 6) and np.array_equal(first, again)
    hips = [k for k, b in enumerate(scene["bodies"]) if not b["geoms"]]
    assert len(hips) == 4 and not first[:, hips].any() and first[:, 0].all()
    assert NO_TURN == scene["bodies"][1]["quat"]
