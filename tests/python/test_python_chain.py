"""A heavy load on a chain of light links: what its energy does, against the linear theory of the scheme and its order in dt.

Tension pulls light links straight like a stiff spring, and free motion is explicit: beyond 2 / omega of the fastest wave paths are wrong, but
energy is kept.
"""

import almond
import numpy as np
import pytest

GRAVITY = 9.81


def make_chain(links, joint, load=10.0, length=2.0, mass=0.02, gravity=(0.0, 0.0, -GRAVITY), armature=0.0):
    """Thin rods along x from the origin on, with a ball of 5 cm at the end."""
    builder = almond.ModelBuilder("chain")
    builder.set_gravity(gravity)
    rod = length / links
    parent = None
    for i in range(links):
        parts = [(mass, rod / 2.0, mass * np.diag([5e-5, rod**2 / 12.0, rod**2 / 12.0]))]
        if i == links - 1:
            parts.append((load, rod, 0.4 * load * 0.05**2 * np.eye(3)))
        total = sum(m for m, _, _ in parts)
        com = sum(m * x for m, x, _ in parts) / total
        inertia = sum(own + m * (x - com) ** 2 * np.diag([0.0, 1.0, 1.0]) for m, x, own in parts)
        place = [rod if i else 0.0, 0.0, 0.0]
        builder.add_body(f"link{i}", parent, joint, axis=[0, 1, 0], position=place, mass=total, com=[com, 0, 0], inertia=inertia, armature=armature)
        parent = f"link{i}"
    return builder.build()


def fastest_wave(links, load=10.0, length=2.0, mass=0.02):
    """omega of the hanging chain: M a + K a = 0 in the angles of the links from the vertical, where K is tension times length."""
    rod = length / links
    M, K = np.zeros((links, links)), np.zeros(links)
    for k in range(links):
        to_com = np.where(np.arange(links) < k, rod, 0.0)
        to_com[k] = rod / 2.0
        M += mass * np.outer(to_com, to_com)
        M[k, k] += mass * rod**2 / 12.0
        K[k] = GRAVITY * rod * (mass * (links - k - 0.5) + load)
    M += load * rod**2
    M[-1, -1] += 0.4 * load * 0.05**2
    return np.sqrt(np.linalg.eigvals(np.linalg.solve(M, np.diag(K))).real.max())


@pytest.mark.parametrize("theta", [0.0, 0.5])
def test_waves_of_a_hanging_chain_grow_on_neither_side_of_the_limit_of_the_linear_theory(theta):
    links = 10
    model = make_chain(links, "revolute", gravity=(GRAVITY, 0.0, 0.0))

    def growth(limit):
        sim = almond.simulate(model, dt=limit / fastest_wave(links), theta=theta)
        sim.v = 1e-9 * np.random.default_rng(1).standard_normal(links)
        sim.step(20)
        early = np.abs(sim.v).max()
        sim.step(300)
        return np.abs(sim.v).max() / early

    assert growth(1.98) < 20.0
    assert growth(2.02) < 20.0  # where the scheme alone would grow by more than 1e6: there is no energy for it


def worst_energy_error(model, rate, seconds, theta=0.0):
    """As a share of the energy that the fall of the load sets free."""
    sim = almond.simulate(model, dt=1.0 / rate, theta=theta)
    start, worst = sum(sim.energy()), 0.0
    for _ in range(int(rate * seconds)):
        sim.step()
        worst = max(worst, abs(sum(sim.energy()) - start))
    return worst / (10.0 * GRAVITY * 2.0)


def test_the_energy_of_a_load_that_falls_on_thirty_ball_joints_is_kept():
    """At theta 1/2 to rounding; at 0 but for half an impulse of gravity, dt/2 |g p|, which is of first order."""
    model = make_chain(30, "ball")
    coarse, fine = (worst_energy_error(model, rate, 0.5) for rate in (1920, 3840))
    assert coarse < 1e-3
    assert np.log2(coarse / fine) == pytest.approx(1.0, abs=0.1)
    assert worst_energy_error(model, 480, 0.5, theta=0.5) < 1e-12


def test_no_wave_runs_away_at_the_usual_step():
    """Past the lowest point, where the tension is three times the weight. The bound: what the scheme's first order gives at this step,
    with armature, which makes the waves slow enough for it, and without."""
    at_3840 = worst_energy_error(make_chain(30, "ball"), 3840, 1.0)
    assert worst_energy_error(make_chain(30, "ball", armature=1e-3), 240, 1.0) < 2.0 * (3840 / 240) * at_3840
    assert worst_energy_error(make_chain(30, "ball"), 240, 1.0) < 2.0 * (3840 / 240) * at_3840
