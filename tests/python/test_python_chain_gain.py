"""Proves that hanging chains gain no energy where MuJoCo's do: the same MJCF chain, undamped and let go sideways, stepped by
both at the same time step. `python tests/python/test_python_chain_gain.py` prints the table of docs/theory.md."""

import almond
import pytest

mujoco = pytest.importorskip("mujoco")

INTEGRATORS = ("Euler", "implicitfast", "RK4")
LENGTH, MASS, G = 0.1, 0.1, 9.81  # of a link [m, kg]


def chain(links, dt, integrator="Euler"):
    """Hinges that cross in turn; damping is 0, and energy is counted."""
    bodies = "".join(
        f'<body pos="{LENGTH if i else 0} 0 0"><joint axis="0 {1 - i % 2} {i % 2}"/>'
        f'<inertial pos="{LENGTH / 2} 0 0" mass="{MASS}" diaginertia="1e-6 8.4e-5 8.4e-5"/>'
        for i in range(links)
    )
    return (
        f'<mujoco><option timestep="{dt!r}" integrator="{integrator}"><flag energy="enable"/></option>'
        f"<worldbody>{bodies}{'</body>' * links}</worldbody></mujoco>"
    )


def fall_energy(links):
    """From held out sideways to hanging straight [J]."""
    return MASS * G * LENGTH * sum(i + 0.5 for i in range(links))


def gain_of_almond(links, dt, seconds, folder):
    file = folder / "chain.xml"
    file.write_text(chain(links, dt))
    sim = almond.load(str(file))
    start = most = sum(sim.energy())
    for _ in range(round(seconds / dt)):
        assert sim.step().solved
        most = max(most, sum(sim.energy()))
    return (most - start) / fall_energy(links)


def gain_of_mujoco(links, dt, seconds, integrator):
    model = mujoco.MjModel.from_xml_string(chain(links, dt, integrator))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    start = most = data.energy.sum()
    for _ in range(round(seconds / dt)):
        mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        most = max(most, data.energy.sum())  # after a bad state MuJoCo begins anew, and what it had is kept here
    return (most - start) / fall_energy(links)


@pytest.mark.parametrize("links, dt", [(10, 1 / 240), (20, 1 / 240), (10, 1 / 60)])
def test_chains_gain_nothing(links, dt, tmp_path):
    # E itself swings by dt/2 |g·p|, half an impulse of gravity, at the speed sqrt(g L) of the fall.
    ours = gain_of_almond(links, dt, 3.0, tmp_path)
    assert ours < dt * (G / (links * LENGTH)) ** 0.5
    assert ours < min(gain_of_mujoco(links, dt, 3.0, integrator) for integrator in ("Euler", "implicitfast"))


if __name__ == "__main__":
    import pathlib
    import tempfile

    print("| links | rate [Hz] | Almond |" + "".join(f" MuJoCo {name} |" for name in INTEGRATORS))
    for links, rate in ((10, 240), (20, 240), (10, 60), (20, 60)):
        with tempfile.TemporaryDirectory() as folder:
            gains = [gain_of_almond(links, 1 / rate, 10.0, pathlib.Path(folder))]
        gains += [gain_of_mujoco(links, 1 / rate, 10.0, name) for name in INTEGRATORS]
        print(f"| {links} | {rate} |" + "".join(f" {gain:.2g} |" for gain in gains))
