"""almond.mujoco on a model that threads share, and after Ctrl-C: the bits of one thread alone, and the model as it was."""

import signal
import threading

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
am = pytest.importorskip("almond.mujoco")

WORLD = """<mujoco><option integrator="{integrator}" o_margin="0.001"><flag override="{override}"/></option><worldbody>
<geom type="plane" size="5 5 .1"/>
<body pos="0 0 .3"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
<body pos=".05 0 .6"><freejoint/><geom type="box" size=".1 .08 .1"/></body>
<body pos="1 0 .5"><joint axis="0 1 0" damping=".3" range="-1 1" limited="true"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".05"/></body>
</worldbody></mujoco>"""


def make_model(integrator="Euler", override="disable"):
    return mujoco.MjModel.from_xml_string(WORLD.format(integrator=integrator, override=override))


def bytes_of(model):
    buffer = np.zeros(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


def start(model, k):
    data = mujoco.MjData(model)
    data.qvel[:6] = 0.1 * k
    return data


def run(model, data, steps=150):
    for _ in range(steps):
        am.step(model, data)


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast", "discrete"])
def test_threads_that_share_a_model_give_the_bits_of_one(integrator):
    model = make_model(integrator, "enable" if integrator == "Euler" else "disable")
    before = bytes_of(model)
    alone, together = ([start(model, k) for k in range(4)] for _ in range(2))
    for data in alone:
        run(model, data)
    threads = [threading.Thread(target=run, args=(model, data)) for data in together]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bytes_of(model) == before
    for one, other in zip(alone, together):
        np.testing.assert_array_equal(one.qpos, other.qpos)
        np.testing.assert_array_equal(one.qvel, other.qvel)


@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
def test_an_interrupt_leaves_the_model_as_it_was(integrator):
    def interrupt(*_):
        raise KeyboardInterrupt

    model = make_model(integrator, "enable")
    before = bytes_of(model)
    earlier = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for k in range(150):
            data = start(model, 1)
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-4 + 2e-5 * k)
                run(model, data)
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            assert bytes_of(model) == before, k
    finally:
        signal.signal(signal.SIGALRM, earlier)
    assert interrupted > 100


@pytest.mark.parametrize("stage", ["mj_step1", "mj_fwdActuation", "mj_Euler"])
def test_an_error_in_any_stage_leaves_the_model_as_it_was(stage, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    model = make_model("discrete", "enable")
    data = start(model, 1)
    run(model, data, 100)
    before, margins = bytes_of(model), model.geom_margin.copy()
    monkeypatch.setattr(mujoco, stage, fail)
    with pytest.raises(KeyboardInterrupt):
        am.step(model, data)
    assert bytes_of(model) == before
    model.geom_margin[:] = 0.01  # of the user: nothing of an earlier step is put back over it
    am.stepper_of(data)._solver.narrow()
    np.testing.assert_array_equal(model.geom_margin, 0.01)
    assert not np.array_equal(margins, model.geom_margin)
