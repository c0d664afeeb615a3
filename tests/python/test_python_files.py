"""Files mean the same by every door: gravity and time step, friction and gravity compensation against MuJoCo, and what is lost."""

import warnings

import numpy as np
import pytest

almond = pytest.importorskip("almond")
mujoco = pytest.importorskip("mujoco")

FALL = """<mujoco><option gravity="0 0 -1.62" timestep="0.004"/>
<worldbody><body name="b" pos="0 0 5"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
LOST = """<mujoco><worldbody><site name="s"/><body name="b"><joint/><geom size="0.1"/><site name="t" pos="0.1 0 0"/></body></worldbody>
<tendon><spatial><site site="s"/><site site="t"/></spatial></tendon><sensor><clock/></sensor></mujoco>"""


def write(folder, text, name="robot.xml"):
    path = folder / name
    path.write_text(text)
    return path


def read(path, **options):
    builder = almond.ModelBuilder()
    builder.add_mjcf(path, **options)
    return builder.build()


def test_every_door_has_the_file_s_gravity_and_time_step(tmp_path):
    """v = g dt after a step of free fall."""
    path = write(tmp_path, FALL)
    model = read(path)
    scene = write(tmp_path, '{"almond_scene": 1, "robots": [{"file": "robot.xml"}]}', "scene.json")
    for sim in (almond.load(path), almond.load(scene), almond.simulate(model), almond.simulate(almond.load(path).model)):
        assert sim.dt == sim.model.time_step == 0.004
        sim.step()
        assert sim.v[2] == pytest.approx(-1.62 * 0.004, rel=1e-12)
    batch = almond.Batch(model, 3)
    assert batch.dt == 0.004
    batch.step()
    assert batch.v[:, 2] == pytest.approx(-1.62 * 0.004, rel=1e-12)


def test_options_that_are_given_win(tmp_path):
    path = write(tmp_path, FALL)
    assert almond.load(path, dt=0.001).dt == almond.simulate(read(path), dt=0.001).dt == almond.Batch(read(path), 1, dt=0.001).dt == 0.001
    scene = write(tmp_path, '{"almond_scene": 1, "gravity": [0, 1, 0], "time_step": 0.003, "robots": [{"file": "robot.xml"}]}', "scene.json")
    sim = almond.load(scene)
    assert sim.dt == 0.003 and list(sim.model.gravity) == [0, 1, 0] and sim.model.remarks == []
    builder = almond.ModelBuilder()
    builder.set_time_step(0.01)
    builder.add_mjcf(path)
    builder.set_gravity([0, 0, -5])
    model = builder.build()
    assert model.time_step == 0.01 and list(model.gravity) == [0, 0, -5] and model.remarks == []


def test_the_first_of_several_files_decides_with_a_remark(tmp_path):
    path, other = write(tmp_path, FALL), write(tmp_path, FALL.replace("-1.62", "-3.7").replace("0.004", "0.001"), "other.xml")
    builder = almond.ModelBuilder()
    builder.add_mjcf(path, name="one")
    builder.add_mjcf(other, name="two")
    model = builder.build()
    assert model.gravity[2] == -1.62 and model.time_step == 0.004
    assert model.remarks == [
        f"{other}: its gravity (0, 0, -3.7) m/s² gives way to (0, 0, -1.62) m/s² of {path}",
        f"{other}: its time step of 0.001 s gives way to 0.004 s of {path}",
    ]


def test_scenes_by_name_carry_their_time_step():
    for name in ("tower", "ball"):
        sim = almond.load(name)
        assert almond.simulate(sim.model).dt == sim.dt == sim.model.time_step


@pytest.mark.parametrize("door", ["load", "scene", "add_mjcf"])
def test_what_a_file_loses_is_a_warning_once_per_load(tmp_path, door):
    path = write(tmp_path, LOST)
    scene = write(tmp_path, '{"almond_scene": 1, "robots": [{"file": "robot.xml"}]}', "scene.json")
    doors = {"load": lambda: almond.load(path), "scene": lambda: almond.load(scene), "add_mjcf": lambda: read(path)}
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            doors[door]()
        assert len(caught) == 1 and caught[0].category is almond.FileWarning and caught[0].filename == __file__
        file = scene if door == "scene" else path
        assert str(caught[0].message) == f"{file}: without effect in Almond: 1 x spatial tendon"
    with warnings.catch_warnings():
        warnings.simplefilter("error", almond.FileWarning)
        almond.load(write(tmp_path, FALL, "plain.xml"))
        almond.load("tower")
        with pytest.raises(almond.FileWarning):
            doors[door]()


def test_urdf_warns_of_what_moves_something(tmp_path):
    urdf = """<robot name="r"><link name="a"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>{}</robot>"""
    builder = almond.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.add_urdf(write(tmp_path, urdf.format(""), "quiet.urdf"))
    with pytest.warns(almond.FileWarning, match="quiet.*gazebo|gazebo"):
        almond.load(write(tmp_path, urdf.format('<gazebo><plugin name="p" filename="f"/></gazebo>'), "loud.urdf"))


def friction_of_pairs(path):
    """By names of geoms: MuJoCo's friction of every contact, and ours. Its least is 1e-5."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    theirs = {}
    for contact in data.contact:
        pair = frozenset(model.geom(g).name for g in contact.geom)
        theirs[pair] = contact.friction[0] if contact.dim > 1 else 0.0
    sim = almond.load(path)
    sim.step()
    names, contacts, ours = sim.model.geom_names, sim.contacts(), {}
    for a, b, mu in zip(contacts["geom_a"], contacts["geom_b"], contacts["mu"]):
        ours[frozenset((names[a], names[b]))] = mu
    return theirs, ours


@pytest.mark.parametrize("seed", range(12))
def test_friction_of_every_pair_is_mujoco_s(tmp_path, seed):
    """Balls that overlap, with random friction, priority, condim and pairs."""
    random = np.random.default_rng(seed)
    bodies, pairs = "", ""
    for k in range(7):
        x, y, z = 0.02 * random.normal(size=3)
        bodies += f"""<body pos="{x} {y} {z}"><freejoint/><geom name="g{k}" size="0.1" friction="{random.choice([0, 0.1, 0.4, 0.9, 2])} 0.005 0.0001"
            priority="{random.integers(-1, 2)}" condim="{random.choice([1, 3, 3, 4])}" solmix="{random.uniform(0.1, 5)}"/></body>"""
        if k % 3 == 1:
            pairs += f'<pair geom1="g{k}" geom2="g{k - 1}" condim="{random.choice([1, 3])}" friction="0.33 0.33"/>'
        if k % 3 == 2:
            pairs += f'<pair geom1="g{k}" geom2="g{k - 1}"/>'  # what the geoms say, by MuJoCo's compiler
    override = '<option o_friction="0.6 0.6 0 0 0"><flag override="enable"/></option>' if seed % 4 == 3 else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", almond.FileWarning)  # condim 4
        theirs, ours = friction_of_pairs(write(tmp_path, f"<mujoco>{override}<worldbody>{bodies}</worldbody><contact>{pairs}</contact></mujoco>"))
    assert len(theirs) == 21 and set(theirs) == set(ours)
    for pair, mu in theirs.items():
        assert ours[pair] == pytest.approx(mu, abs=1.0001e-5), pair


def test_a_box_of_higher_priority_slides(tmp_path):
    """Down a slope of 30 degrees at friction 0.3: s = g (sin 30 - 0.3 cos 30) t² / 2, to what a step of semi-implicit Euler adds."""
    path = write(tmp_path, """<mujoco><option gravity="4.905 0 -8.49570921" timestep="0.002"/><worldbody>
        <geom type="plane" size="5 5 1" friction="1"/>
        <body pos="0 0 0.05"><freejoint/><geom type="box" size="0.05 0.05 0.05" friction="0.3" priority="1"/></body></worldbody></mujoco>""")
    sim = almond.load(path)
    sim.step(500)
    acceleration = 4.905 - 0.3 * 8.49570921
    assert sim.q[0] == pytest.approx(0.5 * acceleration * (1.0 + 0.002), rel=1e-6)


def random_arm(random, links=5):
    """A chain of hinges, slides and a ball joint with other shares of their weight carried, and a free body beside it."""
    text, close = "", ""
    for k in range(links):
        axis, pos, quat = random.normal(size=3), 0.3 * random.normal(size=3), random.normal(size=4)
        kind = random.choice(["hinge", "slide", "ball"])
        joint = f'<joint type="{kind}"' + ("/>" if kind == "ball" else f' axis="{axis[0]} {axis[1]} {axis[2]}" actuatorgravcomp="{"true" if k % 2 else "false"}"/>')
        carried = "" if k == 2 else f' gravcomp="{random.choice([-0.5, 0.3, 1, 1.7])}"'
        text += f"""<body pos="{pos[0]} {pos[1]} {pos[2]}" quat="{quat[0]} {quat[1]} {quat[2]} {quat[3]}"{carried}>{joint}
            <geom type="box" size="0.1 0.05 0.02" pos="0.1 0 0.05" contype="0" conaffinity="0" mass="{random.uniform(0.5, 2)}"/>"""
        close += "</body>"
    free = '<body pos="2 0 0" gravcomp="0.4"><freejoint/><geom type="capsule" size="0.05 0.1" contype="0" conaffinity="0"/></body>'
    g = random.normal(size=3) * 5
    return f'<mujoco><option gravity="{g[0]} {g[1]} {g[2]}"/><worldbody>{text}{close}{free}</worldbody></mujoco>'


@pytest.mark.parametrize("seed", range(8))
def test_gravity_compensation_is_mujoco_s(tmp_path, seed):
    """At rest b = dt f: weight and what carries it, in joint coordinates. Our free joint is about the centre of mass, theirs here, too."""
    random = np.random.default_rng(100 + seed)
    path = write(tmp_path, random_arm(random))
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert np.abs(data.qfrc_gravcomp).max() > 0.1
    theirs = data.qfrc_gravcomp - data.qfrc_bias
    with warnings.catch_warnings():
        warnings.simplefilter("error", almond.FileWarning)
        sim = almond.load(path)
    problem = sim.problem()
    ours = np.array(problem.b) / sim.dt
    assert ours == pytest.approx(theirs, abs=1e-9 * np.abs(data.qfrc_bias).max())


def test_a_link_whose_weight_is_carried_stays(tmp_path):
    path = write(tmp_path, """<mujoco><worldbody><body pos="0 0 1" gravcomp="1"><joint name="h" axis="0 1 0"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/></body></worldbody></mujoco>""")
    sim = almond.load(path)
    sim.step(500)
    assert abs(sim.q[0]) < 1e-12
    builder = almond.ModelBuilder()
    builder.add_body("b", mass=2.0, inertia=np.eye(3), gravcomp=0.5)
    sim = almond.simulate(builder.build(), dt=0.01)
    sim.step(10)
    assert sim.v[2] == pytest.approx(-0.5 * 9.81 * 0.1, rel=1e-12)


def test_energy_is_kept_where_weight_is_carried(tmp_path):
    """What carries a body is constant, so it has a potential."""
    path = write(tmp_path, random_arm(np.random.default_rng(5), links=2))
    sim = almond.load(path, dt=1e-4, theta=0.5)
    sim.v[:] = 0.5
    before = sum(sim.energy())
    sim.step(2000)
    assert sum(sim.energy()) == pytest.approx(before, abs=1e-3)


def test_keyframes_by_both_doors(tmp_path):
    """The start, and the controls, which set_control changes afterwards."""
    path = write(tmp_path, """<mujoco><compiler angle="radian"/><worldbody><body><joint name="j" range="0.5 2" limited="true"/>
        <geom size="0.1" pos="0.2 0 0"/></body></worldbody><actuator><position name="a" joint="j" kp="50"/></actuator>
        <keyframe><key name="home" qpos="1" ctrl="1.2"/></keyframe></mujoco>""")
    for sim in (almond.load(path, keyframe="home"), almond.simulate(read(path, keyframe="home"))):
        assert sim.q[0] == 1.0 and sim.target[0] == 1.2 and sim.model.remarks == []
        sim.set_control({"a": 0.9})
        sim.step(5)
        assert sim.target[0] == 0.9
    for model in (almond.load(path).model, read(path)):
        assert model.remarks[-1].endswith('start there with --keyframe "home", in Python and scene files with keyframe "home"')


def test_bad_input_is_an_almond_error(tmp_path):
    assert issubclass(almond.Error, ValueError) and almond.Error.__module__ == "almond"
    wrong = [
        lambda: almond.load("towr"),
        lambda: almond.load(""),
        lambda: almond.load(tmp_path / "none.xml"),
        lambda: almond.load("tower", dt=-1.0),
        lambda: almond.Sphere(-1.0),
        lambda: almond.Sphere("1"),
        lambda: almond.ModelBuilder().set_time_step(0.0),
        lambda: almond.ModelBuilder().add_body("b", mass=-1.0),
        lambda: almond.solve(np.eye(3), np.zeros(2), np.eye(3), np.zeros(3), [0.5]),
        lambda: almond.solve(np.eye(3)),
        lambda: almond.load("tower").set_control({"x": 1.0}),
        lambda: almond.load("tower").restore(b"x"),
    ]
    for call in wrong:
        with pytest.raises(almond.Error):
            call()
